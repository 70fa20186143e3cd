"""The promises of events that hold for each transaction and each dropped partition, checked when it happens."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from actors.clock import DAY_MS
from tests.simulation.oracle.bookings import WEEK_MS, week_at
from tests.simulation.oracle.tally import Before, Stored

if TYPE_CHECKING:
    from tests.simulation.world import World


def judge(world: "World", batch_id: str, before: Before, stored: Sequence[Stored]) -> Iterator[str]:
    """Rows are added, never changed or lost. Counts are the sums of rows."""
    events = world.memory.events
    for day, rows in before.events.items():
        if any(events.get(day, {}).get(key) is not row for key, row in rows.items()):
            yield f"{batch_id} changed or lost rows of the day {day}"
    for each in stored:
        if each.row.booking_id not in world.memory.bookings:
            yield f"{batch_id} stored an event of {each.row.booking_id}, which does not exist"
    yield from counts_are_sums_of_rows(world, batch_id)


def counts_are_sums_of_rows(world: "World", when: str) -> Iterator[str]:
    counted, rows = world.memory.delivery_days, world.tally.counts
    for place in sorted({*counted, *rows}):
        if counted.get(place) != rows.get(place):
            yield f"{when}: of {place} there are {rows.get(place)} rows, but the count is {counted.get(place)}"
    by_site, of_sites = world.memory.site_days, world.tally.sites
    for at in sorted({*by_site, *of_sites}):
        if by_site.get(at) != of_sites.get(at):
            yield f"{when}: by website {at} there are {of_sites.get(at)} rows, but the count is {by_site.get(at)}"


def judge_drop(world: "World", node: str, days: Sequence[int], wall_ms: int) -> Iterator[str]:
    """Keys are stored for a number of days after their week is over, by the clock of the node that drops them."""
    for day in days:
        until_ms = stored_until_ms(day, world.event_rules.keep_days)
        if wall_ms < until_ms:
            yield f"{node} dropped the keys of the day {day} at {wall_ms}; they must be stored until {until_ms}"
    yield from counts_are_sums_of_rows(world, f"{node} dropped {days}")


def stored_until_ms(day: int, keep_days: int) -> int:
    return week_at(day * DAY_MS) + WEEK_MS + keep_days * DAY_MS
