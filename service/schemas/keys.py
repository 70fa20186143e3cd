"""Wire models of key minting, claiming and usage, of scoped keys, and of accounts' tiers (specification, "Resources").

Does not know how a key is made or checked.
"""

from typing import Annotated, Any, Literal

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BaseModel, Field, RootModel, WithJsonSchema

from actors.values import Scope
from service.schemas.fields import Edit, Milliseconds, Strict, absent, optional
from service.schemas.texts import NAME

ENCODED_WORD = "=?"
NO_ADDRESS = "must be an email address, such as you@example.com"


def _address(value: str) -> str:
    """The email in normal form and lower case, so that each mailbox has one account.

    An international domain is kept in its ASCII form, which every mail server accepts. What readers of mail decode as an
    encoded word (RFC 2047) is refused.
    """
    if ENCODED_WORD in value:
        raise ValueError(NO_ADDRESS)
    try:
        checked = validate_email(value, check_deliverability=False, allow_smtputf8=False)
        return (checked.ascii_email or checked.normalized).lower()
    except EmailNotValidError:
        raise ValueError(NO_ADDRESS) from None


def _once(scopes: list[Scope]) -> list[Scope]:
    return list(dict.fromkeys(scopes))


Email = Annotated[
    str,
    Field(max_length=254),
    AfterValidator(_address),
    WithJsonSchema({"type": "string", "format": "email", "maxLength": 254}),
]
MOST_MILLISECONDS = 253_402_300_799_999
"""The end of the year 9999."""
ExpiresAt = Annotated[
    int, Field(ge=0, le=MOST_MILLISECONDS, description="When the key ends, in the future; epoch milliseconds")
]
"""When a key ends. The operation checks that it lies ahead."""
MOST_GRACE_SECONDS = 7 * 24 * 3_600
ClaimToken = Annotated[str, Field(min_length=8, max_length=200)]


class Anything(RootModel[dict[str, Any]]):
    """Any JSON object; its contents are ignored."""


class MintedKey(BaseModel):
    """A new anonymous key. `apiKey` and `claimToken` are shown once."""

    apiKey: str
    tenantId: str
    claimToken: str
    claimUrl: str
    expiresAt: Milliseconds


class ClaimStart(BaseModel, strict=True):
    claimToken: ClaimToken
    email: Email


class ClaimSent(BaseModel):
    sent: bool


class ClaimComplete(BaseModel, strict=True):
    claimToken: ClaimToken
    email: Email
    code: Annotated[str, Field(min_length=4, max_length=64)]


class Usage(BaseModel):
    """Usage and limits of the calling key's tenant."""

    tenantId: str
    status: Literal["anonymous", "claimed", "upgraded"]
    keyPrefix: str = Field(description="First characters of the API key, for display")
    requestsUsed: int = Field(description="Over the key's lifetime while anonymous, in this calendar month afterwards")
    requestLimit: int = Field(description="Lifetime cap while anonymous, monthly cap of the tier afterwards")
    dailyRequestsUsed: int
    dailyRequestLimit: int | None = optional()
    expiresAt: int | None = optional("Epoch milliseconds; only while anonymous")
    email: str | None = optional()


class ScopedKeyRequest(Strict):
    """Name and scopes of a new scoped key."""

    name: Annotated[str, Field(min_length=1, max_length=64), NAME]
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=7), AfterValidator(_once)]
    expiresAt: ExpiresAt = absent()


class KeyEdit(Edit):
    """Changes to a key. Absent fields stay; null takes away the end."""

    name: Annotated[str, Field(min_length=1, max_length=64), NAME] = absent()
    expiresAt: ExpiresAt | None = absent()


class KeyRotation(Strict):
    """How long the old key goes on working."""

    graceSeconds: Annotated[
        int,
        Field(
            ge=0, le=MOST_GRACE_SECONDS, description="Seconds in which both keys work; with 0 the old key ends at once"
        ),
    ]


class KeyRotated(BaseModel):
    """The key that replaces another one. `apiKey` is shown once."""

    apiKey: str
    id: str
    keyPrefix: str = Field(description="First characters of the key, for display")
    scopes: list[Scope] | None = optional()
    name: str | None = optional()
    expiresAt: int | None = optional("Epoch milliseconds; absent if the key does not expire")
    previousId: str = Field(description="The id of the old key")
    previousEndsAt: int = Field(description="When the old key ends or ended; epoch milliseconds")


class ScopedKeyIssued(BaseModel):
    """A new scoped key. `apiKey` is shown once."""

    apiKey: str
    id: str
    scopes: list[Scope]


class ScopedKey(BaseModel):
    """A scoped key as its account sees it."""

    id: str
    keyPrefix: str = Field(description="First characters of the key, for display")
    scopes: list[Scope]
    createdAt: Milliseconds
    name: str | None = optional()
    expiresAt: int | None = optional("Epoch milliseconds; absent if the key does not expire")
    grantedBy: str | None = optional("The id of the key that granted this one and takes it along when it ends")
    replacedBy: str | None = optional("The id of the key that replaced this one in a rotation")


class ScopedKeys(BaseModel):
    """The live scoped keys of the account, newest first."""

    items: list[ScopedKey]


class KeyRevoked(BaseModel):
    """The key is revoked."""

    revoked: Literal[True]
    revokedKeys: list[str] = Field(
        description="Ids of the keys that this request revoked: the key itself and those that it granted"
    )


class TierOrder(Strict):
    """The new tier of an account."""

    email: Email
    tier: Literal["claimed", "upgraded"]


class AccountTier(BaseModel):
    """An account with its current tier."""

    email: str
    tier: Literal["claimed", "upgraded"]
    tenantId: str
