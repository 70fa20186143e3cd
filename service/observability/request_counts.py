"""The requests that a process answered, for metrics and the status of a node, and its load in the last hour."""

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from actors.clock import MINUTE_MS, Clock

LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
FAILED = 500
"""The lowest status of an answer that the service, and not the request, is to blame for."""


def bucket_sums(buckets: Sequence[int]) -> list[tuple[str, float]]:
    """The counts of `LATENCY_BUCKETS` and of all beyond, as a histogram of Prometheus has them: each with those below."""
    names = [*map(str, LATENCY_BUCKETS), "+Inf"]
    return list(zip(names, accumulate(buckets), strict=True))


class AnswerSummary(NamedTuple):
    """`requests` answered, those that failed (5xx), and the time within which half and 99 of 100 were answered. A time is the
    upper bound of its bucket; it is None without a request, and if the request took longer than the last bucket."""

    requests: int
    failures: int
    half_seconds: float | None
    most_seconds: float | None


class AnswerCounts(Collector):
    """Requests of one process by operation and status, their time, and refusals by code.

    Uses plain numbers, because the library's counters take a lock each, for every request.
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._refusals: Counter[str] = Counter()
        # By operation: responses in each bucket (the last is unlimited), and the sum of their seconds.
        self._buckets: dict[str, list[int]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, operation: str, status: int, seconds: float, refusal: str) -> None:
        self._requests[operation, status] += 1
        buckets = self._buckets.get(operation)
        if buckets is None:
            buckets = self._buckets[operation] = [0] * (len(LATENCY_BUCKETS) + 1)
        buckets[bisect_left(LATENCY_BUCKETS, seconds)] += 1
        self._seconds[operation] += seconds
        if refusal:
            self._refusals[refusal] += 1

    def summary(self) -> AnswerSummary:
        """All requests together."""
        buckets = [sum(counts) for counts in zip(*self._buckets.values(), strict=True)]
        failures = sum(count for (_, status), count in self._requests.items() if status >= FAILED)
        return AnswerSummary(self._requests.total(), failures, _within(buckets, 0.5), _within(buckets, 0.99))

    def refusals(self) -> int:
        """All refusals together."""
        return self._refusals.total()

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily("catalog_requests", "Requests answered.", labels=["operation", "status"])
        for (operation, status), count in self._requests.items():
            requests.add_metric([operation, str(status)], count)
        latency = HistogramMetricFamily("catalog_request_seconds", "Time to answer.", labels=["operation"])
        for operation, buckets in self._buckets.items():
            latency.add_metric([operation], bucket_sums(buckets), self._seconds[operation])
        refusals = CounterMetricFamily("catalog_refusals", "Refusals by code.", labels=["code"])
        for code, count in self._refusals.items():
            refusals.add_metric([code], count)
        yield from (requests, latency, refusals)


SPAN_MS = 2 * MINUTE_MS
SPANS = 30
"""An hour in spans of two minutes."""


class Load(NamedTuple):
    """The load of a process: requests answered, those that failed, refusals and events recorded since its start; and, at a
    moment, connections of the database in use and mails that wait."""

    requests: int
    failures: int
    refusals: int
    recorded: int
    busy: int
    mails: int

    def since(self, before: "Load") -> "Load":
        """The counts since another load of the same process, and the rest as that one had it."""
        return Load(
            self.requests - before.requests,
            self.failures - before.failures,
            self.refusals - before.refusals,
            self.recorded - before.recorded,
            before.busy,
            before.mails,
        )


class LastHour:
    """The load of a process in the last hour, by spans. Lost when the process ends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._samples: deque[tuple[int, Load]] = deque(maxlen=SPANS)

    def sample(self, load: Callable[[], Load]) -> None:
        """Keep the load at the start of a span. Further samples of a span are left out."""
        span = self._clock.now_ms() // SPAN_MS
        if not self._samples or self._samples[-1][0] < span:
            self._samples.append((span, load()))

    def spans(self, now: Load) -> list[Load | None]:
        """The load of each span, oldest first; None without a sample, as before the process started."""
        last = self._clock.now_ms() // SPAN_MS
        ends = [*(load for _, load in self._samples), now][1:]
        by_span = {span: end.since(load) for (span, load), end in zip(self._samples, ends, strict=True)}
        return [by_span.get(span) for span in range(last - SPANS + 1, last + 1)]


def _within(buckets: Sequence[int], share: float) -> float | None:
    """The upper bound of the bucket that holds the request at `share` of all; None without one, or beyond the last."""
    sums = list(accumulate(buckets))
    if not sums:
        return None
    place = bisect_left(sums, share * sums[-1])
    return LATENCY_BUCKETS[place] if place < len(LATENCY_BUCKETS) else None
