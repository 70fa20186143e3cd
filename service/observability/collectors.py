"""Metrics that are read at each scrape: the state of actors, database, snapshots, nodes, mails, refunds and backups."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from actors.backups.scheduler import BackupScheduler
from actors.bookings.sweeper import HoldAndRefundSweeper
from actors.events.router import EventOutcome
from actors.events.servers import ServerWatch
from actors.kernel.statistics import ActorStatistics
from actors.mail.actor import MailSender
from actors.nodes.heartbeat import Heartbeat
from actors.webhooks.sender import WebhookSender
from service.observability.client_address import Proxies
from service.observability.tracing import SpanCounts
from service.snapshots.catalog import CatalogStatistics
from service.snapshots.placements import PlacementsStatistics


class ActorCollector(Collector):
    """Actors, and the pool of connections."""

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


class EventCollector(Collector):
    """Placement events."""

    def __init__(self, outcomes: Mapping[EventOutcome, int]) -> None:
        self._outcomes = outcomes

    def collect(self) -> Iterable[Metric]:
        events = CounterMetricFamily("catalog_events", "Placement events by outcome.", labels=["fate"])
        for outcome in EventOutcome:
            events.add_metric([outcome.value], self._outcomes.get(outcome, 0))
        yield events


class NodeCollector(Collector):
    """The node, and how many others it sees."""

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


class WorkCollector(Collector):
    """Work that waits in the database, as the tasks that do it have last seen it. All nodes see the same work."""

    def __init__(self, mail: MailSender, sweeper: HoldAndRefundSweeper) -> None:
        self._mail = mail
        self._sweeper = sweeper

    def collect(self) -> Iterable[Metric]:
        text = "Mails in the outbox that are not sent; at most 1000 are counted."
        yield GaugeMetricFamily("catalog_mail_waiting", text, value=self._mail.backlog.waiting)
        text = "Age of the oldest of these mails; 0 if there is none."
        yield GaugeMetricFamily("catalog_mail_oldest_seconds", text, value=self._mail.oldest_seconds())
        text = "Refunds that are not made, due or postponed; at most 1000 are counted."
        yield GaugeMetricFamily("catalog_refunds_waiting", text, value=self._sweeper.refunds_waiting)


class WebhookCollector(Collector):
    """Webhooks out: what waits in the database, as the sender has last seen it, and the attempts of this process."""

    def __init__(self, sender: WebhookSender) -> None:
        self._sender = sender

    def collect(self) -> Iterable[Metric]:
        sender, counts = self._sender, self._sender.counts
        text = "Deliveries that wait for webhooks that are on; at most 1000 are counted."
        yield GaugeMetricFamily("catalog_webhook_waiting", text, value=sender.backlog.waiting)
        text = "Age of the oldest of these deliveries; 0 if there is none."
        yield GaugeMetricFamily("catalog_webhook_oldest_seconds", text, value=sender.oldest_seconds())
        text = "How long a receiver that works has waited for a delivery that is due; 0 if none does."
        yield GaugeMetricFamily("catalog_webhook_late_seconds", text, value=sender.late_seconds())
        attempts = CounterMetricFamily("catalog_webhook_attempts", "Attempts by outcome.", labels=["outcome"])
        for outcome in ("delivered", "failed"):
            attempts.add_metric([outcome], getattr(counts, outcome))
        yield attempts
        yield CounterMetricFamily("catalog_webhooks_disabled", "Webhooks turned off.", value=counts.disabled)


class SpanCollector(Collector):
    """Spans, if they are made."""

    def __init__(self, counts: SpanCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        spans = CounterMetricFamily("catalog_spans", "Spans made, sent, and not taken in time.", labels=["event"])
        for event in ("made", "sent", "failed"):
            spans.add_metric([event], getattr(self._counts, event))
        yield spans


class EventServerCollector(Collector):
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

    def __init__(self, backups: BackupScheduler) -> None:
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


class ProxyCollector(Collector):
    """Proxies that are not trusted."""

    def __init__(self, proxies: Proxies) -> None:
        self._proxies = proxies

    def collect(self) -> Iterable[Metric]:
        text = "Requests with a header of proxies from an address outside server.trusted_proxies."
        yield CounterMetricFamily("catalog_untrusted_forwards", text, value=self._proxies.ignored)


class SnapshotCollector(Collector):
    """The catalog and the placements that are served."""

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
