"""Helpers for tests of placement events: a live placement, reports and their outcomes."""

from collections.abc import Mapping
from typing import Any

from actors.bookings.records import Booking, Slot
from tests.api.asgi import Response
from tests.api.sponsors import uuid
from tests.api.world import World
from tests.snapshots.rows import booking, slot

EVENTS = "/api/v1/sponsors/events"
BATCH = f"{EVENTS}/batch"


async def stock(world: World, *rows: Slot | Booking) -> None:
    """Commit booking `a` of this week, which is live, and `rows`, and refresh the node."""
    world.sponsorship_store.keep(slot(), booking("a"), *rows)
    await world.settled()


def event(**fields: Any) -> dict[str, Any]:
    """An impression of booking `a` by the first visitor, with changes."""
    return {"bookingId": "a", "kind": "impression", "visitorId": uuid(1)} | fields


async def report(
    world: World, key: str | None = None, *, headers: Mapping[str, str] | None = None, **fields: Any
) -> Response:
    return await world.client.post(EVENTS, key, headers=headers or {}, json=event(**fields))


def fate(answer: Response) -> str:
    """The outcome of an event. Asserts that the response contains nothing else."""
    assert answer.words == "200", answer.body
    dropped = answer.header("x-event-dropped")
    assert answer.json == {"recorded": dropped is None}
    assert answer.header("cache-control") == "no-store"
    return dropped or "recorded"


def counted(world: World, booking_id: str = "a") -> tuple[int, int]:
    """The impressions and clicks of a booking in the tables. Asserts that the event keys add up to them."""
    days = [counts for (counted_id, _), counts in world.memory.delivery_days.items() if counted_id == booking_id]
    impressions, clicks = sum(each[0] for each in days), sum(each[1] for each in days)
    rows = [row for kept in world.memory.events.values() for row in kept.values() if row.booking_id == booking_id]
    assert len(rows) == impressions + clicks
    return impressions, clicks
