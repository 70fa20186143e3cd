"""The composition root: the only place that knows the concrete classes. Its nesting is the life of the process.

Storage is around the actors, the actors around the server: leaving a block stops its layer.
"""

import gc
import logging
import os
import resource
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import trio

from actors.actor import Actor, ActorLimits
from actors.bookings.actor import BookingLedger
from actors.bookings.sweeper import HoldAndRefundSweeper
from actors.clock import DAY_MS, Clock, SystemClock, SystemEntropy
from actors.credentials import code_from
from actors.devices.actor import DeviceAuthorizer
from actors.events.actor import EventDeduper
from actors.events.keeper import PartitionKeeper
from actors.events.router import EventRouter
from actors.events.shards import ShardMap
from actors.events.state import EventRules, VisitorHasher
from actors.events.store import EventStore
from actors.events.windows import WindowReader
from actors.keys.actor import KeyKeeper
from actors.keys.cache import KeyCache
from actors.keys.store import UseStore
from actors.keys.uses import KeyUses
from actors.mail.actor import MailLimits, MailSender
from actors.mail.letters import LetterWriter
from actors.mail.store import Outbox
from actors.nodes.heartbeat import Heartbeat
from actors.nodes.messages import NodeInfo
from actors.nodes.store import NodeStore
from actors.pruner import Pruner, Pruning
from actors.quota.actor import QuotaAccountant
from actors.sessions.actor import SessionKeeper
from actors.sessions.reader import SessionReader
from actors.supervision import Intensity, Member, running
from actors.values import Agent, StorageUnavailable
from service.api.context import Services
from service.api.openapi import Described
from service.api.operations import OPERATIONS
from service.api.rate_limits import Budgets
from service.config import Config
from service.http.limits import ServingLimits
from service.http.listeners import ListenAddress, open_listeners, tls_context
from service.http.server import Server
from service.limits import (
    actor_limits,
    booking_rules,
    caps,
    cashier_limits,
    catalog_limits,
    device_rules,
    key_rules,
    node_rules,
    per_minute,
    placements_limits,
    session_rules,
)
from service.observability.health import Health
from service.observability.metrics import Metrics
from service.observability.refusal_log import RefusalLog
from service.payments.factory import payments_of
from service.seed.samples import load_demo, load_samples
from service.server_secret import Secrets
from service.signals import heed_signals, not_renewed
from service.smtp import ConsoleTransport, SmtpTransport
from service.snapshots.catalog import Catalog
from service.snapshots.invalidation import CacheInvalidator
from service.snapshots.placements import Placements
from service.tokens.cursors import Cursors
from service.tokens.links import Links
from service.user_errors import ConfigError
from service.version import VERSION
from service.web.app import build_app
from service.web.error_responses import handlers, reject
from service.web.middleware import RequestMiddleware
from storage.opening import Opened, StorageError, StorageOptions, open_storage
from storage.pool import PoolLimits

OTHER_FILES = 200
"""Open files beside client connections: Postgres, the loop's own, listeners, mail."""

log = logging.getLogger(__name__)


async def run(config: Config, data_dir: Path, ready: Callable[[Sequence[str]], None]) -> None:
    """A whole node, from nothing until it is told to stop. Calls `ready` with its URLs once it accepts connections."""
    stop = trio.Event()
    places = listenings(config)
    async with trio.open_nursery() as nursery:
        await nursery.start(heed_signals, stop, not_renewed)
        async with (
            open_storage(storage_options(config), data_dir) as opened,
            open_listeners(places, serving_limits(config), SystemClock()) as server,
        ):
            await prepare(config, data_dir, opened)
            await serve(config, data_dir, opened, server, stop, lambda: ready(server.urls))
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def foundation(config: Config, data_dir: Path) -> AsyncIterator[None]:
    """What exists once for all nodes of this machine, for the life of the block: Postgres, its schema and first rows."""
    async with open_storage(storage_options(config), data_dir) as opened:
        await prepare(config, data_dir, opened)
        yield


