"""A client of HTTP/2 that may send anything, and sees all responses."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import h2.config
import h2.connection
import h2.events
import trio

GOAWAY = 0x7

Fields = Iterable[tuple[bytes, bytes]]


def head(path: str | bytes = "/", method: str | bytes = "GET", *more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The fields of a request."""
    path, method = (each if isinstance(each, bytes) else each.encode() for each in (path, method))
    return [(b":method", method), (b":path", path), (b":scheme", b"https"), (b":authority", b"localhost"), *more]


@dataclass(slots=True)
class Http2Client:
    """A client of HTTP/2 over a stream."""

    stream: trio.abc.Stream
    connection: h2.connection.H2Connection = field(
        default_factory=lambda: h2.connection.H2Connection(
            h2.config.H2Configuration(
                header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False
            )
        )
    )
    statuses: dict[int, int] = field(default_factory=dict)
    headers: dict[int, dict[str, str]] = field(default_factory=dict)
    bodies: dict[int, bytes] = field(default_factory=dict)
    informed: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)
    resets: dict[int, int] = field(default_factory=dict)
    """The error codes of streams that the server has reset."""
    last_stream: int | None = None
    """The last stream that the server takes, from its GOAWAY."""
    _received: bytes = b""
    _sending: trio.Lock = field(default_factory=trio.Lock)

    async def begin(self) -> None:
        self.connection.initiate_connection()
        await self.flush()

    async def flush(self) -> None:
        await self.send(self.connection.data_to_send())

    async def send(self, data: bytes) -> None:
        async with self._sending:
            await self.stream.send_all(data)

    async def request(
        self, path: str = "/", *, method: str = "GET", body: bytes | None = None, end: bool = True
    ) -> int:
        return await self.ask(head(path, method), body=body, end=end)

    async def ask(self, fields: Fields, *, body: bytes | None = None, end: bool = True) -> int:
        """Send a request of these fields, however wrong they are."""
        number = self.connection.get_next_available_stream_id()
        self.connection.send_headers(number, fields, end_stream=body is None and end)
        if body is not None:
            self.connection.send_data(number, body, end_stream=end)
        await self.flush()
        return number

    async def take(self, *, opening: bool = True) -> bool:
        """Handle the next bytes. Returns whether there were any. `opening`: reopen the flow-control window."""
        try:
            data = bytes(await self.stream.receive_some())
        except trio.BrokenResourceError:
            return False
        if not data:
            return False
        for event in self.connection.receive_data(self._without_goaway(data)):
            match event:
                case h2.events.ResponseReceived():
                    pairs = {str(name): str(value) for name, value in event.headers}
                    self.statuses[event.stream_id] = int(pairs[":status"])
                    self.headers[event.stream_id] = pairs
                case h2.events.DataReceived():
                    self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
                    if opening:
                        self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.InformationalResponseReceived():
                    self.informed.add(event.stream_id)
                case h2.events.StreamEnded():
                    self.ended.add(event.stream_id)
                case h2.events.StreamReset():
                    self.ended.add(event.stream_id)
                    self.resets[event.stream_id] = event.error_code
        with suppress(trio.BrokenResourceError):  # what the server sent before it closed is still to be read
            await self.flush()
        return True

    def _without_goaway(self, data: bytes) -> bytes:
        """Whole frames, without those after which h2 would ignore the responses that still come."""
        self._received += data
        whole = b""
        while len(self._received) >= 9 and len(self._received) >= (size := 9 + int.from_bytes(self._received[:3])):
            one, self._received = self._received[:size], self._received[size:]
            if one[3] == GOAWAY:
                self.last_stream = int.from_bytes(one[9:13])
            else:
                whole += one
        return whole

    async def until_answered(self, *numbers: int) -> None:
        while not set(numbers) <= self.ended:
            assert await self.take(), "the server closed the connection"

    async def until_closed(self) -> float:
        """Seconds until the server closes the connection."""
        began = trio.current_time()
        while await self.take():
            pass
        return trio.current_time() - began
