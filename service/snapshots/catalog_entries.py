"""Catalog snapshots: immutable lists of entries, kept as JSON. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from actors.catalog.documents import category_of
from actors.catalog.store import Entry, Kind
from service.snapshots.categories import Categories, categories_body
from service.snapshots.etags import DIGEST_BYTES, digest_of, etag_of

_NEWEST_FIRST = 2**63 - 1
"""Minus a time, this sorts the newest entry first."""


class Position(NamedTuple):
    """A position in a list, ordered newest first, then by slug. It stays valid when its entry is removed."""

    added_ms: int
    slug: str


class Item(NamedTuple):
    """One entry, or a page of them, as JSON with its strong ETag. `cursor` leads to the next page, if there is one."""

    body: bytes
    etag: str
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Entries as JSON, in order. `last` is the position of the last one if more follow."""

    documents: Sequence[bytes]
    digests: bytes
    last: Position | None = None

    def body(self, cursor: str | None = None) -> bytes:
        """The list as JSON: `{"data": [...], "nextCursor": ...}`."""
        next_cursor = "null" if cursor is None else f'"{cursor}"'
        # One expression, because each `+` would copy all entries.
        return b'{"data":[%b],"nextCursor":%b}' % (b",".join(self.documents), next_cursor.encode())

    def etag(self, cursor: str | None = None) -> str:
        """The strong ETag of `body(cursor)`. Changes only with the page's content."""
        return etag_of(digest_of(self.digests + (cursor or "").encode()))


class Place(NamedTuple):
    """The place of a page in its list: the entries `before` it, the `total`, and the position after which the page before it
    begins, None if that is the first page."""

    before: int
    total: int
    previous: Position | None


class CatalogList:
    """The entries of one kind in the order of their list, and their categories.

    Holds bytes in tuples, which the cyclic collector does not track, so 100,000 entries cost it nothing.
    """

    __slots__ = ("_digests", "_documents", "_keys", "_places", "categories")

    def __init__(
        self,
        keys: Sequence[bytes],
        documents: Sequence[bytes],
        digests: bytes,
        places: Mapping[str, int],
        categories: Categories,
    ) -> None:
        assert len(keys) == len(documents) == len(digests) // DIGEST_BYTES == len(places)
        self._keys = tuple(keys)
        self._documents = tuple(documents)
        self._digests = digests
        self._places = places
        self.categories = categories

    def __len__(self) -> int:
        return len(self._keys)

    def item(self, slug: str) -> Item | None:
        place = self._places.get(slug)
        return None if place is None else Item(self._documents[place], etag_of(self.digest(place)))

    def page(self, position: Position | None, limit: int, category: str | None = None) -> Page:
        """At most `limit` entries strictly after `position`, or from the start; of one category if it is given."""
        assert limit > 0
        if category is None:
            return self._run(position, limit)
        places = self.categories.places(category)
        start = 0 if position is None else bisect_right(places, _key(*position), key=self._keys.__getitem__)
        page = places[start : start + limit]
        last = _position_of(self._keys[page[-1]]) if start + limit < len(places) else None
        return self._page(page, last)

    def _run(self, position: Position | None, limit: int) -> Page:
        """The same of the whole list, whose entries stand beside one another."""
        start = 0 if position is None else bisect_right(self._keys, _key(*position))
        end = min(start + limit, len(self._keys))
        last = _position_of(self._keys[end - 1]) if end < len(self._keys) else None
        return Page(self._documents[start:end], self.digests(start, end), last)

    def place(self, position: Position | None, limit: int, category: str | None = None) -> Place:
        """The place of the page of `limit` entries after `position`, in the whole list or in one category."""
        assert limit > 0
        places = range(len(self._keys)) if category is None else self.categories.places(category)
        before = 0 if position is None else bisect_right(places, _key(*position), key=self._keys.__getitem__)
        previous = _position_of(self._keys[places[before - limit - 1]]) if before > limit else None
        return Place(before, len(places), previous)

    def pick(self, slugs: Iterable[str]) -> Page:
        """The entries with these slugs, in this order. Unknown slugs are skipped."""
        return self._page([place for place in map(self._places.get, slugs) if place is not None])

    def _page(self, places: Sequence[int], last: Position | None = None) -> Page:
        return Page([self._documents[place] for place in places], b"".join(map(self.digest, places)), last)

    def positions(self, start: int, end: int) -> Iterator[Position]:
        """The positions of the entries from place `start` to before `end`, in the order of the list."""
        return map(_position_of, self._keys[start:end])

    def digests(self, start: int, end: int) -> bytes:
        """The digests of the same entries, joined. They change with the content only."""
        return self._digests[start * DIGEST_BYTES : end * DIGEST_BYTES]

    def digest(self, place: int) -> bytes:
        return self._digests[place * DIGEST_BYTES : (place + 1) * DIGEST_BYTES]

    def find(self, slug: str) -> tuple[bytes, bytes, str | None] | None:
        """The document, digest and category of an entry."""
        place = self._places.get(slug)
        return None if place is None else (self._documents[place], self.digest(place), self.categories.of(place))

    def entries(self, slugs: Iterable[str]) -> Sequence[Entry]:
        """The entries with these slugs. Unknown slugs are skipped."""
        return [self._entry(place) for place in map(self._places.get, slugs) if place is not None]

    def _entry(self, place: int) -> Entry:
        added_ms, slug = _position_of(self._keys[place])
        return Entry(slug, added_ms, self._documents[place])

    def changes_since(self, before: "CatalogList") -> tuple[Sequence[Entry], Set[str]]:
        """The entries that are new or changed since an earlier list, whose others this one shares, and the slugs that are
        gone."""
        shared = set(map(id, before._documents))
        new = [place for place, document in enumerate(self._documents) if id(document) not in shared]
        return [self._entry(place) for place in new], before._places.keys() - self._places.keys()


