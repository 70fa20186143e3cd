"""The watch of the servers that hold events, and what an operator reads of them."""

from collections.abc import Sequence

import pytest
import trio

from actors.events.servers import ServerReport, ServerWatch
from actors.kernel.supervision import running
from actors.values import StorageUnavailable

WELL = ServerReport(1, "worker one:5432", 128)
AWAY = ServerReport(1, "worker one:5432", 128, error="connection refused")


async def test_the_reports_are_renewed_every_five_seconds() -> None:
    answers = iter([[WELL], [AWAY], [WELL]])

    async def ask() -> Sequence[ServerReport]:
        return next(answers)

    watch, seen = ServerWatch(ask), []
    async with running([watch]):
        for _ in range(3):
            await trio.sleep(2.5)
            seen.append(watch.reports)
            await trio.sleep(2.5)
            answers = answers if len(seen) < 2 else iter([[WELL]] * 9)
    assert seen == [[WELL], [AWAY], [WELL]]


async def test_reports_stay_while_none_can_be_asked() -> None:
    asked = 0

    async def ask() -> Sequence[ServerReport]:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise StorageUnavailable("away")
        return [WELL]

    watch = ServerWatch(ask)
    async with running([watch]):
        await trio.sleep(21)
    assert asked == 5
    assert watch.reports == [WELL]


@pytest.mark.parametrize(
    ("report", "problems"),
    [
        (WELL, []),
        (
            AWAY,
            [
                "worker one:5432 cannot be used, so the events of its 128 places get 503: connection refused",
            ],
        ),
        (
            ServerReport(1, "w", 1, unsafe=["fsync=off"], lacks="record_events", prepared_seconds=301),
            [
                "w has fsync=off: a confirmed event can be lost in a crash",
                "w does not let the role call record_events: synchronize its metadata and its rights",
                "w has a transaction that was prepared 301 s ago: "
                "call recover_prepared_transactions() on the coordinator",
            ],
        ),
        (ServerReport(1, "w", 1, prepared_seconds=299), []),
    ],
)
def test_each_problem_is_one_line_that_says_what_to_mend(report: ServerReport, problems: list[str]) -> None:
    assert report.problems() == problems
