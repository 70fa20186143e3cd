"""The contract of the ledger store, over Postgres and in memory."""

from collections.abc import Sized
from dataclasses import replace

import pytest

from actors.bookings.messages import CreateCampaign, EditCampaign
from actors.bookings.records import (
    BookingStatus,
    CampaignView,
)
from actors.bookings.state import Decision, LockSet, Snapshot
from actors.bookings.unit_of_work import weeks_of
from actors.values import BatchId, Code, Contended, Refused
from tests.stores.books import (
    DAY,
    KEY,
    NOW,
    OPERATION,
    Books,
    a_world,
    audit,
    booking,
    campaign,
    origin,
    remembered,
    slot,
    sponsor,
    week,
)
from tests.stores.conftest import Stores

ALL = LockSet(
    tenant_ids=("ten_1", "ten_2", "ten_3"),
    campaign_ids=("cmp_1", "cmp_2", "cmp_3"),
    slot_ids=("left-1", "right-1", "right-9"),
    booking_ids=("bok_1", "bok_2", "bok_9"),
)


@pytest.fixture
def books(stores: Stores) -> Books:
    return Books(stores)


def took(**rows: object) -> Decision:
    """A decision that takes one week for a booking: by default `left-1`, next week, for `bok_1`."""
    held = rows.pop("held", "bok_1")
    return Decision(weeks_reserved={("left-1", week(1)): held}, **rows)  # type: ignore[arg-type, dict-item]


# Written rows are read back.


async def test_an_empty_ledger_has_nothing_of_what_is_wanted(books: Books) -> None:
    rows = replace(ALL, keys=(("ten_1", OPERATION, KEY),), event_ids=("evt_1",), from_week_ms=week(0))
    assert await books.see(rows) == Snapshot()
    assert await books.see(LockSet()) == Snapshot()


async def test_a_large_batch_is_kept_whole(books: Books) -> None:
    numbers = range(1, 301)
    await books.tenants(*numbers)
    await books.lay_out(
        *(slot(f"slot-{number:03}") for number in numbers),
        *map(sponsor, numbers),
        *(campaign(number, number) for number in numbers),
        *(booking(number, number, slot_id=f"slot-{number:03}") for number in reversed(numbers)),
    )
    seen = await books.see(LockSet(booking_ids=tuple(sorted(f"bok_{number}" for number in numbers))))
    rows: tuple[Sized, ...] = (seen.sponsors, seen.campaigns, seen.slots, seen.bookings, seen.weeks)
    assert [len(each) for each in rows] == [300] * 5


# Batch ids.


async def test_a_batch_that_runs_again_is_written_once_and_returns_its_decision(books: Books) -> None:
    await a_world(books)
    batch_id = BatchId("other/bookings", 1)
    first = await books.keep(took(bookings={"bok_1": booking(1)}, visible=True), batch_id=batch_id)
    revision = await books.stores.sponsorship.revision()
    assert await books.keep(Decision(bookings={"bok_2": booking(2)}, visible=True), batch_id=batch_id) is first
    assert list((await books.see(ALL)).bookings) == ["bok_1"]
    assert await books.stores.sponsorship.revision() == revision


async def test_the_decision_of_the_attempt_that_was_kept_is_given_again_not_that_of_one_that_was_rolled_back(
    books: Books,
) -> None:
    await a_world(books)
    await books.lay_out(booking(1))
    batch_id = BatchId("other/bookings", 1)
    with pytest.raises(Contended):
        await books.keep(took(held="bok_1"), batch_id=batch_id)
    second = await books.keep(Decision(audits=[audit(2)]), batch_id=batch_id)
    assert await books.keep(Decision(audits=[audit(3)]), batch_id=batch_id) is second
    assert await books.stores.sponsorship.audit(None, 10) == [audit(2)]


async def test_a_batch_behind_a_later_one_of_its_owner_writes_nothing(books: Books) -> None:
    late = BatchId("other/bookings", 1)
    late.decided = Decision()
    await books.keep(Decision(audits=[audit(1)]), batch_id=BatchId("other/bookings", 2))
    assert await books.keep(Decision(audits=[audit(2)]), batch_id=late) is late.decided
    assert await books.stores.sponsorship.audit(None, 10) == [audit(1)]


