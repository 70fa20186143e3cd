"""Listening sockets, opened here or inherited from a parent process."""

import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Literal

import trio

from actors.clock import Clock
from service.http.engine import Engine
from service.http.limits import ServingLimits
from service.http.listen_address import ListenAddress, cannot_listen, copy_of, url_of
from service.http.server import Listener, Server

EngineName = Literal["own", "hypercorn"]


def engine_of(name: EngineName) -> type[Engine]:
    """The engine of a name. Hypercorn is loaded only if it is chosen."""
    if name == "own":
        return Engine
    from service.http.hypercorn_engine import HypercornEngine

    return HypercornEngine


@asynccontextmanager
async def open_listeners(
    addresses: Sequence[ListenAddress], limits: ServingLimits, clock: Clock, engine: EngineName = "own"
) -> AsyncIterator[Server]:
    """Listen on all `addresses`. Raises `ListenError`."""
    listeners: list[Listener] = []
    urls: list[str] = []
    try:
        for address in addresses:
            try:
                sockets = await _opened(address, limits.backlog)
            except (OSError, ValueError) as error:
                raise cannot_listen(address, error) from None
            listeners += [(listener, address.tls) for listener in sockets]
            urls.append(url_of(address.host, sockets[0].getsockname()[1], "https" if address.tls else "http"))
        yield Server(urls, listeners, limits, clock, _expiry(addresses), engine_of(engine), _passed(addresses))
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
    engine: EngineName = "own",
) -> Iterator[Server]:
    """Listen on sockets bound by a parent process. `sockets` and `urls` correspond to `addresses`."""
    listeners = [(each, address.tls) for address, own in zip(addresses, sockets, strict=True) for each in own]
    try:
        yield Server(list(urls), listeners, limits, clock, _expiry(addresses), engine_of(engine), _passed(addresses))
    finally:
        for listener, _ in listeners:
            listener.close()


async def _opened(address: ListenAddress, backlog: int) -> list[socket.socket]:
    if address.descriptor is not None:
        return [copy_of(address.descriptor)]
    opened = await trio.open_tcp_listeners(address.port, host=address.host, backlog=backlog)
    return [_plain(listener.socket) for listener in opened]


def _expiry(addresses: Sequence[ListenAddress]) -> float | None:
    return min((each.certificate_expires for each in addresses if each.certificate_expires is not None), default=None)


def _passed(addresses: Sequence[ListenAddress]) -> bool:
    return any(address.descriptor is not None for address in addresses)


def _plain(wrapped: trio.socket.SocketType) -> socket.socket:
    """Python's own socket, detached from Trio's wrapper."""
    family, kind, protocol = wrapped.family, wrapped.type, wrapped.proto
    plain = socket.socket(family, kind, protocol, fileno=wrapped.detach())
    plain.setblocking(False)
    return plain
