"""Runs a node: actors over open storage, and the server over the actors. Leaving a block stops its layer."""

import gc
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import trio

from actors.backups.scheduler import BackupScheduler
from actors.clock import SystemClock, SystemEntropy
from actors.kernel.supervision import running
from actors.nodes.messages import NodeInfo
from service.api.operations import OPERATIONS
from service.api.operations.node_status import sample_load
from service.config.model import Config
from service.http.asgi import App
from service.http.listen_address import ListenAddress
from service.http.listeners import open_listeners
from service.http.server import Server
from service.observability.collectors import backup_metrics
from service.observability.health import Health, ReadinessWatch, Report, readiness_of
from service.observability.operators_app import serve_operators
from service.observability.tracing import Tracer
from service.running.assembly import Assembly, Ports, assemble
from service.running.foundation import (
    clock_of,
    listen_addresses,
    open_files_for,
    open_to_serve,
    prepare,
    storage_options,
)
from service.running.limits import Limits, serving_limits
from service.running.operators_listener import open_operators_listener
from service.running.scheduled_backups import new_backup_directory, running_backups
from service.running.server_secret import Secrets
from service.running.service_manager import PassedSockets, ServiceManager
from service.running.signals import abandon_start, handle_signals, warn_no_reload
from service.running.unprivileged import drop_root
from service.snapshots.freed_memory import give_back, share_arena
from service.version import VERSION
from service.web.compression import Compressor
from service.web.error_responses import handlers, reject
from service.web.front import OnDemand, behind_front, request_middleware
from storage.opening import Opened, open_storage

HYPERCORN_LACKS = (
    "no minimum rate of bodies, no limits of memory and windows in HTTP/2, malformed requests are not logged"
)

COLLECTIONS = (5_000, 3, 20)
"""When a serving node collects garbage, as `gc.set_threshold` takes it. A page that is being rendered while young objects are
examined counts as old from then on, and is garbage soon after. So old objects are examined, too: every 8 minutes under a
mixed load of 40 requests a second. They are few: a catalog has none, and what is made for good is exempt."""

log = logging.getLogger(__name__)


async def run(config: Config, data_dir: Path, ready: Callable[[Sequence[str]], None], passed: PassedSockets) -> None:
    """Run a whole node until a signal stops it. Calls `ready` with its URLs once it accepts connections."""
    share_arena()  # before the first thread
    stop, ready_once, manager = trio.Event(), trio.Event(), ServiceManager.from_environment(os.environ)
    addresses = listen_addresses(config, passed)
    await _check_addresses(config, addresses, passed)
    limits = replace(serving_limits(config), connections=open_files_for(config))
    async with trio.open_nursery() as nursery:
        await nursery.start(handle_signals, stop, warn_no_reload)
        nursery.start_soon(abandon_start, stop, ready_once, nursery.cancel_scope)
        async with (
            open_to_serve(config, data_dir) as opened,
            open_listeners(addresses, limits, SystemClock(), config.server.engine) as server,
            open_operators_listener(config, passed) as operators,
        ):

            def begun(node: Assembly, tasks: trio.Nursery) -> None:
                async def reports() -> dict[int, Report | None]:
                    return {1: await report_of(node)}

                if backups is not None:
                    node.metrics.observe(partial(backup_metrics, backups))
                if operators is not None:
                    tasks.start_soon(serve_operators, operators, reports)
                ready_once.set()
                ready(server.urls)
                tasks.start_soon(manager.serve_watchdog, stop, f"serving on {server.url}")

            async with prepared(config, data_dir, opened) as backups:
                await serve(config, data_dir, opened, server, stop, begun)
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def prepared(config: Config, data_dir: Path, opened: Opened) -> AsyncIterator[BackupScheduler | None]:
    """Write the rows of a first start, give up root, and run the scheduled backups during the block."""
    await prepare(config, data_dir, opened)
    given_up = await drop_root(config, data_dir, backups=await new_backup_directory(config, data_dir))
    if given_up and config.database.url:
        await _check_admission(config, data_dir)
    async with running_backups(config, data_dir, opened) as backups:
        yield backups


async def _check_addresses(config: Config, addresses: Sequence[ListenAddress], passed: PassedSockets) -> None:
    """Listen for a moment. Raises `ListenError`, before there is a database, for an address that cannot be used."""
    limits = serving_limits(config)
    async with open_listeners(addresses, limits, SystemClock()), open_operators_listener(config, passed):
        pass


async def _check_admission(config: Config, data_dir: Path) -> None:
    """Connect again. Raises `StorageError` if the database admitted root only, which would show when a connection is lost."""
    async with open_storage(storage_options(config), data_dir, prepared=True):
        pass


Ready = Callable[[Assembly, trio.Nursery], None]
"""Called once a node accepts connections. Tasks of the nursery may use the node, and end before it does."""


async def join(config: Config, data_dir: Path, server: Server, stop: trio.Event, ready: Ready) -> None:
    """Run one of several nodes over its parent's foundation, until `stop` is set."""
    share_arena()  # before the first thread
    async with open_storage(storage_options(config), data_dir, beside=True, prepared=True) as opened:
        await serve(config, data_dir, opened, server, stop, ready)


