"""Prometheus metrics: requests by operation and status, and the state of actors, database, snapshots and machine."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import Metric

from actors.clock import SECOND_MS, Clock
from actors.kernel.statistics import ServedBatch
from service.observability.host_metrics import Reading, certificate_metrics, disk_metrics, register_process
from service.observability.loop_lag import LoopLag
from service.observability.request_counts import LATENCY_BUCKETS, AnswerCounts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BATCH_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """The node's registry. Not global, so that tests can run many nodes in one process."""

    def __init__(self, answers: AnswerCounts | None = None) -> None:
        self.registry = CollectorRegistry()
        self._answers = answers or AnswerCounts()
        self.registry.register(self._answers)
        self._batches = Histogram(
            "catalog_batch_messages",
            "Messages per commit.",
            ["actor"],
            buckets=BATCH_BUCKETS,
            registry=self.registry,
        )
        self._commits = Histogram(
            "catalog_commit_seconds", "Time of one commit.", ["actor"], buckets=LATENCY_BUCKETS, registry=self.registry
        )
        self.loop_lag = LoopLag()
        self.registry.register(self.loop_lag)

    def answered(self, operation: str, status: int, seconds: float, refusal: str) -> None:
        """Count a request. `operation` comes from the operation table, never from the client's path."""
        self._answers.count(operation, status, seconds, refusal)

    def committed(self, batch: ServedBatch) -> None:
        """Count a batch of an actor."""
        self._batches.labels(batch.actor).observe(batch.size)
        self._commits.labels(batch.actor).observe(batch.seconds)

    # Sources that are read at each scrape.

    def observe(self, *reads: Callable[[], Iterable[Metric]]) -> None:
        """Add metrics that functions of `collectors` read."""
        for read in reads:
            self.registry.register(Reading(read))

    def observe_machine(self, disk: Path | None, certificate_expires: float | None) -> None:
        """Add the process, the file system of a directory, and the Unix time at which the TLS certificate expires."""
        register_process(self.registry)
        if disk is not None:
            self.observe(partial(disk_metrics, disk))
        if certificate_expires is not None:
            self.observe(partial(certificate_metrics, certificate_expires))

    def page(self) -> bytes:
        """The metrics in Prometheus text format."""
        return generate_latest(self.registry)


class SharedPage:
    """The page of metrics as anybody may ask for it: rendering takes 20 ms, so requests of the same second share one."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._made = b""
        self._made_ms: int | None = None

    def read(self) -> bytes:
        """The page, at most a second old."""
        now_ms = self._clock.now_ms()
        if self._made_ms is None or not 0 <= now_ms - self._made_ms < SECOND_MS:
            self._made, self._made_ms = self._metrics.page(), now_ms
        return self._made
