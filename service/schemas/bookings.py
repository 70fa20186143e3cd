"""Wire models of bookings, their receipts and their delivery (specification, "Resources and their fields")."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

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


class VideoEdit(Edit):
    """How far the video of a booking is; null takes an address or notes away."""

    youtubeStatus: Literal["planned", "published"] = absent()
    youtubeUrl: SponsorUrl | None = absent()
    youtubeNotes: Note | None = absent()


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


class BookingPage(Page):
    """Bookings with delivery metrics, the newest first."""

    items: list[Booking]


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


def _value(kind: Any) -> Any:
    return None if kind is None else kind.value
