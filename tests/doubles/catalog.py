"""The catalog store in memory.

Its search approximates that of Postgres. Words are compared in lower case, without stemming or stop words. A phrase
matches if all its words occur. Ranking counts the best field of each word, not how often the word occurs.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import trio

from actors.catalog.queries import category_of, is_plain, searchable
from actors.catalog.store import TOPIC, Counts, Entry, Found, Import, ImportCounts, Kind, Search, Take, TakeWords
from actors.catalog.words import IN_TITLE, MOST_WORDS, Term, is_kept, near_the_best, steps_of, terms_of
from tests.doubles.tables import Memory

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

    async def load(self, take: Take, take_words: TakeWords | None = None) -> int:
        await self._memory.before()
        revision = self._tables.revision
        lists = {kind: sorted(entries.values(), key=_place) for kind, entries in self._tables.entries.items()}
        for kind, entries in lists.items():
            for start in range(0, len(entries), LOAD_ROWS):
                take(kind, entries[start : start + LOAD_ROWS])
                await trio.lowlevel.checkpoint()
            if take_words is not None:
                take_words(kind, _counted(tuple(entries)))
        await self._memory.after()
        return revision

    async def search(self, search: Search, *, room: AbstractAsyncContextManager[object], seconds: float) -> Found:
        async with room:
            with trio.fail_after(seconds):
                await self._memory.before()
        text = searchable(search.q).lower()
        entries = list(self._tables.entries[search.kind].values())
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

    def document(self, place: tuple[Kind, str]) -> str | None:
        """An entry's document, for the store of submissions."""
        entry = self._tables.entries[place[0]].get(place[1])
        return None if entry is None else entry.document.decode()

    def save(self, entries: Mapping[tuple[Kind, str], Entry]) -> None:
        """Write entries within the transaction of another store."""
        for (kind, slug), entry in entries.items():
            self._tables.entries[kind] = self._tables.entries[kind] | {slug: entry}
        if entries:
            self._tables.revision += 1
            self._memory.announce([TOPIC])

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
