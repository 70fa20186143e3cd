"""Wire models of the rate card."""

from typing import Literal

from pydantic import BaseModel, Field

from service.schemas.fields import BillingMode, Milliseconds, optional


class Reach(BaseModel):
    """Sums over bookings that have ended. `ctr` is clicks divided by impressions, and null while there are none."""

    bookings: int
    weeks: int
    impressions: int
    clicks: int
    ctr: float | None


class FreeWeek(BaseModel):
    """Weeks that can be booked now, and what they cost together."""

    weekStart: Milliseconds
    weekEnd: Milliseconds
    priceCents: int


class RateCardSlot(BaseModel):
    """A slot that is sold, now or soon."""

    id: str
    name: str
    side: Literal["left", "right"]
    weekPriceCents: int = Field(description="Price per week in cents; a week that has begun costs its remaining days")
    durationWeeks: int = Field(description="Consecutive weeks of one booking")
    comingSoon: bool
    nextWeeks: list[FreeWeek] = Field(description="The next weeks that are free, three at most")
    packageKind: Literal["website", "youtube", "bundle"] | None = optional()
    description: str | None = optional()
    reach: Reach | None = optional("What past bookings of the slot reached; absent below five")


class RateCard(BaseModel):
    """The prices of slots and their free weeks."""

    currency: str = Field(description="ISO 4217, in lower case")
    billingMode: BillingMode
    slots: list[RateCardSlot]
    reach: Reach | None = optional("What past bookings reached together; absent below five. Samples do not count")
