"""The outbox over Postgres."""

from collections.abc import Sequence

from actors.mail.messages import GivenUp, Lease, Mark, QueuedMessage, RetryLater, Sent
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("mail")


class PostgresOutbox:
    """Letters in the `outbox` table, where the key store puts them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def lease(self, limit: int, now_ms: int, until_ms: int) -> Lease:
        async def work(connection: Connection) -> Lease:
            rows = await connection.fetch(SQL.lease, now_ms, limit, until_ms)
            next_due_ms: int | None = await connection.fetchval(SQL.next_due)
            messages = sorted(
                (QueuedMessage(**row) for row in rows), key=lambda message: (message.created_ms, message.id)
            )
            return Lease(tuple(messages), next_due_ms)

        return await self._database.transact(work)

    async def mark(self, marks: Sequence[Mark]) -> None:
        async def work(connection: Connection) -> None:
            # Sorted, so that two nodes that mark the same letters do not deadlock.
            for mark in sorted(marks, key=lambda mark: mark.message_id):
                await _keep(connection, mark)

        await self._database.transact(work)

    async def prune(self, before_ms: int, limit: int) -> int:
        async def work(connection: Connection) -> int:
            return int(await connection.fetchval(SQL.prune, before_ms, limit))

        return await self._database.transact(work)

    async def recent(self, limit: int) -> Sequence[QueuedMessage]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.recent, limit))
        return [QueuedMessage(**row) for row in rows]


async def _keep(connection: Connection, mark: Mark) -> None:
    match mark:
        case Sent(message_id, sent_ms):
            await connection.execute(SQL.mark_sent, message_id, sent_ms)
        case RetryLater(message_id, attempt, due_ms, error):
            await connection.execute(SQL.mark_again, message_id, attempt, due_ms, error)
        case GivenUp(message_id, attempt, failed_ms, error):
            await connection.execute(SQL.mark_given_up, message_id, attempt, failed_ms, error)
