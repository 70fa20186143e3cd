"""The demo of the sponsorship area at a given time: bookings in every state, and their delivery. Pure.

All times are relative to the current week, so the demo of a later week is the same one, moved. Figures come from a hash
of the booking and the day, so they are the same each time. No brand or person is real.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from actors.bookings.demo import DeliveryDay, DemoData
from actors.bookings.records import OPEN, Booking, BookingStatus, Mode, Slot, YoutubeStatus
from actors.bookings.reservations import WITH_VIDEO
from actors.clock import DAY_MS, MINUTE_MS, day_of
from actors.weeks import WEEK_MS, week_of
from service.seed.demo_sponsors import (
    ACCOUNTS,
    EVENINGS,
    LEFT_LAUNCH,
    LEFT_SEASON,
    LEFT_TOP,
    RECEIPTS,
    RETURNS,
    RIGHT_MONTH,
    RIGHT_SEASON,
    RIGHT_TOP,
    RIGHT_VIDEO,
    SAME_DAY,
    SCANNER,
    YEAR_END,
    campaigns,
    share,
    slots,
    sponsors,
    spread,
)

HOLD_MS = 7 * DAY_MS
"""How long open bookings hold their weeks. Then they expire like any other."""
HELD_MS = 30 * MINUTE_MS
"""How long bookings that are no longer open held their weeks."""
PAID_AFTER_MS, TOO_LATE_MS = 6 * MINUTE_MS, 41 * MINUTE_MS


def demo_data(now_ms: int) -> DemoData:
    """The whole demo at a given time."""
    this_week = week_of(now_ms)
    offered, creatives = slots(this_week), campaigns(this_week)
    by_id = {slot.id: slot for slot in offered}
    owners = {campaign.id: campaign.tenant_id for campaign in creatives}
    bookings = tuple(_booking(sold, by_id[sold.slot_id], owners[sold.campaign_id], now_ms) for sold in SOLD)
    days = tuple(day for booking in bookings for day in _delivered(booking, now_ms))
    return DemoData(ACCOUNTS, sponsors(this_week), offered, creatives, bookings, days)


@dataclass(frozen=True, slots=True)
class _Sold:
    """A booking whose first week is `week` weeks after the current one."""

    slot_id: str
    week: int
    campaign_id: str
    status: BookingStatus = BookingStatus.PAID
    issue: str | None = None
    video: str | None = None
    notes: str | None = None


SOLD = (
    # Live now; the long ones stay live for many weeks.
    _Sold(LEFT_SEASON, -2, RECEIPTS),
    _Sold(LEFT_TOP, 0, SAME_DAY),
    _Sold(
        RIGHT_SEASON,
        -4,
        RETURNS,
        video="https://video.example.org/watch/returns-that-nobody-has-to-dread",
        notes="Published in the first week, with a link to the pick-up page below it.",
    ),
    _Sold(RIGHT_TOP, 0, YEAR_END),
    _Sold(RIGHT_MONTH, -1, RECEIPTS),
    # Ended.
    _Sold(RIGHT_MONTH, -8, EVENINGS),
    _Sold(RIGHT_TOP, -8, SAME_DAY),
    _Sold(RIGHT_VIDEO, -7, RECEIPTS, video="https://video.example.org/watch/receipts-that-file-themselves"),
    _Sold(LEFT_TOP, -7, YEAR_END),
    _Sold(LEFT_TOP, -6, SAME_DAY),
    _Sold(RIGHT_TOP, -5, RETURNS),
    _Sold(LEFT_TOP, -5, RECEIPTS),
    _Sold(RIGHT_TOP, -4, YEAR_END),
    _Sold(LEFT_TOP, -3, YEAR_END),
    _Sold(RIGHT_TOP, -2, SAME_DAY, issue="refund_declined"),
    _Sold(LEFT_TOP, -2, RETURNS),
    _Sold(LEFT_TOP, -1, RECEIPTS),
    # Upcoming.
    _Sold(LEFT_TOP, 1, YEAR_END),
    _Sold(RIGHT_VIDEO, 1, SCANNER, notes="The script is agreed; filming is planned for the week before."),
    _Sold(RIGHT_TOP, 2, SAME_DAY),
    # Not paid yet, or no longer.
    _Sold(LEFT_TOP, 2, SCANNER, BookingStatus.RESERVED),
    _Sold(RIGHT_TOP, 1, RETURNS, BookingStatus.CHECKOUT),
    _Sold(RIGHT_TOP, 3, YEAR_END, BookingStatus.EXPIRED),
    _Sold(LEFT_LAUNCH, 1, SAME_DAY, BookingStatus.CANCELLED),
    _Sold(LEFT_TOP, 3, YEAR_END, BookingStatus.REFUNDING),
    _Sold(RIGHT_TOP, -1, RECEIPTS, BookingStatus.REFUNDED),
    _Sold(LEFT_TOP, -4, RETURNS, BookingStatus.REFUNDED, issue="paid_after_expiry"),
)

UNPAID = (*OPEN, BookingStatus.EXPIRED, BookingStatus.CANCELLED)


def _booking(sold: _Sold, slot: Slot, tenant_id: str, now_ms: int) -> Booking:
    this_week = week_of(now_ms)
    when = "now" if sold.week == 0 else f"in-{sold.week}" if sold.week > 0 else f"{-sold.week}-ago"
    booking_id = f"demo-booking-{sold.slot_id.removeprefix('demo-')}-{when}"
    is_open, paid = sold.status in OPEN, sold.status not in UNPAID
    created_ms = _made_ms(booking_id, this_week, sold.week)
    if is_open:
        created_ms = now_ms - (35 if sold.status is BookingStatus.CHECKOUT else 20) * MINUTE_MS
    late = sold.issue == "paid_after_expiry"
    amount_cents = slot.weeks * slot.week_price_cents
    video = YoutubeStatus.PUBLISHED if sold.video else YoutubeStatus.PLANNED
    return Booking(
        id=booking_id,
        tenant_id=tenant_id,
        campaign_id=sold.campaign_id,
        slot_id=slot.id,
        slot_name=slot.name,
        week_start_ms=this_week + sold.week * WEEK_MS,
        weeks=slot.weeks,
        amount_cents=amount_cents,
        currency="usd",
        status=sold.status,
        mode=Mode.TEST,
        created_ms=created_ms,
        hold_ms=now_ms + HOLD_MS if is_open else created_ms + HELD_MS,
        package_kind=slot.package_kind,
        package_description=slot.description,
        youtube_status=video if slot.package_kind in WITH_VIDEO else None,
        youtube_url=sold.video,
        youtube_notes=sold.notes,
        paid_ms=created_ms + (TOO_LATE_MS if late else PAID_AFTER_MS) if paid else None,
        paid_cents=amount_cents if paid else None,
        payment_id=f"demo-payment-{booking_id.removeprefix('demo-booking-')}" if paid else None,
        refunded_cents=amount_cents if sold.status is BookingStatus.REFUNDED else 0,
        # Never due, so that no payment processor is asked to refund a demo booking.
        refund_due_ms=None,
        payment_issue=sold.issue,
        demo=True,
    )


def _made_ms(booking_id: str, this_week: int, week: int) -> int:
    """Creation time: some days before the first week, or before the current week if that is earlier."""
    return this_week + min(week, 0) * WEEK_MS - DAY_MS - spread(booking_id, 9 * DAY_MS)


# Delivery.

IMPRESSIONS = {
    LEFT_TOP: 1_400,
    LEFT_SEASON: 1_050,
    RIGHT_TOP: 1_250,
    RIGHT_SEASON: 900,
    RIGHT_MONTH: 800,
    RIGHT_VIDEO: 600,
}
"""Impressions on an average day."""
WEEKDAYS = (1.00, 1.06, 1.08, 1.04, 0.92, 0.58, 0.52)
"""Factors for Monday to Sunday: readers come during working hours."""
LOWEST_CTR, HIGHEST_CTR = 0.008, 0.024
"""Clicks per impression over a whole booking; a single day varies by up to a fifth."""


def _delivered(booking: Booking, now_ms: int) -> Iterator[DeliveryDay]:
    """Delivery of a paid booking per day up to now; today counts in proportion to its hours."""
    if booking.status is not BookingStatus.PAID:
        return
    ctr = LOWEST_CTR + (HIGHEST_CTR - LOWEST_CTR) * share(booking.id)
    first, last = day_of(booking.week_start_ms), day_of(min(now_ms, booking.week_end_ms - 1))
    for day in range(first, last + 1):
        elapsed = min(now_ms - day * DAY_MS, DAY_MS) / DAY_MS
        ordinary = IMPRESSIONS[booking.slot_id] * WEEKDAYS[(day - first) % 7]
        impressions = int(ordinary * _around_one(f"{booking.id} {day} impressions", 0.15) * elapsed)
        if impressions:
            clicks = round(impressions * ctr * _around_one(f"{booking.id} {day} clicks", 0.2))
            yield DeliveryDay(booking.id, day, impressions, clicks)


def _around_one(text: str, width: float) -> float:
    return 1 - width + 2 * width * share(text)
