"""What the booking ledger is asked, and what it answers.

`tenant_id` of a message names who asks as an owner: what belongs to somebody else does not exist for them. Messages of
administrators and of the service itself have None there, or no such field.
"""

from dataclasses import dataclass

from actors.bookings.records import (
    BookingView,
    Campaign,
    CampaignView,
    Content,
    PackageKind,
    Side,
    Slot,
    Sponsor,
    YoutubeStatus,
)
from actors.bookings.transitions import CampaignMove
from actors.values import Agent, Refused


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a message comes from, for the audit. `audit_id` is new; further records of one message add to it."""

    agent: Agent
    request_id: str
    audit_id: str


@dataclass(frozen=True, slots=True)
class SaveProfile:
    """Write a sponsor's profile; `sponsor.id` and `created_ms` count only where there was none."""

    sponsor: Sponsor
    origin: Origin


@dataclass(frozen=True, slots=True)
class CreateCampaign:
    """Keep a new campaign; it waits for review."""

    campaign: Campaign
    origin: Origin


@dataclass(frozen=True, slots=True)
class EditCampaign:
    """Change some of a campaign; what is None stays. Other content than before has to be reviewed again."""

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
    """Submit, withdraw, pause, resume, approve or reject; the last two, and a None `tenant_id`, are administrators'.

    `seen` is the content that the decision is about, `seen_as` the sponsor's name: if they are others by now, nothing is
    decided.
    """

    campaign_id: str
    move: CampaignMove
    origin: Origin
    tenant_id: str | None = None
    note: str | None = None
    seen: Content | None = None
    seen_as: str | None = None


@dataclass(frozen=True, slots=True)
class Reserve:
    """Hold a slot from `week_start_ms` on for a campaign, under an idempotency key (a UUID in lower case).

    With `sponsor` and `campaign` they are written in the same transaction (`bookings/start`); the campaign is new.
    """

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
    """A reserved booking goes to checkout, and its hold begins anew; one that is there stays as it is."""

    tenant_id: str
    booking_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Cancel:
    """Give a booking up that is not paid; cancelling it again changes nothing."""

    tenant_id: str
    booking_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class TakePayment:
    """The processor says that a booking was paid. `event_id` is the processor's; each is handled once."""

    event_id: str
    booking_id: str
    payment_id: str
    amount_cents: int
    currency: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class OrderRefund:
    """Pay a paid booking back; ordering it again changes nothing."""

    booking_id: str
    reason: str | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class SettleRefund:
    """How the processor took a refund: `declined` None means that the money is on its way back.

    `event_id` is set where the processor said it by itself.
    """

    booking_id: str
    declined: str | None
    origin: Origin
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class PostponeRefund:
    """The processor could not be asked, or has not decided: try again later."""

    booking_id: str
    due_ms: int


@dataclass(frozen=True, slots=True)
class ExpireHold:
    """End an open hold whose time is up; anything else stays as it is."""

    booking_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class CreateSlot:
    """Keep a new slot; an id that exists is refused."""

    slot: Slot
    origin: Origin


@dataclass(frozen=True, slots=True)
class EditSlot:
    """Change some of a slot; what is None stays, and `clear` names fields that are to be None.

    Bookings that were made before keep their price and weeks. `active` True brings a retired slot back.
    """

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
    """Sell a slot no more; what is booked of it stays."""

    slot_id: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class DescribeVideo:
    """How far the video of a booking is; None leaves a field as it is, and `clear` names fields that are to be None."""

    booking_id: str
    origin: Origin
    status: YoutubeStatus | None = None
    url: str | None = None
    notes: str | None = None
    clear: tuple[str, ...] = ()


Message = (
    SaveProfile
    | CreateCampaign
    | EditCampaign
    | MoveCampaign
    | Reserve
    | OpenCheckout
    | Cancel
    | TakePayment
    | OrderRefund
    | SettleRefund
    | PostponeRefund
    | ExpireHold
    | CreateSlot
    | EditSlot
    | RetireSlot
    | DescribeVideo
)


# Answers: committed, as it is now.


@dataclass(frozen=True, slots=True)
class ProfileKept:
    """The profile."""

    sponsor: Sponsor


@dataclass(frozen=True, slots=True)
class SlotKept:
    """The slot."""

    slot: Slot


Answer = ProfileKept | CampaignView | BookingView | SlotKept | Refused
