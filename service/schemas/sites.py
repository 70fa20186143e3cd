"""Wire models of what was counted by website. They extend the specification."""

from typing import Any

from pydantic import BaseModel, Field, create_model

from actors.events.messages import SiteDelivered
from service.schemas.fields import Count, Milliseconds, Query
from service.schemas.reports import DayIn, day_field

MOST_DAYS, USUAL_DAYS = 366, 28


class SiteCounts(BaseModel):
    """Delivery by one website."""

    site: str = Field(description="Host of the website, or `other` for all that have no place of their own")
    impressions: Count = Field(description="Impressions counted")
    clicks: Count = Field(description="Clicks counted")

    @classmethod
    def of(cls, delivered: SiteDelivered) -> "SiteCounts":
        return cls(site=delivered.site, impressions=delivered.impressions, clicks=delivered.clicks)


# `from` is a word of Python, so the class statement cannot define it.
_PERIOD: dict[str, Any] = {
    "from": (
        DayIn,
        day_field(f"First day (UTC): a date or epoch milliseconds; {USUAL_DAYS - 1} days before `to` by default"),
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
