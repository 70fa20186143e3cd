"""Bookings apart from their money: reserving, checkout, cancelling, expiry, videos. Pure; source: ADR 0017."""

from dataclasses import replace

from actors.bookings import changes, notifications
from actors.bookings.campaigns import (
    is_bookable,
    save_sponsor_profile,
    store_new_campaign,
    too_many_campaigns,
    unknown_campaign,
)
from actors.bookings.messages import (
    Answer,
    Cancel,
    DescribeVideo,
    ExpireHold,
    OpenCheckout,
    Reserve,
    SendMaterial,
    StoreCheckoutSession,
)
from actors.bookings.prices import price
from actors.bookings.records import (
    OPEN,
    WITH_VIDEO,
    Booking,
    BookingStatus,
    Campaign,
    IdempotencyRecord,
    Slot,
    YoutubeStatus,
)
from actors.bookings.slots import sells, unknown_slot
from actors.bookings.transitions import BookingMove
from actors.bookings.unit_of_work import UnitOfWork, weeks_of
from actors.times import DAY_MS, MINUTE_MS, SECOND_MS, WEEK_MS, day_of, is_week_start, week_of, weeks_from
from actors.values import Code, Problem, Refused, invalid_field

NO_VIDEO = "This booking's package includes no video."
MAX_SESSIONS = 20
"""Checkout sessions of a booking. Each change of what its page shows, such as the campaign's name, makes another one."""


def reserve(unit: UnitOfWork, message: Reserve) -> Answer:
    known = unit.recall(message.tenant_id, message.operation, message.key)
    booking = None if known is None else unit.booking(known.booking_id)
    # Without its booking, the key has just been pruned with it, and is a new one.
    if known is not None and booking is not None:
        if known.fingerprint != message.fingerprint:
            return Refused(
                Code.IDEMPOTENCY_CONFLICT, "This idempotencyKey was already used with a different body. Use a new one."
            )
        return unit.view(booking)
    refused = _not_bookable_week(unit, message.week_start_ms)
    if refused is not None:
        return refused
    slot = unit.slot(message.slot_id)
    if slot is None or slot.retired_ms is not None:
        return unknown_slot()
    campaign = message.campaign or unit.campaign(message.campaign_id, message.tenant_id)
    if campaign is None:
        return unknown_campaign()
    return _not_now(unit, message, slot, campaign) or _hold(unit, message, slot, campaign)


def _not_bookable_week(unit: UnitOfWork, week_ms: int) -> Refused | None:
    this_week = week_of(unit.now_ms)
    if not is_week_start(week_ms):
        return invalid_field("weekStart", "not_week_start", "must be the start of a week: Monday, 00:00 UTC")
    if week_ms > this_week + unit.rules.horizon_weeks * WEEK_MS:
        return invalid_field("weekStart", "too_far", f"may be at most {unit.rules.horizon_weeks} weeks ahead")
    if week_ms < this_week:
        return Refused(Code.SLOT_UNAVAILABLE, "This week is over. Choose a later one.")
    return None


def _not_now(unit: UnitOfWork, message: Reserve, slot: Slot, campaign: Campaign) -> Refused | None:
    """Return why this slot cannot be held for this campaign now; None if it can."""
    if message.tenant_id in unit.suspended:
        return _suspended()
    if message.sponsor is None and unit.sponsor(message.tenant_id) is None:
        return Refused(Code.PROFILE_REQUIRED, "Save your sponsor profile first: PATCH /api/v1/sponsors/profile.")
    if not is_bookable(campaign):
        return Refused(Code.CAMPAIGN_NOT_BOOKABLE, "A rejected campaign cannot be booked. Edit and submit it first.")
    if not sells(slot, unit.now_ms):
        return Refused(Code.SLOT_UNAVAILABLE, "This slot is not for sale right now. Choose another one.")
    if not changes.are_free(unit, [(slot.id, week_ms) for week_ms in weeks_from(message.week_start_ms, slot.weeks)]):
        return Refused(Code.SLOT_UNAVAILABLE, "This slot is already booked in that week. Choose another week or slot.")
    if unit.open_holds(message.tenant_id) >= unit.rules.open_holds:
        words = f"{unit.having(message.tenant_id)} {unit.rules.open_holds} unpaid bookings, the maximum."
        return Refused(Code.HOLD_LIMIT, f"{words} Pay or cancel one first.")
    return _held_too_often(unit, message, slot) or too_many_campaigns(unit, message.tenant_id, new=message.campaign)


