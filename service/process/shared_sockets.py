"""Ports that several processes share: each has sockets of its own, between which the kernel divides connections.

They are bound and kept by the parent, which accepts nothing. So what waits in a worker's queue outlives the worker: its
successor takes over the same sockets, and nobody who has connected is sent a reset.
"""

import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from service.http.listeners import ListenAddress, cannot_listen, url_of
from service.user_errors import ConfigError

Address = tuple[socket.AddressFamily, tuple[Any, ...]]
"""A family, and what `bind` takes in it."""

Sockets = list[list[socket.socket]]
"""The sockets of one worker: for each `ListenAddress` those of all addresses of its host."""


@dataclass(slots=True)
class Reservation:
    """Bound sockets for a number of workers. They take connections once a worker listens."""

    urls: list[str]
    """The address of each `ListenAddress`, in their order."""
    _addresses: list[list[Address]]
    _of_workers: list[Sockets]
    _guards: list[socket.socket]
    """Before anybody listens a port can be bound once more by any other process, but not beside these."""

    def of(self, number: int) -> Sockets:
        """The sockets of a worker; the first is number 1."""
        return self._of_workers[number - 1]

    def renew(self, number: int) -> None:
        """Let go of a worker's queue, so that others get its share of connections until somebody listens again.

        Who waits in the queue is sent a reset. No process may hold these sockets any more.
        """
        _close(self.of(number))
        self._of_workers[number - 1] = _bound(self._addresses)

    def close(self) -> None:
        """Let go of all. Workers still hold their own."""
        for sockets in (*self._of_workers, [self._guards]):
            _close(sockets)


def reserve(places: Sequence[ListenAddress], workers: int) -> Reservation:
    """Bind all `places` for so many workers. Raises ConfigError where somebody else is there, or it is not ours to take."""
    addresses: list[list[Address]] = []
    first: Sockets = []
    sockets = [first]
    guards: list[socket.socket] = []
    try:
        for place in places:
            try:
                first.append(_first_bound(place))
            except (OSError, ValueError) as error:
                raise cannot_listen(place, error) from None
            addresses.append([(each.family, each.getsockname()) for each in first[-1]])
        guards += _guards_at(addresses)
        try:
            while len(sockets) < workers:
                sockets.append(_bound(addresses))
        except OSError as error:
            raise ConfigError(f"server.workers: no sockets for {workers} of them: {error.strerror}") from None
    except BaseException:
        for each in (*sockets, [guards]):
            _close(each)
        raise
    ports = [each[0].getsockname()[1] for each in first]
    urls = [
        url_of(place.host, port, "https" if place.tls else "http") for place, port in zip(places, ports, strict=True)
    ]
    return Reservation(urls, addresses, sockets, guards)


def _first_bound(place: ListenAddress) -> list[socket.socket]:
    """Sockets at all addresses of a host, after a look whether anybody is there: sharing would not be refused."""
    port, sockets = place.port, list[socket.socket]()
    try:
        for family, _, _, _, address in socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            at = (address[0], port, *address[2:])
            try:
                if port:
                    _bind(family, at, shared=False).close()
                sockets.append(_bind(family, at, shared=True))
            except OSError as error:
                if error.errno != errno.EAFNOSUPPORT:
                    raise
                continue  # a host may have an address of a family that this machine does not speak
            port = sockets[0].getsockname()[1]
        if not sockets:
            raise OSError(errno.EAFNOSUPPORT, "no address of it can be used here")
    except BaseException:
        _close([sockets])
        raise
    return sockets


def _bound(addresses: Sequence[Sequence[Address]]) -> Sockets:
    bound: Sockets = []
    try:
        for place in addresses:
            bound.append([])
            for family, at in place:
                bound[-1].append(_bind(family, at, shared=True))
    except BaseException:
        _close(bound)
        raise
    return bound


def _guards_at(addresses: Sequence[Sequence[Address]]) -> Iterator[socket.socket]:
    for place in addresses:
        for family, at in place:
            # What is left of connections to a process that did not share may forbid it; the service starts all the same.
            with suppress(OSError):
                yield _bind(family, at, shared=True, reused=False)


def _bind(
    family: socket.AddressFamily, address: tuple[Any, ...], *, shared: bool, reused: bool = True
) -> socket.socket:
    """A socket beside others that are `shared`, and beside what others have `reused`: past connections, and those who
    do not listen."""
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if reused:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setblocking(False)
        made.bind(address)
    except BaseException:
        made.close()
        raise
    return made


def _close(sockets: Sockets) -> None:
    for place in sockets:
        for each in place:
            each.close()
