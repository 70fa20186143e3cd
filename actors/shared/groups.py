"""Rows by what they have in common, so that a rule walks only those that it is about, however many a batch has read. Pure."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, Protocol, TypeVar


class Row(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=Row)


class Groups(Generic[R]):
    """The newest versions of some rows, in the groups that `of` names, each in the order in which it was first saved."""

    def __init__(self, of: Callable[[R], Hashable], rows: Iterable[R] = ()) -> None:
        self._of = of
        self._rows: dict[str, R] = {}
        self._ids: defaultdict[Hashable, dict[str, None]] = defaultdict(dict)
        for row in rows:
            self.save(row)

    def save(self, row: R) -> None:
        before = self._rows.get(row.id)
        if before is not None and self._of(before) != self._of(row):
            del self._ids[self._of(before)][row.id]
        self._rows[row.id] = row
        self._ids[self._of(row)][row.id] = None

    def within(self, group: Hashable) -> list[R]:
        """The rows of a group."""
        return [self._rows[row_id] for row_id in self._ids.get(group, ())]
