"""The journal of turns: what makes a batch safe to run again."""

from actors.values import Turn
from storage.pool import Connection
from storage.statements import statements

SQL = statements("turns")


async def take_turn(connection: Connection, turn: Turn) -> bool:
    """Journal the turn in this transaction; False when it was committed before, and the batch must not run again.

    The owner's row stays locked until the transaction ends, so an earlier attempt of the same turn whose fate is
    unknown has ended, one way or the other, before this returns.
    """
    return await connection.fetchval(SQL.take, turn.owner, turn.seq) is not None
