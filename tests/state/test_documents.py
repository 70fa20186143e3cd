"""What is read out of the document of an entry."""

import json

from hypothesis import given
from hypothesis import strategies as st

from actors.catalog.documents import category_of, title_of


def test_the_category_of_an_entry_is_its_own_or_its_guides() -> None:
    assert category_of(b'{"category":"A"}') == category_of(b'{"guide":{"category":"A"}}') == "A"
    assert category_of(b'{"guide":null}') is category_of(b"{}") is None


@given(st.text(max_size=20), st.one_of(st.none(), st.text(max_size=20)), st.text(max_size=20))
def test_no_other_text_is_taken_for_the_category(before: str, category: str | None, after: str) -> None:
    quoted = '"category":"x"'
    guide = {"title": before + quoted, "category": category, "prompt": quoted + after}
    for fields in (guide, {"slug": "a", "title": quoted, "guide": guide}):
        assert category_of(json.dumps(fields).encode()) == category
        assert category_of(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")) == (
            category and category.encode("utf-8", "replace").decode()
        )


@given(st.text(max_size=20), st.sampled_from(["title", "name"]), st.text(max_size=20))
def test_no_other_text_is_taken_for_the_title(before: str, field: str, title: str) -> None:
    quoted = before + f'"{field}":"x"'
    fields = {"slug": quoted, field: title, "job": quoted, **({"guide": {"title": "x"}} if field == "title" else {})}
    assert title_of(json.dumps(fields).encode()) == title
    assert title_of(b"{}") == ""
