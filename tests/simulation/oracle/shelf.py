"""Transactions of the catalog, each judged at its commit, and what nodes and mirrors show of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trio

from actors.catalog.messages import (
    Change,
    ChangeType,
    Conflict,
    Entry,
    EntryId,
    EntryRetired,
    EntrySaved,
    Kind,
    Message,
    PutEntry,
)
from actors.catalog.store import Import
from actors.values import BatchId
from tests.simulation.oracle.case import Case

if TYPE_CHECKING:
    from tests.simulation.editors import Mirror, Seen
    from tests.simulation.node import Node
    from tests.simulation.world import World


Entries = dict[EntryId, Entry]
Changes = dict[EntryId, Change]
Replay = Callable[[Any, Entries, Changes], Iterator[str]]
"""Applies a transaction with this answer to entries and changes, and names what is wrong with it."""

NEW = -1
"""Stands for the number of a change of the transaction that is judged."""


@dataclass(slots=True, eq=False)
class Shelf:
    """The entries after each revision, by the oracle's own account, and the mirrors."""

    world: "World"
    states: dict[int, dict[EntryId, bytes]] = field(default_factory=lambda: {0: {}})
    mirrors: dict[str, "Mirror"] = field(default_factory=dict)
    batches: dict[tuple[str, int], Sequence[Message]] = field(default_factory=dict)
    """The messages of each batch, by its owner and number."""
    imports: list[Import] = field(default_factory=list)
    kept_seconds: float = 0.0
    """The greatest age of a node's catalog when faults kept the node from its database."""
    reads: int = 0
    _imported_before: set[str] = field(default_factory=set)
    _shown: dict[int, int] = field(default_factory=dict)

    def judge_read(self, node: "Node", entry_id: EntryId, seen: "Seen") -> None:
        """A read shows one committed state, whichever it is, and none before one that the node has shown."""
        if seen.revision < 0:
            return
        self.reads += 1
        newest = self._shown.get(node.index, 0)
        self._shown[node.index] = max(newest, seen.revision)
        if seen.revision < newest:
            self.world.violations.append(
                f"a_node_never_goes_back: {node.name} showed revision {seen.revision} after {newest}"
            )
        expected = self.states[seen.revision].get(entry_id)
        if seen.document != expected:
            self.world.violations.append(
                f"a_node_shows_a_committed_state: {node.name} showed {entry_id} at revision {seen.revision} as "
                f"{seen.document!r}, not {expected!r}"
            )

    def judge_commit(self, batch_id: BatchId, work: Callable[[], Any]) -> Any:
        """Run a transaction of the editor: rows and answers are those that follow from its messages."""
        messages = self.batches[batch_id.owner, batch_id.seq]
        return self._judge(
            batch_id, work, lambda done, entries, changes: _replayed(messages, entries, changes, done.answers)
        )

    def judge_import(self, batch_id: BatchId, work: Callable[[], Any]) -> Any:
        """Run an import: rows are those that follow from its file, and one record tells how many changed."""
        batch = self.imports[batch_id.seq]
        return self._judge(
            batch_id, work, lambda done, entries, changes: self._imported(batch, entries, changes), records=1
        )

    def judge_reviews(self, batch_id: BatchId, work: Callable[[], Any]) -> Any:
        """Run a transaction of submissions. `submissions` judges which entries it may write."""
        return self._judge(
            batch_id,
            work,
            lambda done, entries, changes: self._written(self.world.memory.catalog.entries, entries, changes),
            records=None,
        )

    def _judge(self, batch_id: BatchId, work: Callable[[], Any], replay: Replay, records: int | None = -1) -> Any:
        """Run a transaction and compare the rows with those of `replay`. A change has a record of its own, or a transaction
        that changes something has so many `records`; None does not count them."""
        tables = self.world.memory.catalog
        entries, changes = dict(tables.entries), dict(tables.changes)
        revision, number, audits = tables.revision, tables.number, len(self.world.memory.audits)
        done = work()
        found = list(replay(done, entries, changes))
        if (tables.revision > revision) != (tables.number > number):
            found.append(f"the revision went from {revision} to {tables.revision}, and {number} to {tables.number}")
        made, audits = tables.number - number, len(self.world.memory.audits) - audits
        if records is not None and audits != (made if records < 0 else records * bool(made)):
            found.append(f"{made} changes have {audits} audit records")
        if entries != tables.entries:
            found.append(f"the entries are {tables.entries}, not {entries}")
        found += _misnumbered(changes, tables.changes, number)
        self.states[tables.revision] = {each: entry.served for each, entry in tables.entries.items()}
        self.world.violations.extend(f"a_catalog_transaction: {batch_id!r}: {each}" for each in found)
        self.world.looks.note(tables, self.world.history.tick(), trio.current_time())
        return done

    def _imported(self, batch: Import, entries: Entries, changes: Changes) -> Iterator[str]:
        """Apply an import. An entry that it has as it was stays as it was, with its time."""
        if batch.dry_run or self._has_committed(batch):
            return
        given = {EntryId(kind, row.slug): row for kind, rows in batch.entries.items() for row in rows}
        stored = self.world.memory.catalog.entries
        pruned = batch.entries if batch.prune else {}
        after = {each: entry for each, entry in entries.items() if each in given or each.kind not in pruned}
        for each, row in given.items():
            if each not in stored or stored[each].document != row.document:
                yield f"{each} is {stored.get(each)} after an import of {row}"
            elif each not in entries or entries[each].document != row.document:
                after[each] = stored[each]
        yield from self._written(after, entries, changes)

    def _has_committed(self, batch: Import) -> bool:
        """Whether an earlier attempt at an import has changed something. This one must not do it again."""
        assert batch.audit is not None
        records = [each for each in self.world.memory.audits if each.id == batch.audit.id]
        known = batch.audit.id in self._imported_before
        if records:
            self._imported_before.add(batch.audit.id)
        return known

    def _written(self, after: Mapping[EntryId, Entry], entries: Entries, changes: Changes) -> Iterator[str]:
        """Apply what turns the entries into `after`."""
        for entry_id, entry in after.items():
            before, old = changes.get(entry_id), entries.get(entry_id)
            if entry == old:
                continue
            if before is not None and entry.updated_ms <= before.at_ms:
                yield f"{entry_id} became {entry} after {before}"
            kind = ChangeType.ADDED if old is None else ChangeType.UPDATED
            entries[entry_id] = entry
            changes[entry_id] = Change(entry_id, NEW, kind, entry.updated_ms, entry.added_ms, entry.served)
        for entry_id in [each for each in entries if each not in after]:
            del entries[entry_id]
            retired = self.world.memory.catalog.retired.get(entry_id)
            if retired is None or retired.updated_ms <= changes[entry_id].at_ms:
                yield f"{entry_id} was removed as {retired} after {changes[entry_id]}"
            else:
                changes[entry_id] = Change(entry_id, NEW, ChangeType.REMOVED, retired.updated_ms)


