"""Metrics that are read at each scrape: the state of actors, database, snapshots, nodes, mails, refunds and backups."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric

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


def actor_metrics(actors: Callable[[], Sequence[ActorStatistics]], database: Callable[[], object]) -> Iterable[Metric]:
    """Actors, and the pool of connections."""
    waiting = GaugeMetricFamily("catalog_mailbox_depth", "Waiting messages.", labels=["actor"])
    running = GaugeMetricFamily("catalog_actor_accepting", "1 when the actor accepts messages.", labels=["actor"])
    counts = CounterMetricFamily("catalog_actor_events", "Events of an actor.", labels=["actor", "event"])
    for actor in actors():
        waiting.add_metric([actor.name], actor.waiting)
        running.add_metric([actor.name], int(actor.accepting))
        for event in ("refused", "unavailable", "settled", "restarts"):
            counts.add_metric([actor.name, event], getattr(actor, event))
    yield from (waiting, running, counts)
    pool = database()
    gauge = GaugeMetricFamily("catalog_database_connections", "Connections by state.", labels=["state"])
    for state in ("open", "busy", "waiting"):
        gauge.add_metric([state], getattr(pool, state))
    events = CounterMetricFamily("catalog_database_events", "Transactions and their problems.", labels=["event"])
    for event in ("transactions", "contended", "unavailable", "unknown", "refused", "loop_errors"):
        events.add_metric([event], getattr(pool, event))
    yield from (gauge, events)


def event_metrics(outcomes: Mapping[EventOutcome, int]) -> Iterable[Metric]:
    """Placement events."""
    events = CounterMetricFamily("catalog_events", "Placement events by outcome.", labels=["fate"])
    for outcome in EventOutcome:
        events.add_metric([outcome.value], outcomes.get(outcome, 0))
    yield events


def node_metrics(nodes: Heartbeat) -> Iterable[Metric]:
    """The node, and how many others it sees."""
    node = nodes.node
    labels = {"node": node.id, "version": node.version}
    yield InfoMetricFamily("catalog_node", "Id and version of this process. Each start has a new id.", value=labels)
    yield GaugeMetricFamily("catalog_nodes_live", "Nodes that share the limits.", value=nodes.live())
    age_seconds = nodes.age_seconds
    if age_seconds is not None:
        text = "Seconds since this node's last successful heartbeat."
        yield GaugeMetricFamily("catalog_node_beat_age_seconds", text, value=age_seconds)


def work_metrics(mail: MailSender, sweeper: HoldAndRefundSweeper) -> Iterable[Metric]:
    """Work that waits in the database, as the tasks that do it have last seen it. All nodes see the same work."""
    text = "Mails in the outbox that are not sent; at most 1000 are counted."
    yield GaugeMetricFamily("catalog_mail_waiting", text, value=mail.backlog.waiting)
    text = "Age of the oldest of these mails; 0 if there is none."
    yield GaugeMetricFamily("catalog_mail_oldest_seconds", text, value=mail.oldest_seconds())
    text = "Refunds that are not made, due or postponed; at most 1000 are counted."
    yield GaugeMetricFamily("catalog_refunds_waiting", text, value=sweeper.refunds_waiting)


def webhook_metrics(sender: WebhookSender) -> Iterable[Metric]:
    """Webhooks out: what waits in the database, as the sender has last seen it, and the attempts of this process."""
    text = "Deliveries that wait for webhooks that are on; at most 1000 are counted."
    yield GaugeMetricFamily("catalog_webhook_waiting", text, value=sender.backlog.waiting)
    text = "Age of the oldest of these deliveries; 0 if there is none."
    yield GaugeMetricFamily("catalog_webhook_oldest_seconds", text, value=sender.oldest_seconds())
    text = "How long a receiver that works has waited for a delivery that is due; 0 if none does."
    yield GaugeMetricFamily("catalog_webhook_late_seconds", text, value=sender.late_seconds())
    attempts = CounterMetricFamily("catalog_webhook_attempts", "Attempts by outcome.", labels=["outcome"])
    attempts.add_metric(["delivered"], sender.sent)
    attempts.add_metric(["failed"], sender.refused)
    yield attempts
    yield CounterMetricFamily("catalog_webhooks_disabled", "Webhooks turned off.", value=sender.disabled)


def span_metrics(counts: SpanCounts) -> Iterable[Metric]:
    """Spans, if they are made."""
    spans = CounterMetricFamily("catalog_spans", "Spans made, sent, and not taken in time.", labels=["event"])
    for event in ("made", "sent", "failed"):
        spans.add_metric([event], getattr(counts, event))
    yield spans


def event_server_metrics(servers: ServerWatch) -> Iterable[Metric]:
    """The servers of a distributed database, by the engine's number: no address on a page that may be public."""
    up = GaugeMetricFamily("catalog_event_server_up", "1 when it answers to the service.", labels=["server"])
    places = GaugeMetricFamily("catalog_event_server_places", "Places of events that it holds.", labels=["server"])
    problems = GaugeMetricFamily("catalog_event_server_problems", "Problems to mend: see doctor.", labels=["server"])
    text = "Age of its oldest prepared transaction."
    prepared = GaugeMetricFamily("catalog_event_server_prepared_seconds", text, labels=["server"])
    for report in servers.reports:
        labels = [str(report.number)]
        up.add_metric(labels, int(not report.error))
        places.add_metric(labels, report.places)
        problems.add_metric(labels, len(report.problems()))
        prepared.add_metric(labels, report.prepared_seconds)
    yield from (up, places, problems, prepared)


def backup_metrics(backups: BackupScheduler) -> Iterable[Metric]:
    """Scheduled backups. With several workers, their parent makes them."""
    statistics = backups.statistics()
    counts = CounterMetricFamily("catalog_backups", "Scheduled backups by outcome.", labels=["outcome"])
    for outcome in ("made", "failed"):
        counts.add_metric([outcome], getattr(statistics, outcome))
    yield counts
    age_seconds = backups.age_seconds()
    if age_seconds is not None:
        text = "Age of the newest scheduled backup. Absent if there is none."
        yield GaugeMetricFamily("catalog_backup_age_seconds", text, value=age_seconds)


def proxy_metrics(proxies: Proxies) -> Iterable[Metric]:
    """Proxies that are not trusted."""
    text = "Requests with a header of proxies from an address outside server.trusted_proxies."
    yield CounterMetricFamily("catalog_untrusted_forwards", text, value=proxies.ignored)


def snapshot_metrics(
    catalog: Callable[[], CatalogStatistics], placements: Callable[[], PlacementsStatistics]
) -> Iterable[Metric]:
    """The catalog and the placements that are served."""
    entries, sold = catalog(), placements()
    revision = GaugeMetricFamily("catalog_snapshot_revision", "Revision served.", labels=["snapshot"])
    away = GaugeMetricFamily("catalog_snapshot_away", "1 while the store is unavailable.", labels=["snapshot"])
    for name, statistics in (("catalog", entries), ("placements", sold)):
        revision.add_metric([name], statistics.revision)
        away.add_metric([name], int(statistics.away))
    live = GaugeMetricFamily("catalog_placements_live", "Placements shown now.", value=sold.live)
    yield from (revision, away, live)
