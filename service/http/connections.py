"""Counts open connections, in total and by address, and closes them all at shutdown."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf

import trio

from service.http.addresses import Networks, limited_as
from service.http.limits import LAST_CALL_SECONDS, ServingLimits
from service.http.transports import SocketTransport, Transport, expire_overdue

log = logging.getLogger(__name__)

LOG_SECONDS = 60.0
"""Minimum interval between two log lines about connections that are not served."""


class Connections:
    """The open connections. IPv6 addresses are counted by /64, because one client usually owns all of it."""

    def __init__(self, limits: ServingLimits) -> None:
        self._limits = limits
        self._exempt = Networks(limits.exempt_networks)
        self._open: set[Transport] = set()
        self._by_address: Counter[str] = Counter()
        self._rejected = self._failed = 0
        self._why = ""
        self._logged = self._logged_failures = -inf
        self._empty = trio.Event()
        self._empty.set()
        self._resting = trio.lowlevel.ParkingLot()
        self._handshakes: set[trio.CancelScope] = set()
        self._stopping = False

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
            self._resting.unpark_all()
        try:
            yield
        finally:
            self._open.remove(transport)
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]
            if not self._open:
                self._empty.set()

    @contextmanager
    def handshake(self) -> Iterator[None]:
        """Bound a TLS handshake by `head_seconds`, and by the stop of the server, which has no request to wait for. Raises
        `trio.TooSlowError`."""
        seconds = LAST_CALL_SECONDS if self._stopping else self._limits.head_seconds
        with trio.fail_after(seconds) as scope:
            self._handshakes.add(scope)
            try:
                yield
            finally:
                self._handshakes.discard(scope)

    def end_handshakes(self) -> None:
        """Let handshakes end within `LAST_CALL_SECONDS`."""
        self._stopping = True
        due = trio.current_time() + LAST_CALL_SECONDS
        for scope in self._handshakes:
            scope.deadline = min(scope.deadline, due)

    def reject(self) -> None:
        """Count a connection that is closed immediately because a limit is reached."""
        self._rejected += 1
        self._resting.unpark_all()

    def note_failure(self, why: str) -> None:
        """Count a connection that waits, because the system has no resources for it."""
        self._failed += 1
        self._why = why
        self._resting.unpark_all()

    def log_rejected(self) -> None:
        """Log how many connections were rejected, and how many wait. They appear in no other log line."""
        now = trio.current_time()
        if self._rejected and now >= self._logged + LOG_SECONDS:
            log.warning(
                "closed %d connections at once: at most %d may be open (http.connections), and %d from one address "
                "(http.connections_per_address); logged at most once a minute",
                self._rejected,
                self._limits.connections,
                self._limits.connections_per_address,
            )
            self._rejected, self._logged = 0, now
        if self._failed and now >= self._logged_failures + LOG_SECONDS:
            log.warning(
                "new connections wait, because this process cannot accept them (%s): raise the limits of the system, or "
                "lower http.connections; logged at most once a minute",
                self._why,
            )
            self._failed, self._logged_failures = 0, now

    async def wait_empty(self) -> None:
        await self._empty.wait()

    async def wait_busy(self) -> None:
        """Wait until there is a connection to look after, or something to log."""
        while not (self._open or self._rejected or self._failed):
            await self._resting.park()

    def cut_all(self) -> None:
        for transport in list(self._open):
            transport.cut()

    def expire_overdue(self) -> None:
        expire_overdue([each for each in self._open if isinstance(each, SocketTransport)])

    def __len__(self) -> int:
        return len(self._open)
