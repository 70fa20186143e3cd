"""The schedule of a paid booking: its weeks begin, each day is reported, and its weeks end. Pure; source: ADR 0080.

Weeks that nobody saw are refunded when the booking ends. The ledger follows a booking at `next_step_ms`, and does all steps
that are due by then, in order. A step at the end of a day waits until late events have been counted.
"""

from dataclasses import replace
from datetime import date, timedelta

from actors.bookings import changes, notifications
from actors.bookings.messages import Answer, FollowSchedule, Origin
from actors.bookings.prices import unshown_share
from actors.bookings.records import WITH_VIDEO, Booking, BookingStatus, CampaignStatus, YoutubeStatus
from actors.bookings.transitions import BookingMove
from actors.bookings.unit_of_work import UnitOfWork, as_system
from actors.shared.announcements import Topic
from actors.times import DAY_MS, WEEK_MS, day_of, week_of, weeks_from

REPORT_MS = DAY_MS
"""How long after its end a week is reported. Its mail, which the outbox keeps for at least as long, is then sent once."""

REQUEST_DAYS = 7
"""How long after its weeks a booking waits for the decision on a requested refund, before its unshown weeks are refunded."""


def follow_schedule(unit: UnitOfWork, message: FollowSchedule) -> Answer:
    """Do all steps of a booking that are due. A booking that is not paid, or whose schedule is over, stays as it is."""
    booking = unit.booking(message.booking_id)
    if booking is None:
        return changes.unknown_booking()
    while (at_ms := _due_step(booking, unit.now_ms)) is not None:
        booking = _step(unit, booking, at_ms, as_system(message.origin))
    return unit.view(booking)


def _due_step(booking: Booking, now_ms: int) -> int | None:
    """The time of the step that is due."""
    at_ms = booking.next_step_ms
    follows = booking.status is BookingStatus.PAID and not booking.demo
    return at_ms if follows and at_ms is not None and at_ms <= now_ms else None


def _step(unit: UnitOfWork, booking: Booking, at_ms: int, origin: Origin) -> Booking:
    """Do the step of `at_ms`, and set the time of the next one."""
    start_ms, settle_ms = booking.week_start_ms, unit.rules.settle_ms
    if unit.now_ms < start_ms:
        return _save(unit, booking, start_ms)
    if at_ms <= start_ms:
        notifications.mail_owner(
            unit,
            booking,
            "week_begins",
            Topic.BOOKINGS,
            key=_key(booking, "begins"),
            shown=_display_status(unit, booking),
        )
        first = day_of(max(start_ms, booking.paid_ms or start_ms)) + 1
        return _save(unit, booking, first * DAY_MS + settle_ms)
    ended_ms = (at_ms - settle_ms) // DAY_MS * DAY_MS
    if ended_ms <= booking.week_end_ms:
        _report_day(unit, booking, day_of(ended_ms) - 1)
    if ended_ms < booking.week_end_ms and ended_ms == reported_week(unit.now_ms):
        notifications.mail_last_week(unit, booking.tenant_id, ended_ms)
    if ended_ms < booking.week_end_ms or _is_undecided(unit, booking, ended_ms):
        return _save(unit, booking, ended_ms + DAY_MS + settle_ms)
    return _end(unit, _save(unit, booking, None), origin)


def reported_week(now_ms: int) -> int | None:
    """The start of this week on its first day, when accounts with a booking that goes on are mailed the figures of the week
    before; otherwise None."""
    week_ms = week_of(now_ms)
    return week_ms if now_ms < week_ms + REPORT_MS else None


def _save(unit: UnitOfWork, booking: Booking, next_step_ms: int | None) -> Booking:
    booking = replace(booking, next_step_ms=next_step_ms)
    unit.save_booking(booking, visible=False)
    return booking


def _display_status(unit: UnitOfWork, booking: Booking) -> str:
    """`yes`, or why the booking is not shown."""
    campaign = unit.campaign(booking.campaign_id, None)
    assert campaign is not None, "the campaign of a named booking is read"
    if booking.disputed:
        return "disputed"
    if booking.tenant_id in unit.suspended:
        return "suspended"
    return "yes" if campaign.status is CampaignStatus.APPROVED else campaign.status.value


def _report_day(unit: UnitOfWork, booking: Booking, day: int) -> None:
    impressions, clicks = unit.delivered_on(booking.id, day)
    notifications.publish_booking(
        unit,
        booking,
        "delivery.day",
        key=_key(booking, str(day)),
        date=str(date(1970, 1, 1) + timedelta(days=day)),
        impressions=impressions,
        clicks=clicks,
        filtered=unit.filtered(booking.id, day)._asdict(),
    )


def _is_undecided(unit: UnitOfWork, booking: Booking, ended_ms: int) -> bool:
    """Whether the end waits: for the payer's bank, or for a while for an administrator, unless nothing was shown at all."""
    if booking.disputed:
        return True
    late = ended_ms >= booking.week_end_ms + REQUEST_DAYS * DAY_MS
    return booking.refund_requested_ms is not None and not late and len(unseen_weeks(unit, booking)) < booking.weeks


def _end(unit: UnitOfWork, booking: Booking, origin: Origin) -> Booking:
    """Refund the weeks that nobody saw, and mail the figures."""
    unseen = unseen_weeks(unit, booking) if unit.rules.refund_unshown else []
    # A person may have refunded a part by hand, or a bank taken one.
    cents = min(unshown_share(booking, unseen), booking.left_cents) if unseen else 0
    if cents:
        issue = "not_shown" if len(unseen) == booking.weeks else "partly_shown"
        refunding = changes.apply(
            unit,
            booking,
            BookingMove.ORDER_REFUND,
            origin,
            details={"unshownWeeks": str(len(unseen))},
            refund_due_ms=unit.now_ms,
            refund_cents=cents,
            refund_requested_ms=None,
            payment_issue=issue if booking.payment_issue != "paid_twice" else "paid_twice",
        )
        assert refunding is not None, "a paid booking can be refunded"
        booking = refunding
    impressions, clicks = unit.delivered(booking.id)
    filtered = unit.filtered(booking.id)
    notifications.mail_owner(
        unit,
        booking,
        "week_ended",
        Topic.REPORTS,
        key=_key(booking, "ended"),
        impressions=impressions,
        clicks=clicks,
        refund_cents=cents,
        unshown_weeks=len(unseen),
        filtered=sum(filtered),
        **filtered._asdict(),
    )
    return booking


def unseen_weeks(unit: UnitOfWork, booking: Booking) -> list[int]:
    """The starts of the weeks in which nobody saw anything: neither the placement nor a published video."""
    if booking.package_kind in WITH_VIDEO and booking.youtube_status is YoutubeStatus.PUBLISHED:
        return []
    days = WEEK_MS // DAY_MS
    return [
        week_ms
        for week_ms in weeks_from(booking.week_start_ms, booking.weeks)
        if not any(any(unit.delivered_on(booking.id, day_of(week_ms) + each)) for each in range(days))
    ]


def _key(booking: Booking, step: str) -> str:
    """The id of a step's mails and events, without prefix. A step has no audit record."""
    return f"{booking.id.removeprefix('bok_')}_{step}"
