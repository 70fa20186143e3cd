"""The rows of one account in each table in memory, like the columns of Postgres, for an export."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from actors.accounts.messages import Exported
from actors.accounts.store import SECRET
from actors.events.messages import OTHER_NAME
from actors.mail.messages import QueuedMessage
from actors.values import Account
from tests.doubles.tables import Memory
from tests.doubles.webhooks import due_ms

Row = Mapping[str, Any]


def export(tables: Memory, account: Account, table: str, after: str, limit: int) -> Sequence[Exported]:
    """Rows of one table, as `AccountStore.export` says."""
    rows = [Exported(place, _shown(row)) for place, row in _rows(tables, account, table)]
    return sorted((row for row in rows if row.place > after), key=lambda row: row.place)[:limit]


def _shown(row: Row) -> Row:
    """A row without secrets. Sets of a campaign's words lie in columns of their own."""
    flat = {**row, **row.get("content", {})}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in flat.items()
        if name != "content" and name not in SECRET
    }


def _rows(tables: Memory, account: Account, table: str) -> Iterator[tuple[str, Row]]:
    email, tenant_id = account.email, account.tenant_id
    keys = {row.id: _made(row) for row in tables.keys.values() if row.tenant_id == tenant_id}
    sessions = {row.id for row in tables.sessions.values() if row.email == email}
    bookings = {row.id for row in tables.bookings.values() if row.tenant_id == tenant_id}
    match table:
        case "accounts":
            yield from _each("email", (row for row in tables.accounts.values() if row.email == email))
        case "accepted_terms":
            yield from _each("version", (row for row in tables.accepted_terms.values() if row.tenant_id == tenant_id))
        case "mail_choices":
            yield from _each("email", (row for row in tables.mail_choices.values() if row.email == email))
        case "tenants":
            yield from _each("id", (r for r in tables.tenants.values() if tenant_id in (r.id, r.merged_into)))
        case "usage_days":
            for owner, day in tables.usage_days:
                if owner == tenant_id:
                    used = tables.usage_days[owner, day]
                    yield f"{day:010}", {"tenant_id": owner, "day": day, "used": used}
        case "key_usage_days":
            for (owner, key_id, day), used in tables.key_usage_days.items():
                if owner == tenant_id:
                    yield f"{key_id} {day:010}", {"tenant_id": owner, "key_id": key_id, "day": day, "used": used}
        case "administrators":
            if email in tables.administrators:
                yield email, {"email": email, "granted_ms": tables.administrators[email]}
        case "api_keys":
            yield from ((_made(row), asdict(row)) for row in tables.keys.values() if row.id in keys)
        case "key_uses":
            uses = tables.key_uses.items()
            yield from ((keys[key_id], {"key_id": key_id, "used_ms": ms}) for key_id, ms in uses if key_id in keys)
        case "claims":
            for claim in tables.claims.values():
                if claim.key_id in keys:
                    yield f"0 {keys[claim.key_id]}", asdict(claim)
                elif claim.email == email:
                    yield f"1 {claim.key_id}", asdict(claim)
        case "sign_in_codes":
            yield from ((row.browser.hex(), asdict(row)) for row in tables.sign_ins.values() if row.email == email)
        case "sign_in_links":
            links = tables.sign_in_links.values()
            yield from ((row.token_hash.hex(), asdict(row)) for row in links if row.email == email)
        case "sessions":
            yield from _each("id", (row for row in tables.sessions.values() if row.id in sessions))
        case "passkeys":
            yield from _each("id", (row for row in tables.passkeys.values() if row.email == email))
        case "pending_sign_ins":
            yield from _each("id", (row for row in tables.pending_sign_ins.values() if row.email == email))
        case "devices":
            yield from _each("id", (row for row in tables.devices.values() if row.email == email))
        case "device_guesses":
            guesses = tables.device_guesses.values()
            yield from _each("session_id", (row for row in guesses if row.session_id in sessions))
        case "authorizations":
            yield from ((_made(row), asdict(row)) for row in tables.authorizations.values() if row.email == email)
        case "account_deletions":
            rows = tables.account_deletions.values()
            yield from _each("tenant_id", (row for row in rows if row.tenant_id == tenant_id))
        case "outbox":
            mails = [row for row in tables.messages.values() if row.recipient == email]
            waiting = (QueuedMessage(**asdict(row), due_ms=row.created_ms) for row in mails)
            yield from _each("id", (tables.outbox.get(row.id) or row for row in waiting))
        case "audit":
            others = {email, tenant_id} | sessions
            others |= {row.id for row in tables.campaigns.values() if row.tenant_id == tenant_id}
            others |= {row.id for row in tables.sponsors.values() if row.tenant_id == tenant_id}
            others |= {row.id for row in tables.webhooks.values() if row.tenant_id == tenant_id}
            submissions = {row.id: row for row in tables.submissions.values() if row.tenant_id == tenant_id}
            for record in tables.audits:
                place, shown = _made(record), {**asdict(record), "changes": json.loads(record.changes)}
                if record.actor_email == email:
                    yield f"0 {place}", shown
                elif record.target_id in others:
                    yield f"1 {record.target_id} {place}", shown
                elif record.target_id in keys:
                    yield f"2 {keys[record.target_id]} {place}", shown
                elif record.target_id in bookings:
                    yield f"3 {record.target_id} {place}", shown
                elif record.target_id in submissions:
                    yield f"4 {_made(submissions[record.target_id])} {place}", shown
        case _:
            yield from _sponsorship(tables, tenant_id, bookings, table)


