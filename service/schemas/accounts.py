"""Wire models of accounts as administrators see them."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from actors.values import Account as AccountRecord
from service.schemas.fields import BillingMode, Milliseconds, Strict, optional
from service.schemas.lists import ListQuery, Page, absent_when_empty, or_empty
from service.schemas.texts import Note

SearchText = Annotated[str, StringConstraints(max_length=254, pattern=r"^[^\x00]*$")]


class AccountsQuery(ListQuery):
    """Query of the list of accounts."""

    query: Annotated[
        SearchText | None,
        BeforeValidator(absent_when_empty),
        Field(description="A part of the email or of the sponsor's name, or a whole account id"),
    ] = None
    tier: Annotated[
        Literal["claimed", "upgraded"] | None,
        BeforeValidator(absent_when_empty),
        Field(description="Only accounts of this tier", json_schema_extra=or_empty),
    ] = None
    suspended: Annotated[
        Literal["true", "false"] | None,
        BeforeValidator(absent_when_empty),
        Field(description="Only accounts that are suspended, or that are not", json_schema_extra=or_empty),
    ] = None


class Account(BaseModel):
    """One account of a list. Its id is the `tenantId` of its keys."""

    id: str
    email: str
    tier: Literal["anonymous", "claimed", "upgraded"]
    isAdmin: bool
    createdAt: Milliseconds
    sponsorName: str | None = optional("Name of the sponsor's profile, once there is one")
    suspendedAt: int | None = optional("Since when it is suspended, in epoch milliseconds")
    suspensionReason: str | None = optional("Why it is suspended; the owner can read it")

    @classmethod
    def of(cls, account: AccountRecord, tier: str, sponsor_name: str | None, *, admin: bool) -> "Account":
        return cls.model_validate(
            {
                "id": account.tenant_id,
                "email": account.email,
                "tier": tier,
                "isAdmin": admin,
                "createdAt": account.created_ms,
                "sponsorName": sponsor_name,
                "suspendedAt": account.suspended_ms,
                "suspensionReason": account.suspension_reason,
            }
        )


class AccountPage(Page):
    """Accounts, newest first. A search reads a bounded number of accounts for each page, so a page may be short, or even
    empty, and still not be the last one: follow `cursor` while `hasMore` is true."""

    items: list[Account]
    total: int | None = optional("How many there are, counted up to 10,000; absent for searches and tiers")


class AccountUsage(BaseModel):
    """Requests of the account in this calendar month and day (UTC), with the limits of its tier."""

    requestsUsed: int
    requestLimit: int
    dailyRequestsUsed: int
    dailyRequestLimit: int | None = optional()


class BookingNumbers(BaseModel):
    """Bookings by state."""

    reserved: int = 0
    checkout: int = 0
    paid: int = 0
    expired: int = 0
    cancelled: int = 0
    refunding: int = 0
    refunded: int = 0


class AccountDetails(Account):
    """One account with its use and the numbers of what it has."""

    usage: AccountUsage
    keys: int = Field(description="Live keys, full and scoped")
    sessions: int = Field(description="Signed-in browsers")
    campaigns: int
    bookings: BookingNumbers
    deletesAt: int | None = optional("When it is deleted, if its owner has confirmed that; epoch milliseconds")


class AccountDetailsAnswer(BaseModel):
    account: AccountDetails


class AccountAnswer(BaseModel):
    account: Account


class SuspendBody(Strict):
    """The reason, which the owner of the account can read."""

    reason: Note


class AccountRefundBody(Strict):
    """The reason, which is stored in the audit."""

    reason: Note | None = None


class RefundSum(BaseModel):
    """The refunds that one request ordered, in one currency and mode."""

    currency: str = Field(description="ISO 4217, in lower case")
    mode: BillingMode
    bookings: int
    amountCents: int


class AccountRefunds(BaseModel):
    """The refunds that this request ordered. Repeat it while `hasMore` is true."""

    ordered: int
    sums: list[RefundSum]
    hasMore: bool