async def serve(config: Config, data_dir: Path, opened: Opened, server: Server, stop: trio.Event, ready: Ready) -> None:
    """Run the actors around the server until `stop` is set. Calls `ready` once connections are accepted."""
    if config.server.engine == "hypercorn":
        log.info("served by Hypercorn: %s; see docs/operations.md", HYPERCORN_LACKS)
    async with (
        open_app(config, data_dir, opened, server.url, server.certificate_expires) as (node, app),
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(_mark_stopping, node.services.health, stop)
        rejected = request_middleware(reject, node.services, node.metrics, OPERATIONS, node.tracer)
        await server.serve(handlers(app, rejected), stop=stop, ready=lambda: ready(node, nursery))
        log.info("listeners are closed; draining actors")
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_app(
    config: Config, data_dir: Path, opened: Opened, url: str, certificate_expires: float | None = None
) -> AsyncIterator[tuple[Assembly, App]]:
    """Run a node, and make the ASGI application over it. For `url` see `open_node`."""
    gc.set_threshold(20_000, 50, 100)  # before a large catalog is loaded, which would be collected again and again
    share_arena()
    async with open_node(config, data_dir, opened, url) as node:
        _favour_the_loop()
        node.metrics.observe_machine(None if config.database.url else data_dir, certificate_expires)
        compressor = Compressor()
        rest = OnDemand(partial(_rest, node, compressor))
        with node.metrics.loop_lag.watching():
            yield node, behind_front(rest, node.services, OPERATIONS, node.metrics, compressor, node.tracer)


def _rest(node: Assembly, compressor: Compressor) -> App:
    """The application behind the fast path. Runs in a thread, because loading it takes a third of a second."""
    from service.api.openapi import Described
    from service.web.app import build_quart

    described = Described.of(OPERATIONS, node.services.base_url, node.services.config.site, _make_for_good)
    app = build_quart(node.services, OPERATIONS, described, node.metrics, compressor)
    gc.freeze()  # as after the start: it lives as long as the process
    return app


async def _make_for_good(make: Callable[[], object]) -> None:
    """Make in a thread what also lives as long as the process: 20,000 objects of the document and its reference."""
    await trio.to_thread.run_sync(make)
    gc.freeze()


@asynccontextmanager
async def open_node(config: Config, data_dir: Path, opened: Opened, url: str) -> AsyncIterator[Assembly]:
    """Run the actors over open storage. `url` is where the node listens, and its base URL if none is configured."""
    limits = Limits.of(config)
    ports = await system_ports(config, data_dir, opened, url)
    async with _open_tracer(config, ports) as tracer:
        node = assemble(config, opened, replace(ports, tracer=tracer), limits)
        members = [*node.members, ReadinessWatch(node.services.health, partial(sample_load, node.services))]
        async with running(members, drain_seconds=limits.drain_seconds):
            log.info("node %s is up", node.services.nodes.node.id)
            log.debug("its members: %r", members)
            yield node


@asynccontextmanager
async def _open_tracer(config: Config, ports: Ports) -> AsyncIterator[Tracer | None]:
    """The tracer, if spans are to be sent. It ends after the actors, whose last batches it records."""
    if not config.tracing.otlp_url:
        yield None
        return
    from service.observability.otel import exporting  # a node without tracing does not load the SDK

    async with exporting(config.tracing, ports.node, ports.clock, ports.entropy) as tracer:
        yield tracer


async def system_ports(config: Config, data_dir: Path, opened: Opened, url: str) -> Ports:
    """The real ports. A node gets a new id at each start."""
    clock, entropy = await clock_of(config, opened), SystemEntropy()
    loaded = await Secrets.load(config, data_dir, opened.identity)
    node = NodeInfo(entropy.token(6).hex(), socket.gethostname(), os.getpid(), VERSION, url, clock.now_ms())
    return Ports(node, clock, entropy, loaded)


async def report_of(node: Assembly) -> Report:
    """The node's report for operators."""
    readiness = await readiness_of(node.services.health)
    return Report(node.metrics.page().decode(), readiness.problems, readiness.ready)


async def _mark_stopping(health: Health, stop: trio.Event) -> None:
    await stop.wait()
    health.stopping = True


def _favour_the_loop() -> None:
    """Exempt all objects of the start, which live as long as the process, from collections that would stall the event loop.
    Each later collection examines a few thousand objects: more often than at the start, because a page leaves hundreds
    of them, and freeing 20,000 takes 30 ms of a busy core. Other threads keep the interpreter from it for a millisecond at
    most."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    if _return_memory not in gc.callbacks:
        gc.callbacks.append(_return_memory)
    sys.setswitchinterval(0.001)


def _return_memory(phase: str, info: Mapping[str, int]) -> None:
    """Return to the system what is free after all objects were examined. Takes a millisecond."""
    if phase == "stop" and info["generation"] == len(COLLECTIONS) - 1:
        give_back()
