"""Readiness of a node whose database is distributed: it records events without the coordinator."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import count

import pytest
import trio
from trio.testing import MockClock

from actors.clock import DAY_MS, MINUTE_MS
from actors.events.servers import ServerReport, ServerWatch
from actors.kernel.statistics import ActorStatistics, State
from actors.values import StorageUnavailable, WritesRefused
from service.observability.health import (
    COORDINATOR_SECONDS,
    ONLY_EVENTS,
    Health,
    Readiness,
    ReadinessHistory,
    ReadinessWatch,
    readiness_of,
)
from tests.fakes import HandClock

TODAY = 20_775
WELL = ServerReport(1, "worker one:5432", 128, since=TODAY)
AWAY = ServerReport(2, "worker two:5432", 128, error="connection refused")
RUNNING = ActorStatistics("quota", State.RUNNING, True, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0.0, 0)
ACTORS = (RUNNING, replace(RUNNING, name="events"), replace(RUNNING, name="events-1"))


async def away() -> None:
    raise StorageUnavailable("connection refused")


async def refuses() -> None:
    raise WritesRefused("its disk is full")


async def answers() -> None:
    await trio.lowlevel.checkpoint()


def health(
    reports: Sequence[ServerReport], full: Sequence[str] = (), state: State = State.RUNNING, age: float | None = 1.0
) -> Health:
    """A node without its coordinator. The actors named `full` accept no messages."""
    watch = ServerWatch(None)
    watch.reports = reports
    actors = [replace(each, accepting=False, state=state) if each.name in full else each for each in ACTORS]
    return Health(
        ping=away,
        actors=lambda: actors,
        write_age_seconds=lambda: age,
        write_seconds=10.0,
        event_servers=watch,
        dedupers=lambda: ("events", "events-1"),
        clock=HandClock(TODAY * DAY_MS),
    )


@pytest.mark.parametrize(
    ("node", "ready"),
    [
        (health([AWAY, WELL]), True),
        (health([WELL, AWAY], full=["quota"]), True),
        (health([WELL, AWAY], full=["events-1"]), True),
        (health([]), False),
        (health([AWAY]), False),
        (health([replace(WELL, lacks="record_events")]), False),
        (health([replace(WELL, since=TODAY + 1)]), False),
        (health([WELL], age=None), False),
        (health([WELL], full=["events", "events-1"]), False),
        (health([WELL], full=["quota"], state=State.FAILED), False),
        (health([WELL], full=["events-1"], state=State.FAILED), False),
    ],
)
async def test_without_its_coordinator_a_node_is_ready_while_it_can_record_events(node: Health, ready: bool) -> None:
    told = await readiness_of(node)
    assert told.ready is ready
    assert any("the database is not available" in problem for problem in told.problems)


@pytest.mark.parametrize(
    ("ping", "problem"),
    [
        (away, "the database is not available"),
        (refuses, "the database accepts no writes: its disk is full"),
        (trio.sleep_forever, f"the database did not answer within {COORDINATOR_SECONDS:g} s"),
    ],
)
async def test_a_node_says_why_it_cannot_use_its_coordinator(
    ping: Callable[[], Awaitable[None]], problem: str, autojump_clock: MockClock
) -> None:
    node = health([WELL])
    node.ping = ping
    assert await readiness_of(node) == Readiness(True, [ONLY_EVENTS.format(problem)])


async def test_a_node_that_cannot_write_to_its_coordinator_is_ready_for_events() -> None:
    node = health([WELL], age=11.0)
    node.ping = answers
    problem = "the node has not been able to write to the database for 10 s"
    assert await readiness_of(node) == Readiness(True, [ONLY_EVENTS.format(problem)])


async def test_a_full_mailbox_for_one_worker_leaves_the_node_ready() -> None:
    node = health([WELL], full=["events-1"])
    node.ping = answers
    assert await readiness_of(node) == Readiness(True, ["the actor events-1 is running with 0 messages waiting"])
    both = health([WELL], full=["events", "events-1"])
    both.ping = answers
    assert not (await readiness_of(both)).ready


async def test_a_node_that_is_stopping_is_not_ready_for_events_either() -> None:
    node = health([WELL])
    node.stopping = True
    assert not (await readiness_of(node)).ready


async def test_workers_are_asked_at_once_when_the_coordinator_is_away(autojump_clock: MockClock) -> None:
    asked: list[float] = []

    async def ask() -> Sequence[ServerReport]:
        asked.append(trio.current_time())
        return [AWAY] if len(asked) > 1 else [WELL]

    node = health([])
    node.event_servers = watch = ServerWatch(ask)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch.run)
        await trio.sleep(1)
        assert (await readiness_of(node)).ready
        await trio.sleep(0.5)
        assert not (await readiness_of(node)).ready
        nursery.cancel_scope.cancel()
    assert asked[1] - asked[0] == 1.0


def test_a_minute_is_ready_if_all_its_checks_were_and_a_day_is_kept() -> None:
    clock = HandClock(TODAY * DAY_MS)
    history = ReadinessHistory(clock)
    first = clock.at_ms // MINUTE_MS
    for ready in (True, False, True):
        history.record(ready=ready)
        clock.at_ms += 10_000
    assert history.minutes() == [(first, False)]
    clock.at_ms += MINUTE_MS
    history.record(ready=True)
    clock.at_ms -= MINUTE_MS
    history.record(ready=True)
    assert history.minutes() == [(first, False), (first + 1, True)], "the clock went back"
    for _ in range(2 * 24 * 60):
        clock.at_ms += MINUTE_MS
        history.record(ready=True)
    assert len(history.minutes()) == 24 * 60
    clock.at_ms += DAY_MS - MINUTE_MS
    assert len(history.minutes()) == 1


async def test_a_node_that_stops_does_not_count_as_one_that_failed() -> None:
    node = health([WELL])
    node.stopping = True
    assert not (await readiness_of(node)).ready
    assert node.history.minutes() == []


async def test_a_node_checks_itself_where_nothing_asks(autojump_clock: MockClock) -> None:
    node, samples = health([AWAY, WELL]), count()
    watch = ReadinessWatch(node, lambda: next(samples))
    async with trio.open_nursery() as nursery:
        await nursery.start(watch.run)
        await trio.sleep(5)
        watch.close()
    assert [ready for _, ready in node.history.minutes()] == [True]
    assert next(samples) == 1
