"""Fields that several wire models share: optional ones that are left out, keys that repeat safely, identifiers."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetPydanticSchema,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

NEWEST_MS = 2**53
"""Times are JSON numbers, and every language reads them exactly up to here."""

Milliseconds = Annotated[int, Field(description="Epoch milliseconds")]
"""A time in a response."""

MillisecondsIn = Annotated[int, Field(ge=0, le=NEWEST_MS, description="Epoch milliseconds")]
"""A time in a request."""

BillingMode = Literal["test", "live"]

_UUID = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


def optional(description: str | None = None) -> Any:
    """A field of an answer that is left out where there is nothing to say; never null."""
    return Field(default=None, description=description, exclude_if=lambda value: value is None)


def _without_default(schema: dict[str, Any]) -> None:
    """An absent field stays as it is; the document must not say that null is its default."""
    schema.pop("default", None)


def absent() -> Any:
    """A field of a body that may be left out, and then is None here; null is another matter."""
    return Field(default=None, json_schema_extra=_without_default)


def _uuid(_source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
    """Checked and lowered without a call into Python: batches have one in each of their events."""
    text = core_schema.str_schema(pattern=_UUID, to_lower=True, strict=True)
    words = "must be a UUID, such as 3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"
    return core_schema.custom_error_schema(text, custom_error_type="uuid", custom_error_message=words)


Uuid = Annotated[str, GetPydanticSchema(_uuid), WithJsonSchema({"type": "string", "format": "uuid"})]
"""A UUID as RFC 9562 writes it; letters of either case are the same key, and become lower case."""

Reference = Annotated[str, Field(min_length=1, max_length=100)]
"""The id of something that may or may not exist."""


Id = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]
"""What every id of this service looks like; a path that names another one is 404."""


def may_exist(reference: str) -> bool:
    """Whether anything can have this id: others need no look, and some no database can be asked for."""
    return _ID.fullmatch(reference) is not None


class Strict(BaseModel):
    """What is read strictly: another property, or a value of another type, is an error."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Edit(Strict):
    """A strict body that changes what it names, and names something."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must name at least one field")
        return self
