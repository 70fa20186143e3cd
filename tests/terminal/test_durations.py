"""Durations in words."""

import pytest

from service.terminal.output import DAY, HOUR, MINUTE, duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "less than a minute"),
        (0, "less than a minute"),
        (59, "less than a minute"),
        (60, "1 minute"),
        (119, "1 minute"),
        (22 * MINUTE + 59, "22 minutes"),
        (HOUR - 1, "59 minutes"),
        (HOUR, "1 h"),
        (5 * HOUR + 12 * MINUTE, "5 h 12 min"),
        (2 * DAY - 1, "47 h 59 min"),
        (2 * DAY, "2 days"),
        (7 * DAY - 1, "6 days 23 h"),
        (10_077 * MINUTE + 20, "6 days 23 h"),
    ],
)
def test_a_duration_is_written_in_fitting_units(seconds: int, words: str) -> None:
    assert duration(seconds) == words
