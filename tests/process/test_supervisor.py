"""Rules of the supervisor: the order of starts, restarts after deaths, replacements, and the shutdown."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio

from service.observability.health import REPORT_SECONDS
from service.process.supervisor import Deaths, SupervisionLimits, Supervisor, TooManyRestarts, WorkerFailed, supervised
from tests.process.fake_workers import FakeLauncher, Plan

LIMITS = SupervisionLimits(end_seconds=10.0, starts_at_once=2)


@asynccontextmanager
async def launcher_of(plan: Callable[[str], Plan] = lambda name: Plan()) -> AsyncIterator[FakeLauncher]:
    async with trio.open_nursery() as nursery:
        yield FakeLauncher(nursery, plan)
        nursery.cancel_scope.cancel()


# Starts.


async def test_the_block_begins_when_all_are_ready_and_so_many_start_at_once() -> None:
    async with launcher_of() as launcher:
        began = trio.current_time()
        async with supervised(launcher, 5, LIMITS):
            assert trio.current_time() - began == 3
            assert [at - began for at, _ in launcher.when("launched")] == [0, 0, 1, 1, 2]
            assert len(launcher.alive) == 5


async def test_a_worker_that_does_not_start_at_first_ends_all() -> None:
    plans = {"3a": Plan(1.5, failure="no database"), "4a": Plan(2)}
    async with launcher_of(lambda name: plans.get(name, Plan())) as launcher:
        with pytest.RaisesGroup(pytest.RaisesExc(WorkerFailed, match="no database"), flatten_subgroups=True):
            async with supervised(launcher, 4, replace(LIMITS, starts_at_once=4)):
                raise AssertionError("it began")
        assert launcher.alive == []
        assert {whom for _, whom in launcher.when("stopped")} == {"1a", "2a"}
        assert {whom for _, whom in launcher.when("killed")} == {"3a", "4a"}, "who serves nobody is not waited for"


async def test_a_worker_that_says_nothing_is_given_up_at_the_bound() -> None:
    async with launcher_of(lambda name: Plan(start_seconds=1_000)) as launcher:
        began = trio.current_time()
        with pytest.RaisesGroup(pytest.RaisesExc(WorkerFailed, match=r"worker 1 was not ready within 60 s")):
            async with supervised(launcher, 1, LIMITS):
                raise AssertionError("it began")
        assert trio.current_time() - began == LIMITS.start_seconds
        assert launcher.alive == []


# Deaths.


async def test_in_the_place_of_a_dead_worker_another_is_started_at_once() -> None:
    async with launcher_of() as launcher, supervised(launcher, 3, LIMITS):
        launcher.workers["2a"].kill()
        died = trio.current_time()
        await trio.sleep(5)
        assert launcher.alive == ["1a", "2b", "3a"]
        assert launcher.when("launched")[-1] == (died, "2b")
        assert launcher.when("queue given up") == [(died, "2")], "others answer until it is back"


async def test_where_nobody_else_serves_who_connects_waits_for_the_next_worker() -> None:
    async with launcher_of() as launcher, supervised(launcher, 3, LIMITS):
        for name in ("1a", "2a", "3a"):
            launcher.workers[name].kill()
        await trio.sleep(5)
        assert launcher.alive == ["1b", "2b", "3b"]
        assert len(launcher.when("queue given up")) == 2, "the queue of the last one is kept"


def test_pauses_grow_with_each_death_of_the_last_minute_until_one_is_too_many() -> None:
    deaths = Deaths(LIMITS)
    assert [deaths.pause_after(now) for now in (100, 101, 102, 103, 104, 105)] == [0, 0.25, 0.5, 1, 2, None]


def test_deaths_that_are_older_than_the_window_do_not_count() -> None:
    deaths = Deaths(LIMITS)
    assert {deaths.pause_after(now) for now in range(0, 6_000, 61)} == {0}
    assert deaths.pause_after(6_000) == 0.25


async def test_a_worker_that_dies_again_and_again_ends_all_in_order() -> None:
    async with launcher_of(lambda name: Plan(life_seconds=1) if name[0] == "2" else Plan()) as launcher:
        with pytest.RaisesGroup(
            pytest.RaisesExc(TooManyRestarts, match="it died more than 5 times"), flatten_subgroups=True
        ):
            async with supervised(launcher, 2, LIMITS):
                await trio.sleep_forever()
        assert len(launcher.when("launched")) == 1 + 1 + LIMITS.restarts
        assert [whom for _, whom in launcher.when("stopped")] == ["1a"]
        assert launcher.alive == []


async def test_workers_that_die_one_after_the_other_do_not_count_together() -> None:
    async with launcher_of() as launcher, supervised(launcher, 6, LIMITS):
        for number in range(1, 7):
            launcher.workers[f"{number}a"].kill()
            await trio.sleep(2)
        assert launcher.alive == [f"{number}b" for number in range(1, 7)]


async def test_a_worker_that_cannot_start_in_a_long_outage_is_tried_until_it_is_over_and_the_others_stay() -> None:
    outage_seconds, patience_seconds = 3_600, 20

    def plan(name: str) -> Plan:
        if name.endswith("a") or trio.current_time() > outage_seconds:
            return Plan()
        return Plan(patience_seconds, failure="the database cannot be used")

    async with launcher_of(plan) as launcher, supervised(launcher, 2, LIMITS):
        launcher.workers["1a"].kill()
        await trio.sleep_until(outage_seconds - 1)
        assert len(launcher.when("launched")) > 100
        assert launcher.alive[-1] == "2a"
        await trio.sleep(60)
        assert launcher.when("ready")[-1][0] > outage_seconds
        assert not launcher.when("stopped")


async def test_a_worker_that_is_refused_again_and_again_is_tried_ever_more_seldom_and_ends_no_other() -> None:
    refused_seconds = 600

    def plan(name: str) -> Plan:
        if name == "1a":
            return Plan(life_seconds=10)
        is_refused = name[0] == "1" and trio.current_time() < refused_seconds
        return Plan(start_seconds=0.1, failure="no key" if is_refused else "", refused=True)

    async with launcher_of(plan) as launcher, supervised(launcher, 2, LIMITS):
        await trio.sleep_until(refused_seconds - 1)
        assert launcher.alive == ["2a"]
        assert 10 < len(launcher.when("launched")) < 25
        await trio.sleep(LIMITS.longest_refusal_pause_seconds + 2)
        assert len(launcher.alive) == 2
        assert not launcher.when("stopped")


async def test_a_new_configuration_may_give_workers_more_time_to_exit(caplog: pytest.LogCaptureFixture) -> None:
    async with launcher_of(lambda name: Plan(end_seconds=30)) as launcher:
        async with supervised(launcher, 2, LIMITS) as supervisor:
            supervisor.allow(replace(LIMITS, end_seconds=40))
            supervisor.allow(LIMITS)
        assert not launcher.when("killed")
    assert not caplog.records


async def test_a_worker_that_dies_while_it_stops_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with launcher_of(lambda name: Plan(how="was killed by SIGKILL")) as launcher, supervised(launcher, 1, LIMITS):
        pass
    assert caplog.messages == ["a stopping worker was killed by SIGKILL"]


# Replacement.


async def test_workers_are_replaced_one_by_one_and_none_stops_before_its_successor_is_ready() -> None:
    async with launcher_of() as launcher, supervised(launcher, 3, LIMITS) as supervisor:
        began = len(launcher.notes)
        await supervisor.replace_all()
        order = [(what, whom) for _, what, whom in launcher.notes[began:] if what not in ("gone", "retired")]
        await trio.sleep(5)
        assert launcher.alive == ["1b", "2b", "3b"]
        assert [each for each in order if each[0] != "stopped"] == [
            (what, f"{number}b") for number in (1, 2, 3) for what in ("launched", "ready")
        ]
        for number in (1, 2):
            assert order.index(("stopped", f"{number}a")) > order.index(("ready", f"{number}b"))
        assert not launcher.when("killed")
        assert not launcher.when("queue given up"), "the successor has the same queue"
    assert [whom for _, whom in launcher.when("retired")] == ["1a", "2a", "3a"], (
        "only who has a successor need not drain"
    )


async def test_a_renewal_whose_first_successor_does_not_start_leaves_all_old_ones() -> None:
    async with (
        launcher_of(lambda name: Plan(failure="it is refused") if name == "1b" else Plan()) as launcher,
        supervised(launcher, 3, LIMITS) as supervisor,
    ):
        with pytest.raises(WorkerFailed, match="it is refused"):
            await supervisor.replace_all()
        await trio.sleep(100)
        assert launcher.alive == ["1a", "2a", "3a"]
        await supervisor.replace_all()
        await trio.sleep(100)
        assert launcher.alive == ["1c", "2b", "3b"], "another attempt is possible"


async def test_a_worker_that_dies_while_its_successor_starts_has_only_that_one() -> None:
    async with launcher_of() as launcher, supervised(launcher, 1, LIMITS) as supervisor:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.replace_all)
            await trio.sleep(0.5)
            launcher.workers["1a"].kill()
        await trio.sleep(10)
        assert launcher.alive == ["1b"]
        assert len(launcher.workers) == 2


async def test_a_worker_that_does_not_end_after_its_renewal_is_killed_and_holds_nobody_up() -> None:
    async with (
        launcher_of(lambda name: Plan(end_seconds=1_000) if name == "1a" else Plan()) as launcher,
        supervised(launcher, 2, LIMITS) as supervisor,
    ):
        await supervisor.replace_all()
        [(stopped, _), *_] = launcher.when("stopped")
        assert launcher.when("ready")[-1][0] < stopped + LIMITS.end_seconds
        await trio.sleep(20)
        assert launcher.when("killed") == [(stopped + LIMITS.end_seconds, "1a")]


# Shutdown.


@pytest.mark.parametrize("how", ["left", "cancelled", "raised"])
async def test_at_the_end_all_are_stopped_together_and_killed_at_the_bound(how: str) -> None:
    ended = 0.0

    async def serve(supervisor: Supervisor) -> None:
        nonlocal ended
        ended = trio.current_time()
        if how == "cancelled":
            scope.cancel()
        if how == "raised":
            raise ValueError(how)
        await trio.lowlevel.checkpoint()

    async with launcher_of(lambda name: Plan(end_seconds=1_000 if name == "2a" else 3)) as launcher:
        with trio.CancelScope() as scope:
            try:
                async with supervised(launcher, 3, LIMITS) as supervisor:
                    await serve(supervisor)
            except* ValueError:
                assert how == "raised"
        assert {at for at, _ in launcher.when("stopped")} == {ended}
        assert sorted(whom for _, whom in launcher.when("stopped")) == ["1a", "2a", "3a"]
        assert launcher.when("killed") == [(ended + LIMITS.end_seconds, "2a")]
        assert trio.current_time() == ended + LIMITS.end_seconds
        assert launcher.alive == []


async def test_an_end_during_a_renewal_leaves_nobody() -> None:
    async with launcher_of() as launcher:
        with trio.move_on_after(5.5):
            async with supervised(launcher, 2, LIMITS) as supervisor:
                await trio.sleep_until(5)
                await supervisor.replace_all()
        assert launcher.alive == []
        assert launcher.when("killed") == [(5.5, "1b")]


async def test_an_end_while_replaced_workers_still_stop_does_not_abort_them() -> None:
    async with launcher_of(lambda name: Plan(end_seconds=8)) as launcher:
        async with supervised(launcher, 2, LIMITS) as supervisor:
            await supervisor.replace_all()
        assert launcher.alive == []
        assert sorted(whom for _, whom in launcher.when("stopped")) == ["1a", "1b", "2a", "2b"]
        assert not launcher.when("killed")


async def test_a_second_end_signals_all_workers_again() -> None:
    async with launcher_of() as launcher:
        async with trio.open_nursery() as nursery:

            async def hurry() -> None:
                await trio.sleep(1)
                supervisor.end()

            async with supervised(launcher, 2, LIMITS) as supervisor:
                nursery.start_soon(hurry)
        assert [whom for _, whom in launcher.when("stopped")].count("1a") == 2


# Reports.


async def test_all_workers_report_at_once_and_one_that_does_not_answer_costs_a_bounded_time() -> None:
    plans = {"2a": Plan(report_seconds=1_000), "3a": Plan(report_seconds=1.5)}
    async with (
        launcher_of(lambda name: plans.get(name, Plan())) as launcher,
        supervised(launcher, 4, replace(LIMITS, starts_at_once=4)) as supervisor,
    ):
        launcher.workers["4a"].dead.set()
        began = trio.current_time()
        reports = await supervisor.reports()
        assert trio.current_time() - began == REPORT_SECONDS
        assert {number: report and report.metrics for number, report in reports.items()} == {
            1: "metrics of 1a",
            2: None,
            3: "metrics of 3a",
            4: None,
        }


async def test_a_worker_that_restarts_is_reported_as_missing_and_then_as_its_successor() -> None:
    async with launcher_of() as launcher, supervised(launcher, 2, LIMITS) as supervisor:
        launcher.workers["2a"].kill()
        await trio.sleep(0.5)
        assert (await supervisor.reports())[2] is None
        await trio.sleep(5)
        report = (await supervisor.reports())[2]
        assert report is not None
        assert report.metrics == "metrics of 2b"
