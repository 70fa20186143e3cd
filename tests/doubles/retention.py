"""The retention store in memory."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from actors.bookings.records import BookingStatus
from actors.catalog.store import TOPIC
from actors.retention.store import Rows
from actors.shared.credentials import Kind
from actors.times import day_of
from actors.values import Tier
from actors.webhooks.messages import WebhookStatus
from tests.doubles.tables import Memory, MemoryStore, oldest

K = TypeVar("K")
V = TypeVar("V")

GIVEN_UP = (BookingStatus.EXPIRED, BookingStatus.CANCELLED)


class MemoryRetention(MemoryStore):
    """One function for each kind of rows."""

    async def prune(self, rows: Rows, before_ms: int, limit: int) -> int:
        await self._memory.before()
        gone = PRUNING[rows](self._memory, before_ms, limit)
        await self._memory.after()
        return gone


def _sign_in_codes(tables: Memory, before_ms: int, limit: int) -> int:
    ends = ((row.code_expires_ms, row.key) for row in tables.sign_ins.values())
    return _dropped(tables.sign_ins, oldest(ends, before_ms, limit))


def _code_mail_counts(tables: Memory, before_ms: int, limit: int) -> int:
    ends = ((max(row.sent_ms, row.known_until_ms), row.id) for row in tables.letters.values())
    return _dropped(tables.letters, oldest(ends, before_ms, limit))


def _sign_in_links(tables: Memory, before_ms: int, limit: int) -> int:
    ends = ((row.expires_ms, row.token_hash) for row in tables.sign_in_links.values())
    return _dropped(tables.sign_in_links, oldest(ends, before_ms, limit))


def _pending_sign_ins(tables: Memory, before_ms: int, limit: int) -> int:
    ends = ((row.expires_ms, row.id) for row in tables.pending_sign_ins.values())
    return _dropped(tables.pending_sign_ins, oldest(ends, before_ms, limit))


def _challenges(tables: Memory, before_ms: int, limit: int) -> int:
    ends = ((row.expires_ms, row.holder_id) for row in tables.passkey_challenges.values())
    return _dropped(tables.passkey_challenges, oldest(ends, before_ms, limit))


def _ended_sessions(tables: Memory, before_ms: int, limit: int) -> int:
    ended = oldest(((row.expires_ms, row.id) for row in tables.sessions.values()), before_ms, limit)
    for session_id in ended:
        tables.device_guesses.pop(session_id, None)
    return _dropped(tables.sessions, ended)


def _device_logins(tables: Memory, before_ms: int, limit: int) -> int:
    ends = ((row.expires_ms, row.id) for row in tables.devices.values())
    return _dropped(tables.devices, oldest(ends, before_ms, limit))


def _authorizations(tables: Memory, before_ms: int, limit: int) -> int:
    ends = ((row.expires_ms, row.id) for row in tables.authorizations.values())
    return _dropped(tables.authorizations, oldest(ends, before_ms, limit))


def _unclaimed_keys(tables: Memory, before_ms: int, limit: int) -> int:
    expired = (
        (key.expires_ms, key.id)
        for key in tables.keys.values()
        if key.kind is Kind.ANONYMOUS and key.expires_ms and tables.tenants[key.tenant_id].tier is Tier.ANONYMOUS
    )
    gone = oldest(expired, before_ms, limit)
    for key_id in gone:
        tenant_id = tables.keys[key_id].tenant_id
        drop_keys(tables, [key_id])
        for place in [place for place in tables.usage_days if place[0] == tenant_id]:
            del tables.usage_days[place]
        for of_key in [of_key for of_key in tables.key_usage_days if of_key[0] == tenant_id]:
            del tables.key_usage_days[of_key]
        del tables.tenants[tenant_id]
    return len(gone)


def _ended_keys(tables: Memory, before_ms: int, limit: int) -> int:
    ended = (
        (key.revoked_ms if key.revoked_ms is not None else key.expires_ms, key.id)
        for key in tables.keys.values()
        if tables.tenants[key.tenant_id].tier is not Tier.ANONYMOUS
    )
    gone = oldest(((ended_ms, key_id) for ended_ms, key_id in ended if ended_ms is not None), before_ms, limit)
    drop_keys(tables, gone)
    return len(gone)


def drop_keys(tables: Memory, key_ids: Iterable[str]) -> None:
    """Delete keys with their claims and uses."""
    for key_id in key_ids:
        del tables.keys[key_id]
        tables.key_uses.pop(key_id, None)
        for token_hash in [claim.token_hash for claim in tables.claims.values() if claim.key_id == key_id]:
            del tables.claims[token_hash]


def _merged_tenants(tables: Memory, before_ms: int, limit: int) -> int:
    merged = (row.id for row in tables.tenants.values() if row.merged_into is not None and row.day < day_of(before_ms))
    return _dropped(tables.tenants, list(merged)[:limit])


def _unconfirmed_emails(tables: Memory, before_ms: int, limit: int) -> int:
    waiting = (row for row in tables.claims.values() if row.completed_ms is None and row.email is not None)
    found = oldest(((row.sent_ms, row.token_hash) for row in waiting), before_ms, limit)
    tables.claims.update((each, replace(tables.claims[each], email=None, proof=None)) for each in found)
    return len(found)


def _unpaid_bookings(tables: Memory, before_ms: int, limit: int) -> int:
    holding = set(tables.slot_weeks.values())
    unpaid = (
        (row.hold_ms, row.id)
        for row in tables.bookings.values()
        if row.status in GIVEN_UP
        and row.paid_ms is None
        and row.payment_id is None
        and row.payment_issue is None
        and row.id not in holding
    )
    return drop_bookings(tables, oldest(unpaid, before_ms, limit))


def drop_bookings(tables: Memory, booking_ids: Iterable[str]) -> int:
    """Delete bookings with their idempotency keys."""
    gone = set(booking_ids)
    _dropped(tables.booking_keys, [place for place, row in tables.booking_keys.items() if row.booking_id in gone])
    return _dropped(tables.bookings, gone)


def _payment_events(tables: Memory, before_ms: int, limit: int) -> int:
    handled = ((handled_ms, event_id) for event_id, (_, handled_ms) in tables.payment_events.items())
    return _dropped(tables.payment_events, oldest(handled, before_ms, limit))


def _payment_reports(tables: Memory, before_ms: int, limit: int) -> int:
    reported = ((report.reported_ms, report.id) for report in tables.payment_reports.values())
    return _dropped(tables.payment_reports, oldest(reported, before_ms, limit))


def _usage_days(tables: Memory, before_ms: int, limit: int) -> int:
    days = ((day, (tenant_id, day)) for tenant_id, day in tables.usage_days)
    return _dropped(tables.usage_days, oldest(days, day_of(before_ms), limit))


def _key_usage_days(tables: Memory, before_ms: int, limit: int) -> int:
    days = ((place[2], place) for place in tables.key_usage_days)
    return _dropped(tables.key_usage_days, oldest(days, day_of(before_ms), limit))


def _audit(tables: Memory, before_ms: int, limit: int) -> int:
    gone = set(oldest(((row.created_ms, row.id) for row in tables.audits), before_ms, limit))
    tables.audits[:] = [row for row in tables.audits if row.id not in gone]
    return len(gone)


def _webhook_deliveries(tables: Memory, before_ms: int, limit: int) -> int:
    old = (
        (row.created_ms, row.id)
        for row in tables.webhook_deliveries.values()
        if row.done_ms is not None or tables.webhooks[row.webhook_id].status is WebhookStatus.DISABLED
    )
    return _dropped(tables.webhook_deliveries, oldest(old, before_ms, limit))


def _webhook_events(tables: Memory, before_ms: int, limit: int) -> int:
    old = ((row.created_ms, row.id) for row in tables.webhook_events.values())
    return _dropped(tables.webhook_events, oldest(old, before_ms, limit))


def _submissions(tables: Memory, before_ms: int, limit: int) -> int:
    decided = ((row.decided_ms, row.id) for row in tables.submissions.values() if row.decided_ms is not None)
    return _dropped(tables.submissions, oldest(decided, before_ms, limit))


def _deletions(tables: Memory, before_ms: int, limit: int) -> int:
    waiting = ((row.sent_ms, row.tenant_id) for row in tables.account_deletions.values() if row.due_ms is None)
    return _dropped(tables.account_deletions, oldest(waiting, before_ms, limit))


def _retired_entries(tables: Memory, before_ms: int, limit: int) -> int:
    catalog = tables.catalog
    gone = oldest(((retired.updated_ms, entry_id) for entry_id, retired in catalog.retired.items()), before_ms, limit)
    for entry_id in gone:
        del catalog.retired[entry_id]
        catalog.forgotten = max(catalog.forgotten, catalog.changes.pop(entry_id).number)
    if gone:
        catalog.revision += 1
        tables.announce([TOPIC])
    return len(gone)


def _journal(tables: Memory, before_ms: int, limit: int) -> int:
    """The journal in memory has no times, and the nodes of a test are few."""
    return 0


def _dropped(rows: dict[K, V], keys: Iterable[K]) -> int:
    gone = list(keys)
    for key in gone:
        del rows[key]
    return len(gone)


PRUNING: dict[Rows, Callable[[Memory, int, int], int]] = {
    Rows.SIGN_IN_CODES: _sign_in_codes,
    Rows.CODE_MAIL_COUNTS: _code_mail_counts,
    Rows.SIGN_IN_LINKS: _sign_in_links,
    Rows.PENDING_SIGN_INS: _pending_sign_ins,
    Rows.CHALLENGES: _challenges,
    Rows.ENDED_SESSIONS: _ended_sessions,
    Rows.DEVICE_LOGINS: _device_logins,
    Rows.AUTHORIZATIONS: _authorizations,
    Rows.UNCLAIMED_KEYS: _unclaimed_keys,
    Rows.ENDED_KEYS: _ended_keys,
    Rows.MERGED_TENANTS: _merged_tenants,
    Rows.UNCONFIRMED_EMAILS: _unconfirmed_emails,
    Rows.UNPAID_BOOKINGS: _unpaid_bookings,
    Rows.PAYMENT_EVENTS: _payment_events,
    Rows.PAYMENT_REPORTS: _payment_reports,
    Rows.USAGE_DAYS: _usage_days,
    Rows.KEY_USAGE_DAYS: _key_usage_days,
    Rows.AUDIT: _audit,
    Rows.WEBHOOK_DELIVERIES: _webhook_deliveries,
    Rows.WEBHOOK_EVENTS: _webhook_events,
    Rows.SUBMISSIONS: _submissions,
    Rows.DELETIONS: _deletions,
    Rows.RETIRED_ENTRIES: _retired_entries,
    Rows.JOURNAL: _journal,
}
