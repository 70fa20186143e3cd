"""What the frames of an HTTP/2 client cost (RFC 9113, section 4.1): pure, over whatever bytes have arrived.

HTTP/2 lets a client have frames worked through that carry nothing: pings, settings, resets, empty data. Each is cheap to send
and dear to handle. This tells what such frames have cost, in bytes; who reads the connection bounds that by time.
"""

PREFACE_BYTES = 24
HEAD_BYTES = 9
DATA, HEADERS, RST_STREAM, CONTINUATION = 0x0, 0x1, 0x3, 0x9

RESET_COST = 512
"""What a reset costs beside its bytes: a request was begun for it, and its work is thrown away ("rapid reset")."""


class FrameScanner:
    """Follows the frames of one connection, from the client's preface on, without looking at what they carry."""

    __slots__ = ("_head", "_skip", "_skip_costs")

    def __init__(self) -> None:
        self._head = b""  # what has come of a frame's first nine bytes
        self._skip = PREFACE_BYTES
        self._skip_costs = False

    def cost_of(self, data: bytes) -> int:
        """How many of these bytes belong to frames other than HEADERS, CONTINUATION and DATA with content, and
        `RESET_COST` for each reset."""
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
