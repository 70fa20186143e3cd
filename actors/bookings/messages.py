"""Messages of the booking ledger.

`tenant_id` is the owner who asks, for whom rows of others do not exist. Messages of administrators and of the service
itself have None or no such field.
"""

from dataclasses import dataclass

from actors.bookings.records import (
    BillingDetails,
    BookingView,
    Campaign,
    CampaignView,
    Content,
    PackageKind,
    PaymentState,
    Side,
    Slot,
    Sponsor,
    YoutubeStatus,
)
from actors.bookings.reports import SharedReport
from actors.bookings.transitions import CampaignMove
from actors.values import Agent, Refused


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a message, for the audit. `audit_id` is new; further records of the message extend it."""

    agent: Agent
    request_id: str
    audit_id: str


@dataclass(frozen=True, slots=True)
class SaveProfile:
    """Save a sponsor's profile. `sponsor.id` and `created_ms` are used only if there is none yet."""

    sponsor: Sponsor
    origin: Origin


@dataclass(frozen=True, slots=True)
class SaveBillingDetails:
    """Save the details that an account's next invoices name."""

    details: BillingDetails
    origin: Origin


@dataclass(frozen=True, slots=True)
class ShareReport:
    """Share a report by a link."""

    report: SharedReport
    origin: Origin


@dataclass(frozen=True, slots=True)
class EndSharedReport:
    """End a link to a report."""

    tenant_id: str
    report_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class CreateCampaign:
    """Store a new campaign, which waits for review. If it exists under the same audit id, the request is a repetition."""

    campaign: Campaign
    origin: Origin


@dataclass(frozen=True, slots=True)
class EditCampaign:
    """Change a campaign. None leaves a field as it is; new content has to be reviewed again."""

    tenant_id: str
    campaign_id: str
    origin: Origin
    name: str | None = None
    headline: str | None = None
    body: str | None = None
    cta: str | None = None
    target_url: str | None = None
    logo_text: str | None = None


@dataclass(frozen=True, slots=True)
class MoveCampaign:
    """Submit, withdraw, pause, resume, approve or reject. Administrators have `tenant_id` None, and only they review.
    `seen` is the reviewed content and `seen_as` the sponsor's name: if they have changed since, the move is refused."""

    campaign_id: str
    move: CampaignMove
    origin: Origin
    tenant_id: str | None = None
    note: str | None = None
    seen: Content | None = None
    seen_as: str | None = None


@dataclass(frozen=True, slots=True)
class Reserve:
    """Hold a slot from `week_start_ms` on for a campaign, under an idempotency key (a UUID in lower case). `sponsor`
    and the new `campaign`, if given, are written in the same transaction (`bookings/start`)."""

    tenant_id: str
    booking_id: str
    campaign_id: str
    slot_id: str
    week_start_ms: int
    operation: str
    key: str
    fingerprint: bytes
    origin: Origin
    sponsor: Sponsor | None = None
    campaign: Campaign | None = None


