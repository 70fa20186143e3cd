"""Passes HTTP/1.1 requests on to a node and notes each, with h11. Every size and wait has a bound.

A request is read whole before it is sent on, over a connection of its own. A response is passed on as it comes. Without a
whole response, whoever ended it, an operation has no answer.
"""

import itertools
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeGuard

import h11
import trio

from tests.judge.recording import Recorder, exchange_of

HEAD_BYTES = READ_BYTES = 64 * 1024
REQUEST_BYTES = 2 * 1024 * 1024
"""The largest body of a request. A larger one is refused with 413 and not sent on."""
KEPT_BYTES = 4 * 1024 * 1024
"""The most of a response that is kept for its facts. An operation with a larger one has no answer in the history."""
CONNECTIONS = 64
IDLE_SECONDS, REQUEST_SECONDS, CONNECT_SECONDS, ANSWER_SECONDS, CLOSE_SECONDS = 75.0, 30.0, 10.0, 60.0, 5.0
"""Waits for the next request on a connection, for all of one, for the node, for all of its response, and for an end."""

_PER_CONNECTION = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"trailer", b"upgrade")
)
"""Fields that concern one connection alone (RFC 9110, 7.6.1)."""
_FRAMING = frozenset((b"content-length", b"transfer-encoding", b"expect"))
"""Fields of a request that are written anew, because its body is sent on whole."""

Fields = list[tuple[bytes, bytes]]
Connect = Callable[[], Awaitable[trio.abc.Stream]]


class TooLarge(Exception):
    """The body of a request is larger than `REQUEST_BYTES`."""


class Wire:
    """One connection, to a client or to a node."""

    def __init__(self, stream: trio.abc.Stream, role: type[h11.CLIENT] | type[h11.SERVER]) -> None:
        self.stream = stream
        self.http = h11.Connection(role, max_incomplete_event_size=HEAD_BYTES)
        self._method = b""

    async def event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event. Raises h11.RemoteProtocolError if the other side breaks HTTP or ends within a message."""
        while (event := self.http.next_event()) is h11.NEED_DATA:
            if self.http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            self.http.receive_data(await self.received())
        self._method = event.method if isinstance(event, h11.Request) else self._method
        return event

    async def events(self) -> list[object]:
        """The next event, and those of the same message that have come with it."""
        found: list[object] = [await self.event()]
        while not isinstance(found[-1], h11.EndOfMessage | h11.ConnectionClosed):
            event = self.http.next_event()
            if event is h11.NEED_DATA:
                break
            found.append(event)
        return found

    async def received(self) -> bytes:
        """The next bytes; empty at the end."""
        try:
            return bytes(await self.stream.receive_some(READ_BYTES))
        except trio.BrokenResourceError:
            return b""

    async def send(self, *events: h11.Event) -> None:
        """Raises trio.BrokenResourceError if the other side has gone."""
        await self.stream.send_all(b"".join(self.http.send(event) or b"" for event in events))

    async def body(self) -> bytes:
        """The body of a request whose head was read. Raises `TooLarge`."""
        data = bytearray()
        while isinstance(event := await self.event(), h11.Data):
            data += event.data
            if len(data) > REQUEST_BYTES:
                raise TooLarge
        return bytes(data)

    async def refuse(self, status: int, words: str) -> None:
        """Answer in the proxy's own name, if no response has begun, and close the connection."""
        if self.http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        body = f"The recording proxy {words}\n".encode()
        fields = [("content-type", "text/plain"), ("content-length", str(len(body))), ("connection", "close")]
        head = h11.Response(status_code=status, headers=fields)
        with suppress(trio.BrokenResourceError), trio.move_on_after(CLOSE_SECONDS):
            await self.send(head, *([h11.Data(data=body)] if self._method != b"HEAD" else []), h11.EndOfMessage())


@dataclass(slots=True)
class Heard:
    """The part of a response that has come. `ended` is the time at which it was whole."""

    status: int = 0
    fields: Fields = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    size: int = 0
    ended: float | None = None

    def keep(self, data: bytes) -> None:
        self.size += len(data)
        if self.size <= KEPT_BYTES:
            self.body += data

    @property
    def answer(self) -> tuple[int, list[tuple[str, str]], bytes] | None:
        if self.ended is None or self.size > KEPT_BYTES:
            return None
        return self.status, _texts(self.fields), bytes(self.body)


