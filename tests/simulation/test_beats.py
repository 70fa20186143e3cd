"""Many seeds of the world of heartbeats: every promise holds, faults occur, and planted bugs are found."""

from collections.abc import Sequence

import pytest
import trio

from actors.nodes.heartbeat import Heartbeat
from actors.nodes.messages import LiveNode
from tests.doubles.nodes import MemoryNodes
from tests.simulation.beats import CHAOS_SECONDS, Parts, World, run

SEEDS = 20


@pytest.fixture(scope="module")
def campaign() -> list[World]:
    return [run(seed)[0] for seed in range(SEEDS)]


def test_every_seed_keeps_every_promise(campaign: list[World]) -> None:
    failed = {seed: world.violations[0] for seed, world in enumerate(campaign) if world.violations}
    assert not failed


def test_the_campaign_meets_what_it_is_for(campaign: list[World]) -> None:
    for what in ("alone after a long silence", "the last number held through a silence"):
        assert any(what in world.met for world in campaign), what
    rows = [world.rows for world in campaign]
    assert any(each.left for each in rows), "some node left"
    assert any(each.keys() for each in rows), "some node was killed and left its row"
    assert all(max(map(max, each.beats.values())) > CHAOS_SECONDS for each in rows)


def test_the_same_seed_gives_the_same_trace() -> None:
    assert run(3)[1] == run(3)[1]


class NeverForgets(Heartbeat):
    """The last count stays for ever."""

    def nodes(self) -> Sequence[LiveNode]:
        return [LiveNode(self.node, 0.0), *(each for each in self._seen if each.node.id != self.node.id)]


class ForgetsAtOnce(Heartbeat):
    """A failed heartbeat is treated as the end of all other nodes."""

    def _on_error(self, error: Exception) -> None:
        self._seen = ()
        super()._on_error(error)
        self._count()


class SaysNoGoodbye(Heartbeat):
    """A node that stops in order leaves its row behind."""

    async def _finish(self) -> None:
        await trio.lowlevel.checkpoint()


class CountsOnlyOthers(Heartbeat):
    """A node does not count itself."""

    def live(self) -> int:
        return max(1, super().live() - 1)


class CountsAllRows(MemoryNodes):
    """Rows of dead nodes are counted."""

    def _live(self, now: float, live_seconds: float) -> Sequence[LiveNode]:
        return self._by_age(now)


class CountsTheYoungest(MemoryNodes):
    """A row counts only right after its heartbeat."""

    def _live(self, now: float, live_seconds: float) -> Sequence[LiveNode]:
        return super()._live(now, live_seconds / 4)


BUGS = (
    Parts(heartbeat=NeverForgets),
    Parts(heartbeat=ForgetsAtOnce),
    Parts(heartbeat=SaysNoGoodbye),
    Parts(heartbeat=CountsOnlyOthers),
    Parts(store=CountsAllRows),
    Parts(store=CountsTheYoungest),
)


@pytest.mark.parametrize("bug", BUGS, ids=lambda parts: f"{parts.heartbeat.__name__}-{parts.store.__name__}")
def test_a_planted_bug_is_found(bug: Parts) -> None:
    assert any(run(seed, bug)[0].violations for seed in range(SEEDS))
