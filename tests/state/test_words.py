"""The vocabulary of the catalog, and what a search looks for when no entry has all of its words."""

import json
import string
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from actors.catalog.queries import category_of, is_plain, searchable
from actors.catalog.words import (
    MOST_COMBINED,
    MOST_CORRECTED,
    MOST_SCANNED,
    MOST_TERMS,
    Term,
    Vocabulary,
    near_the_best,
    steps_of,
    terms_of,
)

WORDS = st.text(string.ascii_lowercase[:4], min_size=1, max_size=10)


def vocabulary(counts: dict[str, int], entries: int = 10_000) -> Vocabulary:
    made = Vocabulary()
    made.add(sorted(counts.items()))
    made.entries = entries
    return made


SHOP = vocabulary(
    {"invoic": 900, "invit": 4, "involv": 2, "remind": 50, "remindr": 1, "reminisc": 2, "rota": 7, "custom": 6_000}
)


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("invioc", ("invoic",)),  # swapped
        ("invoc", ("invoic",)),  # left out
        ("invooic", ("invoic",)),  # doubled
        ("invaic", ("invoic",)),  # replaced
        ("nivoic", ("invoic",)),  # the first letter was swapped
        ("xinvoic", ("invoic",)),  # one letter too many
        ("anvoic", ()),  # the first letter is wrong
        ("rotta", ("rota",)),
        ("rto", ()),  # too short
        ("ronta", ("rota",)),
        ("invcio", ()),  # two mistakes in a short word
        ("reminsica", ("reminisc",)),  # two in a long one
        ("invitaton", ("invit",)),  # in an ending
        ("involvemnt", ("involv",)),
        ("involvng", ("involv",)),
        ("rotaxz", ()),  # no ending
        ("remindware", ()),
    ],
)
def test_a_misspelled_word_is_near_to_these(word: str, near: tuple[str, ...]) -> None:
    assert SHOP.near(word) == near


@given(st.dictionaries(WORDS, st.integers(1, 100), max_size=40), WORDS)
def test_near_words_are_the_commonest_of_the_nearest_that_share_the_first_letter(
    counts: dict[str, int], word: str
) -> None:
    mistakes = 2 if len(word) >= 8 else 1 if len(word) >= 4 else 0
    distances = {each: OSA.distance(word, each) for each in counts if each[0] in word[:2]}
    fewest = min(distances.values(), default=9)
    nearest = [each for each, distance in distances.items() if distance == fewest <= mistakes] if mistakes else []
    if nearest:
        assert list(vocabulary(counts).near(word)) == sorted(nearest, key=lambda each: (-counts[each], each))[:3]


@given(st.dictionaries(WORDS, st.integers(1, 100), max_size=40), WORDS)
def test_a_start_has_the_commonest_words_that_begin_with_it(counts: dict[str, int], start: str) -> None:
    begins = [each for each in counts if each.startswith(start)]
    assert list(vocabulary(counts).beginning_with(start)) == sorted(begins, key=lambda each: (-counts[each], each))[:10]


def words_of(*words: str) -> list[tuple[str, ...]]:
    return [term.words for term in terms_of(words, SHOP)]


def test_known_words_stand_for_themselves_the_rarest_first() -> None:
    assert words_of("custom", "invoic", "rota") == [("rota",), ("invoic",), ("custom",)]


def test_the_last_word_may_be_unfinished_and_others_may_not() -> None:
    assert words_of("rota", "remi") == [("rota",), ("remind", "reminisc", "remindr")]
    assert words_of("remi", "rota") == [("rota",)]
    assert words_of("r") == []


def test_a_known_last_word_is_finished() -> None:
    assert words_of("remind") == [("remind",)]


def test_a_corrected_word_weighs_less_than_a_right_one() -> None:
    [right], [corrected] = terms_of(["invoic"], SHOP), terms_of(["invioc", "zzzzz"], SHOP)
    assert corrected.words == right.words
    assert corrected.weight < right.weight


def test_unknown_words_are_left_out_but_for_those_that_a_vocabulary_never_has() -> None:
    assert words_of("submarin", "invoic") == [("invoic",)]
    assert sorted(words_of("400", "invoic", "ann@example.com")) == [("400",), ("ann@example.com",), ("invoic",)]
    assert words_of("submarin") == words_of() == []


def test_a_word_that_is_written_twice_is_one() -> None:
    assert words_of("invoic", "invoic", "invioc") == [("invoic",)]


def test_the_words_that_are_corrected_and_looked_for_are_bounded() -> None:
    misspelled = [f"invo{letter}ic" for letter in "abcdefgh"]
    known = vocabulary({f"invo{letter}c": 1 for letter in "abcdefgh"})
    assert len(terms_of([*misspelled, "zz"], known)) <= MOST_CORRECTED
    assert len(terms_of([str(number) for number in range(50)], SHOP)) == MOST_TERMS


def test_demands_are_lowered_from_all_words_to_one() -> None:
    a, b, c = (Term((word,), 1.0) for word in ("rota", "remind", "invoic"))
    assert list(steps_of([a, b, c], SHOP)) == [((a, b, c),), ((a, b), (a, c), (b, c)), ((a,), (b,), (c,))]
    assert list(steps_of([a], SHOP)) == [((a,),)]
    assert list(steps_of([], SHOP)) == []


def test_a_common_word_alone_is_demanded_only_if_there_is_no_rarer_one() -> None:
    rare, common = Term(("invoic",), 2.0), Term(("custom",), 1.0)
    assert SHOP.count(common.words) > MOST_SCANNED
    assert list(steps_of([rare, common], SHOP))[-1] == ((rare,),)
    assert list(steps_of([common], SHOP)) == [((common,),)]


def test_what_is_demanded_is_bounded() -> None:
    terms = [Term((str(number),), 1.0) for number in range(MOST_TERMS)]
    steps = list(steps_of(terms, SHOP))
    assert [len(step) for step in steps] == [comb(MOST_COMBINED, size) for size in range(MOST_COMBINED, 0, -1)]


def test_entries_far_behind_the_best_are_left_out() -> None:
    assert near_the_best([("a", 8.0), ("b", 2.0), ("c", 1.9)]) == ("a", "b")
    assert near_the_best([]) == ()


def test_words_out_of_order_or_not_of_letters_are_not_kept() -> None:
    made = Vocabulary()
    made.add([("a-b", 1), ("abc", 1), ("abc1", 1), ("b" * 41, 1)])
    assert len(made) == 1
    with pytest.raises(AssertionError):
        Vocabulary().add([("b", 1), ("a", 1)])


@pytest.mark.parametrize(
    ("q", "plain"),
    [
        ("how do I get paid", True),
        ("second-hand cars", True),
        ("paid or unpaid", True),
        ("a -- b", True),
        ("a -b", False),
        ("-b", False),
        ("a - b", False),
        ("(-b)", False),
        ('"a b"', False),
        ('a "b', False),
    ],
)
def test_a_text_without_quotes_and_exclusions_is_plain(q: str, plain: bool) -> None:
    assert is_plain(searchable(q)) == plain


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
