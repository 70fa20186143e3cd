"""The port of the retention store. The Postgres and the memory store pass the same contract tests."""

from enum import StrEnum
from typing import Protocol


class Rows(StrEnum):
    """The kinds of rows that end by themselves. The values are their names in the log."""

    UNCLAIMED_KEYS = "unclaimed_keys"
    ENDED_KEYS = "ended_keys"
    MERGED_TENANTS = "merged_tenants"
    UNCONFIRMED_EMAILS = "unconfirmed_emails"
    UNPAID_BOOKINGS = "unpaid_bookings"
    PAYMENT_EVENTS = "payment_events"
    PAYMENT_REPORTS = "payment_reports"
    USAGE_DAYS = "usage_days"
    KEY_USAGE_DAYS = "key_usage_days"
    AUDIT = "audit"
    WEBHOOK_DELIVERIES = "webhook_deliveries"
    DELETIONS = "deletions"
    JOURNAL = "journal"


class RetentionStore(Protocol):
    """Deletes rows of many tables; knows no life, which is an argument."""

    async def prune(self, rows: Rows, before_ms: int, limit: int) -> int:
        """Delete at most `limit` rows of a kind that ended before `before_ms`, with the rows that belong to them, in one
        transaction; returns how many. Skips rows that others have locked. Raises `StorageUnavailable`, `Contended` or
        `OutcomeUnknown`; repeating it is harmless."""
        ...
