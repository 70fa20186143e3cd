"""Wire models of bookings, their receipts and their delivery (specification, "Resources and their fields")."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from actors.bookings.next_steps import AdminStep, NextStep, admin_step, next_step
from actors.bookings.records import Booking as BookingRecord
from actors.bookings.records import BookingView
from service.schemas.campaigns import Copy, Headline
from service.schemas.fields import (
    NEWEST_MS,
    BillingMode,
    Cents,
    Count,
    Edit,
    Milliseconds,
    Ratio,
    Reference,
    Strict,
    Uuid,
    absent,
    optional,
)
from service.schemas.lists import Page
from service.schemas.reports import FILTERED, FilteredEvents, SiteCounts
from service.schemas.rows import filled
from service.schemas.sponsors import BrandName
from service.schemas.texts import Note
from service.schemas.urls import SponsorUrl

WeekStart = Annotated[int, Field(ge=0, le=NEWEST_MS, description="Monday 00:00 UTC, in epoch milliseconds")]


class BookingBody(Strict):
    """A campaign, a slot and a first week to reserve."""

    campaignId: Reference = Field(description="Id of your campaign")
    slotId: Reference = Field(description="Id of the slot")
    weekStart: WeekStart
    idempotencyKey: Uuid = Field(
        description="A UUID of your choice. A repeated request with the same one returns the same booking"
    )


class BookingStart(Strict):
    """A brand, its ad, a slot and a first week: saves the profile, creates a campaign and reserves, in one request."""

    name: BrandName = Field(description="Name of the brand, shown with the ad")
    website: SponsorUrl = Field(description="Website of the brand")
    headline: Headline = Field(description="Headline of the ad")
    body: Copy = Field(description="Text of the ad")
    slotId: Reference = Field(description="Id of the slot")
    weekStart: WeekStart
    idempotencyKey: Uuid = Field(
        description="A UUID of your choice. A repeated request with the same one returns the same booking"
    )


class RefundBody(Strict):
    """An optional reason for the refund."""

    reason: Note | None = Field(default=None, description="Reason, kept in the audit log")


class RefundRequest(Strict):
    """The sponsor's reason for a refund."""

    reason: Note = Field(description="Reason for the refund")


class VideoMaterial(Strict):
    """The material for a video: links, notes, or both; null takes it back."""

    material: Note | None = Field(description="Links to material, notes, or both; null for nothing")


class RefundDecline(Strict):
    """An administrator's reason for declining a refund. The sponsor reads it."""

    note: Note = Field(description="Reason for declining the refund")


class VideoEdit(Edit):
    """Changes to the video of a booking; null clears the address or the notes."""

    youtubeStatus: Literal["planned", "published"] = absent("State of the video")
    youtubeUrl: SponsorUrl | None = absent("Address of the video; null for none")
    youtubeNotes: Note | None = absent("Notes about the video; null for none")


def cut_start(period_start_ms: int, week_start_ms: int) -> int | None:
    """The first day that was bought of a week that had begun; None if the whole week was."""
    return None if period_start_ms == week_start_ms else period_start_ms


