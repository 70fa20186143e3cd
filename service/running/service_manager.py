"""What systemd and this program say to each other: that the service is ready, reloads, stops and is alive (sd_notify,
WatchdogSec), and the listening sockets that a supervisor keeps open (sd_listen_fds)."""

import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from types import MappingProxyType
from typing import Self

import trio

from service.config.model import Config
from service.config.process import binds_of
from service.http.listen_address import ListenAddress, ListenError, copy_of

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


FIRST_DESCRIPTOR = 3
"""Passed sockets have the numbers from here."""

NAMED = {"tls": "tls.bind", "ops": "server.ops_bind"}
"""The settings whose addresses sockets of these names take. All others take those of `server.bind`."""


class PassedSockets:
    """The listening sockets that the program that started this one keeps open, while this one is restarted."""

    def __init__(self, descriptors: Mapping[str, Sequence[int]] = MappingProxyType({})) -> None:
        """`descriptors` are by the setting whose addresses they take."""
        self._descriptors = descriptors

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str]) -> Self:
        """The sockets that `environment` names. Removes its variables, and keeps the sockets from child processes."""
        pid, count, names = (environment.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"))
        if pid != str(os.getpid()) or not count.isdecimal():
            return cls()
        found: dict[str, list[int]] = {}
        for number, name in zip_longest(range(int(count)), names.split(":")[: int(count)]):
            descriptor = FIRST_DESCRIPTOR + number
            os.set_inheritable(descriptor, False)
            found.setdefault(NAMED.get(name, "server.bind"), []).append(descriptor)
        return cls(found)

    def applied(self, config: Config) -> Config:
        """The configuration with the addresses of the sockets in place of its own. Raises `ListenError` for a socket that
        cannot be used."""
        for setting, descriptors in self._descriptors.items():
            section, name = setting.split(".")
            before = getattr(config, section)
            if not getattr(before, name):
                raise ListenError(f"{setting}: a socket for it was passed (LISTEN_FDNAMES), but it is empty: set it")
            binds = ",".join(_bind_of(setting, each) for each in descriptors)
            config = config.model_copy(update={section: before.model_copy(update={name: binds})})
        return config

    def addresses(self, setting: str, binds: str) -> list[ListenAddress]:
        """The addresses of a setting, with their sockets if some were passed for it."""
        places = [address_of(bind) for bind in binds_of(binds)]
        descriptors: Sequence[int | None] = self._descriptors.get(setting) or [None] * len(places)
        return [
            ListenAddress(host, port, setting, descriptor=descriptor)
            for (host, port), descriptor in zip(places, descriptors, strict=True)
        ]


def address_of(bind: str) -> tuple[str, int]:
    """Host and port of `host:port`, with or without brackets around an IPv6 host."""
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


def _bind_of(setting: str, descriptor: int) -> str:
    """The address at which a socket listens, as HOST:PORT. Raises `ListenError` unless it is a listening one of TCP."""
    try:
        with copy_of(descriptor) as passed:
            listens = passed.type == socket.SOCK_STREAM and passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if not listens or passed.family not in (socket.AF_INET, socket.AF_INET6):
                raise ListenError(f"{setting}: descriptor {descriptor} (LISTEN_FDS) is not a listening socket of TCP")
            host, port = passed.getsockname()[:2]
    except OSError as error:
        raise ListenError(
            f"{setting}: descriptor {descriptor} (LISTEN_FDS) is not a socket: {error.strerror}"
        ) from None
    return f"[{host}]:{port}" if passed.family == socket.AF_INET6 else f"{host}:{port}"
