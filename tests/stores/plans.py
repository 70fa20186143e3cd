"""How a statement reads, and how many rows, by the plan that Postgres makes for its values and by the one for any values."""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from actors.values import Account
from storage.connection.pool import Connection, Database, Row
from storage.postgres.export import export

MODES = ("generic", "custom")


async def plan_of(connection: Connection, statement: str, values: Sequence[Any], mode: str, options: str) -> str:
    """A plan of one of `MODES`. A statement that `explain` names itself has values in its plan, so only a prepared one shows
    the generic plan."""
    await connection.execute(
        f"savepoint before; set local plan_cache_mode = force_{mode}_plan; prepare measured as {statement}"
    )
    given = f"({', '.join(map(_literal, values))})" if values else ""
    plan = await connection.fetch(f"explain ({options}) execute measured{given}")
    await connection.execute("rollback to savepoint before; deallocate measured")
    return "\n".join(row[0] for row in plan)


async def most_rows(database: Database, statements: Mapping[str, tuple[str, list[Any]]]) -> dict[str, int]:
    """The most rows that a step of each plan reads. Nothing that the statements write stays."""

    async def read(connection: Connection) -> dict[str, int]:
        found = {}
        for (name, (statement, values)), mode in product(statements.items(), MODES):
            lines = await plan_of(connection, statement, values, mode, "analyze, timing off, summary off")
            counts = [float(rows) * int(loops) for rows, loops in re.findall(r"rows=(\d+\.?\d*) loops=(\d+)", lines)]
            counts += map(float, re.findall(r"Rows Removed by \w+(?: \w+)?: (\d+)", lines))
            found[f"{name}, {mode} plan"] = int(max(counts))
        return found

    return await database.transact(read)


class Recorder:
    """A database that remembers the statements that read it, with their values, by a name."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.name = ""
        self.found: dict[str, tuple[str, list[Any]]] = {}

    async def fetch(self, statement: str, *values: Any) -> Sequence[Row]:
        self.found[f"{self.name}, {len(self.found)}"] = statement, list(values)
        return await self._database.fetch(statement, *values)

    async def fetchrow(self, statement: str, *values: Any) -> Row | None:
        return next(iter(await self.fetch(statement, *values)), None)

    async def fetchval(self, statement: str, *values: Any) -> Any:
        return next(iter((await self.fetch(statement, *values))[0].values()))


async def most_rows_of_exports(
    database: Database, account: Account, tables: Sequence[str], limit: int
) -> dict[str, int]:
    """The same of all statements for three pages of each table, which has more than ten."""
    recorder = Recorder(database)
    for recorder.name in tables:
        every = await export(database, account, recorder.name, "", 10 * limit)
        assert len(every) == 10 * limit, f"{recorder.name} has {len(every)} rows"
        for after in ("", every[limit].place, every[-1].place):
            await export(recorder, account, recorder.name, after, limit)  # type: ignore[arg-type]
    return await most_rows(database, recorder.found)


def _literal(value: Any) -> str:
    words = f"{{{','.join(map(_element, value))}}}" if isinstance(value, list) else str(value)
    return f"'{words}'"


def _element(value: Any) -> str:
    return rf'"\\x{value.hex()}"' if isinstance(value, bytes) else str(value)
