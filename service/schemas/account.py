"""Wire models of an account's own view: its usage by day and all of its keys."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from actors.values import Scope
from service.schemas.fields import Count, Edit, Milliseconds, Query, Strict, absent, optional
from service.schemas.keys import ExpiresAt
from service.schemas.lists import Cursor, Whole
from service.schemas.texts import NAME

DEFAULT_DAYS, MAX_DAYS = 30, 90

EXPORT_ROWS = 1_000

REVIEWS = "Reviews of your ads; for administrators also ads that wait for review"
BOOKINGS = "Held and beginning weeks"
REPORTS = "The figures of weeks that ended"


class UsageDaysQuery(Query):
    """The number of days to list."""

    days: Whole[Annotated[int, Field(ge=1, le=MAX_DAYS)]] = Field(
        default=DEFAULT_DAYS, description="Number of days, including today"
    )


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
        description="Requests of keys that no longer exist, and of the time before requests were counted by key"
    )
    used: Count = Field(description="Requests of the account in the period")


class AccountKeyRequest(Strict):
    """Optional name, expiry and administration of a new full key."""

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
    grantedBy: str | None = optional("The id of the key that granted this one, and with which it is revoked")
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


class ExportQuery(Query):
    """Query of an export."""

    cursor: Cursor = None
    limit: Whole[Annotated[int, Field(ge=1, le=EXPORT_ROWS)]] = Field(
        default=EXPORT_ROWS, description="Most rows of a page"
    )


class AccountExport(BaseModel):
    """A page of all rows that are stored about an account."""

    email: str = Field(description="Email address of the account, in lower case")
    exportedAt: Milliseconds
    tables: dict[str, list[dict[str, Any]]] = Field(
        description="The account's rows by table, with the columns of the database. Times are epoch milliseconds, days "
        "are counted from 1970-01-01 UTC. Keys, codes and their hashes are left out."
    )
    cursor: str | None = Field(description="For the next page; null on the last one")
    hasMore: bool = Field(description="Whether there is another page")


class DeletionCodeSent(BaseModel):
    """The code that confirms the deletion is on its way."""

    sent: Literal[True] = Field(description="Always true")


class DeletionConfirm(Strict):
    """The code from the mail that confirms the deletion."""

    code: Annotated[str, Field(min_length=4, max_length=64)] = Field(description="The code of the mail")


class AccountDeletion(BaseModel):
    """Whether the account is going to be deleted."""

    scheduled: bool = Field(description="Whether the deletion is confirmed and has not happened yet")
    deletesAt: Milliseconds | None = optional("Epoch milliseconds; until then the deletion can be undone")


class DeletionUndone(BaseModel):
    """The account stays."""

    undone: Literal[True] = Field(description="Always true")


class Notifications(BaseModel):
    """The topics about which the account gets mails. Mails about security and money are always sent."""

    reviews: bool = Field(description=REVIEWS)
    bookings: bool = Field(description=BOOKINGS)
    reports: bool = Field(description=REPORTS)


class NotificationsEdit(Edit):
    """Topics to turn on or off; absent topics stay."""

    reviews: bool = absent("Mails about reviews")
    bookings: bool = absent("Mails about held and beginning weeks")
    reports: bool = absent("Mails with the figures of weeks that ended")
