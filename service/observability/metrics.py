"""Prometheus metrics: requests by operation and status, and the state of actors, database, snapshots and machine."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry, Histogram, generate_latest

from actors.backups.scheduler import BackupScheduler
from actors.bookings.sweeper import HoldAndRefundSweeper
from actors.events.router import EventOutcome
from actors.events.servers import ServerWatch
from actors.kernel.batches import ServedBatch
from actors.kernel.statistics import ActorStatistics
from actors.mail.actor import MailSender
from actors.nodes.heartbeat import Heartbeat
from actors.webhooks.sender import WebhookSender
from service.observability.client_address import Proxies
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
from service.observability.host_metrics import Certificate, Disk, register_process
from service.observability.request_counts import LATENCY_BUCKETS, AnswerCounts
from service.observability.tracing import SpanCounts
from service.snapshots.catalog import CatalogStatistics
from service.snapshots.placements import PlacementsStatistics

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

    def observe_backups(self, backups: BackupScheduler) -> None:
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
