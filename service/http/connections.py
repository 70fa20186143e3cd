"""Counts open connections, in total and by address, and closes them all at shutdown."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

import trio

from service.http.addresses import Networks, limited_as
from service.http.limits import ServingLimits
from service.http.transports import SocketTransport, Transport, expire_overdue

log = logging.getLogger(__name__)

LOG_REJECTED_SECONDS = 10.0
"""Minimum interval between two log lines about rejected connections."""


class Connections:
    """The open connections. IPv6 addresses are counted by /64, because one client usually owns all of it."""

    def __init__(self, limits: ServingLimits) -> None:
        self._limits = limits
        self._exempt = Networks(limits.exempt_networks)
        self._open: set[Transport] = set()
        self._by_address: Counter[str] = Counter()
        self._rejected = 0
        self._logged = -inf
        self._empty = trio.Event()
        self._empty.set()

    def has_room(self, address: str) -> bool:
        """Whether `address` may open another connection. Relays and proxies are exempt from the limit by address."""
        if len(self._open) >= self._limits.connections:
            return False
        if self._by_address[limited_as(address)] < self._limits.connections_per_address:
            return True
        return address in self._exempt

    @contextmanager
    def holding(self, transport: Transport) -> Iterator[None]:
        """Count a connection while the block runs."""
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

    def reject(self) -> None:
        """Count a connection that is closed immediately because a limit is reached."""
        self._rejected += 1

    def log_rejected(self) -> None:
        """Log how many connections were rejected. They get no response and so appear in no other log line."""
        now = trio.current_time()
        if self._rejected and now >= self._logged + LOG_REJECTED_SECONDS:
            log.warning(
                "rejected %d connections: at most %d may be open, and %d from one address",
                self._rejected,
                self._limits.connections,
                self._limits.connections_per_address,
            )
            self._rejected, self._logged = 0, now

    async def wait_empty(self) -> None:
        await self._empty.wait()

    def cut_all(self) -> None:
        for transport in list(self._open):
            transport.cut()

    def expire_overdue(self) -> None:
        expire_overdue([each for each in self._open if isinstance(each, SocketTransport)])

    def __len__(self) -> int:
        return len(self._open)
