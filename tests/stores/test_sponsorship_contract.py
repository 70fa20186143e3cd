"""The contract of the sponsorship reads, over Postgres and in memory."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from actors.bookings.records import BookingStatus, BookingView, CampaignStatus, CampaignView, DayDelivered, Mode, Side
from actors.bookings.reports import BookingDelivered, Days, Only, SlotReach
from actors.bookings.state import Decision, LockSet
from actors.bookings.store import Before, Overview, SoldPlacement, SponsorshipStore, UnavailableWeek
from actors.values import NOT_FILTERED, Filtered
from tests.stores.books import (
    DAY,
    FULL_BOOKING,
    FULL_SLOT,
    NOW,
    Books,
    a_world,
    audit,
    booking,
    campaign,
    slot,
    sponsor,
    week,
)
from tests.stores.conftest import Stores

Read = Callable[[Before | None, int], Awaitable[Sequence[Any]]]


@pytest.fixture
def books(stores: Stores) -> Books:
    return Books(stores)


@pytest.fixture
def reads(stores: Stores) -> SponsorshipStore:
    return stores.sponsorship


def place_of(item: Any) -> Before:
    """The place of an item of any list."""
    for name in ("booking", "campaign"):
        item = getattr(item, name, item)
    return Before(item.created_ms, item.id)


async def paged(read: Read, limit: int) -> list[str]:
    """The ids of a complete list, read page by page."""
    found: list[str] = []
    before: Before | None = None
    while page := await read(before, limit):
        assert len(page) <= limit
        found += [place_of(item).id for item in page]
        before = place_of(page[-1])
        assert len(found) < 100
    return found


async def test_an_empty_area_reads_as_such(reads: SponsorshipStore) -> None:
    assert await reads.sponsor("ten_1") is None
    assert await reads.booking(None, "bok_1") is None
    assert await reads.campaign(None, "cmp_1") is None
    assert list(await reads.delivered("bok_1")) == []
    for listed in (reads.sponsors, reads.audit):
        assert list(await listed(None, 10)) == []
    for owned in (reads.campaigns, reads.bookings):
        assert list(await owned(None, None, 10)) == list(await owned("ten_1", None, 10)) == []
    assert list(await reads.slots()) == []
    assert list(await reads.due_holds(NOW, 10)) == []
    assert list(await reads.due_refunds(NOW, 10)) == []
    assert await reads.waiting_refunds(10) == 0
    assert await reads.revision() == 0
    assert await reads.overview(0) == Overview(0, [], [], [])


# Lists.


async def test_lists_are_newest_first_then_by_id_and_pages_neither_overlap_nor_leave_gaps(
    books: Books, reads: SponsorshipStore
) -> None:
    numbers = range(1, 8)
    created = {number: NOW + number // 3 for number in numbers}
    await books.tenants(*numbers)
    await books.lay_out(
        slot(),
        *(sponsor(n, created_ms=created[n]) for n in numbers),
        *(campaign(n, 1 + n % 2, created_ms=created[n]) for n in numbers),
        *(booking(n, 1 + n % 2, created_ms=created[n], week_start_ms=week(n)) for n in numbers),
    )
    await books.keep(Decision(audits=[audit(n, created_ms=created[n]) for n in numbers]))
    order = [7, 6, 5, 4, 3, 2, 1]
    lists: list[tuple[str, Read]] = [
        ("spo", reads.sponsors),
        ("cmp", lambda before, limit: reads.campaigns(None, before, limit)),
        ("bok", lambda before, limit: reads.bookings(None, before, limit)),
        ("aud", reads.audit),
    ]
    for prefix, read in lists:
        for limit in (1, 2, 3, 7, 50):
            assert await paged(read, limit) == [f"{prefix}_{number}" for number in order], (prefix, limit)
    own: list[tuple[str, Read]] = [
        ("cmp", lambda before, limit: reads.campaigns("ten_1", before, limit)),
        ("bok", lambda before, limit: reads.bookings("ten_1", before, limit)),
    ]
    for prefix, read in own:
        assert await paged(read, 2) == [f"{prefix}_{number}" for number in (6, 4, 2)]


async def test_everybodys_campaigns_are_read_by_state_and_from_either_end(
    books: Books, reads: SponsorshipStore
) -> None:
    numbers = range(1, 8)
    states = {number: CampaignStatus.PENDING if number % 2 else CampaignStatus.APPROVED for number in numbers}
    await books.tenants(1)
    await books.lay_out(*(campaign(n, 1, created_ms=NOW + n // 3, status=states[n]) for n in numbers))
    for status, expected in (
        (None, [7, 6, 5, 4, 3, 2, 1]),
        (CampaignStatus.PENDING, [7, 5, 3, 1]),
        (CampaignStatus.APPROVED, [6, 4, 2]),
        (CampaignStatus.PAUSED, []),
    ):
        for limit in (1, 2, 3, 7, 50):
            newest = await paged(partial(reads.everybodys_campaigns, status), limit)
            assert newest == [f"cmp_{number}" for number in expected], (status, limit)
            oldest = await paged(partial(reads.everybodys_campaigns, status, oldest=True), limit)
            assert oldest == newest[::-1], (status, limit)


async def test_campaigns_and_sponsors_are_found_by_id_and_by_a_part_of_their_names(
    books: Books, reads: SponsorshipStore
) -> None:
    await books.tenants(1, 2)
    elsewhere = replace(campaign().content, target_url="https://Elsewhere.example.org/start")
    rows = [campaign(1, 1), campaign(2, 1, name="Parcel tracker"), campaign(3, 2, content=elsewhere)]
    await books.lay_out(sponsor(1), sponsor(2), *rows)
    found = {
        "cmp_2": ([2], []),
        "PARCEL": ([2], []),
        "elsewhere.example.org": ([3], []),
        "brand 2": ([3], [2]),
        "ten_2": ([], [2]),
        "spo_1": ([], [1]),
        "%": ([], []),
    }
    for text, (campaigns, sponsors) in found.items():
        for oldest in (True, False):
            search = partial(reads.everybodys_campaigns, None, text=text, oldest=oldest)
            assert await paged(search, 1) == [f"cmp_{number}" for number in campaigns], text
        assert await paged(partial(reads.sponsors, text=text), 1) == [f"spo_{number}" for number in sponsors], text


async def test_the_audit_of_one_target_leaves_all_others_out(books: Books, reads: SponsorshipStore) -> None:
    targets = ["cmp_1", "cmp_2", "cmp_1", "cmp_10", "cmp_1"]
    rows = [audit(n, created_ms=NOW + n // 2, target_id=target) for n, target in enumerate(targets, 1)]
    await books.keep(Decision(audits=rows))
    assert await paged(partial(reads.audit, target_id="cmp_1"), 2) == ["aud_5", "aud_3", "aud_1"]
    assert await paged(partial(reads.audit, target_id="cmp_10"), 2) == ["aud_4"]
    assert await paged(partial(reads.audit, target_id="cmp"), 2) == []


async def test_a_place_that_is_no_row_is_a_place_all_the_same(books: Books, reads: SponsorshipStore) -> None:
    await books.tenants(1, 2)
    await books.lay_out(sponsor(1), sponsor(2, created_ms=NOW + 5))
    assert [row.id for row in await reads.sponsors(Before(NOW + 5, "spo_1a"), 10)] == ["spo_1"]
    assert [row.id for row in await reads.sponsors(Before(NOW + 5, "spo_3"), 10)] == ["spo_2", "spo_1"]
    assert [row.id for row in await reads.sponsors(Before(NOW, ""), 10)] == []


async def test_sponsors_are_read_whole(books: Books, reads: SponsorshipStore) -> None:
    await books.tenants(1, 2)
    await books.lay_out(sponsor(1), sponsor(2, demo=True))
    assert await reads.sponsor("ten_1") == sponsor(1)
    assert await reads.sponsor("ten_3") is None
    assert list(await reads.sponsors(None, 10)) == [sponsor(2, demo=True), sponsor(1)]


async def test_campaigns_carry_the_sponsors_name_where_there_is_a_profile(
    books: Books, reads: SponsorshipStore
) -> None:
    await books.tenants(1, 2)
    noted = campaign(2, 2, status=CampaignStatus.REJECTED, review_note="No", demo=True)
    await books.lay_out(sponsor(1), campaign(1, 1), noted)
    assert list(await reads.campaigns(None, None, 10)) == [CampaignView(noted), CampaignView(campaign(1, 1), "Brand 1")]
    assert list(await reads.campaigns("ten_2", None, 10)) == [CampaignView(noted)]
    assert await reads.campaign("ten_2", "cmp_2") == await reads.campaign(None, "cmp_2") == CampaignView(noted)
    assert await reads.campaign("ten_1", "cmp_1") == CampaignView(campaign(1, 1), "Brand 1")


async def test_bookings_carry_names_and_what_was_delivered_on_all_days(books: Books, reads: SponsorshipStore) -> None:
    await a_world(books)
    await books.lay_out(booking(1), replace(FULL_BOOKING, week_start_ms=week(2)), booking(2, 2, week_start_ms=week(3)))
    await books.deliver("bok_1", DAY, 10, 1)
    await books.deliver("bok_1", DAY + 1, 5_000_000_000, 2)
    await books.deliver("bok_2", DAY, 1, 0)
    approved = CampaignStatus.APPROVED
    first = BookingView(booking(1), "Campaign 1", "Brand 1", 5_000_000_010, 3, approved)
    full = BookingView(replace(FULL_BOOKING, week_start_ms=week(2)), "Campaign 1", "Brand 1", 0, 0, approved)
    second = BookingView(booking(2, 2, week_start_ms=week(3)), "Campaign 2", "Brand 2", 1, 0, approved)
    assert list(await reads.bookings(None, None, 10)) == [full, second, first]
    assert list(await reads.bookings("ten_1", None, 10)) == [full, first]
    assert await reads.booking("ten_1", "bok_1") == await reads.booking(None, "bok_1") == first
    assert await reads.booking("ten_1", "bok_9") == full
    assert type(full.booking.status) is BookingStatus


async def test_delivery_is_read_by_day_in_order(books: Books, reads: SponsorshipStore) -> None:
    await a_world(books)
    await books.lay_out(booking(1))
    await books.deliver("bok_1", DAY + 10, 5_000_000_000, 2)
    await books.deliver("bok_1", DAY + 9, 10, 1)
    await books.deliver("bok_2", DAY, 1, 0)
    days = [DayDelivered(DAY + 9, 10, 1), DayDelivered(DAY + 10, 5_000_000_000, 2)]
    assert list(await reads.delivered("bok_1")) == days


async def test_days_have_what_was_filtered_beside_their_counts_or_alone(books: Books, reads: SponsorshipStore) -> None:
    await a_world(books)
    shown = booking(1, week_start_ms=week(1), status=BookingStatus.PAID, paid_ms=NOW)
    other = booking(2, week_start_ms=week(2), status=BookingStatus.PAID, paid_ms=NOW)
    await books.lay_out(shown, other)
    monday, some, more = week(1) // 86_400_000, Filtered(duplicate=3), Filtered(inactive=1)
    for each in (shown, other):
        await books.deliver(each.id, monday + 7, 5, 1)
    await books.deliver("bok_1", monday + 2, 9, 0)
    await books.filter(("bok_1", monday + 1, some), ("bok_1", monday + 7, more), ("bok_2", monday + 8, some))
    days = [
        DayDelivered(monday + 1, 0, 0, some),
        DayDelivered(monday + 2, 9, 0),
        DayDelivered(monday + 7, 5, 1, more),
    ]
    assert list(await reads.delivered("bok_1")) == days
    within = Days(monday + 2, monday + 8)
    alone = DayDelivered(monday + 8, 0, 0, some)
    assert [each.counted for each in await reads.deliveries("ten_1", within, None, 9)] == [
        tuple(days[1:]),
        (DayDelivered(monday + 7, 5, 1), alone),
    ]
    counted = await reads.counted(["bok_1", "bok_2"], within)
    assert [(each.booking_id, each.of_day) for each in counted if each.filtered != NOT_FILTERED] == [
        ("bok_1", days[2]),
        ("bok_2", alone),
    ]
    seen = await books.see(LockSet(booking_ids=("bok_1",), followed_ids=("bok_1",)))
    assert seen.days == {"bok_1": days}


async def test_deliveries_of_an_account_are_its_paid_bookings_that_touch_the_days(
    books: Books, reads: SponsorshipStore
) -> None:
    await a_world(books)
    monday = week(1) // 86_400_000
    paid: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW}
    mine = [booking(number, week_start_ms=week(number), created_ms=NOW + number, **paid) for number in (1, 2, 3)]
    unpaid = booking(4, week_start_ms=week(4))
    await books.lay_out(*mine, unpaid, booking(5, 2, week_start_ms=week(5), **paid))
    for day in (monday - 1, monday, monday + 6, monday + 8):
        await books.deliver("bok_1", day, day - monday + 10, 1)
    days = Days(monday, monday + 7)
    first = BookingDelivered(mine[0], "Campaign 1", (DayDelivered(monday, 10, 1), DayDelivered(monday + 6, 16, 1)))
    second = BookingDelivered(mine[1], "Campaign 1", ())
    assert list(await reads.deliveries("ten_1", days, None, 10)) == [first, second]
    assert list(await reads.deliveries("ten_1", days, None, 1)) == [first]
    assert list(await reads.deliveries("ten_1", days, Before(NOW + 1, "bok_1"), 10)) == [second]
    assert list(await reads.deliveries("ten_1", days, None, 10, Only("cmp_1", "left-1"))) == [first, second]
    for only in (Only("cmp_2"), Only(slot_id="left-2"), Only("cmp_1", "left-2")):
        assert list(await reads.deliveries("ten_1", days, None, 10, only)) == []
    # Events may be counted on the day after the run.
    [late] = await reads.deliveries("ten_1", Days(monday + 7, monday + 6), None, 10)
    assert late.booking.id == "bok_1"
    after = await reads.deliveries("ten_1", Days(monday + 8, monday + 13), None, 10)
    assert [each.booking.id for each in after] == ["bok_2"]
    everything = await reads.deliveries("ten_1", Days(0, 100_000), None, 10)
    assert [each.booking.id for each in everything] == ["bok_1", "bok_2", "bok_3"]
    assert list(await reads.deliveries("ten_3", days, None, 10)) == []


async def test_the_reach_of_past_bookings_is_summed_by_slot_without_samples_and_other_modes(
    books: Books, reads: SponsorshipStore
) -> None:
    await a_world(books)
    await books.lay_out(slot("left-2"))
    paid: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW}
    await books.lay_out(
        booking(1, week_start_ms=week(1), **paid),
        booking(2, 2, week_start_ms=week(2), weeks=2, **paid),
        booking(3, slot_id="left-2", week_start_ms=week(1), **paid),
        booking(4, week_start_ms=week(4), **paid),
        booking(5, week_start_ms=week(5), demo=True, **paid),
        booking(6, week_start_ms=week(6), disputed=True, **paid),
        booking(7, week_start_ms=week(7), status=BookingStatus.REFUNDED, paid_ms=NOW),
        weeks=False,
    )
    for number in range(1, 8):
        await books.deliver(f"bok_{number}", DAY + number, 100, number)
    mode = booking(1).mode
    first = SlotReach(booking(1).slot_id, 2, 3, 200, 3)
    assert list(await reads.reach(week(4), mode)) == [first, SlotReach("left-2", 1, 1, 100, 3)]
    assert list(await reads.reach(week(4) - 1, mode)) == [
        SlotReach(booking(1).slot_id, 1, 1, 100, 1),
        SlotReach("left-2", 1, 1, 100, 3),
    ]
    other = Mode.LIVE if mode is Mode.TEST else Mode.TEST
    assert list(await reads.reach(week(9), other)) == []


async def test_the_ads_beside_one_are_what_others_hold_or_have_paid_for_on_its_side_in_each_week(
    books: Books, reads: SponsorshipStore
) -> None:
    await a_world(books)
    own = booking(1).slot_id
    await books.lay_out(slot("left-2"), slot("left-3"), slot("right-9", side=Side.RIGHT))
    paid: dict[str, Any] = {"status": BookingStatus.PAID, "paid_ms": NOW}
    held: dict[str, Any] = {"status": BookingStatus.RESERVED, "hold_ms": NOW + 1}
    await books.lay_out(
        booking(1, week_start_ms=week(1), **paid),
        booking(2, slot_id="left-2", week_start_ms=week(1), weeks=2, **paid),
        booking(3, slot_id="left-3", week_start_ms=week(1), **held),
        booking(4, slot_id="right-9", week_start_ms=week(1), **paid),
        booking(5, slot_id="left-3", week_start_ms=week(4), **paid),
    )
    assert await reads.ads_beside(own, week(1), week(4), NOW) == {week(1): 2, week(2): 1}
    assert await reads.ads_beside(own, week(1), week(4), NOW + 1) == {week(1): 1, week(2): 1}, "the hold has ended"
    assert await reads.ads_beside("left-2", week(1), week(2), NOW) == {week(1): 2}
    assert await reads.ads_beside("none", week(1), week(4), NOW) == {}


async def test_rows_of_another_account_do_not_exist(books: Books, reads: SponsorshipStore) -> None:
    await a_world(books)
    await books.lay_out(booking(1))
    assert await reads.booking("ten_2", "bok_1") is None
    assert await reads.campaign("ten_2", "cmp_1") is None
    assert list(await reads.bookings("ten_2", None, 10)) == []
    assert [view.campaign.id for view in await reads.campaigns("ten_2", None, 10)] == ["cmp_2"]


async def test_all_slots_are_read_by_id_retired_ones_too(books: Books, reads: SponsorshipStore) -> None:
    rows = [slot("B"), FULL_SLOT, slot("a-2"), slot("a", retired_ms=NOW)]
    await books.lay_out(*rows)
    assert list(await reads.slots()) == [rows[0], rows[3], rows[2], FULL_SLOT]
    assert type((await reads.slots())[3].side) is Side


async def test_the_audit_is_read_by_target_and_by_who_acted(books: Books, reads: SponsorshipStore) -> None:
    ann, bob = "ann@example.com", "bob@example.com"
    rows = [
        audit(1, actor_email=ann),
        audit(2, actor_email=bob),
        audit(3, actor_email=ann, target_id="cmp_9"),
        audit(4),
    ]
    await books.keep(Decision(audits=rows))
    first, _, third, _ = rows
    assert list(await reads.audit(None, 10, actor_email=ann)) == [third, first]
    assert list(await reads.audit(Before(third.created_ms, third.id), 10, actor_email=ann)) == [first]
    assert list(await reads.audit(None, 10, "cmp_9", ann)) == [third]
    assert list(await reads.audit(None, 10, "cmp_9", bob)) == []


async def test_the_revision_grows_by_one_with_each_change_that_shows(books: Books, reads: SponsorshipStore) -> None:
    for number in (1, 2, 3):
        await books.keep(Decision(visible=True))
        assert await reads.revision() == (await reads.overview(0)).revision == number


# The overview.


async def test_weeks_are_taken_from_the_first_that_is_asked_for_and_holds_say_until_when(
    books: Books, reads: SponsorshipStore
) -> None:
    await a_world(books)
    statuses = [BookingStatus.RESERVED, BookingStatus.CHECKOUT, BookingStatus.PAID, BookingStatus.REFUNDING]
    await books.lay_out(
        *(booking(n, status=status, week_start_ms=week(n), hold_ms=NOW + n) for n, status in enumerate(statuses)),
        booking(7, slot_id="right-1", week_start_ms=week(0), weeks=2, hold_ms=NOW - 7),
    )
    taken = [
        UnavailableWeek("left-1", week(0), NOW),
        UnavailableWeek("left-1", week(1), NOW + 1),
        UnavailableWeek("left-1", week(2), None),
        UnavailableWeek("left-1", week(3), None),
        UnavailableWeek("right-1", week(0), NOW - 7),
        UnavailableWeek("right-1", week(1), NOW - 7),
    ]
    assert list((await reads.overview(week(0))).taken) == taken
    assert list((await reads.overview(week(1))).taken) == [taken[1], taken[2], taken[3], taken[5]]
    assert list((await reads.overview(week(4))).taken) == []


async def test_a_retired_slot_is_not_shown_and_what_was_sold_of_it_is(books: Books, reads: SponsorshipStore) -> None:
    await a_world(books)
    await books.lay_out(booking(1, status=BookingStatus.PAID), booking(2, slot_id="right-1", week_start_ms=week(4)))
    retired = slot(retired_ms=NOW, active=False)
    await books.keep(Decision(slots={"left-1": retired}), rows=LockSet(slot_ids=("left-1",)))
    overview = await reads.overview(week(0))
    assert [row.id for row in overview.slots] == ["right-1"]
    assert [held.slot_id for held in overview.taken] == ["right-1"]
    assert [sold.booking_id for sold in overview.placements] == ["bok_1"]


async def test_a_placement_tells_its_side_content_brand_and_weeks(books: Books, reads: SponsorshipStore) -> None:
    await a_world(books)
    paid: dict[str, Any] = {"status": BookingStatus.PAID, "weeks": 2, "slot_id": "right-1"}
    await books.lay_out(booking(2, 2, demo=True, **paid), booking(1, week_start_ms=week(3), **paid))
    content = campaign().content
    assert list((await reads.overview(week(1))).placements) == [
        SoldPlacement("bok_1", "right-1", Side.RIGHT, content, "Brand 1", week(3), week(5), False),
        SoldPlacement("bok_2", "right-1", Side.RIGHT, content, "Brand 2", week(1), week(3), True),
    ]


async def test_a_placement_is_there_until_its_last_week_is_over(books: Books, reads: SponsorshipStore) -> None:
    await a_world(books)
    await books.lay_out(booking(1, status=BookingStatus.PAID, weeks=5, slot_id="right-1"))

    async def shown(from_ms: int) -> int:
        return len((await reads.overview(from_ms)).placements)

    assert [await shown(moment) for moment in (week(0), week(5), week(6) - 1, week(6))] == [1, 1, 1, 0]


async def test_a_paid_booking_that_lacks_one_of_its_weeks_is_no_placement(
    books: Books, reads: SponsorshipStore
) -> None:
    await a_world(books)
    await books.lay_out(booking(1, status=BookingStatus.PAID, weeks=2, slot_id="right-1"))
    await books.keep(Decision(weeks_freed={("right-1", week(2)): "bok_1"}))
    overview = await reads.overview(week(0))
    assert list(overview.placements) == []
    assert [held.week_ms for held in overview.taken] == [week(1)]


# Due holds and refunds.


async def test_open_holds_are_due_when_their_time_is_up_the_longest_first(
    books: Books, reads: SponsorshipStore
) -> None:
    await a_world(books)
    holds = {1: NOW - 1, 2: NOW - 5, 3: NOW, 4: NOW + 1, 5: NOW - 5}
    statuses = {1: BookingStatus.CHECKOUT}
    await books.lay_out(
        *(
            booking(n, week_start_ms=week(n), hold_ms=hold_ms, status=statuses.get(n, BookingStatus.RESERVED))
            for n, hold_ms in holds.items()
        ),
        *(
            booking(10 + n, week_start_ms=week(10 + n), hold_ms=NOW - 9, status=status)
            for n, status in enumerate(list(BookingStatus)[2:])
        ),
    )
    assert list(await reads.due_holds(NOW, 10)) == ["bok_2", "bok_5", "bok_1", "bok_3"]
    assert list(await reads.due_holds(NOW, 3)) == ["bok_2", "bok_5", "bok_1"]
    assert list(await reads.due_holds(NOW - 6, 3)) == []


async def test_refunds_are_due_when_their_time_has_come_the_longest_first(
    books: Books, reads: SponsorshipStore
) -> None:
    await a_world(books)
    due = {1: NOW - 1, 2: NOW - 5, 3: NOW, 4: NOW + 1, 5: NOW - 5, 6: None}
    rows = {
        n: booking(n, week_start_ms=week(n), status=BookingStatus.REFUNDING, refund_due_ms=due_ms)
        for n, due_ms in due.items()
    }
    await books.lay_out(*rows.values(), booking(9, refund_due_ms=NOW - 9, week_start_ms=week(9), disputed=True))
    assert list(await reads.due_refunds(NOW, 10)) == [rows[2], rows[5], rows[1], rows[3]]
    assert list(await reads.due_refunds(NOW, 1)) == [rows[2]]
    assert list(await reads.due_refunds(NOW - 6, 10)) == []
    assert [await reads.waiting_refunds(limit) for limit in (3, 5, 10)] == [3, 5, 6]
