"""Delivery reports: columns, sums, days and bounds; and the rate card."""

import csv
import json
from collections.abc import Awaitable
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
import trio

from actors.bookings.records import BookingStatus
from actors.bookings.reports import Run, ranked
from actors.clock import DAY_MS, HOUR_MS, day_of
from actors.times import WEEK_MS
from actors.values import Filtered
from service.api.operations import reports
from service.api.operations.figures import GROUPS, _table
from service.schemas.internal import FiguresQuery
from service.schemas.reports import MAX_ROWS
from tests.api.sponsors import API, NEXT_WEEK, THIS_WEEK, Person, sponsor
from tests.api.world import NOON_MS, World, away
from tests.snapshots.rows import booking, slot, week

TODAY = day_of(NOON_MS)
REPORT = f"{API}/delivery"
CARD = f"{API}/rate-card"


async def reported(person: Person, query: str = "") -> Any:
    answer = await person.get(f"{REPORT}?{query}")
    assert answer.words == "200", answer.body
    return answer.json


@pytest.fixture
async def person(world: World) -> Person:
    made = sponsor(world)
    await made.profile()
    return made


async def test_a_file_for_a_browser_session_begins_with_a_byte_order_mark_and_one_for_a_key_does_not(
    world: World,
) -> None:
    person = sponsor(world)
    cookie = {"Cookie": f"__Host-session={world.session('sponsor@example.com')}"}
    by_browser = await world.client.get(f"{REPORT}?format=csv", headers=cookie)
    by_key = await person.get(f"{REPORT}?format=csv")
    assert by_browser.body == b"\xef\xbb\xbf" + by_key.body
    assert (await world.client.get(REPORT, headers=cookie)).json == (await person.get(REPORT)).json


def bought_on_monday(world: World, booking_id: str) -> str:
    world.memory.bookings[booking_id] = replace(world.memory.bookings[booking_id], created_ms=THIS_WEEK)
    return booking_id


async def test_a_report_begins_with_the_first_day_that_was_bought(world: World, person: Person) -> None:
    """A booking of a week that had begun buys the days from its own on."""
    booking_id = await person.buys(week=THIS_WEEK)
    world.clock.at_ms += 2 * DAY_MS
    dates = ["2026-11-18", "2026-11-19", "2026-11-20"]
    delivery = (await person.get(f"{API}/bookings/{booking_id}/delivery")).json
    assert [day["day"] for day in delivery["items"]] == [(TODAY + number) * DAY_MS for number in range(3)]
    assert [row["date"] for row in (await reported(person))["items"]] == dates
    for path in (f"bookings/{booking_id}/delivery", "delivery"):
        lines = (await person.get(f"{API}/{path}?format=csv")).body.decode().splitlines()[1:]
        assert [date for date in dates for line in lines if date in line] == dates, path
        assert len(lines) == 3, path


async def test_a_booking_is_a_file_of_its_days(world: World, person: Person) -> None:
    booking_id = bought_on_monday(world, await person.buys(week=THIS_WEEK))
    world.memory.delivery_days[booking_id, TODAY - 1] = (1_000, 21)
    world.memory.filtered_days[booking_id, TODAY - 1] = Filtered(5, 4, 3, 2, 1)
    answer = await person.get(f"{API}/bookings/{booking_id}/delivery?format=csv")
    assert answer.body.decode().splitlines() == [
        "date,impressions,clicks,ctr,filteredDuplicate,filteredCrawler,filteredPrefetch,filteredCapped,filteredInactive",
        "2026-11-16,0,0,,0,0,0,0,0",
        "2026-11-17,1000,21,0.021,5,4,3,2,1",
        "2026-11-18,0,0,,0,0,0,0,0",
    ]
    assert answer.header("content-disposition") == f'attachment; filename="delivery-{booking_id}.csv"'
    assert answer.header("content-type") == "text/csv; charset=utf-8; header=present"
    same = await person.get(f"{API}/bookings/{booking_id}/delivery?format=json")
    assert same.json == (await person.get(f"{API}/bookings/{booking_id}/delivery")).json


