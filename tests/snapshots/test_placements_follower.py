"""The placements follower in virtual time: it follows weeks, and renders each response once."""

import pytest
import trio

from actors.clock import SECOND_MS
from actors.kernel.supervision import running
from actors.times import WEEK_MS
from service.snapshots.placements import Placements, PlacementsLimits
from tests.doubles.tables import Memory
from tests.fakes import HandClock, Script
from tests.snapshots.rows import NOON_MS, Rows, booking, hold, slot, week
from tests.snapshots.worlds import AWAY, PlacementsWorld


async def test_a_change_whose_announcement_was_lost_is_seen_within_a_second() -> None:
    world = PlacementsWorld()
    async with world.running():
        for number in range(10):
            await trio.sleep(0.37)
            world.store.keep(slot(), booking(f"b{number}"), silently=True)
            await trio.sleep(0.51)
            assert f"b{number}" in world.visible()


async def test_many_changes_during_a_load_cost_one_load() -> None:
    world = PlacementsWorld(PlacementsLimits(check_seconds=3_600.0))
    async with world.running() as placements:
        world.memory.after = Script([5.0])
        world.store.keep(slot())
        placements.refresh_soon()
        await trio.sleep(1)
        for number in range(100):
            world.store.keep(booking(f"b{number}", start=number))
            placements.refresh_soon()
        await trio.sleep(10)
        assert placements.statistics().sold == 100
        assert placements.statistics().loads == 3


# Unavailable store.


async def test_weeks_turn_and_holds_end_while_the_store_is_away() -> None:
    world = PlacementsWorld(PlacementsLimits(check_seconds=3_600.0))
    world.store.keep(slot(), booking("a"), booking("b", start=1), hold("c", week(1) - 1, start=2))
    async with world.running() as placements:
        world.memory.before = Script([AWAY] * 1_000)
        await trio.sleep((week(1) - NOON_MS) / SECOND_MS - 0.002)
        assert (world.visible(), world.free(2)) == (["a"], False)
        await trio.sleep(0.001)
        assert (world.visible(), world.free(2)) == (["a"], True)
        await trio.sleep(0.001)
        assert (world.visible(), world.free(2)) == (["b"], True)
        assert placements.statistics().loads == 1


# Passing weeks.


async def test_the_range_moves_on_with_the_weeks_though_nothing_changes() -> None:
    world = PlacementsWorld(PlacementsLimits(check_seconds=3_600.0))
    world.store.keep(slot(), booking("a"), booking("late", start=30), booking("later", start=56))
    async with world.running() as placements:
        await trio.sleep(30 * WEEK_MS / SECOND_MS)
        assert placements.snapshot.from_week_ms == week(29)
        assert placements.statistics().loads == 31, "one at the start, and one at each week's turn"
        assert world.visible() == ["late"]
        assert [world.free(number) for number in (29, 30, 31, 55, 56)] == [False, False, True, True, False]
        assert [each.booking_id for each in placements.snapshot.sold] == ["late", "later"]


async def test_a_clock_that_was_set_back_is_followed() -> None:
    world, clock = PlacementsWorld(), HandClock(week(3))
    world.store.keep(slot(), booking("a"))
    placements = Placements(world.store, clock, "test")
    async with running([placements]):
        clock.at_ms = NOON_MS
        await trio.sleep(0.6)
        assert b'"bookingId":"a"' in placements.placements(clock.now_ms()).body


# Cached responses.


async def test_an_answer_is_made_once_and_anew_after_a_change() -> None:
    world = PlacementsWorld()
    world.store.keep(slot())
    async with world.running() as placements:
        now_ms = world.clock.now_ms()
        first = placements.inventory(week(0), now_ms)
        assert placements.inventory(week(0), now_ms + 1) is first
        assert placements.placements(now_ms) is placements.placements(now_ms + 1)
        world.store.keep(booking("a"))
        await trio.sleep(0.6)
        assert placements.inventory(week(0), now_ms + 600) is not first
        assert not world.free()


async def test_an_answer_from_before_a_clock_was_set_back_is_not_given() -> None:
    world = PlacementsWorld()
    world.store.keep(slot(), booking("a"))
    async with world.running() as placements:
        assert b'"bookingId"' not in placements.placements(week(1)).body
        assert b'"bookingId"' in placements.placements(week(1) - 1).body


async def test_kept_answers_are_bounded() -> None:
    world = PlacementsWorld(PlacementsLimits(horizon_weeks=4))
    async with world.running() as placements:
        for number in range(40):
            placements.inventory(week(number), NOON_MS)
            placements.placements(NOON_MS)
        assert placements.statistics().rendered == 7


@pytest.mark.parametrize(
    ("moment_ms", "expected"),
    [
        (None, week(0)),
        (NOON_MS, week(0)),
        (week(0), week(0)),
        (week(1) - 1, week(0)),
        (week(1), week(1)),
        (week(-1), week(-1)),
        (week(-1) - 1, None),
        (week(27) - 1, week(26)),
        (week(27), None),
        (0, None),
    ],
)
def test_a_moment_is_taken_to_its_week_if_that_is_not_too_far(moment_ms: int | None, expected: int | None) -> None:
    assert _unloaded().week_for(moment_ms, NOON_MS) == expected


def _unloaded() -> Placements:
    return Placements(Rows(Memory()), HandClock(NOON_MS), "test")


# The calendar.


async def test_other_tasks_run_between_the_weeks_of_a_calendar_that_are_rendered_anew() -> None:
    world = PlacementsWorld()
    world.store.keep(slot())
    async with world.running() as placements:
        for begun in (5, 0):
            turns, done = 0, trio.Event()

            async def other(done: trio.Event = done) -> None:
                nonlocal turns
                while not done.is_set():
                    await trio.lowlevel.checkpoint()
                    turns += 1

            async with trio.open_nursery() as nursery:
                nursery.start_soon(other)
                await placements.calendar(week(0), 5, NOON_MS)
                done.set()
            assert begun - 1 <= turns <= begun + 1
