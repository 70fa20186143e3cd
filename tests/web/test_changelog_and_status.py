"""The pages about the service itself: the changes of its API, and its readiness in the last day."""

import re

import pytest

from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from service.api.operations import OPERATIONS
from service.api.operations.node_status import unready_spans
from service.observability.health import readiness_of
from service.schemas.internal import UnreadySpan
from service.web.pages.public.changelog import FILE, Day, days_of
from tests.api.world import World, away
from tests.architecture import ROOT
from tests.web.visitors import Visitor

CALL = re.compile(r"`(GET|POST|PUT|PATCH|DELETE) (/[^`]*)`")
RELEASE = re.compile(r"^## [\d.]+ \((\d{4}-\d\d-\d\d)\)$", re.MULTILINE)


def test_a_file_of_changes_is_read_by_day_with_what_may_break_a_program_first() -> None:
    text = "# Changes\n\nFor readers.\n\n## 1970-01-03\n\n- One `a`.\n- Breaking: Two.\n\n## 1970-01-02\n\n- Three.\n"
    assert days_of(text) == [Day(2 * DAY_MS, ["Two."], ["One `a`."]), Day(DAY_MS, [], ["Three."])]


@pytest.mark.parametrize(
    "day", ["soon\n\n- One.", "1970-01-02\n\nOne.", "1970-01-02\n\n- One,\n  and more.", "1970-01-02"]
)
def test_a_file_of_changes_that_cannot_be_shown_is_refused(day: str) -> None:
    with pytest.raises(ValueError, match=r"1970|soon"):
        days_of(f"# Changes\n\n## {day}\n")


def test_the_changes_are_in_order_name_operations_that_exist_and_have_each_release() -> None:
    text = FILE.read_text(encoding="utf-8")
    days = [day.start_ms for day in days_of(text)]
    assert days == sorted(set(days), reverse=True)
    paths = {(each.method, each.path) for each in OPERATIONS} | {("POST", "/mcp")}
    assert [call for call in CALL.findall(text) if call not in paths] == []
    released = RELEASE.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert {f"## {day}" for day in released} <= set(text.splitlines())


async def test_the_page_of_changes_shows_each_of_them(world: World) -> None:
    shown = (await Visitor(world).look("/changelog")).text
    text = FILE.read_text(encoding="utf-8").partition("## ")[2]
    for line in re.findall(r"^- (?:Breaking: )?(.{20})", text.replace("`", ""), re.MULTILINE):
        assert line in re.sub(r"\s+([.,;])", r"\1", shown.replace("\u200b", "")), line


def test_minutes_in_a_row_without_a_ready_one_are_a_span() -> None:
    minutes = [(1, False), (2, True), (3, False), (5, False), (6, True), (9, False)]
    spans = [(1, 2), (3, 6), (9, 10)]
    assert unready_spans(minutes) == [UnreadySpan(fromMs=a * MINUTE_MS, untilMs=b * MINUTE_MS) for a, b in spans]


async def test_the_status_says_when_the_node_was_not_ready(world: World) -> None:
    health, before = world.services.health, world.memory.before
    await readiness_of(health)
    world.clock.at_ms += 2 * HOUR_MS
    world.memory.before = away
    await world.pass_seconds(1)
    await readiness_of(health)
    broken = await Visitor(world).look("/status")
    assert "The service does not work as it should." in broken.text
    world.memory.before = before
    world.clock.at_ms += 3 * MINUTE_MS
    await world.pass_seconds(1)
    page = await Visitor(world).look("/status")
    assert "The service works." in page.text
    assert "Not ready for 1 minute from today, 14:00" in page.text
    tones = [bar["class"] for bar in page.all("rect")]
    assert (len(tones), tones[-3:], set(tones[:-3])) == (24, ["good", "rest", "bad"], {"rest"})
