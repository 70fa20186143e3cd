"""Bookings: reserving, checkout, payment, refunds, holds that run out. Pure; source: decisions, sections 6 and 8."""

from dataclasses import replace

from actors.bookings.campaigns import is_bookable, keep_new, keep_profile, unknown_campaign
from actors.bookings.messages import (
    Answer,
    Cancel,
    DescribeVideo,
    ExpireHold,
    OpenCheckout,
    OrderRefund,
    Origin,
    PostponeRefund,
    Reserve,
    SettleRefund,
    TakePayment,
)
from actors.bookings.records import (
    OPEN,
    Booking,
    BookingStatus,
    Campaign,
    PackageKind,
    Remembered,
    Slot,
    YoutubeStatus,
)
from actors.bookings.slots import sells, unknown_slot
from actors.bookings.transitions import BOOKING_MOVES, BookingMove, after
from actors.bookings.unit_of_work import UnitOfWork, Week, by_the_service, weeks_of
from actors.values import Code, Refused
from actors.weeks import WEEK_MS, is_week_start, week_of, weeks_from

WITH_VIDEO = (PackageKind.YOUTUBE, PackageKind.BUNDLE)


def reserve(desk: UnitOfWork, message: Reserve) -> Answer:
    known = desk.recall(message.tenant_id, message.operation, message.key)
    if known is not None:
        if known.fingerprint != message.fingerprint:
            return Refused(Code.IDEMPOTENCY_CONFLICT, "This idempotencyKey was used with another body.")
        booking = desk.booking(known.booking_id)
        assert booking is not None, "a key leads to a booking"
        return desk.view(booking)
    refused = _not_bookable_week(desk, message.week_start_ms)
    if refused is not None:
        return refused
    slot = desk.slot(message.slot_id)
    if slot is None or slot.retired_ms is not None:
        return unknown_slot()
    campaign = message.campaign or desk.campaign(message.campaign_id, message.tenant_id)
    if campaign is None:
        return unknown_campaign()
    return _not_now(desk, message, slot, campaign) or _hold(desk, message, slot, campaign)


def _not_bookable_week(desk: UnitOfWork, week_ms: int) -> Refused | None:
    this_week = week_of(desk.now_ms)
    if not is_week_start(week_ms):
        return Refused(Code.INVALID_REQUEST, "weekStart must be the start of a week: Monday, 00:00 UTC.")
    if week_ms > this_week + desk.rules.horizon_weeks * WEEK_MS:
        return Refused(Code.INVALID_REQUEST, f"weekStart may be at most {desk.rules.horizon_weeks} weeks ahead.")
    if week_ms < this_week:
        return Refused(Code.SLOT_UNAVAILABLE, "This week is over.")
    return None


def _not_now(desk: UnitOfWork, message: Reserve, slot: Slot, campaign: Campaign) -> Refused | None:
    """Why this slot cannot be held for this campaign now."""
    if message.sponsor is None and desk.sponsor(message.tenant_id) is None:
        return Refused(Code.PROFILE_REQUIRED, "Save your sponsor profile first: PATCH /api/v1/sponsors/profile.")
    if not is_bookable(campaign):
        return Refused(Code.CAMPAIGN_NOT_BOOKABLE, "A rejected campaign cannot be booked. Edit and submit it first.")
    if not sells(slot, desk.now_ms):
        return Refused(Code.SLOT_UNAVAILABLE, "This slot is not sold now.")
    if not _free(desk, [(slot.id, week_ms) for week_ms in weeks_from(message.week_start_ms, slot.weeks)]):
        return Refused(Code.SLOT_UNAVAILABLE, "This slot is taken in that week.")
    if desk.open_holds(message.tenant_id) >= desk.rules.open_holds:
        most = desk.rules.open_holds
        return Refused(
            Code.HOLD_LIMIT, f"This account holds {most} unpaid bookings, the most it may. Pay or cancel one."
        )
    return None


