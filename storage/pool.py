"""The border between Trio and asyncio, and the only file that crosses it.

A crossing is a whole transaction: it is shielded from cancellation (a cancelled asyncpg call can end the loop, and a
cancelled commit may have happened), bounded in time by the server's `statement_timeout` and, behind it, by terminating
the connection, and its errors are translated once. Knows nothing of what the transactions do.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import asyncpg
import trio
import trio_asyncio
from asyncpg import exceptions as pg

from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from storage.detached_reads import Errands, open_errands

T = TypeVar("T")
Connection = Any
"""An asyncpg connection; the library is not typed."""
Work = Callable[[Any], Awaitable[T]]

log = logging.getLogger(__name__)

CONTENDED = (
    pg.SerializationError,
    pg.DeadlockDetectedError,
    pg.UniqueViolationError,
    pg.LockNotAvailableError,
)
UNAVAILABLE = (
    pg.PostgresConnectionError,
    pg.InterfaceError,
    pg.InternalClientError,
    pg.OperatorInterventionError,
    pg.InsufficientResourcesError,
    pg.ReadOnlySQLTransactionError,
    pg.IdleInTransactionSessionTimeoutError,
    pg.InvalidAuthorizationSpecificationError,
    pg.InsufficientPrivilegeError,
    pg.InvalidCatalogNameError,
    pg.PostgresIOError,
    pg.PostgresSystemError,
    ConnectionError,
    OSError,
    TimeoutError,
)
LOST = (
    pg.PostgresConnectionError,
    pg.InterfaceError,
    # What asyncpg raises for a statement that meets a server's farewell on a connection that lay idle.
    pg.InternalClientError,
    pg.OperatorInterventionError,
    ConnectionError,
    OSError,
    TimeoutError,
)
"""Errors after which the fate of a commit that was sent is not known."""


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """Bounds of the pool. A transaction that waits longer than `wait_seconds` for a connection, or finds `waiters`
    before it, is refused; one that runs longer than `command_seconds` loses its connection."""

    connections: int = 8
    waiters: int = 64
    wait_seconds: float = 2.0
    connect_seconds: float = 3.0
    statement_seconds: float = 4.0
    lock_seconds: float = 2.0
    command_seconds: float = 6.0
    listen_check_seconds: float = 1.0
    listen_pause_seconds: float = 0.25

    def __post_init__(self) -> None:
        assert self.lock_seconds < self.statement_seconds, "a lock is given up before its statement"
        assert self.statement_seconds < self.command_seconds, "the server gives up before the client terminates"


def connections_of(limits: PoolLimits) -> int:
    """The most connections of one node: its pool's, and the one that listens."""
    return limits.connections + 1


@dataclass(frozen=True, slots=True)
class Target:
    """Where Postgres is: a URL, or the socket directory, role and database of the embedded one."""

    url: str | None = None
    host: str | None = None
    user: str | None = None
    database: str | None = None

    def arguments(self) -> dict[str, Any]:
        if self.url is not None:
            return {"dsn": self.url}
        return {"host": self.host, "user": self.user, "database": self.database, "ssl": False}


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """A picture of the pool; counts are since it was opened."""

    open: int
    busy: int
    waiting: int
    transactions: int
    contended: int
    unavailable: int
    unknown: int
    refused: int
    loop_errors: int


@dataclass(slots=True)
class _Counts:
    transactions: int = 0
    contended: int = 0
    unavailable: int = 0
    unknown: int = 0
    refused: int = 0
    loop_errors: int = 0


