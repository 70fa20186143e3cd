"""The addresses of a list's pages, and where this page stands. Pure.

Templates get a `Paging` as `paging`, and draw it with `paging_of` of `components.html`: previous, "21 to 40 of 73", next.

The catalog's lists know their total and the page before each page. Other lists lead only forward, so their addresses keep
the cursors of the last pages that were seen; past those, `paging.start` leads back to the first page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlencode

CURSOR, SEEN, TRAIL = "cursor", "seen", "trail"
PLACE = (CURSOR, SEEN, TRAIL)
"""The parameters of a page's address that say where in its list it stands: its cursor, the rows before it, and the pages
before it. A form leads back to its page with them."""

AT = "at"
"""The parameter and the field with the place of a row on its page, from 1."""

LONGEST_TRAIL = 8
LONGEST_CURSOR = 160
"""Characters. A longer cursor is not parameters, so that an address stays short enough for proxies."""

T = TypeVar("T")

MAX_DIGITS = 9
BETWEEN, WITHIN = ".", "~"
"""Separators of a trail, which are no characters of a cursor."""

MAX_COUNTED = 10_000
"""A total of this size means at least so many."""


class Addressed(Protocol):
    """The path and the parameters of a page request."""

    @property
    def path(self) -> str: ...

    @property
    def query(self) -> Mapping[str, str]: ...


class Submitted(Addressed, Protocol):
    """The same with the fields of a form."""

    @property
    def form(self) -> Mapping[str, str]: ...


class Step(NamedTuple):
    """A page of a list: the rows before it, and its cursor, which is empty for the first page."""

    seen: int
    cursor: str


@dataclass(frozen=True, slots=True)
class Paging:
    """The place of a page in its list. `first` and `last` number its rows from 1; both are 0 if it has none, or if the
    number of the rows before it is not known. `total` is None while it is not known. The rest are addresses: `previous` and
    `next`, None where there is no such page or it is not known, and `start`, the first page, None on the first page."""

    first: int
    last: int
    total: int | None = None
    previous: str | None = None
    next: str | None = None
    start: str | None = None

    @property
    def several(self) -> bool:
        """Whether the list has more than this page."""
        return self.start is not None or self.next is not None

    @property
    def words(self) -> str:
        """`1 to 12 of 73`, `21 to 40`, or `41 of 41` for one row. Empty if `last` is 0."""
        if not self.last:
            return ""
        rows = f"{self.first:,}" if self.first == self.last else f"{self.first:,} to {self.last:,}"
        if self.total is None:
            return rows
        return f"{rows} of {self.total:,}{' or more' if self.total >= MAX_COUNTED and self.next else ''}"


def page_at(path: str, **query: str | None) -> str:
    """An address with the parameters that are not empty."""
    parameters = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(parameters)}" if parameters else path


def this_page(request: Addressed, *names: str) -> str:
    """The address of this page with these of its parameters, for a form to lead back to."""
    return page_at(request.path, **_parameters(request, names))


def row_with_focus(request: Addressed, rows: int) -> int:
    """The row that has the focus, counted from 1, on a page with so many; 0 for none."""
    return min(_number(request.query.get(AT, "")) or 0, rows)


def next_row(request: Submitted, *names: str) -> str:
    """The address of this page after a decision on the row that its form names: the next row has moved up to its place."""
    place = _number(request.form.get(AT, ""))
    return page_at(request.path, **_parameters(request, names), at=str(place) if place else None)


def placed(
    path: str, query: Mapping[str, str | None], place: Mapping[str, Any], shown: int, cursor: str | None
) -> Paging:
    """The paging of a page of the catalog with `shown` entries. `place` is the answer of `placeInCatalog`, `cursor` that of
    the next page, `query` what else the address has."""
    before = place["before"]
    return Paging(
        first=before + 1 if shown else 0,
        last=before + shown if shown else 0,
        total=place["total"],
        previous=page_at(path, **query, cursor=place["previous"]) if before else None,
        next=None if cursor is None else page_at(path, **query, cursor=cursor),
        start=page_at(path, **query) if before else None,
    )


def paged(request: Addressed, page: Mapping[str, Any], *names: str, total: int | None = None) -> Paging:
    """The paging of a list whose operation answers `items`, `cursor` and `hasMore`. `names` are the page's other parameters.
    `total` may be some seconds old; the last page has the exact one."""
    parameters, shown = _parameters(request, names), len(page["items"])
    cursor = request.query.get(CURSOR, "")
    seen = _number(request.query.get(SEEN, "")) if cursor else 0
    trail = _trail(request.query.get(TRAIL, "")) if cursor else []

    def at(step: Step, trail: Sequence[Step]) -> str:
        if not step.cursor:
            return page_at(request.path, **parameters)
        written = BETWEEN.join(f"{each.seen}{WITHIN}{each.cursor}" for each in trail)
        return page_at(request.path, **parameters, cursor=step.cursor, seen=str(step.seen), trail=written)

    following = None
    if page["hasMore"]:
        if seen is None:
            # Without the rows before this page, the pages after it do not know theirs either.
            following = page_at(request.path, **parameters, cursor=page["cursor"])
        else:
            behind = [*trail, Step(seen, cursor)][-LONGEST_TRAIL:]
            following = at(Step(seen + shown, page["cursor"]), behind if _short(behind) else [])
    last = 0 if seen is None or not shown else seen + shown
    if not page["hasMore"]:
        total = None if seen is None else seen + shown
    elif total is not None:
        total = max(total, last + 1)
    return Paging(
        first=last - shown + 1 if last else 0,
        last=last,
        total=total,
        previous=at(trail[-1], trail[:-1]) if trail else None,
        next=following,
        start=page_at(request.path, **parameters) if cursor else None,
    )


def _trail(written: str) -> list[Step]:
    """The pages before this one, the last of them at the end. Empty for text that is no trail."""
    steps = []
    for each in written.split(BETWEEN)[-LONGEST_TRAIL:]:
        number, _, cursor = each.partition(WITHIN)
        seen = _number(number)
        if seen is None:
            return []
        steps.append(Step(seen, cursor))
    return steps if _short(steps) else []


def _short(trail: Sequence[Step]) -> bool:
    return all(len(each.cursor) <= LONGEST_CURSOR for each in trail)


@dataclass(frozen=True, slots=True)
class Numbered(Generic[T]):
    """The page `number` of a list that is known as a whole, counted from 1."""

    number: int
    rows: Sequence[T]
    paging: Paging


def numbered(rows: Sequence[T], on_a_page: int, asked: str, address: Callable[[int], str]) -> Numbered[T]:
    """The page of `rows` whose number is `asked`: the first if that is no number from 1, and the last if there is no such
    page. `address` returns that of a page."""
    last = max(1, -(-len(rows) // on_a_page))
    at = min(number_of(asked), last)
    before = (at - 1) * on_a_page
    shown = rows[before : before + on_a_page]

    def other(page: int) -> str | None:
        return address(page) if 1 <= page <= last and page != at else None

    return Numbered(
        at, shown, Paging(before + 1, before + len(shown), len(rows), other(at - 1), other(at + 1), other(1))
    )


def number_of(asked: str) -> int:
    """The number of a page as an address names it; the first if it is none."""
    return max(1, _number(asked) or 1)


def _number(typed: str) -> int | None:
    """A number in an address, such as the rows before a page; None if it is none, or too long."""
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= MAX_DIGITS else None


def _parameters(request: Addressed, names: Sequence[str]) -> dict[str, str | None]:
    return {name: request.query.get(name) for name in names}
