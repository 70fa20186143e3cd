"""Prometheus metrics: requests by operation and status, and the state of actors, database, snapshots and machine."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from actors.backups.keeper import BackupKeeper
from actors.batches import ServedBatch
from actors.bookings.sweeper import HoldAndRefundSweeper
from actors.events.router import EventOutcome
from actors.events.servers import ServerWatch
from actors.mail.actor import MailSender
from actors.nodes.heartbeat import Heartbeat
from actors.statistics import ActorStatistics
from actors.webhooks.sender import WebhookSender
from service.observability.collectors import (
    ActorCollector,
    BackupCollector,
    EventCollector,
    EventServerCollector,
    NodeCollector,
    ProxyCollector,
    SnapshotCollector,
    SpanCollector,
    WebhookCollector,
    WorkCollector,
)
from service.observability.machine import Certificate, Disk, register_process
from service.observability.proxies import Proxies
from service.observability.tracing import SpanCounts
from service.snapshots.catalog import CatalogStatistics
from service.snapshots.placements import PlacementsStatistics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
BATCH_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """The node's registry. Not global, so that tests can run many nodes in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._answers = _Answers()
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
        self._lag = Histogram(
            "catalog_loop_lag_seconds",
            "How late the event loop woke the heartbeat.",
            buckets=LATENCY_BUCKETS,
            registry=self.registry,
        )

    def answered(self, operation: str, status: int, seconds: float, refusal: str) -> None:
        """Count a request. `operation` comes from the operation table, never from the client's path."""
        self._answers.count(operation, status, seconds, refusal)

    def committed(self, batch: ServedBatch) -> None:
        """Count a batch of an actor."""
        self._batches.labels(batch.actor).observe(batch.size)
        self._commits.labels(batch.actor).observe(batch.seconds)

    def lagged(self, seconds: float) -> None:
        """Record by how much the event loop woke a task too late."""
        self._lag.observe(seconds)

    # Sources that are read at each scrape.

    def observe_actors(self, actors: Callable[[], Sequence[ActorStatistics]], database: Callable[[], object]) -> None:
        self.registry.register(ActorCollector(actors, database))

    def observe_events(self, outcomes: Mapping[EventOutcome, int]) -> None:
        self.registry.register(EventCollector(outcomes))

    def observe_backups(self, backups: BackupKeeper) -> None:
        self.registry.register(BackupCollector(backups))

    def observe_nodes(self, nodes: Heartbeat) -> None:
        self.registry.register(NodeCollector(nodes))

    def observe_event_servers(self, servers: ServerWatch) -> None:
        self.registry.register(EventServerCollector(servers))

    def observe_proxies(self, proxies: Proxies) -> None:
        self.registry.register(ProxyCollector(proxies))

    def observe_snapshots(
        self, catalog: Callable[[], CatalogStatistics], placements: Callable[[], PlacementsStatistics]
    ) -> None:
        self.registry.register(SnapshotCollector(catalog, placements))

    def observe_work(self, mail: MailSender, sweeper: HoldAndRefundSweeper) -> None:
        self.registry.register(WorkCollector(mail, sweeper))

    def observe_webhooks(self, sender: WebhookSender) -> None:
        self.registry.register(WebhookCollector(sender))

    def observe_spans(self, counts: SpanCounts) -> None:
        self.registry.register(SpanCollector(counts))

    def observe_machine(self, disk: Path | None, certificate_expires: float | None) -> None:
        """Add the process, the file system of a directory, and the Unix time at which the TLS certificate expires."""
        register_process(self.registry)
        if disk is not None:
            self.registry.register(Disk(disk))
        if certificate_expires is not None:
            self.registry.register(Certificate(certificate_expires))

    def page(self) -> bytes:
        """The metrics in Prometheus text format."""
        return generate_latest(self.registry)


class _Answers(Collector):
    """Requests by operation and status, their time, and refusals by code.

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

    def collect(self) -> Iterable[Metric]:
        requests = CounterMetricFamily("catalog_requests", "Requests answered.", labels=["operation", "status"])
        for (operation, status), count in self._requests.items():
            requests.add_metric([operation, str(status)], count)
        latency = HistogramMetricFamily("catalog_request_seconds", "Time to answer.", labels=["operation"])
        for operation, buckets in self._buckets.items():
            names = [*map(str, LATENCY_BUCKETS), "+Inf"]
            sums = list(zip(names, accumulate(buckets), strict=True))
            latency.add_metric([operation], sums, self._seconds[operation])
        refusals = CounterMetricFamily("catalog_refusals", "Refusals by code.", labels=["code"])
        for code, count in self._refusals.items():
            refusals.add_metric([code], count)
        yield from (requests, latency, refusals)
