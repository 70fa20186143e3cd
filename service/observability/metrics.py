"""Prometheus metrics: requests by operation and status, and a picture of actors and the database at each scrape."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from actors.actor import ActorStatistics
from actors.events.router import EventOutcome
from actors.nodes.heartbeat import Heartbeat
from service.snapshots.catalog import CatalogStatistics
from service.snapshots.placements import PlacementsStatistics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
BATCH_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Metrics:
    """The node's registry. Nothing here is global, so that tests run many nodes in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._answers = _Answers()
        self.registry.register(self._answers)
        self._batches = Histogram(
            "catalog_batch_messages",
            "Messages of one commit.",
            ["actor"],
            buckets=BATCH_BUCKETS,
            registry=self.registry,
        )
        self._commits = Histogram(
            "catalog_commit_seconds", "Time of one commit.", ["actor"], buckets=LATENCY_BUCKETS, registry=self.registry
        )

    def answered(self, operation: str, status: int, seconds: float, refusal: str) -> None:
        """One request more. `operation` is from the table, never a path that a client chose."""
        self._answers.count(operation, status, seconds, refusal)

    def committed(self, actor: str, messages: int, seconds: float) -> None:
        """One batch more."""
        self._batches.labels(actor).observe(messages)
        self._commits.labels(actor).observe(seconds)

    def watch(self, actors: Callable[[], Sequence[ActorStatistics]], database: Callable[[], object]) -> None:
        """Read actors' and the pool's statistics at each scrape."""
        self.registry.register(_Pictures(actors, database))

    def watch_events(self, fates: Mapping[EventOutcome, int]) -> None:
        """Read at each scrape how many events were recorded, and how many dropped and why."""
        self.registry.register(_Events(fates))

    def watch_nodes(self, nodes: Heartbeat) -> None:
        """Read at each scrape which node this is, and how many live."""
        self.registry.register(_Nodes(nodes))

    def watch_snapshots(
        self, catalog: Callable[[], CatalogStatistics], placements: Callable[[], PlacementsStatistics]
    ) -> None:
        """Read at each scrape how new the snapshots are that requests are answered from."""
        self.registry.register(_Snapshots(catalog, placements))

    def page(self) -> bytes:
        """The text exposition."""
        return generate_latest(self.registry)


class _Answers(Collector):
    """Requests by operation and status, their time, and refusals by code.

    Counted in plain numbers, since every request comes by here: the library's counters take a lock each.
    """

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._refusals: Counter[str] = Counter()
        # By operation: answers in each bucket, the last one without a bound, and the sum of their seconds.
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


class _Pictures(Collector):
    def __init__(self, actors: Callable[[], Sequence[ActorStatistics]], database: Callable[[], object]) -> None:
        self._actors = actors
        self._database = database

    def collect(self) -> Iterable[Metric]:
        waiting = GaugeMetricFamily("catalog_mailbox_depth", "Messages that wait.", labels=["actor"])
        running = GaugeMetricFamily("catalog_actor_accepting", "1 when the actor accepts messages.", labels=["actor"])
        counts = CounterMetricFamily("catalog_actor_events", "What befell an actor.", labels=["actor", "event"])
        for actor in self._actors():
            waiting.add_metric([actor.name], actor.waiting)
            running.add_metric([actor.name], int(actor.accepting))
            for event in ("refused", "unavailable", "settled", "restarts"):
                counts.add_metric([actor.name, event], getattr(actor, event))
        yield from (waiting, running, counts)
        pool = self._database()
        gauge = GaugeMetricFamily("catalog_database_connections", "Connections by state.", labels=["state"])
        for state in ("open", "busy", "waiting"):
            gauge.add_metric([state], getattr(pool, state))
        events = CounterMetricFamily("catalog_database_events", "Transactions and what befell them.", labels=["event"])
        for event in ("transactions", "contended", "unavailable", "unknown", "refused", "loop_errors"):
            events.add_metric([event], getattr(pool, event))
        yield from (gauge, events)


class _Events(Collector):
    def __init__(self, fates: Mapping[EventOutcome, int]) -> None:
        self._fates = fates

    def collect(self) -> Iterable[Metric]:
        events = CounterMetricFamily("catalog_events", "Placement events by what became of them.", labels=["fate"])
        for fate in EventOutcome:
            events.add_metric([fate.value], self._fates.get(fate, 0))
        yield events


class _Nodes(Collector):
    def __init__(self, nodes: Heartbeat) -> None:
        self._nodes = nodes

    def collect(self) -> Iterable[Metric]:
        node = self._nodes.node
        said = {"node": node.id, "version": node.version}
        yield InfoMetricFamily("catalog_node", "Which process this is; made anew at each start.", value=said)
        yield GaugeMetricFamily("catalog_nodes_live", "Nodes that share the limits.", value=self._nodes.live())
        age_seconds = self._nodes.age_seconds
        if age_seconds is not None:
            words = "Seconds since this node's last beat got through."
            yield GaugeMetricFamily("catalog_node_beat_age_seconds", words, value=age_seconds)


class _Snapshots(Collector):
    def __init__(
        self, catalog: Callable[[], CatalogStatistics], placements: Callable[[], PlacementsStatistics]
    ) -> None:
        self._catalog = catalog
        self._placements = placements

    def collect(self) -> Iterable[Metric]:
        catalog, placements = self._catalog(), self._placements()
        revision = GaugeMetricFamily("catalog_snapshot_revision", "Revision that is served.", labels=["snapshot"])
        away = GaugeMetricFamily("catalog_snapshot_away", "1 while the store does not answer.", labels=["snapshot"])
        for name, statistics in (("catalog", catalog), ("placements", placements)):
            revision.add_metric([name], statistics.revision)
            away.add_metric([name], int(statistics.away))
        live = GaugeMetricFamily("catalog_placements_live", "Placements that are shown now.", value=placements.live)
        yield from (revision, away, live)