def _sponsorship(tables: Memory, tenant_id: str, bookings: set[str], table: str) -> Iterator[tuple[str, Row]]:
    match table:
        case "webhooks":
            own = (row for row in tables.webhooks.values() if row.tenant_id == tenant_id)
            yield from ((row.id, {**asdict(row), "due_ms": due_ms(tables, row)}) for row in own)
        case "webhook_deliveries":
            sent = tables.webhook_deliveries.values()
            mine = (row for row in sent if tables.webhooks[row.webhook_id].tenant_id == tenant_id)
            yield from ((f"{row.webhook_id} {row.seq:019}", asdict(row)) for row in mine)
        case "webhook_events":
            told = (row for row in tables.webhook_events.values() if row.tenant_id == tenant_id)
            yield from ((f"{row.seq:019}", asdict(row)) for row in told)
        case "catalog_submissions":
            yield from ((_made(row), asdict(row)) for row in tables.submissions.values() if row.tenant_id == tenant_id)
        case "sponsors":
            yield from _each("id", (row for row in tables.sponsors.values() if row.tenant_id == tenant_id))
        case "billing_details":
            yield from _each("tenant_id", filter(None, [tables.billing_details.get(tenant_id)]))
        case "shared_reports":
            yield from _each("id", tables.shared_of(tenant_id))
        case "campaigns":
            yield from _each("id", (row for row in tables.campaigns.values() if row.tenant_id == tenant_id))
        case "bookings":
            yield from _each("id", (row for row in tables.bookings.values() if row.id in bookings))
        case "booking_keys":
            for known in tables.booking_keys.values():
                if known.tenant_id == tenant_id:
                    yield f"{known.operation} {known.key}", asdict(known)
        case "slot_weeks":
            for (slot_id, week_ms), booking_id in tables.slot_weeks.items():
                if booking_id in bookings:
                    row = {"slot_id": slot_id, "week_ms": week_ms, "booking_id": booking_id}
                    yield f"{booking_id} {week_ms:016}", row
        case "payment_events":
            for event_id, (booking_id, handled_ms) in tables.payment_events.items():
                if booking_id in bookings:
                    yield (
                        f"{booking_id} {event_id}",
                        {"id": event_id, "booking_id": booking_id, "handled_ms": handled_ms},
                    )
        case "invoices":
            documents = (row for row in tables.invoices.values() if row.tenant_id == tenant_id)
            yield from ((f"{row.issued_ms:016} {row.number}", asdict(row)) for row in documents)
        case "delivery_days":
            for (booking_id, day), (impressions, clicks) in tables.delivery_days.items():
                if booking_id in bookings:
                    counts = {"booking_id": booking_id, "day": day, "impressions": impressions, "clicks": clicks}
                    yield f"{booking_id} {day:010}", counts
        case "event_filtered":
            for (booking_id, day), filtered in tables.filtered_days.items():
                if booking_id in bookings:
                    yield f"{booking_id} {day:010}", {"booking_id": booking_id, "day": day, **filtered._asdict()}
        case "event_site_counts":
            hosts = {number: host for host, (number, _) in tables.sites.items()}
            for (booking_id, day, number), (impressions, clicks) in tables.site_days.items():
                if booking_id in bookings:
                    site = hosts.get(number, OTHER_NAME)
                    counts = {"impressions": impressions, "clicks": clicks}
                    yield (
                        f"{booking_id} {day:010} {site}",
                        {"booking_id": booking_id, "day": day, "site": site, **counts},
                    )
        case _:
            raise KeyError(table)


def _made(row: Any) -> str:
    return f"{row.created_ms:016} {row.id}"


def _each(place: str, rows: Iterable[Any]) -> Iterator[tuple[str, Row]]:
    yield from ((getattr(row, place), asdict(row)) for row in rows)
