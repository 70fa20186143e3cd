"""A bounded pool of connections to Postgres, used from Trio.

A crossing to asyncio is a whole transaction: bounded in time, and its errors are translated once. Must not know what the
transactions do.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Any, TypeVar

import trio

from actors.kernel.mailbox import Reply
from actors.kernel.supervision import background_nursery
from actors.stores import PoolStatistics
from actors.values import Contended, OutcomeUnknown, StorageUnavailable, WritesRefused
from storage.connection import asyncio_border
from storage.connection.asyncio_border import BACKEND
from storage.connection.error_translation import BROKE, POOLED, READ_ONLY, error_of, reason_of, refusal_of, translated
from storage.connection.lost_connections import PROBE_SECONDS, LostConnections
from storage.connection.target import Target
from storage.connection.together import Together

T = TypeVar("T")
Connection = Any
"""An asyncpg connection; the library is not typed."""
Row = Mapping[str, Any]
Work = Callable[[Any], Awaitable[T]]

log = logging.getLogger(__name__)

REFUSED_SECONDS = 5.0
"""The time for which a refused write counts, although others may succeed: on a full disk, small updates do."""


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Bounds of the pool. A transaction is refused when `waiters` others already wait for a connection, or when none
    becomes free within `wait_seconds`. One that runs longer than `command_seconds` loses its connection."""

    connections: int = 8
    waiters: int = 64
    wait_seconds: float = 2.0
    connect_seconds: float = 2.0
    statement_seconds: float = 4.0
    lock_seconds: float = 2.0
    command_seconds: float = 6.0
    listen_check_seconds: float = 5.0
    listen_pause_seconds: float = 0.25

    def __post_init__(self) -> None:
        assert self.lock_seconds < self.statement_seconds, "a lock wait must time out before its statement"
        assert self.statement_seconds < self.command_seconds, "the server must time out before the client terminates"


HIDE_NO_SHARDS = {"citus.override_table_visibility": "off"}
"""Citus hides its shards from queries of the catalog, at a cost that grows with the square of their number. The first array
that a connection sends makes the driver ask for its type, which took seconds with 50 days of 32 shards on a server."""

KEEPALIVE_SECONDS = 10
"""The idle time after which the server asks whether the client still exists. With no answer for as long, it disconnects."""


def connections_of(limits: PoolLimits) -> int:
    """The maximum number of connections of one node: its pool's, the listener's, and that which asks for lost ones."""
    return limits.connections + 2


