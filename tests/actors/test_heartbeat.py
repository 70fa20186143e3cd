"""The heartbeat in virtual time: which nodes count, how long an outage is bridged, and that failures do no harm."""

import logging
from collections.abc import Sequence

import pytest
import trio

from actors.kernel.supervision import Intensity, running
from actors.nodes.heartbeat import Heartbeat
from actors.nodes.messages import NodeInfo
from actors.nodes.state import NodeRules
from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from tests.doubles.nodes import MemoryNodes
from tests.doubles.tables import Memory
from tests.fakes import Script, Step

RULES = NodeRules(beat_seconds=2.0, live_seconds=10.0, keep_seconds=60.0)
AWAY = StorageUnavailable("away")


def heartbeat(memory: Memory, name: str = "n1") -> Heartbeat:
    node = NodeInfo(name, "host-1", 1, "1.0.0", "http://192.0.2.1:8080", 0)
    return Heartbeat(MemoryNodes(memory), node, RULES)


def failing(*steps: Step) -> Memory:
    return Memory(before=Script(steps))


def warnings(caplog: pytest.LogCaptureFixture) -> Sequence[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_node_counts_itself_from_the_start() -> None:
    one = heartbeat(Memory())
    assert (one.live(), one.age_seconds) == (1, None)
    async with running([one]):
        assert (one.live(), one.age_seconds, trio.current_time()) == (1, 0.0, 0.0)


async def test_nodes_know_of_each_other_after_a_heartbeat() -> None:
    memory = Memory()
    one, two, three = (heartbeat(memory, name) for name in ("n1", "n2", "n3"))
    async with running([one]):
        await trio.sleep(1)
        async with running([two, three]):
            assert (two.live(), three.live()) == (2, 3), "who starts hears of the others before it serves"
            await trio.sleep(RULES.beat_seconds + 0.1)
            assert {each.live() for each in (one, two, three)} == {3}
            assert [each.node.id for each in one.nodes()] == ["n1", "n2", "n3"]


async def test_a_node_that_stops_in_order_is_gone_with_the_next_heartbeat() -> None:
    memory = Memory()
    one = heartbeat(memory)
    async with running([one]):
        async with running([heartbeat(memory, "n2")]):
            await trio.sleep(RULES.beat_seconds + 0.1)
            assert one.live() == 2
        assert list(memory.nodes) == ["n1"]
        await trio.sleep(RULES.beat_seconds)
        assert one.live() == 1
    assert memory.nodes == {}


async def test_a_killed_node_counts_until_its_last_heartbeat_is_too_old() -> None:
    memory = Memory()
    one = heartbeat(memory)
    async with running([one]):
        async with running([heartbeat(memory, "n2")]) as supervisor:
            await trio.sleep(RULES.beat_seconds)
            supervisor.kill()
        await trio.sleep(RULES.live_seconds - RULES.beat_seconds - 0.1)
        assert one.live() == 2
        await trio.sleep(2 * RULES.beat_seconds)
        assert one.live() == 1


async def test_while_the_store_is_away_the_last_number_holds_for_a_while_and_then_the_node_is_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = Memory()
    one = heartbeat(memory)
    async with running([one]):
        async with running([heartbeat(memory, "n2")]):
            await trio.sleep(RULES.beat_seconds + 0.1)
        memory.before = Script([AWAY] * 35)
        heard = trio.current_time() - (one.age_seconds or 0)
        await trio.sleep(RULES.keep_seconds - 0.2)
        assert one.live() == 2
        await trio.sleep(RULES.beat_seconds + 0.3)
        assert one.live() == 1
        assert one.age_seconds == pytest.approx(trio.current_time() - heard)
        await trio.sleep(15 * RULES.beat_seconds)
        assert one.age_seconds is not None
        assert one.age_seconds < RULES.beat_seconds
    assert warnings(caplog) == [
        "the background task nodes failed, retrying in 2 s (assuming 2 live nodes for up to 60 s): away"
    ]


async def test_heartbeats_that_succeed_again_count_at_once_and_the_next_outage_is_logged_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory = Memory()
    one, two = heartbeat(memory), heartbeat(memory, "n2")
    async with running([one, two]):
        with caplog.at_level(logging.INFO, "actors.nodes"):
            await trio.sleep(RULES.beat_seconds + 0.1)
            memory.before = Script([AWAY] * 4)
            await trio.sleep(3 * RULES.beat_seconds)
            assert (one.live(), two.live()) == (2, 2)
            memory.before = Script([AWAY] * 2)
            await trio.sleep(2 * RULES.beat_seconds)
    words = [record.getMessage().partition(",")[0] for record in caplog.records]
    assert words.count("the background task nodes failed") == 4, "twice for each of two nodes"
    assert words.count("the background task nodes recovered") == 4


@pytest.mark.parametrize("error", [AWAY, OutcomeUnknown("broken"), Contended("locked"), RuntimeError("a bug")])
async def test_no_error_ends_the_process_or_is_logged_more_than_once(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    one = heartbeat(failing(*[error] * 50))
    async with running([one], intensity=Intensity(2, 3_600.0)):
        await trio.sleep(49 * RULES.beat_seconds)
        assert (one.live(), one.age_seconds) == (1, None)
    assert len(warnings(caplog)) == 1
    assert (caplog.records[0].exc_info is not None) is isinstance(error, RuntimeError)


async def test_a_store_that_is_away_at_the_start_does_not_keep_the_node_from_serving() -> None:
    memory = failing(AWAY)
    one = heartbeat(memory)
    async with running([one]):
        assert trio.current_time() == 0
        await trio.sleep(RULES.beat_seconds + 0.1)
        assert list(memory.nodes) == ["n1"]


async def test_heartbeats_never_overlap_however_slow_the_store_is() -> None:
    memory = failing(0.0, *[6.0] * 5)
    async with running([heartbeat(memory)], drain_seconds=60):
        await trio.sleep(40)
        assert memory.before.calls == 6  # type: ignore[attr-defined]


async def test_a_node_that_stops_while_the_store_is_away_does_not_sign_off() -> None:
    memory = Memory()
    async with running([heartbeat(memory)]):
        await trio.sleep(1)
        memory.before = Script([AWAY, 60.0])
        await trio.sleep(RULES.beat_seconds)
        stopped = trio.current_time()
    assert trio.current_time() == stopped
    assert list(memory.nodes) == ["n1"]


async def test_a_sign_off_that_fails_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    memory = Memory()
    async with running([heartbeat(memory)]):
        memory.before = Script([AWAY])
    assert list(memory.nodes) == ["n1"]
    assert warnings(caplog) == []


async def test_a_heartbeat_that_is_closed_before_it_runs_leaves_nothing_behind() -> None:
    memory = Memory()
    one = heartbeat(memory)
    one.abandon()
    await one.run()
    assert (memory.nodes, trio.current_time()) == ({}, 0.0)
