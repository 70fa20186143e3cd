"""The port of the account store. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from actors.accounts.messages import Deletion, Exported, MailChoices
from actors.accounts.state import Decision, LockSet, Snapshot
from actors.values import Account, BatchId, Tier

AccountPosition = tuple[int, str]
"""A position in the list of accounts, newest first: when an account was created, and its tenant."""

COUNTED = 10_000
"""Rows that a total counts at most."""


@dataclass(frozen=True, slots=True)
class AccountFilter:
    """Which accounts to list; None means any. `text` is a whole tenant id, or a part of the email or of the sponsor's name,
    in lower case."""

    text: str | None = None
    tier: Tier | None = None
    suspended: bool | None = None

    @property
    def scans(self) -> bool:
        """Whether rows have to be read to know if they match."""
        return self.text is not None or self.tier is not None


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One account of a list. `admin`: it is an administrator."""

    account: Account
    tier: Tier
    admin: bool = False
    sponsor_name: str | None = None

    @property
    def spot(self) -> AccountPosition:
        return self.account.created_ms, self.account.tenant_id


@dataclass(frozen=True, slots=True)
class AccountList:
    """A page of accounts. `after` is where the next page begins, if there may be more: a search reads a bounded number of
    accounts, so its page may have fewer lines than asked for, and still not be the last."""

    lines: Sequence[AccountLine]
    after: AccountPosition | None


@dataclass(frozen=True, slots=True)
class AccountDetails:
    """One account with the numbers of its live keys and sessions, its campaigns, and its bookings by status."""

    line: AccountLine
    keys: int
    sessions: int
    campaigns: int
    bookings: Mapping[str, int]


Decide = Callable[[Snapshot], Decision]

EXPORTED = (
    "accounts",
    "accepted_terms",
    "mail_choices",
    "tenants",
    "usage_days",
    "key_usage_days",
    "administrators",
    "api_keys",
    "key_uses",
    "claims",
    "sign_in_codes",
    "sign_in_links",
    "sessions",
    "passkeys",
    "pending_sign_ins",
    "devices",
    "device_guesses",
    "authorizations",
    "account_deletions",
    "sponsors",
    "billing_details",
    "shared_reports",
    "campaigns",
    "bookings",
    "booking_keys",
    "slot_weeks",
    "payment_events",
    "invoices",
    "delivery_days",
    "event_filtered",
    "webhooks",
    "webhook_deliveries",
    "webhook_events",
    "catalog_submissions",
    "event_site_counts",
    "outbox",
    "audit",
)
"""The tables with rows of an account, in the order of an export."""

SECRET = frozenset(
    {"hash", "token_hash", "code_hash", "browser", "proof", "nonce", "user_code", "fingerprint", "facts"}
    | {"credential_id", "public_key", "payment_shared", "client_hash", "challenge"}
    | {"refresh_hash", "secret_hash", "spent_hash"},
)
"""Columns that an export leaves out: hashes, codes, challenges, the links of mails, the credentials of passkeys, and a mark
that only a migration sets."""


class AccountStore(Protocol):
    """Lists and deletions of accounts, their choices of mails, and all rows of one account."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        """Lock the rows, decide, and commit all changes with the batch id in one transaction.

        Locks accounts and their deletions that have not begun; for accounts that may end, also what the actors of keys,
        sessions and devices lock before accounts, and the administrators, which only one batch may change at a time. An
        account that ends is deleted with its sessions, device logins, sign-in codes, choices and membership; its keys are
        revoked, which is announced to all nodes. A batch id that is already in the journal is not decided again: its
        decision is returned. Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`.
        """
        ...

    async def account(self, email: str) -> Account | None:
        """The account of an email. Raises `StorageUnavailable`."""
        ...

    async def deletion(self, tenant_id: str) -> Deletion | None:
        """The deletion of an account. Raises `StorageUnavailable`."""
        ...

    async def mail_choices(self, email: str) -> MailChoices:
        """The choices of an account; all mails without a row. Raises `StorageUnavailable`."""
        ...

    async def due(self, now_ms: int, limit: int) -> Sequence[Deletion]:
        """Deletions that are due or have begun, longest due first. Raises `StorageUnavailable`."""
        ...

    async def erase(self, deletion: Deletion, limit: int) -> bool:
        """Erase rows of an account that has ended, in one transaction of at most `limit` rows of each kind. Returns
        whether more may be left to do now. The last step deletes the deletion itself.

        Every step may run again, and after a crash the next call goes on. Bookings that had money stay, with their
        campaign without its words and the sponsor's name, and so do invoices, without email and website. Records of the
        audit lose the email. Does nothing while another node works on the same account. Raises `StorageUnavailable`,
        `Contended` or `OutcomeUnknown`.
        """
        ...

    async def export(self, account: Account, table: str, after: str, limit: int) -> Sequence[Exported]:
        """The account's rows of one of `EXPORTED`, without the columns of `SECRET`, by place, strictly after `after`.
        Raises `StorageUnavailable`."""
        ...

    # Reads of administrators, which raise `StorageUnavailable`.

    async def accounts(self, wanted: AccountFilter, after: AccountPosition | None, limit: int) -> AccountList:
        """A page of the accounts that match, newest first."""
        ...

    async def count_accounts(self, *, suspended: bool | None) -> int:
        """How many accounts there are, or are suspended or not; at most `COUNTED`."""
        ...

    async def details(self, tenant_id: str, now_ms: int) -> AccountDetails | None:
        """One account by its tenant."""
        ...
