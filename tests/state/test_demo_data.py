"""The demo as data: every state occurs, nothing is out of bounds or sold twice, and each moment has the same demo."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.bookings.decision import Week
from actors.bookings.demo import DemoData, holds
from actors.bookings.records import (
    OPEN,
    Booking,
    BookingStatus,
    CampaignStatus,
    Mode,
    PackageKind,
    Side,
    YoutubeStatus,
)
from actors.bookings.slots import sells
from actors.bookings.unit_of_work import weeks_of
from actors.clock import DAY_MS, HOUR_MS, day_of
from actors.times import WEEK_MS, is_week_start, week_of
from service.schemas.slots import SlotCreate
from service.schemas.texts import one_line
from service.schemas.urls import public_address
from service.seed.demo import HOLD_MS, demo_data

MONDAY = week_of(1_795_000_000_000)
MOMENTS = {
    "the first moment of a week": MONDAY,
    "the last moment of a week": MONDAY - 1,
    "a minute into a week": MONDAY + 60_000,
    "midweek": MONDAY + 2 * DAY_MS + 15 * HOUR_MS + 12_345,
    "another year": MONDAY + 60 * WEEK_MS + 5 * DAY_MS,
}


@pytest.fixture(params=list(MOMENTS.values()), ids=list(MOMENTS))
def now_ms(request: pytest.FixtureRequest) -> int:
    moment: int = request.param
    return moment


@pytest.fixture
def data(now_ms: int) -> DemoData:
    return demo_data(now_ms)


def bookings_of(data: DemoData, *statuses: BookingStatus) -> list[Booking]:
    return [booking for booking in data.bookings if booking.status in statuses]


# Contents.


def test_slots_are_of_every_kind(data: DemoData, now_ms: int) -> None:
    assert {slot.side for slot in data.slots} == set(Side)
    assert {slot.package_kind for slot in data.slots} == {*PackageKind, None}
    assert any(slot.coming_soon for slot in data.slots)
    assert any(not slot.active for slot in data.slots)
    assert any(slot.offer_ends_ms is not None and slot.offer_ends_ms > now_ms + WEEK_MS for slot in data.slots)
    assert {slot.weeks for slot in data.slots} >= {1, 2, 4, 13}
    assert {slot.description is None for slot in data.slots} == {True, False}
    assert {sells(slot, now_ms) for slot in data.slots} == {True, False}


def test_two_sponsors_have_campaigns_and_bookings_in_every_state(data: DemoData) -> None:
    assert len(data.sponsors) == len(data.accounts) == 2
    assert {campaign.status for campaign in data.campaigns} == set(CampaignStatus)
    assert {booking.status for booking in data.bookings} == set(BookingStatus)
    tenants = {sponsor.tenant_id for sponsor in data.sponsors}
    assert {campaign.tenant_id for campaign in data.campaigns} == tenants
    assert {booking.tenant_id for booking in data.bookings} == tenants
    assert {account.tenant_id for account in data.accounts} == tenants
    assert all(campaign.review_note for campaign in data.campaigns if campaign.status is CampaignStatus.REJECTED)


def test_paid_bookings_are_past_current_and_to_come(data: DemoData, now_ms: int) -> None:
    paid = bookings_of(data, BookingStatus.PAID)
    assert any(booking.week_end_ms <= now_ms for booking in paid)
    assert any(booking.week_start_ms <= now_ms < booking.week_end_ms for booking in paid)
    assert any(booking.week_start_ms > now_ms for booking in paid)


def test_videos_are_planned_published_and_absent(data: DemoData) -> None:
    assert {booking.youtube_status for booking in data.bookings} == {*YoutubeStatus, None}
    for booking in data.bookings:
        with_video = booking.package_kind in (PackageKind.YOUTUBE, PackageKind.BUNDLE)
        assert (booking.youtube_status is not None) == with_video
        assert (booking.youtube_url is not None) == (booking.youtube_status is YoutubeStatus.PUBLISHED)
    assert any(booking.youtube_notes for booking in data.bookings)


def test_a_refund_has_a_payment_issue_and_none_is_ever_due(data: DemoData) -> None:
    refunds = bookings_of(data, BookingStatus.REFUNDING, BookingStatus.REFUNDED)
    assert {booking.payment_issue for booking in refunds} == {None, "paid_after_expiry"}
    assert not [booking for booking in data.bookings if booking.refund_due_ms is not None], "no processor is asked"


def shown(data: DemoData, at_ms: int) -> set[Side]:
    """The sides on which a placement of the demo is live."""
    approved = {row.id for row in data.campaigns if row.status is CampaignStatus.APPROVED}
    sides = {slot.id: slot.side for slot in data.slots}
    return {
        sides[booking.slot_id]
        for booking in bookings_of(data, BookingStatus.PAID)
        if booking.campaign_id in approved and booking.week_start_ms <= at_ms < booking.week_end_ms
    }


def test_both_sides_show_something_now_and_for_eight_weeks_more(data: DemoData, now_ms: int) -> None:
    for week in range(9):
        assert shown(data, now_ms + week * WEEK_MS) == set(Side), f"in week {week}"


def test_something_on_each_side_is_left_to_book_this_week(data: DemoData, now_ms: int) -> None:
    free = [slot for slot in data.slots if sells(slot, now_ms) and (slot.id, week_of(now_ms)) not in data.weeks]
    assert {slot.side for slot in free} == set(Side)


# Bounds.


def at_most(length: int) -> Callable[[str], bool]:
    return lambda text: 1 <= len(text) <= length and one_line(text) == text


def test_texts_are_within_the_bounds_of_the_specification(data: DemoData) -> None:
    for sponsor in data.sponsors:
        assert at_most(100)(sponsor.name)
    for campaign in data.campaigns:
        content = campaign.content
        assert at_most(80)(campaign.name), campaign
        assert at_most(55)(content.headline), campaign
        assert at_most(140)(content.body), campaign
        assert at_most(24)(content.cta), campaign
        assert at_most(3)(content.logo_text), campaign
        assert campaign.review_note is None or at_most(300)(campaign.review_note)
    assert all(len(booking.youtube_notes or "") <= 300 for booking in data.bookings)


def test_slots_could_have_been_made_by_an_administrator(data: DemoData) -> None:
    for slot in data.slots:
        SlotCreate(
            id=slot.id,
            name=slot.name,
            side=slot.side.value,
            weekPriceCents=slot.week_price_cents,
            active=slot.active,
            durationWeeks=slot.weeks,
            comingSoon=slot.coming_soon,
            offerEndsAt=slot.offer_ends_ms,
            packageKind=None if slot.package_kind is None else slot.package_kind.value,
            description=slot.description,
        )


def test_addresses_are_on_domains_that_are_kept_for_examples(data: DemoData) -> None:
    urls = [row.website for row in data.sponsors] + [row.content.target_url for row in data.campaigns]
    urls += [row.youtube_url for row in data.bookings if row.youtube_url]
    for url in urls:
        assert public_address(url) == url
        assert re.fullmatch(r"[a-z-]+\.example\.(com|org)", urlsplit(url).hostname or ""), url
    assert all(account.email.endswith("@example.com") for account in data.accounts)


def test_ids_are_recognisable_unique_and_no_longer_than_allowed(data: DemoData) -> None:
    for rows in (data.sponsors, data.slots, data.campaigns, data.bookings):
        ids = [row.id for row in rows]
        assert len(set(ids)) == len(ids)
        assert all(row_id.startswith("demo-") and len(row_id) <= 100 for row_id in ids)
    payments = [row.payment_id for row in data.bookings if row.payment_id is not None]
    assert len(set(payments)) == len(payments)
    assert all(account.tenant_id.startswith("demo-") for account in data.accounts)


def test_every_row_is_marked_as_demo(data: DemoData) -> None:
    assert all(row.demo for rows in (data.sponsors, data.slots, data.campaigns, data.bookings) for row in rows)
    assert {booking.mode for booking in data.bookings} == {Mode.TEST}


# Relations.


def test_bookings_are_as_the_ledger_would_have_made_them(data: DemoData) -> None:
    slots = {slot.id: slot for slot in data.slots}
    owners = {campaign.id: campaign.tenant_id for campaign in data.campaigns}
    for booking in data.bookings:
        slot = slots[booking.slot_id]
        assert is_week_start(booking.week_start_ms)
        assert (booking.slot_name, booking.weeks) == (slot.name, slot.weeks)
        assert booking.amount_cents == slot.weeks * slot.week_price_cents
        assert (booking.package_kind, booking.package_description) == (slot.package_kind, slot.description)
        assert booking.tenant_id == owners[booking.campaign_id]
        paid = booking.status in (BookingStatus.PAID, BookingStatus.REFUNDING, BookingStatus.REFUNDED)
        assert (booking.paid_ms is not None) == (booking.payment_id is not None) == paid
        whole = booking.amount_cents if booking.status is BookingStatus.REFUNDED else 0
        assert booking.refunded_cents == whole


def test_things_happen_in_their_order(data: DemoData, now_ms: int) -> None:
    profiles = {row.tenant_id: row.created_ms for row in data.sponsors}
    campaigns = {row.id: row.created_ms for row in data.campaigns}
    slots = {row.id: row.created_ms for row in data.slots}
    for campaign in data.campaigns:
        assert profiles[campaign.tenant_id] <= campaign.created_ms <= now_ms
    for booking in data.bookings:
        assert max(campaigns[booking.campaign_id], slots[booking.slot_id]) <= booking.created_ms <= now_ms
        assert booking.created_ms < booking.week_end_ms
        assert booking.paid_ms is None or booking.created_ms < booking.paid_ms <= now_ms
        late = booking.paid_ms is not None and booking.paid_ms > booking.hold_ms
        assert late == (booking.payment_issue == "paid_after_expiry")


def test_open_bookings_hold_for_a_week_and_leave_room_for_another(data: DemoData, now_ms: int) -> None:
    opened = bookings_of(data, *OPEN)
    for booking in opened:
        assert booking.is_open(now_ms)
        assert booking.hold_ms == now_ms + HOLD_MS
        assert booking.week_end_ms > booking.hold_ms, "what is held is not over before its hold is"
    assert max(Counter(booking.tenant_id for booking in opened).values()) < 3
    [ran_out] = bookings_of(data, BookingStatus.EXPIRED)
    assert ran_out.hold_ms < now_ms


def test_paid_open_and_refunding_bookings_hold_their_weeks_and_no_week_is_held_twice(data: DemoData) -> None:
    held: list[Week] = []
    for booking in data.bookings:
        assert holds(booking) == (
            booking.status not in (BookingStatus.EXPIRED, BookingStatus.CANCELLED, BookingStatus.REFUNDED)
        )
        held += weeks_of(booking) if holds(booking) else []
    assert len(held) == len(set(held))
    assert data.weeks.keys() == set(held)


def test_a_week_that_two_bookings_have_is_found_out(data: DemoData) -> None:
    [first, *_] = data.bookings
    with pytest.raises(AssertionError, match="no week twice"):
        replace(data, bookings=(first, replace(first, id="demo-twice"))).weeks  # noqa: B018


# Delivery.


def test_delivery_is_of_paid_bookings_from_their_first_day_until_today(data: DemoData, now_ms: int) -> None:
    bookings = {booking.id: booking for booking in data.bookings}
    delivered = {row.booking_id for row in data.days}
    begun = {row.id for row in bookings_of(data, BookingStatus.PAID) if row.week_end_ms <= week_of(now_ms)}
    assert begun <= delivered
    for booking_id, rows in groupby(data.days, key=lambda row: row.booking_id):
        booking, days = bookings[booking_id], [row.day for row in rows]
        assert booking.status is BookingStatus.PAID
        first = day_of(booking.week_start_ms)
        last = min(day_of(now_ms), day_of(booking.week_end_ms) - 1)
        today_has_begun = days[-1] == last or (last == day_of(now_ms) and now_ms % DAY_MS < HOUR_MS)
        assert days == list(range(first, days[-1] + 1))
        assert today_has_begun, booking
    assert min(row.day for row in data.days) == day_of(week_of(now_ms) - 8 * WEEK_MS)


def test_figures_are_plausible(data: DemoData) -> None:
    for booking_id, group in groupby(data.days, key=lambda row: row.booking_id):
        rows = list(group)
        assert all(1 <= row.impressions <= 2_000 and 0 <= row.clicks <= row.impressions for row in rows)
        impressions, clicks = sum(row.impressions for row in rows), sum(row.clicks for row in rows)
        if impressions > 1_000:
            assert 0.005 <= clicks / impressions <= 0.03, booking_id
        if len(rows) >= 7:
            weekdays, weekend = rows[:5], rows[5:7]
            assert min(row.impressions for row in weekdays) > max(row.impressions for row in weekend)
    assert len({row.impressions for row in data.days}) > 50, "they are not all alike"


def test_today_grows_by_the_hour_and_days_that_are_over_stay_as_they_were() -> None:
    now_ms = MONDAY + 3 * DAY_MS + 6 * HOUR_MS
    early, late = (
        {(row.booking_id, row.day): row for row in demo_data(at).days} for at in (now_ms, now_ms + 8 * HOUR_MS)
    )
    assert early.keys() == late.keys()
    for place, row in early.items():
        if place[1] == day_of(now_ms):
            assert row.impressions < late[place].impressions
        else:
            assert row == late[place]


# Any moment.


@given(st.integers(min_value=1_500_000_000_000, max_value=4_000_000_000_000))
def test_every_moment_has_its_demo_and_always_the_same(now_ms: int) -> None:
    data = demo_data(now_ms)
    assert data == demo_data(now_ms)
    assert shown(data, now_ms) == set(Side)
    assert all(booking.created_ms <= now_ms and (booking.paid_ms or 0) <= now_ms for booking in data.bookings)
    assert data.weeks
    assert all(row.day <= day_of(now_ms) and row.clicks <= row.impressions for row in data.days)


def test_a_week_later_it_is_the_same_demo_moved() -> None:
    now, later = demo_data(MONDAY + HOUR_MS), demo_data(MONDAY + HOUR_MS + WEEK_MS)
    assert [row.id for row in now.bookings] == [row.id for row in later.bookings]
    for before, after in zip(now.bookings, later.bookings, strict=True):
        assert after.week_start_ms == before.week_start_ms + WEEK_MS
        assert after.created_ms == before.created_ms + WEEK_MS
