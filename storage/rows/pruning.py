"""Deleting old rows, a limited number per transaction."""

from storage.connection.pool import Connection, Database


async def prune(database: Database, statement: str, before_ms: int, limit: int) -> int:
    """Run a statement that deletes at most `limit` rows older than `before_ms`. Returns how many it deleted."""

    async def work(connection: Connection) -> int:
        return int(await connection.fetchval(statement, before_ms, limit))

    return await database.transact(work)
