"""The slot commands: parsing of options, error messages, and the table. No storage is opened."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from actors.bookings.records import PackageKind, Side, Slot
from service.cli.command import CommandError, Commands, Parser
from service.cli.main import main
from service.cli.slots import checked, lines, moment, state_of
from service.schemas.slots import SlotCreate, SlotEdit
from tests.fakes import HandClock

NOW = 1_795_000_000_000
LATER = "2027-03-01T12:30:00Z"
LATER_MS = 1_803_904_200_000
SLOT = Slot("left-top", "Top", Side.LEFT, 9_900, NOW)


@pytest.fixture
def parsed() -> Callable[..., dict[str, Any]]:
    """Parses a command line into the arguments of its command."""
    parser = Parser()
    commands = Commands(parser, Parser(add_help=False))
    for name in ("list-slots", "create-slot", "edit-slot", "retire-slot"):
        commands.add(name)

    def parse(*arguments: str) -> dict[str, Any]:
        options = parser.parse_args(arguments)
        return {name: getattr(options, name) for name in options.arguments}

    return parse


def test_options_become_fields(parsed: Callable[..., dict[str, Any]]) -> None:
    given = ("create-slot", "--name", "Top", "--side", "left", "--week-price-cents", "9900")
    assert parsed(*given) == {"fields": {"name": "Top", "side": "left", "weekPriceCents": 9_900}}
    more = ("--id", "left-top", "--weeks", "4", "--package", "bundle", "--description", "A card.", "--coming-soon")
    fields = parsed(*given, *more, "--inactive", "--offer-ends", LATER)["fields"]
    assert checked(SlotCreate, fields, HandClock(NOW)) == SlotCreate(
        id="left-top",
        name="Top",
        side="left",
        weekPriceCents=9_900,
        active=False,
        durationWeeks=4,
        comingSoon=True,
        offerEndsAt=LATER_MS,
        packageKind="bundle",
        description="A card.",
    )


def test_an_edit_names_the_slot_and_only_what_changes(parsed: Callable[..., dict[str, Any]]) -> None:
    assert parsed("edit-slot", "left-top") == {"slot_id": "left-top", "fields": {}}
    flags = ("--active", "--no-coming-soon", "--no-offer-end", "--no-package", "--no-description", "--weeks", "2")
    read = parsed("edit-slot", "left-top", *flags)
    assert checked(SlotEdit, read["fields"], HandClock(NOW)).arguments() == {
        "active": True,
        "coming_soon": False,
        "weeks": 2,
        "clear": ("offer_ends_ms", "package_kind", "description"),
    }
    assert parsed("edit-slot", "x", "--inactive", "--active")["fields"] == {"active": True}, "the last one counts"
    assert parsed("edit-slot", "x", "--coming-soon")["fields"] == {"comingSoon": True}
    assert parsed("retire-slot", "x") == {"slot_id": "x"}
    assert parsed("list-slots") == {}


def test_options_of_one_command_line_do_not_reach_the_next(parsed: Callable[..., dict[str, Any]]) -> None:
    parsed("edit-slot", "x", "--name", "Old")
    assert parsed("edit-slot", "x")["fields"] == {}


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        (LATER, LATER_MS),
        ("2027-03-01T12:30", LATER_MS),
        ("2027-03-01 13:30+01:00", LATER_MS),
        ("2027-03-01", LATER_MS - 12 * 3_600_000 - 30 * 60_000),
        ("2027-03-01T12:30:00.123456Z", LATER_MS + 123),
    ],
)
def test_times_are_utc_unless_they_have_an_offset(text: str, at_ms: int) -> None:
    assert moment(text) == at_ms


@pytest.mark.parametrize("text", ["", "tomorrow", "1803904200000", "2027-13-01", "2027-03-01T25:00Z"])
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="ISO 8601"):
        moment(text)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"name": ""}, "--name: "),
        ({"side": "top"}, "--side: "),
        ({"weekPriceCents": 49}, "--week-price-cents: "),
        ({"durationWeeks": 53}, "--weeks: "),
        ({"packageKind": "radio"}, "--package: "),
        ({"description": "d" * 301}, "--description: "),
        ({"offerEndsAt": NOW}, "--offer-ends: must be in the future"),
        ({"id": "Not This"}, "--id: "),
    ],
)
def test_an_error_names_the_option(fields: dict[str, Any], complaint: str) -> None:
    least = {"name": "Top", "side": "left", "weekPriceCents": 50}
    with pytest.raises(CommandError, match=f"^{complaint}"):
        checked(SlotCreate, {**least, **fields}, HandClock(NOW))
    if "id" not in fields:
        with pytest.raises(CommandError, match=f"^{complaint}"):
            checked(SlotEdit, fields, HandClock(NOW))


@pytest.mark.usefixtures("own_logging")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["create-slot", "--name", "Top", "--side", "left"], "--week-price-cents"),
        (["create-slot", "--name", "T", "--side", "left", "--week-price-cents", "ten"], "--week-price-cents"),
        (["create-slot", "--name", "T", "--side", "mid", "--week-price-cents", "50"], "--side"),
        (["edit-slot", "x", "--offer-ends", "soon"], "ISO 8601"),
        (["edit-slot", "x", "--offer-ends", "2001-01-01"], "must be in the future"),
        (["edit-slot", "x"], "nothing to change"),
        (["retire-slot"], "ID"),
    ],
)
def test_mistakes_are_found_before_anything_is_opened(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main([*arguments, "--data-dir", str(tmp_path / "none")])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert complaint in printed.err
    assert printed.err.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_the_state_says_whether_a_slot_is_sold() -> None:
    assert state_of(SLOT, NOW) == "on sale"
    assert state_of(replace(SLOT, offer_ends_ms=LATER_MS), NOW) == "on sale until 2027-03-01 12:30 UTC"
    assert state_of(replace(SLOT, offer_ends_ms=2**53), NOW) == "on sale until after the year 9999"
    assert state_of(replace(SLOT, offer_ends_ms=NOW), NOW) == "offer ended"
    assert state_of(replace(SLOT, coming_soon=True), NOW) == "coming soon"
    assert state_of(replace(SLOT, active=False, coming_soon=True), NOW) == "inactive"
    assert state_of(replace(SLOT, active=False, retired_ms=NOW), NOW) == "retired"


def test_the_table_lines_up() -> None:
    other = Slot("video", "Video feature", Side.RIGHT, 125, NOW, weeks=13, package_kind=PackageKind.YOUTUBE, demo=True)
    assert lines([SLOT, other], NOW) == [
        "ID        NAME           SIDE   CENTS A WEEK  WEEKS  PACKAGE  STATE",
        "left-top  Top            left           9900      1  -        on sale",
        "video     Video feature  right           125     13  youtube  on sale, demo",
    ]
    assert lines([], NOW) == ["ID  NAME  SIDE  CENTS A WEEK  WEEKS  PACKAGE  STATE"]
