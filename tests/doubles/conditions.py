"""The conditions that storage/sql states in SQL, in Python. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from actors.bookings.records import OPEN, Booking, BookingStatus, Campaign, CampaignStatus
from actors.bookings.reports import LATE_DAYS, Days
from actors.keys.messages import Key
from actors.keys.validity import is_live
from actors.nodes.state import GONE_SECONDS
from actors.times import day_of


def in_trouble(booking: Booking) -> bool:
    """Whether a person has to look at its payment: it is disputed, has a problem and is not refunded, or its sponsor has
    asked for a refund."""
    unsettled = booking.status in (BookingStatus.PAID, BookingStatus.REFUNDING)
    has_issue = unsettled and booking.payment_issue not in (None, "dispute_lost")
    return booking.disputed or has_issue or is_requested(booking)


def is_requested(booking: Booking) -> bool:
    """Whether its sponsor has asked for a refund, and an administrator has to decide."""
    return booking.status is BookingStatus.PAID and booking.refund_requested_ms is not None


def is_listed(campaign: Campaign, status: CampaignStatus) -> bool:
    """Whether a list of campaigns in a state has it. One whose edit waits for review is also listed as pending."""
    return campaign.status is status or (status is CampaignStatus.PENDING and campaign.edit is not None)


def is_in(booking: Booking, status: BookingStatus, now_ms: int) -> bool:
    """Whether a booking is listed in a state. An expired hold that the sweeper has not found yet is in none."""
    return booking.status is status and (status not in OPEN or booking.hold_ms > now_ms)


def has(text: str | None, *names: str | None) -> bool:
    """Whether a text is in one of these names, in any case."""
    return text is not None and any(text.lower() in name.lower() for name in names if name is not None)


def touches(days: Days, booking: Booking) -> bool:
    """Whether a booking can have counts on one of the days."""
    latest_day = day_of(booking.week_end_ms) - 1 + LATE_DAYS
    return day_of(booking.week_start_ms) <= days.last and latest_day >= days.first


def counts(key: Key, now_ms: int) -> bool:
    """Whether a key counts towards the limit of its account. A rotated one does not: its successor counts."""
    return is_live(key, now_ms) and key.successor_id is None


def in_grace(key: Key, now_ms: int) -> bool:
    """Whether a key was rotated and still works."""
    return is_live(key, now_ms) and key.successor_id is not None


def count_live(keys: Iterable[Key], now_ms: int) -> Mapping[tuple[str, bool], int]:
    """Live keys that were not rotated, by (tenant id, scoped or not), as in `Snapshot.live_keys`."""
    return _count(key for key in keys if counts(key, now_ms))


def count_in_grace(keys: Iterable[Key], now_ms: int) -> Mapping[tuple[str, bool], int]:
    """Rotated keys that still work, as in `Snapshot.keys_in_grace`."""
    return _count(key for key in keys if in_grace(key, now_ms))


def _count(keys: Iterable[Key]) -> Mapping[tuple[str, bool], int]:
    return Counter((key.tenant_id, key.scopes is not None) for key in keys)


def is_beating(age_seconds: float, live_seconds: float) -> bool:
    """Whether a heartbeat of that age counts. One far ahead was written before the store's clock was set back."""
    return -live_seconds < age_seconds < live_seconds


def is_gone(age_seconds: float) -> bool:
    """Whether a row of that age may be deleted."""
    return age_seconds > GONE_SECONDS
