"""The border between Trio and asyncio, and the only module that crosses it.

asyncpg runs on an asyncio loop inside Trio. A crossing is shielded from cancellation: cancelling an asyncpg call can end
the loop, and a cancelled commit may have succeeded. What bounds a crossing instead is the server's `statement_timeout`
and, behind it, the end of its connection. Must not know what a pool is or what its transactions do.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from typing import Any, TypeVar

import asyncpg
import trio

from actors.values import StorageUnavailable
from storage.connection.asyncio_bridge import trio_asyncio
from storage.connection.error_translation import reason_of

T = TypeVar("T")

log = logging.getLogger(__name__)

STATEMENTS = 128
"""Prepared statements that a connection keeps, those that were used last. Each takes some 30 KB of Postgres. Under a mixed
load, a connection uses 100; of the service's 358, the others are rare, and preparing one anew takes a round trip."""

BACKEND = "select pg_backend_pid()"


class _Waiting:
    """A task that waits for a future in `cross`. Called with the future once that is done."""

    __slots__ = ("_task",)

    def __init__(self) -> None:
        self._task = trio.lowlevel.current_task()

    def __call__(self, _: object) -> None:
        trio.lowlevel.reschedule(self._task)


@asynccontextmanager
async def open_loop() -> AsyncIterator[asyncio.AbstractEventLoop]:
    """An asyncio loop for the life of the block; tasks started inside the block may cross to it.

    A future that is done lets the loop call those who wait for it in its next turn. Tasks in `cross` are told at once: a
    turn of the loop costs as much as a fifth of a small statement.
    """
    async with trio_asyncio.open_loop() as loop:
        in_turn = loop.call_soon

        def call_soon(callback: Callable[..., object], *arguments: Any, context: Context | None = None) -> Any:
            if isinstance(callback, _Waiting):
                return callback(*arguments)
            return in_turn(callback, *arguments, context=context)

        loop.call_soon = call_soon
        yield loop


async def pause() -> None:
    """Let other tasks run in the middle of an asyncio-flavoured function."""
    await asyncio.sleep(0)


async def cross(run: Callable[[], Awaitable[T]], seconds: float, overdue: Callable[[], None]) -> T:
    """Call an asyncio-flavoured function and wait for its end, even when cancelled. It may wait for nothing but futures, as
    the driver's statements do. If it takes longer than `seconds`, `overdue` is called, which has to let it fail. The loop has
    to outlive it.

    The Trio task takes the function's steps itself: an asyncio task and its timer would cost more than a small statement.
    """
    waiting = _Waiting()

    def refuse_to_abort(_: object) -> trio.lowlevel.Abort:
        try:
            overdue()
        except Exception:
            log.exception("could not cancel what a statement waits for")
        return trio.lowlevel.Abort.FAILED

    steps = run().__await__()
    with trio.CancelScope(deadline=trio.current_time() + seconds, shield=True):
        try:
            while True:
                future = next(steps)
                if future is None:
                    # `pause`
                    await trio.lowlevel.cancel_shielded_checkpoint()
                    continue
                future._asyncio_future_blocking = False  # what an asyncio task does with a future that it will wait for
                future.add_done_callback(waiting)
                await trio.lowlevel.wait_task_rescheduled(refuse_to_abort)
        except StopIteration as end:
            result: T = end.value
        finally:
            # Ends a function that waits for something else, which is a bug.
            steps.close()
    return result


class Session(asyncpg.Connection):  # type: ignore[misc]  # the library is not typed
    """A connection, and the process of the server behind it. Behind a pooler, the driver knows the pooler's."""

    __slots__ = ("backend",)
    backend: int


async def connect(
    attempts: Sequence[Mapping[str, Any]], seconds: float, settings: Mapping[str, str], *, application: str, place: str
) -> Any:
    """Open a connection to `place`, even when cancelled. Raises `StorageUnavailable` on any failure.

    Of the `attempts`, the first that succeeds counts. Each has an equal share of what the earlier ones left of `seconds`.
    The server's `settings` are set on the open connection: poolers refuse most of them where the driver would send them.
    """
    connection = await _open(attempts, seconds, application, place)
    set_all = "; ".join(f"set {name} = '{value}'" for name, value in settings.items())

    async def set_up() -> int:
        # One message, and so one round trip. No statement of it takes a snapshot, which some servers would refuse before.
        await connection.execute(set_all)
        return int(await connection.fetchval(BACKEND))

    try:
        connection.backend = await cross(set_up, seconds, connection.terminate)
    except Exception as error:
        connection.terminate()
        raise StorageUnavailable(reason_of(error, place=place)) from error
    return connection


async def _open(attempts: Sequence[Mapping[str, Any]], seconds: float, application: str, place: str) -> Any:
    try:
        with trio.CancelScope(shield=True):
            return await _first_of(attempts, trio.current_time() + seconds, application)
    except ValueError:
        # From None and without the message: it may quote the part of the URL that holds the password.
        raise StorageUnavailable(
            "its URL cannot be parsed; percent-encode /, :, @, ? and # in the user name and the password"
        ) from None
    except Exception as error:
        raise StorageUnavailable(reason_of(error, place=place, connect_seconds=seconds)) from error


async def _first_of(attempts: Sequence[Mapping[str, Any]], due: float, application: str) -> Any:
    """The first connection that opens. If none does, the error of the last host that is not merely of another kind."""
    open_connection = trio_asyncio.aio_as_trio(asyncpg.connect)
    failed: Exception | None = None
    for index, arguments in enumerate(attempts):
        try:
            return await open_connection(
                **arguments,
                timeout=max(0.0, due - trio.current_time()) / (len(attempts) - index),
                statement_cache_size=STATEMENTS,
                # By default the driver drops statements after 5 minutes, and closes them all at once before the next new one.
                max_cached_statement_lifetime=0,
                server_settings={"application_name": application},
                connection_class=Session,
            )
        except asyncpg.TargetServerAttributeNotMatched as error:
            failed = failed or error
        except (OSError, asyncpg.CannotConnectNowError) as error:
            failed = error
    assert failed is not None
    raise failed
