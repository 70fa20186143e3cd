"""The addresses of a list's pages, and where this page stands. Pure.

Templates get a `Paging` as `paging`, and draw it under a list that has more than one page:

    {% if paging.several %}
    <nav class="paging" aria-label="Pages">
      {{ previous, a link to paging.previous, or text with aria-disabled if that is None }}
      {{ paging.words, "21 to 40 of 73", or "21 to 40" while the total is not known }}
      {{ next, a link to paging.next, or text with aria-disabled if that is None }}
    </nav>
    {% endif %}

The catalog's lists know their total and the page before each page. Other lists lead only forward, so their addresses keep
the cursors of the last pages that were seen; past those, `paging.start` leads back to the first page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from service.schemas.lists import DEFAULT_LIMIT
from service.web.pages.page import PageRequest

CURSOR, TRAIL, NUMBER = "cursor", "trail", "page"
PLACE = (CURSOR, TRAIL, NUMBER)
"""The parameters of a page's address that say where in its list it stands. A form leads back to its page with them."""

LONGEST_TRAIL = 8
LONGEST_CURSOR = 160
"""Characters. A longer cursor is not kept, so that an address stays short enough for proxies."""

LAST_PAGE = 1_000_000
BETWEEN = "."
"""Separates the cursors of a trail. It is no character of a cursor."""

MOST_COUNTED = 10_000
"""A total of this size means at least so many."""


@dataclass(frozen=True, slots=True)
class Paging:
    """Where a page stands in its list. `first` and `last` number its rows from 1, both 0 if it has none. `total` is None
    while it is not known. The rest are addresses: `previous` and `next`, None where there is no such page or it is not
    known, and `start`, the first page, None on the first page itself."""

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
        """`1 to 12 of 73`, `21 to 40`, `41 of 41` for one row."""
        rows = f"{self.first:,}" if self.first == self.last else f"{self.first:,} to {self.last:,}"
        if self.total is None:
            return rows
        return f"{rows} of {self.total:,}{' or more' if self.total >= MOST_COUNTED else ''}"


def page_at(path: str, **query: str | None) -> str:
    """An address with the parameters that are not empty."""
    kept = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(kept)}" if kept else path


def this_page(request: PageRequest, *names: str) -> str:
    """The address of this page with these of its parameters, for a form to lead back to."""
    return page_at(request.path, **_kept(request, names))


def placed(path: str, query: Mapping[str, str | None], place: Mapping[str, Any], shown: int, cursor: str | None) -> Paging:
    """The paging of a page of the catalog with `shown` entries. `place` is the answer of `placeInCatalog`, `cursor` that of
    the next page, `query` what else the address has."""
    before, previous = place["before"], place["previous"]
    return Paging(
        first=before + 1 if shown else 0,
        last=before + shown if shown else 0,
        total=place["total"],
        previous=page_at(path, **query, cursor=previous) if before else None,
        next=None if cursor is None else page_at(path, **query, cursor=cursor),
        start=page_at(path, **query) if before else None,
    )


def paged(
    request: PageRequest, page: Mapping[str, Any], *names: str, total: int | None = None, limit: int = DEFAULT_LIMIT
) -> Paging:
    """The paging of a list whose operation answers `items`, `cursor` and `hasMore`, at most `limit` a page. `names` are the
    page's other parameters. The last page tells the total if nobody else does."""
    kept, shown = _kept(request, names), len(page["items"])
    cursor = request.query.get(CURSOR) or None
    number, trail = (1, []) if cursor is None else (_number(request), _trail(request))
    before = (number - 1) * limit
    if total is None and not page["hasMore"]:
        total = before + shown

    def at(cursor: str, trail: Sequence[str], number: int) -> str:
        return page_at(request.path, **kept, cursor=cursor, trail=BETWEEN.join(trail), page=str(number))

    previous = None
    if trail:
        previous = at(trail[-1], trail[:-1], number - 1)
    elif number == 2:
        previous = page_at(request.path, **kept)
    return Paging(
        first=before + 1 if shown else 0,
        last=before + shown if shown else 0,
        total=total,
        previous=previous,
        next=at(page["cursor"], _longer(trail, cursor), number + 1) if page["hasMore"] else None,
        start=None if cursor is None else page_at(request.path, **kept),
    )


def _longer(trail: Sequence[str], cursor: str | None) -> Sequence[str]:
    """The trail of the page after this one, whose cursor is `cursor`. A page without a cursor is the first one."""
    if cursor is None:
        return []
    return [*trail, cursor][-LONGEST_TRAIL:] if len(cursor) <= LONGEST_CURSOR else []


def _trail(request: PageRequest) -> Sequence[str]:
    """The cursors of the pages between the first page and this one, the last ones of many."""
    cursors = [each for each in request.query.get(TRAIL, "").split(BETWEEN) if each]
    return cursors[-LONGEST_TRAIL:] if all(len(each) <= LONGEST_CURSOR for each in cursors) else []


def _number(request: PageRequest) -> int:
    """The number of a page that is not the first one. Without a number in its address, it is taken for the second one."""
    typed = request.query.get(NUMBER, "")
    return min(max(2, int(typed)), LAST_PAGE) if typed.isascii() and typed.isdigit() and len(typed) < 10 else 2


def _kept(request: PageRequest, names: Sequence[str]) -> dict[str, str | None]:
    return {name: request.query.get(name) for name in names}


def following(request: PageRequest, page: Mapping[str, Any], *names: str) -> str | None:
    """The address of the page after `page`, an operation's answer; None after the last page."""
    if not page["hasMore"]:
        return None
    return page_at(request.path, **_kept(request, names), cursor=page["cursor"])
