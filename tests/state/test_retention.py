"""How long rows stay after their end."""

import pytest

from actors.retention.state import RetentionRules, retention_ms
from actors.retention.store import Rows
from actors.times import DAY_MS, HOUR_MS

SETTINGS = {
    Rows.UNCLAIMED_KEYS: 11,
    Rows.ENDED_KEYS: 12,
    Rows.UNPAID_BOOKINGS: 13,
    Rows.PAYMENT_EVENTS: 14,
    Rows.USAGE_DAYS: 15,
    Rows.KEY_USAGE_DAYS: 15,
    Rows.AUDIT: 16,
    Rows.ENDED_SESSIONS: 17,
    Rows.WEBHOOK_DELIVERIES: 18,
    Rows.WEBHOOK_EVENTS: 18,
    Rows.RETIRED_ENTRIES: 19,
}
FIXED = {
    Rows.CODE_MAIL_COUNTS: 2,
    Rows.UNCONFIRMED_EMAILS: 2,
    Rows.DELETIONS: 2,
    Rows.PAYMENT_REPORTS: 400,
    Rows.SUBMISSIONS: 400,
}
"""The others stay for a day, and sign-in codes for an hour."""


def test_each_kind_of_rows_stays_for_the_days_of_its_setting_or_of_the_document() -> None:
    rules = RetentionRules(
        unclaimed_keys_days=11,
        ended_keys_days=12,
        unpaid_bookings_days=13,
        payment_events_days=14,
        usage_days=15,
        audit_days=16,
        sessions_days=17,
        webhook_deliveries_days=18,
        retired_entries_days=19,
    )
    expected = {rows: (SETTINGS | FIXED).get(rows, 1) * DAY_MS for rows in Rows}
    assert retention_ms(rules) == {**expected, Rows.SIGN_IN_CODES: HOUR_MS}


def test_the_audit_of_a_booking_outlives_it() -> None:
    assert RetentionRules(unpaid_bookings_days=5, audit_days=5).audit_days == 5
    with pytest.raises(AssertionError):
        RetentionRules(unpaid_bookings_days=6, audit_days=5)
