"""Callers with different deadlines, some of them cancelled: each gets one answer in time, and exactly the work of those
who got none is undone."""

from collections.abc import Sequence
from math import inf
from random import Random

import pytest
import trio

from actors.kernel.actor import Actor, ActorLimits
from actors.kernel.mailbox import Envelope, answer_due
from actors.kernel.supervision import Intensity, running
from actors.kernel.waiting_callers import WaitingCallers
from actors.values import ActorFailed, BatchId, Overloaded, StorageUnavailable

ANSWER_SECONDS = 4.5
CALLERS = 200


class Ledger(Actor[int, int]):
    """Stores numbers. Its store is slow, unavailable or hits a bug."""

    def __init__(self, random: Random) -> None:
        super().__init__("ledger", "node", ActorLimits(mailbox=50, batch=10, answer_seconds=ANSWER_SECONDS))
        self._random = random
        self.stored: list[int] = []
        self.undone: list[int] = []

    async def commit(self, batch_id: BatchId, messages: Sequence[int]) -> Sequence[int]:
        await trio.sleep(self._random.choice([0, 0.01, 0.25, 0.5, 1, 6]))
        luck = self._random.random()
        if luck < 0.05:
            raise StorageUnavailable("away")
        if luck < 0.07:
            raise RuntimeError("a bug")
        self.stored += messages
        return messages

    def compensate(self, message: int, answer: int) -> None:
        assert message == answer
        self.undone.append(message)

    def remembered(self) -> int:
        """How many callers are still tracked."""
        return len(self._waiting)


@pytest.mark.parametrize("seed", range(4))
async def test_the_work_of_callers_without_an_answer_is_undone_and_nobody_waits_too_long(seed: int) -> None:
    random = Random(seed)
    ledger = Ledger(random)
    answered: set[int] = set()

    async def ask(number: int) -> None:
        # Half of the calls start, are due and are cancelled in whole seconds, so that much happens at the same
        # moment.
        await trio.sleep(random.choice([random.uniform(0, 20), float(random.randrange(20))]))
        began = trio.current_time()
        due = began + random.choice([-1, 0, 0.5, 1.0, 4.0, 4.75, inf])
        answer_due.set(due)
        with trio.move_on_at(random.choice([due, inf])):
            try:
                assert await ledger.ask(number) == number
                answered.add(number)
            except (Overloaded, StorageUnavailable, ActorFailed):
                pass
        assert trio.current_time() <= max(began, min(due, began + ANSWER_SECONDS)) + 0.001

    async with running([ledger], intensity=Intensity(failures=100), drain_seconds=100.0):
        async with trio.open_nursery() as nursery:
            for number in range(CALLERS):
                nursery.start_soon(ask, number)
        await trio.sleep(100)
        assert ledger.remembered() == 0
    assert len(ledger.stored) == len(set(ledger.stored))
    assert ledger.stored
    assert sorted(ledger.undone) == sorted(set(ledger.stored) - answered)


async def test_callers_are_counted_in_whatever_order_they_are_due() -> None:
    waiting = WaitingCallers[int, int]()
    for due in (5.0, 3.0, 6.0, 1.0):
        waiting.add(Envelope(1, due=due))
    assert len(waiting) == 4
