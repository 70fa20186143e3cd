"""The port of the retention store. The Postgres and the memory store pass the same contract tests."""

from enum import StrEnum
from typing import Protocol


class Rows(StrEnum):
    """The kinds of rows that end by themselves. The values are their names in the log."""

    SIGN_IN_CODES = "sign-in codes"
    CODE_MAIL_COUNTS = "counts of letters"
    SIGN_IN_LINKS = "sign-in links"
    PENDING_SIGN_INS = "pending sign-ins"
    CHALLENGES = "passkey challenges"
    ENDED_SESSIONS = "ended sessions"
    DEVICE_LOGINS = "device logins"
    AUTHORIZATIONS = "authorizations"
    UNCLAIMED_KEYS = "unclaimed keys"
    ENDED_KEYS = "ended keys"
    MERGED_TENANTS = "merged tenants"
    UNCONFIRMED_EMAILS = "unconfirmed emails"
    UNPAID_BOOKINGS = "unpaid bookings"
    PAYMENT_EVENTS = "payment events"
    PAYMENT_REPORTS = "payment reports"
    USAGE_DAYS = "usage days"
    KEY_USAGE_DAYS = "key usage days"
    AUDIT = "audit"
    WEBHOOK_DELIVERIES = "webhook deliveries"
    WEBHOOK_EVENTS = "webhook events"
    SUBMISSIONS = "submissions"
    DELETIONS = "deletions"
    RETIRED_ENTRIES = "retired entries"
    JOURNAL = "journal"


class RetentionStore(Protocol):
    """Deletes rows of many tables; knows no life, which is an argument."""

    async def prune(self, rows: Rows, before_ms: int, limit: int) -> int:
        """Delete at most `limit` rows of a kind that ended before `before_ms`, with the rows that belong to them, in one
        transaction; returns how many. Skips rows that others have locked. Raises `StorageUnavailable`, `Contended` or
        `OutcomeUnknown`; repeating it is harmless."""
        ...
