"""Wire models of the bodies of errors."""

from pydantic import BaseModel, Field

from service.schemas.fields import Count


class CatalogError(BaseModel):
    """Error body of the catalog, key lifecycle and usage operations."""

    error: str = Field(description="Stable machine-readable code")
    message: str = Field(description="Explanation for a person; may change")
    hint: str | None = Field(default=None, description="Path of the endpoint that resolves the error")
    retryAfter: Count | None = Field(default=None, description="Mirrors the Retry-After header, in seconds")


class SponsorshipError(BaseModel):
    """Error body of the sponsorship and admin operations."""

    error: str = Field(description="Stable machine-readable code")
    message: str = Field(description="Explanation for a person; may change")
    hint: str | None = Field(default=None, description="Path of the endpoint that resolves the error")
    retryAfter: Count | None = Field(default=None, description="Mirrors the Retry-After header, in seconds")


class DeviceError(CatalogError):
    """Error body of polling a device login, readable for clients of RFC 8628."""

    error_description: str = Field(description="The same as `message`, as RFC 6749 (5.2) requires")
    interval: Count | None = Field(default=None, description="With `slow_down`: the new polling interval in seconds")
