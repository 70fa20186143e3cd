"""The demo of the sponsorship area at a given time: slots, campaigns and bookings in every state, and their delivery.

Rows come from `demo.toml` and are relative to the current week, so the demo of a later week is the same one, moved.
Figures come from a hash of the booking and the day, so they are the same each time.
"""

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel

from actors.bookings.demo import DeliveryDay, DemoAccount, DemoData
from actors.bookings.records import (
    OPEN,
    WITH_VIDEO,
    Booking,
    BookingStatus,
    Campaign,
    Mode,
    Slot,
    Sponsor,
    YoutubeStatus,
)
from actors.clock import DAY_MS, MINUTE_MS, day_of
from actors.times import WEEK_MS, week_of

FILE = Path(__file__).parent / "demo.toml"

HOLD_MS = 7 * DAY_MS
"""How long open bookings hold their weeks. Then they expire like any other."""
HELD_MS = 30 * MINUTE_MS
"""How long bookings that are no longer open held their weeks."""
PAID_AFTER_MS, TOO_LATE_MS = 6 * MINUTE_MS, 41 * MINUTE_MS
UNPAID = (*OPEN, BookingStatus.EXPIRED, BookingStatus.CANCELLED)


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


class _File(BaseModel, extra="forbid"):
    """The contents of `demo.toml`. `impressions` are those of an average day, by slot."""

    accounts: tuple[DemoAccount, ...]
    sponsors: tuple[Sponsor, ...]
    slots: tuple[Slot, ...]
    campaigns: tuple[Campaign, ...]
    sold: tuple[_Sold, ...]
    impressions: dict[str, int]


def demo_data(now_ms: int) -> DemoData:
    """The whole demo at a given time."""
    file = _read(week_of(now_ms))
    slots = {slot.id: slot for slot in file.slots}
    owners = {campaign.id: campaign.tenant_id for campaign in file.campaigns}
    bookings = tuple(_booking(sold, slots[sold.slot_id], owners[sold.campaign_id], now_ms) for sold in file.sold)
    paid = [booking for booking in bookings if booking.status is BookingStatus.PAID]
    days = tuple(day for booking in paid for day in _delivered(booking, file.impressions[booking.slot_id], now_ms))
    campaigns = tuple(replace(row, created_ms=row.created_ms + _spread(row.id, DAY_MS)) for row in file.campaigns)
    return DemoData(file.accounts, file.sponsors, file.slots, campaigns, bookings, days)


def _read(this_week: int) -> _File:
    """The file, with each field `…_week` as a time `…_ms`."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    for row in (*tables["sponsors"], *tables["slots"], *tables["campaigns"]):
        row["demo"] = True
        for name in [name for name in row if name.endswith("_week")]:
            row[f"{name.removesuffix('week')}ms"] = this_week + row.pop(name) * WEEK_MS
    return _File.model_validate(tables)


def _booking(sold: _Sold, slot: Slot, tenant_id: str, now_ms: int) -> Booking:
    this_week = week_of(now_ms)
    when = "now" if sold.week == 0 else f"in-{sold.week}" if sold.week > 0 else f"{-sold.week}-ago"
    booking_id = f"demo-booking-{sold.slot_id.removeprefix('demo-')}-{when}"
    is_open, paid = sold.status in OPEN, sold.status not in UNPAID
    if is_open:
        created_ms = now_ms - (35 if sold.status is BookingStatus.CHECKOUT else 20) * MINUTE_MS
    else:  # some days before the first week, or before the current week if that is earlier
        created_ms = this_week + min(sold.week, 0) * WEEK_MS - DAY_MS - _spread(booking_id, 9 * DAY_MS)
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


# Delivery.

WEEKDAYS = (1.00, 1.06, 1.08, 1.04, 0.92, 0.58, 0.52)
"""Factors for Monday to Sunday: readers come during working hours."""
LOWEST_CTR, HIGHEST_CTR = 0.008, 0.024
"""Clicks per impression over a whole booking; a single day varies by up to a fifth."""


def _delivered(booking: Booking, average: int, now_ms: int) -> Iterator[DeliveryDay]:
    """Delivery per day up to now, with the impressions of an average day. Today counts in proportion to its hours."""
    ctr = LOWEST_CTR + (HIGHEST_CTR - LOWEST_CTR) * _share(booking.id)
    first, last = day_of(booking.week_start_ms), day_of(min(now_ms, booking.week_end_ms - 1))
    for day in range(first, last + 1):
        elapsed = min(now_ms - day * DAY_MS, DAY_MS) / DAY_MS
        ordinary = average * WEEKDAYS[(day - first) % 7]
        impressions = int(ordinary * _around_one(f"{booking.id} {day} impressions", 0.15) * elapsed)
        if impressions:
            clicks = round(impressions * ctr * _around_one(f"{booking.id} {day} clicks", 0.2))
            yield DeliveryDay(booking.id, day, impressions, clicks)


def _around_one(text: str, width: float) -> float:
    return 1 - width + 2 * width * _share(text)


def _share(text: str) -> float:
    """A number from 0 to below 1, derived from the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) / 2**48


def _spread(text: str, width_ms: int) -> int:
    """A time below `width_ms` in whole minutes, derived from the text."""
    return int(_share(text) * width_ms) // MINUTE_MS * MINUTE_MS
