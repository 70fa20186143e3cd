"""Counts from Postgres, to compare with those of the load generator."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

T = TypeVar("T")

SETTLED_SECONDS = 0.8
"""Counts that stay the same for so long are final: a slow program may pause before it commits its last requests."""
STATISTICS_SECONDS = 11.0
"""Idle Postgres backends report their commits within 10 s."""
WEEK_MS = 7 * 86_400_000
MONDAY_MS = 4 * 86_400_000
"""The first Monday after the epoch, which began on a Thursday."""

BOOK = (
    # Two weeks: bookings stay live if the week changes during a run.
    """
    insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon)
    select id, id, 'left', 10000, $2, true, 2, false from unnest($1::text[]) as id on conflict do nothing
    """,
    """
    insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency,
        status, mode, created_ms, hold_ms, refunded_cents)
    select offered.id, shown.tenant_id, shown.id, offered.id, offered.id, $2, 2, 20000, 'usd', 'paid', 'test', $2, $2, 0
    from unnest($1::text[]) as offered (id),
        (select id, tenant_id from campaigns where status = 'approved' order by id limit 1) as shown
    on conflict do nothing
    """,
    """
    insert into slot_weeks (slot_id, week_ms, booking_id)
    select id, $2::bigint + week * 604800000, id from unnest($1::text[]) as id, generate_series(0, 1) as week
    on conflict do nothing
    """,
)


@dataclass(frozen=True, slots=True)
class Charges:
    """Charged requests in Postgres, and the transactions of the service's accountant that wrote them."""

    counted: int
    transactions: int

    def __add__(self, other: "Charges") -> "Charges":
        return Charges(self.counted + other.counted, self.transactions + other.transactions)

    def __sub__(self, other: "Charges") -> "Charges":
        return Charges(self.counted - other.counted, self.transactions - other.transactions)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Events in Postgres, the sum of the counts by booking and day, and the transactions of the deduper."""

    rows: int
    counted: int
    transactions: int

    def __add__(self, other: "Recorded") -> "Recorded":
        return Recorded(self.rows + other.rows, self.counted + other.counted, self.transactions + other.transactions)

    def __sub__(self, other: "Recorded") -> "Recorded":
        return Recorded(self.rows - other.rows, self.counted - other.counted, self.transactions - other.transactions)


class Ledger:
    """Reads the counters over its own connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def charges(self, pause: float = SETTLED_SECONDS) -> Charges:
        """The charges once they stop changing for `pause` seconds, because a stopped generator leaves requests in flight."""
        return await _settled(self._charges, pause)

    async def _charges(self) -> Charges:
        row = await self._connection.fetchrow(
            "select (select coalesce(sum(lifetime_used), 0) from tenants)::bigint as counted,"
            " (select coalesce(sum(used), 0) from usage_days)::bigint as by_day,"
            " (select coalesce(sum(seq), 0) from journal where owner like '%/quota')::bigint as transactions"
        )
        if row["counted"] != row["by_day"]:
            raise RuntimeError(f"{row['counted']} requests are counted by tenant, {row['by_day']} by day")
        return Charges(row["counted"], row["transactions"])

    async def recorded(self, pause: float = SETTLED_SECONDS) -> Recorded:
        """The events once they stop changing for `pause` seconds."""
        return await _settled(self._recorded, pause)

    async def _recorded(self) -> Recorded:
        row = await self._connection.fetchrow(
            "select (select count(*) from event_keys) as rows,"
            " (select coalesce(sum(impressions + clicks), 0) from deliveries)::bigint as counted,"
            " (select coalesce(sum(seq), 0) from event_journal)::bigint as transactions"
        )
        return Recorded(row["rows"], row["counted"], row["transactions"])

    async def commits(self) -> int:
        """Number of commits of all backends. Waits until every backend has reported."""
        await asyncio.sleep(STATISTICS_SECONDS)
        return int(
            await self._connection.fetchval(
                "select xact_commit from pg_stat_database where datname = current_database()"
            )
        )

    async def deadlocks(self) -> int:
        """Number of deadlocks in this database. Waits until every backend has reported."""
        await asyncio.sleep(STATISTICS_SECONDS)
        return int(
            await self._connection.fetchval("select deadlocks from pg_stat_database where datname = current_database()")
        )

    async def entries(self) -> int:
        return int(await self._connection.fetchval("select count(*) from catalog"))

    async def slugs(self, count: int) -> list[str]:
        """Slugs of use cases spread over the whole catalog."""
        rows = await self._connection.fetch("select slug from usecases order by hashtext(slug), slug limit $1", count)
        return [row["slug"] for row in rows]

    async def book(self, count: int, now_ms: int) -> Sequence[str]:
        """Insert live bookings, each with its own slot, as the service stores them. Returns their ids."""
        ids = [f"bench-{number:03}" for number in range(count)]
        async with self._connection.transaction():
            for statement in BOOK:
                await self._connection.execute(statement, ids, now_ms - (now_ms - MONDAY_MS) % WEEK_MS)
            await self._connection.execute("update sponsorship_revision set revision = revision + 1")
        return ids

    async def clear_events(self) -> None:
        """Delete all events and run a checkpoint. Counts stay, because only their growth is compared."""
        await self._connection.execute("truncate event_keys")
        await self._connection.execute("checkpoint")

    async def settle(self) -> None:
        """Finish the work that the import leaves behind (vacuum, checkpoint), so that it does not disturb the measurement."""
        await self._connection.execute("vacuum analyze")
        await self._connection.execute("checkpoint")

    async def version(self) -> str:
        return str(await self._connection.fetchval("show server_version")).split()[0]


async def _settled(look: Callable[[], Awaitable[T]], pause: float) -> T:
    before = None
    while before != (now := await look()):
        before = now
        await asyncio.sleep(pause)
    return now


@asynccontextmanager
async def open_ledger(data_dir: Path) -> AsyncIterator[Ledger]:
    """A ledger over the embedded Postgres of a running service."""
    connection = await asyncpg.connect(host=str(data_dir / "run"), user="catalog", database="catalog", ssl=False)
    try:
        yield Ledger(connection)
    finally:
        await connection.close()
