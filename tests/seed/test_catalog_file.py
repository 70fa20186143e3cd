"""Catalog files: three forms, one set of rules, and errors that name the entry."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import service.seed.samples
from actors.catalog.messages import Kind
from service.seed.catalog_file import Parsed, parse, unknown_bots
from tests.snapshots.entries import bot, bot_fields, guide_fields, usecase, usecase_fields

SAMPLES = Path(service.seed.samples.__file__).parent / "catalog.jsonl"


def parsed(text: str | bytes, **options: Any) -> Parsed:
    return parse(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def errors(text: str | bytes, **options: Any) -> list[str]:
    return parsed(text, **options).report()


def lines(*entries: dict[str, Any]) -> str:
    return "\n".join(json.dumps(entry) for entry in entries)


BOT = {"type": "bot"} | bot_fields("a-bot")
USECASE = {"type": "usecase"} | usecase_fields("a-case", guide=guide_fields())


def bot_line(**fields: Any) -> str:
    return json.dumps(BOT | fields)


# Accepted files.


@pytest.mark.parametrize(
    "text",
    [
        lines(BOT, USECASE),
        lines(BOT, USECASE) + "\n",
        "\n\r\n" + lines(BOT, USECASE).replace("\n", "\r\n") + "\r\n\r\n",
        "\ufeff" + lines(BOT, USECASE),
        json.dumps([USECASE, BOT]),
        json.dumps([USECASE, BOT], indent=4),
        json.dumps({"usecases": [usecase_fields("a-case", guide=guide_fields())], "bots": [bot_fields("a-bot")]}),
        json.dumps({"bots": [BOT], "usecases": [USECASE]}, indent=2),
    ],
)
def test_every_form_gives_the_same_entries(text: str) -> None:
    found = parsed(text)
    assert found.report() == []
    assert found.entries == {Kind.BOTS: [bot("a-bot")], Kind.USECASES: [usecase("a-case", guide=guide_fields())]}


def test_the_sample_catalog_is_valid_and_complete() -> None:
    with SAMPLES.open("rb") as stream:
        found = parse(stream)
    assert found.report() == []
    assert sum(map(len, found.entries.values())) == len(SAMPLES.read_text(encoding="utf-8").splitlines())
    assert not found.references


def test_documents_have_one_form_whatever_the_order_and_spacing_of_the_file() -> None:
    shuffled = dict(reversed(BOT.items())) | {"category": None}
    assert parsed(json.dumps(shuffled, indent=1).replace("\n", " ")).entries == parsed(lines(BOT)).entries
    assert parsed(lines(BOT)).entries[Kind.BOTS][0].document.startswith(b'{"slug":"a-bot","name":"Plain Helper",')


def test_a_document_has_the_fields_of_the_specification_and_no_absent_ones() -> None:
    document = json.loads(parsed(lines(USECASE)).entries[Kind.USECASES][0].document)
    assert document == usecase_fields("a-case", guide=guide_fields())


def test_a_file_of_one_kind_has_no_entry_for_the_other() -> None:
    assert list(parsed(lines(BOT)).entries) == [Kind.BOTS]
    assert list(parsed(json.dumps({"usecases": [], "bots": [BOT]})).entries) == [Kind.USECASES, Kind.BOTS]


def test_unknown_bots_are_a_warning() -> None:
    guide = guide_fields(botSlugs=["a-bot", "in-catalog", "nowhere"])
    found = parsed(lines(usecase_fields("a-case", guide=guide) | {"type": "usecase"}, BOT))
    assert found.report() == []
    assert unknown_bots(found, {"in-catalog"}) == ['line 1: the guide names the bot "nowhere", which does not exist']


# Files refused as a whole.


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"", "the file is empty"),
        (b" \r\n\t\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"[]", "the file has no entries"),
        (b'{"usecases": [], "bots": []}', "the file has no entries"),
        (b"\xff\xfe[\x00]\x00", "the file is not UTF-8 (line 1)"),
        (lines(BOT).encode() + b'\n{"type": "\xe9"}', "the file is not UTF-8 (line 2)"),
        (b'{"bots": [\n\n"\xe9"]}', "the file is not UTF-8 (line 3)"),
        (b"[\n", "the file is not JSON: "),
        (json.dumps([BOT], indent=2).encode()[:100], "the file is not JSON: "),
        (json.dumps([BOT]).encode()[:-1], "the file is not JSON: "),
        (json.dumps({"bots": [BOT]}).encode()[:-1], "the file is not JSON: "),
        (json.dumps([BOT]).encode() + b"\n[]", "the file is not JSON: Extra data (line 2, column 1)"),
        (b'{"bots": [],}', "the file is not JSON: "),
        (b'{"bots": {}}', 'the file has "bots", which must be a list'),
        (b'{"bots": [],\n"people": []}', 'the file has "people", which is not a list of the catalog'),
        (b'{"bots": [],\n"bots": []}', 'the file has the key "bots" twice'),
        (b"[" * 100_000, "the file is nested too deeply"),
        (b"[1" + b"0" * 5_000 + b"]", "the file has a number with too many digits"),
    ],
)
def test_a_file_that_cannot_be_read_gives_one_clear_error(text: bytes, error: str) -> None:
    found = errors(text)
    assert len(found) == 1
    assert found[0].startswith(error)


def test_a_file_that_is_too_large_is_refused() -> None:
    assert errors(lines(BOT), max_bytes=100) == ["the file is larger than 9.53674e-05 MiB"]


# Lines that are refused.


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", "line 2: is not JSON: Expecting property name enclosed in double quotes (column 2)"),
        (bot_line()[:-1], "line 2: is not JSON: "),
        (bot_line() + bot_line(), "line 2: is not JSON: Extra data"),
        (bot_line()[:-1] + ', "who": "B"}', 'line 2: has the key "who" twice'),
        (bot_line()[:-1] + ', "x": {"y": 1, "y": 2}}', 'line 2: has the key "y" twice'),
        (bot_line(addedAt=float("nan")), "line 2: has NaN, which is not JSON"),
        (bot_line(addedAt=float("inf")), "line 2: has Infinity, which is not JSON"),
        ("[]", "line 2: is not an object"),
        ("null", "line 2: is not an object"),
        ("{}", 'line 2: has no "type" of "usecase" or "bot"'),
        (bot_line(type="person"), 'line 2 (a-bot): has no "type" of "usecase" or "bot"'),
        (bot_line(type=["bot"]), 'line 2 (a-bot): has no "type" of "usecase" or "bot"'),
        (bot_line(extra=1), "line 2 (a-bot): extra: is not a known property"),
        (bot_line(addedAt="1000"), "line 2 (a-bot): addedAt: must be a whole number"),
        (bot_line(addedAt=1000.5), "line 2 (a-bot): addedAt: must be a whole number"),
        (bot_line(addedAt=True), "line 2 (a-bot): addedAt: must be a whole number"),
        (bot_line(addedAt=-1), "line 2 (a-bot): addedAt: must be at least 0"),
        (bot_line(addedAt=2**53 + 1), "line 2 (a-bot): addedAt: must be at most 9007199254740992"),
        (bot_line(name=None), "line 2 (a-bot): name: must be a string"),
        (bot_line(name=""), "line 2 (a-bot): name: must have at least 1 character"),
        (bot_line(name=" \u00a0"), "line 2 (a-bot): name: must not be blank"),
        (bot_line(name="a\nb"), "line 2 (a-bot): name: must be on one line"),
        (bot_line(name="a\0b"), "line 2 (a-bot): name: must not contain control characters"),
        (bot_line(name="\ud800"), "line 2 (a-bot): name: must be valid Unicode text"),
        (bot_line(name="x" * 201), "line 2 (a-bot): name: must have at most 200 characters"),
        (bot_line(slug="A"), "line 2 (A): slug: is not in the required format"),
        (bot_line(slug="a--b"), "line 2 (a--b): slug: is not in the required format"),
        (bot_line(slug="a-"), "line 2 (a-): slug: is not in the required format"),
        (bot_line(slug="a\n"), "line 2 (a?): slug: is not in the required format"),
        (bot_line(slug="a" * 101), f"line 2 ({'a' * 100}): slug: must have at most 100 characters"),
        (bot_line(templateUrl="ftp://example.com"), "line 2 (a-bot): templateUrl: must begin with http:// or https://"),
        (bot_line(templateUrl="javascript:alert(1)"), "line 2 (a-bot): templateUrl: must begin with"),
        (bot_line(templateUrl="//example.com"), "line 2 (a-bot): templateUrl: must begin with"),
        (bot_line(templateUrl="https:///x"), "line 2 (a-bot): templateUrl: must have a host name"),
        (bot_line(templateUrl="https://[::1"), "line 2 (a-bot): templateUrl: must have a "),
        (bot_line(templateUrl="https://example.com:99999"), "line 2 (a-bot): templateUrl: must have a "),
        (bot_line(templateUrl="https://a:b@example.com"), "line 2 (a-bot): templateUrl: must not contain credentials"),
        (bot_line(templateUrl="https://@example.com"), "line 2 (a-bot): templateUrl: must not contain credentials"),
        (bot_line(templateUrl="https://example.com\\@x"), "line 2 (a-bot): templateUrl: "),
        (
            bot_line(templateUrl="https://example.com/\n"),
            "line 2 (a-bot): templateUrl: must not contain spaces or control",
        ),
        (
            bot_line(templateUrl="https://e.com/" + "x" * 1_490),
            "line 2 (a-bot): templateUrl: must have at most",
        ),
        ("[" * 100_000, "line 2: is nested too deeply"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(line: str, error: str) -> None:
    good = json.dumps(BOT | {"slug": "good"})
    found = parsed(f"{good}\n{line}\n{good}")
    assert len(found.errors) == 2
    assert found.errors[0].startswith(error)
    assert found.errors[1] == "line 3 (good): has the same slug as line 1"


@pytest.mark.parametrize(
    ("guide", "error"),
    [
        ({"botSlugs": ["A"]}, "guide.botSlugs.0: is not in the required format"),
        ({"steps": ["x", ""]}, "guide.steps.1: must have at least 1 character"),
        ({"steps": "x"}, "guide.steps: must be a list"),
        ({"steps": ["x"] * 51}, "guide.steps: must have at most 50 items"),
        ({"value": {"amount": "$1", "label": "x", "basis": "y", "kind": "sure"}}, "guide.value.kind: must be"),
        ({"value": {"amount": "$1", "label": "x", "kind": "reported"}}, "guide.value.basis: is required"),
        ({"steps": ["ü" * 1_000] * 40}, "is larger than 64 KiB"),
    ],
)
def test_a_bad_guide_is_named_by_its_path(guide: dict[str, Any], error: str) -> None:
    found = errors(lines(USECASE | {"guide": guide_fields(**guide)}))
    assert len(found) == 1
    assert found[0].startswith(f"line 1 (a-case): {error}")


def test_a_document_names_list_and_index() -> None:
    found = errors(json.dumps({"usecases": [USECASE, USECASE], "bots": [BOT, {"slug": 1}, BOT, USECASE]}))
    assert found[0] == "usecases[1] (a-case): has the same slug as usecases[0]"
    assert found[1].startswith("bots[1]: slug: must be a string")
    assert found[-2] == "bots[2] (a-bot): has the same slug as bots[0]"
    assert found[-1] == 'bots[3] (a-case): is a "usecase" in the list "bots"'


def test_an_array_names_the_index() -> None:
    twice = bot_line()[:-1] + ', "who": "B"}'
    assert errors(f"[{bot_line()},\n{bot_line()}, 7, NaN, {twice}]") == [
        "[1] (a-bot): has the same slug as [0]",
        "[2]: is not an object",
        "[3]: has NaN, which is not JSON",
        '[4]: has the key "who" twice',
    ]


def test_a_use_case_and_a_bot_may_share_a_slug() -> None:
    assert errors(lines(BOT, USECASE | {"slug": "a-bot"})) == []


def test_fifty_errors_are_listed_and_the_rest_is_counted() -> None:
    found = errors("7\n" * 61)
    assert len(found) == 51
    assert found[0] == "line 1: is not an object"
    assert found[-1] == "and 11 more"


def test_errors_are_short_and_printable() -> None:
    [error] = errors(bot_line(**{"\x1b[31m" + "x" * 10_000: 1}))
    assert error.isprintable()
    assert len(error) <= 300


@given(st.binary(max_size=200) | st.text(alphabet='{}[]":,\\ \nnul1eE.-abots', max_size=60).map(str.encode))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    found = parsed(data)
    assert found.errors or any(found.entries.values())


@given(st.integers(0, 2_000))
def test_a_truncated_file_is_always_refused(end: int) -> None:
    whole = json.dumps({"usecases": [USECASE], "bots": [BOT]}, indent=1)
    if end < len(whole):
        assert errors(whole[:end])
