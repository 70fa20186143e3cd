"""Wire models of an account's own view: its usage by day and all of its keys."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field

from actors.values import Scope
from service.schemas.fields import Count, Milliseconds, Query, Strict, absent, optional
from service.schemas.keys import ExpiresAt
from service.schemas.lists import whole_number
from service.schemas.texts import NAME

DEFAULT_DAYS, MOST_DAYS = 30, 90


class UsageDaysQuery(Query):
    """The number of days to list."""

    days: Annotated[
        Annotated[int, Field(ge=1, le=MOST_DAYS)],
        BeforeValidator(whole_number),
        Field(description="Number of days, including today"),
    ] = DEFAULT_DAYS


class UsageDay(BaseModel):
    """Usage of an account on one day."""

    day: Milliseconds = Field(description="00:00 UTC of the day, epoch milliseconds")
    used: Count = Field(description="Requests counted against the quota")


class UsageDays(BaseModel):
    """Every day of the period, oldest first, including days without any use."""

    items: list[UsageDay] = Field(description="The days")


class KeyUsage(BaseModel):
    """Usage of one key."""

    id: str = Field(description="Id of the key")
    keyPrefix: str = Field(description="First characters of the key, for display")
    name: str | None = optional("Name chosen for the key")
    used: Count = Field(description="Requests in the period")
    days: list[UsageDay] = Field(description="The days with use, oldest first")


class UsageByKey(BaseModel):
    """Usage of an account by key and day. `items` and `other` add up to `used`, and to the usage of the account's days."""

    items: list[KeyUsage] = Field(description="The live keys of the account, newest first")
    other: list[UsageDay] = Field(
        description="Requests of keys that have ended, and of the time before requests were counted by key"
    )
    used: Count = Field(description="Requests of the account in the period")


class AccountKeyRequest(Strict):
    """Optional name, end and administration of a new full key."""

    name: Annotated[str, Field(min_length=1, max_length=64), NAME] = absent("Name to tell the key by; one line")
    expiresAt: ExpiresAt = absent()
    admin: Annotated[bool, Field(description="Carry administration; only for administrators")] = absent()


class AccountKeyIssued(BaseModel):
    """A new full key. `apiKey` is shown once."""

    apiKey: str = Field(description="The key, shown only in this response. Send it as `Authorization: Bearer`")
    id: str = Field(description="Id of the key, to revoke it by")
    keyPrefix: str = Field(description="First characters of the key, for display")


class AccountKey(BaseModel):
    """A key as its account sees it. One without scopes is a full key."""

    id: str = Field(description="Id of the key")
    keyPrefix: str = Field(description="First characters of the key, for display")
    kind: Literal["anon", "user", "scoped"] = Field(
        description="`anon`: minted and then claimed; `user`: issued to the account; `scoped`: limited to scopes"
    )
    scopes: list[Scope] | None = optional("Scopes of the key; absent for a full key")
    name: str | None = optional("Name chosen for the key")
    admin: bool = Field(description="Whether the key carries administration, while the account is an administrator's")
    createdAt: Milliseconds
    expiresAt: Milliseconds | None = optional("Epoch milliseconds; absent if the key does not expire")
    grantedBy: str | None = optional("The id of the key that granted this one and takes it along when it ends")
    replacedBy: str | None = optional("The id of the key that replaced this one in a rotation")
    lastUsedAt: Milliseconds | None = optional("Epoch milliseconds; up to a minute late, absent if no use is known")


class AccountKeys(BaseModel):
    """The live keys of the account, full and scoped, newest first."""

    items: list[AccountKey] = Field(description="The keys")


class EndAllRequest(Strict):
    """Whether the session of this request ends, too."""

    keepCurrent: Annotated[bool, Field(description="Keep the session of this request; true if absent")] = absent()


class AllEnded(BaseModel):
    """How much ended. A repeated request finds less."""

    sessions: Count = Field(description="Browser sessions that this request ended")
    keys: Count = Field(description="Keys that this request revoked")