async def test_a_report_has_each_booking_and_day_and_sums_by_campaign_and_slot(world: World, person: Person) -> None:
    first = bought_on_monday(world, await person.buys(week=THIS_WEEK))
    campaign = world.memory.bookings[first].campaign_id
    second = await person.buys("left-two", THIS_WEEK, campaign)
    world.memory.bookings[second] = replace(world.memory.bookings[second], created_ms=THIS_WEEK + 1)
    world.memory.delivery_days[first, TODAY] = (100, 1)
    world.memory.delivery_days[second, TODAY] = (200, 5)
    world.memory.delivery_days[first, TODAY - 40] = (9, 9)
    world.memory.filtered_days[first, TODAY] = Filtered(capped=8)
    world.memory.filtered_days[second, TODAY - 1] = Filtered(crawler=1)
    filtered = dict.fromkeys(Filtered._fields, 0)
    report = await reported(person)
    assert (report["from"], report["to"]) == ("2026-10-20", "2026-11-18")
    assert [(row["bookingId"], row["date"]) for row in report["items"]] == [
        (booking_id, date) for booking_id in (first, second) for date in ("2026-11-16", "2026-11-17", "2026-11-18")
    ]
    assert report["items"][2] == {
        "bookingId": first,
        "campaign": "Autumn launch",
        "slot": "Slot left-top",
        "date": "2026-11-18",
        "impressions": 100,
        "clicks": 1,
        "ctr": 0.01,
        "filtered": filtered | {"capped": 8},
    }
    assert report["campaigns"] == [
        {
            "campaignId": campaign,
            "campaign": "Autumn launch",
            "impressions": 300,
            "clicks": 6,
            "ctr": 0.02,
            "filtered": filtered | {"crawler": 1, "capped": 8},
        }
    ]
    assert [(each["slot"], each["impressions"], each["ctr"]) for each in report["slots"]] == [
        ("Slot left-two", 200, 0.025),
        ("Slot left-top", 100, 0.01),
    ]
    assert (report["impressions"], report["clicks"], report["ctr"]) == (300, 6, 0.02)
    answer = await person.get(f"{REPORT}?format=csv")
    [header, *rows] = csv.reader(StringIO(answer.body.decode(), newline=""))
    assert header[:7] == ["bookingId", "campaign", "slot", "date", "impressions", "clicks", "ctr"]
    assert header[7:] == [f"filtered{reason.title()}" for reason in Filtered._fields]
    assert rows == [
        ["" if row[name] is None else str(row[name]) for name in header[:7]]
        + [str(count) for count in row["filtered"].values()]
        for row in report["items"]
    ]
    assert answer.header("content-disposition") == 'attachment; filename="delivery-2026-10-20-to-2026-11-18.csv"'


async def test_days_are_dates_or_times_of_a_day_in_utc(world: World, person: Person) -> None:
    bought_on_monday(world, await person.buys(week=THIS_WEEK))
    for first, last in (("2026-11-17", "2026-11-17"), (str((TODAY - 1) * DAY_MS), str(TODAY * DAY_MS - 1))):
        report = await reported(person, f"from={first}&to={last}")
        assert [row["date"] for row in report["items"]] == ["2026-11-17"]
    assert (await reported(person, "from=2026-11-30"))["to"] == "2026-11-30"
    assert (await reported(person, "to=2026-11-30"))["from"] == "2026-11-01"
    assert len((await reported(person, "from=&to="))["items"]) == 3


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from=2026-11-19&to=2026-11-18", "`from` must not be after `to`"),
        ("from=2025-11-17&to=2026-11-18", "at most 366 days"),
        ("from=yesterday", "from: must be a date such as 2026-11-18, or epoch milliseconds"),
        ("from=2026-02-30", "from: must be a date"),
        ("to=-1", "to: must be a date"),
        ("to=99999999999999999999", "to: must be a date"),
        ("to=1306006207373725", "to: must be a date"),
        ("from=9999-12-31", "from: must be a date"),
        ("to=2026-11-18&to=2026-11-19", "to: must be given only once"),
        ("format=xlsx", "format: must be"),
        ("format=", "format: must be"),
        ("format=CSV", "format: must be"),
    ],
)
async def test_a_report_that_cannot_be_made_says_why(world: World, person: Person, query: str, words: str) -> None:
    for shown in (query, f"{query}&format=csv") if "format" not in query else (query,):
        answer = await person.get(f"{REPORT}?{shown}")
        assert answer.words == "400 invalid_request"
        assert words in answer.json["message"], answer.json


