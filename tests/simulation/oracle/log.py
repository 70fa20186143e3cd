"""The changes of each transaction in commit order, so that the state at any moment is known."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from actors.bookings.decision import Decision
from actors.shared.announcements import WebhookEvent
from actors.values import AuditRecord, OutboxMessage
from actors.webhooks.messages import Delivery
from tests.doubles.tables import Memory

LEDGER = ("bookings", "campaigns", "slots", "sponsors", "slot_weeks", "booking_keys", "invoices", "shared_reports")
KEEPER = ("keys", "administrators")

Row = Any
Change = tuple[Row, Row]
"""A row before and after; None if it does not exist."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a booking: the weeks that nobody saw, and what they cost."""

    unseen: tuple[int, ...]
    cents: int


@dataclass(slots=True, eq=False)
class Picture:
    tables: Mapping[str, Mapping[Any, Row]]
    audits: int
    messages: int
    deliveries: int
    digest_ms: int


@dataclass(frozen=True, slots=True, eq=False)
class Commit:
    """One transaction. `now_ms` is the time that it was decided with, which has to lie in `between`. `messages` are the mails
    that it wrote, `webhook_events` its webhook events, which became `deliveries`. `digests` are the times of the last digest
    before it and after it."""

    tick: int
    owner: str
    between: tuple[int, int]
    changes: Mapping[str, Mapping[Any, Change]]
    audits: tuple[AuditRecord, ...]
    messages: tuple[OutboxMessage, ...] = ()
    webhook_events: tuple[WebhookEvent, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    decided_ms: int = 0
    digests: tuple[int, int] = (0, 0)

    @property
    def now_ms(self) -> int:
        """The decision time according to the audit, or else to the ledger."""
        return self.audits[0].created_ms if self.audits else self.decided_ms or self.between[1]

    def of(self, table: str) -> Mapping[Any, Change]:
        return self.changes.get(table, {})

    def audits_of(self, target_id: str) -> list[AuditRecord]:
        return [audit for audit in self.audits if audit.target_id == target_id]


@dataclass(slots=True, eq=False)
class Log:
    """Versions of every row by (table, key), each with the tick at which it began. `steps` and `ends` are what the
    schedules of bookings did, `published` the ids of all webhook events, `mailed` those of all mails that were judged."""

    commits: list[Commit] = field(default_factory=list)
    versions: dict[tuple[str, Any], list[tuple[int, Row]]] = field(default_factory=dict)
    audited: dict[str, list[AuditRecord]] = field(default_factory=dict)
    steps: set[tuple[str, int]] = field(default_factory=set)
    ends: dict[str, End] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)
    mailed: set[str] = field(default_factory=set)
    _of_target: dict[str, list[Commit]] = field(default_factory=dict)

    def begin(self, memory: Memory) -> None:
        for table in (*LEDGER, *KEEPER):
            for key, row in getattr(memory, table).items():
                self.versions[table, key] = [(0, row)]

    def picture(self, memory: Memory, tables: tuple[str, ...]) -> Picture:
        rows = {table: dict(getattr(memory, table)) for table in tables}
        deliveries = len(memory.webhook_deliveries)
        return Picture(rows, len(memory.audits), len(memory.messages), deliveries, memory.digest_mailed_ms)

    def note(
        self, memory: Memory, before: Picture, tick: int, owner: str, between: tuple[int, int], done: Any = None
    ) -> Commit:
        """Record the differences from `before`. `done` is the decision of the ledger, if it decided."""
        changes = {table: dict(_difference(old, getattr(memory, table))) for table, old in before.tables.items()}
        messages = tuple(islice(memory.messages.values(), before.messages, None))
        commit = Commit(tick, owner, between, changes, tuple(memory.audits[before.audits :]), messages)
        if isinstance(done, Decision):
            commit = replace(
                commit,
                webhook_events=tuple(done.webhook_events),
                deliveries=tuple(islice(memory.webhook_deliveries.values(), before.deliveries, None)),
                decided_ms=done.decided_ms,
                digests=(before.digest_ms, memory.digest_mailed_ms),
            )
        self.commits.append(commit)
        for target_id in dict.fromkeys(audit.target_id for audit in commit.audits):
            self._of_target.setdefault(target_id, []).append(commit)
        for audit in commit.audits:
            self.audited.setdefault(audit.target_id, []).append(audit)
        for table, rows in changes.items():
            for key, (_, after) in rows.items():
                versions = self.versions.setdefault((table, key), [])
                versions.extend((tick, row) for row in _in_between(commit, table, key, after))
                versions.append((tick, after))
        return commit

    def during(self, table: str, key: Any, began: int, ended: int) -> list[Row]:
        """Return the versions of a row during a span, None where it did not exist."""
        versions = self.versions.get((table, key), [])
        seen = [row for tick, row in versions if began < tick <= ended]
        earlier = [row for tick, row in versions if tick <= began]
        return [earlier[-1] if earlier else None, *seen]

    def commits_of(self, target_id: str) -> list[Commit]:
        """Return the transactions that have records of a target."""
        return self._of_target.get(target_id, [])

    def at(self, table: str, key: Any, tick: int) -> Row:
        """Return the row right after a tick."""
        versions = self.versions.get((table, key), [])
        return next((row for since, row in reversed(versions) if since <= tick), None)

    def since(self, table: str, key: Any) -> int | None:
        """Return the tick at which the row was created."""
        versions = self.versions.get((table, key))
        return versions[0][0] if versions else None


def _difference(before: Mapping[Any, Row], after: Mapping[Any, Row]) -> Iterator[tuple[Any, Change]]:
    for key, row in after.items():
        if before.get(key) is not row:
            yield key, (before.get(key), row)
    for key, row in before.items():
        if key not in after:
            yield key, (row, None)


def _in_between(commit: Commit, table: str, key: Any, after: Row) -> Iterator[Row]:
    """Return the states that a row passed through within one batch, according to the audit."""
    if table in ("bookings", "campaigns"):
        states = [pair for audit in commit.audits_of(key) if (pair := moved(audit)) is not None]
        for _, status in states[:-1]:
            yield replace(after, status=type(after.status)(status))


def moved(audit: AuditRecord) -> tuple[str, str] | None:
    """Return the states before and after a move, if the audit record is one."""
    pair = json.loads(audit.changes).get("status")
    return (pair[0], pair[1]) if isinstance(pair, list) and audit.target_type in ("booking", "campaign") else None
