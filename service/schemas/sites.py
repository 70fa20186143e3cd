"""Wire models of what was counted by website. They extend the specification."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, create_model

from actors.events.messages import SiteDelivered
from service.schemas.fields import NEWEST_MS
from service.schemas.lists import whole_number

MOST_DAYS, USUAL_DAYS = 366, 28


class SiteCounts(BaseModel):
    """What one website has delivered."""

    site: str = Field(description="Host of the website, or `other` for all that have no place of their own")
    impressions: int
    clicks: int

    @classmethod
    def of(cls, delivered: SiteDelivered) -> "SiteCounts":
        return cls(site=delivered.site, impressions=delivered.impressions, clicks=delivered.clicks)


def _none_when_empty(value: Any) -> Any:
    return None if value == "" else whole_number(value)


def _integer_or_empty(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [
        *(kind for kind in schema["anyOf"] if kind != {"type": "null"}),
        {"type": "string", "maxLength": 0},
    ]
    schema.pop("default", None)


def _moment(description: str) -> Any:
    """A time that may be absent or empty."""
    return Annotated[
        Annotated[int, Field(ge=0, le=NEWEST_MS)] | None,
        BeforeValidator(_none_when_empty),
        Field(description=description, json_schema_extra=_integer_or_empty),
    ]


# `from` is a word of Python, so the class statement cannot define it.
_PERIOD: dict[str, Any] = {
    "from": (_moment(f"Any time of the first day, epoch milliseconds; {USUAL_DAYS} days up to `to` by default"), None),
    "to": (_moment("Any time of the last day, epoch milliseconds; today by default"), None),
}
PeriodQuery: type[BaseModel] = create_model("PeriodQuery", __doc__="A period of UTC days.", **_PERIOD)


_COUNTED: dict[str, Any] = {
    "items": (list[SiteCounts], ...),
    "counting": (bool, Field(description="Whether events are counted by website now")),
    "from": (int, Field(description="00:00 UTC of the first day, epoch milliseconds")),
    "to": (int, Field(description="00:00 UTC of the last day, epoch milliseconds")),
}
SiteList: type[BaseModel] = create_model(
    "SiteList", __doc__="What each website has delivered in a period, most impressions first.", **_COUNTED
)
