"""The catalog in memory: an immutable snapshot for requests, and the follower that keeps it current.

Entries are kept as JSON, so serving a page only joins bytes.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import trio

from actors.catalog.store import CatalogStore, Found, Kind, Search
from actors.kernel.mailbox import answer_due
from service.snapshots.catalog_entries import CatalogSnapshot, Item, Page, Position, SnapshotBuilder
from service.snapshots.fair_limiter import FairLimiter
from service.snapshots.follower import SnapshotFollower
from service.snapshots.turns import Searcher

LONG = 10_000
"""A snapshot of more changes is built in a thread, so that the event loop does not wait for it."""

MANY = 100
"""So many changes are an import or a start, and logged. Edits are not."""

SEARCH_CHARACTERS = 200
"""Maximum length of `q` (ADR 0015)."""


@dataclass(frozen=True, slots=True)
class CatalogLimits:
    """Limits of the catalog. `searches` run at once, one of each caller; `search_waiters` may wait, `waiters_per_caller` of
    each caller, and further ones are refused. One network has at most a quarter of the searches and half of the places. A
    search fails after `search_seconds`, which include the wait. At most `remembered_pages` first pages of up to
    `remembered_page_bytes` are cached."""

    check_seconds: float = 0.5
    searches: int = 4
    search_waiters: int = 64
    waiters_per_caller: int = 2
    remembered_searches: int = 256
    search_seconds: float = 4.0
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


class Catalog(SnapshotFollower):
    """Holds the newest snapshot. While the store is unavailable, the last one is served, and only cached searches work."""

    name = "catalog"

    def __init__(self, store: CatalogStore, limits: CatalogLimits | None = None) -> None:
        self._limits = limits or CatalogLimits()
        super().__init__(self._limits.check_seconds)
        self.snapshot = CatalogSnapshot()
        self._store = store
        limits = self._limits
        self._turns = FairLimiter(limits.searches, limits.search_waiters, limits.waiters_per_caller)
        # Search -> its result, least recently used first. Each snapshot has a new dict, so that a search started before it
        # cannot store an old result.
        self._remembered: dict[Search, Found] = {}
        self._searches = 0
        # (kind, category, limit) -> rendered first page, a new dict for each snapshot too.
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

    async def search(
        self, kind: Kind, q: str, limit: int, searcher: Searcher, *, category: str | None = None, seconds: float = inf
    ) -> tuple[Page, bool]:
        """At most `limit` entries that match `q`, best first, or a remembered result; of one `category` if it is given, as
        `category` returns it. True if no entry has all words, and these have the most of them. Raises `CallerBusy`,
        `Overloaded`, `StorageUnavailable`, or `trio.TooSlowError` if the search runs longer than `seconds`, after
        `search_seconds` or at the request's deadline. The `searcher` names who shares one turn to search, and its network."""
        assert len(q) <= SEARCH_CHARACTERS, "the handler must refuse a longer q"
        remembered = self._remembered
        search = Search(kind, q, limit, category, self.snapshot.lists[kind].words)
        found = remembered.pop(search, None)
        if found is None:
            with trio.fail_at(min(trio.current_time() + self._limits.search_seconds, answer_due.get())):
                found = await self._search(search, searcher, seconds)
        else:
            await trio.lowlevel.checkpoint()
        if not found.cut:
            remembered[search] = found
        while len(remembered) > self._limits.remembered_searches:
            del remembered[next(iter(remembered))]
        return self.snapshot.pick(kind, found.slugs), found.relaxed

    async def _search(self, search: Search, searcher: Searcher, seconds: float) -> Found:
        seconds = min(seconds, self._limits.search_seconds)
        found = await self._store.search(search, room=self._turns.turn(searcher), seconds=seconds)
        self._searches += 1
        return found

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
        return await self._store.revision() == self.revision

    async def _load(self) -> None:
        started = trio.current_time()
        builder = SnapshotBuilder(self.snapshot)
        revision = await self._store.changes(builder.after, builder.take, builder.take_words)
        if not builder.leads_to(revision):
            builder = SnapshotBuilder(CatalogSnapshot())
            revision = await self._store.changes(builder.after, builder.take, builder.take_words)
        if len(self.snapshot.changes) + len(builder.changes) > LONG:
            self.snapshot = await trio.to_thread.run_sync(builder.finished, revision)
        else:
            self.snapshot = builder.finished(revision)
        self._remembered = {}
        self._first_pages = {}
        level, count = (logging.INFO if len(builder.changes) >= MANY else logging.DEBUG), len(builder.changes)
        self._log.log(level, "loaded %d changes of %r in %.1f s", count, self.snapshot, trio.current_time() - started)
