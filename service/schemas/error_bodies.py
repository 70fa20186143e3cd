"""Wire models of the bodies of errors."""

from pydantic import BaseModel, Field

from service.schemas.fields import Count
from service.schemas.problems import MOST_FIELDS


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
    fields: list[FieldError] | None = Field(default=None, max_length=MOST_FIELDS, description=FIELDS)
    retryAfter: Count | None = Field(default=None, description="Mirrors the Retry-After header, in seconds")


class SponsorshipError(CatalogError):
    """Error body of the sponsorship and admin operations."""


class DeviceError(CatalogError):
    """Error body of polling a device login, readable for clients of RFC 8628."""

    error_description: str = Field(description="The same as `message`, as RFC 6749 (5.2) requires")
    interval: Count | None = Field(default=None, description="With `slow_down`: the new polling interval in seconds")
