"""Cursors are opaque, bound to one list and one secret, and have one spelling each."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.tokens.signing import MAX_CHARACTERS, BadCursor, Cursors

CURSORS = Cursors(b"a secret of the server, 32 bytes")
SCALARS = st.none() | st.integers(-(2**63), 2**63) | st.text(st.characters(exclude_categories=["Cs"]), max_size=100)
POSITIONS = st.lists(SCALARS, max_size=4).map(tuple)
ALPHABET = string.ascii_letters + string.digits + "-_"


@given(POSITIONS)
def test_a_cursor_opens_to_the_position_it_was_made_of(position: tuple[int | str | None, ...]) -> None:
    assert CURSORS.decode("usecases", CURSORS.encode("usecases", position)) == position


@given(POSITIONS)
def test_a_cursor_is_safe_in_an_address(position: tuple[int | str | None, ...]) -> None:
    assert set(CURSORS.encode("usecases", position)) <= set(ALPHABET)


@given(POSITIONS, st.data())
def test_a_cursor_with_another_character_anywhere_is_refused(
    position: tuple[int | str | None, ...], data: st.DataObject
) -> None:
    cursor = CURSORS.encode("usecases", position)
    place = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from(ALPHABET.replace(cursor[place], "")))
    with pytest.raises(BadCursor):
        CURSORS.decode("usecases", cursor[:place] + other + cursor[place + 1 :])


@given(st.text(max_size=200) | st.text(ALPHABET, max_size=200))
def test_whatever_was_not_made_here_is_refused(cursor: str) -> None:
    with pytest.raises(BadCursor):
        CURSORS.decode("usecases", cursor)


@pytest.mark.parametrize("spoilt", ["{}=", "{}==", "{} ", " {}", "{}\n", "{}!", "+{}", "{}A", "{}AAAA"])
def test_only_one_spelling_is_accepted(spoilt: str) -> None:
    cursor = CURSORS.encode("usecases", (1, "a"))
    with pytest.raises(BadCursor):
        CURSORS.decode("usecases", spoilt.format(cursor))


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(BadCursor):
        CURSORS.decode("bots", CURSORS.encode("usecases", (1, "a")))


def test_a_cursor_of_another_secret_is_refused() -> None:
    with pytest.raises(BadCursor):
        Cursors(b"another secret of another server").decode("bots", CURSORS.encode("bots", (1, "a")))


def test_a_cursor_longer_than_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(BadCursor, match="longer than 2000 characters"):
        CURSORS.decode("bots", "A" * (MAX_CHARACTERS + 1))


def test_the_longest_slug_fits() -> None:
    assert len(CURSORS.encode("usecases", (2**53, "a" * 100))) < 200
