"""Catalog snapshots: immutable lists of entries, kept as JSON. Pure."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import itemgetter
from types import MappingProxyType
from typing import NamedTuple

from actors.catalog.documents import category_of
from actors.catalog.messages import CHANGE_TYPES, KINDS, Change, Entry, EntryId, Kind, version_of
from actors.catalog.store import Revision
from service.snapshots.categories import Categories, categories_body
from service.snapshots.change_log import EMPTY_LOG, ChangeLog
from service.snapshots.etags import DIGEST_BYTES, digest_of, etag_of

_NEWEST_FIRST = 2**63 - 1
"""Minus a time, this sorts the newest entry first."""

STEP = 2_500
"""Changes that are applied at once, in some milliseconds of which no other thread gets any."""


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


class Row(NamedTuple):
    """An entry in its list, with the number and the time of its newest change."""

    key: bytes
    slug: str
    document: bytes
    digest: bytes
    category: str | None
    number: int
    updated_ms: int


class CatalogList:
    """The entries of one kind in the order of their list, and their categories. Immutable.

    Holds bytes in tuples, which the cyclic collector does not track, so 100,000 entries cost it nothing. An entry's place is
    found by its key, so that one more entry leaves all others as they are.
    """

    __slots__ = ("_digests", "_documents", "_keys", "_keys_of", "_numbers", "_updated", "categories")

    def __init__(
        self,
        keys: Sequence[bytes] = (),
        documents: Sequence[bytes] = (),
        digests: bytes = b"",
        numbers: "array[int] | None" = None,
        updated: "array[int] | None" = None,
        keys_of: Mapping[str, bytes] | None = None,
        categories: Categories | None = None,
    ) -> None:
        self._keys, self._documents, self._digests = tuple(keys), tuple(documents), digests
        self._numbers = array("q") if numbers is None else numbers
        self._updated = array("q") if updated is None else updated
        self._keys_of = keys_of or {}
        self.categories = categories or Categories()
        assert len(self._keys) == len(self._documents) == len(digests) // DIGEST_BYTES
        assert len(self._keys) == len(self._numbers) == len(self._keys_of)

    def __len__(self) -> int:
        return len(self._keys)

    def item(self, slug: str) -> Item | None:
        place = self._place(slug)
        return None if place is None else Item(self._documents[place], etag_of(self.digest(place)))

    def page(self, position: Position | None, limit: int, category: str | None = None) -> Page:
        """At most `limit` entries strictly after `position`, or from the start; of one category if it is given."""
        assert limit > 0
        if category is None:
            return self._run(position, limit)
        keys = self.categories.keys(category)
        start = 0 if position is None else bisect_right(keys, _key(*position))
        page = keys[start : start + limit]
        last = _position_of(page[-1]) if start + limit < len(keys) else None
        return self._page([bisect_left(self._keys, key) for key in page], last)

    def _run(self, position: Position | None, limit: int) -> Page:
        """The same of the whole list, whose entries stand beside one another."""
        start = 0 if position is None else bisect_right(self._keys, _key(*position))
        end = min(start + limit, len(self._keys))
        last = _position_of(self._keys[end - 1]) if end < len(self._keys) else None
        return Page(self._documents[start:end], self.digests(start, end), last)

    def place(self, position: Position | None, limit: int, category: str | None = None) -> Place:
        """The place of the page of `limit` entries after `position`, in the whole list or in one category."""
        assert limit > 0
        keys = self._keys if category is None else self.categories.keys(category)
        before = 0 if position is None else bisect_right(keys, _key(*position))
        previous = _position_of(keys[before - limit - 1]) if before > limit else None
        return Place(before, len(keys), previous)

    def pick(self, slugs: Iterable[str]) -> Page:
        """The entries with these slugs, in this order. Unknown slugs are skipped."""
        return self._page([place for place in map(self._place, slugs) if place is not None])

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

    def updates(self, start: int, end: int) -> Sequence[int]:
        """When the same entries were last updated, in milliseconds."""
        return self._updated[start:end]

    def row(self, slug: str) -> Row | None:
        """An entry with all that is known of it."""
        place = self._place(slug)
        if place is None:
            return None
        key, document, digest = self._keys[place], self._documents[place], self.digest(place)
        return Row(key, slug, document, digest, category_of(document), self._numbers[place], self._updated[place])

    def entries(self, slugs: Sequence[str]) -> Iterator[Entry]:
        """The entries with these slugs, as the search index takes them, in any order. Unknown slugs are skipped."""
        if len(slugs) >= len(self):
            wanted = frozenset(slugs)
            return (entry for entry in map(self._entry, range(len(self))) if entry.slug in wanted)
        return (self._entry(place) for place in map(self._place, slugs) if place is not None)

    def _entry(self, place: int) -> Entry:
        added_ms, slug = _position_of(self._keys[place])
        return Entry(slug, added_ms, self._documents[place], self._updated[place])

    def gone_since(self, before: "CatalogList") -> Set[str]:
        """The slugs of an earlier list that this one lacks."""
        return {slug for slug in before._keys_of if slug not in self._keys_of}

    @property
    def parts(self) -> Sequence[Iterable[object]]:
        """The parts that hold most of the list's memory, to free them bit by bit."""
        return self._documents, self._keys, self._keys_of

    def edited(self, gone: Sequence[Row], new: Sequence[Row]) -> "CatalogList":
        """This list without the rows that are gone, and with the new ones."""
        if not gone and not new:
            return self
        keys, documents, digests = list[bytes](), list[bytes](), bytearray()
        numbers, updated = array("q"), array("q")
        keys_of, start = dict(self._keys_of), 0

        def keep(end: int) -> None:
            """The next entries, up to a place, stay."""
            keys.extend(self._keys[start:end])
            documents.extend(self._documents[start:end])
            digests.extend(self.digests(start, end))
            numbers.extend(self._numbers[start:end])
            updated.extend(self._updated[start:end])

        # What is only edited stays in the dict, since one with gaps takes much longer to copy.
        edited = {row.slug for row in new}
        for row in gone:
            if row.slug not in edited:
                del keys_of[row.slug]
        edits: list[tuple[int, bytes, Row | None]] = [(bisect_left(self._keys, row.key), b"", None) for row in gone]
        edits += [(bisect_left(self._keys, row.key), row.key, row) for row in new]
        for place, _, made in sorted(edits, key=itemgetter(0, 1)):
            if place > start:
                keep(place)
            if made is None:
                start = place + 1
                continue
            start = max(start, place)
            keys.append(made.key)
            documents.append(made.document)
            digests += made.digest
            numbers.append(made.number)
            updated.append(made.updated_ms)
            keys_of[made.slug] = made.key
        keep(len(self._keys))
        categories = self.categories.edited(*([(row.category, row.key) for row in rows] for rows in (gone, new)))
        return CatalogList(keys, documents, bytes(digests), numbers, updated, keys_of, categories)

    def _place(self, slug: str) -> int | None:
        key = self._keys_of.get(slug)
        return None if key is None else bisect_left(self._keys, key)


