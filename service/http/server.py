"""Listeners, connections and the graceful stop. HTTP itself is spoken by `http1`, and over TLS also by `http2`."""

import errno
import logging
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path

import trio

from actors.clock import Clock
from service.api.authentication import is_in, limited_as
from service.config import ConfigError
from service.http.http1 import Engine
from service.http.http2 import Http2
from service.http.limits import ServingLimits
from service.http.transports import Address, SocketTransport, StreamTransport, Transport, expire_overdue
from service.web.middleware import App

log = logging.getLogger(__name__)

LAST_MOMENT_SECONDS = 0.5
"""What connections get to end by themselves after they were cut off."""

ACCEPTED_AT_ONCE = 64
"""How many connections are accepted before others run."""

EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
EXHAUSTED_SECONDS = 0.1
"""The pause where the system has no room for a connection: what is open may end meanwhile."""

TICK_SECONDS = 0.25
"""How often overdue waits are looked for, so how late one may be ended."""


LAST_CALL_TURNS = 2
"""After so many turns of the scheduler every connection that was accepted has begun, and is counted."""

TELL_SECONDS = 10.0
"""How often the log says that connections were turned away."""


class Connections:
    """The open connections, counted in all and by address: over IPv6 by its /64, of which one client has all."""

    def __init__(self, limits: ServingLimits) -> None:
        self._limits = limits
        self._open: set[Transport] = set()
        self._by_address: Counter[str] = Counter()
        self._turned_away = 0
        self._told = -inf
        self._empty = trio.Event()
        self._empty.set()

    def has_room(self, address: str) -> bool:
        """Whether one more connection of `address` may be served. Relays and proxies are exempt from the limit by address,
        since they speak for many."""
        if len(self._open) >= self._limits.connections:
            return False
        if self._by_address[limited_as(address)] < self._limits.connections_per_address:
            return True
        return is_in(address, self._limits.exempt_networks)

    @contextmanager
    def holding(self, transport: Transport) -> Iterator[None]:
        """Count a connection for as long as it is served."""
        address = limited_as(transport.client[0])
        self._open.add(transport)
        self._by_address[address] += 1
        if self._empty.is_set():
            self._empty = trio.Event()
        try:
            yield
        finally:
            self._open.remove(transport)
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]
            if not self._open:
                self._empty.set()

    def turn_away(self) -> None:
        """Note that there was no room for one."""
        self._turned_away += 1

    def tell_turned_away(self) -> None:
        """Say in the log how many there was no room for, once in a while: nothing else does, as they get no answer."""
        now = trio.current_time()
        if self._turned_away and now >= self._told + TELL_SECONDS:
            most, of_one = self._limits.connections, self._limits.connections_per_address
            words = "%d connections were closed at once: at most %d may be open, and %d of one address"
            log.warning(words, self._turned_away, most, of_one)
            self._turned_away, self._told = 0, now

    async def wait_empty(self) -> None:
        await self._empty.wait()

    def cut_all(self) -> None:
        for transport in list(self._open):
            transport.cut()

    def expire_overdue(self) -> None:
        expire_overdue([each for each in self._open if isinstance(each, SocketTransport)])

    def __len__(self) -> int:
        return len(self._open)


@dataclass(frozen=True, slots=True)
class Listening:
    """Where to listen: an address (all of a host's), a port (0 takes a free one), and TLS or not."""

    host: str
    port: int
    setting: str = "server.bind"
    """What a person would have to change."""
    tls: ssl.SSLContext | None = None