@dataclass(frozen=True, slots=True)
class OpenCheckout:
    """Move a reserved booking to checkout and restart its hold. One in checkout stays as it is."""

    tenant_id: str
    booking_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class StoreCheckoutSession:
    """Store the id of a checkout session that the processor made for a booking. Only its payment counts (ADR 0054)."""

    tenant_id: str
    booking_id: str
    session_id: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a booking that is not paid. Cancelling it again changes nothing."""

    tenant_id: str
    booking_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class RecordPayment:
    """The processor reports the payment of a booking. `event_id` is the processor's; each is handled once. `session_id`
    is the checkout session that was paid; None for the page of test mode. `terms_version` is that of the terms that the page
    for the payment showed; None if it showed none."""

    event_id: str
    booking_id: str
    payment_id: str
    amount_cents: int
    currency: str
    origin: Origin
    session_id: str | None = None
    terms_version: str | None = None


@dataclass(frozen=True, slots=True)
class OrderRefund:
    """Refund all of a paid booking. Ordering it again changes nothing."""

    booking_id: str
    reason: str | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class SettleRefund:
    """The processor's decision on a refund: `declined` None means that the money is on its way back. `event_id` is set if it
    came as an event of the processor. The payment must be the booking's. `refund_id` names the attempt, whose outcome it is:
    there may be others, before and after it. It needs `payment_id`.

    `cents` is the amount of the refund, and `total_cents` what was refunded of the payment so far, which is not all of it. An
    event without either is about the whole payment. `currency` is that of these amounts; None is the payment's. `at_ms` is
    when the processor made the event; None is now. `made_ms` is when it made the refund; None if it does not say."""

    booking_id: str
    declined: str | None
    origin: Origin
    event_id: str | None = None
    payment_id: str | None = None
    cents: int | None = None
    total_cents: int | None = None
    currency: str | None = None
    refund_id: str | None = None
    at_ms: int | None = None
    made_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SettleDispute:
    """The processor reports the state of a dispute: open, won or lost. It names the payment, not the booking. `amount_cents`
    is the disputed part in `currency`; None is all of the payment. `event_id` is the processor's; each is handled once.
    `at_ms` is when the state changed at the processor, which decides between two outcomes; None is now."""

    dispute_id: str
    payment_id: str
    state: PaymentState
    origin: Origin
    amount_cents: int | None = None
    currency: str | None = None
    event_id: str | None = None
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LeaseRefund:
    """Make a due refund, until `until_ms`: no other node makes it before then. Refused if none is due now."""

    booking_id: str
    until_ms: int


@dataclass(frozen=True, slots=True)
class PostponeRefund:
    """Retry a refund later, which the processor did not answer or has not decided. The lease that ends at `leased_ms` ends
    now; without it, nothing changes."""

    booking_id: str
    leased_ms: int | None
    due_ms: int


@dataclass(frozen=True, slots=True)
class RequestRefund:
    """A sponsor asks for a refund of a paid booking."""

    tenant_id: str
    booking_id: str
    reason: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class SendMaterial:
    """A sponsor says what the video of a booking is made from; None takes it back."""

    tenant_id: str
    booking_id: str
    material: str | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class DeclineRefundRequest:
    """An administrator declines a requested refund. `note` is the reason, for the sponsor."""

    booking_id: str
    note: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class FollowSchedule:
    """Do the steps of a paid booking that are due: its weeks begin, a day or its weeks end."""

    booking_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class SendDigest:
    """Mail the administrators about new submissions, if the last digest is old enough."""


@dataclass(frozen=True, slots=True)
class ExpireHold:
    """End an open hold that has expired. Anything else stays as it is."""

    booking_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class CreateSlot:
    """Store a new slot. Refused if the id exists."""

    slot: Slot
    origin: Origin


@dataclass(frozen=True, slots=True)
class EditSlot:
    """Change a slot. None leaves a field as it is; `clear` names fields to set to None. Existing bookings keep their name,
    package, price and weeks, and are shown on retired slots, too. The side is refused while weeks are booked that are not
    over. `active` True brings a retired slot back."""

    slot_id: str
    origin: Origin
    name: str | None = None
    side: Side | None = None
    week_price_cents: int | None = None
    active: bool | None = None
    weeks: int | None = None
    coming_soon: bool | None = None
    offer_ends_ms: int | None = None
    package_kind: PackageKind | None = None
    description: str | None = None
    clear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetireSlot:
    """Stop selling a slot. Its bookings stay."""

    slot_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class DescribeVideo:
    """Set the state of a booking's video. None leaves a field as it is; `clear` names fields to set to None."""

    booking_id: str
    origin: Origin
    status: YoutubeStatus | None = None
    url: str | None = None
    notes: str | None = None
    clear: tuple[str, ...] = ()


Message = (
    SaveProfile
    | SaveBillingDetails
    | ShareReport
    | EndSharedReport
    | CreateCampaign
    | EditCampaign
    | MoveCampaign
    | Reserve
    | OpenCheckout
    | StoreCheckoutSession
    | Cancel
    | RecordPayment
    | OrderRefund
    | SettleRefund
    | SettleDispute
    | LeaseRefund
    | PostponeRefund
    | RequestRefund
    | DeclineRefundRequest
    | FollowSchedule
    | SendDigest
    | ExpireHold
    | CreateSlot
    | EditSlot
    | RetireSlot
    | DescribeVideo
    | SendMaterial
)


Answer = Sponsor | BillingDetails | SharedReport | CampaignView | BookingView | Slot | bool | Refused
"""The row as it is now. Of `SendDigest`: whether a digest was written."""
