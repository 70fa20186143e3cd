"""The words that differ between two texts."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from service.web.pages.admin.record_changes import words_between


def test_a_changed_word_is_gone_and_another_is_new() -> None:
    assert words_between("Ship your first agent", "Ship your second agent") == [
        ("same", "Ship your "),
        ("gone", "first"),
        ("new", "second"),
        ("same", " agent"),
    ]


def test_equal_texts_have_one_part_and_empty_ones_none() -> None:
    assert words_between("Try it", "Try it") == [("same", "Try it")]
    assert words_between("", "") == []
    assert words_between("", "<b>") == [("new", "<b>")]
    assert words_between("<b>", "") == [("gone", "<b>")]


def test_texts_that_share_no_word_stay_whole() -> None:
    assert words_between("Ship your agent", "Second try") == [("gone", "Ship your agent"), ("new", "Second try")]


def test_words_of_any_script_stay_whole() -> None:
    assert words_between("Größe 東京 now", "Größe 大阪 now") == [
        ("same", "Größe "),
        ("gone", "東京"),
        ("new", "大阪"),
        ("same", " now"),
    ]


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_parts_make_up_both_texts(before: str, now: str) -> None:
    parts = words_between(before, now)
    assert "".join(text for kind, text in parts if kind != "new") == before
    assert "".join(text for kind, text in parts if kind != "gone") == now
    kinds = [kind for kind, _ in parts]
    assert all(one != other for one, other in pairwise(kinds))


def test_long_texts_are_compared_by_larger_parts() -> None:
    """The time of a comparison grows with the square of the parts, and texts of entries have up to 20,000 characters."""
    sentence = "A word and another one. "
    before, now = sentence * 100, sentence * 99 + "The end. "
    assert words_between(before, now) == [("same", sentence * 99), ("gone", sentence), ("new", "The end. ")]
    lines, more = "a. b.\n" * 190, "a. b.\n" * 190 + "c\n"
    assert words_between(lines, more) == [("same", lines), ("new", "c\n")]
    assert words_between("a " * 9_000, "\n" * 19_000) == [("gone", "a " * 9_000), ("new", "\n" * 19_000)]
