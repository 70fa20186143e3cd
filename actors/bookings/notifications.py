"""Mails and webhook events about changes of the ledger. Pure; source: ADR 0079.

Ids derive from the newest audit record, so a retried batch sends nothing twice.
"""

import json
from collections.abc import Mapping

from actors.bookings.records import Booking, BookingStatus, Campaign
from actors.bookings.reports import day_text
from actors.bookings.transitions import BookingMove
from actors.bookings.unit_of_work import UnitOfWork
from actors.shared.announcements import DELIVERY_MS, AccountMail, Topic, WebhookEvent
from actors.times import WEEK_MS, day_of

EVENT_OF_MOVE = {
    BookingMove.PAY: "booking.paid",
    BookingMove.RUN_OUT: "booking.expired",
    BookingMove.CANCEL: "booking.cancelled",
    BookingMove.REFUND: "booking.refunded",
    BookingMove.LOSE_DISPUTE: "booking.refunded",
    BookingMove.WIN_DISPUTE: "booking.paid",
}
"""The event of each move of a booking. A reservation is not a move."""


def mail_owner(
    unit: UnitOfWork, booking: Booking, template: str, topic: Topic | None, *, key: str = "", **facts: object
) -> None:
    """Mail the owner of a booking. `facts` are added to those of the booking. `key` replaces the id of the audit record."""
    _mail(unit, booking.tenant_id, template, topic, _facts_of(unit, booking) | facts, key)


def mail_administrators(unit: UnitOfWork, booking: Booking, template: str, **facts: object) -> None:
    """Mail all administrators about a booking."""
    _mail(unit, None, template, None, _facts_of(unit, booking) | facts)


def publish_review(unit: UnitOfWork, campaign: Campaign, template: str, *, edit: bool) -> None:
    """Mail the owner of a campaign the decision on it, or on its edit, and publish it."""
    facts = {"campaign": campaign.name, "campaign_id": campaign.id, "edit": "yes" if edit else ""}
    _mail(unit, campaign.tenant_id, template, Topic.REVIEWS, facts | {"note": campaign.review_note or ""})
    data = {"campaignId": campaign.id, "name": campaign.name, "status": campaign.status, "edit": edit}
    kind = template.replace("_", ".")
    _publish(unit, campaign.tenant_id, campaign.id, kind, data | {"reviewNote": campaign.review_note})


def mail_review_digest(unit: UnitOfWork, count: int, ads: str) -> None:
    """Mail all administrators how many campaigns wait for review."""
    _mail(unit, None, "review_digest", Topic.REVIEWS, {"count": count, "ads": ads}, f"digest_{unit.now_ms}")


def mail_last_week(unit: UnitOfWork, tenant_id: str, week_ms: int) -> None:
    """Mail an account the figures of all its bookings in the week before `week_ms`. The id is of the account and the week, so
    whichever of its bookings comes first mails it, on whichever node."""
    impressions, clicks = unit.last_week(tenant_id)
    start_ms = week_ms - WEEK_MS
    facts = {
        "week_start_ms": start_ms,
        "first": day_text(day_of(start_ms)),
        "last": day_text(day_of(week_ms) - 1),
        "impressions": impressions,
        "clicks": clicks,
    }
    key = f"{tenant_id.removeprefix('ten_')}_week_{day_of(week_ms)}"
    _mail(unit, tenant_id, "weekly_report", Topic.REPORTS, facts, key)


def mail_material(unit: UnitOfWork, booking: Booking) -> None:
    """Mail all administrators that a paid booking has material for its video. The id is of the booking, so they get it once,
    however often the material changes."""
    if booking.status is BookingStatus.PAID and booking.video_material:
        key = f"{booking.id.removeprefix('bok_')}_material"
        _mail(unit, None, "video_material", Topic.REVIEWS, _facts_of(unit, booking), key)


def publish_booking(unit: UnitOfWork, booking: Booking, kind: str, *, key: str = "", **data: object) -> None:
    """Publish a webhook event of a booking with its state. `key` replaces the id of the audit record."""
    state = {
        "bookingId": booking.id,
        "campaignId": booking.campaign_id,
        "slotId": booking.slot_id,
        "weekStart": booking.week_start_ms,
        "weekEnd": booking.week_end_ms,
        "status": booking.status,
        "mode": booking.mode,
        "amountCents": booking.amount_cents,
        "currency": booking.currency,
        "refundedCents": booking.refunded_cents,
    }
    if booking.period_start_ms != booking.week_start_ms:
        state["periodStart"] = booking.period_start_ms
    if booking.paid_currency is not None:
        state["paidCurrency"] = booking.paid_currency
    _publish(unit, booking.tenant_id, booking.id, kind, state | data, key)


def _facts_of(unit: UnitOfWork, booking: Booking) -> dict[str, object]:
    campaign, sponsor = unit.campaign(booking.campaign_id, None), unit.sponsor(booking.tenant_id)
    assert campaign is not None, f"the campaign of {booking.id} was not read"
    return {
        "booking": booking.id,
        "slot": booking.slot_name,
        "campaign": campaign.name,
        "campaign_id": campaign.id,
        "sponsor": sponsor.name if sponsor is not None else "",
        "week_start_ms": booking.week_start_ms,
        "weeks": booking.weeks,
        "period_start_ms": booking.period_start_ms,
        # Once it is paid, the money is what arrived.
        "amount_cents": booking.amount_cents if booking.paid_cents is None else booking.paid_cents,
        "currency": booking.money_currency,
        "mode": booking.mode,
        "payment": booking.payment_id or "",
    }


def _mail(
    unit: UnitOfWork,
    tenant_id: str | None,
    template: str,
    topic: Topic | None,
    facts: Mapping[str, object],
    key: str = "",
) -> None:
    mail_id = f"msg_{key or _record(unit)}_{'a' if tenant_id is None else 'o'}"
    texts = {name: str(value) for name, value in facts.items()}
    words = json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    unit.decision.mails.append(
        AccountMail(mail_id, tenant_id, template, topic, words, unit.now_ms, unit.now_ms + DELIVERY_MS)
    )


def _publish(
    unit: UnitOfWork, tenant_id: str, subject_id: str, kind: str, data: Mapping[str, object], key: str = ""
) -> None:
    payload = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    unit.decision.webhook_events.append(
        WebhookEvent(f"evt_{key or _record(unit)}", tenant_id, subject_id, kind, payload, unit.now_ms)
    )


def _record(unit: UnitOfWork) -> str:
    """The id of the newest audit record, without its prefix."""
    return unit.decision.audits[-1].id.removeprefix("aud_")
