"""The parent of several workers. It opens the database and the sockets, keeps the workers alive, and serves no requests."""

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import trio

from service.config.deployment import refuse_unsafe, refuse_untraced
from service.config.model import Config
from service.config.user_errors import ConfigError
from service.http.limits import LAST_MOMENT_SECONDS
from service.http.listen_address import ListenError
from service.observability.collectors import backup_metrics
from service.observability.host_metrics import Reading
from service.observability.logs import set_up
from service.observability.operators_app import serve_operators
from service.process.shared_sockets import Reservation, reserve
from service.process.supervisor import SupervisionLimits, Supervisor, WorkerFailed, supervised
from service.process.worker import Process, spawn
from service.running.foundation import foundation, listen_addresses, warn_of_certificate
from service.running.operators_listener import open_operators_listener
from service.running.scheduled_backups import new_backup_directory, running_backups
from service.running.service_manager import PassedSockets, ServiceManager
from service.running.signals import abandon_start, handle_signals
from service.running.unprivileged import drop_root

FIXED = (
    "server.bind",
    "server.workers",
    "server.ops_bind",
    "server.data_dir",
    "server.user",
    "server.allow_unsafe_public",
    "server.drain_seconds",
    "tls.bind",
    "billing.mode",
    "database.url",
    "database.connections",
    "backup.every_hours",
    "backup.keep",
    "backup.directory",
)
"""Settings that a reload cannot change."""

SPARE_SECONDS = 5.0
"""Extra time for a worker to exit beyond its own limits."""

log = logging.getLogger(__name__)


class WorkerLauncher:
    """Launches workers with the current configuration, each on the sockets of its number."""

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
        except PermissionError:
            log.warning("worker %d: new connections wait; only root can bind ports below 1024 again", number)
        except OSError as error:
            raise ConfigError(f"server.bind, tls.bind: cannot bind the port again: {error.strerror}") from None


async def run(
    config: Config,
    data_dir: Path,
    ready: Callable[[Sequence[str]], None],
    reread: Callable[[], Config],
    passed: PassedSockets,
) -> None:
    """Run several nodes until a signal stops them. Calls `ready` with their URLs once all accept connections.

    `reread` loads the configuration again on SIGHUP; it may raise `ConfigError`.
    """
    stop, prepared, hangup = trio.Event(), trio.Event(), _Hangup()
    manager = ServiceManager.from_environment(os.environ)
    with closing(reserve(listen_addresses(config, passed), config.server.workers)) as reservation:
        launcher, shutdown = WorkerLauncher(config, data_dir, reservation), _Shutdown(reservation)
        async with open_operators_listener(config, passed) as operators, trio.open_nursery() as nursery:
            await nursery.start(handle_signals, stop, hangup.set, shutdown.hurry)
            nursery.start_soon(shutdown.run, stop)
            nursery.start_soon(abandon_start, stop, prepared, nursery.cancel_scope)
            async with foundation(config, data_dir) as opened:
                backup_directory = await new_backup_directory(config, data_dir)
                await drop_root(config, data_dir, reservation.descriptors(), backups=backup_directory)
                async with running_backups(config, data_dir, opened) as backups:
                    own = [] if backups is None else [Reading(partial(backup_metrics, backups))]
                    prepared.set()
                    with shutdown.scope:
                        async with supervised(launcher, config.server.workers, limits_of(config)) as supervisor:
                            shutdown.supervisor = supervisor
                            log.info("%d workers are ready", config.server.workers)
                            if operators is not None:
                                nursery.start_soon(serve_operators, operators, supervisor.reports, own)
                            ready(reservation.urls)
                            status = f"{config.server.workers} workers serve on {reservation.urls[0]}"
                            nursery.start_soon(manager.serve_watchdog, stop, status, supervisor.answers)
                            await _replace_on_hangup(hangup, manager, launcher, supervisor, reread)
                log.info("all workers have exited")
            nursery.cancel_scope.cancel()


class _Shutdown:
    """Stops all workers gracefully."""

    def __init__(self, reservation: Reservation) -> None:
        self.scope = trio.CancelScope()  # around the workers
        self.supervisor: Supervisor | None = None
        self._reservation = reservation

    async def run(self, stop: trio.Event) -> None:
        """On `stop`, close our sockets first, so that each queue closes with the worker that empties it."""
        await stop.wait()
        self._reservation.close()
        self.scope.cancel()

    def hurry(self) -> None:
        """Signal the workers again."""
        if self.supervisor is not None:
            self.supervisor.end()


class _Hangup:
    """An event that resets when it is received. Signals that arrive before count once."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        await self._event.wait()
        self._event = trio.Event()


async def _replace_on_hangup(
    hangup: _Hangup,
    manager: ServiceManager,
    launcher: WorkerLauncher,
    supervisor: Supervisor,
    reread: Callable[[], Config],
) -> None:
    """Reload on each hangup, and notify the service manager."""
    while True:
        await hangup.wait()
        with manager.reloading():
            await _reload(launcher, supervisor, reread)


async def _reload(launcher: WorkerLauncher, supervisor: Supervisor, reread: Callable[[], Config]) -> None:
    """Replace all workers. An invalid configuration is logged and changes nothing."""
    before = launcher.config
    try:
        launcher.config = checked(before, reread())
    except (ConfigError, ListenError) as error:
        log.error("configuration not reloaded, workers unchanged: %s", " ".join(str(error).split()))
        return
    supervisor.allow(limits_of(launcher.config))
    log.info("replacing %d workers, one after the other", before.server.workers)
    try:
        await supervisor.replace_all()
    except WorkerFailed as error:
        launcher.config = before
        log.error("reload failed, remaining workers not replaced: %s", error)
    else:
        set_up(launcher.config.log.level, launcher.config.log.format)
        log.info("all workers are replaced")


def checked(before: Config, after: Config) -> Config:
    """`after`, if a reload may change `before` to it. Raises `ConfigError` and `ListenError`."""
    for name in FIXED:
        section, setting = name.split(".")
        if getattr(getattr(before, section), setting) != getattr(getattr(after, section), setting):
            raise ConfigError(f"{name} cannot change in a reload: restart the service")
    refuse_unsafe(after)
    refuse_untraced(after)
    listen_addresses(after)
    warn_of_certificate(after)
    return after


def limits_of(config: Config) -> SupervisionLimits:
    """The supervisor's limits. A worker within its own limits is never killed."""
    server = config.server
    own = server.drain_seconds + server.graceful_seconds + LAST_MOMENT_SECONDS + config.actors.drain_seconds
    return SupervisionLimits(end_seconds=own + SPARE_SECONDS, starts_at_once=max(2, os.cpu_count() or 1))
