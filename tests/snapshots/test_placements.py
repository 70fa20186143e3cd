"""The placements snapshot: live placements and available slots at any millisecond, and their JSON."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.bookings.records import Booking, PackageKind, Side, Slot
from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.times import WEEK_MS, day_of
from service.snapshots.placements import NEVER_MS, PlacementsSnapshot, render_inventory, render_placements
from service.snapshots.rate_card import rate_card, rate_card_change_ms
from tests.snapshots.rows import NOON_MS, booking, content, hold, overview_of, slot, week

Row = Slot | Booking


def snapshot_of(*rows: Row, revision: int = 1) -> PlacementsSnapshot:
    return PlacementsSnapshot.of(overview_of(revision, week(-1), *rows), week(-1))


def live(snapshot: PlacementsSnapshot, now_ms: int = NOON_MS) -> list[str]:
    return [each.booking_id for each in snapshot.placements(now_ms)]


def free(snapshot: PlacementsSnapshot, number: int = 0, now_ms: int = NOON_MS) -> dict[str, bool]:
    """The slots that can be booked from the week with this number on."""
    return {each.id: available for each, available in snapshot.inventory(week(number), now_ms)}


def inventory(snapshot: PlacementsSnapshot, number: int = 0, now_ms: int = NOON_MS) -> Any:
    return json.loads(render_inventory(snapshot, week(number), now_ms, "test").body)


# Placements.


def test_a_placement_is_live_from_the_first_to_the_last_millisecond_of_its_weeks() -> None:
    snapshot = snapshot_of(slot(), booking("a", start=1, weeks=2))
    moments = (week(1) - 1, week(1), week(2), week(3) - 1, week(3))
    assert [live(snapshot, moment) for moment in moments] == [[], ["a"], ["a"], ["a"], []]


def test_one_placement_follows_another_at_the_weeks_turn() -> None:
    snapshot = snapshot_of(slot(), booking("a"), booking("b", start=1))
    assert live(snapshot, week(1) - 1) == ["a"]
    assert live(snapshot, week(1)) == ["b"]


def test_placements_are_in_one_order() -> None:
    rows: list[Slot | Booking] = [
        slot("left-1"),
        slot("right-1", side=Side.RIGHT),
        booking("r", "right-1", start=-1, weeks=3),
        booking("z", start=-1, weeks=2),
        booking("c"),
        booking("b"),
    ]
    expected = ["z", "b", "c", "r"]
    for seed in range(10):
        random.Random(seed).shuffle(rows)
        assert live(snapshot_of(*rows)) == expected


def test_what_is_not_paid_for_is_not_shown() -> None:
    assert live(snapshot_of(slot(), hold("a", NOON_MS + HOUR_MS))) == []


def test_a_placement_is_rendered_with_the_fields_of_the_specification() -> None:
    snapshot = snapshot_of(slot(), booking("a"), booking("d", demo=True))
    shown, demo = json.loads(render_placements(snapshot, NOON_MS).body)["placements"]
    text = content("a")
    assert shown == {
        "headline": text.headline,
        "body": text.body,
        "cta": text.cta,
        "targetUrl": text.target_url,
        "logoText": text.logo_text,
        "bookingId": "a",
        "sponsorName": "Example Sponsor",
        "side": "left",
        "demo": False,
        "slotId": "left-1",
    }
    assert demo["demo"] is True


def test_without_placements_the_list_is_empty() -> None:
    assert render_placements(PlacementsSnapshot(), NOON_MS).body == b'{"placements":[]}'


# Inventory.


def test_a_slot_is_rendered_with_the_fields_of_the_specification() -> None:
    bare, full = (
        slot("a"),
        slot(
            "b",
            side=Side.RIGHT,
            weeks=4,
            coming_soon=True,
            offer_ends_ms=NOON_MS + DAY_MS,
            package_kind=PackageKind.BUNDLE,
            description="Four weeks and a video",
        ),
    )
    shown = inventory(snapshot_of(bare, full))
    assert shown == {
        "weekStart": week(0),
        "weekEnd": week(1),
        "billingMode": "test",
        "slots": [
            {
                "id": "a",
                "name": "Slot a",
                "side": "left",
                "weekPriceCents": 25_000,
                "active": True,
                "available": True,
                "priceCents": 17_857,  # five days of seven
                "durationWeeks": 1,
                "comingSoon": False,
            },
            {
                "id": "b",
                "name": "Slot b",
                "side": "right",
                "weekPriceCents": 25_000,
                "active": True,
                "available": False,
                "priceCents": 92_857,
                "durationWeeks": 4,
                "comingSoon": True,
                "offerEndsAt": NOON_MS + DAY_MS,
                "packageKind": "bundle",
                "description": "Four weeks and a video",
            },
        ],
    }


def test_a_slot_that_is_not_active_or_coming_soon_is_shown_and_not_available() -> None:
    snapshot = snapshot_of(slot("a", active=False), slot("b", coming_soon=True), slot("c"))
    assert free(snapshot) == {"a": False, "b": False, "c": True}


def test_a_week_can_be_booked_until_its_last_millisecond() -> None:
    snapshot = snapshot_of(slot())
    assert free(snapshot, 0, week(1) - 1) == {"left-1": True}
    assert free(snapshot, 0, week(1)) == {"left-1": False}
    assert free(snapshot, -1) == {"left-1": False}


def test_a_paid_week_is_taken_for_ever_and_its_neighbours_are_free() -> None:
    snapshot = snapshot_of(slot(), slot("left-2"), booking("a", start=2))
    assert [free(snapshot, number)["left-1"] for number in (1, 2, 3)] == [True, False, True]
    assert free(snapshot, 2)["left-2"], "another slot is not touched"
    assert not free(snapshot, 2, week(3) - 1)["left-1"]


def test_a_hold_ends_to_the_millisecond() -> None:
    until_ms = NOON_MS + 30 * MINUTE_MS
    snapshot = snapshot_of(slot(), hold("a", until_ms))
    assert free(snapshot, 0, until_ms - 1) == {"left-1": False}
    assert free(snapshot, 0, until_ms) == {"left-1": True}


def test_the_outlook_counts_the_weeks_of_slots_for_sale_and_adds_the_prices_of_those_that_are_open() -> None:
    slots = slot(), slot("right-1", week_price_cents=300), slot("old", active=False)
    held_ms = NOON_MS + HOUR_MS
    snapshot = snapshot_of(*slots, booking("a", start=1, weeks=2), hold("b", held_ms, "right-1", start=3))
    assert snapshot.outlook(week(1), 3, NOON_MS) == (6, 2, 1, 25_000 + 2 * 300)
    assert snapshot.outlook(week(1), 3, held_ms) == (6, 2, 0, 25_000 + 3 * 300)
    assert snapshot_of().outlook(week(1), 3, NOON_MS) == (0, 0, 0, 0)


def test_an_offer_ends_to_the_millisecond() -> None:
    ends_ms = NOON_MS + HOUR_MS
    snapshot = snapshot_of(slot(offer_ends_ms=ends_ms))
    assert free(snapshot, 5, ends_ms - 1) == {"left-1": True}
    assert free(snapshot, 5, ends_ms) == {"left-1": False}


def test_a_package_is_available_where_all_of_its_weeks_are_free() -> None:
    snapshot = snapshot_of(slot(weeks=3), booking("a", start=4))
    assert [free(snapshot, number)["left-1"] for number in range(7)] == [True, True, False, False, False, True, True]


def test_a_package_waits_for_the_last_of_its_holds() -> None:
    first, last = NOON_MS + 5 * MINUTE_MS, NOON_MS + 10 * MINUTE_MS
    snapshot = snapshot_of(slot(weeks=2), hold("a", last, start=1), hold("b", first, start=2))
    assert [free(snapshot, 1, moment)["left-1"] for moment in (first, last - 1, last)] == [False, False, True]


def test_a_package_sees_what_is_taken_beyond_the_horizon() -> None:
    snapshot = snapshot_of(slot(weeks=4), booking("a", start=28))
    assert [free(snapshot, number)["left-1"] for number in (24, 25, 26)] == [True, False, False]


def test_a_snapshot_stays_right_for_weeks_without_a_load() -> None:
    snapshot = snapshot_of(slot(), booking("a", start=30), booking("b", start=50))
    assert live(snapshot, week(30)) == ["a"]
    assert [free(snapshot, number, week(30))["left-1"] for number in (29, 30, 31, 50, 56)] == [
        False,
        False,
        True,
        False,
        True,
    ]


# JSON and its validity.


def test_the_same_rows_give_the_same_bytes_whatever_their_order() -> None:
    rows: list[Row] = [slot(f"{side}-{number}", side=side, weeks=number) for side in Side for number in (1, 2, 3)]
    rows += [booking(f"b{number}", f"left-{number}", start=number) for number in (1, 2, 3)]
    rows += [booking(f"c{number}", f"right-{number}", start=0) for number in (1, 2, 3)]
    rendered = set()
    for seed in range(20):
        random.Random(seed).shuffle(rows)
        snapshot = snapshot_of(*rows, revision=seed)
        shown = render_placements(snapshot, NOON_MS), render_inventory(snapshot, week(2), NOON_MS, "test")
        rendered.add(tuple((each.body, each.etag, each.until_ms) for each in shown))
    assert len(rendered) == 1


def test_an_etag_follows_the_bytes() -> None:
    snapshot, same = snapshot_of(slot(), booking("a", start=1)), snapshot_of(slot(), booking("a", start=1), revision=9)
    before = render_inventory(snapshot, week(0), NOON_MS, "test")
    assert before.etag == render_inventory(same, week(0), NOON_MS + HOUR_MS, "test").etag
    assert before.etag != render_inventory(same, week(0), TOMORROW_MS, "test").etag, "a price changes at midnight"
    others = {
        render_inventory(snapshot, week(0), NOON_MS, "live").etag,
        render_inventory(snapshot, week(1), NOON_MS, "test").etag,
        render_inventory(snapshot, week(0), week(1), "test").etag,
        render_placements(snapshot, NOON_MS).etag,
        render_placements(snapshot, week(1)).etag,
    }
    assert len(others - {before.etag}) == 5


TOMORROW_MS = NOON_MS + DAY_MS // 2
"""The next midnight, when the price of the running week changes."""


@pytest.mark.parametrize(
    ("rows", "number", "change_ms"),
    [
        ([], 0, NEVER_MS),
        ([slot()], 0, TOMORROW_MS),
        ([slot()], 3, week(3) + DAY_MS),
        ([slot()], -1, NEVER_MS),
        ([slot(active=False)], 0, TOMORROW_MS),
        ([slot(), booking("a")], 0, TOMORROW_MS),
        ([slot(), booking("a")], 1, week(1) + DAY_MS),
        ([slot(), hold("a", NOON_MS + HOUR_MS)], 0, NOON_MS + HOUR_MS),
        ([slot(), hold("a", NOON_MS)], 0, TOMORROW_MS),
        ([slot(weeks=2), hold("a", NOON_MS + 9), hold("b", NOON_MS + 5, start=1)], 0, NOON_MS + 9),
        ([slot(weeks=2), hold("a", NOON_MS + 9), booking("b", start=1)], 0, TOMORROW_MS),
        ([slot(offer_ends_ms=NOON_MS + 7), hold("a", NOON_MS + 9)], 0, NOON_MS + 7),
        ([slot(offer_ends_ms=NOON_MS + 7)], 5, NOON_MS + 7),
        ([slot(), slot("b", offer_ends_ms=NOON_MS + 7)], 0, NOON_MS + 7),
    ],
)
def test_the_inventory_changes_next_at_this_moment(rows: list[Row], number: int, change_ms: int) -> None:
    assert snapshot_of(*rows).inventory_change_ms(week(number), NOON_MS) == change_ms


def test_placements_change_next_when_one_begins_or_ends() -> None:
    snapshot = snapshot_of(slot(), booking("a", start=2, weeks=2))
    changes = [
        snapshot.placements_change_ms(moment) for moment in (NOON_MS, week(2) - 1, week(2), week(4) - 1, week(4))
    ]
    assert changes == [week(2), week(2), week(4), week(4), NEVER_MS]


def test_no_answer_holds_beyond_the_weeks_turn() -> None:
    snapshot = snapshot_of(slot())
    assert render_placements(snapshot, NOON_MS).until_ms == week(1)
    assert render_inventory(snapshot, week(5), NOON_MS, "test").until_ms == week(1)
    assert render_inventory(snapshot, week(5), week(1), "test").until_ms == week(2)


MOMENTS = st.integers(week(-1), week(6))
SLOTS = st.builds(
    slot, weeks=st.integers(1, 3), active=st.booleans(), coming_soon=st.booleans(), offer_ends_ms=st.none() | MOMENTS
)
BOOKINGS = st.lists(
    st.tuples(st.integers(-1, 5), st.integers(1, 2), st.none() | MOMENTS), max_size=4, unique_by=lambda drawn: drawn[0]
)


def made(drawn: list[tuple[int, int, int | None]]) -> list[Booking]:
    return [
        booking(f"b{start}", start=start, weeks=weeks)
        if until is None
        else hold(f"b{start}", until, start=start, weeks=weeks)
        for start, weeks, until in drawn
    ]


@given(SLOTS, BOOKINGS, st.integers(-1, 4), MOMENTS, MOMENTS)
def test_an_answer_holds_exactly_until_it_changes(
    sold: Slot, drawn: list[tuple[int, int, int | None]], number: int, now_ms: int, later_ms: int
) -> None:
    snapshot = snapshot_of(sold, *made(drawn))
    change_ms = snapshot.inventory_change_ms(week(number), now_ms)
    now, change = inventory(snapshot, number, now_ms), inventory(snapshot, number, min(change_ms, week(99)))
    assert (change != now) == (change_ms != NEVER_MS)
    if now_ms <= later_ms < change_ms:
        assert inventory(snapshot, number, later_ms) == now
    rendered = render_placements(snapshot, now_ms)
    if rendered.holds(later_ms):
        assert render_placements(snapshot, later_ms).body == rendered.body
    assert now_ms < rendered.until_ms <= now_ms + WEEK_MS


@given(SLOTS, BOOKINGS, MOMENTS, st.integers(0, 9 * DAY_MS))
def test_a_rate_card_holds_until_something_in_it_changes(
    sold: Slot, drawn: list[tuple[int, int, int | None]], now_ms: int, later_ms: int
) -> None:
    snapshot = snapshot_of(sold, *made(drawn))
    change_ms = rate_card_change_ms(snapshot, now_ms)
    assert now_ms < change_ms <= day_of(now_ms) * DAY_MS + DAY_MS
    latest_ms = now_ms + later_ms % (change_ms - now_ms)
    assert rate_card(snapshot, {}, 4, "test", latest_ms) == rate_card(snapshot, {}, 4, "test", now_ms)
