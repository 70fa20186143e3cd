"""Wire models of device login (RFC 8628; specification, "Device authorization").

Knows nothing of how a code is made or compared.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from service.schemas.fields import Milliseconds, Strict, absent

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


def _device_grant(value: str) -> str:
    # A parameter without a value is one that was left out (RFC 6749, 3.2).
    if value not in ("", GRANT):
        raise ValueError(f"must be {GRANT} here")
    return value


Grant = Annotated[str, AfterValidator(_device_grant), WithJsonSchema({"type": "string", "enum": [GRANT, ""]})]
UserCode = Annotated[
    str,
    Field(
        min_length=1,
        max_length=100,
        description="As the device shows it; case does not matter, nor does what is no letter of codes",
    ),
]


class DeviceStarted(BaseModel):
    """A device login that began: what the program keeps, and what it shows."""

    device_code: str = Field(description="Secret, for polling; never displayed")
    user_code: str = Field(description="What a person types at `verification_uri`")
    verification_uri: str
    verification_uri_complete: str = Field(description="The same with the code filled in, for a link or a QR code")
    expires_in: int = Field(description="Seconds until all of this is of no use")
    interval: int = Field(description="Least seconds between polls")


class DeviceTokenRequest(BaseModel):
    """As RFC 8628 (3.4) has it; other properties are ignored."""

    model_config = ConfigDict(strict=True)

    device_code: Annotated[str, Field(min_length=1, max_length=200)]
    grant_type: Grant = absent()
    client_id: str = absent()


class DeviceToken(BaseModel):
    """The key of an approved device, shown once; `access_token` is the same key, where RFC 6749 (5.1) has it."""

    apiKey: str
    tenantId: str
    keyPrefix: str = Field(description="First characters of the key, for display")
    access_token: str
    token_type: Literal["Bearer"]


class ApprovalQuery(BaseModel):
    """Which device login is looked at."""

    userCode: UserCode


class ApprovalDecision(Strict):
    """What a person says to a device login."""

    userCode: UserCode
    decision: Literal["approve", "deny"]


class DeviceApproval(BaseModel):
    """What is asked, for the person who decides."""

    userCode: str = Field(description="As the device shows it: compare them")
    status: Literal["pending", "approved", "denied", "expired", "redeemed"]
    agent: str = Field(description="What the program calls itself; anybody can call himself anything")
    address: str = Field(description="The network address that the program asked from")
    createdAt: Milliseconds
    expiresAt: Milliseconds
