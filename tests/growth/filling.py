"""Fills a migrated database with the rows of a large service, by statements alone."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from actors.shared.credentials import ENTROPY_BYTES, SESSION_TOKEN, Kind, digest, new_key
from storage.connection.pool import Connection, Database

ROWS = (Path(__file__).parent / "rows.sql").read_text(encoding="utf-8")
FILL_SECONDS = 600.0
TELL = "select pg_stat_force_next_flush()"
"""Reports what the connection has read. Postgres may do it 10 s later otherwise, when somebody measures a request."""

PAID = 0.7
"""The part of the bookings that were paid. A seventh of them still are, and have their weeks."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many rows to make. `weeks` are those before this one in which something was booked, `days` the days with counts."""

    accounts: int
    campaigns: int
    bookings: int
    days: int
    weeks: int = 200

    @property
    def values(self) -> Mapping[str, object]:
        """The numbers of `rows.sql`."""
        of_most = self.bookings / 25 * PAID
        second = (self.days - 7 * of_most) / (self.bookings * PAID - of_most) - 1
        slots = max(20, self.bookings // 10 // self.weeks + 1)
        return {**asdict(self), "slots": slots, "second_days": round(min(1, max(0, second)), 3)}


LARGE = Size(100_000, 300_000, 500_000, 560_000)
SMALL = Size(60, 180, 60, 100)
"""A service whose lists have about a page each, so that the answers of a large one are no longer."""


ADMIN, MOST, FEW = 1, 2, 3
"""The numbers of the administrator, of the sponsor with the most bookings, and of one with six."""


def key_of(person: int) -> str:
    """The full key of a person of these."""
    return new_key(Kind.USER, bytes([person]) * ENTROPY_BYTES)


def session_of(person: int) -> str:
    """The token of a browser session of a person of these."""
    return SESSION_TOKEN.new(bytes([person]) * ENTROPY_BYTES)


async def fill(database: Database, size: Size, seed: int, now_ms: int) -> None:
    """Make the rows, and let Postgres gather their statistics, as its autovacuum does."""
    values = {**size.values, "seed": seed, "now": now_ms}
    text = re.sub(rf"(?<![\w:]):({'|'.join(values)})\b", lambda name: str(values[name[1]]), ROWS)

    async def work(connection: Connection) -> None:
        await connection.execute("set local statement_timeout = 0")
        await connection.execute(text)
        for person in (ADMIN, MOST, FEW):
            key, token = digest(key_of(person)), digest(session_of(person))
            await connection.execute("update api_keys set hash = $2 where id = $1", f"key_{person}", key)
            await connection.execute("update sessions set token_hash = $2 where id = $1", f"ses_{person - 1}", token)

        await connection.execute(TELL)

    await database.transact(work, seconds=FILL_SECONDS)

    async def vacuum(connection: Connection) -> None:
        await connection.execute("set statement_timeout = 0")
        await connection.execute("vacuum (analyze)")
        await connection.execute("reset statement_timeout")
        await connection.execute(TELL)

    await database.read(vacuum)
