"""The catalog in memory: an immutable snapshot that requests read, and the holder that follows the store.

Serving is joining bytes: entries are kept as the JSON that goes over the wire. Knows nothing of HTTP, and of cursors
only that a page may carry one.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import trio

from actors.catalog.store import CatalogStore, Entry, Kind
from actors.mailbox import answer_due
from actors.values import Overloaded
from service.snapshots.etags import DIGEST_BYTES, digest_of, etag_of
from service.snapshots.follower import SnapshotFollower

SEARCH_CHARACTERS = 200
"""The longest `q` (decisions, section 5)."""


class Position(NamedTuple):
    """A place in a list: newest first, then by slug. It stays a place when its entry is removed."""

    added_ms: int
    slug: str


class Item(NamedTuple):
    """One entry, or a page of them, as JSON with its strong ETag."""

    body: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class Page:
    """Entries as JSON, in order. `last` is the position of the last one when more follow it."""

    documents: Sequence[bytes]
    digests: bytes
    last: Position | None = None

    def body(self, cursor: str | None = None) -> bytes:
        """The list as JSON: `{"data": [...], "nextCursor": ...}`."""
        next_cursor = "null" if cursor is None else f'"{cursor}"'
        return b'{"data":[' + b",".join(self.documents) + b'],"nextCursor":' + next_cursor.encode() + b"}"

    def etag(self, cursor: str | None = None) -> str:
        """The strong ETag of `body(cursor)`: the same on every node, and after an import that left this page alone."""
        return etag_of(digest_of(self.digests + (cursor or "").encode()))


class Shelf:
    """The entries of one kind in the order of their list.

    Holds bytes in tuples, which the cyclic collector does not track, so 100,000 entries cost it nothing.
    """

    __slots__ = ("_digests", "_documents", "_keys", "_places")

    def __init__(
        self, keys: Sequence[bytes], documents: Sequence[bytes], digests: bytes, places: Mapping[str, int]
    ) -> None:
        assert len(keys) == len(documents) == len(digests) // DIGEST_BYTES == len(places)
        self._keys = tuple(keys)
        self._documents = tuple(documents)
        self._digests = digests
        self._places = places

    def __len__(self) -> int:
        return len(self._keys)

    def item(self, slug: str) -> Item | None:
        place = self._places.get(slug)
        return None if place is None else Item(self._documents[place], etag_of(self.digest(place)))

    def page(self, position: Position | None, limit: int) -> Page:
        """At most `limit` entries strictly after `position`, or from the start."""
        assert limit > 0
        start = 0 if position is None else bisect_right(self._keys, _key(*position))
        end = min(start + limit, len(self._keys))
        last = _position_of(self._keys[end - 1]) if end < len(self._keys) else None
        return Page(self._documents[start:end], self._digests[start * DIGEST_BYTES : end * DIGEST_BYTES], last)

    def pick(self, slugs: Iterable[str]) -> Page:
        """The entries with these slugs, in this order; those that are not here are left out."""
        places = [place for slug in slugs if (place := self._places.get(slug)) is not None]
        return Page([self._documents[place] for place in places], b"".join(map(self.digest, places)))

    def digest(self, place: int) -> bytes:
        return self._digests[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES]

    def find(self, slug: str) -> tuple[bytes, bytes] | None:
        """The document and digest under a slug."""
        place = self._places.get(slug)
        return None if place is None else (self._documents[place], self.digest(place))


EMPTY = Shelf((), (), b"", {})


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """The whole catalog as of one revision. A request reads one snapshot, whatever is imported meanwhile."""

    revision: int = -1
    shelves: Mapping[Kind, Shelf] = field(default_factory=lambda: MappingProxyType(dict.fromkeys(Kind, EMPTY)))

    def item(self, kind: Kind, slug: str) -> Item | None:
        """One entry, or None."""
        return self.shelves[kind].item(slug)

    def page(self, kind: Kind, position: Position | None, limit: int) -> Page:
        """The entries after `position`. Walking a list gives each entry once, also while others are added."""
        return self.shelves[kind].page(position, limit)

    def pick(self, kind: Kind, slugs: Iterable[str]) -> Page:
        """The entries with these slugs, in this order; those that are not here are left out."""
        return self.shelves[kind].pick(slugs)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(shelf)} {kind}" for kind, shelf in self.shelves.items())
        return f"<CatalogSnapshot revision {self.revision}: {sizes}>"


class Building:
    """A snapshot on its way: takes a load in chunks, and shares with the previous snapshot what did not change."""

    def __init__(self, previous: CatalogSnapshot) -> None:
        self._shelves = {kind: _ShelfBuilding(previous.shelves[kind]) for kind in Kind}

    def take(self, kind: Kind, entries: Sequence[Entry]) -> None:
        """Add the next entries of a kind, which come in the order of its list."""
        for entry in entries:
            self._shelves[kind].add(entry)

    def finished(self, revision: int) -> CatalogSnapshot:
        shelves = {kind: building.finished() for kind, building in self._shelves.items()}
        return CatalogSnapshot(revision, MappingProxyType(shelves))


class _ShelfBuilding:
    """All costly work is done in `add`, because `finished` is one step that nothing else can run beside."""

    def __init__(self, previous: Shelf) -> None:
        self._previous = previous
        self._keys: list[bytes] = []
        self._documents: list[bytes] = []
        self._digests = bytearray()
        self._places: dict[str, int] = {}

    def add(self, entry: Entry) -> None:
        key = _key(entry.added_ms, entry.slug)
        assert not self._keys or self._keys[-1] < key, f"the store gave {entry.slug} out of order"
        known = self._previous.find(entry.slug)
        if known is not None and known[0] == entry.document:
            document, digest = known
        else:
            document, digest = entry.document, digest_of(entry.document)
        self._places[entry.slug] = len(self._keys)
        self._keys.append(key)
        self._documents.append(document)
        self._digests += digest

    def finished(self) -> Shelf:
        return Shelf(self._keys, self._documents, bytes(self._digests), self._places)


@dataclass(frozen=True, slots=True)
class CatalogLimits:
    """Bounds of the catalog. A search that finds `search_waiters` waiting behind `searches` at work is refused. At most
    `remembered_pages` are kept as they were answered, each of `remembered_page_bytes` at most. A search that has no answer
    within `search_seconds` is given up."""

    check_seconds: float = 0.5
    searches: int = 4
    search_waiters: int = 64
    remembered_searches: int = 256
    search_seconds: float = 4.0
    remembered_pages: int = 16
    remembered_page_bytes: int = 256 * 1024


@dataclass(frozen=True, slots=True)
class CatalogStatistics:
    """A picture of the catalog; counts are since the process began. `away` while the store does not answer."""

    revision: int
    usecases: int
    bots: int
    loads: int
    load_seconds: float
    away: bool
    searches: int
    remembered: int


class Catalog(SnapshotFollower):
    """Holds the newest snapshot. A member of the troupe: `run` loads it, then follows the store's revision.

    While the store is away the last snapshot is served; searches that are not remembered are refused.
    """

    name = "catalog"

    def __init__(self, store: CatalogStore, limits: CatalogLimits | None = None) -> None:
        self._limits = limits or CatalogLimits()
        super().__init__(self._limits.check_seconds)
        self.snapshot = CatalogSnapshot()
        self._store = store
        self._slots = trio.CapacityLimiter(self._limits.searches)
        # (kind, q, limit) -> slugs, oldest use first. A new snapshot brings a new dict, so that a search which began
        # before it cannot leave its result behind.
        self._remembered: dict[tuple[Kind, str, int], tuple[str, ...]] = {}
        self._searches = 0
        # (kind, limit) -> first page as it is answered. A new snapshot brings a new dict here, too.
        self._first_pages: dict[tuple[Kind, int], Item] = {}

    # What requests use.

    def first_page(self, kind: Kind, limit: int, cursor_to: Callable[[Position], str]) -> Item:
        """The newest entries as they are answered, which is what most readers of a list ask for.

        `cursor_to` gives one position always the same cursor.
        """
        known = self._first_pages.get((kind, limit))
        if known is not None:
            return known
        page = self.snapshot.page(kind, None, limit)
        cursor = None if page.last is None else cursor_to(page.last)
        item = Item(page.body(cursor), page.etag(cursor))
        if len(item.body) <= self._limits.remembered_page_bytes:
            self._first_pages[kind, limit] = item
            if len(self._first_pages) > self._limits.remembered_pages:
                del self._first_pages[next(iter(self._first_pages))]
        return item

    async def search(self, kind: Kind, q: str, limit: int) -> Page:
        """At most `limit` entries that match `q`, best first, within `search_seconds` and before the request is due. Raises
        `Overloaded`, `StorageUnavailable` or `trio.TooSlowError`."""
        assert len(q) <= SEARCH_CHARACTERS, "a longer q is refused by the handler"
        remembered, key = self._remembered, (kind, q, limit)
        slugs = remembered.pop(key, None)
        if slugs is None:
            with trio.fail_at(min(trio.current_time() + self._limits.search_seconds, answer_due.get())):
                slugs = await self._search(kind, q, limit)
        else:
            await trio.lowlevel.checkpoint()
        remembered[key] = slugs
        while len(remembered) > self._limits.remembered_searches:
            del remembered[next(iter(remembered))]
        return self.snapshot.pick(kind, slugs)

    async def _search(self, kind: Kind, q: str, limit: int) -> tuple[str, ...]:
        if self._slots.statistics().tasks_waiting >= self._limits.search_waiters:
            raise Overloaded
        async with self._slots:
            self._searches += 1
            return tuple(await self._store.search(kind, q, limit))

    def statistics(self) -> CatalogStatistics:
        return CatalogStatistics(
            revision=self.snapshot.revision,
            usecases=len(self.snapshot.shelves[Kind.USECASES]),
            bots=len(self.snapshot.shelves[Kind.BOTS]),
            loads=self._loads,
            load_seconds=self._load_seconds,
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

    async def _take(self) -> None:
        started = trio.current_time()
        building = Building(self.snapshot)
        revision = await self._store.load(building.take)
        self.snapshot = building.finished(revision)
        self._remembered = {}
        self._first_pages = {}
        self._log.info("loaded %r in %.1f s", self.snapshot, trio.current_time() - started)


_NEWEST_FIRST = 2**63 - 1
"""Subtracting a time from it turns 'newest first' into the order of bytes."""


def _key(added_ms: int, slug: str) -> bytes:
    return (_NEWEST_FIRST - added_ms).to_bytes(8, "big") + slug.encode()


def _position_of(key: bytes) -> Position:
    return Position(_NEWEST_FIRST - int.from_bytes(key[:8], "big"), _slug_of(key))


def _slug_of(key: bytes) -> str:
    return key[8:].decode()
