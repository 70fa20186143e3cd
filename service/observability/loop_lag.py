"""The lag of the event loop: the time for which each of its turns keeps everything else waiting."""

import logging
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import trio
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from service.observability.request_counts import LATENCY_BUCKETS, bucket_sums

STALL_SECONDS = 0.05
"""A turn that is longer is logged. Alerts count such turns, so it is a bound of the buckets."""

log = logging.getLogger(__name__)


class LoopLag(trio.abc.Instrument, Collector):
    """The turns of one event loop by their time.

    In a turn, the loop runs each task that is ready until it waits, then asks the system for input. Whatever becomes ready
    meanwhile waits for the end of the turn. All turns are measured, at a microsecond each, so that no stall is missed, and a
    loop without work is not woken.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._began = now()
        self._turns = [0] * (len(LATENCY_BUCKETS) + 1)
        self._seconds = 0.0

    def after_io_wait(self, timeout: float) -> None:
        """A turn begins."""
        self._began = self._now()

    def before_io_wait(self, timeout: float) -> None:
        """A turn ends."""
        seconds = self._now() - self._began
        self._turns[bisect_left(LATENCY_BUCKETS, seconds)] += 1
        self._seconds += seconds
        if seconds > STALL_SECONDS:
            log.warning("the event loop stalled: all requests waited %.0f ms", seconds * 1e3)

    def collect(self) -> Iterable[Metric]:
        text = "Time of a turn of the event loop, for which everything else waits."
        lag = HistogramMetricFamily("catalog_loop_lag_seconds", text)
        lag.add_metric([], bucket_sums(self._turns), self._seconds)
        yield lag

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure the running loop during the block."""
        self._began = self._now()
        trio.lowlevel.add_instrument(self)
        try:
            yield
        finally:
            trio.lowlevel.remove_instrument(self)
