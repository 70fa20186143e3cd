"""The journal of turns: what makes a batch safe to run again."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from actors.values import BatchId
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("turns")

D = TypeVar("D")


async def take_turn(connection: Connection, batch_id: BatchId) -> bool:
    """Journal the turn in this transaction; False when it was committed before, and the batch must not run again.

    The owner's row stays locked until the transaction ends, so an earlier attempt of the same turn whose fate is
    unknown has ended, one way or the other, before this returns.
    """
    return await connection.fetchval(SQL.take, batch_id.owner, batch_id.seq) is not None


async def decide_once(database: Database, batch_id: BatchId, work: Callable[[Connection], Awaitable[D]]) -> D:
    """Run `work`, which decides and keeps, in the transaction of its turn. A turn that was kept before is not decided again:
    its decision is returned."""

    async def once(connection: Connection) -> D:
        if await take_turn(connection, batch_id):
            batch_id.decided = await work(connection)
        decided: D = batch_id.decided
        return decided

    return await database.transact(once)


async def forget_ended(database: Database) -> None:
    """Drop the journal rows of nodes that ended long ago; done at each start."""
    await database.read(lambda connection: connection.execute(SQL.forget))