NO_ENTRIES: Mapping[Kind, CatalogList] = MappingProxyType(dict.fromkeys(Kind, CatalogList()))


@dataclass(frozen=True, slots=True)
class CatalogSnapshot:
    """The whole catalog of one revision. A request reads one snapshot, even if a change commits meanwhile."""

    changes: ChangeLog = EMPTY_LOG
    lists: Mapping[Kind, CatalogList] = field(default_factory=lambda: NO_ENTRIES)
    categories: Item = field(default_factory=lambda: NO_CATEGORIES)
    """The categories of both kinds with their numbers of entries, as JSON."""

    @property
    def revision(self) -> int:
        """The number of its revision; negative before the first load."""
        return self.changes.revision.number

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
    """Builds a snapshot from the changes since the previous one, with which it shares all other entries.

    Changes wait as plain tuples, which the cyclic collector does not track: 100,000 objects would make it stall the loop.
    """

    def __init__(self, previous: CatalogSnapshot) -> None:
        self._previous = previous
        self._taken: list[tuple[str, str, int, str, int, int, bytes | None]] = []
        self.saved: dict[Kind, list[str]] = {kind: [] for kind in Kind}
        """The slugs of the entries that the changes saved."""
        self.count = 0
        """The number of changes. Each entry has one."""

    @property
    def after(self) -> int:
        """The number after which the changes begin."""
        return self._previous.changes.revision.newest

    def leads_to(self, revision: Revision) -> bool:
        """Whether the changes are all that lead to a revision: not if removals were forgotten that the previous snapshot does
        not know, or if the store was restored."""
        known = self._previous.changes.revision
        if known.number < 0:
            return True
        return revision.epoch == known.epoch and revision.number >= known.number and known.newest >= revision.forgotten

    def take(self, changes: Sequence[Change]) -> None:
        """Add the next changes, in the order of their numbers."""
        self.count += len(changes)
        for (kind, slug), number, change, at_ms, added_ms, document in changes:
            self._taken.append((kind.value, slug, number, change.value, at_ms, added_ms, document))
            if document is not None:
                self.saved[kind].append(slug)

    def finished(self, revision: Revision) -> CatalogSnapshot:
        """The snapshot. It takes a few milliseconds with 100,000 entries, and more with many changes. Other threads wait for
        a few of them at a time. The changes are used up."""
        lists, log = dict(self._previous.lists), self._previous.changes
        while self._taken:
            changes = [
                Change(EntryId(KINDS[kind], slug), number, CHANGE_TYPES[change], at_ms, added_ms, document)
                for kind, slug, number, change, at_ms, added_ms, document in self._taken[:STEP]
            ]
            del self._taken[:STEP]
            gone = {kind: _gone(lists[kind], kind, changes) for kind in Kind}
            removals = (log.removal(change.id) for change in changes)
            replaced = [row.number for rows in gone.values() for row in rows]
            replaced += [number for number in removals if number is not None]
            log = log.edited(log.revision, replaced, changes)
            lists = {kind: lists[kind].edited(gone[kind], _new(kind, changes)) for kind in Kind}
        return CatalogSnapshot(log.edited(revision, (), ()), MappingProxyType(lists), _categories_of(lists))


