"""Days, months, and clocks that follow Trio's."""

from datetime import UTC, datetime

import pytest
import trio

from actors.clock import DAY_MS, SystemClock, SystemEntropy, day_of, month_of
from tests.fakes import TrioClock, utc_ms


def test_a_day_turns_at_midnight_utc() -> None:
    midnight = utc_ms(2026, 11, 16)
    assert day_of(midnight - 1) + 1 == day_of(midnight) == day_of(midnight + DAY_MS - 1)


@pytest.mark.parametrize(
    ("moment", "month"),
    [
        (utc_ms(2026, 11, 1), 2026 * 12 + 10),
        (utc_ms(2026, 11, 1) - 1, 2026 * 12 + 9),
        (utc_ms(2027, 1, 1) - 1, 2026 * 12 + 11),
        (utc_ms(2027, 1, 1), 2027 * 12),
        (utc_ms(2028, 2, 29, 23, 59, 59), 2028 * 12 + 1),
    ],
)
def test_a_month_is_counted_from_year_zero(moment: int, month: int) -> None:
    assert month_of(moment) == month


async def test_the_trio_clock_follows_virtual_time_and_may_be_skewed() -> None:
    true, skewed = TrioClock(1_000_000), TrioClock(1_000_000, skew_ms=-250)
    await trio.sleep(1.5)
    assert (true.now_ms(), skewed.now_ms()) == (1_001_500, 1_001_250)


def test_the_system_clock_tells_utc_milliseconds() -> None:
    before = datetime.now(UTC).timestamp() * 1_000
    now = SystemClock().now_ms()
    assert isinstance(now, int)
    assert before - 1 <= now <= datetime.now(UTC).timestamp() * 1_000 + 1


def test_entropy_is_as_long_as_asked_and_never_the_same() -> None:
    tokens = {SystemEntropy().token(32) for _ in range(10)}
    assert len(tokens) == 10
    assert {len(token) for token in tokens} == {32}
    assert len(SystemEntropy().token(48)) == 48
