"""Wire models of device login (RFC 8628; specification, "Device authorization").

Does not know how a code is made or compared.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from service.schemas.fields import Count, Milliseconds, Query, Strict, absent

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


def _device_grant(value: str) -> str:
    # A parameter without a value counts as absent (RFC 6749, 3.2).
    if value not in ("", GRANT):
        raise ValueError(f"must be {GRANT}")
    return value


Grant = Annotated[str, AfterValidator(_device_grant), WithJsonSchema({"type": "string", "enum": [GRANT, ""]})]
UserCode = Annotated[
    str,
    Field(
        min_length=1,
        max_length=100,
        description="As shown by the device. Case is ignored, and so are characters that do not occur in codes",
    ),
]


class DeviceStarted(BaseModel):
    """A new device login: the secret that the program keeps, and the code that it shows."""

    device_code: str = Field(description="Secret, for polling; never displayed")
    user_code: str = Field(description="Typed by a person at `verification_uri`")
    verification_uri: str = Field(description="Page at which a person types the code")
    verification_uri_complete: str = Field(description="The same with the code filled in, for a link or a QR code")
    expires_in: Count = Field(description="Seconds until the login expires")
    interval: Count = Field(description="Minimum seconds between polls")


class DeviceTokenRequest(BaseModel, strict=True):
    """A poll as in RFC 8628 (3.4); other properties are ignored."""

    device_code: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="The `device_code` of the login"
    )
    grant_type: Grant = absent("As RFC 8628 requires; may be absent or empty")
    client_id: str = absent("Accepted as RFC 8628 requires, and ignored")


class DeviceToken(BaseModel):
    """The key of an approved device, shown once. `access_token` is the same key under its name in RFC 6749 (5.1)."""

    apiKey: str = Field(description="The key, shown only in this response. Send it as `Authorization: Bearer`")
    tenantId: str = Field(description="Id of the account of the key")
    keyPrefix: str = Field(description="First characters of the key, for display")
    access_token: str = Field(description="The same as `apiKey`")
    token_type: Literal["Bearer"] = Field(description="Always `Bearer`")


class ApprovalQuery(Query):
    """The device login to look up."""

    userCode: UserCode


class ApprovalDecision(Strict):
    """A person's decision on a device login."""

    userCode: UserCode
    decision: Literal["approve", "deny"] = Field(description="Whether the device gets a key")
    admin: Annotated[bool, Field(description="The key carries administration; only for administrators")] = absent()


class DeviceApproval(BaseModel):
    """A device login as shown to the person who decides."""

    userCode: str = Field(description="Compare it with the code on the device")
    status: Literal["pending", "approved", "denied", "expired", "redeemed"] = Field(
        description="State of the login; `redeemed` once the device has its key"
    )
    agent: str = Field(description="The program's name for itself; not verified")
    address: str = Field(description="Network address of the program")
    createdAt: Milliseconds
    expiresAt: Milliseconds
