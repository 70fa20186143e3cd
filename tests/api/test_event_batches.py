"""Batches of events: results in order, and either all events valid or none recorded."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import trio

from actors.events.router import EventOutcome
from tests.api.asgi import Response
from tests.api.events import BATCH, counted, event, report, stock
from tests.api.sponsors import uuid
from tests.api.world import World, open_world
from tests.snapshots.rows import booking, slot

RELAY = "127.0.0.1"
"""An address without a limit."""


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world(EVENTS__EXEMPT_NETWORKS=f"{RELAY}/32") as opened:
        yield opened


async def send(world: World, events: Sequence[Any], **rest: Any) -> Response:
    return await world.client.post(BATCH, json={"events": events}, address=RELAY, **rest)


def fates(answer: Response) -> list[str]:
    """The outcome of each event. Asserts that the response contains nothing else."""
    assert answer.words == "200", answer.body
    assert answer.json.keys() == {"results"}
    assert answer.header("cache-control") == "no-store"
    assert answer.header("x-event-dropped") is None
    words = []
    for each in answer.json["results"]:
        assert each["recorded"] is ("dropped" not in each)
        assert each.keys() <= {"recorded", "dropped"}
        words.append(each.get("dropped", "recorded"))
    return words


@pytest.mark.parametrize("count", [1, 2, 499, 500])
async def test_up_to_500_events_are_taken(world: World, count: int) -> None:
    await stock(world)
    events = [event(visitorId=uuid(number)) for number in range(count)]
    assert fates(await send(world, events)) == ["recorded"] * count
    assert fates(await send(world, events)) == ["duplicate"] * count
    assert counted(world) == (count, 0)


@pytest.mark.parametrize(("count", "words"), [(0, "at least 1 item"), (501, "at most 500 items")])
async def test_none_and_more_than_500_are_400(world: World, count: int, words: str) -> None:
    await stock(world)
    answer = await send(world, [event(visitorId=uuid(number)) for number in range(count)])
    assert answer.words == "400 invalid_request"
    assert words in answer.json["message"]
    assert counted(world) == (0, 0)


async def test_each_event_is_answered_in_its_place(world: World) -> None:
    await stock(world, slot("right-1"), booking("b", "right-1"), booking("later", start=1))
    await report(world, visitorId=uuid(2))
    events = [
        (event(), "recorded"),
        (event(visitorId=uuid(2)), "duplicate"),
        (event(bookingId="later"), "inactive"),
        (event(), "duplicate"),
        (event(kind="click"), "recorded"),
        (event(bookingId="b"), "recorded"),
        (event(visitorId=uuid(1).upper()), "duplicate"),
        (event(bookingId="later", kind="click"), "inactive"),
        (event(bookingId="b", visitorId=uuid(2)), "recorded"),
        (event(kind="click"), "duplicate"),
        (event(bookingId="b"), "duplicate"),
    ]
    assert fates(await send(world, [each for each, _ in events])) == [expected for _, expected in events]
    assert (counted(world), counted(world, "b"), counted(world, "later")) == ((2, 1), (2, 0), (0, 0))
    assert world.services.events.outcomes == {
        EventOutcome.RECORDED: 5,
        EventOutcome.DUPLICATE: 5,
        EventOutcome.INACTIVE: 2,
    }


@pytest.mark.parametrize(
    ("headers", "word"), [({"User-Agent": "a bot"}, "crawler"), ({"Sec-Purpose": "prefetch"}, "prefetch")]
)
async def test_whoever_sends_it_is_asked_once_for_all(world: World, headers: dict[str, str], word: str) -> None:
    await stock(world, booking("later", start=1))
    assert fates(await send(world, [event(), event(bookingId="later")], headers=headers)) == [word, word]
    assert counted(world) == (0, 0)
    assert world.services.events.outcomes == {EventOutcome(word): 2}


@pytest.mark.parametrize(
    ("field", "value"), [("bookingId", "bok_unknown"), ("bookingId", "no id"), ("bookingId", "\x00"), ("kind", "view")]
)
@pytest.mark.parametrize("place", [0, 3, 499])
async def test_one_event_that_is_not_valid_is_a_400_that_names_it(
    world: World, place: int, field: str, value: str
) -> None:
    await stock(world)
    events = [event(visitorId=uuid(number)) for number in range(500)]
    events[place][field] = value
    answer = await send(world, events)
    assert answer.words == "400 invalid_request"
    assert f"The body is not valid: events.{place}.{field}: " in answer.json["message"]
    assert counted(world) == (0, 0)


async def test_bookings_that_the_node_has_not_heard_of_are_asked_for_together(world: World) -> None:
    await stock(world)
    others = [f"b{number}" for number in range(20)]
    world.sponsorship_store.keep(*(slot(f"s-{name}") for name in others), silently=True)
    world.sponsorship_store.keep(*(booking(name, f"s-{name}") for name in others), silently=True)
    looks = []

    async def look() -> None:
        await trio.lowlevel.checkpoint()
        looks.append(1)

    world.memory.before = look
    assert fates(await send(world, [event(bookingId=name) for name in (*others, "a", *others)])) == (
        ["recorded"] * 21 + ["duplicate"] * 20
    )
    assert len(looks) == 2, "one look at the bookings, and one transaction"
    assert [counted(world, name) for name in others] == [(1, 0)] * 20
