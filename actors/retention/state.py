"""The rules of retention: the life of each kind of rows after its end. Pure; `docs/retention.md` lists all tables."""

from collections.abc import Mapping
from dataclasses import dataclass

from actors.retention.store import Rows
from actors.times import DAY_MS, HOUR_MS


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """Days that rows stay after their end."""

    unclaimed_keys_days: int = 14
    ended_keys_days: int = 365
    unpaid_bookings_days: int = 400
    payment_events_days: int = 400
    usage_days: int = 400
    audit_days: int = 730
    sessions_days: int = 30
    webhook_deliveries_days: int = 30
    retired_entries_days: int = 365
    payment_reports_days: int = 400
    """No setting: a dispute is opened within 120 days of the payment and closed within months."""
    submissions_days: int = 400
    """No setting: those that wait stay, and the entries of accepted ones are in the catalog."""

    def __post_init__(self) -> None:
        assert self.unpaid_bookings_days <= self.audit_days, "the audit of a booking must outlive it"


COUNTS_DAYS = 2
"""A node with a late clock must still count the mails and codes of its day."""


def retention_ms(rules: RetentionRules) -> Mapping[Rows, int]:
    """How long rows of each kind stay after their end, in milliseconds."""
    days = {
        Rows.CODE_MAIL_COUNTS: COUNTS_DAYS,
        Rows.SIGN_IN_LINKS: 1,
        Rows.PENDING_SIGN_INS: 1,
        Rows.CHALLENGES: 1,
        Rows.ENDED_SESSIONS: rules.sessions_days,
        Rows.DEVICE_LOGINS: 1,
        Rows.AUTHORIZATIONS: 1,
        Rows.UNCLAIMED_KEYS: rules.unclaimed_keys_days,
        Rows.ENDED_KEYS: rules.ended_keys_days,
        # A refund of today's charge may still be on its way to a tenant that has just been merged.
        Rows.MERGED_TENANTS: 1,
        Rows.UNCONFIRMED_EMAILS: COUNTS_DAYS,
        Rows.UNPAID_BOOKINGS: rules.unpaid_bookings_days,
        Rows.PAYMENT_EVENTS: rules.payment_events_days,
        Rows.PAYMENT_REPORTS: rules.payment_reports_days,
        Rows.USAGE_DAYS: rules.usage_days,
        Rows.KEY_USAGE_DAYS: rules.usage_days,
        Rows.AUDIT: rules.audit_days,
        Rows.WEBHOOK_DELIVERIES: rules.webhook_deliveries_days,
        Rows.WEBHOOK_EVENTS: rules.webhook_deliveries_days,
        Rows.SUBMISSIONS: rules.submissions_days,
        Rows.DELETIONS: COUNTS_DAYS,
        Rows.RETIRED_ENTRIES: rules.retired_entries_days,
        # Outcomes of batches are settled within seconds.
        Rows.JOURNAL: 1,
    }
    return {rows: HOUR_MS if rows is Rows.SIGN_IN_CODES else days[rows] * DAY_MS for rows in Rows}
