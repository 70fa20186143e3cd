"""The same random messages through both stores, by the real rules: they read, decide and write the same rows."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from actors.bookings.invoices import Invoice
from actors.bookings.messages import Message
from actors.bookings.records import BookingView, PaymentReport
from actors.bookings.state import BookingRules, Decision, Snapshot, decide, rows_to_lock
from actors.clock import DAY_MS
from actors.values import AuditRecord, BatchId, Refused
from storage.connection.pool import Database
from storage.rows.columns import record_of
from tests.doubles.tables import Memory
from tests.slow import shortened
from tests.stores.books import DAY, Books, a_world, week
from tests.stores.conftest import Stores, stores_in_memory, stores_over
from tests.stores.traffic import Traffic

SEEDS = (1, 4, 5)[: shortened(3)]
"""Their traffic leaves rows of every kind."""
BATCHES = 150
MOST = 10_000
RULES = BookingRules(holds_per_day=40, campaigns=15, pending_campaigns=3)


async def deliberate(stores: Stores, seq: int, messages: Sequence[Message], now_ms: int) -> tuple[Snapshot, Decision]:
    """The snapshot and the decision of a batch."""
    seen: list[Snapshot] = []

    def on(snapshot: Snapshot) -> Decision:
        seen.append(snapshot)
        return decide(snapshot, messages, now_ms, RULES)

    locks = rows_to_lock(messages, RULES, now_ms)
    decision = await stores.ledger.transact(BatchId("twin/bookings", seq), locks, on)
    return seen[0], decision


async def whole(books: Books, later_ms: int) -> dict[str, Any]:
    """All stored rows. At `later_ms`, everything that can become due is due."""
    reads = books.stores.sponsorship
    audits: Sequence[AuditRecord] = await reads.audit(None, MOST)
    return {
        "sponsors": list(await reads.sponsors(None, MOST)),
        "slots": list(await reads.slots()),
        "campaigns": list(await reads.campaigns(None, None, MOST)),
        "bookings": list(await reads.bookings(None, None, MOST)),
        "weeks": await books.weeks(),
        "audits": [(replace(record, changes=""), json.loads(record.changes)) for record in audits],
        "overviews": [await reads.overview(week(number)) for number in (-1, 0, 2, 9)],
        "holds": list(await reads.due_holds(later_ms, MOST)),
        "refunds": list(await reads.due_refunds(later_ms, MOST)),
        "steps": list(await reads.due_steps(later_ms, MOST)),
        "digest": [await reads.digest_is_due(ms) for ms in (0, later_ms)],
        **await rest(books.stores.below),
    }


async def rest(below: Memory | Database) -> Mapping[str, Any]:
    """The tables that no reader returns as a whole."""
    if isinstance(below, Memory):
        keys = {(k.tenant_id, k.operation, k.key, k.fingerprint, k.booking_id) for k in below.booking_keys.values()}
        return {
            "keys": keys,
            "events": {(event_id, booking_id) for event_id, (booking_id, _) in below.payment_events.items()},
            "reports": below.payment_reports,
            "mails": {
                message.id: (message.recipient, message.template, message.facts, message.expires_ms)
                for message in below.messages.values()
            },
            "invoices": below.invoices,
            "invoice_numbers": below.invoice_numbers,
        }
    keys = await below.read(
        lambda c: c.fetch("select tenant_id, operation, key, fingerprint, booking_id from booking_keys")
    )
    events = await below.read(lambda c: c.fetch("select id, booking_id from payment_events"))
    reports = await below.read(lambda c: c.fetch("select * from payment_reports"))
    mails = await below.read(lambda c: c.fetch("select id, recipient, template, facts, expires_ms from outbox"))
    invoices = [record_of(Invoice, row) for row in await below.fetch("select * from invoices")]
    numbers = await below.fetch("select series, last from invoice_numbers")
    return {
        "keys": set(map(tuple, keys)),
        "events": set(map(tuple, events)),
        "reports": {row["id"]: PaymentReport(**row) for row in reports},
        "mails": {row["id"]: tuple(row)[1:] for row in mails},
        "invoices": {row.number: row for row in invoices},
        "invoice_numbers": {row["series"]: row["last"] for row in numbers},
    }


@pytest.mark.parametrize("seed", SEEDS)
async def test_both_stores_see_decide_and_keep_the_same(database: Database, seed: int) -> None:
    twins = [Books(stores_in_memory()), Books(stores_over(database))]
    for books in twins:
        await a_world(books, tenants=3)
        await books.accounts(1, 2)
        await books.administrators("ann@example.com", "bob@example.com")
    traffic = Traffic(seed)
    met: set[str] = set()
    for number in range(1, BATCHES + 1):
        messages = traffic.batch()
        (seen, one), (seen_too, other) = [
            await deliberate(books.stores, number, messages, traffic.now_ms) for books in twins
        ]
        assert seen == seen_too
        assert one == other
        shown = {answer.booking.id: answer.booking for answer in one.answers if isinstance(answer, BookingView)}
        met.update(row.status for row in shown.values())
        met.update(answer.code for answer in one.answers if isinstance(answer, Refused))
        for books, booking_id in itertools.product(twins, shown):
            await books.deliver(booking_id, DAY + number, number, 1)
        traffic.learn(one.answers)
    later_ms = traffic.now_ms + DAY_MS
    in_memory, in_postgres = [await whole(books, later_ms) for books in twins]
    for name, kept in in_memory.items():
        assert in_postgres[name] == kept, name
        assert kept, f"{name} is empty: nothing was compared"
    assert met >= {"reserved", "checkout", "paid", "expired", "cancelled", "refunding", "refunded"}
    assert met >= {"slot_unavailable", "hold_limit", "not_found", "invalid_state", "idempotency_conflict"}
    assert "campaign_limit" in met