def _gone(listed: CatalogList, kind: Kind, changes: Sequence[Change]) -> list[Row]:
    """The rows that changes replace or remove."""
    rows = (listed.row(change.slug) for change in changes if change.id.kind is kind)
    return [row for row in rows if row is not None]


def _new(kind: Kind, changes: Sequence[Change]) -> list[Row]:
    """The rows that changes add."""
    return [
        Row(
            _key(change.added_ms, change.slug),
            change.slug,
            change.document,
            version_of(change.document),
            category_of(change.document),
            change.number,
            change.at_ms,
        )
        for change in changes
        if change.id.kind is kind and change.document is not None
    ]


def _categories_of(lists: Mapping[Kind, CatalogList]) -> Item:
    body = categories_body(lists[Kind.USECASES].categories, lists[Kind.BOTS].categories)
    return Item(body, etag_of(digest_of(body)))


NO_CATEGORIES: Item = _categories_of(NO_ENTRIES)


def _key(added_ms: int, slug: str) -> bytes:
    return (_NEWEST_FIRST - added_ms).to_bytes(8, "big") + slug.encode()


def _position_of(key: bytes) -> Position:
    return Position(_NEWEST_FIRST - int.from_bytes(key[:8], "big"), _slug_of(key))


def _slug_of(key: bytes) -> str:
    return key[8:].decode()
