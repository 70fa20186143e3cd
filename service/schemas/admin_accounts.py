"""Wire models of accounts as administrators see them."""

from typing import Literal

from pydantic import BaseModel, Field

from actors.values import Account as AccountRecord
from service.schemas.fields import BillingMode, Cents, Count, Milliseconds, Strict, optional
from service.schemas.lists import Choice, FreeText, ListQuery, Page, SearchText, choice
from service.schemas.rows import filled
from service.schemas.texts import Note


class AccountsQuery(ListQuery):
    """Query of the list of accounts."""

    query: FreeText[SearchText] = Field(
        default=None, description="A part of the email or of the sponsor's name, or a whole account id"
    )
    tier: Choice[Literal["claimed", "upgraded"]] = choice("Only accounts of this tier")
    suspended: Choice[Literal["true", "false"]] = choice("Only accounts that are suspended, or that are not")


class Account(BaseModel):
    """One account of a list. Its id is the `tenantId` of its keys."""

    id: str = Field(description="Id of the account, the `tenantId` of its keys")
    email: str = Field(description="Email address of the account, in lower case")
    tier: Literal["anonymous", "claimed", "upgraded"] = Field(description="Tier, which decides on the quota")
    isAdmin: bool = Field(description="Whether the account is an administrator's")
    createdAt: Milliseconds
    sponsorName: str | None = optional("Name of the sponsor's profile, once there is one")
    suspendedAt: Milliseconds | None = optional("Since when it is suspended, in epoch milliseconds")
    suspensionReason: str | None = optional("Why it is suspended; the owner can read it")

    @classmethod
    def of(cls, account: AccountRecord, tier: str, sponsor_name: str | None, *, admin: bool) -> "Account":
        return filled(cls, account, id=account.tenant_id, tier=tier, isAdmin=admin, sponsorName=sponsor_name)


class AccountPage(Page):
    """Accounts, newest first. A search reads a bounded number of accounts for each page, so a page may be short, or even
    empty, and still not be the last one: follow `cursor` while `hasMore` is true."""

    items: list[Account] = Field(description="Accounts of this page")
    total: Count | None = optional("How many there are, counted up to 10,000; absent for searches and tiers")


class AccountUsage(BaseModel):
    """Requests of the account in this calendar month and day (UTC), with the limits of its tier."""

    requestsUsed: Count = Field(description="Requests of this calendar month")
    requestLimit: Count = Field(description="Most requests of a calendar month")
    dailyRequestsUsed: Count = Field(description="Requests of this day")
    dailyRequestLimit: Count | None = optional("Most requests of a day; absent without a limit")


class BookingNumbers(BaseModel):
    """Bookings by state."""

    reserved: Count = Field(default=0, description="Weeks are held, not paid")
    checkout: Count = Field(default=0, description="The payment page was opened")
    paid: Count = Field(default=0, description="Paid, whether shown yet or not")
    expired: Count = Field(default=0, description="Not paid in time")
    cancelled: Count = Field(default=0, description="Cancelled before payment")
    refunding: Count = Field(default=0, description="The refund is under way")
    refunded: Count = Field(default=0, description="Paid back")


class AccountDetails(Account):
    """One account with its use and the numbers of what it has."""

    usage: AccountUsage = Field(description="Requests of this month and day, with their limits")
    keys: Count = Field(description="Live keys, full and scoped")
    sessions: Count = Field(description="Signed-in browsers")
    campaigns: Count = Field(description="Campaigns in any state")
    bookings: BookingNumbers = Field(description="Bookings by state")
    deletesAt: Milliseconds | None = optional("When it is deleted, if its owner has confirmed that; epoch milliseconds")


class AccountDetailsAnswer(BaseModel):
    """One account, in detail."""

    account: AccountDetails = Field(description="The account")


class AccountAnswer(BaseModel):
    """One account."""

    account: Account = Field(description="The account")


class SuspendBody(Strict):
    """The reason, which the owner of the account can read."""

    reason: Note = Field(description="Reason, which the owner of the account can read")


class AccountRefundBody(Strict):
    """The reason, which is stored in the audit."""

    reason: Note | None = Field(default=None, description="Reason, kept in the audit log")


class RefundSum(BaseModel):
    """The refunds that one request ordered, in one currency and mode."""

    currency: str = Field(description="ISO 4217, in lower case")
    mode: BillingMode = Field(description="Whether money moves (`live`) or not (`test`)")
    bookings: Count = Field(description="Bookings to refund")
    amountCents: Cents = Field(description="Amount to pay back, in cents")


class AccountRefunds(BaseModel):
    """The refunds that this request ordered. Repeat it while `hasMore` is true."""

    ordered: Count = Field(description="Bookings whose refund this request ordered")
    sums: list[RefundSum] = Field(description="Sums of the refunds, by currency and mode")
    hasMore: bool = Field(description="Whether paid bookings remain; then repeat the request")
