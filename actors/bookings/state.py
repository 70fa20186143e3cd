"""The rules of the booking ledger: locked rows and messages in, changes and answers out. Pure.

Source of the rules: ADR 0017 and 0019 to 0021. Later messages of a batch see the changes of earlier ones.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actors.bookings import (
    campaigns,
    disputes,
    refund_leases,
    refund_requests,
    reservations,
    schedule,
    settlement,
    sharing,
    slots,
)
from actors.bookings.decision import BookingRules, Decision, Snapshot, Week
from actors.bookings.messages import (
    Answer,
    Cancel,
    CreateCampaign,
    CreateSlot,
    DeclineRefundRequest,
    DescribeVideo,
    EditCampaign,
    EditSlot,
    EndSharedReport,
    ExpireHold,
    FollowSchedule,
    LeaseRefund,
    Message,
    MoveCampaign,
    OpenCheckout,
    OrderRefund,
    PostponeRefund,
    RecordPayment,
    RequestRefund,
    Reserve,
    RetireSlot,
    SaveBillingDetails,
    SaveProfile,
    SendDigest,
    SendMaterial,
    SettleDispute,
    SettleRefund,
    ShareReport,
    StoreCheckoutSession,
)
from actors.bookings.reports import SharedReport
from actors.bookings.transitions import CampaignMove
from actors.bookings.unit_of_work import UnitOfWork
from actors.times import week_of

__all__ = ["BookingRules", "Decision", "LockSet", "Snapshot", "Week", "decide", "rows_to_lock"]


@dataclass(frozen=True, slots=True)
class LockSet:
    """The rows that a batch names, each sorted; `LedgerStore.transact` says which rows follow from them.

    `keys` are idempotency keys: (tenant, operation, key). `from_week_ms` is the first week that a reservation names, or this
    week if a slot is to change its side; the weeks of named bookings count, too. `audit_ids` are records that new campaigns
    may have from an earlier attempt.
    `payment_ids` lead to the bookings paid with them. `campaigns_of` are tenants whose campaigns are counted, and
    `shared_of` those whose shared reports are read. Of sponsors, all bookings created at `recent_ms` or later are read
    besides the open ones. Of `followed_ids`, which are named bookings, the counts by day are read, and of their accounts
    those of the week before `week_ms` together, if that is set. `digest`: lock the digest of reviews, and read the
    campaigns that wait.
    """

    tenant_ids: tuple[str, ...] = ()
    campaign_ids: tuple[str, ...] = ()
    slot_ids: tuple[str, ...] = ()
    booking_ids: tuple[str, ...] = ()
    keys: tuple[tuple[str, str, str], ...] = ()
    event_ids: tuple[str, ...] = ()
    audit_ids: tuple[str, ...] = ()
    payment_ids: tuple[str, ...] = ()
    campaigns_of: tuple[str, ...] = ()
    shared_of: tuple[str, ...] = ()
    from_week_ms: int | None = None
    recent_ms: int | None = None
    followed_ids: tuple[str, ...] = ()
    week_ms: int | None = None
    digest: bool = False


def rows_to_lock(messages: Sequence[Message], rules: BookingRules, now_ms: int) -> LockSet:
    """The rows to lock for a batch, sorted, so that two nodes lock them in the same order."""
    rows: defaultdict[str, set[Any]] = defaultdict(set)
    weeks = [message.week_start_ms for message in messages if isinstance(message, Reserve)]
    moving = [week_of(now_ms) for message in messages if isinstance(message, EditSlot) and message.side is not None]
    for message in messages:
        match message:
            case SaveProfile(sponsor=saved) | SaveBillingDetails(details=saved):
                rows["tenant_ids"].add(saved.tenant_id)
            case ShareReport(report=SharedReport(tenant_id=tenant_id)) | EndSharedReport(tenant_id=tenant_id):
                rows["shared_of"].add(tenant_id)
            case CreateCampaign(campaign=campaign, origin=origin):
                rows["tenant_ids"].add(campaign.tenant_id)
                rows["campaign_ids"].add(campaign.id)
                rows["campaigns_of"].add(campaign.tenant_id)
                rows["audit_ids"].add(origin.audit_id)
            case EditCampaign(campaign_id=campaign_id, tenant_id=tenant_id):
                rows["campaign_ids"].add(campaign_id)
                rows["campaigns_of"].add(tenant_id)
            case MoveCampaign(campaign_id=campaign_id, tenant_id=owner, move=move):
                rows["campaign_ids"].add(campaign_id)
                if owner is not None and move is CampaignMove.SUBMIT:
                    rows["campaigns_of"].add(owner)
            case Reserve():
                rows["tenant_ids"].add(message.tenant_id)
                if message.campaign is None:
                    rows["campaign_ids"].add(message.campaign_id)
                else:
                    rows["campaigns_of"].add(message.tenant_id)
                rows["slot_ids"].add(message.slot_id)
                rows["keys"].add((message.tenant_id, message.operation, message.key))
            case CreateSlot(slot=slot):
                rows["slot_ids"].add(slot.id)
            case EditSlot(slot_id=slot_id) | RetireSlot(slot_id=slot_id):
                rows["slot_ids"].add(slot_id)
            case RecordPayment(booking_id=booking_id, event_id=event_id, payment_id=payment_id):
                rows["booking_ids"].add(booking_id)
                rows["event_ids"].add(event_id)
                rows["payment_ids"].add(payment_id)
            case SettleRefund(booking_id=booking_id, event_id=event, payment_id=payment):
                rows["booking_ids"].add(booking_id)
                rows["event_ids"].update(filter(None, [event]))
                rows["payment_ids"].update(filter(None, [payment]))
            case SettleDispute(payment_id=payment_id, event_id=event):
                rows["payment_ids"].add(payment_id)
                rows["event_ids"].update(filter(None, [event]))
            case FollowSchedule(booking_id=booking_id):
                rows["booking_ids"].add(booking_id)
                rows["followed_ids"].add(booking_id)
            case (
                OpenCheckout(booking_id=booking_id)
                | StoreCheckoutSession(booking_id=booking_id)
                | Cancel(booking_id=booking_id)
                | OrderRefund(booking_id=booking_id)
                | LeaseRefund(booking_id=booking_id)
                | PostponeRefund(booking_id=booking_id)
                | RequestRefund(booking_id=booking_id)
                | DeclineRefundRequest(booking_id=booking_id)
                | ExpireHold(booking_id=booking_id)
                | DescribeVideo(booking_id=booking_id)
                | SendMaterial(booking_id=booking_id)
            ):
                rows["booking_ids"].add(booking_id)
    return LockSet(
        **{name: tuple(sorted(ids)) for name, ids in rows.items() if ids},
        from_week_ms=min(weeks + moving, default=None),
        recent_ms=rules.counted_from_ms(now_ms) if weeks else None,
        week_ms=schedule.reported_week(now_ms) if rows["followed_ids"] else None,
        digest=any(isinstance(message, SendDigest) for message in messages),
    )


def decide(snapshot: Snapshot, messages: Sequence[Message], now_ms: int, rules: BookingRules) -> Decision:
    """Answer `messages` in order against `snapshot`, whose rows are locked until the decision is committed."""
    unit = UnitOfWork(snapshot, now_ms, rules)
    for message in messages:
        unit.decision.answers.append(_answer(unit, message))
    return unit.finished()


def _answer(unit: UnitOfWork, message: Message) -> Answer:
    match message:
        case SaveProfile():
            return campaigns.save_profile(unit, message)
        case SaveBillingDetails():
            return campaigns.save_billing_details(unit, message)
        case ShareReport():
            return sharing.share_report(unit, message)
        case EndSharedReport():
            return sharing.end_shared_report(unit, message)
        case CreateCampaign():
            return campaigns.create_campaign(unit, message)
        case EditCampaign():
            return campaigns.edit_campaign(unit, message)
        case MoveCampaign():
            return campaigns.move_campaign(unit, message)
        case Reserve():
            return reservations.reserve(unit, message)
        case OpenCheckout():
            return reservations.open_checkout(unit, message)
        case StoreCheckoutSession():
            return reservations.store_checkout_session(unit, message)
        case Cancel():
            return reservations.cancel(unit, message)
        case RecordPayment():
            return settlement.record_payment(unit, message)
        case OrderRefund():
            return settlement.order_refund(unit, message)
        case SettleRefund():
            return settlement.settle_refund(unit, message)
        case SettleDispute():
            return disputes.settle_dispute(unit, message)
        case LeaseRefund():
            return refund_leases.lease_refund(unit, message)
        case PostponeRefund():
            return refund_leases.postpone_refund(unit, message)
        case RequestRefund():
            return refund_requests.request_refund(unit, message)
        case DeclineRefundRequest():
            return refund_requests.decline_refund_request(unit, message)
        case FollowSchedule():
            return schedule.follow_schedule(unit, message)
        case SendDigest():
            return campaigns.send_digest(unit, message)
        case ExpireHold():
            return reservations.expire_hold(unit, message)
        case CreateSlot():
            return slots.create_slot(unit, message)
        case EditSlot():
            return slots.edit_slot(unit, message)
        case RetireSlot():
            return slots.retire_slot(unit, message)
        case DescribeVideo():
            return reservations.describe_video(unit, message)
        case SendMaterial():
            return reservations.send_material(unit, message)
