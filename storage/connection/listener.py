"""Listens for Postgres notifications on a connection of its own, and reconnects when it is lost."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from actors.kernel.periodic import shared_pause
from actors.values import StorageUnavailable
from storage.connection.asyncio_border import cross
from storage.connection.error_translation import translated
from storage.connection.pool import Database, connect

log = logging.getLogger(__name__)


class Listener:
    """LISTEN on the database of a pool, which bounds its waits."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def listen(self, channel: str, on_topic: Callable[[str], None], on_gap: Callable[[], None]) -> None:
        """Call `on_topic` with the payload of each notification on `channel`, until cancelled.

        Calls `on_gap` each time it starts to listen, because earlier notifications are not delivered. The callbacks must
        not block. A lost connection is replaced: one that ended at once, one that fell silent within `listen_check_seconds`.
        """
        limits = self._database.limits
        warned = False
        while True:
            subscription = _Subscription(self._database, channel, on_topic)
            try:
                await subscription.open()
                warned = False
                on_gap()
                while True:
                    with trio.move_on_after(shared_pause(limits.listen_check_seconds)):
                        await subscription.ended.wait()
                    await subscription.check()
            except StorageUnavailable as error:
                if not warned:
                    log.warning(
                        "the connection for notifications is lost and made anew; changes are noticed later meanwhile: %s",
                        error,
                    )
                warned = True
            finally:
                subscription.end()
            await trio.sleep(limits.listen_pause_seconds)


class _Subscription:
    """One connection that listens, until `end` or until it is lost, which sets `ended`."""

    def __init__(self, database: Database, channel: str, on_topic: Callable[[str], None]) -> None:
        self._database = database
        self._channel = channel
        self._on_topic = on_topic
        self._connection: Any = None
        self.ended = trio.Event()

    async def open(self) -> None:
        self._connection = await connect(self._database.target, self._database.limits)
        self._connection.add_termination_listener(lambda _: self.ended.set())
        await self._run(lambda: self._connection.add_listener(self._channel, self._notified))

    async def check(self) -> None:
        await self._run(lambda: self._connection.execute("select 1"))

    async def _run(self, statement: Callable[[], Awaitable[object]]) -> None:
        try:
            await cross(statement, self._database.limits.command_seconds, self._connection.terminate)
        except Exception as error:
            raise translated(error, sent_commit=False, distributed=self._database.target.distributed) from error

    def end(self) -> None:
        if self._connection is not None:
            self._connection.terminate()

    def _notified(self, connection: Any, pid: int, channel: str, topic: str) -> None:
        self._on_topic(topic)