# Weeks.


async def test_a_week_is_freed_and_taken_in_one_batch(books: Books) -> None:
    await a_world(books)
    await books.lay_out(booking(1, slot_id="right-1", weeks=2))
    place = ("right-1", week(1))
    batch = Decision(
        bookings={"bok_2": booking(2, 2, slot_id="right-1")},
        weeks_freed={place: "bok_1", ("right-1", week(2)): "bok_1"},
        weeks_reserved={place: "bok_2"},
    )
    await books.keep(batch)
    assert await books.weeks() == {place: "bok_2"}


async def test_a_week_is_freed_only_from_the_booking_that_is_said_to_hold_it(books: Books) -> None:
    await a_world(books)
    await books.lay_out(booking(1), booking(2, slot_id="right-1"), weeks=True)
    await books.keep(Decision(weeks_freed={("left-1", week(1)): "bok_2"}))
    assert await books.weeks() == {("left-1", week(1)): "bok_1", ("right-1", week(1)): "bok_2"}


async def test_a_week_that_is_taken_twice_is_contended_and_nothing_of_the_batch_is_kept(books: Books) -> None:
    await a_world(books)
    await books.lay_out(booking(1), booking(2, slot_id="right-1"))
    before = (await books.see(ALL), await books.stores.sponsorship.overview(0))
    topics = await books.listen()
    batch_id = BatchId("other/bookings", 1)
    batch = Decision(
        sponsors={"ten_1": sponsor(name="Other")},
        slots={"left-1": slot(name="Other")},
        campaigns={"cmp_1": campaign(name="Other")},
        bookings={"bok_1": booking(1, status=BookingStatus.PAID), "bok_3": booking(3, 2)},
        weeks_freed={("right-1", week(1)): "bok_2"},
        weeks_reserved={("left-1", week(2)): "bok_3", ("left-1", week(1)): "bok_3"},
        remembered=[remembered("bok_1")],
        events=[("evt_1", "bok_1")],
        audits=[audit(1)],
        visible=True,
    )
    with pytest.raises(Contended):
        await books.keep(batch, ALL, batch_id)
    assert (await books.see(ALL), await books.stores.sponsorship.overview(0)) == before
    seen = await books.see(LockSet(keys=(("ten_1", OPERATION, f"{KEY}1"),), event_ids=("evt_1",)))
    assert (seen.remembered, seen.events) == ({}, set())
    assert await books.stores.sponsorship.audit(None, 10) == []
    assert await topics() == []
    # The batch id was not recorded either.
    await books.keep(Decision(audits=[audit(2)]), batch_id=batch_id)
    assert await books.stores.sponsorship.audit(None, 10) == [audit(2)]


# Keys and events.


async def test_a_remembered_key_leads_to_its_booking_and_all_that_belongs_to_it(books: Books) -> None:
    await a_world(books)
    kept = remembered("bok_1", 1)
    await books.lay_out(booking(1, hold_ms=NOW - 1, status=BookingStatus.EXPIRED))
    await books.keep(Decision(remembered=[kept]))
    await books.deliver("bok_1", DAY, 5, 2)
    place = ("ten_1", OPERATION, f"{KEY}1")
    seen = await books.see(
        LockSet(keys=(place, ("ten_1", "bookings/start", f"{KEY}1"), ("ten_2", OPERATION, f"{KEY}1")))
    )
    assert seen.remembered == {place: kept}
    assert (set(seen.sponsors), list(seen.campaigns)) == ({"ten_1", "ten_2"}, ["cmp_1"])
    assert (list(seen.slots), list(seen.bookings)) == (["left-1"], ["bok_1"])
    assert seen.weeks == {("left-1", week(1)): "bok_1"}
    assert seen.delivered == {"bok_1": (5, 2)}


async def test_a_key_that_is_used_twice_is_contended_and_for_another_operation_it_is_another(books: Books) -> None:
    await a_world(books)
    await books.lay_out(booking(1))
    await books.keep(Decision(remembered=[remembered("bok_1")]))
    with pytest.raises(Contended):
        await books.keep(Decision(remembered=[replace(remembered("bok_1"), fingerprint=b"other")]))
    other = remembered("bok_1", operation="bookings/start")
    await books.keep(Decision(remembered=[other]))
    seen = await books.see(LockSet(keys=(("ten_1", OPERATION, f"{KEY}1"), ("ten_1", "bookings/start", f"{KEY}1"))))
    assert sorted(seen.remembered.values(), key=lambda known: known.operation) == [remembered("bok_1"), other]


