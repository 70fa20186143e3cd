"""Starts and stops a node: storage, then actors, then the server. Leaving a block stops its layer."""

import gc
import logging
import os
import resource
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from actors.clock import SystemClock, SystemEntropy
from actors.keys.actor import KeyKeeper
from actors.nodes.messages import NodeInfo
from actors.supervision import running
from actors.values import Agent, StorageUnavailable
from service.api.openapi import Described
from service.api.operations import OPERATIONS
from service.assembly import Assembly, Ports, assemble, key_keeper
from service.config import Config
from service.http.listeners import ListenAddress, open_listeners, tls_context
from service.http.server import Server
from service.limits import Limits, serving_limits
from service.observability.health import Health
from service.seed.samples import load_demo, load_samples
from service.server_secret import Secrets
from service.signals import handle_signals, warn_no_reload
from service.version import VERSION
from service.web.app import build_app
from service.web.error_responses import handlers, reject
from service.web.middleware import RequestMiddleware
from storage.opening import Opened, StorageError, StorageOptions, open_storage
from storage.pool import PoolLimits

OTHER_FILES = 200
"""Open files besides client connections: Postgres, the event loop, listeners, mail."""

log = logging.getLogger(__name__)


async def run(config: Config, data_dir: Path, ready: Callable[[Sequence[str]], None]) -> None:
    """Run a whole node until a signal stops it. Calls `ready` with its URLs once it accepts connections."""
    stop = trio.Event()
    addresses = listen_addresses(config)
    async with trio.open_nursery() as nursery:
        await nursery.start(handle_signals, stop, warn_no_reload)
        async with (
            open_storage(storage_options(config), data_dir) as opened,
            open_listeners(addresses, serving_limits(config), SystemClock()) as server,
        ):
            await prepare(config, data_dir, opened)
            await serve(config, data_dir, opened, server, stop, lambda: ready(server.urls))
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def foundation(config: Config, data_dir: Path) -> AsyncIterator[None]:
    """Provide what all nodes of this machine share: Postgres, its schema and the first rows."""
    async with open_storage(storage_options(config), data_dir) as opened:
        await prepare(config, data_dir, opened)
        yield


async def join(config: Config, data_dir: Path, server: Server, stop: trio.Event, ready: Callable[[], None]) -> None:
    """Run one of several nodes over its parent's foundation, until `stop` is set."""
    async with open_storage(storage_options(config), data_dir, beside=True, prepared=True) as opened:
        await serve(config, data_dir, opened, server, stop, ready)


async def prepare(config: Config, data_dir: Path, opened: Opened) -> None:
    """Create the rows of a first start: samples, demo, secret and first administrators."""
    await load_samples(opened.catalog)
    if config.billing.mode == "test":
        # Not in live mode, where the demo's slots would be for sale.
        await load_demo(opened.demo, SystemClock(), SystemEntropy())
    keys = await lone_key_keeper(config, data_dir, opened, f"start-{secrets.token_hex(6)}")
    async with running([keys]):
        await appoint_first(keys, config, Agent("system", "start"))


async def serve(
    config: Config, data_dir: Path, opened: Opened, server: Server, stop: trio.Event, ready: Callable[[], None]
) -> None:
    """Run the actors around the server until `stop` is set. Calls `ready` once connections are accepted."""
    _allow_open_files(config.http.connections)
    async with open_node(config, data_dir, opened, server.url) as node, trio.open_nursery() as nursery:
        _freeze_garbage_collector()
        services, metrics = node.services, node.metrics
        nursery.start_soon(_mark_stopping, services.health, stop)
        app = build_app(services, OPERATIONS, Described.of(OPERATIONS, services.base_url), metrics)
        rejected = RequestMiddleware(reject, metrics, services.refusal_log, services.entropy)
        await server.serve(handlers(app, rejected), stop=stop, ready=ready)
        log.info("listeners are closed; draining actors")
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_node(config: Config, data_dir: Path, opened: Opened, url: str) -> AsyncIterator[Assembly]:
    """Run the actors over open storage. `url` is where the node listens, and its base URL if none is configured."""
    limits = Limits.of(config)
    node = assemble(config, opened, await system_ports(config, data_dir, opened, url), limits)
    async with running(node.members, intensity=limits.intensity, drain_seconds=limits.drain_seconds):
        log.info("node %s is up: %r", node.services.nodes.node.id, node.members)
        yield node


async def system_ports(config: Config, data_dir: Path, opened: Opened, url: str, node_id: str = "") -> Ports:
    """The real ports. A node without an id gets a new one at each start."""
    clock, entropy = SystemClock(), SystemEntropy()
    loaded = await Secrets.load(config.server.secret, data_dir, opened.identity)
    node_id = node_id or secrets.token_hex(6)
    node = NodeInfo(node_id, socket.gethostname(), os.getpid(), VERSION, url, clock.now_ms())
    return Ports(node, clock, entropy, loaded)


async def lone_key_keeper(config: Config, data_dir: Path, opened: Opened, node_id: str) -> KeyKeeper:
    """The key keeper alone, for the start and for commands. It is not running yet."""
    return key_keeper(opened.keys, await system_ports(config, data_dir, opened, "", node_id), Limits.of(config))


async def appoint_first(keys: KeyKeeper, config: Config, agent: Agent) -> None:
    """Make `admin.emails` the administrators of a database that has none. Raises `StorageError`."""
    if not config.admin.emails:
        return
    try:
        appointed = await keys.bootstrap_admins(config.admin.emails, agent)
    except StorageUnavailable as error:
        raise StorageError(f"cannot add the administrators of admin.emails: {error}") from None
    if appointed.changed:
        log.info("added %d administrators from admin.emails", appointed.administrators)


async def _mark_stopping(health: Health, stop: trio.Event) -> None:
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
        log.warning(
            "http.connections = %d needs more open files than the system's limit of %d: raise the limit",
            connections,
            allowed,
        )


def _freeze_garbage_collector() -> None:
    """Exempt all objects of the start, which live as long as the process, from collections that would stall the loop."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)


def listen_addresses(config: Config) -> list[ListenAddress]:
    """The addresses to listen on. Raises `ListenError` if the TLS files cannot be used."""
    addresses = [ListenAddress(*address_of(config.server.bind))]
    if config.tls.bind:
        context = tls_context(Path(config.tls.certificate), Path(config.tls.key))
        addresses.append(ListenAddress(*address_of(config.tls.bind), setting="tls.bind", tls=context))
    return addresses


def address_of(bind: str) -> tuple[str, int]:
    """Host and port of `host:port`, with or without brackets around an IPv6 host."""
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


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
