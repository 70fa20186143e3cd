"""Ports that several workers share. Each worker has its own sockets, and the kernel distributes connections among them.

The parent binds the sockets and keeps them open, so a worker's accept queue outlives the worker: its replacement takes
over the same sockets, and no queued connection is reset.
"""

import errno
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from service.config.user_errors import ConfigError
from service.http.listen_address import ListenAddress, cannot_listen, copy_of, url_of

Address = tuple[socket.AddressFamily, tuple[Any, ...]] | int
"""An address family and the argument of `bind`; or the descriptor of a socket that was passed to this process. All workers
share its one queue."""

Sockets = list[list[socket.socket]]
"""One worker's sockets: for each `ListenAddress`, one per address of its host."""


@dataclass(slots=True)
class Reservation:
    """Bound sockets for several workers. They accept connections once a worker listens."""

    urls: list[str]
    """One URL per `ListenAddress`, in order."""
    _addresses: list[list[Address]]
    _of_workers: list[Sockets]
    _guards: list[socket.socket]
    """Keep other processes from binding the ports before a worker listens."""

    def of(self, number: int) -> Sockets:
        """The sockets of a worker; the first is number 1."""
        return self._of_workers[number - 1]

    def renew(self, number: int) -> None:
        """Replace the sockets of a dead worker, so that others get its share of connections until one listens again.

        Queued connections are reset. No other process may hold these sockets. If the ports cannot be bound again, the old
        ones stay.
        """
        fresh = _bound(self._addresses)
        _close(self.of(number))
        self._of_workers[number - 1] = fresh

    def descriptors(self) -> Iterator[int]:
        """The file descriptors of all sockets."""
        for sockets in (*self._of_workers, [self._guards]):
            yield from (each.fileno() for group in sockets for each in group)

    def close(self) -> None:
        """Close the parent's copies. Workers keep theirs."""
        for sockets in (*self._of_workers, [self._guards]):
            _close(sockets)


def reserve(listen: Sequence[ListenAddress], workers: int) -> Reservation:
    """Bind sockets at `listen` for each worker. Raises `ListenError` if an address is taken or not permitted, `ConfigError`
    if the process has no descriptors left."""
    addresses: list[list[Address]] = []
    first: Sockets = []
    sockets = [first]
    guards: list[socket.socket] = []
    try:
        for address in listen:
            try:
                if address.descriptor is None:
                    first.append(_first_bound(address))
                    addresses.append([(each.family, each.getsockname()) for each in first[-1]])
                else:
                    first.append([copy_of(address.descriptor)])
                    addresses.append([address.descriptor])
            except (OSError, ValueError) as error:
                raise cannot_listen(address, error) from None
        guards += _guards_at(addresses)
        try:
            while len(sockets) < workers:
                sockets.append(_bound(addresses))
        except OSError as error:
            raise ConfigError(f"server.workers: cannot open sockets for {workers} workers: {error.strerror}") from None
    except BaseException:
        for each in (*sockets, [guards]):
            _close(each)
        raise
    ports = [each[0].getsockname()[1] for each in first]
    urls = [url_of(each.host, port, "https" if each.tls else "http") for each, port in zip(listen, ports, strict=True)]
    return Reservation(urls, addresses, sockets, guards)


def _first_bound(listen: ListenAddress) -> list[socket.socket]:
    """Bind all addresses of a host. An unshared bind first checks that each is free, because a shared one may succeed
    beside another process."""
    port, sockets = listen.port, list[socket.socket]()
    try:
        for family, _, _, _, address in socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            at = (address[0], port, *address[2:])
            try:
                if port:
                    _bind(family, at, shared=False).close()
                sockets.append(_bind(family, at, shared=True))
            except OSError as error:
                if error.errno != errno.EAFNOSUPPORT:
                    raise
                continue  # this machine does not support the address's family
            port = sockets[0].getsockname()[1]
        if not sockets:
            raise OSError(errno.EAFNOSUPPORT, "this machine supports none of the host's address families")
    except BaseException:
        _close([sockets])
        raise
    return sockets


def _bound(addresses: Sequence[Sequence[Address]]) -> Sockets:
    bound: Sockets = []
    try:
        for host in addresses:
            bound.append([])
            for at in host:
                bound[-1].append(copy_of(at) if isinstance(at, int) else _bind(*at, shared=True))
    except BaseException:
        _close(bound)
        raise
    return bound


def _guards_at(addresses: Sequence[Sequence[Address]]) -> Iterator[socket.socket]:
    for host in addresses:
        for at in host:
            if isinstance(at, int):
                continue  # another process keeps it open
            # Old connections of a process that did not share the port may prevent this. The service starts anyway.
            with suppress(OSError):
                yield _bind(*at, shared=True, reused=False)


def _bind(
    family: socket.AddressFamily, address: tuple[Any, ...], *, shared: bool, reused: bool = True
) -> socket.socket:
    """Bind with SO_REUSEPORT if `shared`, and SO_REUSEADDR if `reused`."""
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
    for group in sockets:
        for each in group:
            each.close()
