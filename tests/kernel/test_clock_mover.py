"""Moves of the clock over tasks whose work is due at known times: in order, each at its time, within a bound."""

from collections.abc import Mapping, Sequence

import pytest
import trio

from actors.clock import MovableClock
from actors.kernel.clock_mover import ROUNDS, ClockMover
from actors.kernel.periodic import PeriodicTask
from actors.kernel.supervision import running
from actors.values import StorageUnavailable
from tests.fakes import HandClock

START_MS = 1_000_000


class Diary:
    """The store, and what the tasks did at what time of the clock."""

    def __init__(self, due: Mapping[str, Sequence[int]]) -> None:
        self.clock = MovableClock(HandClock(START_MS))
        self.due = {name: sorted(times) for name, times in due.items()}
        self.done: list[tuple[str, int]] = []
        self.saved: list[int] = []
        self.away = False

    async def set_ahead(self, ahead_ms: int) -> None:
        await trio.lowlevel.checkpoint()
        if self.away:
            raise StorageUnavailable("away")
        assert ahead_ms >= self.clock.ahead_ms, "it goes back"
        self.saved.append(ahead_ms)

    async def next_due(self, after_ms: int) -> int | None:
        assert self.clock.ahead_ms <= (self.saved or [0])[-1], "rows may be later than the stored time"
        return min((each for times in self.due.values() for each in times if each > after_ms), default=None)


class Works(PeriodicTask):
    """Does at most two pieces of its due work in a round. It never looks by itself."""

    def __init__(self, name: str, diary: Diary, *, takes: float = 0.0) -> None:
        self.name = name
        super().__init__(1_000_000)
        self._diary, self._takes = diary, takes

    async def _round(self) -> None:
        now_ms, times = self._diary.clock.now_ms(), self._diary.due.get(self.name, [])
        for due_ms in times[:2]:
            if due_ms <= now_ms:
                await trio.sleep(self._takes)
                times.remove(due_ms)
                self._diary.done.append((self.name, now_ms - START_MS))


class JumpsAtOnce(ClockMover):
    """A planted bug: the clock is at the end before anything due on the way is done."""

    async def _follow(self, to_ms: int) -> None:
        await self.save(to_ms - START_MS)
        self.clock.ahead_ms = to_ms - START_MS
        await super()._follow(to_ms)


def _mover(
    diary: Diary, tasks: Sequence[Works], kind: type[ClockMover] = ClockMover, seconds: float = 20.0
) -> ClockMover:
    *due, last = tasks
    return kind(diary.clock, diary.set_ahead, diary.next_due, due, [last], seconds)


DUE = {"holds": [START_MS + 10, START_MS + 500], "weeks": [START_MS + 10, START_MS + 200, START_MS + 900], "rows": [0]}
IN_ORDER = [("holds", 10), ("weeks", 10), ("weeks", 200), ("holds", 500), ("rows", 600)]


@pytest.mark.parametrize(("kind", "right"), [(ClockMover, True), (JumpsAtOnce, False)])
async def test_what_is_due_on_the_way_is_done_at_its_time_and_the_rest_at_the_end(
    kind: type[ClockMover], right: bool
) -> None:
    diary = Diary({name: list(times) for name, times in DUE.items()})
    diary.due["rows"].clear()
    tasks = [Works(name, diary) for name in DUE]
    async with running(tasks):
        diary.due["rows"].append(START_MS + 550)
        assert await _mover(diary, tasks, kind).move(START_MS + 600)
    assert (diary.done == IN_ORDER) is right
    assert diary.clock.now_ms() == START_MS + 600
    assert diary.due["weeks"] == [START_MS + 900], "what is due later stays"


async def test_more_than_a_round_can_do_is_done_before_time_goes_on() -> None:
    diary = Diary({"holds": [START_MS + 10] * 2 * (ROUNDS - 1), "weeks": [START_MS + 20]})
    tasks = [Works(name, diary) for name in (*diary.due, "rows")]
    async with running(tasks):
        await _mover(diary, tasks).move(START_MS + 30)
    assert [at for _, at in diary.done] == [10] * 2 * (ROUNDS - 1) + [20]


async def test_work_that_never_ends_holds_up_no_move() -> None:
    diary = Diary({"nobody": [START_MS + 10], "weeks": [START_MS + 20]})
    tasks = [Works(name, diary) for name in ("weeks", "rows")]
    async with running(tasks):
        assert await _mover(diary, tasks).move(START_MS + 30)
    assert diary.done == [("weeks", 20)]


async def test_a_move_that_takes_too_long_ends_where_it_is_and_the_next_one_goes_on() -> None:
    diary = Diary({"holds": [START_MS + each for each in (10, 20, 30, 40)]})
    tasks = [Works("holds", diary, takes=2.0), Works("rows", diary)]
    async with running(tasks):
        mover = _mover(diary, tasks, seconds=5.0)
        assert not await mover.move(START_MS + 100)
        assert (trio.current_time(), diary.clock.now_ms(), mover.moving) == (5, START_MS + 30, False)
        assert await mover.move(START_MS + 100)
        assert diary.clock.now_ms() == START_MS + 100
    assert [at for _, at in diary.done] == [10, 20, 30, 40]


async def test_without_the_store_the_clock_stays() -> None:
    diary = Diary({})
    tasks = [Works("rows", diary)]
    async with running(tasks):
        diary.away = True
        mover = _mover(diary, tasks)
        with pytest.raises(StorageUnavailable):
            await mover.move(START_MS + 100)
        assert (diary.clock.now_ms(), mover.moving) == (START_MS, False)
        diary.away = False
        assert await mover.move(START_MS + 100)