EMPTY = CatalogList((), (), b"", {}, Categories())


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """The whole catalog of one revision. A request reads one snapshot, even if an import commits meanwhile."""

    revision: int = -1
    lists: Mapping[Kind, CatalogList] = field(default_factory=lambda: MappingProxyType(dict.fromkeys(Kind, EMPTY)))
    categories: Item = field(default_factory=lambda: _categories_of(dict.fromkeys(Kind, EMPTY)))
    """The categories of both kinds with their numbers of entries, as JSON."""

    def item(self, kind: Kind, slug: str) -> Item | None:
        """One entry, or None."""
        return self.lists[kind].item(slug)

    def page(self, kind: Kind, position: Position | None, limit: int, category: str | None = None) -> Page:
        """The entries after `position`. Paging returns each entry once, even while others are added."""
        return self.lists[kind].page(position, limit, category)

    def pick(self, kind: Kind, slugs: Iterable[str]) -> Page:
        """The entries with these slugs, in this order. Unknown slugs are skipped."""
        return self.lists[kind].pick(slugs)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(entries)} {kind}" for kind, entries in self.lists.items())
        return f"<CatalogSnapshot revision {self.revision}: {sizes}>"


class SnapshotBuilder:
    """Builds a snapshot from chunks. Shares unchanged entries with the previous snapshot."""

    def __init__(self, previous: CatalogSnapshot) -> None:
        self._lists = {kind: _ListBuilder(previous.lists[kind]) for kind in Kind}

    def take(self, kind: Kind, entries: Sequence[Entry]) -> None:
        """Add the next entries of a kind, in the order of its list."""
        for entry in entries:
            self._lists[kind].add(entry)

    def finished(self, revision: int) -> CatalogSnapshot:
        lists = {kind: builder.finished() for kind, builder in self._lists.items()}
        return CatalogSnapshot(revision, MappingProxyType(lists), _categories_of(lists))


class _ListBuilder:
    """Does all expensive work in `add`, because `finished` blocks the event loop."""

    def __init__(self, previous: CatalogList) -> None:
        self._previous = previous
        self._keys: list[bytes] = []
        self._documents: list[bytes] = []
        self._digests = bytearray()
        self._places: dict[str, int] = {}
        self._categories = Categories()

    def add(self, entry: Entry) -> None:
        key = _key(entry.added_ms, entry.slug)
        assert not self._keys or self._keys[-1] < key, f"the store gave {entry.slug} out of order"
        known = self._previous.find(entry.slug)
        if known is not None and known[0] == entry.document:
            document, digest, category = known
        else:
            document, digest, category = entry.document, digest_of(entry.document), category_of(entry.document)
        self._places[entry.slug] = len(self._keys)
        self._keys.append(key)
        self._documents.append(document)
        self._digests += digest
        self._categories.add(category)

    def finished(self) -> CatalogList:
        return CatalogList(self._keys, self._documents, bytes(self._digests), self._places, self._categories)


def _categories_of(lists: Mapping[Kind, CatalogList]) -> Item:
    body = categories_body(lists[Kind.USECASES].categories, lists[Kind.BOTS].categories)
    return Item(body, etag_of(digest_of(body)))


def _key(added_ms: int, slug: str) -> bytes:
    return (_NEWEST_FIRST - added_ms).to_bytes(8, "big") + slug.encode()


def _position_of(key: bytes) -> Position:
    return Position(_NEWEST_FIRST - int.from_bytes(key[:8], "big"), _slug_of(key))


def _slug_of(key: bytes) -> str:
    return key[8:].decode()
