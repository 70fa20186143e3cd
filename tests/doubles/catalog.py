"""The catalog store in memory, and the snapshot over it without threads."""

from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeVar

import trio

from actors.catalog.store import TOPIC, Counts, Entry, Import, ImportCounts, Kind, Take
from actors.kernel.mailbox import answer_due
from service.snapshots.catalog import Catalog
from tests.doubles.tables import Memory

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
            if room is self._indexing:
                self._postponed = (*self._postponed, work)
                return None  # type: ignore[return-value]
            return self._now(work)

    async def _read(self, kind: Kind, work: Callable[[], T]) -> T:
        with trio.fail_at(answer_due.get()):
            await self.before()
        return await super()._read(kind, lambda: self._now(work))

    def _now(self, work: Callable[[], T]) -> T:
        postponed, self._postponed = self._postponed, ()
        for each in postponed:
            each()
        return work()


@dataclass(slots=True)
class _Tables:
    entries: dict[Kind, dict[str, Entry]] = field(default_factory=lambda: {kind: {} for kind in Kind})
    revision: int = 0


class MemoryCatalog:
    """Entries and their revision. Nodes that share a database share one instance."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._tables = _Tables()

    async def revision(self) -> int:
        await self._memory.before()
        return self._tables.revision

    async def load(self, take: Take) -> int:
        await self._memory.before()
        revision = self._tables.revision
        lists = {kind: sorted(entries.values(), key=_place) for kind, entries in self._tables.entries.items()}
        for kind, entries in lists.items():
            for start in range(0, len(entries), LOAD_ROWS):
                take(kind, entries[start : start + LOAD_ROWS])
                await trio.lowlevel.checkpoint()
        await self._memory.after()
        return revision

    async def present(self, kind: Kind, slugs: Sequence[str]) -> Set[str]:
        await self._memory.before()
        return self._tables.entries[kind].keys() & set(slugs)

    async def replace(self, batch: Import) -> ImportCounts:
        await self._memory.before()
        total = sum(len(entries) for entries in batch.entries.values())
        after = {kind: self._replaced(kind, entries, batch) for kind, entries in batch.entries.items()}
        counts = {kind: self._counts(kind, entries, after[kind]) for kind, entries in batch.entries.items()}
        batch.progress(total, total)
        result = ImportCounts(self._tables.revision, counts)
        if result.writes and not batch.dry_run:
            self._tables = _Tables(self._tables.entries | after, self._tables.revision + 1)
            result = ImportCounts(self._tables.revision, counts)
            self._memory.announce([TOPIC])
        await self._memory.after()
        return result

    def _replaced(self, kind: Kind, entries: Sequence[Entry], batch: Import) -> dict[str, Entry]:
        base = {} if batch.prune else self._tables.entries[kind]
        return base | {entry.slug: entry for entry in entries}

    def _counts(self, kind: Kind, entries: Sequence[Entry], after: dict[str, Entry]) -> Counts:
        before = self._tables.entries[kind]
        added = sum(entry.slug not in before for entry in entries)
        unchanged = sum(entry == before.get(entry.slug) for entry in entries)
        return Counts(added, len(entries) - added - unchanged, unchanged, len(before.keys() - after.keys()))


def _place(entry: Entry) -> tuple[int, str]:
    return -entry.added_ms, entry.slug
