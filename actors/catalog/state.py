"""The rules of editing the catalog: entries and messages in, changes and answers out. Pure."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from actors.catalog.messages import (
    Answer,
    Condition,
    Conflict,
    Entry,
    EntryId,
    EntryRetired,
    EntrySaved,
    Kind,
    Message,
    PutEntry,
    RetireEntry,
)
from actors.values import AuditRecord, Code, Refused

TARGETS = {Kind.USECASES: "usecase", Kind.BOTS: "bot"}
"""The types of the targets of audit records."""

WORDS = {Kind.USECASES: "use case", Kind.BOTS: "bot template"}
"""The words for one entry of a kind."""


@dataclass(slots=True)
class Snapshot:
    """The named entries that exist, and those that were removed. No other change commits before the decision does."""

    entries: dict[EntryId, Entry] = field(default_factory=dict)
    retired: dict[EntryId, Entry] = field(default_factory=dict)


@dataclass(slots=True)
class Changes:
    """Entries to write and to remove, each of which occurs once."""

    saved: dict[EntryId, Entry] = field(default_factory=dict)
    removed: set[EntryId] = field(default_factory=set)

    def __contains__(self, entry_id: EntryId) -> bool:
        return entry_id in self.saved or entry_id in self.removed


@dataclass(slots=True)
class Decision:
    """The changes to commit, in order, and one answer for each message. An entry that changes twice does so in two rounds."""

    rounds: list[Changes] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


def entries_to_read(messages: Iterable[Message]) -> Sequence[EntryId]:
    return sorted({message.id for message in messages})


def decide(snapshot: Snapshot, messages: Sequence[Message], now_ms: int) -> Decision:
    """Decide all messages in order; each sees the changes of the ones before it."""
    work = EntryWork(snapshot, now_ms)
    for message in messages:
        work.decision.answers.append(work.answer(message))
    return work.decision


class EntryWork:
    """Answers messages one by one, and collects what changes."""

    def __init__(self, snapshot: Snapshot, now_ms: int) -> None:
        self._entries = dict(snapshot.entries)
        self._retired = dict(snapshot.retired)
        self._now_ms = now_ms
        self.decision = Decision()

    def current(self, entry_id: EntryId) -> Entry | None:
        """An entry with the changes so far."""
        return self._entries.get(entry_id)

    def answer(self, message: Message) -> Answer:
        match message:
            case PutEntry():
                return self.put(message)
            case RetireEntry():
                return self.retire(message)

    def put(self, message: PutEntry) -> EntrySaved | Conflict:
        current, retired = self._entries.get(message.id), self._retired.get(message.id)
        known = current or retired
        added_ms = message.added_ms
        if added_ms is None:
            added_ms = self._now_ms if known is None else known.added_ms
        entry = Entry(message.id.slug, added_ms, message.draft(added_ms), self._at_ms(known))
        same = current is not None and current.document == entry.document
        # A repeated change finds another version than its condition names: its own (RFC 9110, 13.1.1).
        if not _holds(message.condition, current) and not (same and not message.condition.absent):
            return Conflict(current)
        if same:
            assert current is not None
            return EntrySaved(current)
        self._round(message.id).saved[message.id] = entry
        self._entries[message.id] = entry
        action = "entry.edited" if current else "entry.restored" if retired else "entry.created"
        self._audit(message.audit, action, {"fields": _changed_fields(known, entry)} if known else {})
        return EntrySaved(entry, created=current is None)

    def retire(self, message: RetireEntry) -> EntryRetired | Conflict | Refused:
        current, retired = self._entries.get(message.id), self._retired.get(message.id)
        if current is None:
            return EntryRetired(retired) if retired else unknown_entry(message.id.kind)
        if not _holds(message.condition, current):
            return Conflict(current)
        self._round(message.id).removed.add(message.id)
        del self._entries[message.id]
        retired = self._retired[message.id] = replace(current, updated_ms=self._at_ms(current))
        self._audit(message.audit, "entry.retired", {})
        return EntryRetired(retired)

    def _at_ms(self, known: Entry | None) -> int:
        """The time of a change: now, but later than the entry's last one, whose node may have had another clock."""
        return self._now_ms if known is None else max(self._now_ms, known.updated_ms + 1)

    def _round(self, entry_id: EntryId) -> Changes:
        """The last round, or the next one if the entry has changed in it."""
        rounds = self.decision.rounds
        if not rounds or entry_id in rounds[-1]:
            rounds.append(Changes())
        return rounds[-1]

    def _audit(self, audit: AuditRecord, action: str, changes: dict[str, Any]) -> None:
        self.decision.audits.append(replace(audit, action=action, changes=json.dumps(changes)))


def unknown_entry(kind: Kind) -> Refused:
    return Refused(Code.NOT_FOUND, f"There is no {WORDS[kind]} with this slug.")


def _holds(condition: Condition, current: Entry | None) -> bool:
    if condition.absent and current is not None:
        return False
    if condition.versions is None:
        return True
    return current is not None and (not condition.versions or current.version in condition.versions)


def _changed_fields(before: Entry, after: Entry) -> list[str]:
    """The names of the fields that differ, in the order of their names."""
    old, new = json.loads(before.document), json.loads(after.document)
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
