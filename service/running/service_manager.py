"""Notifies systemd when the service is ready, reloads and stops, and that it is alive (sd_notify, WatchdogSec)."""

import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Self

import trio

log = logging.getLogger(__name__)


async def event_loop_runs() -> bool:
    """The health check of a single node: if it runs, the event loop is responsive."""
    return True


class ServiceManager:
    """The program that started this one and waits for its messages: systemd, or anything that speaks its protocol."""

    def __init__(self, address: str = "", watchdog_seconds: float = 0.0) -> None:
        """`address` is a path, or a name after `@` in the abstract namespace; empty: nobody waits, and nothing is sent."""
        self._address = address
        self._watchdog_seconds = watchdog_seconds

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str]) -> Self:
        """The manager that `environment` names. Removes its variables, so that no child process speaks for this one."""
        address = environment.pop("NOTIFY_SOCKET", "")
        pid, microseconds = environment.pop("WATCHDOG_PID", ""), environment.pop("WATCHDOG_USEC", "")
        if address and not address.startswith(("/", "@")):
            log.warning("NOTIFY_SOCKET is neither a path nor an abstract name, so nothing is sent to it: %s", address)
            address = ""
        watched = microseconds.isdecimal() and pid in ("", str(os.getpid()))
        return cls(address, int(microseconds) / 1_000_000 if watched else 0.0)

    async def serve_watchdog(
        self, stop: trio.Event, status: str, is_healthy: Callable[[], Awaitable[bool]] = event_loop_runs
    ) -> None:
        """Report that the service is ready, then send watchdog messages while `is_healthy`, until `stop` is set."""
        self._send("READY=1", f"STATUS={status}")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_alive, is_healthy)
            await stop.wait()
            nursery.cancel_scope.cancel()
        self._send("STOPPING=1", "STATUS=stopping: requests finish, then actors drain")

    @contextmanager
    def reloading(self) -> Iterator[None]:
        """Report a reload during the block, and readiness after it, unless the block is cancelled."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000}")
        yield
        self._send("READY=1")

    async def _keep_alive(self, is_healthy: Callable[[], Awaitable[bool]]) -> None:
        """Send a watchdog message twice in each interval. After a failed check, check five times as often."""
        while self._address and self._watchdog_seconds:
            healthy = await is_healthy()
            if healthy:
                self._send("WATCHDOG=1")
            else:
                log.error(
                    "no worker answers the health check; the service stops after %g s without an answer",
                    self._watchdog_seconds,
                )
            await trio.sleep(self._watchdog_seconds / (2 if healthy else 10))

    def _send(self, *lines: str) -> None:
        """Send one datagram without waiting. A failure is logged, because the service itself works."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifying:
            notifying.setblocking(False)
            try:
                notifying.sendto("\n".join(lines).encode(), address)
            except OSError as error:
                log.warning("cannot notify the service manager at %s: %s", self._address, error.strerror)
