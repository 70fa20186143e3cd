"""Operation 12: an event counts once per booking, kind, visitor and UTC day, while its placement is live."""

import re

import pytest
import trio

from actors.clock import HOUR_MS
from tests.api.events import EVENTS, counted, event, fate, report, stock
from tests.api.sponsors import uuid
from tests.api.world import NOON_MS, World
from tests.snapshots.rows import booking, hold, slot

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"


# Deduplication.


async def test_the_first_of_a_visitor_is_recorded_and_the_rest_are_duplicates(world: World) -> None:
    await stock(world)
    answers = [await report(world) for _ in range(3)]
    assert [answer.json for answer in answers] == [{"recorded": True}, {"recorded": False}, {"recorded": False}]
    assert [answer.header("x-event-dropped") for answer in answers] == [None, "duplicate", "duplicate"]
    assert counted(world) == (1, 0)


# While the placement is live.


async def test_what_is_inactive_may_count_later_the_same_day(world: World) -> None:
    """Dropped events are not remembered."""
    await stock(world, hold("b", NOON_MS + HOUR_MS))
    assert fate(await report(world, bookingId="b")) == "inactive"
    await stock(world, booking("b"))
    assert fate(await report(world, bookingId="b")) == "recorded"


async def test_a_node_that_has_not_heard_of_a_booking_yet_drops_nothing(world: World) -> None:
    await stock(world)
    world.sponsorship_store.keep(slot("right-1"), booking("b", "right-1"), silently=True)
    assert "b" not in world.services.placements.snapshot.windows
    assert fate(await report(world, bookingId="b")) == "recorded"
    assert counted(world, "b") == (1, 0)


@pytest.mark.parametrize("known", ["bok_unknown", "A", "a" * 100, "-_-"])
async def test_an_unknown_booking_is_404_also_to_a_crawler(world: World, known: str) -> None:
    await stock(world)
    for headers in ({}, {"User-Agent": "bot"}):
        assert (await report(world, headers=headers, bookingId=known)).words == "404 not_found"


@pytest.mark.parametrize(
    "impossible", ["\x00", "a\x00", "a b", " a", "a/b", "a\n", "é", "\U0001f600", "a%00", "' or 1=1 --", "a" * 99 + "."]
)
async def test_what_can_be_no_id_is_404_without_a_look_at_the_store(world: World, impossible: str) -> None:
    await stock(world)
    looks = _counting(world)
    assert (await report(world, bookingId=impossible)).words == "404 not_found"
    assert not looks


@pytest.mark.parametrize("booking_id", ["", "a" * 101, "\x00" * 101])
async def test_an_id_of_a_wrong_length_is_400_without_a_look_at_the_store(world: World, booking_id: str) -> None:
    looks = _counting(world)
    assert (await report(world, bookingId=booking_id)).words == "400 invalid_request"
    assert not looks


def _counting(world: World) -> list[int]:
    """Grows by an element with each read of the database."""
    looks: list[int] = []

    async def look() -> None:
        await trio.lowlevel.checkpoint()
        looks.append(1)

    world.memory.before = look
    return looks


# No visitor.

# `tests/api/test_crawlers.py` has the agents.


async def test_a_declared_crawler_is_dropped(world: World) -> None:
    await stock(world)
    assert fate(await report(world, headers={"User-Agent": "Mozilla/5.0 (compatible; bingbot/2.0)"})) == "crawler"
    assert counted(world) == (0, 0)
    assert fate(await report(world)) == "recorded"


@pytest.mark.parametrize("agent", [BROWSER, "", "é"])
async def test_who_does_not_declare_to_be_a_crawler_is_none(world: World, agent: str) -> None:
    await stock(world)
    assert fate(await report(world, headers={"User-Agent": agent})) == "recorded"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Sec-Purpose", "prefetch", "prefetch"),
        ("Sec-Purpose", "prefetch;prerender", "prefetch"),
        ("Sec-Purpose", "prefetch;anonymous-client-ip", "prefetch"),
        ("Purpose", "prefetch", "prefetch"),
        ("Purpose", "Prefetch", "prefetch"),
        ("Sec-Purpose", "", "recorded"),
        ("Purpose", "visit", "recorded"),
        ("X-Purpose", "prefetch", "recorded"),
    ],
)
async def test_a_prefetch_is_dropped(world: World, name: str, value: str, expected: str) -> None:
    await stock(world)
    assert fate(await report(world, headers={name: value})) == expected


@pytest.mark.parametrize(
    ("headers", "booking_id", "expected"),
    [
        ({"User-Agent": "bot", "Purpose": "prefetch"}, "a", "crawler"),
        ({"User-Agent": "bot"}, "later", "crawler"),
        ({"Purpose": "prefetch"}, "later", "prefetch"),
    ],
)
async def test_of_several_reasons_the_first_is_reported(
    world: World, headers: dict[str, str], booking_id: str, expected: str
) -> None:
    await stock(world, booking("later", start=1))
    assert fate(await report(world, headers=headers, bookingId=booking_id)) == expected


# Reported counts.


async def test_fates_are_counted_in_the_metrics(world: World) -> None:
    await stock(world, booking("later", start=1))
    for number in range(3):
        await report(world, visitorId=uuid(number))
    await report(world)
    await report(world, bookingId="later")
    await report(world, headers={"Purpose": "prefetch"})
    await report(world, headers={"User-Agent": "bot"})
    await report(world, bookingId="unknown")
    await world.client.post(EVENTS, json={})
    page = (await world.client.get("/metrics")).body.decode()
    samples = dict(re.findall(r'^catalog_events_total\{fate="(\w+)"\} (\S+)$', page, re.MULTILINE))
    assert samples == {"recorded": "3.0", "capped": "0.0", "unavailable": "0.0"} | dict.fromkeys(
        ("duplicate", "inactive", "prefetch", "crawler"), "1.0"
    )


async def test_an_event_leaves_no_trace_of_who_sent_it(world: World, caplog: pytest.LogCaptureFixture) -> None:
    await stock(world)
    visitors = ["3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54", "not-quite-a-uuid-9f8e"]
    headers = {"User-Agent": BROWSER, "Cookie": "session=secret-cookie"}
    with caplog.at_level("DEBUG"):
        for visitor in visitors:
            for body in (event(visitorId=visitor), {**event(visitorId=visitor), visitor: 1}, event(bookingId=visitor)):
                await world.client.post(EVENTS, headers=headers, json=body)
        await world.client.post(f"{EVENTS}/batch", headers=headers, json={"events": [event(visitorId=visitors[0])]})
    assert counted(world) == (1, 0)
    logged = caplog.text + repr([vars(record) for record in caplog.records])
    assert "recordEvents" in logged
    kept = repr((world.memory.events, world.memory.delivery_days, world.memory.audits, world.memory.journal))
    for secret in (*visitors, "Chrome", "secret-cookie"):
        assert secret not in logged
        assert secret not in kept
    assert "203.0.113.7" not in kept
