"""Output on a terminal: tables fit, and no control character of remote text reaches it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.shared.money import money as written_by_pages
from service.terminal.layout import (
    Column,
    cut,
    day,
    facts,
    harmless,
    harmless_json,
    is_harmful,
    moment,
    money,
    printable,
    table,
    width,
)
from tests.catalogctl.stage import Line, Stage, says, scripted

COLUMNS = (Column("SLUG", whole=True), Column("TITLE"), Column("AMOUNT", whole=True, right=True))
ROWS = [["short", "A title of some length that may be cut", "5"], ["a-longer-slug", "Another", "1,250"]]


def test_a_table_with_enough_room_is_not_cut() -> None:
    assert table(COLUMNS, ROWS, None) == [
        "SLUG           TITLE                                   AMOUNT",
        "short          A title of some length that may be cut       5",
        "a-longer-slug  Another                                  1,250",
    ]


def test_a_table_fits_the_terminal_and_cuts_no_column_that_users_copy() -> None:
    assert table(COLUMNS, ROWS, 45) == [
        "SLUG           TITLE                   AMOUNT",
        "short          A title of some lengt…       5",
        "a-longer-slug  Another                  1,250",
    ]


def test_a_terminal_that_is_too_narrow_gets_columns_of_minimum_width() -> None:
    lines = table(COLUMNS, ROWS, 10)
    assert lines[1] == "short          A title…       5"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=12), st.text(max_size=60), st.text(max_size=60)), min_size=1, max_size=3),
    st.integers(60, 120),
)
def test_every_table_fits_and_is_harmless(rows: list[tuple[str, str, str]], fit: int) -> None:
    lines = table((Column("A", whole=True), Column("B"), Column("C")), rows, fit)
    assert len(lines) == len(rows) + 1
    for line in lines:
        assert width(line) <= fit
        assert not any(is_harmful(letter) for letter in line)


@pytest.mark.parametrize(
    "letter", ["\x00", "\x07", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\ud800"]
)
def test_harmful_characters_are_replaced(letter: str) -> None:
    assert harmless(f"a{letter}b") == "a\ufffdb"


def test_ordinary_text_is_not_changed() -> None:
    for text in ("Größe", "日本語", "שלום", "👩\u200d🌾 grower", "🏴󠁧󠁢󠁥󠁮󠁧󠁿 only", "naïve “quotes” – dashes"):
        assert harmless(text) == text
    assert harmless("two\nlines\tand a tab\u2028more") == "two lines and a tab more"


@settings(max_examples=40, deadline=None)
@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.dictionaries(st.text(), inner, max_size=3)))
def test_harmless_json_is_the_same_json(document: object) -> None:
    for text in (json.dumps(document), json.dumps(document, ensure_ascii=False, indent=1)):
        made = harmless_json(text.encode("utf-8", "replace"))
        assert json.loads(made) == json.loads(text.encode("utf-8", "replace"))
        assert not any(is_harmful(letter) for letter in made.replace("\n", ""))


def test_ordinary_json_is_not_changed() -> None:
    assert harmless_json('{"who": "日本", "x": "\u202e\x9b\x7f"}'.encode()) == (
        '{"who": "日本", "x": "\\u202e\\u009b\\u007f"}'
    )


def test_widths_are_those_of_the_terminal() -> None:
    assert [width(text) for text in ("abc", "日本", "e\u0301", "👍", "")] == [3, 4, 1, 2, 0]
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 6) == "日本語"


def test_facts_are_one_per_line_and_long_ones_wrap() -> None:
    pairs = {
        "Slug": "a",
        "Nothing": "",
        "Prompt": "one two three four five six\nseven\x1b[2J",
        "Steps": ["1. a", "2. b"],
    }
    assert facts(pairs, 30) == [
        "Slug    a",
        "Prompt  one two three four",
        "        five six",
        "        seven\ufffd[2J",
        "Steps   1. a",
        "        2. b",
    ]


def test_values_are_formatted_and_unexpected_ones_are_shown_as_they_are() -> None:
    assert money(125_000) == "USD 1,250.00"
    assert money(-5, "eur") == "EUR -0.05"
    for cents, currency in ((1_001, "jpy"), (1_001, "kwd"), (125_000, "usd"), (5, "eur"), (-1_234, "clp")):
        assert money(cents, currency) == written_by_pages(cents, currency), "mails, pages and catalogctl write alike"
    assert (money(1_001, "jpy"), money(1_001, "kwd")) == ("JPY 1,001", "KWD 1.001")
    assert day(1_798_416_000_000) == "2026-12-28"
    assert moment(1_798_416_060_000) == "2026-12-28 00:01 UTC"
    assert [printable(value) for value in (None, True, False, 1234, [1, "a\x1b"], 0.5)] == [
        "",
        "yes",
        "no",
        "1,234",
        "1, a\ufffd",
        "0.5",
    ]
    for odd in (None, "soon", 10**30, True, {"a": 1}):
        assert money(odd) if odd == 10**30 else money(odd) == printable(odd)
        assert day(odd) == moment(odd) == printable(odd)


def test_control_characters_of_a_service_do_not_reach_the_terminal(stage: Stage) -> None:
    entry = {"slug": "a\x1b]0;title\x07", "name": "Red \u202e\u009b31m alert", "job": "x" * 300, "addedAt": 10**15}
    page = says(200, {"data": [entry], "nextCursor": "\x1b[2J"})
    raw = Line(200, '{"data": [{"name": "Red \u202e\u009b alert"}], "nextCursor": null}'.encode())
    with scripted(page, raw) as server:
        stage.columns = 80
        assert stage.run("bots", "--url", server.url) == 0
        assert "Red \ufffd\ufffd31m alert" in stage.out
        assert not any(is_harmful(letter) for letter in (stage.out + stage.err).replace("\n", ""))
        assert max(map(width, stage.out.splitlines())) <= 80
        assert "--cursor CURSOR the next page" in stage.err
        assert stage.run("bots", "--url", server.url, "--json") == 0
        assert "Red \\u202e\\u009b alert" in stage.out


def test_a_list_whose_cursors_loop_ends_with_an_error(stage: Stage) -> None:
    with scripted(*[says(200, {"data": [], "nextCursor": "again"})] * 3) as server:
        assert stage.run("bots", "--url", server.url, "--all") == 3
        assert len(server.heard) == 2
    assert "led back to a page" in stage.err
