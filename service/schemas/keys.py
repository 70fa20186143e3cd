"""Wire models of key minting, claiming and usage, of scoped keys, and of accounts' tiers (specification, "Resources").

Does not know how a key is made or checked.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, RootModel, WithJsonSchema

from actors.values import Scope
from service.schemas.fields import Count, Edit, Milliseconds, Strict, absent, optional
from service.schemas.texts import NAME
from service.schemas.urls import NEWER

ENCODED_WORD = "=?"
LOCAL_BYTES = 64
"""The longest part before the `@` (RFC 5321, 4.5.3.1.1). A domain's limits are checked by the library."""
NO_ADDRESS = "must be an email address, such as you@example.com"


def _address(value: str) -> str:
    """The email in normal form and lower case, so that each mailbox has one account.

    An international domain is kept in its ASCII form, which every mail server accepts. What readers of mail decode as an
    encoded word (RFC 2047) is refused.
    """
    # Loaded here, because it compiles long patterns, for a fiftieth of a second.
    from email_validator import EmailNotValidError, validate_email

    if ENCODED_WORD in value or NEWER.search(value):
        raise ValueError(NO_ADDRESS)
    try:
        if len(value.rpartition("@")[0].encode()) > LOCAL_BYTES:
            raise ValueError(NO_ADDRESS)
        checked = validate_email(value, check_deliverability=False, allow_smtputf8=False)
    except EmailNotValidError:
        raise ValueError(NO_ADDRESS) from None
    if NEWER.search(checked.domain):
        raise ValueError(NO_ADDRESS)
    return (checked.ascii_email or checked.normalized).lower()


def _once(scopes: list[Scope]) -> list[Scope]:
    return list(dict.fromkeys(scopes))


Email = Annotated[
    str,
    Field(max_length=254),
    AfterValidator(_address),
    WithJsonSchema({"type": "string", "format": "email", "maxLength": 254}),
]
MAX_MILLISECONDS = 253_402_300_799_999
"""The end of the year 9999."""
ExpiresAt = Annotated[
    int, Field(ge=0, le=MAX_MILLISECONDS, description="When the key expires, in the future; epoch milliseconds")
]
"""When a key expires. The operation checks that it lies ahead."""
MAX_GRACE_SECONDS = 7 * 24 * 3_600
ClaimToken = Annotated[str, Field(min_length=8, max_length=200)]


class Anything(RootModel[dict[str, Any]]):
    """Any JSON object; its contents are ignored."""


class MintedKey(BaseModel):
    """A new anonymous key. `apiKey` and `claimToken` are shown once."""

    apiKey: str = Field(description="The key, shown only in this response. Send it as `Authorization: Bearer`")
    tenantId: str = Field(description="Id of the account, or of the anonymous owner, of the key")
    claimToken: str = Field(description="Token to claim the key by email with, shown only in this response")
    claimUrl: str = Field(description="Page at which a person claims the key")
    expiresAt: Milliseconds


class ClaimStart(BaseModel, strict=True):
    """A claim token and the email address that claims its key."""

    claimToken: ClaimToken = Field(description="The `claimToken` that came with the key")
    email: Email = Field(description="Email address to send the code to")


class ClaimSent(BaseModel):
    """The code is on its way."""

    sent: bool = Field(description="Always true")


class ClaimComplete(BaseModel, strict=True):
    """A claim token, the email address and the code that it received."""

    claimToken: ClaimToken = Field(description="The `claimToken` that came with the key")
    email: Email = Field(description="Email address that received the code")
    code: Annotated[str, Field(min_length=4, max_length=64)] = Field(description="The code of the mail: 6 or 12 digits")


class Usage(BaseModel):
    """Usage and limits of the calling key's tenant."""

    tenantId: str = Field(description="Id of the account, or of the anonymous owner, of the key")
    status: Literal["anonymous", "claimed", "upgraded"] = Field(
        description="Tier of the key: anonymous, or that of its account"
    )
    keyPrefix: str = Field(description="First characters of the API key, for display")
    requestsUsed: Count = Field(
        description="Over the key's lifetime while anonymous, in this calendar month afterwards"
    )
    requestLimit: Count = Field(description="Lifetime cap while anonymous, monthly cap of the tier afterwards")
    dailyRequestsUsed: Count = Field(description="Requests of this day (UTC)")
    dailyRequestLimit: Count | None = optional("Most requests of a day (UTC); absent without a limit")
    expiresAt: Milliseconds | None = optional("Epoch milliseconds; only while anonymous")
    email: str | None = optional("Email address of the account; absent while anonymous")