class Relay:
    """Serves clients of one node. `connect` opens a connection to it, and `now` is the recorder's clock."""

    def __init__(self, node: str, connect: Connect, recorder: Recorder, now: Callable[[], float]) -> None:
        self._node, self._connect, self._recorder, self._now = node, connect, recorder, now
        self._places = trio.CapacityLimiter(CONNECTIONS)
        self._numbers = itertools.count(1)

    async def serve(self, stream: trio.abc.Stream) -> None:
        """Serve one connection to its end."""
        client, name = Wire(stream, h11.SERVER), f"connection-{next(self._numbers)} of {self._node}"
        try:
            self._places.acquire_on_behalf_of_nowait(client)
        except trio.WouldBlock:
            await client.refuse(503, f"serves {CONNECTIONS} connections at most.")
            await _close(stream)
            return
        try:
            while await self._one(client, name):
                client.http.start_next_cycle()
        finally:
            self._places.release_on_behalf_of(client)
            await _close(stream)

    async def _one(self, client: Wire, name: str) -> bool:
        """Pass on one request. Returns whether the connection can have another."""
        try:
            with trio.fail_after(IDLE_SECONDS):
                request = await client.event()
            if not isinstance(request, h11.Request):
                return False
            with trio.fail_after(REQUEST_SECONDS):
                body = await client.body()
        except (trio.TooSlowError, trio.BrokenResourceError):
            return False
        except TooLarge:
            await client.refuse(413, f"passes on bodies of {REQUEST_BYTES} bytes at most.")
            return False
        except h11.RemoteProtocolError as error:
            await client.refuse(error.error_status_hint, "cannot read this request, which breaks HTTP/1.1.")
            return False
        if request.method == b"CONNECT":
            await client.refuse(501, "opens no tunnels.")
            return False
        await self._pass_on(client, name, request, body)
        return client.http.our_state is client.http.their_state is h11.DONE

    async def _pass_on(self, client: Wire, name: str, request: h11.Request, body: bytes) -> None:
        try:
            with trio.fail_after(CONNECT_SECONDS):
                stream = await self._connect()
        except (OSError, trio.TooSlowError) as error:
            await client.refuse(502, f"cannot connect to {self._node}: {error or 'too slow'}.")
            return
        began, heard = self._now(), Heard()

        def note() -> None:
            self._note(name, request, body, began, heard, _address(stream, request))

        def end() -> None:
            heard.ended = self._now()
            note()

        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_until_gone, client, nursery.cancel_scope)
                with trio.move_on_after(ANSWER_SECONDS):
                    node = Wire(stream, h11.CLIENT)
                    # A node may refuse a body before it has all of it, so that there is an answer nevertheless.
                    with suppress(trio.BrokenResourceError):
                        await node.send(self._sent_on(request, body), h11.Data(data=body), h11.EndOfMessage())
                    await _answer(client, node, heard, end)
                nursery.cancel_scope.cancel()
        finally:
            if heard.ended is None:
                note()
            await _close(stream)
        if not heard.status:
            await client.refuse(502, f"had no answer from {self._node}, which may or may not have done this.")

    def _sent_on(self, request: h11.Request, body: bytes) -> h11.Request:
        """The request as it is sent on, with its body in one piece."""
        names = {name for name, _ in request.headers}
        fields = [(name, value) for name, value in _passed(request.headers) if name not in _FRAMING]
        fields += [] if b"host" in names else [(b"host", self._node.encode())]
        fields += [(b"content-length", b"%d" % len(body))] if names & _FRAMING else []
        return h11.Request(method=request.method, target=request.target, headers=[*fields, (b"connection", b"close")])

    def _note(self, name: str, request: h11.Request, body: bytes, began: float, heard: Heard, address: str) -> None:
        method, target = request.method.decode(), request.target.decode("latin-1")
        exchange = exchange_of(method, target, _texts(request.headers), body, heard.answer, address)
        if exchange is not None:
            who = exchange.asked.caller or name
            ended = self._now() if heard.ended is None else heard.ended
            self._recorder.note(exchange.by(who, self._node, began, ended))


async def _answer(client: Wire, node: Wire, heard: Heard, end: Callable[[], None]) -> None:
    """Send a response back as it comes. `end` is called before the client has all of it, so that whatever a client was told
    is in the history. Returns early if the node breaks off."""
    with suppress(h11.RemoteProtocolError, h11.LocalProtocolError, trio.BrokenResourceError):
        while heard.ended is None:
            parts = [_heard(event, heard) for event in await node.events()]
            if None in parts:
                return
            if isinstance(parts[-1], h11.EndOfMessage):
                end()
            await client.send(*(part for part in parts if _understood(part, client)))


def _heard(event: object, heard: Heard) -> h11.Event | None:
    """The part of a response as it is sent back; None at an end before its time."""
    match event:
        case h11.Response(status_code=status, headers=fields, reason=reason):
            heard.status, heard.fields = status, list(fields)
            return h11.Response(status_code=status, headers=_passed(fields), reason=reason)
        case h11.InformationalResponse(status_code=status, headers=fields):
            return h11.InformationalResponse(status_code=status, headers=_passed(fields))
        case h11.Data(data=data):
            heard.keep(data)
            return event
        case h11.EndOfMessage():
            return event
        case _:
            return None


def _understood(part: h11.Event | None, client: Wire) -> TypeGuard[h11.Event]:
    """Whether a client can read it: HTTP/1.0 has no informational responses."""
    return part is not None and not (
        isinstance(part, h11.InformationalResponse) and client.http.their_http_version == b"1.0"
    )


async def _until_gone(client: Wire, scope: trio.CancelScope) -> None:
    """Give up once the client breaks its connection off. One that only closes its half still gets its response, as from a
    node. A request that it sends meanwhile is kept, and ends the watch."""
    try:
        client.http.receive_data(bytes(await client.stream.receive_some(READ_BYTES)))
    except trio.BrokenResourceError:
        scope.cancel()


async def _close(stream: trio.abc.Stream) -> None:
    with trio.move_on_after(CLOSE_SECONDS, shield=True):
        await stream.aclose()


def _passed(fields: Iterable[tuple[bytes, bytes]]) -> Fields:
    """The fields that concern more than one connection."""
    named = {word.strip().lower() for name, value in fields if name == b"connection" for word in value.split(b",")}
    return [(name, value) for name, value in fields if name not in _PER_CONNECTION and name not in named]


def _texts(fields: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]


def _address(stream: trio.abc.Stream, request: h11.Request) -> str:
    """The address from which the node sees the request come; empty if it is not known."""
    forwarded = any(name in (b"x-forwarded-for", b"forwarded") for name, _ in request.headers)
    if forwarded or not isinstance(stream, trio.SocketStream):
        return ""
    return str(stream.socket.getsockname()[0])
