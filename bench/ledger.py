"""What Postgres and the service say they did: the other side of every count of the load generator."""

import asyncio
import re
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from bench.programs import Program

STATISTICS_SECONDS = 11.0
"""An idle backend of Postgres reports its commits after 10 s at the latest."""

_SAMPLE = re.compile(
    r'^catalog_batch_messages_(sum|count|bucket)\{actor="quota"(?:,le="([^"]+)")?\} (\S+)$', re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Charges:
    """Requests that are counted in Postgres, and in how many transactions of the service's accountant."""

    counted: int
    batches: int


@dataclass(frozen=True, slots=True)
class Batches:
    """What /metrics tells of the accountant's batches: how many messages in how many, and how many had 20 or fewer."""

    messages: float = 0.0
    batches: float = 0.0
    small: float = 0.0

    def __add__(self, other: "Batches") -> "Batches":
        return Batches(self.messages + other.messages, self.batches + other.batches, self.small + other.small)

    def __sub__(self, other: "Batches") -> "Batches":
        return Batches(self.messages - other.messages, self.batches - other.batches, self.small - other.small)


class Ledger:
    """Reads the counters over a connection of its own."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def charges(self) -> Charges:
        """What is counted once nothing moves any more: a generator that stops leaves requests in flight."""
        before = None
        while before != (now := await self._charges()):
            before = now
            await asyncio.sleep(0.3)
        return now

    async def _charges(self) -> Charges:
        row = await self._connection.fetchrow(
            "select (select coalesce(sum(lifetime_used), 0) from tenants)::bigint as counted,"
            " (select coalesce(sum(used), 0) from usage_days)::bigint as by_day,"
            " (select coalesce(sum(seq), 0) from journal where owner like '%/quota')::bigint as batches"
        )
        if row["counted"] != row["by_day"]:
            raise RuntimeError(f"{row['counted']} requests are counted by tenant, {row['by_day']} by day")
        return Charges(row["counted"], row["batches"])

    async def commits(self) -> int:
        """Transactions that all backends have committed; waits until every one has reported."""
        await asyncio.sleep(STATISTICS_SECONDS)
        return int(
            await self._connection.fetchval(
                "select xact_commit from pg_stat_database where datname = current_database()"
            )
        )

    async def entries(self) -> int:
        return int(await self._connection.fetchval("select count(*) from catalog"))

    async def slugs(self, count: int) -> list[str]:
        """Slugs of use cases, spread over the whole catalog."""
        rows = await self._connection.fetch("select slug from usecases order by hashtext(slug), slug limit $1", count)
        return [row["slug"] for row in rows]

    async def settle(self) -> None:
        """Leave no work of the import to the time of the measurement."""
        await self._connection.execute("vacuum analyze")
        await self._connection.execute("checkpoint")

    async def version(self) -> str:
        return str(await self._connection.fetchval("show server_version")).split()[0]


@asynccontextmanager
async def open_ledger(data_dir: Path) -> AsyncIterator[Ledger]:
    """A ledger over the embedded Postgres of a running service."""
    connection = await asyncpg.connect(host=str(data_dir / "run"), user="catalog", database="catalog", ssl=False)
    try:
        yield Ledger(connection)
    finally:
        await connection.close()


async def fetch(program: Program, path: str, *, method: str = "GET", authorization: str | None = None) -> bytes:
    """One answer of a program; raises when it is no 2xx."""
    headers = {} if authorization is None else {"authorization": authorization}
    request = urllib.request.Request(f"http://127.0.0.1:{program.port}{path}", method=method, headers=headers)

    def read() -> bytes:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return bytes(answer.read())

    return await asyncio.to_thread(read)


async def batches(service: Program) -> Batches:
    """The accountant's batches since the service began."""
    samples = {
        (name, bound): float(value)
        for name, bound, value in _SAMPLE.findall((await fetch(service, "/metrics")).decode())
    }
    if not samples:
        return Batches()  # a histogram without an observation is not shown
    return Batches(samples["sum", ""], samples["count", ""], samples["bucket", "20.0"])
