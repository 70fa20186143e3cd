"""The journal of batch ids, which makes it safe to run a batch again."""

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar

from actors.values import BatchId, Steps
from storage.connection.asyncio_border import pause
from storage.connection.pool import Connection, Database
from storage.rows.statements import statements

SQL = statements("journal")

S = TypeVar("S")
D = TypeVar("D")


async def record_batch(connection: Connection, batch_id: BatchId) -> bool:
    """Write the batch id in this transaction. Returns False if the batch has already committed and must not run again.

    The owner's row stays locked until the transaction ends. An earlier attempt of the same batch has therefore ended,
    committed or not, before this returns.
    """
    return await connection.fetchval(SQL.record, batch_id.owner, batch_id.seq) is not None


async def decide_once(
    database: Database,
    batch_id: BatchId,
    read: Callable[[Connection], Awaitable[S]],
    decide: Callable[[S], D | Steps[D]],
    write: Callable[[Connection, S, D], Awaitable[None]],
) -> D:
    """Read and lock, decide, and write, in one transaction with the batch id.

    A batch that has already committed is not decided again; its decision is returned. Other tasks run between the steps of
    a decision, which keeps its locks.
    """

    async def work(connection: Connection) -> D:
        if await record_batch(connection, batch_id):
            before = await read(connection)
            decision = await _in_steps(decide(before))
            await write(connection, before, decision)
            batch_id.decided = decision
        decided: D = batch_id.decided
        return decided

    return await database.transact(work)


async def _in_steps(work: D | Steps[D]) -> D:
    while isinstance(work, Generator):
        try:
            next(work)
        except StopIteration as end:
            work = end.value
        else:
            await pause()
    return work
