"""Wire models of the rate card."""

from typing import Literal

from pydantic import BaseModel, Field

from service.schemas.fields import BillingMode, Cents, Count, Milliseconds, Ratio, optional


class Reach(BaseModel):
    """Sums over bookings that have ended. `ctr` is clicks divided by impressions, and null while there are none."""

    bookings: Count = Field(description="Bookings that ended")
    weeks: Count = Field(description="Their weeks")
    impressions: Count = Field(description="Impressions counted")
    clicks: Count = Field(description="Clicks counted")
    ctr: Ratio | None = Field(
        description="Clicks divided by impressions, to six decimal places; null without impressions"
    )


class FreeWeek(BaseModel):
    """Weeks that can be booked now, and what they cost together."""

    weekStart: Milliseconds
    weekEnd: Milliseconds
    priceCents: Cents = Field(description="Price of all weeks of the booking, in cents")


class RateCardSlot(BaseModel):
    """A slot that is sold, now or soon."""

    id: str = Field(description="Id of the slot")
    name: str = Field(description="Name of the slot")
    side: Literal["left", "right"] = Field(description="Column of the page in which the slot is shown")
    weekPriceCents: Cents = Field(description="Price per week in cents; a week that has begun costs its remaining days")
    durationWeeks: Count = Field(description="Consecutive weeks of one booking")
    comingSoon: bool = Field(description="Whether it is shown but not sold yet")
    nextWeeks: list[FreeWeek] = Field(description="The next weeks that are free, three at most")
    packageKind: Literal["website", "youtube", "bundle"] | None = optional(
        "Contents of the package: a place on the website, a video, or both (`bundle`)"
    )
    description: str | None = optional("Description of the package")
    reach: Reach | None = optional("What past bookings of the slot reached; absent below five")


class RateCard(BaseModel):
    """The prices of slots and their free weeks."""

    currency: str = Field(description="ISO 4217, in lower case")
    billingMode: BillingMode = Field(description="Whether money moves (`live`) or not (`test`)")
    slots: list[RateCardSlot] = Field(description="Slots that are sold now or soon")
    reach: Reach | None = optional("What past bookings reached together; absent below five. Samples do not count")