@dataclass(slots=True)
class Server:
    """Open listeners, which accept nothing before `serve`."""

    urls: list[str]
    """The address of each `Listening`, in their order."""
    _listeners: list[tuple[socket.socket, ssl.SSLContext | None]]
    _limits: ServingLimits
    _clock: Clock

    @property
    def url(self) -> str:
        return self.urls[0]

    async def serve(self, app: App, refusals: App, *, stop: trio.Event, ready: Callable[[], None]) -> None:
        """Serve `app` until `stop` is set; then finish the requests in flight, for at most `graceful_seconds`.

        `refusals` answers what is refused before `app` sees it. Calls `ready` once connections are accepted.
        """
        connections = Connections(self._limits)
        engine, http2 = Engine(app, refusals, self._limits, self._clock), Http2(app, self._limits)
        async with trio.open_nursery() as open_connections:
            open_connections.start_soon(watch, engine, connections)
            doors = [
                (listener, _Handler(engine, http2, self._limits, connections, tls)) for listener, tls in self._listeners
            ]
            async with trio.open_nursery() as accepting:
                for listener, handle in doors:
                    listener.listen(self._limits.backlog)
                    accepting.start_soon(_accept, handle, listener, open_connections)
                ready()
                await stop.wait()
                engine.announce_stop()
                accepting.cancel_scope.cancel()
            for listener, handle in doors:
                _accept_last(handle, listener, open_connections, self._limits.backlog)
            for _ in range(LAST_CALL_TURNS):
                await trio.lowlevel.checkpoint()
            await self._see_off(engine, http2, connections)
            open_connections.cancel_scope.cancel()

    async def _see_off(self, engine: Engine, http2: Http2, connections: Connections) -> None:
        due = trio.current_time() + self._limits.graceful_seconds
        if self._limits.farewell_seconds:
            with trio.move_on_at(min(due, trio.current_time() + self._limits.farewell_seconds)):
                await connections.wait_empty()
        engine.stop()
        await http2.stop()
        with trio.move_on_at(due):
            await connections.wait_empty()
        if len(connections):
            log.warning("%d connections did not end in time and are cut off", len(connections))
        connections.cut_all()
        with trio.move_on_after(LAST_MOMENT_SECONDS):
            await connections.wait_empty()


@asynccontextmanager
async def open_listeners(places: Sequence[Listening], limits: ServingLimits, clock: Clock) -> AsyncIterator[Server]:
    """Listeners at all `places`. Raises ConfigError where it cannot listen."""
    listeners: list[tuple[socket.socket, ssl.SSLContext | None]] = []
    urls: list[str] = []
    try:
        for place in places:
            try:
                opened = await trio.open_tcp_listeners(place.port, host=place.host, backlog=limits.backlog)
            except (OSError, ValueError) as error:
                raise cannot_listen(place, error) from None
            plain = [_plain(listener.socket) for listener in opened]
            listeners += [(listener, place.tls) for listener in plain]
            urls.append(url_of(place.host, plain[0].getsockname()[1], "https" if place.tls else "http"))
        yield Server(urls, listeners, limits, clock)
    finally:
        for listener, _ in listeners:
            listener.close()


@contextmanager
def adopted_listeners(
    places: Sequence[Listening],
    sockets: Sequence[Sequence[socket.socket]],
    urls: Sequence[str],
    limits: ServingLimits,
    clock: Clock,
) -> Iterator[Server]:
    """Listeners on sockets that somebody else has bound: for each of `places` its own, and its URL."""
    listeners = [(each, place.tls) for place, own in zip(places, sockets, strict=True) for each in own]
    try:
        yield Server(list(urls), listeners, limits, clock)
    finally:
        for listener, _ in listeners:
            listener.close()


def cannot_listen(place: Listening, error: OSError | ValueError) -> ConfigError:
    """The one line for a person. A ValueError is of a host that cannot be asked for."""
    why = error.strerror if isinstance(error, OSError) else "no host has such a name"
    host = f"[{place.host}]" if ":" in place.host else place.host
    return ConfigError(f"{place.setting}: cannot listen on {host}:{place.port}: {why}")


