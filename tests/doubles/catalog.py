"""The catalog store in memory, and the snapshot over it without threads."""

from collections.abc import Awaitable, Callable, Sequence, Set
from typing import Any, TypeVar

import trio

from actors.catalog.messages import Change, Entry, EntryId, Kind
from actors.catalog.state import Changes, Decision, Snapshot
from actors.catalog.store import TOPIC, Counts, Decide, Import, ImportCounts, Revision, Stored, TakeChanges
from actors.kernel.mailbox import answer_due
from actors.values import BatchId
from service.snapshots.catalog import Catalog
from tests.doubles.tables import CatalogTables, Memory, MemoryStore, picked

LOAD_ROWS = 500

T = TypeVar("T")


class PromptCatalog(Catalog):
    """Uses no threads, for which virtual time does not wait. Changes are indexed when somebody searches, since most tests do
    not."""

    # Its log lines have the name of the class that it stands for.
    __module__ = Catalog.__module__

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Called before each search: raises, or waits as one in a thread.
        self.before: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
        self._postponed: Sequence[Callable[[], object]] = ()

    async def _in_thread(self, work: Callable[[], T], room: trio.CapacityLimiter) -> T:
        async with room:
            if room is self._building:
                return work()
            if room is self._indexing:
                self._postponed = (*self._postponed, work)
                return None  # type: ignore[return-value]
            return self._now(work)

    def _give_way(self) -> None:
        pass

    async def _read(self, kind: Kind, work: Callable[[], T]) -> T:
        with trio.fail_at(answer_due.get()):
            await self.before()
        return await super()._read(kind, lambda: self._now(work))

    def _now(self, work: Callable[[], T]) -> T:
        postponed, self._postponed = self._postponed, ()
        for each in postponed:
            each()
        return work()


class MemoryCatalog(MemoryStore):
    """Entries, their changes and their revision."""

    @property
    def _tables(self) -> CatalogTables:
        return self._memory.catalog

    async def revision(self) -> int:
        await self._memory.before()
        return self._tables.revision

    async def state(self) -> tuple[int, int]:
        return await self.revision(), self._tables.epoch

    async def changes(self, after: int, take: TakeChanges) -> Revision:
        await self._memory.before()
        tables = self._tables
        changes = sorted((each for each in tables.changes.values() if each.number > after), key=_number)
        newest = max([after, tables.forgotten, *(each.number for each in changes)])
        revision = Revision(tables.revision, newest, tables.forgotten, tables.epoch)
        for start in range(0, len(changes), LOAD_ROWS):
            take(changes[start : start + LOAD_ROWS])
            await trio.lowlevel.checkpoint()
        await self._memory.after()
        return revision

    async def stored(self, entry_id: EntryId) -> Stored:
        await self._memory.before()
        return Stored(self._tables.entries.get(entry_id), self._tables.retired.get(entry_id))

    async def transact(self, batch_id: BatchId, ids: Sequence[EntryId], decide: Decide, now_ms: int) -> Decision:
        def write(decision: Decision) -> None:
            write_rounds(self._memory, decision.rounds, now_ms)
            self._memory.audits.extend(decision.audits)

        return await self._memory.decide_once(batch_id, lambda: read_entries(self._memory, ids), decide, write)

    async def present(self, kind: Kind, slugs: Sequence[str]) -> Set[str]:
        await self._memory.before()
        return self._tables.of(kind).keys() & set(slugs)

    async def replace(self, batch: Import) -> ImportCounts:
        await self._memory.before()
        result = self._replace(batch)
        await self._memory.after()
        return result

    def _replace(self, batch: Import) -> ImportCounts:
        for record in self._memory.audits:
            if batch.audit is not None and record.id == batch.audit.id:
                return ImportCounts.of_record(batch, record.changes, self._tables.revision)
        total = sum(len(entries) for entries in batch.entries.values())
        changes, counts = Changes(), {}
        for kind, entries in batch.entries.items():
            before = self._tables.of(kind)
            kept = {entry.slug for entry in entries}
            removed = before.keys() - kept if batch.prune else set()
            changed = [entry for entry in entries if entry.slug in before and not _same(entry, before[entry.slug])]
            added = [entry for entry in entries if entry.slug not in before]
            same = len(entries) - len(added) - len(changed)
            counts[kind] = Counts(len(added), len(changed), same, len(removed))
            changes.saved |= {EntryId(kind, entry.slug): entry for entry in (*added, *changed)}
            changes.removed |= {EntryId(kind, slug) for slug in removed}
        batch.progress(total, total)
        if any(each.writes for each in counts.values()) and not batch.dry_run:
            write_rounds(self._memory, [changes], batch.now_ms)
        result = ImportCounts(self._tables.revision, counts)
        if not batch.dry_run:
            self._memory.audits.extend(result.recorded(batch.audit))
        return result


def read_entries(memory: Memory, ids: Sequence[EntryId]) -> Snapshot:
    """These entries, removed ones too."""
    return Snapshot(picked(memory.catalog.entries, ids), picked(memory.catalog.retired, ids))


def write_rounds(memory: Memory, rounds: Sequence[Changes], now_ms: int) -> None:
    """Write changes at `now_ms`, and announce them if there are any."""
    for changes in rounds:
        for entry_id, entry in sorted(changes.saved.items(), key=lambda item: item[0]):
            memory.catalog.save(entry_id, entry, now_ms)
        for entry_id in sorted(changes.removed):
            memory.catalog.remove(entry_id, now_ms)
    if rounds:
        memory.catalog.revision += 1
        memory.announce([TOPIC])


def _same(one: Entry, other: Entry) -> bool:
    return one.document == other.document


def _number(change: Change) -> int:
    return change.number


def _place(entry: Entry) -> tuple[int, str]:
    return -entry.added_ms, entry.slug
