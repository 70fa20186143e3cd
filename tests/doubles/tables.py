"""The tables of the stores in memory. These fulfil the same contracts as those over Postgres, for tests and simulation.

One `Memory` stands for one database, which several nodes may share. A transaction has no checkpoint between its reads
and its writes, so Trio runs it atomically and in isolation. In `before` and `after`, a test or the simulation can make a
store slow, make it fail, or lose its result.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import trio

from actors.accounts.messages import Deletion, MailChoices
from actors.bookings.invoices import Invoice
from actors.bookings.records import (
    BillingDetails,
    Booking,
    Campaign,
    IdempotencyRecord,
    PaymentReport,
    Slot,
    Sponsor,
)
from actors.bookings.reports import SharedReport
from actors.catalog.messages import Change, ChangeType, Entry, EntryId, Kind
from actors.catalog.submissions import Submission
from actors.devices.messages import Device, Guesses
from actors.events.messages import Row
from actors.events.sightings import Sighting
from actors.keys.authorizations import Authorization
from actors.keys.messages import Claim, Key
from actors.mail.messages import QueuedMessage
from actors.nodes.messages import NodeInfo
from actors.sessions.messages import Session, SignIn, SignInLink
from actors.sessions.second_factor import Challenge, Passkey, PendingSignIn
from actors.shared.code_mails import CodeMailCount
from actors.values import AcceptedTerms, Account, AuditRecord, BatchId, Filtered, OutboxMessage, Steps, Tenant, finished
from actors.webhooks.messages import Delivery, Published, Webhook

S = TypeVar("S")
D = TypeVar("D")
K = TypeVar("K")
R = TypeVar("R")


async def _checkpoint() -> None:
    await trio.lowlevel.checkpoint()


@dataclass(slots=True)
class CatalogTables:
    """The entries, the removed ones, and the newest change of each of both."""

    entries: dict[EntryId, Entry] = field(default_factory=dict)
    changes: dict[EntryId, Change] = field(default_factory=dict)
    retired: dict[EntryId, Entry] = field(default_factory=dict)
    number: int = 0
    forgotten: int = 0
    revision: int = 0
    epoch: int = 0

    def save(self, entry_id: EntryId, entry: Entry, now_ms: int) -> None:
        kind = ChangeType.UPDATED if entry_id in self.entries else ChangeType.ADDED
        self.retired.pop(entry_id, None)
        entry = self.entries[entry_id] = replace(entry, updated_ms=self._at_ms(entry_id, now_ms))
        self._note(entry_id, kind, entry.updated_ms, entry.added_ms, entry.served)

    def remove(self, entry_id: EntryId, now_ms: int) -> None:
        at_ms = self._at_ms(entry_id, now_ms)
        self.retired[entry_id] = replace(self.entries.pop(entry_id), updated_ms=at_ms)
        self._note(entry_id, ChangeType.REMOVED, at_ms)

    def of(self, kind: Kind) -> dict[str, Entry]:
        return {entry_id.slug: entry for entry_id, entry in self.entries.items() if entry_id.kind is kind}

    def _at_ms(self, entry_id: EntryId, now_ms: int) -> int:
        known = self.changes.get(entry_id)
        return now_ms if known is None else max(now_ms, known.at_ms + 1)

    def _note(self, entry_id: EntryId, kind: ChangeType, at_ms: int, *served: Any) -> None:
        self.number += 1
        self.changes[entry_id] = Change(entry_id, self.number, kind, at_ms, *served)


@dataclass(eq=False, slots=True)
class Memory:
    """All tables. `listeners` are called with each announced topic, as by LISTEN."""

    tenants: dict[str, Tenant] = field(default_factory=dict)
    usage_days: dict[tuple[str, int], int] = field(default_factory=dict)
    # By tenant, key and day.
    key_usage_days: dict[tuple[str, str, int], int] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    claims: dict[bytes, Claim] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    # By tenant and version.
    accepted_terms: dict[tuple[str, str], AcceptedTerms] = field(default_factory=dict)
    administrators: dict[str, int] = field(default_factory=dict)
    # By email.
    mail_choices: dict[str, MailChoices] = field(default_factory=dict)
    # By tenant.
    account_deletions: dict[str, Deletion] = field(default_factory=dict)
    messages: dict[str, OutboxMessage] = field(default_factory=dict)
    # Delivery state of the messages that were leased or marked, by message id.
    outbox: dict[str, QueuedMessage] = field(default_factory=dict)
    audits: list[AuditRecord] = field(default_factory=list)
    # By email and browser.
    sign_ins: dict[tuple[str, bytes], SignIn] = field(default_factory=dict)
    letters: dict[bytes, CodeMailCount] = field(default_factory=dict)
    sign_in_links: dict[bytes, SignInLink] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    passkeys: dict[str, Passkey] = field(default_factory=dict)
    # By session or pending sign-in.
    passkey_challenges: dict[str, Challenge] = field(default_factory=dict)
    pending_sign_ins: dict[str, PendingSignIn] = field(default_factory=dict)
    devices: dict[str, Device] = field(default_factory=dict)
    authorizations: dict[str, Authorization] = field(default_factory=dict)
    # By session.
    device_guesses: dict[str, Guesses] = field(default_factory=dict)
    # When a key was last used, by its id.
    key_uses: dict[str, int] = field(default_factory=dict)
    # By tenant.
    sponsors: dict[str, Sponsor] = field(default_factory=dict)
    billing_details: dict[str, BillingDetails] = field(default_factory=dict)
    shared_reports: dict[str, SharedReport] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    campaigns: dict[str, Campaign] = field(default_factory=dict)
    bookings: dict[str, Booking] = field(default_factory=dict)
    # The booking that holds a week, by slot and start of the week.
    slot_weeks: dict[tuple[str, int], str] = field(default_factory=dict)
    # By tenant, operation and key.
    booking_keys: dict[tuple[str, str, str], IdempotencyRecord] = field(default_factory=dict)
    # The booking of a handled event, and when it was handled.
    payment_events: dict[str, tuple[str, int]] = field(default_factory=dict)
    payment_reports: dict[str, PaymentReport] = field(default_factory=dict)
    invoices: dict[str, Invoice] = field(default_factory=dict)
    # The last number of each series.
    invoice_numbers: dict[str, int] = field(default_factory=dict)
    # Impressions and clicks, by booking and day.
    delivery_days: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    # What was filtered, by booking and day.
    filtered_days: dict[tuple[str, int], Filtered] = field(default_factory=dict)
    # The number of a website, and whether the configuration names it.
    sites: dict[str, tuple[int, bool]] = field(default_factory=dict)
    sightings: dict[str, Sighting] = field(default_factory=dict)
    # Impressions and clicks, by booking, day and website.
    site_days: dict[tuple[str, int, int], tuple[int, int]] = field(default_factory=dict)
    # The keys of events by day. Each day in it has a partition.
    events: dict[int, dict[bytes, Row]] = field(default_factory=dict)
    # By day.
    visitor_secrets: dict[int, bytes] = field(default_factory=dict)
    # A node and the time of its last heartbeat, by its id.
    nodes: dict[str, tuple[NodeInfo, float]] = field(default_factory=dict)
    webhooks: dict[str, Webhook] = field(default_factory=dict)
    webhook_deliveries: dict[str, Delivery] = field(default_factory=dict)
    webhook_events: dict[str, Published] = field(default_factory=dict)
    webhook_event_seq: int = 0
    webhook_seq: int = 0
    submissions: dict[str, Submission] = field(default_factory=dict)
    catalog: CatalogTables = field(default_factory=CatalogTables)
    digest_mailed_ms: int = 0
    clock_ahead_ms: int = 0
    submissions_mailed_ms: int = 0
    sponsorship_revision: int = 0
    journal: dict[str, int] = field(default_factory=dict)
    listeners: list[Callable[[str], None]] = field(default_factory=list)
    before: Callable[[], Awaitable[None]] = _checkpoint
    after: Callable[[], Awaitable[None]] = _checkpoint

    async def transact(self, batch_id: BatchId, work: Callable[[], D]) -> D:
        """Run `work` once per batch id."""
        await self.before()
        if self.journal.get(batch_id.owner, 0) >= batch_id.seq:
            decided: D = batch_id.decided
        else:
            decided = batch_id.decided = work()
            self.journal[batch_id.owner] = batch_id.seq
        await self.after()
        return decided

    async def decide_once(
        self, batch_id: BatchId, read: Callable[[], S], decide: Callable[[S], D | Steps[D]], write: Callable[[D], None]
    ) -> D:
        """Read, decide and write, once per batch id, as `storage.rows.journal` does over Postgres."""

        def work() -> D:
            decision = decided(decide(read()))
            write(decision)
            return decision

        return await self.transact(batch_id, work)

    def is_suspended(self, tenant_id: str) -> bool:
        return any(row.tenant_id == tenant_id and row.suspended_ms is not None for row in self.accounts.values())

    def shared_of(self, tenant_id: str) -> list[SharedReport]:
        """The reports that an account shares, newest first."""
        mine = (row for row in self.shared_reports.values() if row.tenant_id == tenant_id)
        return sorted(mine, key=lambda row: (row.created_ms, row.id), reverse=True)

    def accept(self, terms: Iterable[AcceptedTerms]) -> None:
        for each in terms:
            self.accepted_terms.setdefault((each.tenant_id, each.version), each)

    def announce(self, topics: Sequence[str]) -> None:
        for topic in topics:
            for listener in self.listeners:
                listener(topic)


def decided(work: D | Steps[D]) -> D:
    """A decision, or that of all its steps."""
    return finished(work) if isinstance(work, Generator) else work


class MemoryStore:
    """A store over the tables of one database."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory


def picked(rows: Mapping[K, R], keys: Iterable[K]) -> dict[K, R]:
    """The rows that exist under these keys."""
    return {key: rows[key] for key in keys if key in rows}


def oldest(times: Iterable[tuple[int, K]], before_ms: int, limit: int) -> list[K]:
    """The keys of at most `limit` rows older than `before_ms`, oldest first. `times` are pairs of time and key."""
    return [key for ms, key in sorted(times) if ms < before_ms][:limit]