def _plain(wrapped: trio.socket.SocketType) -> socket.socket:
    """Python's own socket, taken over from Trio's."""
    family, kind, protocol = wrapped.family, wrapped.type, wrapped.proto
    plain = socket.socket(family, kind, protocol, fileno=wrapped.detach())
    plain.setblocking(False)
    return plain


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """A server's TLS, 1.2 or newer, with HTTP/2 and HTTP/1.1 to choose from. Raises ConfigError where a file is of no use."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except OSError as error:
        raise ConfigError(f"tls.certificate, tls.key: {error.strerror or error.args[-1]}") from None
    except ValueError as error:
        raise ConfigError(f"tls.certificate, tls.key: {error}") from None  # no file has such a name
    return context


def url_of(host: str, port: int, scheme: str = "http") -> str:
    """The address to open in a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{shown}]:{port}" if ":" in shown else f"{scheme}://{shown}:{port}"


async def _accept(handle: "_Handler", listener: socket.socket, nursery: trio.Nursery) -> None:
    """Accept connections until cancelled. As many at once as wait, within a bound: where each pass of the scheduler accepts
    one, the last of a burst waits for as many passes as there are before it, under load for seconds."""
    while True:
        await trio.lowlevel.wait_readable(listener)
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, _ = listener.accept()
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in EXHAUSTED:
                    log.warning("a connection cannot be accepted: %s", error.strerror)
                    await trio.sleep(EXHAUSTED_SECONDS)
                    break
                continue  # that client is gone already
            nursery.start_soon(handle, trio.SocketStream(trio.socket.from_stdlib_socket(accepted)))


def _accept_last(handle: "_Handler", listener: socket.socket, nursery: trio.Nursery, most: int) -> None:
    """Accept whoever has connected already, and close. The kernel would send them a reset."""
    for _ in range(most + 1):
        try:
            accepted, _ = listener.accept()
        except OSError as error:
            if isinstance(error, BlockingIOError) or error.errno in EXHAUSTED:
                break
            continue  # that client is gone already
        nursery.start_soon(handle, trio.SocketStream(trio.socket.from_stdlib_socket(accepted)))
    listener.close()


async def watch(engine: Engine, connections: Connections) -> None:
    """The watchman: ends waits that are overdue, keeps the Date header right, and tells of who was turned away."""
    while True:
        await trio.sleep(TICK_SECONDS)
        engine.tick()
        connections.expire_overdue()
        connections.tell_turned_away()


class _Handler:
    """Serves one accepted connection."""

    def __init__(
        self,
        engine: Engine,
        http2: Http2,
        limits: ServingLimits,
        connections: Connections,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._engine = engine
        self._http2 = http2
        self._limits = limits
        self._connections = connections
        self._tls = tls

    async def __call__(self, stream: trio.SocketStream) -> None:
        try:
            await self._serve(stream)
        finally:
            stream.socket.close()

    async def _serve(self, stream: trio.SocketStream) -> None:
        plain = stream.socket
        try:
            client, server = _address(plain.getpeername()), _address(plain.getsockname())
        except OSError:
            return
        if not self._connections.has_room(client[0]):
            self._connections.turn_away()
            return
        try:
            if self._tls is None:
                transport = SocketTransport(stream, client, server, self._limits.stall_seconds)
                with self._connections.holding(transport):
                    await self._engine.serve(transport)
            else:
                await self._serve_tls(stream, self._tls, client, server)
        except Exception:
            # One client's connection must not end the others'.
            log.exception("a connection failed")

    async def _serve_tls(
        self, stream: trio.SocketStream, tls: ssl.SSLContext, client: Address, server: Address
    ) -> None:
        secured = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
        transport = StreamTransport(secured, client, server, self._limits.stall_seconds)
        with self._connections.holding(transport):
            try:
                with trio.fail_after(self._limits.head_seconds):
                    await secured.do_handshake()
            except (trio.BrokenResourceError, trio.TooSlowError):
                return
            if secured.selected_alpn_protocol() == "h2":
                await self._http2.serve(transport)
            else:
                await self._engine.serve(transport)


def _address(name: tuple[str, int]) -> Address:
    """Host and port of a socket's name, which over IPv6 says more."""
    return name[0].partition("%")[0], name[1]
