"""Wire models of inventory and placements (specification, "Slot", "Inventory", "Placement"), and the inventory's query."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from actors.bookings.records import Slot as SlotRecord
from actors.bookings.store import SoldPlacement
from service.schemas.fields import NEWEST_MS, BillingMode, optional
from service.schemas.lists import whole_number


class Slot(BaseModel):
    """A place that is sold by the week."""

    id: str
    name: str
    side: Literal["left", "right"]
    weekPriceCents: int = Field(description="Price per week in cents")
    active: bool
    available: bool | None = optional("Whether it can be booked from the inventory's week on")
    durationWeeks: int | None = optional("How many consecutive weeks one booking takes")
    comingSoon: bool | None = optional("It is shown, and not sold yet")
    offerEndsAt: int | None = optional("Epoch milliseconds; it is sold until then")
    packageKind: Literal["website", "youtube", "bundle"] | None = optional()
    description: str | None = optional()


class Inventory(BaseModel):
    """The slots, and which of them can be booked for a week."""

    weekStart: int = Field(description="Monday 00:00 UTC, epoch milliseconds")
    weekEnd: int = Field(description="The start of the next week, epoch milliseconds")
    billingMode: BillingMode
    slots: list[Slot]


class Calendar(BaseModel):
    """The inventory of consecutive weeks. There are fewer than were asked for where the horizon ends."""

    weeks: list[Inventory]


class AdminSlot(Slot):
    """A slot as administrators see it."""

    retired: bool | None = optional("True for one that is shown and sold no more")


class SlotList(BaseModel):
    """All slots, by id."""

    items: list[AdminSlot]


class SlotAnswer(BaseModel):
    slot: AdminSlot


class Placement(BaseModel):
    """What is shown for a booking."""

    headline: str
    body: str
    cta: str
    targetUrl: str
    logoText: str
    bookingId: str = Field(description="What events of this placement name")
    sponsorName: str
    side: Literal["left", "right"]
    demo: bool = Field(description="True for samples, which nobody has paid for")


class PlacementList(BaseModel):
    """The placements that are live now: those on the left first, then by week."""

    placements: list[Placement]


def _current_when_empty(value: Any) -> Any:
    return None if value == "" else whole_number(value)


def _integer_or_empty(schema: dict[str, Any]) -> None:
    """Say in the document what is taken: a number or an empty value, and never `null`."""
    week = schema["properties"]["weekStart"]
    numbers = [kind for kind in week["anyOf"] if kind != {"type": "null"}]
    week["anyOf"] = [*numbers, {"type": "string", "maxLength": 0}]
    del week["default"]


class InventoryQuery(BaseModel):
    """What the inventory takes; how far from now a week may lie is the operation's to say."""

    model_config = ConfigDict(json_schema_extra=_integer_or_empty)

    weekStart: Annotated[
        Annotated[int, Field(ge=0, le=NEWEST_MS)] | None,
        BeforeValidator(_current_when_empty),
        Field(description="Any moment of the week, epoch milliseconds; the current week if nothing is said"),
    ] = None


MOST_WEEKS, USUAL_WEEKS = 12, 8


class CalendarQuery(InventoryQuery):
    """What the calendar takes: the first week as the inventory takes it, and how many."""

    weeks: Annotated[
        Annotated[int, Field(ge=1, le=MOST_WEEKS)],
        BeforeValidator(whole_number),
        Field(description="How many weeks"),
    ] = USUAL_WEEKS


def slot_of(slot: SlotRecord, available: bool | None = None) -> Slot:
    """A slot as it is shown; `available` is for where a week is spoken of."""
    return Slot(
        id=slot.id,
        name=slot.name,
        side=slot.side.value,
        weekPriceCents=slot.week_price_cents,
        active=slot.active,
        available=available,
        durationWeeks=slot.weeks,
        comingSoon=slot.coming_soon,
        offerEndsAt=slot.offer_ends_ms,
        packageKind=None if slot.package_kind is None else slot.package_kind.value,
        description=slot.description,
    )


def admin_slot_of(slot: SlotRecord) -> AdminSlot:
    """A slot as it is shown to administrators."""
    return AdminSlot(**slot_of(slot).model_dump(), retired=None if slot.retired_ms is None else True)


def placement_of(sold: SoldPlacement) -> Placement:
    """A placement as it is shown."""
    return Placement(
        headline=sold.content.headline,
        body=sold.content.body,
        cta=sold.content.cta,
        targetUrl=sold.content.target_url,
        logoText=sold.content.logo_text,
        bookingId=sold.booking_id,
        sponsorName=sold.sponsor_name,
        side=sold.side.value,
        demo=sold.demo,
    )