async def join(config: Config, data_dir: Path, server: Server, stop: trio.Event, ready: Callable[[], None]) -> None:
    """One of several nodes, over the foundation of their parent, until `stop` is set."""
    async with open_storage(storage_options(config), data_dir, beside=True, prepared=True) as opened:
        await serve(config, data_dir, opened, server, stop, ready)


async def prepare(config: Config, data_dir: Path, opened: Opened) -> None:
    """Make what a first start makes: the samples, the demo, the secret, the first administrators."""
    await load_samples(opened.catalog)
    if config.billing.mode == "test":
        # In live mode the demo's slots would be for sale.
        await load_demo(opened.demo, SystemClock(), SystemEntropy())
    secret = await Secrets.load(config.server.secret, data_dir, opened.identity)
    keys = key_keeper(config, opened, secret, f"start-{secrets.token_hex(6)}")
    async with running([keys]):
        await appoint_first(keys, config, Agent("system", "start"))


async def serve(
    config: Config, data_dir: Path, opened: Opened, server: Server, stop: trio.Event, ready: Callable[[], None]
) -> None:
    """The actors around the server, until `stop` is set. Calls `ready` once connections are accepted."""
    _allow_open_files(config.http.connections)
    async with open_node(config, data_dir, opened, server.url) as node, trio.open_nursery() as nursery:
        _calm_collector()
        nursery.start_soon(_say_when_stopping, node.services.health, stop)
        app = build_app(node.services, OPERATIONS, Described.of(OPERATIONS, node.services.base_url), node.metrics)
        rejected = RequestMiddleware(reject, node.metrics, node.services.refusal_log, node.services.entropy)
        await server.serve(handlers(app, rejected), stop=stop, ready=ready)
        log.info("listeners are closed; actors drain")
        nursery.cancel_scope.cancel()


@dataclass(slots=True)
class Node:
    """What runs inside the nest."""

    services: Services
    metrics: Metrics


@asynccontextmanager
async def open_node(config: Config, data_dir: Path, opened: Opened, url: str) -> AsyncIterator[Node]:
    """The actors over an open storage. `url` is where it listens, and the service's address where none is configured."""
    nodes = heartbeat(opened.nodes, url, config)
    metrics = Metrics()
    secret = await Secrets.load(config.server.secret, data_dir, opened.identity)
    services, actors, keepers = _services(config, config.server.base_url or url, nodes, opened, secret)
    for actor in actors:
        actor.observer = partial(metrics.committed, actor.name)
    changes = CacheInvalidator(opened.announcements, services.key_cache, services.catalog, services.placements)
    followers: list[Member] = [changes, services.catalog, services.placements]
    members: list[Member] = [*followers, *actors, services.mail, services.sweeper, services.key_uses, *keepers]
    async with running(
        members,
        intensity=Intensity(config.actors.failures, config.actors.failure_window_seconds),
        drain_seconds=config.actors.drain_seconds,
    ):
        metrics.watch(services.health.actors, opened.database.statistics)
        metrics.watch_snapshots(services.catalog.statistics, services.placements.statistics)
        metrics.watch_events(services.events.fates)
        metrics.watch_nodes(nodes)
        log.info("node %s is up: %r", nodes.node.id, members)
        yield Node(services, metrics)


