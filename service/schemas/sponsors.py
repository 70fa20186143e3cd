"""Wire models of sponsors, campaigns, bookings and the audit (specification, "Resources and their fields")."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from actors.bookings.records import Booking as BookingRecord
from actors.bookings.records import BookingView, CampaignView, Content
from actors.bookings.records import Sponsor as SponsorRecord
from actors.values import AuditRecord, Scope
from service.schemas.catalog import NEWEST_MS
from service.schemas.fields import Edit, Reference, Strict, Uuid, absent, optional
from service.schemas.texts import ONE_LINE, READABLE
from service.schemas.urls import SponsorUrl

Milliseconds = Annotated[int, Field(description="Epoch milliseconds")]
WeekStart = Annotated[int, Field(ge=0, le=NEWEST_MS, description="Monday 00:00 UTC, in epoch milliseconds")]
BillingMode = Literal["test", "live"]

BrandName = Annotated[str, Field(min_length=1, max_length=100), ONE_LINE]
CampaignName = Annotated[str, Field(min_length=1, max_length=80), ONE_LINE]
Headline = Annotated[str, Field(min_length=1, max_length=55), ONE_LINE]
Copy = Annotated[str, Field(min_length=1, max_length=140), ONE_LINE]
Cta = Annotated[str, Field(min_length=1, max_length=24), ONE_LINE]
LogoText = Annotated[str, Field(min_length=1, max_length=3), ONE_LINE]
Note = Annotated[str, Field(min_length=1, max_length=500), READABLE]


# Bodies.


class ProfileBody(Strict):
    name: BrandName
    website: SponsorUrl


class CampaignBody(Strict):
    name: CampaignName
    headline: Headline
    body: Copy
    cta: Cta
    targetUrl: SponsorUrl
    logoText: LogoText

    def content(self) -> Content:
        return Content(self.headline, self.body, self.cta, self.targetUrl, self.logoText)


class CampaignEdit(Edit):
    """What is to change."""

    name: CampaignName = absent()
    headline: Headline = absent()
    body: Copy = absent()
    cta: Cta = absent()
    targetUrl: SponsorUrl = absent()
    logoText: LogoText = absent()


class Seen(Strict):
    """What of a campaign is shown to visitors, as a reviewer has read it; the sponsor's name, where it is given."""

    headline: str
    body: str
    cta: str
    targetUrl: str
    logoText: str
    sponsorName: str | None = None


class Review(Strict):
    """An administrator's decision on a campaign. A rejection says why.

    `seen` makes sure that it is about what the administrator has read: if the campaign was edited or the sponsor renamed
    since, it is refused.
    """

    decision: Literal["approve", "reject", "pause", "resume"]
    note: Note | None = None
    seen: Seen | None = None

    @model_validator(mode="after")
    def _reason(self) -> "Review":
        if self.decision == "reject" and self.note is None:
            raise ValueError("a rejection needs a note that says why")
        return self


class BookingBody(Strict):
    campaignId: Reference
    slotId: Reference
    weekStart: WeekStart
    idempotencyKey: Uuid


class BookingStart(Strict):
    name: BrandName
    website: SponsorUrl
    headline: Headline
    body: Copy
    slotId: Reference
    weekStart: WeekStart
    idempotencyKey: Uuid


class RefundBody(Strict):
    reason: Note | None = None


class VideoEdit(Edit):
    """How far the video of a booking is; null takes an address or notes away."""

    youtubeStatus: Literal["planned", "published"] = absent()
    youtubeUrl: SponsorUrl | None = absent()
    youtubeNotes: Note | None = absent()


# Answers.


class Profile(BaseModel):
    name: str
    website: str


class ProfileSaved(BaseModel):
    profile: Profile


class Identity(BaseModel):
    """Who the calling key stands for. `profile` is null until one is saved; `scopes` are those that hold now."""

    profile: Profile | None
    email: str
    isAdmin: bool
    isDemo: bool
    scopes: list[Scope]
    billingMode: BillingMode


class Campaign(BaseModel):
    """A sponsor's creative."""

    id: str
    name: str
    headline: str
    body: str
    cta: str
    targetUrl: str
    logoText: str
    status: Literal["draft", "pending", "approved", "rejected", "paused"]
    createdAt: Milliseconds
    reviewNote: str | None = optional("What the administrator said at the last review")
    sponsorName: str | None = optional("The sponsor's profile, once there is one")

    @classmethod
    def of(cls, view: CampaignView) -> "Campaign":
        campaign, content = view.campaign, view.campaign.content
        return cls(
            id=campaign.id,
            name=campaign.name,
            headline=content.headline,
            body=content.body,
            cta=content.cta,
            targetUrl=content.target_url,
            logoText=content.logo_text,
            status=campaign.status.value,
            createdAt=campaign.created_ms,
            reviewNote=campaign.review_note,
            sponsorName=view.sponsor_name,
        )


class CampaignAnswer(BaseModel):
    campaign: Campaign


