"""The cost in bytes of an HTTP/2 client's control frames (RFC 9113, section 4.1). Pure.

Pings, settings, resets and empty data are cheap to send and expensive to handle. The reader of the connection limits
this cost per second.
"""

PREFACE_BYTES = 24
HEAD_BYTES = 9
DATA, HEADERS, RST_STREAM, CONTINUATION = 0x0, 0x1, 0x3, 0x9

RESET_COST = 512
"""Extra cost of a reset, because it discards a started request ("rapid reset")."""


class FrameScanner:
    """Follows the frame boundaries of one connection, starting at the client's preface."""

    __slots__ = ("_head", "_skip", "_skip_costs")

    def __init__(self) -> None:
        self._head = b""  # the part of a frame's header that has arrived
        self._skip = PREFACE_BYTES
        self._skip_costs = False

    def cost_of(self, data: bytes) -> int:
        """Bytes in frames other than HEADERS, CONTINUATION and non-empty DATA, plus `RESET_COST` for each reset."""
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
        self._skip = int.from_bytes(self._head[:3])
        kind = self._head[3]
        self._head = b""
        self._skip_costs = kind not in (DATA, HEADERS, CONTINUATION) or (kind == DATA and not self._skip)
        if kind == RST_STREAM:
            return HEAD_BYTES + RESET_COST
        return HEAD_BYTES if self._skip_costs else 0
