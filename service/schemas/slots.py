"""Wire models of creating and editing slots, also used by the commands (specification, "Slot"; ADR 0021)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from actors.bookings.records import PackageKind, Side
from actors.values import Refused, invalid_field
from service.schemas.fields import Edit, MillisecondsIn, Strict, absent
from service.schemas.texts import NAME, READABLE

SlotId = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[a-z0-9-]+$")]
SlotName = Annotated[str, Field(min_length=1, max_length=100), NAME]
Description = Annotated[str, Field(min_length=1, max_length=300), READABLE]
WeekPrice = Annotated[int, Field(ge=50, le=10_000_000, description="Price per week in cents")]
Weeks = Annotated[int, Field(ge=1, le=52, description="Consecutive weeks sold at once")]
SideName = Literal["left", "right"]
PackageName = Literal["website", "youtube", "bundle"]

COLUMNS = {
    "name": "name",
    "side": "side",
    "weekPriceCents": "week_price_cents",
    "active": "active",
    "durationWeeks": "weeks",
    "comingSoon": "coming_soon",
    "offerEndsAt": "offer_ends_ms",
    "packageKind": "package_kind",
    "description": "description",
}
"""The fields and their names in the ledger."""


class SlotCreate(Strict):
    """A new slot. An `id` is generated if absent. `offerEndsAt` must be in the future."""

    id: SlotId | None = Field(default=None, description="Id of the slot: lower-case letters, digits and hyphens")
    name: SlotName = Field(description="Name of the slot; one line")
    side: SideName = Field(description="Column of the page in which the slot is shown")
    weekPriceCents: WeekPrice
    active: bool = Field(default=True, description="Whether it is for sale")
    durationWeeks: Weeks = 1
    comingSoon: bool = Field(default=False, description="Whether it is shown but not sold yet")
    offerEndsAt: MillisecondsIn | None = Field(
        default=None, description="End of the offer, in epoch milliseconds; null for no end"
    )
    packageKind: PackageName | None = Field(
        default=None,
        description="Contents of the package: a place on the website, a video, or both (`bundle`); null if unspecified",
    )
    description: Description | None = Field(default=None, description="Description of the package; null for none")

    def arguments(self) -> dict[str, Any]:
        """The arguments of `BookingLedger.create_slot`, without the agent."""
        return {"slot_id": self.id, **{COLUMNS[name]: _typed(name, getattr(self, name)) for name in COLUMNS}}


class SlotEdit(Edit):
    """Changes to a slot. Absent fields stay; null clears an optional one."""

    name: SlotName = absent("Name of the slot; one line")
    side: SideName = absent("Column of the page in which the slot is shown")
    weekPriceCents: WeekPrice = absent()
    active: bool = absent("Whether it is for sale")
    durationWeeks: Weeks = absent()
    comingSoon: bool = absent("Whether it is shown but not sold yet")
    offerEndsAt: MillisecondsIn | None = absent("End of the offer, in epoch milliseconds; null for no end")
    packageKind: PackageName | None = absent(
        "Contents of the package: a place on the website, a video, or both (`bundle`); null if unspecified"
    )
    description: Description | None = absent("Description of the package; null for none")

    def arguments(self) -> dict[str, Any]:
        """The arguments of `BookingLedger.edit_slot`, without the slot and the agent."""
        given = {name: getattr(self, name) for name in COLUMNS if name in self.model_fields_set}
        changes = {COLUMNS[name]: _typed(name, value) for name, value in given.items() if value is not None}
        cleared = tuple(COLUMNS[name] for name, value in given.items() if value is None)
        return {**changes, "clear": cleared} if cleared else changes


def offer_over(slot: SlotCreate | SlotEdit, now_ms: int) -> Refused | None:
    """A refusal if the offer would end in the past."""
    if slot.offerEndsAt is None or slot.offerEndsAt > now_ms:
        return None
    return invalid_field("offerEndsAt", "not_in_future", "must be in the future")


def _typed(name: str, value: Any) -> Any:
    match name:
        case "side":
            return Side(value)
        case "packageKind" if value is not None:
            return PackageKind(value)
        case _:
            return value
