"""What Postgres has, held against what the websites were told."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from actors.events.messages import Bucket, Kind
from actors.events.state import Seals
from tests.acceptance.postgres import PostgresServer
from tests.soak.websites import Answers

KINDS = {0: Kind.IMPRESSION, 1: Kind.CLICK}
Counts = Counter[tuple[str, int, Kind]]
"""How many events of a booking, a day and a kind."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows by key, and what the counts of the days say."""

    rows: dict[bytes, tuple[str, int, Kind]]
    counts: Counts


def kept(postgres: PostgresServer, database: str) -> Kept:
    rows = postgres.ask("select booking_id, day, key, kind from events", database=database)
    days = postgres.ask("select booking_id, day, impressions, clicks from delivery_days", database=database)
    counts: Counts = Counter()
    for row in days:
        counts[row["booking_id"], row["day"], Kind.IMPRESSION] = row["impressions"]
        counts[row["booking_id"], row["day"], Kind.CLICK] = row["clicks"]
    return Kept({row["key"]: (row["booking_id"], row["day"], KINDS[row["kind"]]) for row in rows}, counts)


def violations(answers: Answers, before: Kept, after: Kept, seals: Seals, days: Iterable[int]) -> list[str]:
    """What is not as it was promised; empty when all is well. `days` are those that the run has seen."""
    found = []
    keys = {seals.key(Bucket(day, 0), event): (event, day) for event in answers.sent for day in days}
    if before.rows:
        found.append(f"{len(before.rows)} rows were there before the run")
    strangers = after.rows.keys() - keys.keys()
    if strangers:
        found.append(f"{len(strangers)} rows are of no event that was sent")
    times_kept = Counter(keys[key][0] for key in after.rows if key in keys)
    for event, times in answers.trues.items():
        if times > len(list(days)):
            found.append(f"recorded: true was said {times} times of {event}")
        if times_kept[event] < times:
            found.append(f"recorded: true was said {times} times, and {times_kept[event]} are there, of {event}")
    found += [f"a duplicate of nothing: {event}" for event in sorted(answers.duplicates) if not times_kept[event]]
    for key, (event, day) in keys.items():
        row = after.rows.get(key)
        if row is not None and row != (event.booking_id, day, event.kind):
            found.append(f"a row of {event} says {row}")
    counted = Counter(after.counts)
    counted.subtract(before.counts)
    rows = Counter(after.rows.values())
    for place in sorted(counted.keys() | rows.keys()):
        if counted[place] != rows[place]:
            found.append(f"{place}: {counted[place]} are counted, {rows[place]} are there")
    return found


def untold(answers: Answers, after: Kept) -> int:
    """Rows of which nobody was told that they are there: their answers got lost, or said 503."""
    return len(after.rows) - answers.trues.total()
