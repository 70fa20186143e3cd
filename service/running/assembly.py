"""The one place that wires actors, snapshots and services. The running node, the app tests and the simulation all use it.

They differ only in the arguments: stores in Postgres or in memory, real or simulated ports, and limits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from actors.accounts.actor import AccountActor
from actors.accounts.sweeper import AccountEraser
from actors.bookings.actor import BookingLedger
from actors.bookings.sweeper import HoldAndRefundSweeper
from actors.catalog.actor import CatalogEditor
from actors.catalog.submission_actor import SubmissionActor
from actors.clock import Clock, Entropy, MovableClock
from actors.devices.actor import DeviceAuthorizer
from actors.events.actor import EventDeduper
from actors.events.filtered import FilteredCounts
from actors.events.partitions import PartitionManager
from actors.events.router import EventRouter
from actors.events.secrets import VisitorSecrets
from actors.events.servers import ServerWatch
from actors.events.sites import SiteBook
from actors.events.state import VisitorHasher
from actors.events.windows import WindowReader
from actors.kernel.clock_mover import ClockMover
from actors.kernel.periodic import PeriodicTask
from actors.kernel.pruner import Pruner, Pruning
from actors.kernel.statistics import Observer, ServedBatch
from actors.kernel.supervision import Member
from actors.keys.actor import KeyActor
from actors.keys.cache import KeyCache
from actors.keys.end_notices import KeyEndNotifier
from actors.keys.last_uses import KeyUses
from actors.mail.actor import MailSender
from actors.mail.internet import sender_address
from actors.mail.messages import Mail, QueuedMessage
from actors.mail.store import Outbox, Transport
from actors.nodes.heartbeat import Heartbeat
from actors.nodes.messages import NodeInfo
from actors.quota.actor import QuotaAccountant
from actors.retention.state import RetentionRules, retention_ms
from actors.sessions.actor import SessionActor
from actors.sessions.passkey_actor import PasskeyActor
from actors.sessions.reader import SessionReader
from actors.shared.credentials import code_from
from actors.stores import PoolStatistics, Stores
from actors.webhooks.actor import WebhookActor
from actors.webhooks.sender import WebhookSender
from actors.webhooks.store import Receivers
from service.api.context import Services
from service.api.list_counts import CachedCounts
from service.api.oauth.clients import RegisteredClients
from service.api.oauth.documents import ClientDocuments, Clients, Fetch
from service.api.rate_limits import Budgets
from service.config.bounds import origin_of
from service.config.model import Config
from service.config.synonyms import synonyms_in
from service.config.user_errors import ConfigError
from service.observability import collectors
from service.observability.client_address import Proxies
from service.observability.health import Health
from service.observability.metrics import Metrics
from service.observability.refusal_log import RefusalLog
from service.observability.request_counts import AnswerCounts
from service.observability.tracing import Tracer
from service.outside.client_documents import HttpDocuments
from service.outside.smtp import ConsoleTransport, SmtpTransport
from service.outside.webauthn import WebAuthn
from service.outside.webhook_client import HttpReceivers, WebhookSigner
from service.payments.factory import PaymentGateway, payment_gateway
from service.running.limits import Limits, mail_about
from service.running.server_secret import Secrets
from service.snapshots.catalog import Catalog
from service.snapshots.invalidation import CacheInvalidator
from service.snapshots.placements import Placements
from service.tokens.links import Links
from service.tokens.signing import Cursors, TokenSigner


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes to instantiate. The simulation replaces some by recording or faulty subclasses."""

    keys: type[KeyActor] = KeyActor
    key_cache: type[KeyCache] = KeyCache
    sessions: type[SessionActor] = SessionActor
    session_reader: type[SessionReader] = SessionReader
    devices: type[DeviceAuthorizer] = DeviceAuthorizer
    quota: type[QuotaAccountant] = QuotaAccountant
    mail: type[MailSender] = MailSender
    webhook_sender: type[WebhookSender] = WebhookSender
    submissions: type[SubmissionActor] = SubmissionActor
    ledger: type[BookingLedger] = BookingLedger
    sweeper: type[HoldAndRefundSweeper] = HoldAndRefundSweeper
    hasher: type[VisitorHasher] = VisitorHasher
    visitor_secrets: type[VisitorSecrets] = VisitorSecrets
    deduper: type[EventDeduper] = EventDeduper
    filtered: type[FilteredCounts] = FilteredCounts
    windows: type[WindowReader] = WindowReader
    partitions: type[PartitionManager] = PartitionManager
    catalog: type[Catalog] = Catalog
    placements: type[Placements] = Placements
    sites: type[SiteBook] = SiteBook
    editor: type[CatalogEditor] = CatalogEditor


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside world: time, randomness, secrets, mail and payments. `node` names this process among the nodes.

    Mail, payments, receivers and `fetch`, which gets documents of clients, follow the configuration when they are None.
    Without a `tracer`, no spans are made.
    """

    node: NodeInfo
    clock: Clock
    entropy: Entropy
    secrets: Secrets
    mail: Transport | None = None
    payments: PaymentGateway | None = None
    receivers: Receivers | None = None
    fetch: Fetch | None = None
    tracer: Tracer | None = None
    classes: Classes = field(default_factory=Classes)


@dataclass(frozen=True, slots=True)
class Assembly:
    """A node that does not run yet. `members` are started in this order and stopped in the reverse order."""

    services: Services
    metrics: Metrics
    partitions: PartitionManager
    members: Sequence[Member]
    tracer: Tracer | None


def assemble(config: Config, stores: Stores, ports: Ports, limits: Limits | None = None) -> Assembly:
    """Wire a node. `limits` follow the configuration when they are None. Raises `ConfigError` for unusable mail settings."""
    limits = limits or Limits.of(config)
    services = _services(config, stores, ports, limits)
    actors, clock, sweep_seconds = services.actors, ports.clock, limits.event_sweep_seconds
    catalog, placements = services.catalog, services.placements
    partitions = ports.classes.partitions(stores.events, clock, limits.event_rules, sweep_seconds=sweep_seconds)
    invalidator = CacheInvalidator(stores.announcements, services.key_cache, catalog, placements)
    senders = (services.mail, services.webhook_sender)
    key_ends = KeyEndNotifier(services.keys, services.mail.wake)
    background = (services.sweeper, services.key_uses, key_ends, services.nodes, partitions, services.eraser)
    watches: list[Member] = [services.visitor_secrets]
    watches += [services.event_servers] if stores.ask_servers is not None else []
    watches += [services.sites] if limits.sites.count else []
    pruner = Pruner(prunings(stores, limits.retention), clock)
    if isinstance(clock, MovableClock):
        services.clock_mover = _clock_mover(services, stores, clock, (key_ends, services.eraser), (partitions, pruner))
    return Assembly(
        services=services,
        metrics=_metrics(services, stores.database.statistics, ports.tracer),
        partitions=partitions,
        tracer=ports.tracer,
        members=[
            invalidator,
            catalog,
            placements,
            services.events.filtered,
            *actors,
            *senders,
            *background,
            *watches,
            pruner,
        ],
    )


def _clock_mover(
    services: Services,
    stores: Stores,
    clock: MovableClock,
    background: Sequence[PeriodicTask],
    pruning: Sequence[PeriodicTask],
) -> ClockMover:
    """The tasks in the order of a stop: the work that is due, then its mails and webhooks."""
    next_due = partial(stores.clock.next_due, digest_ms=services.ledger.rules.digest_ms)
    due = (services.sweeper, *background, services.mail, services.webhook_sender)
    seen = (services.visitor_secrets, services.events.filtered, services.catalog, services.placements)
    return ClockMover(clock, stores.clock.set_ahead, next_due, due, (*pruning, *seen))


def _services(config: Config, stores: Stores, ports: Ports, limits: Limits) -> Services:
    base_url = config.server.base_url or origin_of(ports.node.url)
    clock, entropy, secrets, classes = ports.clock, ports.entropy, ports.secrets, ports.classes
    node, bounds, hasher = ports.node.id, limits.actors, classes.hasher(secrets.visitors)
    nodes, event_servers = Heartbeat(stores.nodes, ports.node, limits.nodes), ServerWatch(stores.ask_servers)
    links, signer = Links(base_url, secrets.links), WebhookSigner(secrets.webhooks)
    gateway = ports.payments or payment_gateway(config, links, clock)
    receivers = ports.receivers or HttpReceivers(signer, clock, config.webhooks.allow_networks, base_url)
    accounts = AccountActor(stores.accounts, clock, entropy, secrets.codes, limits.accounts, node=node, limits=bounds)
    ledger = classes.ledger(stores.ledger, clock, entropy, limits.bookings, node=node, limits=bounds)
    services = Services(
        config=config,
        base_url=base_url,
        clock=clock,
        entropy=entropy,
        keys=classes.keys(stores.keys, clock, entropy, secrets.codes, limits.keys, node=node, limits=bounds),
        key_cache=classes.key_cache(
            stores.keys,
            node=node,
            limits=bounds,
            life_seconds=limits.key_cache_seconds,
            capacity=limits.key_cache_size,
        ),
        key_uses=KeyUses(stores.keys, clock, write_seconds=limits.key_uses_seconds, capacity=limits.key_cache_size),
        session_reader=classes.session_reader(stores.sessions, node=node, limits=bounds),
        devices=classes.devices(
            stores.devices, clock, entropy, secrets.codes, limits.devices, node=node, limits=bounds
        ),
        sessions=classes.sessions(
            stores.sessions, clock, entropy, secrets.codes, limits.sessions, node=node, limits=bounds
        ),
        passkeys=_passkeys(base_url, stores, ports, limits),
        quota=classes.quota(
            stores.quota, clock, limits.caps, limits.per_minute, node=node, limits=bounds, nodes=nodes.live
        ),
        mail=_mail_sender(config, links, stores.outbox, ports, limits),
        submissions=classes.submissions(
            stores.submissions, clock, entropy, limits.submissions, node=node, limits=bounds
        ),
        catalog=classes.catalog(stores.catalog, limits.catalog, synonyms_in(config.catalog.synonyms)),
        editor=classes.editor(stores.catalog, clock, entropy, None, node=node, limits=bounds),
        placements=classes.placements(stores.sponsorship, clock, config.billing.mode, limits.placements),
        ledger=ledger,
        sponsorship=stores.sponsorship,
        counts=CachedCounts(stores.sponsorship, clock),
        sweeper=classes.sweeper(stores.sponsorship, ledger, gateway.payments, clock, limits.sweeper),
        accounts=accounts,
        eraser=AccountEraser(accounts),
        events=_event_router(stores, ports, limits, hasher),
        visitor_secrets=classes.visitor_secrets(stores.visitor_secrets, hasher, clock, entropy),
        windows=classes.windows(stores.events, node=node, limits=replace(limits.events, lanes=1)),
        sites=classes.sites(stores.sites, clock, limits.sites),
        event_servers=event_servers,
        nodes=nodes,
        cursors=Cursors(secrets.cursors),
        budgets=Budgets(config, clock, nodes.live),
        health=_health(stores, clock, limits, nodes, event_servers, lambda: services),
        answers=AnswerCounts(),
        refusal_log=RefusalLog(clock, node, stores.database.statistics),
        proxies=Proxies(config.server.trusted_proxies, clock),
        links=links,
        clients=_clients(config, ports, base_url),
        payments=gateway.payments,
        webhook=gateway.webhook,
        webhooks=WebhookActor(stores.webhooks, clock, entropy, limits.webhooks, node=node, limits=bounds),
        webhook_sender=classes.webhook_sender(stores.webhooks, receivers, clock, limits=limits.webhook_sender),
        webhook_signer=signer,
    )
    return services


def _clients(config: Config, ports: Ports, base_url: str) -> Clients:
    fetch = ports.fetch or HttpDocuments(config.webhooks.allow_networks, base_url).fetch
    signer = TokenSigner(ports.secrets.links)
    return Clients(RegisteredClients(signer), ClientDocuments(fetch), signer)


def _health(
    stores: Stores,
    clock: Clock,
    limits: Limits,
    nodes: Heartbeat,
    event_servers: ServerWatch,
    services: Callable[[], Services],
) -> Health:
    return Health(
        ping=stores.database.ping,
        actors=lambda: services().actor_statistics(),
        write_age_seconds=lambda: nodes.age_seconds,
        write_seconds=limits.nodes.live_seconds,
        event_servers=event_servers,
        dedupers=lambda: [each.name for each in services().events.dedupers],
        clock=clock,
    )


def _passkeys(base_url: str, stores: Stores, ports: Ports, limits: Limits) -> PasskeyActor:
    site, codes = WebAuthn(base_url), ports.secrets.codes
    clock, entropy, rules, node = ports.clock, ports.entropy, limits.sessions, ports.node.id
    return PasskeyActor(stores.sessions, site, clock, entropy, codes, rules, node=node, limits=limits.actors)


def _mail_sender(config: Config, links: Links, outbox: Outbox, ports: Ports, limits: Limits) -> MailSender:
    url, seconds = config.mail.smtp_url, config.mail.timeout_seconds
    try:
        transport = ports.mail or (SmtpTransport(url, seconds=seconds) if url else ConsoleTransport())
        sender_address(config.mail.sender)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    return ports.classes.mail(outbox, transport, ports.clock, _mail_writer(config, links, ports), limits=limits.mail)


def _mail_writer(config: Config, links: Links, ports: Ports) -> Callable[[QueuedMessage], Mail]:
    """Renders mails. The templates and their library are loaded for the first one, which takes a twentieth of a second."""

    @cache
    def write() -> Callable[[QueuedMessage], Mail]:
        from actors.mail.rendering import MailRenderer

        code_of, links_of = partial(code_from, ports.secrets.codes), (links.ending_url, links.stop_url)
        return MailRenderer(config.mail.sender, links.base_url, code_of, *links_of, mail_about(config)).write

    return lambda message: write()(message)


def _event_router(stores: Stores, ports: Ports, limits: Limits, hasher: VisitorHasher) -> EventRouter:
    """A deduper for each worker of a distributed database, or one."""
    count = stores.sections.count if stores.sections else 1
    dedupers = [
        ports.classes.deduper(
            stores.events,
            ports.clock,
            hasher,
            node=ports.node.id,
            limits=limits.events,
            section=section,
            remember=max(2, limits.event_keys_remembered // count),
        )
        for section in range(count)
    ]
    return EventRouter(
        dedupers, ports.classes.filtered(stores.events, ports.clock, node=ports.node.id), stores.sections
    )


def prunings(stores: Stores, rules: RetentionRules) -> list[Pruning]:
    """All rows to delete after a time."""
    return [
        Pruning(rows, life_ms, partial(stores.retention.prune, rows)) for rows, life_ms in retention_ms(rules).items()
    ]


def _metrics(services: Services, pool: Callable[[], PoolStatistics], tracer: Tracer | None) -> Metrics:
    metrics = Metrics(services.answers)
    for actor in services.actors:
        actor.observer = metrics.committed if tracer is None else _both(metrics.committed, tracer.batch)
    if tracer is not None:
        metrics.observe(partial(collectors.span_metrics, tracer.counts))
    metrics.observe(
        partial(collectors.actor_metrics, services.health.actors, pool),
        partial(collectors.snapshot_metrics, services.catalog.statistics, services.placements.statistics),
        partial(collectors.event_metrics, services.events.outcomes),
        partial(collectors.node_metrics, services.nodes),
        partial(collectors.work_metrics, services.mail, services.sweeper),
        partial(collectors.webhook_metrics, services.webhook_sender),
        partial(collectors.event_server_metrics, services.event_servers),
        partial(collectors.proxy_metrics, services.proxies),
    )
    return metrics


def _both(first: Observer, second: Observer) -> Observer:
    def observe(batch: ServedBatch) -> None:
        first(batch)
        second(batch)

    return observe