async def test_events_that_were_handled_are_seen_and_cannot_be_handled_again(books: Books) -> None:
    await a_world(books)
    await books.keep(Decision(events=[("evt_2", "bok_1"), ("evt_1", "bok_2")]))
    assert (await books.see(LockSet(event_ids=("evt_1", "evt_3")))).events == {"evt_1"}
    with pytest.raises(Contended):
        await books.keep(Decision(events=[("evt_3", "bok_1"), ("evt_1", "bok_1")]))
    assert (await books.see(LockSet(event_ids=("evt_1", "evt_2", "evt_3")))).events == {"evt_1", "evt_2"}


# Named rows lead to others.


async def test_a_named_booking_leads_to_its_sponsor_campaign_and_slot_and_to_the_weeks_from_its_own_on(
    books: Books,
) -> None:
    await a_world(books, tenants=3)
    paid = booking(2, 2, week_start_ms=week(2), status=BookingStatus.PAID)
    await books.lay_out(booking(1, week_start_ms=week(1)), paid, booking(3, 3, week_start_ms=week(3)))
    seen = await books.see(LockSet(booking_ids=("bok_2",)))
    assert (list(seen.sponsors), list(seen.campaigns), list(seen.slots)) == (["ten_2"], ["cmp_2"], ["left-1"])
    assert seen.weeks == {("left-1", week(2)): "bok_2", ("left-1", week(3)): "bok_3"}
    assert set(seen.bookings) == {"bok_2", "bok_3"}


async def test_the_weeks_of_a_slot_are_read_from_the_earliest_that_is_named_on(books: Books) -> None:
    await a_world(books)
    await books.lay_out(*(booking(n, week_start_ms=week(n), status=BookingStatus.PAID) for n in (1, 2, 3)))
    later = LockSet(slot_ids=("left-1",), from_week_ms=week(2))
    assert set((await books.see(later)).bookings) == {"bok_2", "bok_3"}
    assert set((await books.see(replace(later, booking_ids=("bok_1",)))).bookings) == {"bok_1", "bok_2", "bok_3"}
    assert set((await books.see(replace(later, from_week_ms=week(1), booking_ids=("bok_3",)))).bookings) == {
        "bok_1",
        "bok_2",
        "bok_3",
    }
    assert set((await books.see(replace(later, from_week_ms=week(2) + 1))).bookings) == {"bok_3"}


async def test_a_slot_alone_leads_to_no_weeks_and_weeks_to_no_sponsors_and_campaigns_of_their_holders(
    books: Books,
) -> None:
    await a_world(books)
    await books.lay_out(booking(1), booking(2, 2, slot_id="right-1", status=BookingStatus.PAID))
    seen = await books.see(LockSet(slot_ids=("left-1",)))
    assert seen == Snapshot(slots={"left-1": slot()})
    seen = await books.see(LockSet(slot_ids=("left-1",), from_week_ms=week(1)))
    holds = {("left-1", week(1)): "bok_1"}
    assert seen == Snapshot(slots={"left-1": slot()}, weeks=holds, bookings={"bok_1": booking(1)})


async def test_the_holder_of_a_week_comes_with_all_of_its_weeks_also_those_before(books: Books) -> None:
    await a_world(books)
    held = booking(1, slot_id="right-1", week_start_ms=week(1), weeks=3)
    await books.lay_out(held)
    seen = await books.see(LockSet(slot_ids=("right-1",), from_week_ms=week(3)))
    assert seen.weeks == dict.fromkeys(weeks_of(held), "bok_1")


async def test_a_sponsor_leads_to_its_open_bookings_and_to_no_others(books: Books) -> None:
    await a_world(books)
    statuses = list(BookingStatus)
    rows = [booking(n, status=status, week_start_ms=week(n)) for n, status in enumerate(statuses)]
    await books.lay_out(*rows, booking(20, 2, week_start_ms=week(20)))
    seen = await books.see(LockSet(tenant_ids=("ten_1",)))
    assert {row.status for row in seen.bookings.values()} == {BookingStatus.RESERVED, BookingStatus.CHECKOUT}
    assert len(seen.bookings) == 2
    assert (seen.campaigns, seen.slots, seen.weeks) == ({}, {}, {})


