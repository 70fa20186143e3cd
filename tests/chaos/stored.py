"""The rows after a run."""

from collections.abc import Iterable
from typing import Any

from actors.events.messages import Kind
from tests.acceptance.postgres import PostgresServer
from tests.chaos.history import Booked, Stored

EVERY_KEY = "select id, day, key, click from event_keys join event_bookings on number = booking"
SECRETS = "select day, secret from visitor_secrets"
COUNTS = """select booking_id, day, sum(impressions)::bigint, sum(clicks)::bigint from deliveries group by 1, 2"""
SITE_COUNTS = (
    "select booking_id, day, site, sum(impressions)::bigint, sum(clicks)::bigint from site_deliveries group by 1, 2, 3"
)


def read_stored(postgres: PostgresServer, database: str) -> Stored:
    """Read all rows that answers are compared with."""

    def rows(statement: str) -> list[Any]:
        return [tuple(row) for row in postgres.ask(statement, database=database)]

    there = Stored()
    for booking, day, key, click in rows(EVERY_KEY):
        there.rows[key] = (booking, day, Kind.CLICK if click else Kind.IMPRESSION)
    # The last release has none.
    if rows("select 1 where to_regclass('visitor_secrets') is not null"):
        there.secrets = dict(rows(SECRETS))
    add_counts(there, rows(COUNTS), rows(SITE_COUNTS))
    booked = "select id, tenant_id, campaign_id, slot_id, week_start_ms, weeks, status from bookings"
    there.bookings = {row[0]: Booked(*row) for row in rows(booked)}
    there.slot_weeks = rows("select slot_id, week_ms, booking_id from slot_weeks")
    there.booking_keys = rows("select tenant_id, key, booking_id from booking_keys")
    there.audits = {
        audit: (action, target) for audit, action, target in rows("select id, action, target_id from audit")
    }
    there.mails = dict(rows("select id, template from outbox"))
    there.ads = dict(rows("select id, headline from campaigns"))
    return there


def add_counts(stored: Stored, counts: Iterable[Any], site_counts: Iterable[Any]) -> None:
    """Add rows of `COUNTS` and `SITE_COUNTS`."""
    for booking, day, impressions, clicks in counts:
        stored.counts[booking, day, Kind.IMPRESSION] = impressions
        stored.counts[booking, day, Kind.CLICK] = clicks
    for booking, day, site, impressions, clicks in site_counts:
        stored.site_counts[booking, day, Kind.IMPRESSION, site] = impressions
        stored.site_counts[booking, day, Kind.CLICK, site] = clicks