class Booking(BaseModel):
    """A package of weeks of a slot, with what was delivered for it."""

    id: str
    campaignId: str
    campaignName: str
    slotName: str
    weekStart: Milliseconds
    weekEnd: Milliseconds
    amountCents: int
    currency: str = Field(description="ISO 4217, in lower case")
    status: Literal["reserved", "checkout", "paid", "expired", "cancelled", "refunding", "refunded"]
    mode: BillingMode
    createdAt: Milliseconds
    impressions: int
    clicks: int
    packageKind: Literal["website", "youtube", "bundle"] | None = optional()
    packageDescription: str | None = optional()
    youtubeStatus: Literal["planned", "published"] | None = optional()
    youtubeUrl: str | None = optional()
    youtubeNotes: str | None = optional()
    demo: bool | None = optional("True for bookings of the demo")
    receiptUrl: str | None = optional("Once it was paid")
    refundedCents: int | None = optional("Once it was paid back")
    paymentIssue: str | None = optional(
        "What went wrong with the money: paid_after_expiry, paid_after_cancel, amount_mismatch, paid_twice, "
        "refund_declined or refund_failed"
    )
    sponsorName: str | None = optional()
    heldUntil: int | None = optional("While it is reserved or in checkout: epoch milliseconds of the hold's end")

    @classmethod
    def of(cls, view: BookingView, now_ms: int, receipt_url: str | None) -> "Booking":
        """As it stands at `now_ms`."""
        booking = view.booking
        return cls(
            id=booking.id,
            campaignId=booking.campaign_id,
            campaignName=view.campaign_name,
            slotName=booking.slot_name,
            weekStart=booking.week_start_ms,
            weekEnd=booking.week_end_ms,
            amountCents=booking.amount_cents,
            currency=booking.currency,
            status=booking.status_at(now_ms).value,
            mode=booking.mode.value,
            createdAt=booking.created_ms,
            impressions=view.impressions,
            clicks=view.clicks,
            packageKind=_value(booking.package_kind),
            packageDescription=booking.package_description,
            youtubeStatus=_value(booking.youtube_status),
            youtubeUrl=booking.youtube_url,
            youtubeNotes=booking.youtube_notes,
            demo=booking.demo or None,
            receiptUrl=receipt_url,
            refundedCents=booking.refunded_cents or None,
            paymentIssue=booking.payment_issue,
            sponsorName=view.sponsor_name,
            heldUntil=booking.hold_ms if booking.is_open(now_ms) else None,
        )


class BookingAnswer(BaseModel):
    booking: Booking


class Receipt(BaseModel):
    """What was paid, and what of it was paid back."""

    url: str
    amountCents: int
    currency: str
    paidAt: Milliseconds
    refundedCents: int

    @classmethod
    def of(cls, booking: BookingRecord, url: str | None) -> "Receipt | None":
        if booking.paid_ms is None or url is None:
            return None
        return cls(
            url=url,
            amountCents=booking.amount_cents,
            currency=booking.currency,
            paidAt=booking.paid_ms,
            refundedCents=booking.refunded_cents,
        )


class BookingWithReceipt(BaseModel):
    """One booking. `receipt` is null until it was paid."""

    booking: Booking
    receipt: Receipt | None


class DeliveryDay(BaseModel):
    """What was counted on one day."""

    day: int = Field(description="00:00 UTC of the day, epoch milliseconds")
    impressions: int
    clicks: int


class Delivery(BaseModel):
    """What was delivered for a booking: each day of its run up to today, and the sums. `ctr` is clicks by impressions, and
    null while there are none."""

    items: list[DeliveryDay]
    impressions: int
    clicks: int
    ctr: float | None


class CheckoutAnswer(BaseModel):
    """Where a person pays, and until when the weeks are held."""

    checkoutUrl: str
    expiresAt: Milliseconds


class Sponsor(BaseModel):
    """A sponsor as administrators see it."""

    name: str
    website: str
    id: str
    createdAt: Milliseconds

    @classmethod
    def of(cls, sponsor: SponsorRecord) -> "Sponsor":
        return cls(name=sponsor.name, website=sponsor.website, id=sponsor.id, createdAt=sponsor.created_ms)


class Audit(BaseModel):
    """One change: who made it, to what, and how."""

    id: str
    createdAt: Milliseconds
    actorType: Literal["key", "session", "cli", "system"]
    actorId: str
    actorEmail: str | None = optional()
    action: str = Field(description="What happened, such as campaign.approved")
    targetType: str
    targetId: str
    requestId: str
    changes: dict[str, Any]

    @classmethod
    def of(cls, record: AuditRecord) -> "Audit":
        return cls.model_validate(
            {
                "id": record.id,
                "createdAt": record.created_ms,
                "actorType": record.actor_type,
                "actorId": record.actor_id,
                "actorEmail": record.actor_email,
                "action": record.action,
                "targetType": record.target_type,
                "targetId": record.target_id,
                "requestId": record.request_id,
                "changes": json.loads(record.changes),
            }
        )


class _Page(BaseModel):
    cursor: str | None = Field(description="Leads to the next page; null on the last one")
    hasMore: bool


class CampaignPage(_Page):
    """Campaigns, the newest first."""

    items: list[Campaign]


class BookingPage(_Page):
    """Bookings with delivery metrics, the newest first."""

    items: list[Booking]


class SponsorPage(_Page):
    """Sponsors, the newest first."""

    items: list[Sponsor]


class AuditPage(_Page):
    """Audit records, the newest first."""

    items: list[Audit]


def _value(kind: Any) -> Any:
    return None if kind is None else kind.value
