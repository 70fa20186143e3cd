"""The frames of an HTTP/2 client, before they are interpreted (RFC 9113, section 4.1). Pure.

Pings, settings, resets and small pieces of data are cheap to send and expensive to handle. The reader of the connection
limits their cost per second. A frame or a header block that is too long is rejected before it is buffered.
"""

PREFACE_BYTES = 24
HEAD_BYTES = 9
DATA, HEADERS, RST_STREAM, CONTINUATION = 0x0, 0x1, 0x3, 0x9
END_STREAM = 0x1

LONGEST_FRAME = 16 * 1024
"""Bytes of a frame's payload, which no setting raises (RFC 9113, section 6.5.2)."""

LONGEST_BLOCK = 20 * 1024
"""Bytes of one compressed header block: a head of 16 KiB without any compression."""

RESET_COST = 512
"""Extra cost of a reset, because it discards a started request ("rapid reset")."""

SMALL_DATA = 256
"""Data frames below this cost as much as control frames, except the last one of a body."""

LAST_STREAM = 2**31 - 1
"""The last stream that a connection can have."""

FRAME_SIZE_ERROR, ENHANCE_YOUR_CALM = 0x6, 0xB


class TooLong(Exception):
    """A frame or a header block is too long. `code` is the error code of the connection."""

    def __init__(self, code: int) -> None:
        super().__init__("a frame or a header block is too long")
        self.code = code


def goaway(last: int, code: int = 0) -> bytes:
    """The frame that ends a connection after the stream `last`."""
    return b"\0\0\x08\x07\0\0\0\0\0" + last.to_bytes(4) + code.to_bytes(4)


class FrameScanner:
    """Follows the frame boundaries of one connection, starting at the client's preface."""

    __slots__ = ("_block", "_head", "_skip", "_skip_costs")

    def __init__(self) -> None:
        self._head = b""  # the part of a frame's header that has arrived
        self._skip = PREFACE_BYTES
        self._skip_costs = False
        self._block = 0  # bytes of the current header block

    def cost_of(self, data: bytes) -> int:
        """Bytes in frames other than HEADERS, CONTINUATION and large DATA, plus `RESET_COST` for each reset.

        Raises `TooLong`.
        """
        cost = position = 0
        while position < len(data):
            if self._skip:
                step = min(self._skip, len(data) - position)
                cost += step if self._skip_costs else 0
                self._skip -= step
                position += step
                continue
            piece = data[position : position + HEAD_BYTES - len(self._head)]
            self._head += piece
            position += len(piece)
            if len(self._head) == HEAD_BYTES:
                cost += self._begin_frame()
        return cost

    def _begin_frame(self) -> int:
        length, kind, flags = int.from_bytes(self._head[:3]), self._head[3], self._head[4]
        self._head = b""
        self._skip = length
        if length > LONGEST_FRAME:
            raise TooLong(FRAME_SIZE_ERROR)
        if kind in (HEADERS, CONTINUATION):
            self._block = length + (self._block if kind == CONTINUATION else 0)
            if self._block > LONGEST_BLOCK:
                raise TooLong(ENHANCE_YOUR_CALM)
            self._skip_costs = False
            return 0
        small = length < SMALL_DATA and not (flags & END_STREAM and length)
        self._skip_costs = kind != DATA or small
        if kind == RST_STREAM:
            return HEAD_BYTES + RESET_COST
        return HEAD_BYTES if self._skip_costs else 0