def worker_limits(limits: PoolLimits) -> PoolLimits:
    """The limits of a node's pool of connections to one worker of a distributed database."""
    return replace(limits, connections=max(1, limits.connections // 2))


def connections_to_worker(limits: PoolLimits) -> tuple[int, int]:
    """The maximum number of connections at a worker for one node: its own, which are those of its pool and that which asks
    for lost ones, and those of Citus, which keeps one for each session of the coordinator that has queried the worker."""
    return worker_limits(limits).connections + 1, limits.connections


@dataclass(eq=False, slots=True)
class Database:
    """A bounded set of connections, made by `open_database`."""

    target: Target
    limits: PoolLimits
    _reads: "DetachedReads"
    _closing: ExitStack = field(default_factory=ExitStack)
    _counts: PoolStatistics = field(default_factory=PoolStatistics)
    _idle: list[Any] = field(default_factory=list)
    _slots: trio.CapacityLimiter = field(init=False)
    _refusal: tuple[float, str] = (-inf, "")
    """Until when the last write that the server refused counts, and why it did."""

    _lost: LostConnections = field(init=False)
    together: Together = field(init=False)

    def __post_init__(self) -> None:
        self._slots = trio.CapacityLimiter(self.limits.connections)
        hasty = replace(self.limits, connect_seconds=PROBE_SECONDS)
        self.together = Together(self.fetchrow)
        self._lost = LostConnections(partial(connect, self.target, hasty), self._give_up)

    async def transact(self, work: Work[T], *, seconds: float | None = None) -> T:
        """Run `work(connection)` in one read-write transaction and commit it; `seconds` overrides `command_seconds`.

        `work` is asyncio-flavoured and awaits nothing but the connection. Raises `Contended` (rolled back, run it again),
        `OutcomeUnknown` (the connection broke during the commit) or `StorageUnavailable` (nothing was written).
        """
        return await self._cross(partial(self._transaction, work), seconds or self.limits.command_seconds)

    async def commit(self, work: Work[T]) -> T:
        """Run `work(connection)`, which is one writing statement and so its own transaction. This takes one round trip
        instead of three, between which Postgres would wait for a busy event loop.

        Raises as `transact` does. If the connection breaks, the result of the statement is lost with it.
        """
        return await self._cross(partial(self._statement, work, commits=True), self.limits.command_seconds)

    async def read(self, work: Work[T]) -> T:
        """Run `work(connection)` outside a transaction: for reads, and for single statements that may run twice.

        Unlike a write, a read can be cancelled at once; its query runs to its end in the background.
        """
        return await self._reads.run(lambda: self._cross(partial(self._statement, work), self.limits.command_seconds))

    async def fetch(self, statement: str, *values: Any) -> Sequence[Row]:
        """The rows of one reading statement."""
        return await self.read(lambda connection: connection.fetch(statement, *values))

    async def fetchrow(self, statement: str, *values: Any) -> Row | None:
        """The first row of one reading statement."""
        return await self.read(lambda connection: connection.fetchrow(statement, *values))

    async def fetchval(self, statement: str, *values: Any) -> Any:
        """The first value of the first row of one reading statement."""
        return await self.read(lambda connection: connection.fetchval(statement, *values))

    async def ping(self) -> None:
        """Raise `StorageUnavailable` unless the database answers, `WritesRefused` unless it accepts writes. A write that it
        refused counts for `REFUSED_SECONDS`."""
        until, why = self._refusal
        if trio.current_time() < until:
            raise WritesRefused(why)

        async def work(connection: Connection) -> None:
            if await connection.fetchval(
                "select pg_is_in_recovery() or current_setting('transaction_read_only')::bool"
            ):
                raise WritesRefused(READ_ONLY)

        await self.read(work)

    def separate_pool(self, target: Target, limits: PoolLimits) -> "Database":
        """Another bounded set of connections, for the life of this one."""
        one = Database(target, limits, self._reads, self._closing)
        one.begin()
        return one

    def begin(self) -> None:
        """Watch the connections, and end them with the database."""
        self._reads.run_meanwhile(self._lost.watch)
        self._closing.callback(self._terminate_all)

    def statistics(self) -> PoolStatistics:
        slots = self._slots.statistics()
        return replace(self._counts, busy=slots.borrowed_tokens, waiting=slots.tasks_waiting)

    def __repr__(self) -> str:
        now = self.statistics()
        return f"<Database {now.busy} busy of {now.open} open, {now.transactions} transactions>"

    # The Trio side.

    async def _cross(self, run: Callable[[Connection], Awaitable[T]], seconds: float) -> T:
        """Run an asyncio-flavoured function on a connection. One that is still busy after `seconds` is terminated: as the
        server's own time limit is shorter, the connection has probably lost its server."""
        await self._acquire_slot()
        try:
            self._counts.transactions += 1
            connection = await self._checked_out()

            with self._lost.using(connection):
                return await asyncio_border.cross(partial(run, connection), seconds, partial(self._give_up, connection))
        except Contended:
            self._counts.contended += 1
            raise
        except OutcomeUnknown:
            self._counts.unknown += 1
            raise
        except StorageUnavailable as error:
            self._counts.unavailable += 1
            if (why := refusal_of(error)) is not None:
                # Each ping asks whether its own connection is read-only; others may be.
                seconds = REFUSED_SECONDS / 5 if why == READ_ONLY else REFUSED_SECONDS
                self._refusal = (trio.current_time() + seconds, why)
            raise
        finally:
            self._slots.release()

    async def _acquire_slot(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._slots.statistics().tasks_waiting >= self.limits.waiters:
            self._counts.refused += 1
            raise StorageUnavailable(f"the queue for a connection is full ({self.limits.waiters} waiting)")
        with suppress(trio.WouldBlock):
            self._slots.acquire_nowait()
            return
        with trio.move_on_after(self.limits.wait_seconds):
            await self._slots.acquire()
            return
        self._counts.refused += 1
        raise StorageUnavailable(f"no connection became free within {self.limits.wait_seconds:g} s")

    async def _checked_out(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._counts.open -= 1
        connection = await connect(self.target, self.limits)
        self._counts.open += 1
        return connection

    # The asyncio side.

    async def _transaction(self, work: Work[T], connection: Connection) -> T:
        sent_commit = False
        try:
            await connection.execute("begin")
            result = await work(connection)
            sent_commit = True
            await connection.execute("commit")
        except BaseException as error:
            raise self._failed(connection, error, sent_commit=sent_commit) from error
        self._idle.append(connection)
        return result

    async def _statement(self, work: Work[T], connection: Connection, *, commits: bool = False) -> T:
        try:
            result = await work(connection)
        except BaseException as error:
            raise self._failed(connection, error, sent_commit=commits) from error
        self._idle.append(connection)
        return result

    def _failed(self, connection: Any, error: BaseException, *, sent_commit: bool) -> BaseException:
        """Discard the connection and return the error to raise."""
        raised = error_of(connection, error)
        self._discard(connection)
        return translated(raised, sent_commit=sent_commit, distributed=self.target.distributed)

    def _discard(self, connection: Any) -> None:
        # Not close(): it waits for the server without a bound.
        connection.terminate()
        self._counts.open -= 1

    def _terminate_all(self) -> None:
        while self._idle:
            self._discard(self._idle.pop())

    def _give_up(self, connection: Any) -> None:
        """Let what waits on a connection fail. The idle ones have probably lost their server, too."""
        connection.terminate()
        self._terminate_all()

    def on_loop_error(self, loop: Any, context: dict[str, Any]) -> None:
        """Log and count an asyncio error that no task awaited. Unhandled, it would end the process."""
        self._counts.loop_errors += 1
        error = context.get("exception")
        reason = BROKE if error is None else reason_of(error)
        log.warning("a connection to %s failed outside a statement: %s", self.target.place, reason)
        log.debug("the failure", exc_info=error)


class Store:
    """The rows of one concern in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _prune(self, statement: str, before_ms: int, limit: int) -> int:
        """Run a statement that deletes at most `limit` rows older than `before_ms`. Returns how many it deleted."""
        return int(await self._database.transact(lambda connection: connection.fetchval(statement, before_ms, limit)))


async def connect(target: Target, limits: PoolLimits) -> Any:
    """Open a connection with this service's time limits, even when cancelled. Raises `StorageUnavailable` on any failure."""
    settings = {
        # What the rules of the stores are made for. A standby also refuses to serialize.
        "default_transaction_isolation": "read committed",
        "timezone": "UTC",
        "jit": "off",
        "statement_timeout": _milliseconds(limits.statement_seconds),
        "lock_timeout": _milliseconds(limits.lock_seconds),
        # A client may vanish without closing its connection while its locks block all others: in an idle transaction, or
        # while the server sends a result. No timeout of a statement ends a send; over TCP, this one does.
        "idle_in_transaction_session_timeout": _milliseconds(limits.statement_seconds),
        "tcp_user_timeout": _milliseconds(limits.statement_seconds),
        # Between two statements a vanished client holds nothing but one of the server's connections.
        "tcp_keepalives_idle": str(KEEPALIVE_SECONDS),
        "tcp_keepalives_interval": str(KEEPALIVE_SECONDS),
    }
    if target.distributed:
        settings |= HIDE_NO_SHARDS
    if target.reads_only:
        settings |= {"default_transaction_read_only": "on"}
    return await _connect(target, limits, settings)


async def _connect(target: Target, limits: PoolLimits, settings: Mapping[str, str]) -> Any:
    return await asyncio_border.connect(
        target.attempts(), limits.connect_seconds, settings, application=target.application, place=target.place
    )


async def check_sessions(target: Target, limits: PoolLimits) -> None:
    """Raises `StorageUnavailable` if a pooler gives one connection of the server to several clients: locks, notifications,
    prepared statements and settings need one of their own."""
    only = {"default_transaction_isolation": "read committed"}  # the others would stay on a shared connection
    with ExitStack() as closing:
        sessions = []
        for _ in range(2):
            sessions.append(await _connect(target, limits, only))
            closing.callback(sessions[-1].terminate)
        for each in sessions:
            try:
                now = await asyncio_border.cross(
                    partial(each.fetchval, BACKEND), limits.command_seconds, each.terminate
                )
            except Exception as error:
                raise translated(error, sent_commit=False) from error
            if now != each.backend or sessions[0].backend == sessions[1].backend:
                raise StorageUnavailable(POOLED)


@asynccontextmanager
async def open_database(target: Target, limits: PoolLimits | None = None) -> AsyncIterator[Database]:
    """A database for the life of the block. It connects on first use; only tasks started inside the block may use it."""
    async with asyncio_border.open_loop() as loop:
        with ExitStack() as closing:
            # Leaving it waits for the reads that go on after their callers were cancelled.
            async with background_nursery() as nursery:
                database = Database(target, limits or PoolLimits(), DetachedReads(nursery), closing)
                loop.set_exception_handler(database.on_loop_error)
                database.begin()
                yield database


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))


class DetachedReads:
    """Runs each read in a task of its own, so that its caller can be cancelled at once."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    def run_meanwhile(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run `work` until the database closes."""
        self._nursery.start_soon(work)

    async def run(self, read: Callable[[], Awaitable[T]]) -> T:
        """Return or raise what `read` does. If the caller is cancelled, its shielded part goes on in the background."""
        reply: Reply[T] = Reply()
        scope = trio.CancelScope()
        self._nursery.start_soon(_run, read, reply, scope)
        try:
            return await reply.wait()
        finally:
            scope.cancel()


async def _run(read: Callable[[], Awaitable[T]], reply: Reply[T], scope: trio.CancelScope) -> None:
    try:
        with scope:
            reply.answer(await read())
    except Exception as error:
        reply.fail(error)
    finally:
        reply.fail(StorageUnavailable("the database is closing"))
