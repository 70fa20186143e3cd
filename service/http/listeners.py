"""Listening sockets, opened here or inherited from a parent process, with or without TLS."""

import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import trio

from actors.clock import Clock
from service.http.limits import ServingLimits
from service.http.server import Listener, Server


class ListenError(Exception):
    """The server cannot listen as configured. The text is one line for the operator."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A host (all of its addresses), a port (0 takes a free one), and TLS or not."""

    host: str
    port: int
    setting: str = "server.bind"
    """The setting to change when the address cannot be used."""
    tls: ssl.SSLContext | None = None


@asynccontextmanager
async def open_listeners(
    addresses: Sequence[ListenAddress], limits: ServingLimits, clock: Clock
) -> AsyncIterator[Server]:
    """Listen on all `addresses`. Raises `ListenError`."""
    listeners: list[Listener] = []
    urls: list[str] = []
    try:
        for address in addresses:
            try:
                opened = await trio.open_tcp_listeners(address.port, host=address.host, backlog=limits.backlog)
            except (OSError, ValueError) as error:
                raise cannot_listen(address, error) from None
            sockets = [_plain(listener.socket) for listener in opened]
            listeners += [(listener, address.tls) for listener in sockets]
            urls.append(url_of(address.host, sockets[0].getsockname()[1], "https" if address.tls else "http"))
        yield Server(urls, listeners, limits, clock)
    finally:
        for listener, _ in listeners:
            listener.close()


@contextmanager
def adopted_listeners(
    addresses: Sequence[ListenAddress],
    sockets: Sequence[Sequence[socket.socket]],
    urls: Sequence[str],
    limits: ServingLimits,
    clock: Clock,
) -> Iterator[Server]:
    """Listen on sockets bound by a parent process. `sockets` and `urls` correspond to `addresses`."""
    listeners = [(each, address.tls) for address, own in zip(addresses, sockets, strict=True) for each in own]
    try:
        yield Server(list(urls), listeners, limits, clock)
    finally:
        for listener, _ in listeners:
            listener.close()


def cannot_listen(address: ListenAddress, error: OSError | ValueError) -> ListenError:
    """The error for an address. A `ValueError` means that the host name is invalid."""
    why = error.strerror if isinstance(error, OSError) else "no host has such a name"
    host = f"[{address.host}]" if ":" in address.host else address.host
    return ListenError(f"{address.setting}: cannot listen on {host}:{address.port}: {why}")


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 or newer for a server, offering HTTP/2 and HTTP/1.1. Raises `ListenError` for files that cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        context.load_cert_chain(certificate, key, password=lambda: b"")
    except OSError as error:
        raise ListenError(f"tls.certificate, tls.key: {error.strerror or error.args[-1]}") from None
    except ValueError as error:
        raise ListenError(f"tls.certificate, tls.key: {error}") from None  # for example a null byte in a path
    return context


def url_of(host: str, port: int, scheme: str = "http") -> str:
    """The address to open in a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{shown}]:{port}" if ":" in shown else f"{scheme}://{shown}:{port}"


def _plain(wrapped: trio.socket.SocketType) -> socket.socket:
    """Python's own socket, detached from Trio's wrapper."""
    family, kind, protocol = wrapped.family, wrapped.type, wrapped.proto
    plain = socket.socket(family, kind, protocol, fileno=wrapped.detach())
    plain.setblocking(False)
    return plain
