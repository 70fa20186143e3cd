"""The place of a page in its list, and the addresses of the pages around it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

import pytest

from service.web.pages.parts.page import LONGEST_PATH
from service.web.pages.parts.paging import (
    LONGEST_CURSOR,
    LONGEST_TRAIL,
    PLACE,
    Paging,
    next_row,
    paged,
    placed,
    row_with_focus,
    this_page,
)

LIMIT = 20


@dataclass(frozen=True)
class Asked:
    """A request of the page of a list."""

    path: str = "/admin/audit"
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, address: str) -> "Asked":
        parts = urlsplit(address)
        return cls(parts.path, dict(parse_qsl(parts.query)))


def page_after(cursor: str, rows: int, width: int = 1) -> Mapping[str, object]:
    """The answer of a list with `rows` rows. The cursor of row 40 is 40 and letters, up to `width` characters."""
    start = int(cursor.rstrip("c") or 0)
    end = min(start + LIMIT, rows)
    return {"items": list(range(start, end)), "cursor": str(end).ljust(width, "c"), "hasMore": end < rows}


def open_page(address: str, rows: int, width: int = 1, total: int | None = None) -> Paging:
    asked = Asked.at(address)
    return paged(asked, page_after(asked.query.get("cursor", ""), rows, width), "target", total=total)


def walk(address: str, rows: int, width: int = 1) -> Sequence[str]:
    """The addresses of all pages from `address` on."""
    addresses = [address]
    while (following := open_page(addresses[-1], rows, width).next) is not None:
        addresses.append(following)
    return addresses


def test_a_list_that_fits_on_its_page_has_no_other_pages() -> None:
    paging = open_page("/admin/audit", 3)
    assert paging == Paging(1, 3, 3)
    assert not paging.several
    assert paging.words == "1 to 3 of 3"
    assert open_page("/admin/audit", 0) == Paging(0, 0, 0)


def test_pages_number_their_rows_and_the_last_one_knows_the_total() -> None:
    shown = [open_page(address, 53) for address in walk("/admin/audit", 53)]
    assert [paging.words for paging in shown] == ["1 to 20", "21 to 40", "41 to 53 of 53"]
    assert all(paging.several for paging in shown)
    assert open_page(walk("/admin/audit", 41)[-1], 41).words == "41 of 41"


def test_each_page_leads_back_to_the_page_before_it() -> None:
    addresses = walk("/admin/audit?target=bok_1", 110)
    for before, address in pairwise(addresses):
        paging = open_page(address, 110)
        assert paging.previous == before
        assert paging.start == "/admin/audit?target=bok_1"
    assert open_page(addresses[0], 110).previous is None
    assert open_page(addresses[0], 110).start is None


def test_a_long_walk_remembers_its_last_pages_only() -> None:
    rows = (LONGEST_TRAIL + 4) * LIMIT
    addresses = walk("/admin/audit", rows)
    address, steps = addresses[-1], 0
    while (before := open_page(address, rows).previous) is not None:
        assert open_page(before, rows).words == open_page(addresses[len(addresses) - 2 - steps], rows).words
        address, steps = before, steps + 1
    assert steps == LONGEST_TRAIL
    paging = open_page(address, rows)
    assert (paging.words, paging.start) == ("61 to 80", "/admin/audit"), "the numbers are still right"


def test_addresses_stay_short() -> None:
    longest = walk("/admin/audit", 500, LONGEST_CURSOR)
    assert max(map(len, longest)) < LONGEST_PATH
    assert open_page(longest[-1], 500, LONGEST_CURSOR).previous is not None


def test_a_cursor_that_is_too_long_is_not_kept() -> None:
    addresses = walk("/admin/audit", 100, LONGEST_CURSOR + 1)
    shown = [open_page(address, 100, LONGEST_CURSOR + 1) for address in addresses]
    assert [paging.words for paging in shown] == ["1 to 20", "21 to 40", "41 to 60", "61 to 80", "81 to 100 of 100"]
    assert shown[-1].previous is None
    assert shown[-1].start == "/admin/audit"


@pytest.mark.parametrize("total", [0, 40, 41])
def test_a_total_that_is_out_of_date_is_at_least_what_is_seen(total: int) -> None:
    addresses = walk("/admin/audit", 60)
    assert open_page(addresses[1], 60, total=total).words == "21 to 40 of 41"
    assert open_page(addresses[-1], 60, total=total).words == "41 to 60 of 60"


def test_a_total_that_is_not_counted_to_its_end_says_so() -> None:
    assert open_page("/admin/audit", 20_000, total=10_000).words == "1 to 20 of 10,000 or more"
    assert Paging(10_001, 10_020, 10_020, start="/").words == "10,001 to 10,020 of 10,020"


def test_an_address_without_its_number_says_none() -> None:
    paging = open_page("/admin/audit?cursor=40", 100)
    assert (paging.words, paging.previous, paging.start) == ("", None, "/admin/audit")
    assert paging.next == "/admin/audit?cursor=60"


@pytest.mark.parametrize(
    "query",
    [
        "seen=x",
        "seen=-1",
        "seen=%D9%A3",
        f"seen={'9' * 10}",
        "trail=x",
        "trail=1~a.x~b",
        "trail=.",
        "trail=~",
        f"trail=0~{'a' * 161}",
    ],
)
def test_what_somebody_wrote_into_an_address_is_no_place(query: str) -> None:
    assert open_page(f"/admin/audit?cursor=40&{query}", 100).previous is None


def test_a_form_leads_back_to_its_page() -> None:
    address = walk("/admin/audit?target=bok_1", 100)[3]
    assert this_page(Asked.at(address), "target", *PLACE) == address


def test_a_decision_leads_back_to_its_page_and_the_row_that_moves_up() -> None:
    here = {"target": "bok_1", "cursor": "40c", "seen": "40", "trail": "0~.20~20c", "at": "9"}
    asked = Asked(query=here, form={"at": "3", "do": "reject"})
    assert next_row(asked, "target", *PLACE) == "/admin/audit?target=bok_1&cursor=40c&seen=40&trail=0~.20~20c&at=3"
    for typed in ("", "0", "x", "-1", "9" * 12):
        assert next_row(Asked(form={"at": typed})) == "/admin/audit", typed
        assert row_with_focus(Asked(query={"at": typed}), 10) == 0, typed
    assert [row_with_focus(Asked(query={"at": str(place)}), 3) for place in (1, 3, 4, 99)] == [1, 3, 3, 3]
    assert row_with_focus(Asked(query={"at": "1"}), 0) == 0


def test_a_page_of_the_catalog_knows_its_place() -> None:
    place = {"before": 24, "total": 73, "previous": "back"}
    paging = placed("/bots", {"category": "Arts"}, place, 12, "on")
    assert paging.words == "25 to 36 of 73"
    assert paging.previous == "/bots?category=Arts&cursor=back"
    assert paging.next == "/bots?category=Arts&cursor=on"
    assert paging.start == "/bots?category=Arts"


def test_the_ends_of_the_catalog_have_one_neighbour() -> None:
    first = placed("/bots", {"category": ""}, {"before": 0, "total": 13, "previous": None}, 12, "on")
    assert (first.previous, first.next, first.start) == (None, "/bots?cursor=on", None)
    second = placed("/bots", {"category": ""}, {"before": 12, "total": 13, "previous": None}, 1, None)
    assert (second.previous, second.next, second.start, second.words) == ("/bots", None, "/bots", "13 of 13")
    assert not placed("/bots", {}, {"before": 0, "total": 0, "previous": None}, 0, None).several
