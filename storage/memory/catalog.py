"""The catalog store in memory.

Its search approximates that of Postgres. Words are compared in lower case, without stemming or stop words. A phrase
matches if all its words occur. Ranking counts the best field of each word, not how often the word occurs.
"""

import json
import re
from collections.abc import Iterator, Sequence, Set
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import trio

from actors.catalog.queries import searchable
from actors.catalog.store import TOPIC, Counts, Entry, Import, ImportCounts, Kind, Take
from storage.memory.tables import Memory

LOAD_ROWS = 500

_WORD = re.compile(r"[^\W_]+")
_TERM = re.compile(r'(?:(-)\s*)?(?:"([^"]*)"?|([^\s"]+))')


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

    async def search(
        self, kind: Kind, q: str, limit: int, *, room: AbstractAsyncContextManager[object], seconds: float
    ) -> Sequence[str]:
        async with room:
            with trio.fail_after(seconds):
                await self._memory.before()
        alternatives = list(_alternatives(searchable(q).lower()))
        ranked = []
        for entry in self._tables.entries[kind].values():
            rank = max((_rank(entry, *terms) for terms in alternatives), default=0.0)
            if rank > 0:
                ranked.append((-rank, *_place(entry)))
        return [slug for _, _, slug in sorted(ranked)[:limit]]

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


def _alternatives(q: str) -> Iterator[tuple[set[str], set[str]]]:
    """The wanted and the unwanted words of each side of `or`."""
    for side in re.split(r"\bor\b", q):
        wanted: set[str] = set()
        unwanted: set[str] = set()
        for minus, phrase, word in _TERM.findall(side):
            (unwanted if minus else wanted).update(_WORD.findall(phrase or word))
        if wanted or unwanted:
            yield wanted, unwanted


def _rank(entry: Entry, wanted: set[str], unwanted: set[str]) -> float:
    weights = _weights(json.loads(entry.document))
    if unwanted & weights.keys() or not wanted <= weights.keys():
        return 0.0
    # An entry that merely lacks the unwanted words matches too, behind all others.
    return sum(weights[word] for word in wanted) or 0.01


def _weights(document: dict[str, Any]) -> dict[str, float]:
    """Each word of a document with the weight of the best field that contains it, as in Postgres."""
    guide = document.get("guide") or {}
    fields = (
        (0.1, guide),
        (0.2, [document.get(name) for name in ("roi", "who", "handle")]),
        (0.4, [document.get("category"), document.get("job"), guide.get("category")]),
        (1.0, [document.get("title"), document.get("name")]),
    )
    return {word: weight for weight, value in fields for text in _texts(value) for word in _WORD.findall(text.lower())}


def _texts(value: Any) -> Iterator[str]:
    """All strings inside a JSON value."""
    match value:
        case str():
            yield value
        case list():
            for inner in value:
                yield from _texts(inner)
        case dict():
            yield from _texts(list(value.values()))
