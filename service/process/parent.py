"""The parent of several workers: it opens what exists once, keeps the workers alive, and serves no request itself."""

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import trio

from service.config import Config
from service.http.listeners import ListenError
from service.http.server import LAST_MOMENT_SECONDS
from service.main import foundation, listen_addresses
from service.observability.logs import set_up
from service.process.shared_sockets import Reservation, reserve
from service.process.supervisor import SupervisionLimits, Supervisor, WorkerFailed, supervised
from service.process.worker import Process, spawn
from service.signals import heed_signals
from service.user_errors import ConfigError

FIXED = (
    "server.bind",
    "server.workers",
    "tls.bind",
    "database.url",
    "database.os_user",
    "database.connections",
)
"""Settings that the parent has acted upon: they hold until it is started anew."""

SPARE_SECONDS = 5.0
"""What a worker may take to end beyond the bounds of its own that it keeps."""

log = logging.getLogger(__name__)


class WorkerLauncher:
    """Launches workers with the configuration that holds now, each on the sockets of its number."""

    def __init__(self, config: Config, data_dir: Path, reservation: Reservation) -> None:
        self.config = config
        self._data_dir = data_dir
        self._reservation = reservation

    async def launch(self, number: int) -> Process:
        sockets = self._reservation.of(number)
        return await spawn(number, self.config, self._data_dir, self._reservation.urls, sockets)

    def give_up_queue(self, number: int) -> None:
        try:
            self._reservation.renew(number)
        except OSError as error:
            raise ConfigError(f"the port cannot be bound anew: {error.strerror}") from None


async def run(
    config: Config, data_dir: Path, ready: Callable[[Sequence[str]], None], reread: Callable[[], Config]
) -> None:
    """Several nodes, from nothing until told to stop. Calls `ready` with their URLs once all accept connections.

    `reread` gives the configuration as it stands now, for SIGHUP; it may raise `ConfigError`.
    """
    stop, hangup = trio.Event(), _Bell()
    with closing(reserve(listen_addresses(config), config.server.workers)) as reservation:
        launcher, ending = WorkerLauncher(config, data_dir, reservation), _Ending(reservation)
        async with trio.open_nursery() as nursery:
            await nursery.start(heed_signals, stop, hangup.ring, ending.hurry)
            nursery.start_soon(ending.when, stop)
            async with foundation(config, data_dir):
                with ending.life:
                    async with supervised(launcher, config.server.workers, limits_of(config)) as supervisor:
                        ending.supervisor = supervisor
                        log.info("%d workers serve", config.server.workers)
                        ready(reservation.urls)
                        await _renew_when_asked(hangup, launcher, supervisor, reread)
                log.info("all workers have ended")
            nursery.cancel_scope.cancel()


class _Ending:
    """The orderly end of all workers."""

    def __init__(self, reservation: Reservation) -> None:
        self.life = trio.CancelScope()
        """What they live in."""
        self.supervisor: Supervisor | None = None
        self._reservation = reservation

    async def when(self, stop: trio.Event) -> None:
        """Once told to stop: first let go of the sockets, so that each queue ends with the worker who empties it."""
        await stop.wait()
        self._reservation.close()
        self.life.cancel()

    def hurry(self) -> None:
        """Tell the workers a second time."""
        if self.supervisor is not None:
            self.supervisor.end()


class _Bell:
    """Remembers that it was rung, however often, until somebody has heard it."""

    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def heard(self) -> None:
        await self._rung.wait()
        self._rung = trio.Event()


async def _renew_when_asked(
    hangup: _Bell, launcher: WorkerLauncher, supervisor: Supervisor, reread: Callable[[], Config]
) -> None:
    """Renew all workers each time that the bell rings. A configuration that is of no use changes nothing."""
    while True:
        await hangup.heard()
        before = launcher.config
        try:
            launcher.config = renewed(before, reread())
        except (ConfigError, ListenError) as error:
            log.error("the workers stay as they are: %s", " ".join(str(error).split()))
            continue
        log.info("renewing %d workers, one after the other", before.server.workers)
        try:
            await supervisor.renew()
        except WorkerFailed as error:
            launcher.config = before
            log.error("the renewal ends here, workers without a successor stay: %s", error)
        else:
            set_up(launcher.config.log.level, launcher.config.log.format)
            log.info("all workers are renewed")


def renewed(before: Config, after: Config) -> Config:
    """The configuration for the next workers. Raises `ConfigError` where it cannot take the place of the one before."""
    for name in FIXED:
        section, setting = name.split(".")
        if getattr(getattr(before, section), setting) != getattr(getattr(after, section), setting):
            raise ConfigError(f"{name} changes only when the service is started anew")
    listen_addresses(after)
    return after


def limits_of(config: Config) -> SupervisionLimits:
    """Bounds of the supervisor: nobody is killed who keeps the bounds of a node."""
    own = config.server.graceful_seconds + LAST_MOMENT_SECONDS + config.actors.drain_seconds
    return SupervisionLimits(end_seconds=own + SPARE_SECONDS, starts_at_once=max(2, os.cpu_count() or 1))
