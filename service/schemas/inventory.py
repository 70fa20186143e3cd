"""Wire models of inventory and placements (specification, "Slot", "Inventory", "Placement"), and the inventory's query."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from actors.bookings.records import Slot as SlotRecord
from actors.bookings.store import SoldPlacement
from service.schemas.campaigns import Revision
from service.schemas.fields import NEWEST_MS, BillingMode, Cents, Count, Milliseconds, Query, Ratio, optional
from service.schemas.lists import Whole, whole_number
from service.schemas.rows import filled


class Slot(BaseModel):
    """A place on the pages that is sold by the week."""

    id: str = Field(description="Id of the slot")
    name: str = Field(description="Name of the slot")
    side: Literal["left", "right"] = Field(description="Column of the page in which the slot is shown")
    weekPriceCents: Cents = Field(description="Price per week in cents")
    active: bool = Field(description="Whether it is for sale")
    available: bool | None = optional("Whether it can be booked from the inventory's week on")
    priceCents: Cents | None = optional(
        "Price in cents of a booking from the inventory's week on; a week that has begun costs its remaining days"
    )
    heldUntil: Milliseconds | None = optional("Epoch milliseconds; an unpaid booking holds it until then, or pays")
    durationWeeks: Count | None = optional("Consecutive weeks of one booking")
    comingSoon: bool | None = optional("Shown, but not sold yet")
    offerEndsAt: Milliseconds | None = optional("Epoch milliseconds; sold until then")
    packageKind: Literal["website", "youtube", "bundle"] | None = optional(
        "Contents of the package: a place on the website, a video, or both (`bundle`)"
    )
    description: str | None = optional("Description of the package")


class Inventory(BaseModel):
    """The slots, and whether each can be booked for a given week."""

    weekStart: Milliseconds = Field(description="Monday 00:00 UTC, epoch milliseconds")
    weekEnd: Milliseconds = Field(description="The start of the next week, epoch milliseconds")
    billingMode: BillingMode = Field(description="Whether money moves (`live`) or not (`test`)")
    slots: list[Slot] = Field(description="The slots, ordered by id")


class Calendar(BaseModel):
    """The inventory of consecutive weeks; fewer than requested if the booking horizon ends before."""

    weeks: list[Inventory] = Field(description="The inventory of each week, the first week first")


class AdminSlot(Slot):
    """A slot as seen by administrators."""

    retired: bool | None = optional("True if it is no longer shown or sold")


class SlotList(BaseModel):
    """All slots, ordered by id."""

    items: list[AdminSlot] = Field(description="The slots")


class SlotAnswer(BaseModel):
    """One slot."""

    slot: AdminSlot = Field(description="The slot")


class Placement(Revision):
    """The creative that is shown for a booking."""

    bookingId: str = Field(description="Named by events of this placement")
    sponsorName: str = Field(description="Name of the sponsor, as it was approved")
    side: Literal["left", "right"] = Field(description="Column of the page in which the slot is shown")
    demo: bool = Field(description="True for unpaid samples")
    slotId: str = Field(description="Id of the slot that shows it")


class PlacementList(BaseModel):
    """The placements that are live now: left side first, then by week."""

    placements: list[Placement] = Field(description="The placements")


class PageAds(BaseModel):
    """The placements that a page view shows on each side."""

    left: list[Placement]
    right: list[Placement]


def _current_when_empty(value: Any) -> Any:
    return None if value == "" else whole_number(value)


def _integer_or_empty(schema: dict[str, Any]) -> None:
    """Let the document say that a number or an empty value is accepted, and never `null`."""
    week = schema["properties"]["weekStart"]
    numbers = [kind for kind in week["anyOf"] if kind != {"type": "null"}]
    week["anyOf"] = [*numbers, {"type": "string", "maxLength": 0}]


class InventoryQuery(Query, json_schema_extra=_integer_or_empty):
    """Query of the inventory. The operation checks how far from now the week may be."""

    weekStart: Annotated[
        Annotated[int, Field(ge=0, le=NEWEST_MS)] | None,
        BeforeValidator(_current_when_empty),
        Field(description="Any time within the week, epoch milliseconds; the current week by default"),
    ] = None


MAX_WEEKS, USUAL_WEEKS = 12, 8


class CalendarQuery(InventoryQuery):
    """Query of the calendar: the first week as in the inventory, and the number of weeks."""

    weeks: Whole[Annotated[int, Field(ge=1, le=MAX_WEEKS)]] = Field(default=USUAL_WEEKS, description="Number of weeks")


def slot_of(
    slot: SlotRecord, available: bool | None = None, price_cents: int | None = None, held_ms: int | None = None
) -> Slot:
    """The wire model of a slot. `available` is set only for a given week, `price_cents` only for one that is not over."""
    return filled(Slot, slot, available=available, priceCents=price_cents, heldUntil=held_ms, durationWeeks=slot.weeks)


def admin_slot_of(slot: SlotRecord) -> AdminSlot:
    """The wire model of a slot for administrators."""
    return AdminSlot(**slot_of(slot).model_dump(), retired=None if slot.retired_ms is None else True)


def placement_of(sold: SoldPlacement) -> Placement:
    """The wire model of a placement."""
    return filled(Placement, sold, sold.content)


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