def _hold(desk: UnitOfWork, message: Reserve, slot: Slot, campaign: Campaign) -> Answer:
    if message.sponsor is not None:
        keep_profile(desk, message.sponsor, message.origin)
    if message.campaign is not None:
        keep_new(desk, message.campaign, message.origin)
    booking = Booking(
        id=message.booking_id,
        tenant_id=message.tenant_id,
        campaign_id=campaign.id,
        slot_id=slot.id,
        slot_name=slot.name,
        week_start_ms=message.week_start_ms,
        weeks=slot.weeks,
        amount_cents=slot.weeks * slot.week_price_cents,
        currency=desk.rules.currency,
        status=BookingStatus.RESERVED,
        mode=desk.rules.mode,
        created_ms=desk.now_ms,
        hold_ms=desk.now_ms + desk.rules.hold_ms,
        package_kind=slot.package_kind,
        package_description=slot.description,
        youtube_status=YoutubeStatus.PLANNED if slot.package_kind in WITH_VIDEO else None,
    )
    _take(desk, booking, message.origin)
    desk.keep_booking(booking)
    desk.remember(
        Remembered(message.tenant_id, message.operation, message.key, message.fingerprint, booking.id, desk.now_ms)
    )
    facts = {"slotId": slot.id, "weekStart": booking.week_start_ms, "amountCents": booking.amount_cents}
    desk.audit(message.origin, "booking.reserved", "booking", booking.id, facts)
    return desk.view(booking)


def open_checkout(desk: UnitOfWork, message: OpenCheckout) -> Answer:
    booking = _current(desk, message.booking_id, message.tenant_id, message.origin)
    if booking is None:
        return unknown_booking()
    campaign = desk.campaign(booking.campaign_id, None)
    if campaign is not None and not is_bookable(campaign):
        return Refused(Code.CAMPAIGN_NOT_BOOKABLE, "The campaign was rejected meanwhile. Edit and submit it first.")
    if booking.mode is not desk.rules.mode:
        return Refused(Code.INVALID_STATE, f"This booking was made in {booking.mode} mode and cannot be paid now.")
    if booking.status is BookingStatus.CHECKOUT:
        return desk.view(booking)
    hold_ms = desk.now_ms + desk.rules.hold_ms
    return _moved(desk, booking, BookingMove.OPEN_CHECKOUT, message.origin, hold_ms=hold_ms)


def cancel(desk: UnitOfWork, message: Cancel) -> Answer:
    booking = _current(desk, message.booking_id, message.tenant_id, message.origin)
    if booking is None:
        return unknown_booking()
    if booking.status is BookingStatus.CANCELLED:
        return desk.view(booking)
    return _moved(desk, booking, BookingMove.CANCEL, message.origin)


def expire_hold(desk: UnitOfWork, message: ExpireHold) -> Answer:
    booking = _current(desk, message.booking_id, None, message.origin)
    return unknown_booking() if booking is None else desk.view(booking)


def take_payment(desk: UnitOfWork, message: TakePayment) -> Answer:
    booking = desk.booking(message.booking_id)
    if booking is None:
        return unknown_booking()
    if not desk.is_first(message.event_id, booking.id) or booking.payment_id == message.payment_id:
        return desk.view(booking)
    if booking.payment_id is not None:
        return _paid_twice(desk, booking, message)
    arrived = message.amount_cents if message.currency == booking.currency else 0
    paid = replace(booking, payment_id=message.payment_id, paid_ms=desk.now_ms, paid_cents=arrived)
    issue = _why_too_late(desk, booking, message)
    if issue is None:
        _take(desk, booking, message.origin)
        return _moved(desk, paid, BookingMove.PAY, message.origin)
    due_ms = desk.now_ms
    return _moved(desk, paid, BookingMove.PAY_TOO_LATE, message.origin, payment_issue=issue, refund_due_ms=due_ms)


def _why_too_late(desk: UnitOfWork, booking: Booking, payment: TakePayment) -> str | None:
    """Why a payment has to go back; None where the booking can have its weeks."""
    if (payment.amount_cents, payment.currency) != (booking.amount_cents, booking.currency):
        return "amount_mismatch"
    if booking.status is BookingStatus.CANCELLED:
        return "paid_after_cancel"
    over = booking.week_end_ms <= desk.now_ms
    others = [week for week in weeks_of(booking) if (holder := desk.holder(week)) is None or holder.id != booking.id]
    return "paid_after_expiry" if over or not _free(desk, others) else None


