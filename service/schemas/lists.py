"""Query parameters of lists, and the pages that they return."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from service.schemas.fields import Query

DEFAULT_LIMIT = 20


def whole_number(value: Any) -> Any:
    """Accept only plain digits as a number. A leading minus is left for a bound to reject."""
    if isinstance(value, str) and not (value.isascii() and value.removeprefix("-").isdigit() and len(value) < 20):
        raise ValueError("must be a whole number")
    return value


def _limit(value: Any) -> Any:
    """Absent, empty and `null` mean the default."""
    return DEFAULT_LIMIT if value is None or value in ("", "null") else whole_number(value)


def absent_when_empty(value: Any) -> Any:
    """Absent and empty mean None, as in a form whose choice was left open."""
    return None if value == "" else value


def absent_when_blank(value: Any) -> Any:
    """Absent, empty and only white space mean None, as in a form whose text was left open."""
    return None if isinstance(value, str) and not value.strip() else value


def _or_empty(schema: dict[str, Any]) -> None:
    """Let the document say that an empty value is accepted, too."""
    schema["anyOf"].append({"type": "string", "maxLength": 0})


T = TypeVar("T")
Whole = Annotated[T, BeforeValidator(whole_number)]
Choice = Annotated[T | None, BeforeValidator(absent_when_empty)]
"""A filter of a form whose choice may be left open; its field is a `choice`."""
FreeText = Annotated[T | None, BeforeValidator(absent_when_blank)]
"""A filter of a form whose text may be left open."""

SearchText = Annotated[str, StringConstraints(max_length=254, pattern=r"^[^\x00]*$")]
_Words = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")]


SEARCH_READS = "A search reads 20,000 rows of a page at most"
CAMPAIGN_SEARCH = f"The id of a campaign, or a part of its name, of its target or of the sponsor's name. {SEARCH_READS}"


def choice(description: str, **more: Any) -> Any:
    """The field of a `Choice`."""
    return Field(default=None, description=description, json_schema_extra=_or_empty, **more)


def _absent_when_null(value: Any) -> Any:
    """Some clients send back the `null` of the last page; it means no cursor."""
    return None if value == "null" else absent_when_blank(value)


Cursor = Annotated[
    Annotated[str, StringConstraints(max_length=2_000)] | None,
    BeforeValidator(_absent_when_null),
    Field(description="Opaque; from a previous response"),
]

_Limit = Annotated[T | None, BeforeValidator(_limit), Field(description="Page size", json_schema_extra=_or_empty)]

FileFormat = Annotated[
    Literal["json", "csv"],
    Field(
        description="`csv` returns a file with a header line, in UTF-8; text that a spreadsheet could take for a formula "
        "has an apostrophe"
    ),
]
"""The format of a list that is also a spreadsheet; JSON by default."""


class CatalogQuery(Query):
    """Query of the two catalog lists."""

    q: FreeText[_Words] = Field(
        default=None,
        description="Full-text search, ranked; no cursor is returned and `cursor` is ignored. If no entry has all words, "
        "and none is excluded (`-word`) or in quotes, entries that have the most of them are returned",
    )
    category: FreeText[_Words] = Field(
        default=None,
        description="Only entries of this category of the list of categories, in any case; none if it does not exist",
    )
    cursor: Cursor = None
    limit: _Limit[Annotated[int, Field(ge=1, le=100)]] = DEFAULT_LIMIT


class ChangesQuery(Query):
    """Query of the changes of the catalog."""

    cursor: Cursor = None
    limit: _Limit[Annotated[int, Field(ge=1, le=1_000)]] = DEFAULT_LIMIT


class SponsorshipQuery(Query):
    """Query of the lists of the sponsorship area."""

    cursor: Cursor = None
    limit: _Limit[Annotated[int, Field(ge=1, le=50)]] = DEFAULT_LIMIT


class Page(BaseModel):
    """A page of a list of the sponsorship area."""

    cursor: str | None = Field(description="For the next page; null on the last one")
    hasMore: bool = Field(description="Whether there is another page")


class ListQuery(SponsorshipQuery):
    """Query of a list that is also a spreadsheet, which has all pages."""

    format: FileFormat = "json"


class SlotsQuery(Query):
    """Query of the list of slots."""

    format: FileFormat = "json"


class CampaignsQuery(ListQuery):
    """Query of the administrators' list of campaigns."""

    status: Choice[Literal["draft", "pending", "approved", "rejected", "paused"]] = choice(
        "Only campaigns with this status"
    )
    order: Choice[Literal["newest", "oldest"]] = choice("Sort order; newest first by default")
    query: FreeText[SearchText] = Field(default=None, description=CAMPAIGN_SEARCH)


class ReviewsQuery(SponsorshipQuery):
    """Query of the campaigns that wait for review."""

    query: FreeText[SearchText] = Field(default=None, description=CAMPAIGN_SEARCH)


class SponsorsQuery(ListQuery):
    """Query of the administrators' list of sponsors."""

    query: FreeText[SearchText] = Field(
        default=None,
        description=f"The id of a sponsor or of its account, or a part of its name or website. {SEARCH_READS}",
    )