def _suspended() -> Refused:
    return Refused(Code.FORBIDDEN, "This account is suspended, so it cannot book or pay.")


def _held_too_often(unit: UnitOfWork, message: Reserve, slot: Slot) -> Refused | None:
    """Return why this account has to wait: it has made all holds of the day, or has just held one of these weeks unpaid."""
    mine, most = unit.bookings_of(message.tenant_id), unit.rules.holds_per_day
    if sum(booking.created_ms >= _today_ms(unit) for booking in mine) >= most:
        words = f"{unit.having(message.tenant_id)} reserved {most} times today, the maximum. Try again after 00:00 UTC."
        return _wait(unit, _today_ms(unit) + DAY_MS, words)
    weeks = {(slot.id, week_ms) for week_ms in weeks_from(message.week_start_ms, slot.weeks)}
    ends = [
        ended_ms + unit.rules.cooldown_ms
        for booking in mine
        if (ended_ms := booking.unpaid_until_ms(unit.now_ms)) is not None and not weeks.isdisjoint(weeks_of(booking))
    ]
    until_ms = max(ends, default=unit.now_ms)
    if until_ms <= unit.now_ms:
        return None
    minutes = -(-(until_ms - unit.now_ms) // MINUTE_MS)
    wait = "1 minute" if minutes == 1 else f"{minutes} minutes"
    words = f"{unit.having(message.tenant_id)} just held this week without paying."
    words = f"{words} Try again in {wait}, or choose another week."
    return _wait(unit, until_ms, words)


def _today_ms(unit: UnitOfWork) -> int:
    return day_of(unit.now_ms) * DAY_MS


def _wait(unit: UnitOfWork, until_ms: int, words: str) -> Refused:
    return Refused(Code.HOLD_LIMIT, words, -(-(until_ms - unit.now_ms) // SECOND_MS))


def _hold(unit: UnitOfWork, message: Reserve, slot: Slot, campaign: Campaign) -> Answer:
    if (sponsor := message.sponsor) is not None:
        save_sponsor_profile(unit, sponsor, message.origin, {"name": sponsor.name, "website": sponsor.website})
    if message.campaign is not None:
        store_new_campaign(unit, message.campaign, message.origin)
    booking = Booking(
        id=message.booking_id,
        tenant_id=message.tenant_id,
        campaign_id=campaign.id,
        slot_id=slot.id,
        slot_name=slot.name,
        week_start_ms=message.week_start_ms,
        weeks=slot.weeks,
        amount_cents=price(slot, message.week_start_ms, unit.now_ms),
        currency=unit.rules.currency,
        status=BookingStatus.RESERVED,
        mode=unit.rules.mode,
        created_ms=unit.now_ms,
        hold_ms=unit.now_ms + unit.rules.hold_ms,
        package_kind=slot.package_kind,
        package_description=slot.description,
        youtube_status=YoutubeStatus.PLANNED if slot.package_kind in WITH_VIDEO else None,
    )
    changes.reserve_all_weeks(unit, booking, message.origin)
    unit.save_booking(booking)
    unit.remember(
        IdempotencyRecord(
            message.tenant_id, message.operation, message.key, message.fingerprint, booking.id, unit.now_ms
        )
    )
    facts = {"slotId": slot.id, "weekStart": booking.week_start_ms, "amountCents": booking.amount_cents}
    unit.audit(message.origin, "booking.reserved", "booking", booking.id, facts)
    changes.reserved(unit, booking)
    return unit.view(booking)


def open_checkout(unit: UnitOfWork, message: OpenCheckout) -> Answer:
    booking = changes.current(unit, message.booking_id, message.tenant_id, message.origin)
    if booking is None:
        return changes.unknown_booking()
    if booking.tenant_id in unit.suspended:
        return _suspended()
    campaign = unit.campaign(booking.campaign_id, None)
    if campaign is not None and not is_bookable(campaign):
        return Refused(Code.CAMPAIGN_NOT_BOOKABLE, "This campaign has been rejected. Edit and submit it first.")
    if booking.mode is not unit.rules.mode:
        return Refused(Code.INVALID_STATE, f"This booking was made in {booking.mode} mode and cannot be paid now.")
    if booking.status is BookingStatus.CHECKOUT:
        return unit.view(booking)
    hold_ms = unit.now_ms + unit.rules.hold_ms
    return changes.changed(unit, booking, BookingMove.OPEN_CHECKOUT, message.origin, hold_ms=hold_ms)


def store_checkout_session(unit: UnitOfWork, message: StoreCheckoutSession) -> Answer:
    booking = unit.booking(message.booking_id, message.tenant_id)
    if booking is None:
        return changes.unknown_booking()
    known = (booking.sessions or "").split()
    if booking.sessions is not None and message.session_id not in known:
        if len(known) >= MAX_SESSIONS:
            most = f"This booking has {MAX_SESSIONS} payment pages, the most that it can have."
            return Refused(Code.INVALID_STATE, f"{most} Pay on one of them, or cancel it.")
        booking = replace(booking, sessions=" ".join([*known, message.session_id]))
        unit.save_booking(booking)
    return unit.view(booking)


def cancel(unit: UnitOfWork, message: Cancel) -> Answer:
    booking = changes.current(unit, message.booking_id, message.tenant_id, message.origin)
    if booking is None:
        return changes.unknown_booking()
    if booking.status is BookingStatus.CANCELLED:
        return unit.view(booking)
    return changes.changed(unit, booking, BookingMove.CANCEL, message.origin, cancelled_ms=unit.now_ms)


def expire_hold(unit: UnitOfWork, message: ExpireHold) -> Answer:
    booking = changes.current(unit, message.booking_id, None, message.origin)
    return changes.unknown_booking() if booking is None else unit.view(booking)


def send_material(unit: UnitOfWork, message: SendMaterial) -> Answer:
    booking = changes.current(unit, message.booking_id, message.tenant_id, message.origin)
    if booking is None:
        return changes.unknown_booking()
    if booking.package_kind not in WITH_VIDEO:
        return Refused(Code.INVALID_STATE, NO_VIDEO)
    if booking.status not in (*OPEN, BookingStatus.PAID):
        words = f"The status of this booking is {booking.status}. Only a booking that is held or paid gets a video."
        return Refused(Code.INVALID_STATE, words)
    if booking.youtube_status is YoutubeStatus.PUBLISHED:
        return Refused(Code.INVALID_STATE, "The video is published, so its material cannot change any more.")
    sent = replace(booking, video_material=message.material)
    if sent != booking:
        unit.save_booking(sent)
        # The material is the sponsor's own words, which the audit would keep beyond the account.
        unit.audit(message.origin, "booking.material_sent", "booking", booking.id)
        if booking.video_material is None:
            notifications.mail_material(unit, sent)
    return unit.view(sent)


def describe_video(unit: UnitOfWork, message: DescribeVideo) -> Answer:
    booking = unit.booking(message.booking_id)
    if booking is None:
        return changes.unknown_booking()
    if booking.package_kind not in WITH_VIDEO:
        return Refused(Code.INVALID_STATE, NO_VIDEO)
    described = replace(
        booking,
        youtube_status=message.status or booking.youtube_status,
        youtube_url=message.url or booking.youtube_url,
        youtube_notes=message.notes or booking.youtube_notes,
    )
    described = replace(described, **dict.fromkeys(message.clear))  # type: ignore[arg-type]
    if described.youtube_status is YoutubeStatus.PUBLISHED and described.youtube_url is None:
        problem = Problem("youtubeUrl", "missing", "is required for a published video")
        return Refused(Code.INVALID_REQUEST, "A published video needs a youtubeUrl.", problems=(problem,))
    if described != booking:
        unit.save_booking(described)
        facts = {"status": described.youtube_status, "url": described.youtube_url, "notes": described.youtube_notes}
        unit.audit(message.origin, "booking.video_described", "booking", booking.id, facts)
    return unit.view(described)
