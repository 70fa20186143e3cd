"""Wire models of the administrators' view of the sponsorship area: filters, the review queue, counts and revenue."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from actors.bookings.records import BookingStatus
from actors.bookings.store import BookingFilter, ListCounts, MonthRevenue, Waiting
from actors.times import week_of
from service.schemas.admin_accounts import BookingNumbers
from service.schemas.campaigns import Campaign
from service.schemas.fields import NEWEST_MS, BillingMode, Cents, Count, Milliseconds, NetCents, Query, optional
from service.schemas.lists import (
    Choice,
    FileFormat,
    FreeText,
    ListQuery,
    Page,
    SearchText,
    absent_when_empty,
    choice,
    whole_number,
)
from service.schemas.rows import filled

MAX_MONTHS = 60
MONTH = r"^[12][0-9]{3}-(0[1-9]|1[0-2])$"

_Named = Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00]*$")]


def _moment(value: Any) -> Any:
    return whole_number(absent_when_empty(value))


class BookingsQuery(ListQuery):
    """Query of the administrators' list of bookings. All conditions have to hold."""

    status: Choice[Literal["reserved", "checkout", "paid", "expired", "cancelled", "refunding", "refunded"]] = choice(
        "Only bookings in this state"
    )
    week: Annotated[Annotated[int, Field(ge=0, le=NEWEST_MS)] | None, BeforeValidator(_moment)] = choice(
        "Only bookings of the week of this time, in epoch milliseconds"
    )
    sponsor: FreeText[_Named] = Field(
        default=None, description="Only bookings of this sponsor: its id or the id of its account"
    )
    slot: FreeText[_Named] = Field(default=None, description="Only bookings of the slot with this id")
    query: FreeText[SearchText] = Field(
        default=None,
        description="The id of a booking or of its payment, or a part of the name of the sponsor or of the slot",
    )
    trouble: Choice[Literal["true", "false", "requested"]] = choice(
        "Only bookings whose payment needs a person (disputes, failed refunds, requests for refunds), only the others, or "
        "only those whose sponsor asks for a refund"
    )

    def wanted(self) -> BookingFilter:
        return BookingFilter(
            status=None if self.status is None else BookingStatus(self.status),
            week_ms=None if self.week is None else week_of(self.week),
            sponsor=self.sponsor,
            slot_id=self.slot,
            text=self.query,
            trouble=None if self.trouble in (None, "requested") else self.trouble == "true",
            requested=True if self.trouble == "requested" else None,
        )


class ReviewItem(BaseModel):
    """A campaign that waits for review, with what helps to decide what comes first."""

    campaign: Campaign = Field(description="The campaign")
    accountId: str = Field(description="Id of the sponsor's account")
    email: str | None = optional("Of the sponsor's account, unless it was deleted")
    paid: bool = Field(description="Whether weeks of the campaign are paid that are not over")
    beginsAt: Milliseconds | None = optional("The first week that is paid, or else held, in epoch milliseconds")
    approvedBefore: Count = Field(description="Approvals of this sponsor's campaigns so far")
    rejectedBefore: Count = Field(description="Rejections of this sponsor's campaigns so far")

    @classmethod
    def of(cls, waiting: Waiting) -> "ReviewItem":
        return cls(
            campaign=Campaign.for_review(waiting.view),
            accountId=waiting.view.campaign.tenant_id,
            email=waiting.email,
            paid=waiting.paid,
            beginsAt=waiting.begins_ms,
            approvedBefore=waiting.approved,
            rejectedBefore=waiting.rejected,
        )


class ReviewPage(Page):
    """Campaigns that wait for review: paid ones by their first week, then held ones, then the others, oldest first."""

    items: list[ReviewItem] = Field(description="Campaigns of this page")


class CampaignNumbers(BaseModel):
    """Campaigns by state."""

    draft: Count = Field(default=0, description="Not submitted")
    pending: Count = Field(default=0, description="Waiting for review")
    approved: Count = Field(default=0, description="Approved")
    rejected: Count = Field(default=0, description="Rejected")
    paused: Count = Field(default=0, description="Paused")


class Counts(BaseModel):
    """The rows of the administrators' lists, each counted up to 10,000. They may be some seconds old."""

    bookings: BookingNumbers = Field(description="Bookings by state")
    campaigns: CampaignNumbers = Field(description="Campaigns by state")
    bookingsInTrouble: Count = Field(description="Bookings whose payment needs a person")
    refundRequests: Count = Field(description="Bookings among these whose sponsor asks for a refund")
    sponsors: Count = Field(description="Sponsors with a profile")
    submissions: Count = Field(description="Submissions to the catalog that wait for review")

    @classmethod
    def of(cls, counts: ListCounts) -> "Counts":
        return cls(
            bookings=BookingNumbers.model_validate({status.value: n for status, n in counts.bookings.items()}),
            campaigns=CampaignNumbers.model_validate({status.value: n for status, n in counts.campaigns.items()}),
            bookingsInTrouble=counts.trouble,
            refundRequests=counts.requested,
            sponsors=counts.sponsors,
            submissions=counts.submissions,
        )


Month = Annotated[str, Field(pattern=MONTH)]


class RevenueQuery(Query, populate_by_name=True):
    """Query of the revenue: the first and the last month, both included."""

    first: Choice[Month] = choice("Such as 2026-01; 11 months before the last by default", alias="from")
    last: Choice[Month] = choice("Such as 2026-12; this month by default", alias="to")

    format: FileFormat = "json"


class Revenue(BaseModel):
    """The payments that arrived in a month (UTC), in one currency and mode."""

    month: str = Field(description="Such as 2026-11")
    currency: str = Field(description="ISO 4217, in lower case")
    mode: BillingMode = Field(description="Whether money moves (`live`) or not (`test`)")
    payments: Count = Field(description="Payments that arrived")
    paidCents: Cents = Field(description="Sum of the payments, in cents")
    refundedCents: Cents = Field(description="Refunds of these payments at any later time, in cents")
    netCents: NetCents = Field(
        description="Payments less their refunds, in cents; negative if refunds and lost disputes that crossed took more"
    )

    @classmethod
    def of(cls, each: MonthRevenue) -> "Revenue":
        return filled(cls, each, netCents=each.paid_cents - each.refunded_cents)


class RevenueTable(BaseModel):
    """Revenue by month, newest first, then by currency and mode. Months without payments are left out, and samples are never
    counted."""

    items: list[Revenue] = Field(description="Revenue by month, currency and mode")
