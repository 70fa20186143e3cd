"""What people type into a search, over one index of all titles of `search_inputs.py`."""

from functools import cache

import pytest

from actors.catalog.messages import Kind
from service.snapshots.search_index import SearchIndex
from service.snapshots.search_query import Found
from tests.snapshots.entries import usecase
from tests.snapshots.search_inputs import ODD, ROWS, SPELLED, Row


@cache
def index() -> SearchIndex:
    made = SearchIndex()
    made.apply(Kind.USECASES, [usecase(slug_of(row.title), title=row.title, addedAt=1) for row in ROWS], ())
    return made


def slug_of(title: str) -> str:
    [place] = [place for place, row in enumerate(ROWS) if row.title == title]
    return f"row-{place:03}"


def found(q: str) -> Found:
    return index().search(Kind.USECASES, q, 10)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: slug_of(row.title))
def test_a_title_is_found_first_however_its_words_are_written(row: Row) -> None:
    slug = slug_of(row.title)
    results = {q: found(q) for q in row.found_by}
    assert not {q: each for q, each in results.items() if each.relaxed or each.slugs[:1] != (slug,)}, row.title
    assert not [q for q in row.not_by if slug in found(q).slugs], row.title


@pytest.mark.parametrize(("title", "q"), SPELLED, ids=ascii)
def test_a_title_is_among_the_first_three_when_a_word_is_misspelled_or_unfinished(title: str, q: str) -> None:
    assert slug_of(title) in found(q).slugs[:3]


@pytest.mark.parametrize("q", ODD, ids=range(len(ODD)))
def test_every_text_is_a_search(q: str) -> None:
    assert len(found(q).slugs) <= 10
