"""Types that several wire models share: optional fields, times, identifiers and strict bodies."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from service.schemas.problems import MAX_FIELDS

NEWEST_MS = 2**53
"""Times are JSON numbers, and every language reads them exactly up to here."""


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The lower bound of a number in a response. It stands in the document only and is not checked."""

    minimum: int

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "minimum": self.minimum}


Milliseconds = Annotated[int, AtLeast(0), Field(description="Epoch milliseconds")]
"""A time in a response."""

Count = Annotated[int, AtLeast(0)]
"""A number of things in a response."""

Cents = Annotated[int, AtLeast(0)]
"""An amount of money in a response."""

NetCents = Annotated[int, AtLeast(-(2**53) + 1)]
"""A difference of amounts, which may be negative: the least whole number that every JSON parser reads exactly."""

Ratio = Annotated[float, AtLeast(0)]
"""A number in a response that need not be whole."""

MillisecondsIn = Annotated[int, Field(ge=0, le=NEWEST_MS, description="Epoch milliseconds")]
"""A time in a request."""

BillingMode = Literal["test", "live"]

_UUID = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def optional(description: str | None = None) -> Any:
    """A response field that is absent if it has no value; never null."""
    return Field(default=None, exclude_if=lambda value: value is None, **_described(description))


def _described(description: str | None) -> dict[str, Any]:
    """Without words of its own, a field has those of its type."""
    return {} if description is None else {"description": description}


def absent(description: str | None = None) -> Any:
    """A body field that may be absent, and then is None here. Whether null is allowed is up to its type."""
    return Field(default=None, **_described(description))


def _uuid(_source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
    """Validated and lower-cased without a call into Python, because each event of a batch has one."""
    text = core_schema.str_schema(pattern=_UUID, to_lower=True, strict=True)
    words = "must be a UUID, such as 3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
    return core_schema.custom_error_schema(text, custom_error_type="uuid", custom_error_message=words)


Uuid = Annotated[str, GetPydanticSchema(_uuid), WithJsonSchema({"type": "string", "format": "uuid"})]
"""A UUID as in RFC 9562. Upper-case letters become lower case, so both are the same key."""

Reference = Annotated[str, Field(min_length=1, max_length=100)]
"""An id that may not exist."""


Id = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]
"""The form of every id of this service. A path with any other id returns 404."""


def may_exist(reference: str) -> bool:
    """Whether this can be an id. Others need no lookup, and some would be an error in the database."""
    return _ID.fullmatch(reference) is not None


class Strict(BaseModel):
    """A body that is read strictly: an unknown property or a value of another type is an error."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Query(BaseModel):
    """The parameters of a query string. Requests with the same short one share it, so it never changes."""

    model_config = ConfigDict(frozen=True)


class Edit(Strict, json_schema_extra={"minProperties": 1}):
    """A strict body of changes. It has at least one field, and absent fields stay as they are."""

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must have at least one field")
        return self


class FieldError(BaseModel):
    """One field of a request that is wrong."""

    name: str = Field(
        description="The field or parameter, with a path into the body such as `events.2.bookingId`; at most 100 characters"
    )
    message: str = Field(description="What is wrong with it, for a person; may change")


FIELDS = "With `invalid_request`: the fields that are wrong, in the order of the input, if the error is about fields"


class CatalogError(BaseModel):
    """Error body of the catalog, key lifecycle and usage operations."""

    error: str = Field(description="Stable machine-readable code")
    message: str = Field(description="Explanation for a person; may change")
    hint: str | None = Field(default=None, description="Path of the endpoint that resolves the error")
    fields: list[FieldError] | None = Field(default=None, max_length=MAX_FIELDS, description=FIELDS)
    retryAfter: Count | None = Field(default=None, description="Mirrors the Retry-After header, in seconds")


class SponsorshipError(CatalogError):
    """Error body of the sponsorship and admin operations."""


class DeviceError(CatalogError):
    """Error body of polling a device login, readable for clients of RFC 8628."""

    error_description: str = Field(description="The same as `message`, as RFC 6749 (5.2) requires")
    interval: Count | None = Field(default=None, description="With `slow_down`: the new polling interval in seconds")