class ExposedKey(Strict):
    """A text that a scanner found, in the form of GitHub's secret scanning partner program."""

    token: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="The text that was found")
    type: Annotated[str, Field(max_length=100)] = Field(description="The scanner's name of this kind of text")
    url: Annotated[str, Field(max_length=2_048, pattern=r"^[^\x00-\x1f\x7f]*$")] = Field(
        default="", description="Where it was found, on one line; empty if that is not known"
    )
    source: Annotated[str, Field(max_length=100)] = Field(
        default="", description="The kind of place where it was found, such as `commit`; has no effect"
    )


class ExposedKeys(RootModel[Annotated[list[ExposedKey], Field(min_length=1, max_length=100)]]):
    """What a scanner found, at most 100 texts."""


class ExposedResult(BaseModel):
    """Whether a text is a key of this service."""

    token_hash: str = Field(description="SHA-256 of the text, in hexadecimal")
    token_type: str = Field(description="The `type` of the report")
    label: Literal["true_positive", "false_positive"] = Field(
        description="`true_positive` for a key of this service, which has ended; `false_positive` for any other text"
    )


class ExposedResults(RootModel[list[ExposedResult]]):
    """A result for each text, in the order of the report."""


class ScopedKeyRequest(Strict):
    """Name and scopes of a new scoped key."""

    name: Annotated[str, Field(min_length=1, max_length=64), NAME] = Field(
        description="Name to tell the key by; one line"
    )
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=7), AfterValidator(_once)] = Field(
        description="Scopes of the key; repeated ones count once"
    )
    expiresAt: ExpiresAt = absent()


class KeyEdit(Edit):
    """Changes to a key. Absent fields stay; with an `expiresAt` of null the key never expires."""

    name: Annotated[str, Field(min_length=1, max_length=64), NAME] = absent("Name to tell the key by; one line")
    expiresAt: ExpiresAt | None = absent("When the key expires, in the future; epoch milliseconds. Null: never")


class KeyRotation(Strict):
    """The grace of the old key."""

    graceSeconds: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_GRACE_SECONDS,
            description="Seconds in which both keys work; with 0 the old key expires at once",
        ),
    ]


class KeyRotated(BaseModel):
    """The key that replaces another one. `apiKey` is shown once."""

    apiKey: str = Field(description="The key, shown only in this response. Send it as `Authorization: Bearer`")
    id: str = Field(description="Id of the key, to revoke it by")
    keyPrefix: str = Field(description="First characters of the key, for display")
    scopes: list[Scope] | None = optional("Scopes of the key; absent for a full key")
    name: str | None = optional("Name chosen for the key")
    expiresAt: Milliseconds | None = optional("Epoch milliseconds; absent if the key does not expire")
    previousId: str = Field(description="The id of the old key")
    previousEndsAt: Milliseconds = Field(description="When the old key expires or expired; epoch milliseconds")


class ScopedKeyIssued(BaseModel):
    """A new scoped key. `apiKey` is shown once."""

    apiKey: str = Field(description="The key, shown only in this response. Send it as `Authorization: Bearer`")
    id: str = Field(description="Id of the key, to revoke it by")
    scopes: list[Scope] = Field(description="Scopes of the key")


class ScopedKey(BaseModel):
    """A scoped key as its account sees it."""

    id: str = Field(description="Id of the key")
    keyPrefix: str = Field(description="First characters of the key, for display")
    scopes: list[Scope] = Field(description="Scopes of the key")
    createdAt: Milliseconds
    name: str | None = optional("Name chosen for the key")
    expiresAt: Milliseconds | None = optional("Epoch milliseconds; absent if the key does not expire")
    grantedBy: str | None = optional("The id of the key that granted this one, and with which it is revoked")
    replacedBy: str | None = optional("The id of the key that replaced this one in a rotation")


class ScopedKeys(BaseModel):
    """The live scoped keys of the account, newest first."""

    items: list[ScopedKey] = Field(description="The keys")


class KeyRevoked(BaseModel):
    """The key is revoked."""

    revoked: Literal[True] = Field(description="Always true")
    revokedKeys: list[str] = Field(
        description="Ids of the keys that this request revoked: the key itself and those that it granted"
    )


class TierOrder(Strict):
    """The new tier of an account."""

    email: Email = Field(description="Email address of the account")
    tier: Literal["claimed", "upgraded"] = Field(description="The new tier")


class AccountTier(BaseModel):
    """An account with its current tier."""

    email: str = Field(description="Email address of the account, in lower case")
    tier: Literal["claimed", "upgraded"] = Field(description="The tier that the account has now")
    tenantId: str = Field(description="Id of the account, or of the anonymous owner, of the key")
