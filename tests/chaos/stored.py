"""The state after a run: rows from Postgres, and requests that the nodes have to serve."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

import trio

from actors.events.messages import Kind
from actors.shared.credentials import digest
from tests.acceptance.postgres import PostgresServer
from tests.chaos.caller import Caller
from tests.chaos.history import Answers, Booked, Stored

ASKERS = 4
TRIES = 20

EVERY_KEY = "select id, day, key, click from event_keys join event_bookings on number = booking"
SECRETS = "select day, secret from visitor_secrets"
COUNTS = """select booking_id, day, sum(impressions)::bigint, sum(clicks)::bigint from deliveries group by 1, 2"""
SITE_COUNTS = (
    "select booking_id, day, site, sum(impressions)::bigint, sum(clicks)::bigint from site_deliveries group by 1, 2, 3"
)
KEYS = """select k.hash, t.lifetime_used, a.email from api_keys k join tenants t on t.id = k.tenant_id
left join accounts a on a.tenant_id = t.id"""


def read_stored(postgres: PostgresServer, database: str, answers: Answers) -> Stored:
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
    names = {digest(text): text for text in answers.keys}
    for hashed, used, email in rows(KEYS):
        if hashed in names:
            there.used[names[hashed]] = used
            if email is not None:
                there.emails[names[hashed]] = email
    booked = "select id, tenant_id, campaign_id, slot_id, week_start_ms, weeks, status from bookings"
    there.bookings = {row[0]: Booked(*row) for row in rows(booked)}
    there.slot_weeks = rows("select slot_id, week_ms, booking_id from slot_weeks")
    there.booking_keys = rows("select tenant_id, key, booking_id from booking_keys")
    there.audits = {
        audit: (action, target) for audit, action, target in rows("select id, action, target_id from audit")
    }
    there.mails = dict(rows("select id, template from outbox"))
    there.ads = dict(rows("select id, headline from campaigns"))
    there.numbers = rows("select series, sequence from invoices")
    return there


def add_counts(stored: Stored, counts: Iterable[Any], site_counts: Iterable[Any]) -> None:
    """Add rows of `COUNTS` and `SITE_COUNTS`."""
    for booking, day, impressions, clicks in counts:
        stored.counts[booking, day, Kind.IMPRESSION] = impressions
        stored.counts[booking, day, Kind.CLICK] = clicks
    for booking, day, site, impressions, clicks in site_counts:
        stored.site_counts[booking, day, Kind.IMPRESSION, site] = impressions
        stored.site_counts[booking, day, Kind.CLICK, site] = clicks


class Auditor(Caller):
    """Uses issued keys and sessions once more."""

    name = "auditor"


async def working(nodes: Mapping[int, str], answers: Answers) -> dict[str, str]:
    """Return the answer to every key, and to the token of every session, now that all is well: 200, or an error."""
    works: dict[str, str] = {}
    asked = [(key, True) for key in answers.keys] + [(token, False) for token in answers.sessions]

    async def ask(auditor: Auditor) -> None:
        with closing(auditor):
            await use_all(auditor)

    async def use_all(auditor: Auditor) -> None:
        while asked:
            secret, is_key = asked.pop()
            for _ in range(TRIES):
                if is_key:
                    reply = await auditor.ask("use a key", "/api/v1/usage", key=secret)
                else:
                    cookie = {"cookie": f"session={secret}"}
                    reply = await auditor.ask("use a session", "/api/v1/auth/sessions", headers=cookie)
                works[secret] = "lost" if reply is None else f"{reply.status} {reply.error}".strip()
                if reply is not None and reply.status != 503:
                    break

    async with trio.open_nursery() as nursery:
        for _ in range(ASKERS):
            nursery.start_soon(ask, Auditor(nodes, answers))
    return works
