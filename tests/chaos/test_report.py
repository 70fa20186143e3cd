"""The report shows what was planned and injected, what was answered, and each broken promise."""

from pathlib import Path

from tests.chaos.campaign import Report
from tests.chaos.clock import Steps
from tests.chaos.report import lines, table
from tests.chaos.test_judge import Story, good, stranger_booking


def test_columns_stand_below_one_another() -> None:
    assert list(table(("what", "times"), [("a cut", 1), ("a kill", 200)])) == [
        "  what    times",
        "  a cut       1",
        "  a kill    200",
        "",
    ]


def reported(story: Story) -> list[str]:
    """Return the lines of a report, with single spaces."""
    report = Report([], story.answers, story.happened, story.after, story.verdict())
    return [" ".join(line.split()) for line in lines(report)]


def test_a_report_tells_of_faults_answers_and_what_is_kept() -> None:
    lines = reported(good())
    assert "a kill 2 2 1 2.90" in lines
    assert "website: report 3 1 1" in lines
    assert "changes / mails 2 / 3" in lines
    assert "promises broken 0" in lines
    assert not [line for line in lines if "BROKEN" in line]


def test_a_report_names_what_was_broken() -> None:
    story = good()
    stranger_booking(story)
    assert "BROKEN: bok_9 is stored under a key that was never sent" in reported(story)


def test_a_clock_that_is_stepped_is_stepped_for_whoever_maps_its_file(tmp_path: Path) -> None:
    ours = Steps.make(tmp_path / "clock")
    theirs = Steps(tmp_path / "clock")
    assert theirs.ahead_ms == 0
    for ahead_ms in (600_000, -90_000, 0):
        ours.ahead_ms = ahead_ms
        assert theirs.ahead_ms == ahead_ms
