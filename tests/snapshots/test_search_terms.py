"""What a search asks for: words, phrases, exclusions and alternatives, of any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.snapshots.search_terms import MAX_SIDES, MAX_UNWANTED, MAX_WORDS, Asked, Side, Synonyms, asked, loosened

SYNONYMS: Synonyms = {
    "bill": [("invoice",), ("money", "owed")],
    "time off": [("vacation",)],
    "c++": [("cpp",)],
}


def shown(side: Side) -> str:
    """The ways of each term: `a|b` for alternatives, `a_b` for words beside each other, `a&b` for words anywhere. Common
    terms are in brackets."""
    wanted = [
        ("({})" if term.common else "{}").format(
            "|".join(("_" if way.tight else "&").join(way.stems) for way in term.ways)
        )
        for term in side.wanted
    ]
    return " ".join([*wanted, *("-" + "_".join(term.ways[0].stems) for term in side.unwanted)])


def read(q: str) -> Asked:
    return asked(q, str, SYNONYMS)


@pytest.mark.parametrize(
    ("q", "sides", "plain"),
    [
        ("fence painter", ["fence painter"], True),
        ("Fence  FENCE", ["fence"], True),
        ("how to paint the fence", ["(how) (to) paint (the) fence"], True),
        ("the who", ["the who"], True),
        ("don't pay", ["(don_t|dont) pay"], True),
        ("node.js AT&T", ["node_js|nodejs at_t|att"], True),
        ("slack/teams a,b", ["slack teams (a) b"], True),
        ("gpt-4 b2b", ["gpt_4 b_2_b"], True),
        ("c++ c#", ["c++|cpp c#"], True),
        ("客户邮件 邮", ["客户_户邮_邮件 邮"], True),
        ("🦄 farm", ["(🦄) farm"], True),
        ("🦄", ["🦄"], True),
        ("bill", ["bill|invoice|money&owed"], True),
        ("paid time off", ["paid time|vacation (off|vacation)"], True),
        ("time spent off time/off", ["time spent (off) time|vacation (off|vacation)"], True),
        ('"time off" "time" off', ["time_off time (off)"], False),
        ("bill -time -off", ["bill|invoice|money&owed -time -off"], False),
        ('"fence painter" rose', ["fence_painter rose"], False),
        ("“fence painter", ["fence_painter"], False),
        ("fence -painter", ["fence -painter"], False),
        ('-"a b" -bill', ["-a_b -bill"], False),
        ("fence - painter", ["fence painter"], True),
        ("fence--painter -- rose", ["fence painter rose"], True),
        ("second-hand cars", ["second_hand|secondhand cars"], True),
        ("a or b c OR d", ["a", "b c", "d"], True),
        ("or fence or", ["(or) fence"], True),
        ("to be or not to be", ["to be", "not to be"], True),
        ("... !", [], True),
        ('"" -""', [], True),
    ],
)
def test_a_search_asks_for(q: str, sides: list[str], plain: bool) -> None:
    found = read(q)
    assert [shown(side) for side in found.sides] == sides
    assert not sides or found.plain == plain


def test_a_compound_is_taken_apart_when_not_all_words_are_needed() -> None:
    assert shown(Side(tuple(loosened(read("node.js 客户邮件").words)))) == "node js nodejs 客户 户邮 邮件"


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from('-" or&/客')), max_size=200))
def test_any_text_asks_for_a_bounded_number_of_terms(q: str) -> None:
    found = read(q)
    assert len(found.sides) <= MAX_SIDES
    for side in found.sides:
        assert side.wanted or side.unwanted
        assert len(side.wanted) <= 4 * MAX_WORDS
        assert len(side.unwanted) <= MAX_UNWANTED
        assert all(way.stems for term in (*side.wanted, *side.unwanted) for way in term.ways)