def _services(
    config: Config, base_url: str, nodes: Heartbeat, opened: Opened, secret: Secrets
) -> tuple[Services, list[Actor[Any, Any]], list[Member]]:
    node, clock, entropy = nodes.node.id, SystemClock(), SystemEntropy()
    limits = actor_limits(config)
    keys = key_keeper(config, opened, secret, node)
    directory = KeyCache(
        opened.keys,
        clock,
        node=node,
        limits=limits,
        life_seconds=config.keys.remember_seconds,
        capacity=config.keys.remember_keys,
    )
    session_reader = SessionReader(opened.sessions, node=node, limits=limits)
    devices = DeviceAuthorizer(opened.devices, clock, entropy, device_rules(config), node=node, limits=limits)
    sessions = SessionKeeper(
        opened.sessions, clock, entropy, secret.codes, session_rules(config), node=node, limits=limits
    )
    quota = QuotaAccountant(
        opened.quota, clock, caps(config), per_minute(config), node=node, limits=limits, nodes=nodes.live
    )
    mail = mail_sender(config, base_url, opened.outbox, secret.codes, clock)
    catalog = Catalog(opened.catalog, catalog_limits(config))
    placements = Placements(opened.sponsorship, clock, config.billing.mode, placements_limits(config))
    links = Links(base_url, secret.links)
    paying = payments_of(config, links, clock)
    ledger = BookingLedger(opened.ledger, clock, entropy, booking_rules(config), node=node, limits=limits)
    cashier = HoldAndRefundSweeper(opened.sponsorship, ledger, paying.payments, clock, cashier_limits(config))
    events = event_members(opened.events, clock, secret.visitors, config, node, opened.shards)
    people = (session_reader, devices, sessions)
    actors: list[Actor[Any, Any]] = [keys, directory, *people, quota, ledger, *events.desk.dedupers, events.windows]
    services = Services(
        config=config,
        base_url=base_url,
        clock=clock,
        entropy=entropy,
        keys=keys,
        key_cache=directory,
        key_uses=key_uses(config, opened.keys, clock),
        session_reader=session_reader,
        devices=devices,
        sessions=sessions,
        quota=quota,
        mail=mail,
        catalog=catalog,
        placements=placements,
        ledger=ledger,
        sponsorship=opened.sponsorship,
        sweeper=cashier,
        events=events.desk,
        windows=events.windows,
        nodes=nodes,
        cursors=Cursors(secret.cursors),
        budgets=Budgets(config, clock, nodes.live),
        health=Health(opened.database.ping, lambda: [*(actor.statistics() for actor in actors), mail.statistics()]),
        refusal_log=RefusalLog(clock, node, opened.database.statistics),
        links=links,
        payments=paying.payments,
        webhook=paying.webhook,
    )
    return services, actors, [nodes, events.keeper, Pruner(prunings(opened), clock)]


def prunings(opened: Opened) -> list[Pruning]:
    """What is deleted after a time. A sign-in counts the codes of its day, also by a clock that is behind."""
    return [
        Pruning("sign-ins", 2 * DAY_MS, opened.sessions.prune_sign_ins),
        Pruning("ended sessions", 30 * DAY_MS, opened.sessions.prune_sessions),
        Pruning("forms", DAY_MS, opened.sessions.prune_forms),
        Pruning("device logins", DAY_MS, opened.devices.prune),
    ]


async def appoint_first(keys: KeyKeeper, config: Config, agent: Agent) -> None:
    """Make `admin.emails` the administrators of a database that has none. Raises `StorageError`."""
    if not config.admin.emails:
        return
    try:
        appointed = await keys.bootstrap_admins(config.admin.emails, agent)
    except StorageUnavailable as error:
        raise StorageError(f"the administrators of admin.emails could not be added: {error}") from None
    if appointed.changed:
        log.info("the first administrators are those of admin.emails: %d", appointed.administrators)


async def _say_when_stopping(health: Health, stop: trio.Event) -> None:
    await stop.wait()
    health.stopping = True


def _allow_open_files(connections: int) -> None:
    """Raise the soft limit of open files, which is often 1,024, to what the connections need."""
    needed = connections + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed:
        log.warning("only %d files may be open: http.connections = %d cannot be reached", allowed, connections)


