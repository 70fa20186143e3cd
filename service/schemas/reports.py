"""Wire models of delivery reports."""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, create_model

from actors.events.messages import SiteDelivered
from actors.times import day_of
from actors.values import Filtered
from service.schemas.fields import Cents, Count, Milliseconds, Query, Ratio
from service.schemas.lists import FileFormat

EPOCH = date(1970, 1, 1)
MAX_DAYS = 366
USUAL_DAYS = 30
MAX_ROWS = 5_000

LAST_DAY = (date(9998, 12, 31) - EPOCH).days
"""The last day that can be named, so that the day after it has a name, too."""

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_WORDS = "must be a date such as 2026-11-18, or epoch milliseconds"

MAX_SITE_DAYS, USUAL_SITE_DAYS = 366, 28


def day_in(value: Any) -> Any:
    """The day since the epoch of a date, or of a time in epoch milliseconds. Empty is absent."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError(_WORDS)
    if _DATE.fullmatch(value):
        try:
            day = (date.fromisoformat(value) - EPOCH).days
        except ValueError:
            raise ValueError(_WORDS) from None
    elif value.isascii() and value.isdigit() and len(value) < 20:
        day = day_of(int(value))
    else:
        raise ValueError(_WORDS)
    if day > LAST_DAY:
        raise ValueError(_WORDS)
    return day


DayIn = Annotated[
    int | None,
    BeforeValidator(day_in),
    WithJsonSchema({"type": "string", "pattern": r"^(\d{4}-\d\d-\d\d|\d{1,16})?$", "examples": ["2026-11-18"]}),
]


def day_field(description: str) -> Any:
    return Field(None, description=description)


class DeliveryQuery(Query):
    """Query of the delivery of a booking."""

    format: FileFormat = "json"


IdIn = Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9_-]*$")]
"""The id that a filter names. Empty is absent."""

ReportQuery: type[BaseModel] = create_model(
    "ReportQuery",
    __base__=Query,
    **{
        "from": (DayIn, day_field("First day (UTC): a date or epoch milliseconds; 29 days before `to` by default")),
        "to": (DayIn, day_field("Last day (UTC), included; today by default")),
        "format": (FileFormat, "json"),
        "campaignId": (IdIn, Field("", description="Bookings of this campaign alone")),
        "slotId": (IdIn, Field("", description="Bookings of this slot alone")),
    },  # type: ignore[call-overload]
)
"""Query of the deliveries of an account."""


class FilteredEvents(BaseModel):
    """Events that were reported and not counted, by reason: the values of `X-Event-Dropped`."""

    duplicate: Count = Field(description="The visitor had been counted on the same day")
    crawler: Count = Field(description="The user agent was that of a crawler")
    prefetch: Count = Field(description="The browser fetched ahead, and the visitor did not see the placement")
    capped: Count = Field(description="The client address or its network had added as many as it may in an hour")
    inactive: Count = Field(description="The placement was not live")

    @classmethod
    def of(cls, filtered: Iterable[Any]) -> "FilteredEvents":
        return cls.model_construct(None, **dict(zip(Filtered._fields, filtered, strict=True)))


FILTERED = "Events that were reported and not counted, by reason"


class Delivered(BaseModel):
    """Impressions, clicks, and clicks divided by impressions, which is null while there are none."""

    impressions: Count = Field(description="Impressions counted")
    clicks: Count = Field(description="Clicks counted")
    ctr: Ratio | None = Field(
        description="Clicks divided by impressions, to six decimal places; null without impressions"
    )
    filtered: FilteredEvents = Field(description=FILTERED)


class ReportRow(Delivered):
    """Delivery of a booking on one day."""

    bookingId: str = Field(description="Id of the booking")
    campaign: str = Field(description="Name of the campaign")
    slot: str = Field(description="Name of the slot")
    date: str = Field(description="UTC, such as 2026-11-18")


class CampaignDelivered(Delivered):
    """Delivery of a campaign in all its bookings."""

    campaignId: str = Field(description="Id of the campaign")
    campaign: str = Field(description="Name of the campaign")


class SlotDelivered(Delivered):
    """Delivery in a slot."""

    slot: str = Field(description="Name of the slot")


class DeliveryCost(BaseModel):
    """What was paid in one currency for the days of a report and not refunded, and what these bookings reached."""

    currency: str = Field(description="ISO 4217, lower case")
    costCents: Cents = Field(
        description="Cost in cents for the days up to today; each day that was bought costs the same"
    )
    impressions: Count = Field(description="Impressions counted")
    clicks: Count = Field(description="Clicks counted")
    clickCents: Cents | None = Field(description="Cost per click in cents, rounded; null without clicks")
    thousandCents: Cents | None = Field(
        description="Cost per 1,000 impressions in cents, rounded; null without impressions"
    )


def rounded(cents: int, count: int) -> int | None:
    """The cents for each, rounded half up; None if there is none."""
    return (2 * cents + count) // (2 * count) if count else None


DateText = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]


DeliveryReport: type[BaseModel] = create_model(
    "DeliveryReport",
    __base__=Delivered,
    __doc__="Delivery of all bookings of an account from a day to another, both included: by booking and day, and sums.",
    **{
        "from": (DateText, Field(description="First day (UTC), such as 2026-11-16")),
        "to": (DateText, Field(description="Last day (UTC), included, such as 2026-11-17")),
        "items": (list[ReportRow], Field(description="Delivery by booking and day")),
        "campaigns": (list[CampaignDelivered], Field(description="Sums by campaign")),
        "slots": (list[SlotDelivered], Field(description="Sums by slot")),
        "costs": (
            list[DeliveryCost],
            Field(description="What it cost, by currency; payments in test mode count only if there are no live ones"),
        ),
    },  # type: ignore[call-overload]
)
"""`from` is no name in Python, so this model and the query are made of tables."""


def rate(impressions: int, clicks: int) -> float | None:
    """The click rate, to six places."""
    return round(clicks / impressions, 6) if impressions else None


class SiteCounts(BaseModel):
    """Delivery by one website."""

    site: str = Field(description="Host of the website, or `other` for all that have no place of their own")
    impressions: Count = Field(description="Impressions counted")
    clicks: Count = Field(description="Clicks counted")
    sharePercent: float = Field(
        ge=0, le=100, description="Share of the impressions of all websites here, per cent to one decimal place"
    )

    @classmethod
    def all_of(cls, sites: Sequence[SiteDelivered]) -> list["SiteCounts"]:
        """Each website with its share of the whole."""
        whole = sum(each.impressions for each in sites) or 1
        return [
            cls(
                site=each.site,
                impressions=each.impressions,
                clicks=each.clicks,
                sharePercent=round(100 * each.impressions / whole, 1),
            )
            for each in sites
        ]


# `from` is a word of Python, so the class statement cannot define it.
_PERIOD: dict[str, Any] = {
    "from": (
        DayIn,
        day_field(f"First day (UTC): a date or epoch milliseconds; {USUAL_SITE_DAYS - 1} days before `to` by default"),
    ),
    "to": (DayIn, day_field("Last day (UTC), included; today by default")),
}
PeriodQuery: type[BaseModel] = create_model("PeriodQuery", __base__=Query, __doc__="A period of UTC days.", **_PERIOD)


_COUNTED: dict[str, Any] = {
    "items": (list[SiteCounts], Field(description="Delivery by website")),
    "counting": (bool, Field(description="Whether events are counted by website now")),
    "from": (Milliseconds, Field(description="00:00 UTC of the first day, epoch milliseconds")),
    "to": (Milliseconds, Field(description="00:00 UTC of the last day, epoch milliseconds")),
}
SiteList: type[BaseModel] = create_model(
    "SiteList", __doc__="Delivery by website in a period, most impressions first.", **_COUNTED
)
