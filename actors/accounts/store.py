"""The port of the account store. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Callable, Sequence
from typing import Protocol

from actors.accounts.listing import AccountLists
from actors.accounts.messages import Deletion, Exported, MailChoices
from actors.accounts.state import Decision, LockSet, Snapshot
from actors.values import Account, BatchId

Decide = Callable[[Snapshot], Decision]

EXPORTED = (
    "accounts",
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
    "account_deletions",
    "sponsors",
    "campaigns",
    "bookings",
    "booking_keys",
    "slot_weeks",
    "payment_events",
    "invoices",
    "delivery_days",
    "webhooks",
    "webhook_deliveries",
    "event_site_counts",
    "outbox",
    "audit",
)
"""The tables with rows of an account, in the order of an export."""

SECRET = frozenset(
    {"hash", "token_hash", "code_hash", "browser", "proof", "nonce", "user_code", "fingerprint", "facts"}
    | {"credential_id", "public_key", "payment_shared"},
)
"""Columns that an export leaves out: hashes, codes, the links of mails, the credentials of passkeys, and a mark that only
a migration sets."""


class AccountStore(AccountLists, Protocol):
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
