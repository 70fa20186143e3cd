"""The catalog in memory: an immutable snapshot for requests, and the follower that keeps it current.

Entries are kept as JSON, so serving a page only joins bytes. Searches read an index in memory (ADR 0097).
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import trio

from actors.catalog.messages import Kind
from actors.catalog.store import CatalogStore
from actors.kernel.mailbox import answer_due
from actors.values import Overloaded
from service.snapshots.catalog_entries import CatalogSnapshot, Item, Page, Position, SnapshotBuilder
from service.snapshots.follower import SnapshotFollower
from service.snapshots.freed_memory import give_back
from service.snapshots.search_index import SearchIndex
from service.snapshots.search_query import Found

T = TypeVar("T")

AT_ONCE_CHANGES = 50
"""More changes are built in a thread, so that the event loop does not wait: 100 take 14 ms, and 5,000 take 130."""

LARGE_CHANGES = 10_000
"""A snapshot of more changes is indexed after it is served at a start, and freed in a thread."""

LOGGED_CHANGES = 100
"""So many changes are an import or a start, and logged. Edits are not."""

SEARCH_CHARACTERS = 200
"""Maximum length of `q` (ADR 0097)."""
FREED = 1_000
"""Entries of an old snapshot that are freed at once."""
AT_ONCE_ENTRIES = 2_000

"""Entries of a list whose searches take less time than a thread costs: well below a millisecond."""
AT_FIRST_ENTRIES, SLICE = 10_000, 5_000
"""More new entries than this are indexed by their titles first, and then in slices, so that neither searches after a start
nor a change that comes meanwhile have to wait for the rest."""


@dataclass(frozen=True, slots=True)
class CatalogLimits:
    """Limits of the catalog. `searches` run at once in threads, `search_waiters` may wait, and further ones are refused.
    At most `remembered_pages` first pages of up to `remembered_page_bytes` are cached, and the related entries of at most
    `remembered_related`."""

    check_seconds: float = 0.5
    searches: int = 4
    search_waiters: int = 256
    remembered_searches: int = 256
    remembered_related: int = 4_096
    remembered_pages: int = 64
    remembered_page_bytes: int = 256 * 1024


@dataclass(frozen=True, slots=True)
class CatalogStatistics:
    """Counts are since the process started. `away` is true while the store is unavailable."""

    revision: int
    usecases: int
    bots: int
    loads: int
    away: bool
    searches: int
    remembered: int


class _Asked(NamedTuple):
    kind: Kind
    q: str
    limit: int
    category: str | None


class Catalog(SnapshotFollower):
    """Holds the newest snapshot and its index. While the store is unavailable, the last ones are served.

    `synonyms` are groups of words that mean the same.
    """

    name = "catalog"

    def __init__(
        self, store: CatalogStore, limits: CatalogLimits | None = None, synonyms: Iterable[Sequence[str]] = ()
    ) -> None:
        self._limits = limits or CatalogLimits()
        super().__init__(self._limits.check_seconds)
        self.snapshot = CatalogSnapshot()
        self._store = store
        self._index = SearchIndex(synonyms, self._give_way)
        self._searching = trio.CapacityLimiter(self._limits.searches)
        self._building = trio.CapacityLimiter(1)
        self._indexing = trio.CapacityLimiter(1)
        # A start serves a large catalog before it is indexed. Searches wait until it is.
        self._unindexed: Mapping[Kind, Sequence[str]] = {}
        self._indexed = trio.Event()
        # The slugs that are indexed in brief, the newest last.
        self._brief: dict[Kind, list[str]] = {}
        # The last searches with their results, least recently used first. Each snapshot has a new dict, so that a search
        # started before it cannot store an old result.
        self._remembered: dict[_Asked, Found] = {}
        self._searches = 0
        # (kind, slug, limit) -> slugs of related entries, oldest first, likewise.
        self._related: dict[tuple[Kind, str, int], Sequence[str]] = {}
        # (kind, category, limit) -> rendered first page, likewise.
        self._first_pages: dict[tuple[Kind, str | None, int], Item] = {}

    # Reads.

    def category(self, kind: Kind, name: str) -> str | None:
        """The category of a kind with this name as its entries spell it, or None."""
        return self.snapshot.lists[kind].categories.named(name)

    def first_page(
        self, kind: Kind, limit: int, cursor_to: Callable[[Position], str], category: str | None = None
    ) -> Item:
        """The rendered first page of a list, cached; of one `category` if it is given. `cursor_to` must be deterministic."""
        key = (kind, category, limit)
        known = self._first_pages.get(key)
        if known is not None:
            return known
        page = self.snapshot.page(kind, None, limit, category)
        cursor = None if page.last is None else cursor_to(page.last)
        item = Item(page.body(cursor), page.etag(cursor), cursor)
        if len(item.body) <= self._limits.remembered_page_bytes:
            self._first_pages[key] = item
            if len(self._first_pages) > self._limits.remembered_pages:
                del self._first_pages[next(iter(self._first_pages))]
        return item

    async def search(self, kind: Kind, q: str, limit: int, *, category: str | None = None) -> tuple[Page, bool]:
        """At most `limit` entries that match `q`, best first, or a remembered result; of one `category` if it is given, as
        `category` returns it. True if no entry has all words, and these have the most of them. Raises `Overloaded` at once
        if too many searches wait, or `trio.TooSlowError` if its turn does not come before the request's deadline."""
        assert len(q) <= SEARCH_CHARACTERS, "the handler must refuse a longer q"
        remembered, asked = self._remembered, _Asked(kind, q, limit, category)
        found = remembered.pop(asked, None)
        if found is None:
            found = await self._read(kind, partial(self._index.search, *asked))
            self._searches += 1
        else:
            await trio.lowlevel.checkpoint()
        remembered[asked] = found
        while len(remembered) > self._limits.remembered_searches:
            del remembered[next(iter(remembered))]
        return self.snapshot.pick(kind, found.slugs), found.relaxed

    async def related(self, kind: Kind, slug: str, limit: int) -> Page:
        """At most `limit` other entries of the kind that are about the same as the entry `slug`, nearest first. Empty if
        there is no such entry, or none is near. Costs as much as a search until it is remembered, and raises as one."""
        related, key = self._related, (kind, slug, limit)
        slugs = related.get(key)
        if slugs is None:
            known = self.snapshot.lists[kind].item(slug)
            if known is None:
                return Page((), b"")
            slugs = await self._read(kind, partial(self._index.related, kind, slug, known.body, limit))
            related[key] = slugs
            if len(related) > self._limits.remembered_related:
                del related[next(iter(related))]
        return self.snapshot.pick(kind, slugs)

    async def _read(self, kind: Kind, work: Callable[[], T]) -> T:
        """Read the index: at once if the list is short, else in a thread."""
        if len(self.snapshot.lists[kind]) <= AT_ONCE_ENTRIES and not self._unindexed:
            await trio.lowlevel.checkpoint()
            return work()
        for place in (self._searching, self._indexed):
            if place.statistics().tasks_waiting >= self._limits.search_waiters:
                raise Overloaded
        with trio.fail_at(answer_due.get()):
            if self._unindexed:
                await self._indexed.wait()
            return await self._in_thread(work, self._searching)

    def _give_way(self) -> None:
        give_way()

    async def _in_thread(self, work: Callable[[], T], room: trio.CapacityLimiter) -> T:
        return await trio.to_thread.run_sync(work, limiter=room)

    def statistics(self) -> CatalogStatistics:
        return CatalogStatistics(
            revision=self.snapshot.revision,
            usecases=len(self.snapshot.lists[Kind.USECASES]),
            bots=len(self.snapshot.lists[Kind.BOTS]),
            loads=self._loads,
            away=self._failing,
            searches=self._searches,
            remembered=len(self._remembered),
        )

    def __repr__(self) -> str:
        return f"<Catalog {self.snapshot!r}{' away' if self._failing else ''}{' closed' if self._closed else ''}>"

    # Following.

    @property
    def revision(self) -> int:
        return self.snapshot.revision

    async def _is_current(self) -> bool:
        known = self.snapshot.changes.revision
        return await self._store.state() == (known.number, known.epoch)

    async def _round(self) -> float:
        if self._unindexed:
            work = partial(self._index_changes, CatalogSnapshot(), self.snapshot, self._unindexed)
            await self._in_thread(work, self._indexing)
            self._unindexed = {}
            self._indexed.set()
        follows = self.loaded
        pause = await super()._round()
        if self._brief and follows:
            await self._in_thread(self._index_slice, self._indexing)
            self._forget()
        if self._brief or self._unindexed:
            self.wake()
        return pause

    async def _load(self) -> None:
        started = trio.current_time()
        builder = SnapshotBuilder(self.snapshot)
        revision = await self._store.changes(builder.after, builder.take)
        if not builder.leads_to(revision):
            builder = SnapshotBuilder(CatalogSnapshot())
            revision = await self._store.changes(builder.after, builder.take)
        count = builder.count
        many = len(self.snapshot.changes) + count > LARGE_CHANGES
        if many or count > AT_ONCE_CHANGES:
            snapshot = await self._in_thread(partial(builder.finished, revision), self._building)
        else:
            snapshot = builder.finished(revision)
        if many and not self.loaded:
            self._unindexed = builder.saved
        else:
            await self._in_thread(partial(self._index_changes, self.snapshot, snapshot, builder.saved), self._indexing)
        del builder
        old, self.snapshot = [self.snapshot], snapshot
        self._first_pages = {}
        self._forget()
        level = logging.INFO if count >= LOGGED_CHANGES else logging.DEBUG
        self._log.log(level, "loaded %d changes of %r in %.1f s", count, self.snapshot, trio.current_time() - started)

        if many:
            await self._in_thread(partial(self._free, old), self._indexing)

    def _free(self, old: list[CatalogSnapshot]) -> None:
        """Free a snapshot bit by bit. If requests still have it, they free it all at once."""
        parts = [part for entries in old.pop().lists.values() for part in entries.parts]
        while parts:
            items = list(parts.pop())
            while items:
                del items[-FREED:]
                self._give_way()

    def _forget(self) -> None:
        """Forget what was read before the last change of the index, and what is being read."""
        self._remembered = {}
        self._related = {}

    def _index_changes(
        self, before: CatalogSnapshot, snapshot: CatalogSnapshot, saved: Mapping[Kind, Sequence[str]]
    ) -> None:
        """Index the entries `saved` that lead to a snapshot, and remove those that it lacks."""
        for kind, entries in snapshot.lists.items():
            brief = len(saved[kind]) > AT_FIRST_ENTRIES
            self._index.apply(kind, entries.entries(saved[kind]), entries.gone_since(before.lists[kind]), brief=brief)
            if brief:
                new = set(saved[kind])
                newest_first = [slug for _, slug in entries.positions(0, len(entries)) if slug in new]
                self._brief[kind] = newest_first[::-1]
        give_back()

    def _index_slice(self) -> None:
        """Index the next of the entries that are indexed in brief."""
        kind, slugs = next(iter(self._brief.items()))
        self._index.apply(kind, self.snapshot.lists[kind].entries(slugs[-SLICE:]), ())
        give_back()
        del slugs[-SLICE:]
        if not slugs:
            del self._brief[kind]
            self._log.info("indexed all %d %s", len(self.snapshot.lists[kind]), kind)


def give_way() -> None:
    """Wait, in a thread of Trio, until the event loop has had a turn."""
    trio.from_thread.run_sync(_turn)


def _turn() -> None:
    pass
