"""Query parameters of lists, and the pages that they return."""

from typing import Annotated, Any, Literal

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


def or_empty(schema: dict[str, Any]) -> None:
    """Let the document say that an empty value is accepted, too."""
    schema["anyOf"].append({"type": "string", "maxLength": 0})


def _absent_when_null(value: Any) -> Any:
    """Some clients send back the `null` of the last page; it means no cursor."""
    return None if value == "null" else absent_when_blank(value)


Cursor = Annotated[
    Annotated[str, StringConstraints(max_length=2_000)] | None,
    BeforeValidator(_absent_when_null),
    Field(description="Opaque; from a previous response"),
]


FileFormat = Annotated[
    Literal["json", "csv"],
    Field(
        description="`csv` returns a file with a header line, in UTF-8; text that looks like a formula has an apostrophe"
    ),
]
"""The format of a list that is also a spreadsheet; JSON by default."""


class CatalogQuery(Query):
    """Query of the two catalog lists."""

    q: Annotated[
        Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")] | None,
        BeforeValidator(absent_when_blank),
        Field(
            description="Full-text search, ranked; no cursor is returned and `cursor` is ignored. If no entry has all words, "
            "and none is excluded (`-word`) or in quotes, entries that have the most of them are returned"
        ),
    ] = None
    category: Annotated[
        Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")] | None,
        BeforeValidator(absent_when_blank),
        Field(description="Only entries of this category of `listCategories`, in any case; none if it does not exist"),
    ] = None
    cursor: Cursor = None
    limit: Annotated[
        Annotated[int, Field(ge=1, le=100)] | None,
        BeforeValidator(_limit),
        Field(description="Page size", json_schema_extra=or_empty),
    ] = DEFAULT_LIMIT


class SponsorshipQuery(Query):
    """Query of the lists of the sponsorship area."""

    cursor: Cursor = None
    limit: Annotated[
        Annotated[int, Field(ge=1, le=50)] | None,
        BeforeValidator(_limit),
        Field(description="Page size", json_schema_extra=or_empty),
    ] = DEFAULT_LIMIT


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

    status: Annotated[
        Literal["draft", "pending", "approved", "rejected", "paused"] | None,
        BeforeValidator(absent_when_empty),
        Field(description="Only campaigns with this status", json_schema_extra=or_empty),
    ] = None
    order: Annotated[
        Literal["newest", "oldest"] | None,
        BeforeValidator(absent_when_empty),
        Field(description="Sort order; newest first by default", json_schema_extra=or_empty),
    ] = None