class Booking(BaseModel):
    """A package of weeks of a slot, with its delivery metrics."""

    id: str = Field(description="Id of the booking")
    campaignId: str = Field(description="Id of the campaign that is shown")
    campaignName: str = Field(description="Name of the campaign")
    slotName: str = Field(description="Name of the slot when it was booked")
    slotId: str = Field(description="Id of the slot")
    weekStart: Milliseconds
    weekEnd: Milliseconds
    amountCents: Cents = Field(description="Price of all weeks, in cents")
    currency: str = Field(description="ISO 4217, in lower case")
    status: Literal["reserved", "checkout", "paid", "expired", "cancelled", "refunding", "refunded"] = Field(
        description="State of the booking; `reserved` and `checkout` hold the weeks until `heldUntil`"
    )
    mode: BillingMode = Field(description="Whether money moves (`live`) or not (`test`)")
    createdAt: Milliseconds
    impressions: Count = Field(description="Impressions counted")
    clicks: Count = Field(description="Clicks counted")
    packageKind: Literal["website", "youtube", "bundle"] | None = optional(
        "Contents of the package: a place on the website, a video, or both (`bundle`)"
    )
    packageDescription: str | None = optional("Description of the package, as it was sold")
    youtubeStatus: Literal["planned", "published"] | None = optional("State of the video; only for packages with one")
    youtubeUrl: str | None = optional("Address of the video, once it has one")
    youtubeNotes: str | None = optional("Notes about the video")
    videoMaterial: str | None = optional("What the video is made from, in the words of the sponsor")
    periodStart: Milliseconds | None = optional(
        "First day that was bought, in epoch milliseconds, if the first week had begun; otherwise it is `weekStart`"
    )
    demo: bool | None = optional("True for bookings of the demo")
    receiptUrl: str | None = optional("Address of the receipt, once it is paid")
    refundedCents: Cents | None = optional("Amount paid back in cents, once it is refunded")
    paidCurrency: str | None = optional("Currency of the payment and of `refundedCents`, if it is not `currency`")
    paymentIssue: str | None = optional(
        "Problem with the payment: paid_after_expiry, paid_after_cancel, amount_mismatch, paid_twice, "
        "refund_declined, refund_failed, disputed (it is not shown until the dispute is closed), dispute_lost or "
        "dispute_won (after it was lost, and the weeks are sold); or "
        "why it was refunded: not_shown or partly_shown"
    )
    campaignStatus: Literal["draft", "pending", "approved", "rejected", "paused"] | None = optional(
        "State of the campaign"
    )
    nextStep: str | None = optional(
        f"What to do now: {', '.join(NextStep)}. For administrators, what an administrator does: {', '.join(AdminStep)}"
    )
    refundRequestedAt: Milliseconds | None = optional(
        "Epoch milliseconds; while a request for a refund waits for an administrator"
    )
    refundReason: str | None = optional("The sponsor's words of the last request for a refund")
    refundDeclinedNote: str | None = optional("Why an administrator declined the last request")
    sponsorName: str | None = optional("Name of the sponsor's profile, once there is one")
    termsVersion: str | None = optional("Version of the terms that were accepted by paying")
    termsAcceptedAt: Milliseconds | None = optional("When they were accepted, in epoch milliseconds")
    heldUntil: Milliseconds | None = optional("End of the hold in epoch milliseconds, while reserved or in checkout")

    @classmethod
    def of(cls, view: BookingView, now_ms: int, receipt_url: str | None, *, admin: bool = False) -> "Booking":
        """The wire model of a booking at `now_ms`, as its sponsor or an administrator sees it."""
        booking = view.booking
        return filled(
            cls,
            booking,
            view,
            status=booking.status_at(now_ms),
            periodStart=cut_start(booking.period_start_ms, booking.week_start_ms),
            demo=booking.demo or None,
            receiptUrl=receipt_url,
            refundedCents=booking.refunded_cents or None,
            paymentIssue=booking.issue,
            heldUntil=booking.hold_ms if booking.is_open(now_ms) else None,
            nextStep=admin_step(view) if admin else next_step(view, now_ms),
            refundDeclinedNote=booking.refund_note,
        )


class BookingAnswer(BaseModel):
    """One booking."""

    booking: Booking = Field(description="The booking")


class BookingPage(Page):
    """Bookings with delivery metrics, newest first."""

    items: list[Booking] = Field(description="Bookings of this page")


class Receipt(BaseModel):
    """The amount paid and the amount refunded."""

    url: str = Field(description="Address of the receipt")
    amountCents: Cents = Field(description="Amount paid, in cents")
    currency: str = Field(description="ISO 4217, in lower case")
    paidAt: Milliseconds
    refundedCents: Cents = Field(description="Amount paid back, in cents; 0 if none")

    @classmethod
    def of(cls, booking: BookingRecord, url: str | None) -> "Receipt | None":
        if booking.paid_ms is None or url is None:
            return None
        # Nodes of 1.1 stored 0 for a payment in another currency.
        paid_cents = booking.paid_cents or booking.amount_cents
        return filled(cls, booking, url=url, amountCents=paid_cents, currency=booking.money_currency)


class BookingWithReceipt(BaseModel):
    """One booking. `receipt` is null until it is paid."""

    booking: Booking = Field(description="The booking")
    receipt: Receipt | None = Field(description="Receipt of the payment; null until it is paid")


class DeliveryDay(BaseModel):
    """Delivery on one day."""

    day: Milliseconds = Field(description="00:00 UTC of the day, epoch milliseconds")
    impressions: Count = Field(description="Impressions counted")
    clicks: Count = Field(description="Clicks counted")
    filtered: FilteredEvents = Field(description=FILTERED)


class Delivery(BaseModel):
    """Delivery of a booking: each day that was bought up to today, and the totals. Impressions and clicks count once a day
    for each visitor, which is a client address with a user agent, or a device, as the website chose. `ctr` is clicks divided
    by impressions, and null while there are none."""

    items: list[DeliveryDay] = Field(description="Delivery by day, the first day first")
    impressions: Count = Field(description="Impressions counted")
    clicks: Count = Field(description="Clicks counted")
    ctr: Ratio | None = Field(
        description="Clicks divided by impressions, to six decimal places; null without impressions"
    )
    filtered: FilteredEvents = Field(description=FILTERED)
    sites: list[SiteCounts] | None = optional(
        "The same by website, most impressions first, while the service counts by website"
    )


class CheckoutAnswer(BaseModel):
    """The payment page, and the end of the hold on the weeks."""

    checkoutUrl: str = Field(description="Address of the payment page")
    expiresAt: Milliseconds
    termsUrl: str | None = optional("Address of the terms that whoever pays accepts, if the service has terms")
    termsVersion: str | None = optional("Version of these terms, which the paid booking keeps")
