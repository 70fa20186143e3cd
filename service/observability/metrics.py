"""Prometheus metrics: requests by operation and status, and the state of actors, database and snapshots."""

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

from actors.backups.keeper import BackupKeeper
from actors.events.router import EventOutcome
from actors.events.servers import ServerWatch
from actors.nodes.heartbeat import Heartbeat
from actors.statistics import ActorStatistics
from service.observability.proxies import Proxies
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

    def answered(self, operation: str, status: int, seconds: float, refusal: str) -> None:
        """Count a request. `operation` comes from the operation table, never from the client's path."""
        self._answers.count(operation, status, seconds, refusal)

    def committed(self, actor: str, messages: int, seconds: float) -> None:
        """Count a committed batch."""
        self._batches.labels(actor).observe(messages)
        self._commits.labels(actor).observe(seconds)

    # Sources that are read at each scrape.

    def observe_actors(self, actors: Callable[[], Sequence[ActorStatistics]], database: Callable[[], object]) -> None:
        self.registry.register(_ActorsAndDatabase(actors, database))

    def observe_events(self, outcomes: Mapping[EventOutcome, int]) -> None:
        self.registry.register(_Events(outcomes))

    def observe_backups(self, backups: BackupKeeper) -> None:
        self.registry.register(BackupCollector(backups))

    def observe_nodes(self, nodes: Heartbeat) -> None:
        self.registry.register(_Nodes(nodes))

    def observe_event_servers(self, servers: ServerWatch) -> None:
        self.registry.register(_EventServers(servers))

    def observe_proxies(self, proxies: Proxies) -> None:
        self.registry.register(_Proxies(proxies))

    def observe_snapshots(
        self, catalog: Callable[[], CatalogStatistics], placements: Callable[[], PlacementsStatistics]
    ) -> None:
        self.registry.register(_Snapshots(catalog, placements))

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


class _ActorsAndDatabase(Collector):
    def __init__(self, actors: Callable[[], Sequence[ActorStatistics]], database: Callable[[], object]) -> None:
        self._actors = actors
        self._database = database

    def collect(self) -> Iterable[Metric]:
        waiting = GaugeMetricFamily("catalog_mailbox_depth", "Waiting messages.", labels=["actor"])
        running = GaugeMetricFamily("catalog_actor_accepting", "1 when the actor accepts messages.", labels=["actor"])
        counts = CounterMetricFamily("catalog_actor_events", "Events of an actor.", labels=["actor", "event"])
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
        events = CounterMetricFamily("catalog_database_events", "Transactions and their problems.", labels=["event"])
        for event in ("transactions", "contended", "unavailable", "unknown", "refused", "loop_errors"):
            events.add_metric([event], getattr(pool, event))
        yield from (gauge, events)


class _Events(Collector):
    def __init__(self, outcomes: Mapping[EventOutcome, int]) -> None:
        self._outcomes = outcomes

    def collect(self) -> Iterable[Metric]:
        events = CounterMetricFamily("catalog_events", "Placement events by outcome.", labels=["fate"])
        for outcome in EventOutcome:
            events.add_metric([outcome.value], self._outcomes.get(outcome, 0))
        yield events


class _Nodes(Collector):
    def __init__(self, nodes: Heartbeat) -> None:
        self._nodes = nodes

    def collect(self) -> Iterable[Metric]:
        node = self._nodes.node
        labels = {"node": node.id, "version": node.version}
        yield InfoMetricFamily("catalog_node", "Id and version of this process. Each start has a new id.", value=labels)
        yield GaugeMetricFamily("catalog_nodes_live", "Nodes that share the limits.", value=self._nodes.live())
        age_seconds = self._nodes.age_seconds
        if age_seconds is not None:
            text = "Seconds since this node's last successful heartbeat."
            yield GaugeMetricFamily("catalog_node_beat_age_seconds", text, value=age_seconds)


class _EventServers(Collector):
    """The servers of a distributed database, by the engine's number: no address on a page that may be public."""

    def __init__(self, servers: ServerWatch) -> None:
        self._servers = servers

    def collect(self) -> Iterable[Metric]:
        up = GaugeMetricFamily("catalog_event_server_up", "1 when it answers to the service.", labels=["server"])
        places = GaugeMetricFamily("catalog_event_server_places", "Places of events that it holds.", labels=["server"])
        problems = GaugeMetricFamily(
            "catalog_event_server_problems", "Problems to mend: see doctor.", labels=["server"]
        )
        text = "Age of its oldest prepared transaction."
        prepared = GaugeMetricFamily("catalog_event_server_prepared_seconds", text, labels=["server"])
        for report in self._servers.reports:
            labels = [str(report.number)]
            up.add_metric(labels, int(not report.error))
            places.add_metric(labels, report.places)
            problems.add_metric(labels, len(report.problems()))
            prepared.add_metric(labels, report.prepared_seconds)
        yield from (up, places, problems, prepared)


class BackupCollector(Collector):
    """Scheduled backups. With several workers, their parent makes them."""

    def __init__(self, backups: BackupKeeper) -> None:
        self._backups = backups

    def collect(self) -> Iterable[Metric]:
        statistics = self._backups.statistics()
        backups = CounterMetricFamily("catalog_backups", "Scheduled backups by outcome.", labels=["outcome"])
        for outcome in ("made", "failed"):
            backups.add_metric([outcome], getattr(statistics, outcome))
        yield backups
        age_seconds = self._backups.age_seconds()
        if age_seconds is not None:
            text = "Age of the newest scheduled backup. Absent if there is none."
            yield GaugeMetricFamily("catalog_backup_age_seconds", text, value=age_seconds)


class _Proxies(Collector):
    def __init__(self, proxies: Proxies) -> None:
        self._proxies = proxies

    def collect(self) -> Iterable[Metric]:
        text = "Requests with a header of proxies from an address outside server.trusted_proxies."
        yield CounterMetricFamily("catalog_untrusted_forwards", text, value=self._proxies.ignored)


class _Snapshots(Collector):
    def __init__(
        self, catalog: Callable[[], CatalogStatistics], placements: Callable[[], PlacementsStatistics]
    ) -> None:
        self._catalog = catalog
        self._placements = placements

    def collect(self) -> Iterable[Metric]:
        catalog, placements = self._catalog(), self._placements()
        revision = GaugeMetricFamily("catalog_snapshot_revision", "Revision served.", labels=["snapshot"])
        away = GaugeMetricFamily("catalog_snapshot_away", "1 while the store is unavailable.", labels=["snapshot"])
        for name, statistics in (("catalog", catalog), ("placements", placements)):
            revision.add_metric([name], statistics.revision)
            away.add_metric([name], int(statistics.away))
        live = GaugeMetricFamily("catalog_placements_live", "Placements shown now.", value=placements.live)
        yield from (revision, away, live)