def order_refund(desk: UnitOfWork, message: OrderRefund) -> Answer:
    booking = desk.booking(message.booking_id)
    if booking is None:
        return unknown_booking()
    if booking.status is BookingStatus.REFUNDED:
        return desk.view(booking)
    if booking.status is BookingStatus.REFUNDING:
        if booking.refund_due_ms is None:
            # The processor declined it before; an administrator may have it tried once more.
            booking = replace(booking, refund_due_ms=desk.now_ms)
            desk.keep_booking(booking)
            desk.audit(message.origin, "booking.refund_ordered", "booking", booking.id, {"reason": message.reason})
        return desk.view(booking)
    return _moved(
        desk,
        booking,
        BookingMove.ORDER_REFUND,
        message.origin,
        told={"reason": message.reason} if message.reason else {},
        refund_due_ms=desk.now_ms,
        # A second payment is not paid back with the first one: somebody still has to see to it.
        payment_issue="paid_twice" if booking.payment_issue == "paid_twice" else None,
    )


def settle_refund(desk: UnitOfWork, message: SettleRefund) -> Answer:
    booking = desk.booking(message.booking_id)
    if booking is None:
        return unknown_booking()
    if message.event_id is not None and not desk.is_first(message.event_id, booking.id):
        return desk.view(booking)
    if message.declined is not None:
        return _refund_declined(desk, booking, message)
    if booking.status is BookingStatus.REFUNDED or _is_old_news(booking, message):
        return desk.view(booking)
    if booking.status is BookingStatus.PAID:
        # Paid back at the processor's, by hand: nobody ordered it here.
        booking = _apply(desk, booking, BookingMove.ORDER_REFUND, message.origin) or booking
    return _moved(
        desk,
        booking,
        BookingMove.REFUND,
        message.origin,
        refunded_cents=booking.paid_cents,
        refund_due_ms=None,
    )


def _is_old_news(booking: Booking, message: SettleRefund) -> bool:
    """Whether a cashier tells of a refund that has come back since: nobody has ordered another one."""
    failed = booking.payment_issue == "refund_failed" and booking.refund_due_ms is None
    return failed and message.event_id is None


def _refund_declined(desk: UnitOfWork, booking: Booking, message: SettleRefund) -> Answer:
    why = {"why": message.declined}
    match booking.status:
        case BookingStatus.REFUNDING if desk.holds_its_weeks(booking):
            return _moved(
                desk,
                booking,
                BookingMove.DECLINE_REFUND,
                message.origin,
                told=why,
                payment_issue="refund_declined",
                refund_due_ms=None,
            )
        case BookingStatus.REFUNDING:
            # Its weeks may be another's by now, so it cannot be paid again: it waits for an administrator.
            booking = replace(booking, payment_issue="refund_declined", refund_due_ms=None)
        # Only the processor itself says that money came back. What a cashier was told may be an answer that is older
        # than the refund which another node had made since.
        case BookingStatus.REFUNDED if message.event_id is not None:
            return _moved(
                desk,
                booking,
                BookingMove.FAIL_REFUND,
                message.origin,
                told=why,
                payment_issue="refund_failed",
                refunded_cents=0,
            )
        case _:
            return desk.view(booking)
    desk.keep_booking(booking)
    desk.audit(message.origin, "booking.refund_declined", "booking", booking.id, why)
    return desk.view(booking)


def postpone_refund(desk: UnitOfWork, message: PostponeRefund) -> Answer:
    booking = desk.booking(message.booking_id)
    if booking is None:
        return unknown_booking()
    if booking.status is BookingStatus.REFUNDING and booking.refund_due_ms is not None:
        booking = replace(booking, refund_due_ms=message.due_ms)
        desk.keep_booking(booking)
    return desk.view(booking)


def describe_video(desk: UnitOfWork, message: DescribeVideo) -> Answer:
    booking = desk.booking(message.booking_id)
    if booking is None:
        return unknown_booking()
    if booking.package_kind not in WITH_VIDEO:
        return Refused(Code.INVALID_STATE, "The package of this booking has no video.")
    described = replace(
        booking,
        youtube_status=message.status or booking.youtube_status,
        youtube_url=message.url or booking.youtube_url,
        youtube_notes=message.notes or booking.youtube_notes,
    )
    described = replace(described, **dict.fromkeys(message.clear))  # type: ignore[arg-type]
    if described.youtube_status is YoutubeStatus.PUBLISHED and described.youtube_url is None:
        return Refused(Code.INVALID_REQUEST, "A published video needs its youtubeUrl.")
    if described != booking:
        desk.keep_booking(described)
        facts = {"status": described.youtube_status, "url": described.youtube_url, "notes": described.youtube_notes}
        desk.audit(message.origin, "booking.video_described", "booking", booking.id, facts)
    return desk.view(described)