def editing(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """A transaction of the editor."""
    return world.shelf.judge_commit(batch_id, work)


def importing(world: "World", batch_id: BatchId, work: Callable[[], Any]) -> Any:
    """An import."""
    return world.shelf.judge_import(batch_id, work)


def _replayed(
    messages: Sequence[Message],
    entries: dict[EntryId, Entry],
    changes: dict[EntryId, Change],
    answers: list[Any],
) -> Iterator[str]:
    """Apply the messages to `entries` and `changes` by their answers, and name each answer that is not right."""
    for message, answer in zip(messages, answers, strict=True):
        current = entries.get(message.id)
        if isinstance(answer, Conflict):
            if answer.current != current or _holds(message, current):
                yield f"{message.id} is {current}, and a conflict with {answer.current}"
            continue
        same = isinstance(answer, EntrySaved) and answer.entry == current
        gone = isinstance(answer, EntryRetired) and current is None
        if same or gone or not isinstance(answer, EntrySaved | EntryRetired):
            continue
        if not _holds(message, current):
            yield f"{message.id} changed, although it is {current}, which was not asked for"
        if isinstance(answer, EntryRetired):
            del entries[message.id]
            changes[message.id] = Change(message.id, NEW, ChangeType.REMOVED, answer.retired.updated_ms)
            continue
        assert isinstance(message, PutEntry)
        entry, before = answer.entry, changes.get(message.id)
        if entry.document != message.draft(entry.added_ms) or (before and entry.updated_ms <= before.at_ms):
            yield f"{message.id} became {entry} after {before}"
        kind = ChangeType.ADDED if current is None else ChangeType.UPDATED
        entries[message.id] = entry
        changes[message.id] = Change(message.id, NEW, kind, entry.updated_ms, entry.added_ms, entry.served)


def _misnumbered(expected: Mapping[EntryId, Change], found: Mapping[EntryId, Change], before: int) -> Iterator[str]:
    """Compare the rows of changes. New ones come after all that were there, in whichever order."""
    if expected.keys() != found.keys():
        yield f"the changes are of {sorted(found)}, not of {sorted(expected)}"
        return
    for each, change in expected.items():
        number = found[each].number
        if found[each]._replace(number=change.number) != change or (change.number == NEW) != (number > before):
            yield f"the change of {each} is {found[each]}, not {change}, after {before}"
    if len({change.number for change in found.values()}) < len(found):
        yield "two changes have one number"


def _holds(message: Message, current: Entry | None) -> bool:
    versions = message.condition.versions
    if message.condition.absent:
        return current is None
    return versions is None or (current is not None and current.version in versions)


def all_nodes_show_the_newest_catalog(case: Case) -> Iterator[str]:
    tables = case.memory.catalog
    shown = {each: entry.served for each, entry in tables.entries.items()}
    rows = sorted(tables.changes.values(), key=lambda change: change.number)
    for node in case.world.nodes:
        snapshot = node.desk.catalog.snapshot
        own = {
            EntryId(kind, slug): item.body
            for kind in Kind
            for _, slug in snapshot.lists[kind].positions(0, len(shown) + 1)
            if (item := snapshot.item(kind, slug)) is not None
        }
        if own != shown:
            yield f"{node.name} shows {sorted(own)} of revision {snapshot.revision}, not {sorted(shown)} of {tables.revision}"
        told = [json.loads(row)["slug"] for row in snapshot.changes.page(0, len(rows) + 1).rows]
        if told != [change.slug for change in rows]:
            yield f"{node.name} lists changes of {told}, not of {[change.id for change in rows]}"


def a_mirror_is_equal_to_the_catalog(case: Case) -> Iterator[str]:
    shown = {each: entry.served for each, entry in case.memory.catalog.entries.items()}
    for name, mirror in case.world.shelf.mirrors.items():
        if mirror.entries != shown:
            yield f"{name} has {mirror.entries} after {mirror.after}, not {shown}"
