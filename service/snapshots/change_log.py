"""The changes of a catalog snapshot, which mirrors follow: one for each entry that exists or was removed. Pure."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from actors.catalog.messages import Change, ChangeType, EntryId, Kind
from actors.catalog.store import Revision

_WHATS = [(kind, change) for kind in Kind for change in ChangeType]
_CODES = {what: code for code, what in enumerate(_WHATS)}
_FORMS = [
    b'{"kind":"%b","slug":"%%b","change":"%b","at":%%d}' % (kind.encode(), type_.encode()) for kind, type_ in _WHATS
]


class ChangePage(NamedTuple):
    """Changes as JSON, oldest first, the number after which the next page begins, and whether there are more now."""

    rows: Sequence[bytes]
    last: int
    more: bool


class ChangeLog:
    """The newest change of each entry, in the order in which they committed. Immutable.

    A change takes 25 bytes; its slug is that of the list. `revision.newest` is the number of the newest change.
    """

    __slots__ = ("_at", "_codes", "_numbers", "_removed", "_slugs", "revision")

    def __init__(
        self,
        revision: Revision,
        numbers: "array[int]",
        at: "array[int]",
        codes: bytes,
        slugs: tuple[str, ...],
        removed: Mapping[EntryId, int],
    ) -> None:
        assert len(numbers) == len(at) == len(codes) == len(slugs)
        self.revision = revision
        self._numbers, self._at, self._codes, self._slugs = numbers, at, codes, slugs
        # The numbers of the removals.
        self._removed = removed

    def __len__(self) -> int:
        return len(self._numbers)

    def removal(self, entry_id: EntryId) -> int | None:
        """The number of the removal of an entry that was removed."""
        return self._removed.get(entry_id)

    def removals(self, kind: Kind, most: int) -> Sequence[tuple[EntryId, int]]:
        """The entries of a kind that were removed last, newest first, with when that was, in milliseconds."""
        of_kind = (item for item in self._removed.items() if item[0].kind is kind)
        newest = nlargest(most, of_kind, key=lambda item: item[1])
        return [(entry_id, self._at[bisect_left(self._numbers, number)]) for entry_id, number in newest]

    def page(self, after: int, limit: int) -> ChangePage:
        """At most `limit` changes with numbers above `after`. On the last page, `last` is at least that of the newest."""
        assert limit > 0
        start = bisect_right(self._numbers, after)
        end = min(start + limit, len(self._numbers))
        rows = [
            _FORMS[self._codes[place]] % (self._slugs[place].encode(), self._at[place]) for place in range(start, end)
        ]
        more = end < len(self._numbers)
        return ChangePage(rows, self._numbers[end - 1] if more else max(after, self.revision.newest), more)

    def edited(self, revision: Revision, replaced: Iterable[int], changes: Sequence[Change]) -> "ChangeLog":
        """This log with newer changes, without those whose numbers they replace and the removals that are forgotten."""
        removed = dict(self._removed)
        gone = set(replaced)
        for change in changes:
            removed.pop(change.id, None)
            if change.document is None:
                removed[change.id] = change.number
        if revision.forgotten > self.revision.forgotten:
            old = {entry_id: number for entry_id, number in removed.items() if number <= revision.forgotten}
            gone |= set(old.values())
            removed = {entry_id: number for entry_id, number in removed.items() if entry_id not in old}
            changes = [change for change in changes if change.document is not None or change.id in removed]
        numbers, at, codes, slugs = array("q"), array("q"), bytearray(), list[str]()
        start = 0
        for place in [*self._places(gone), len(self._numbers)]:
            numbers += self._numbers[start:place]
            at += self._at[start:place]
            codes += self._codes[start:place]
            slugs += self._slugs[start:place]
            start = place + 1
        numbers.extend(change.number for change in changes)
        at.extend(change.at_ms for change in changes)
        codes.extend(_CODES[change.id.kind, change.type] for change in changes)
        slugs += [change.slug for change in changes]
        return ChangeLog(revision, numbers, at, bytes(codes), tuple(slugs), removed)

    def _places(self, numbers: Iterable[int]) -> list[int]:
        """The places of these numbers, in order; those that the log does not have are skipped."""
        known = self._numbers
        places = ((bisect_left(known, number), number) for number in sorted(numbers))
        return [place for place, number in places if place < len(known) and known[place] == number]


EMPTY_LOG = ChangeLog(Revision(-1), array("q"), array("q"), b"", (), {})