def unknown_booking() -> Refused:
    return Refused(Code.NOT_FOUND, "There is no such booking.")


# Shared steps.

PAST = {
    BookingMove.OPEN_CHECKOUT: "checkout_opened",
    BookingMove.PAY: "paid",
    BookingMove.PAY_TOO_LATE: "paid_too_late",
    BookingMove.RUN_OUT: "expired",
    BookingMove.CANCEL: "cancelled",
    BookingMove.ORDER_REFUND: "refund_ordered",
    BookingMove.REFUND: "refunded",
    BookingMove.DECLINE_REFUND: "refund_declined",
    BookingMove.FAIL_REFUND: "refund_failed",
}
WORDS = {move: past.replace("_", " ") for move, past in PAST.items()} | {
    BookingMove.OPEN_CHECKOUT: "brought to checkout",
    BookingMove.PAY_TOO_LATE: "paid",
    BookingMove.ORDER_REFUND: "refunded",
}
"""What a booking cannot be, for a person."""

RELEASING = (BookingMove.RUN_OUT, BookingMove.CANCEL, BookingMove.REFUND, BookingMove.PAY_TOO_LATE)
"""Moves after which a booking holds its weeks no more."""


def _moved(
    desk: UnitOfWork,
    booking: Booking,
    move: BookingMove,
    origin: Origin,
    *,
    told: dict[str, str | None] | None = None,
    **changes: object,
) -> Answer:
    """Apply a move with what goes along with it, or refuse it."""
    moved = _apply(desk, booking, move, origin, told=told, **changes)
    if moved is None:
        return Refused(Code.INVALID_STATE, f"A booking that is {booking.status} cannot be {WORDS[move]}.")
    return desk.view(moved)


def _apply(
    desk: UnitOfWork,
    booking: Booking,
    move: BookingMove,
    origin: Origin,
    *,
    told: dict[str, str | None] | None = None,
    **changes: object,
) -> Booking | None:
    """The booking after a move, kept and audited; None where the table has no such move."""
    status = after(BOOKING_MOVES, booking.status, move)
    if status is None:
        return None
    moved = replace(booking, status=status, **changes)  # type: ignore[arg-type]
    desk.keep_booking(moved)
    if move in RELEASING:
        desk.free_weeks(moved)
    facts = {"status": [booking.status, status], **(told or {})}
    if moved.payment_issue is not None:
        facts["paymentIssue"] = moved.payment_issue
    desk.audit(origin, f"booking.{PAST[move]}", "booking", booking.id, facts)
    return moved


def _paid_twice(desk: UnitOfWork, booking: Booking, payment: TakePayment) -> Answer:
    """Note another payment of a booking that is paid: a person has to pay it back, at the processor's."""
    booking = replace(booking, payment_issue="paid_twice")
    desk.keep_booking(booking)
    facts = {"paymentId": payment.payment_id, "amountCents": payment.amount_cents, "currency": payment.currency}
    desk.audit(payment.origin, "booking.paid_twice", "booking", booking.id, facts)
    return desk.view(booking)


def _current(desk: UnitOfWork, booking_id: str, owner: str | None, origin: Origin) -> Booking | None:
    """A booking as of now: a hold whose time is up is ended first, whether or not the sweeper has come by."""
    booking = desk.booking(booking_id, owner)
    if booking is not None and booking.status in OPEN and not booking.is_open(desk.now_ms):
        return _apply(desk, booking, BookingMove.RUN_OUT, by_the_service(origin))
    return booking


def _free(desk: UnitOfWork, weeks: list[Week]) -> bool:
    """Whether nobody has these weeks, but holds that ran out."""
    return not any(
        holder.status not in OPEN or holder.is_open(desk.now_ms)
        for week in weeks
        if (holder := desk.holder(week)) is not None
    )


def _take(desk: UnitOfWork, booking: Booking, origin: Origin) -> None:
    """Take all weeks of a booking; holds that ran out make way."""
    for week in weeks_of(booking):
        holder = desk.holder(week)
        if holder is not None and holder.id != booking.id:
            _apply(desk, holder, BookingMove.RUN_OUT, by_the_service(origin))
    desk.take_weeks(booking)