def _calm_collector() -> None:
    """What stands after the start lives as long as the process; full collections would only stall the loop."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


# From configuration to the limits of each layer.


def mail_sender(config: Config, base_url: str, outbox: Outbox, secret: bytes, clock: Clock) -> MailSender:
    """The mail sender; raises `ConfigError` where an address or the SMTP URL is not usable."""
    mail = config.mail
    try:
        transport = SmtpTransport(mail.smtp_url, seconds=mail.timeout_seconds) if mail.smtp_url else ConsoleTransport()
        letters = LetterWriter(mail.sender, base_url, partial(code_from, secret))
    except ValueError as error:
        raise ConfigError(str(error)) from None
    send_seconds = mail.timeout_seconds + 5.0
    limits = MailLimits(
        send_seconds=send_seconds,
        lease_seconds=max(60.0, 3 * send_seconds),
        close_seconds=0.8 * config.actors.drain_seconds,
    )
    return MailSender(outbox, transport, clock, letters.write, limits=limits)


def listenings(config: Config) -> list[ListenAddress]:
    """Where the node listens; raises `ConfigError` where the files of TLS are of no use."""
    places = [ListenAddress(*address_of(config.server.bind))]
    if config.tls.bind:
        context = tls_context(Path(config.tls.certificate), Path(config.tls.key))
        places.append(ListenAddress(*address_of(config.tls.bind), setting="tls.bind", tls=context))
    return places


def address_of(bind: str) -> tuple[str, int]:
    """Host and port of `host:port`, with or without brackets around an IPv6 host."""
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


@dataclass(frozen=True, slots=True)
class EventMembers:
    """What takes events in, and what keeps room for them."""

    desk: EventRouter
    windows: WindowReader
    keeper: PartitionKeeper


def event_members(
    store: EventStore, clock: Clock, secret: bytes, config: Config, node: str, shards: ShardMap | None = None
) -> EventMembers:
    """A deduper for each shard of the store, or as many as configured where it has none of its own."""
    events = config.events
    count = len(shards) if shards else events.shards
    rules = EventRules(events.bucket_hours, events.keep_days, events.ahead_days)
    limits = ActorLimits(events.mailbox, events.batch, events.answer_seconds)
    seals = VisitorHasher(secret)
    remember = max(1, events.remember // count)
    dedupers = [
        EventDeduper(store, clock, seals, rules, node=node, limits=limits, shard=shard, remember=remember)
        for shard in range(count)
    ]
    desk = EventRouter(dedupers, shards.place_of if shards else None)
    windows = WindowReader(store, node=node, limits=limits)
    return EventMembers(desk, windows, PartitionKeeper(store, clock, rules, sweep_seconds=events.sweep_seconds))


def storage_options(config: Config) -> StorageOptions:
    database = config.database
    return StorageOptions(
        limits=PoolLimits(
            connections=database.connections,
            waiters=database.waiters,
            wait_seconds=database.wait_seconds,
            lock_seconds=database.lock_seconds,
            statement_seconds=database.statement_seconds,
            command_seconds=database.command_seconds,
        ),
        url=database.url or None,
        os_user=database.os_user or None,
        allow_unsafe=database.allow_unsafe,
        nodes=config.server.workers,
        distributed=database.distributed,
    )


def key_keeper(config: Config, opened: Opened, secret: Secrets, node: str) -> KeyKeeper:
    rules, limits = key_rules(config), actor_limits(config)
    return KeyKeeper(opened.keys, SystemClock(), SystemEntropy(), secret.codes, rules, node=node, limits=limits)


def heartbeat(store: NodeStore, url: str, config: Config) -> Heartbeat:
    """This process among the nodes, under an id that is made anew at each start."""
    started_ms = SystemClock().now_ms()
    node = NodeInfo(secrets.token_hex(6), socket.gethostname(), os.getpid(), VERSION, url, started_ms)
    return Heartbeat(store, node, node_rules(config))


def key_uses(config: Config, store: UseStore, clock: Clock) -> KeyUses:
    return KeyUses(store, clock, write_seconds=config.keys.uses_seconds, capacity=config.keys.remember_keys)


def serving_limits(config: Config) -> ServingLimits:
    http = config.http
    return ServingLimits(
        head_seconds=http.head_seconds,
        request_seconds=http.request_seconds,
        stall_seconds=http.stall_seconds,
        connections=http.connections,
        connections_per_address=http.connections_per_address,
        graceful_seconds=config.server.graceful_seconds,
        # All clients behind a proxy come from its one address.
        exempt_networks=(*config.events.exempt_networks, *config.server.trusted_proxies),
    )