async def test_the_longest_range_is_a_leap_year(person: Person) -> None:
    assert (await reported(person, "from=2025-11-18&to=2026-11-18"))["items"] == []


async def test_a_report_of_one_ad_or_slot_has_its_bookings_alone_also_as_a_file(world: World, person: Person) -> None:
    first = bought_on_monday(world, await person.buys(week=THIS_WEEK))
    campaign = world.memory.bookings[first].campaign_id
    second = bought_on_monday(world, await person.buys("left-two", THIS_WEEK, campaign))
    world.memory.bookings[second] = replace(world.memory.bookings[second], created_ms=THIS_WEEK + 1)
    world.memory.delivery_days[second, TODAY] = (200, 5)
    for query, ids in (
        (f"campaignId={campaign}&slotId=", [first, second]),
        ("slotId=left-two", [second]),
        (f"campaignId={campaign}&slotId=left-two", [second]),
        ("campaignId=cmp_unknown", []),
    ):
        report = await reported(person, query)
        assert list(dict.fromkeys(row["bookingId"] for row in report["items"])) == ids, query
        assert report["impressions"] == (200 if second in ids else 0)
        lines = (await person.get(f"{REPORT}?format=csv&{query}")).body.decode().splitlines()[1:]
        assert [line.partition(",")[0] for line in lines] == [row["bookingId"] for row in report["items"]], query
    [cost] = (await reported(person, "slotId=left-two"))["costs"]
    paid = world.memory.bookings[second].paid_cents or 0
    assert cost == {
        "currency": "usd",
        "costCents": paid * 3 // 7,
        "impressions": 200,
        "clicks": 5,
        "clickCents": round(paid * 3 // 7 / 5),
        "thousandCents": 5 * (paid * 3 // 7),
    }
    assert (await person.get(f"{REPORT}?campaignId=a/b")).words == "400 invalid_request"


async def test_others_see_nothing_of_it(world: World, person: Person) -> None:
    booking_id = await person.buys(week=THIS_WEEK)
    other = sponsor(world, "other@example.com")
    assert (await other.get(f"{API}/bookings/{booking_id}/delivery?format=csv")).words == "404 not_found"
    assert (await reported(other))["items"] == []
    assert (await other.get(f"{REPORT}?format=csv")).body.count(b"\r\n") == 1


async def test_a_long_report_is_a_file_and_not_json(
    world: World, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    booking_id = bought_on_monday(world, await person.buys(week=THIS_WEEK))
    row = world.memory.bookings[booking_id]
    for number in range(MAX_ROWS // 3):
        copy = replace(row, id=f"bok_{number:05}", created_ms=row.created_ms + number // 7)
        world.memory.bookings[copy.id] = copy
    with monkeypatch.context() as patch:
        patch.setattr(world.sponsorship_store, "deliveries", None)
        answer = await person.get(REPORT)
    assert answer.words == "400 invalid_request", "it is refused before a booking is read"
    assert "download it as CSV" in answer.json["message"]
    lines = (await person.get(f"{REPORT}?format=csv")).body.split(b"\r\n")
    assert len(lines) == 1 + 3 * (MAX_ROWS // 3 + 1) + 1
    assert len(set(lines)) == len(lines), "no page overlaps with another"


async def test_other_requests_go_on_between_slices_of_a_long_report(
    world: World, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "SLICE_ROWS", 5)
    booking_id = bought_on_monday(world, await person.buys(week=THIS_WEEK))
    await reported(person)
    few = await _turns_during(reported(person))
    row = world.memory.bookings[booking_id]
    for number in range(20):
        world.memory.bookings[f"bok_{number}"] = replace(row, id=f"bok_{number}", created_ms=row.created_ms + number)
    assert await _turns_during(reported(person)) >= few + 8, "each has three days"


async def _turns_during(work: Awaitable[object]) -> int:
    """How often another task runs until the work is done."""
    turns, done = 0, False

    async def other() -> None:
        nonlocal turns
        while not done:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await work
        done = True
    return turns


def test_a_table_of_figures_has_one_page_of_its_rows() -> None:
    runs = [Run(f"bok_{n:03}", f"cmp_{n % 50}", f"Ad {n % 50}", "slot-1", f"Slot {n}", n, n, n, 1) for n in range(450)]
    for by, page, shown in (
        ("booking", 1, (450, 1, 100, "bok_449", 449)),
        ("booking", 99, (450, 5, 50, "bok_049", 49)),
        ("campaign", 1, (50, 1, 50, "bok_449", sum(range(49, 450, 50)))),
        ("slot", 2, (1, 1, 1, "bok_449", sum(range(450)))),
    ):
        table = _table(ranked(runs, GROUPS[by]), FiguresQuery(page=page, rows=100))
        first = table.items[0]
        assert (table.total, table.page, len(table.items), first.bookingId, first.impressions) == shown
    assert _table([], FiguresQuery(page=2)).page == 1


# The rate card.


async def test_the_rate_card_says_what_slots_cost_and_when_they_are_free(world: World) -> None:
    ended = slot("left-4", offer_ends_ms=NOON_MS)
    offers = (slot("left-1"), slot("left-2", weeks=2), slot("left-3", coming_soon=True), slot("left-5", active=False))
    world.sponsorship_store.keep(*offers, ended, booking("a", start=1))
    await world.settled()
    answer = await world.client.get(CARD)
    assert answer.header("cache-control") == "public, max-age=15"
    card = answer.json
    assert [each["id"] for each in card["slots"]] == ["left-1", "left-2", "left-3"]
    assert card["slots"][0]["nextWeeks"] == [
        {"weekStart": week(0), "weekEnd": week(1), "priceCents": 17_857},
        {"weekStart": week(2), "weekEnd": week(3), "priceCents": 25_000},
        {"weekStart": week(3), "weekEnd": week(4), "priceCents": 25_000},
    ]
    assert card["slots"][1]["nextWeeks"][0] == {"weekStart": week(0), "weekEnd": week(2), "priceCents": 42_857}
    assert card["slots"][2]["nextWeeks"] == []
    assert "reach" not in card
    tag = answer.header("etag") or ""
    assert (await world.client.get(CARD, headers={"if-none-match": tag})).status == 304
    await world.pass_seconds(12 * HOUR_MS // 1_000)
    assert (await world.client.get(CARD)).json["slots"][0]["nextWeeks"][0]["priceCents"] == 14_285


async def test_the_rate_card_needs_no_database(world: World) -> None:
    world.sponsorship_store.keep(slot())
    await world.settled()
    world.memory.before = away
    assert len((await world.client.get(CARD)).json["slots"]) == 1


async def test_past_sponsors_are_summed_up_from_five_bookings_on(world: World) -> None:
    old: dict[str, Any] = {"paid_ms": 1, "start": -9}
    rows = [booking(f"b{number}", "left-1", **old | {"start": -9 - number}) for number in range(4)]
    hidden = [
        booking("demo", "left-1", **old | {"start": -20}, demo=True),
        booking("back", "left-1", **old | {"start": -21}, status=BookingStatus.REFUNDED),
        booking("runs", "left-1", start=0, paid_ms=1),
        booking("fought", "left-1", **old | {"start": -22}, disputed=True),
    ]
    world.sponsorship_store.keep(slot("left-1"), slot("left-2"), *rows, *hidden)
    for each in (*rows, *hidden):
        world.memory.delivery_days[each.id, day_of(each.week_start_ms)] = (1_000, 10)
    await world.pass_seconds(2 * HOUR_MS // 1_000)
    assert "reach" not in (await world.client.get(CARD)).json
    fifth = booking("b4", "left-2", **old)
    world.memory.delivery_days[fifth.id, day_of(fifth.week_start_ms)] = (2_000, 50)
    world.sponsorship_store.keep(fifth)
    await world.pass_seconds(2 * HOUR_MS // 1_000)
    world.sponsorship_store.keep(slot("left-2", name="Another name"))
    await world.settled()
    card = (await world.client.get(CARD)).json
    assert card["reach"] == {"bookings": 5, "weeks": 5, "impressions": 6_000, "clicks": 90, "ctr": 0.015}
    assert not [each for each in card["slots"] if "reach" in each], "four bookings of a slot are too few"
    assert json.dumps(card).count("impressions") == 1
    assert NEXT_WEEK == THIS_WEEK + WEEK_MS
