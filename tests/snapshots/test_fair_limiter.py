"""The fair limiter in virtual time: one turn a caller, rotation between callers, bounded waits, cancellation."""

import random
from collections import Counter

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from actors.values import Overloaded
from service.snapshots.fair_limiter import FairLimiter
from service.snapshots.turns import CallerBusy, Searcher


def alone(caller: str) -> Searcher:
    """A caller with a network of its own."""
    return Searcher(caller, f"network of {caller}")


class World:
    """A limiter, and the order in which its turns began."""

    def __init__(self, most: int = 1, waiters: int = 100, waiters_per_caller: int = 10) -> None:
        self.limiter = FairLimiter(most, waiters, waiters_per_caller)
        self.begun: list[str] = []
        self.running: Counter[str] = Counter()
        self.most_running = 0

    async def work(self, caller: str, seconds: float = 1.0) -> None:
        async with self.limiter.turn(alone(caller)):
            self.begun.append(caller)
            self.running[caller] += 1
            self.most_running = max(self.most_running, self.running.total())
            assert self.running[caller] == 1
            try:
                await trio.sleep(seconds)
            finally:
                self.running[caller] -= 1


async def test_a_caller_has_one_turn_at_a_time_even_where_others_are_free() -> None:
    world = World(most=4)
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(world.work, "a")
    assert world.begun == ["a"] * 3
    assert trio.current_time() == pytest.approx(3)


async def test_turns_rotate_over_the_callers_and_not_over_their_requests() -> None:
    world = World()
    async with trio.open_nursery() as nursery:
        for caller in "aaaabbc":
            nursery.start_soon(world.work, caller)
            await wait_all_tasks_blocked()
    assert world.begun == ["a", "b", "c", "a", "b", "a", "a"]


async def test_a_caller_who_has_just_had_a_turn_waits_for_one_who_came_later() -> None:
    world = World()
    async with trio.open_nursery() as nursery:
        for caller in "aab":
            nursery.start_soon(world.work, caller)
            await wait_all_tasks_blocked()
    assert world.begun == ["a", "b", "a"]


async def test_each_caller_and_all_together_wait_in_bounded_number() -> None:
    world = World(waiters=4, waiters_per_caller=2)
    async with trio.open_nursery() as nursery:
        for caller in "aaabb":
            nursery.start_soon(world.work, caller)
            await wait_all_tasks_blocked()
        with pytest.raises(CallerBusy):
            await world.work("a")
        with pytest.raises(Overloaded):
            await world.work("c")
        assert repr(world.limiter) == "<FairLimiter 1 of 1 running, 4 waiting>"
    assert world.limiter.waiting == 0
    await world.work("c")


async def test_a_wait_that_is_cancelled_leaves_the_queue() -> None:
    world = World()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.work, "a")
        await wait_all_tasks_blocked()
        for caller in "ab":
            with trio.move_on_after(0.1) as scope:
                await world.work(caller)
            assert scope.cancelled_caught
        assert world.limiter.waiting == 0
    assert world.begun == ["a"]


async def test_a_turn_that_is_given_to_a_cancelled_wait_goes_on_to_the_next() -> None:
    world = World()
    scope = trio.CancelScope()

    async def cancelled() -> None:
        with scope:
            await world.work("b")

    async with trio.open_nursery() as nursery, world.limiter.turn(alone("a")):
        nursery.start_soon(cancelled)
        await wait_all_tasks_blocked()
        nursery.start_soon(world.work, "c")
        await wait_all_tasks_blocked()
        # The turn ends before the cancelled task runs again.
        scope.cancel()
    assert world.begun == ["c"]
    await world.work("d")


@pytest.mark.parametrize("seed", range(20))
async def test_under_any_load_turns_are_bounded_and_all_are_given_back(seed: int) -> None:
    random_ = random.Random(seed)
    most = random_.randint(1, 3)
    world = World(most, waiters=8, waiters_per_caller=3)

    async def request(caller: str, seconds: float, patience: float) -> None:
        try:
            with trio.move_on_after(patience):
                await world.work(caller, seconds)
        except (CallerBusy, Overloaded):
            pass

    async with trio.open_nursery() as nursery:
        for _ in range(200):
            caller = random_.choice("abcde")
            nursery.start_soon(request, caller, random_.choice((0, 0.5, 1)), random_.choice((0, 0.5, 1, 5)))
            await trio.sleep(random_.choice((0, 0, 0.1, 0.5)))
    assert world.most_running <= 3
    assert repr(world.limiter) == f"<FairLimiter 0 of {most} running, 0 waiting>"
    assert world.limiter._begun == {}