async def test_a_campaign_leads_to_its_sponsor_and_that_one_to_its_open_bookings(books: Books) -> None:
    await a_world(books)
    await books.lay_out(booking(1), booking(2, 2, week_start_ms=week(2)))
    seen = await books.see(LockSet(campaign_ids=("cmp_2",)))
    assert (list(seen.sponsors), list(seen.campaigns), list(seen.bookings)) == (["ten_2"], ["cmp_2"], ["bok_2"])


async def test_a_campaign_without_a_profile_is_found_without_one(books: Books) -> None:
    await books.tenants(1)
    await books.lay_out(campaign(1))
    seen = await books.see(LockSet(campaign_ids=("cmp_1",)))
    assert (seen.sponsors, seen.campaigns) == ({}, {"cmp_1": campaign(1)})


async def test_delivery_is_summed_over_days_for_named_bookings_only(books: Books) -> None:
    await a_world(books)
    await books.lay_out(booking(1), booking(2, 2, week_start_ms=week(2)), booking(3, week_start_ms=week(3)))
    for day in range(3):
        await books.deliver("bok_1", DAY + day, 3_000_000_000, day)
    await books.deliver("bok_2", DAY, 7, 7)
    seen = await books.see(LockSet(booking_ids=("bok_1", "bok_3")))
    assert "bok_2" in seen.bookings
    assert seen.delivered == {"bok_1": (9_000_000_000, 3)}


# Rows that another node inserted first.


async def test_a_sponsor_that_exists_and_was_not_seen_is_contended_and_stays(books: Books) -> None:
    await a_world(books)
    with pytest.raises(Contended):
        await books.keep(Decision(sponsors={"ten_1": sponsor(1, id="spo_other", name="Other")}))
    assert (await books.see(ALL)).sponsors["ten_1"] == sponsor(1)


async def test_a_slot_that_exists_and_was_not_seen_is_contended_and_stays(books: Books) -> None:
    await a_world(books)
    with pytest.raises(Contended):
        await books.keep(Decision(slots={"left-1": slot(name="Other")}))
    assert (await books.see(ALL)).slots["left-1"] == slot()


# The public revision.


async def test_a_visible_decision_raises_the_revision_and_is_announced_and_others_do_neither(books: Books) -> None:
    await a_world(books)
    revision = await books.stores.sponsorship.revision()
    topics = await books.listen()
    await books.keep(Decision(audits=[audit(1)]))
    await books.lay_out(booking(1))
    assert await topics() == []
    assert await books.stores.sponsorship.revision() == revision
    await books.keep(Decision(visible=True))
    assert await topics() == ["sponsorship"]
    assert await books.stores.sponsorship.revision() == revision + 1


# The real rules.


async def test_a_repeated_creation_of_a_campaign_finds_the_first_and_leads_to_it(books: Books) -> None:
    await books.tenants(1)
    first = await books.send(CreateCampaign(campaign(1), origin(1)))
    renamed = await books.send(EditCampaign("ten_1", "cmp_1", origin(2), name="Renamed"))
    again = await books.send(
        CreateCampaign(campaign(1, created_ms=NOW + 1), origin(1)), CreateCampaign(campaign(2), origin(1))
    )
    assert first == [CampaignView(campaign(1))]
    assert again[0] == renamed[0] == CampaignView(campaign(1, name="Renamed"))
    assert isinstance(again[1], Refused)
    assert again[1].code is Code.IDEMPOTENCY_CONFLICT
    assert len(await books.stores.sponsorship.campaigns(None, None, 10)) == 1


async def test_an_audit_record_that_exists_and_was_not_seen_is_contended(books: Books) -> None:
    await books.tenants(1)
    await books.keep(Decision(campaigns={"cmp_1": campaign(1)}, audits=[audit(1)]))
    with pytest.raises(Contended):
        await books.keep(Decision(campaigns={"cmp_2": campaign(2)}, audits=[audit(1)]))
    assert len(await books.stores.sponsorship.campaigns(None, None, 10)) == 1
