"""Wire models of bookings, their receipts and their delivery (specification, "Resources and their fields")."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from actors.bookings.next_steps import AdminStep, NextStep, admin_step, next_step
from actors.bookings.records import Booking as BookingRecord
from actors.bookings.records import BookingView
from service.schemas.campaigns import Copy, Headline
from service.schemas.fields import (
    NEWEST_MS,
    BillingMode,
    Edit,
    Milliseconds,
    Reference,
    Strict,
    Uuid,
    absent,
    optional,
)
from service.schemas.lists import Page
from service.schemas.sites import SiteCounts
from service.schemas.sponsors import BrandName
from service.schemas.texts import Note
from service.schemas.urls import SponsorUrl

WeekStart = Annotated[int, Field(ge=0, le=NEWEST_MS, description="Monday 00:00 UTC, in epoch milliseconds")]


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


class RefundRequest(Strict):
    """Why the sponsor wants the money back."""

    reason: Note


class RefundDecline(Strict):
    """Why an administrator declines the request. The sponsor reads it."""

    note: Note


class VideoEdit(Edit):
    """Changes to the video of a booking; null clears the address or the notes."""

    youtubeStatus: Literal["planned", "published"] = absent()
    youtubeUrl: SponsorUrl | None = absent()
    youtubeNotes: Note | None = absent()


class Booking(BaseModel):
    """A package of weeks of a slot, with its delivery metrics."""

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
    receiptUrl: str | None = optional("Once it is paid")
    refundedCents: int | None = optional("Once it is refunded")
    paymentIssue: str | None = optional(
        "Problem with the payment: paid_after_expiry, paid_after_cancel, amount_mismatch, paid_twice, "
        "refund_declined, refund_failed, disputed (it is not shown until the dispute is closed) or dispute_lost; or "
        "why it was refunded: not_shown or partly_shown"
    )
    campaignStatus: Literal["draft", "pending", "approved", "rejected", "paused"] | None = optional()
    nextStep: str | None = optional(
        f"What to do now: {', '.join(NextStep)}. For administrators, what an administrator does: {', '.join(AdminStep)}"
    )
    refundRequestedAt: Milliseconds | None = optional("While a request for a refund waits for an administrator")
    refundReason: str | None = optional("The sponsor's words of the last request for a refund")
    refundDeclinedNote: str | None = optional("Why an administrator declined the last request")
    sponsorName: str | None = optional()
    heldUntil: int | None = optional("End of the hold in epoch milliseconds, while reserved or in checkout")

    @classmethod
    def of(cls, view: BookingView, now_ms: int, receipt_url: str | None, *, admin: bool = False) -> "Booking":
        """The wire model of a booking at `now_ms`, as its sponsor or an administrator sees it."""
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
            paymentIssue=booking.issue,
            sponsorName=view.sponsor_name,
            heldUntil=booking.hold_ms if booking.is_open(now_ms) else None,
            campaignStatus=_value(view.campaign_status),
            nextStep=(admin_step(view) if admin else next_step(view, now_ms)).value,
            refundRequestedAt=booking.refund_requested_ms,
            refundReason=booking.refund_reason,
            refundDeclinedNote=booking.refund_note,
        )


class BookingAnswer(BaseModel):
    booking: Booking


class BookingPage(Page):
    """Bookings with delivery metrics, newest first."""

    items: list[Booking]


class Receipt(BaseModel):
    """The amount paid and the amount refunded."""

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
    """One booking. `receipt` is null until it is paid."""

    booking: Booking
    receipt: Receipt | None


class DeliveryDay(BaseModel):
    """Delivery on one day."""

    day: int = Field(description="00:00 UTC of the day, epoch milliseconds")
    impressions: int
    clicks: int


class Delivery(BaseModel):
    """Delivery of a booking: each day of its run up to today, and the totals. `ctr` is clicks divided by impressions,
    and null while there are none."""

    items: list[DeliveryDay]
    impressions: int
    clicks: int
    ctr: float | None
    sites: list[SiteCounts] | None = optional(
        "The same by website, most impressions first, while the service counts by website"
    )


class CheckoutAnswer(BaseModel):
    """The payment page, and the end of the hold on the weeks."""

    checkoutUrl: str
    expiresAt: Milliseconds


def _value(kind: Any) -> Any:
    return None if kind is None else kind.value