@dataclass(eq=False, slots=True)
class Database:
    """A bounded set of connections; `open_database` makes it."""

    target: Target
    limits: PoolLimits
    _errands: Errands
    _counts: _Counts = field(default_factory=_Counts)
    _idle: list[Any] = field(default_factory=list)
    _open: int = 0
    _slots: trio.CapacityLimiter = field(init=False)

    def __post_init__(self) -> None:
        self._slots = trio.CapacityLimiter(self.limits.connections)

    async def transact(self, work: Work[T], *, seconds: float | None = None) -> T:
        """Run `work(connection)` in one read-write transaction and commit it; `seconds` overrides `command_seconds`.

        `work` is asyncio-flavoured and awaits nothing but the connection. Raises `Contended` (rolled back, run again),
        `OutcomeUnknown` (the connection broke in the commit) or `StorageUnavailable` (nothing was kept).
        """
        return await self._cross(lambda: self._transaction(work, seconds or self.limits.command_seconds))

    async def commit(self, work: Work[T]) -> T:
        """Run `work(connection)`, which is one statement that writes, and so a transaction by itself: one round trip for
        three, in the middle of which Postgres would wait for a busy event loop.

        Raises as `transact` does. The statement is its commit: whatever its answer would have said is lost with it.
        """
        return await self._cross(lambda: self._plain(work, commits=True))

    async def read(self, work: Work[T], *, room: trio.CapacityLimiter | None = None) -> T:
        """Run `work(connection)` outside a transaction: for reads, and for single statements that may run twice. Whoever
        waits may leave, unlike those who write: only what he reads is lost. `room` bounds reads at once, left ones too."""

        async def run() -> T:
            async with room or nullcontext():
                return await self._cross(lambda: self._plain(work))

        return await self._errands.run(run)

    async def ping(self) -> None:
        """Raise `StorageUnavailable` unless the database answers and takes writes."""

        async def work(connection: Connection) -> None:
            if await connection.fetchval(
                "select pg_is_in_recovery() or current_setting('transaction_read_only')::bool"
            ):
                raise StorageUnavailable("the database is read-only")

        await self.read(work)

    async def listen(self, channel: str, on_topic: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        """Call `on_topic` with each notification on `channel`, on a connection of its own, until cancelled.

        Calls `on_gap` each time it begins to listen, since what was announced before is not heard. The callbacks must
        not block. A lost connection is noticed within `listen_check_seconds` and replaced.
        """
        told = False
        while True:
            listener = _Listener(self, channel, on_topic)
            try:
                await self._shielded(listener.open)
                told = False
                on_gap()
                while True:
                    await trio.sleep(self.limits.listen_check_seconds)
                    await self._shielded(listener.check)
            except StorageUnavailable as error:
                if not told:
                    log.warning("announcements are not heard: %s", error)
                told = True
            finally:
                listener.end()
            await trio.sleep(self.limits.listen_pause_seconds)

    def statistics(self) -> PoolStatistics:
        counts = self._counts
        return PoolStatistics(
            open=self._open,
            busy=self._slots.borrowed_tokens,
            waiting=self._slots.statistics().tasks_waiting,
            transactions=counts.transactions,
            contended=counts.contended,
            unavailable=counts.unavailable,
            unknown=counts.unknown,
            refused=counts.refused,
            loop_errors=counts.loop_errors,
        )

    def __repr__(self) -> str:
        busy = self._slots.borrowed_tokens
        return f"<Database {busy} busy of {self._open} open, {self._counts.transactions} transactions>"

    # The Trio side.

    async def _cross(self, run: Callable[[], Awaitable[T]]) -> T:
        await self._take_slot()
        try:
            self._counts.transactions += 1
            with trio.CancelScope(shield=True):
                result: T = await trio_asyncio.aio_as_trio(run)()
            return result
        except Contended:
            self._counts.contended += 1
            raise
        except OutcomeUnknown:
            self._counts.unknown += 1
            raise
        except StorageUnavailable:
            self._counts.unavailable += 1
            raise
        finally:
            self._slots.release()

    async def _shielded(self, run: Callable[[], Awaitable[None]]) -> None:
        with trio.CancelScope(shield=True):
            await trio_asyncio.aio_as_trio(run)()

    async def _take_slot(self) -> None:
        if self._slots.statistics().tasks_waiting >= self.limits.waiters:
            self._counts.refused += 1
            raise StorageUnavailable("too many transactions wait for a connection")
        with trio.move_on_after(self.limits.wait_seconds):
            await self._slots.acquire()
            return
        self._counts.refused += 1
        raise StorageUnavailable(f"no connection was free within {self.limits.wait_seconds:g} s")

    # The asyncio side.

    async def _transaction(self, work: Work[T], seconds: float) -> T:
        connection = await self._checked_out()
        sent_commit = False
        with _Deadline(connection, seconds, self._terminate_all):
            try:
                await connection.execute("begin")
                result = await work(connection)
                sent_commit = True
                await connection.execute("commit")
            except BaseException as error:
                raise translated(self._ended(connection, error), sent_commit=sent_commit) from error
        self._idle.append(connection)
        return result

    async def _plain(self, work: Work[T], *, commits: bool = False) -> T:
        connection = await self._checked_out()
        with _Deadline(connection, self.limits.command_seconds, self._terminate_all):
            try:
                result = await work(connection)
            except BaseException as error:
                raise translated(self._ended(connection, error), sent_commit=commits) from error
        self._idle.append(connection)
        return result

    async def _checked_out(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._open -= 1
        connection = await connect(self.target, self.limits)
        self._open += 1
        return connection

    def _ended(self, connection: Any, error: BaseException) -> BaseException:
        """The error, with its connection discarded. On one that broke asyncpg may reach for what is no longer there."""
        broken = connection.is_closed() and isinstance(error, AttributeError)
        self._discard(connection)
        return pg.InterfaceError(f"the connection broke: {error}") if broken else error

    def _discard(self, connection: Any) -> None:
        # Never close(): it waits for the server, and nothing bounds that wait.
        connection.terminate()
        self._open -= 1

    def _terminate_all(self) -> None:
        while self._idle:
            self._discard(self._idle.pop())

    def on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An asyncio error that nobody awaited: log and count it; left alone it would end the process."""
        self._counts.loop_errors += 1
        log.warning("database loop: %s: %r", context.get("message"), context.get("exception"))


async def connect(target: Target, limits: PoolLimits) -> Any:
    """A connection (asyncio side) whose session has this service's bounds. Whatever fails is `StorageUnavailable`."""
    settings = {
        "application_name": "catalog",
        "timezone": "UTC",
        "jit": "off",
        "statement_timeout": _milliseconds(limits.statement_seconds),
        "lock_timeout": _milliseconds(limits.lock_seconds),
        # Whoever began it may be gone without a word, and its locks keep all others waiting.
        "idle_in_transaction_session_timeout": _milliseconds(limits.statement_seconds),
    }
    try:
        return await asyncpg.connect(
            **target.arguments(), timeout=limits.connect_seconds, statement_cache_size=256, server_settings=settings
        )
    except ValueError:
        # From None, and without its words: they may quote a part of the URL that is the password.
        raise StorageUnavailable(
            "its URL cannot be read; in user and password write /, :, @, ? and # as %2F and so on"
        ) from None
    except Exception as error:
        raise StorageUnavailable(f"{type(error).__name__}: {error}") from error


@asynccontextmanager
async def open_database(target: Target, limits: PoolLimits | None = None) -> AsyncIterator[Database]:
    """A database for the life of the block. Connects when first used; tasks inside the block may use it."""
    async with trio_asyncio.open_loop() as loop:
        with ExitStack() as last:
            async with open_errands() as errands:
                database = Database(target, limits or PoolLimits(), errands)
                loop.set_exception_handler(database.on_loop_error)
                last.callback(database._terminate_all)
                yield database


class _Listener:
    """One connection that listens (asyncio side); ended for good by `end`."""

    def __init__(self, database: Database, channel: str, on_topic: Callable[[str], None]) -> None:
        self._database = database
        self._channel = channel
        self._on_topic = on_topic
        self._connection: Any = None

    async def open(self) -> None:
        try:
            self._connection = await connect(self._database.target, self._database.limits)
            with _Deadline(self._connection, self._database.limits.command_seconds):
                await self._connection.add_listener(self._channel, self._heard)
        except Exception as error:
            raise translated(error, sent_commit=False) from error

    async def check(self) -> None:
        with _Deadline(self._connection, self._database.limits.command_seconds):
            try:
                await self._connection.execute("select 1")
            except Exception as error:
                raise translated(error, sent_commit=False) from error

    def end(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    def _heard(self, connection: Any, pid: int, channel: str, topic: str) -> None:
        self._on_topic(topic)


class _Deadline:
    """Terminate a connection that is still at work after `seconds`: its calls then fail by themselves, uncancelled.

    The server gives up before that, so one that says nothing may be gone, and other connections to it too: `silent`.
    """

    def __init__(self, connection: Any, seconds: float, silent: Callable[[], None] = lambda: None) -> None:
        self._connection, self._silent = connection, silent
        self._timer = asyncio.get_running_loop().call_later(seconds, self._pass)

    def _pass(self) -> None:
        self._connection.terminate()
        self._silent()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def translated(error: BaseException, *, sent_commit: bool) -> BaseException:
    """The one translation of what asyncpg raises into what actors know; anything unexpected stays as it is."""
    if isinstance(error, StorageUnavailable | Contended | OutcomeUnknown):
        return error
    if sent_commit and isinstance(error, LOST):
        return OutcomeUnknown(f"the connection broke in the commit: {error!r}")
    if isinstance(error, CONTENDED):
        return Contended(str(error))
    if isinstance(error, UNAVAILABLE):
        return StorageUnavailable(f"{type(error).__name__}: {error}")
    return error


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))
