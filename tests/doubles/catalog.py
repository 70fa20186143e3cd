"""The catalog store in memory.

Its search approximates that of Postgres. Words are compared in lower case, without stemming or stop words. A phrase
matches if all its words occur. Ranking counts the best field of each word, not how often the word occurs.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import Any

import trio

from actors.catalog.messages import Change, Entry, EntryId, Kind
from actors.catalog.queries import category_of, is_plain, searchable
from actors.catalog.state import Changes, Decision, Snapshot
from actors.catalog.store import (
    TOPIC,
    Counts,
    Decide,
    Found,
    Import,
    ImportCounts,
    Revision,
    Search,
    Stored,
    TakeChanges,
    TakeWords,
)
from actors.catalog.words import IN_TITLE, MOST_WORDS, Term, is_kept, near_the_best, steps_of, terms_of
from actors.values import BatchId
from tests.doubles.tables import CatalogTables, Memory, MemoryStore, picked

LOAD_ROWS = 500

_WORD = re.compile(r"[^\W_]+")
_TERM = re.compile(r'(?:(-)\s*)?(?:"([^"]*)"?|([^\s"]+))')


class MemoryCatalog(MemoryStore):
    """Entries, their changes and their revision."""

    @property
    def _tables(self) -> CatalogTables:
        return self._memory.catalog

    async def revision(self) -> int:
        await self._memory.before()
        return self._tables.revision

    async def changes(self, after: int, take: TakeChanges, take_words: TakeWords | None = None) -> Revision:
        await self._memory.before()
        tables = self._tables
        changes = sorted((each for each in tables.changes.values() if each.number > after), key=_number)
        newest = max([after, tables.forgotten, *(each.number for each in changes)])
        revision = Revision(tables.revision, newest, tables.forgotten)
        words = {kind: _counted(tuple(tables.of(kind).values())) for kind in Kind} if take_words else {}
        for start in range(0, len(changes), LOAD_ROWS):
            take(changes[start : start + LOAD_ROWS])
            await trio.lowlevel.checkpoint()
        for kind, counted in words.items():
            assert take_words is not None
            take_words(kind, counted)
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

    async def search(self, search: Search, *, room: AbstractAsyncContextManager[object], seconds: float) -> Found:
        async with room:
            with trio.fail_after(seconds):
                await self._memory.before()
        text = searchable(search.q).lower()
        entries = list(self._tables.of(search.kind).values())
        if search.category is not None:
            entries = [entry for entry in entries if category_of(entry.document) == search.category]
        alternatives = list(_alternatives(text))
        ranks = {entry: max((_rank(entry, *terms) for terms in alternatives), default=0.0) for entry in entries}
        ranked = _best(ranks, search.limit)
        if ranked or not search.words or not is_plain(text):
            return Found(tuple(slug for slug, _ in ranked))
        terms = terms_of(_WORD.findall(text), search.words)
        best = Found(())
        for step in steps_of(terms, search.words):
            ranked = _best({entry: _score(entry, terms, step) for entry in entries}, search.limit)
            best = Found(near_the_best(ranked), relaxed=bool(ranked))
            if len(ranked) >= search.limit:
                break
        return best

    async def present(self, kind: Kind, slugs: Sequence[str]) -> Set[str]:
        await self._memory.before()
        return self._tables.of(kind).keys() & set(slugs)

    async def replace(self, batch: Import) -> ImportCounts:
        await self._memory.before()
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
        await self._memory.after()
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


@lru_cache(maxsize=64)
def _counted(entries: tuple[Entry, ...]) -> Sequence[tuple[str, int]]:
    """The words of these entries in order, each with the number of entries that have it. Nodes of one process mostly load the
    same entries."""
    counts = Counter(word for entry in entries for word in _weights(json.loads(entry.document)) if is_kept(word))
    return sorted(counts.most_common(MOST_WORDS))


def _best(ranks: Mapping[Entry, float], limit: int) -> Sequence[tuple[str, float]]:
    """The slugs and ranks of the best entries: those with a rank, best first, then newest, then by slug."""
    ranked = sorted((-rank, *_place(entry)) for entry, rank in ranks.items() if rank > 0)
    return [(slug, -rank) for rank, _, slug in ranked[:limit]]


def _score(entry: Entry, terms: Sequence[Term], step: Sequence[Sequence[Term]]) -> float:
    """The sum of the weights of the terms that an entry has, or 0 if it has not all of one choice of the step."""
    weights = _weights(json.loads(entry.document))
    has = {term: max((weights[word] for word in term.words if word in weights), default=0.0) for term in terms}
    if not any(all(has[term] for term in choice) for choice in step):
        return 0.0
    return sum(term.weight * (1 + IN_TITLE * place) for term, place in has.items() if place)


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
