"""Every turn of the event loop is measured, and a stall is logged. The time is the test's own."""

import pytest
import trio
from prometheus_client import CollectorRegistry

from service.observability.loop_lag import STALL_SECONDS, LoopLag
from service.observability.request_counts import LATENCY_BUCKETS


class Machine(trio.abc.Instrument):
    """A clock that moves while tasks compute, and by a second whenever the loop waits."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.lag = LoopLag(lambda: self.seconds)
        self._registry = CollectorRegistry()
        self._registry.register(self.lag)

    def before_io_wait(self, timeout: float) -> None:
        self.seconds += 1.0

    async def compute(self, seconds: float) -> None:
        self.seconds += seconds

    def turns_above(self, seconds: float) -> float:
        beyond, within = (self._sample("bucket", {"le": each}) for each in ("+Inf", str(seconds)))
        return beyond - within

    def total(self) -> float:
        return self._sample("sum", {})

    def _sample(self, kind: str, labels: dict[str, str]) -> float:
        found = self._registry.get_sample_value(f"catalog_loop_lag_seconds_{kind}", labels)
        assert found is not None
        return found


@pytest.mark.parametrize(
    ("in_turn", "stalls"),
    [
        ([[0.049]], []),
        ([[0.051]], ["51"]),
        ([[0.03], [0.03]], []),
        ([[0.03, 0.03]], ["60"]),
        ([[0.3], [0.001, 0.002], [0.2]], ["300", "200"]),
    ],
)
async def test_tasks_make_others_wait_for_the_sum_of_their_turn_and_a_stall_is_logged(
    in_turn: list[list[float]], stalls: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    machine.seconds = 5.0  # passes before the measurement
    with machine.lag.watching():
        trio.lowlevel.add_instrument(machine)
        for together in in_turn:
            async with trio.open_nursery() as nursery:
                for seconds in together:
                    nursery.start_soon(machine.compute, seconds)
        trio.lowlevel.remove_instrument(machine)
    machine.seconds += 5.0
    await trio.lowlevel.checkpoint()
    assert machine.total() == pytest.approx(sum(map(sum, in_turn))), "waiting is no lag"
    assert machine.turns_above(STALL_SECONDS) == len(stalls)
    assert caplog.messages == [f"the event loop stalled: all requests waited {each} ms" for each in stalls]


def test_a_stall_is_a_bound_of_the_buckets_so_that_alerts_can_count_stalls() -> None:
    assert STALL_SECONDS in LATENCY_BUCKETS
