"""Opens storage: the embedded Postgres or an external one, migrated and checked, with a store for each concern."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import trio

from actors.stores import Stores
from actors.values import StorageUnavailable, TransientStorageError
from storage.connection.error_translation import is_refusal, is_wrong_user, reason_of
from storage.connection.listener import Listener
from storage.connection.pool import Database, PoolLimits, check_sessions, connections_of, open_database
from storage.connection.target import Target
from storage.embedded.children import EmbeddedError, account_of
from storage.embedded.postmaster import DEFAULTS
from storage.embedded.server import endpoint_of_running, running_postgres
from storage.events import distribution
from storage.events.distributed_store import DistributedEvents, ask_workers
from storage.events.distribution import DistributionError, PlaceMap
from storage.events.store import PostgresEvents
from storage.identity import Identity
from storage.inspection import access_of
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.catalog import PostgresCatalog
from storage.postgres.clock import PostgresClock
from storage.postgres.demo import PostgresDemo
from storage.postgres.devices import PostgresDevices
from storage.postgres.keys import PostgresKeys
from storage.postgres.ledger import PostgresLedger
from storage.postgres.mail import PostgresOutbox
from storage.postgres.nodes import PostgresNodes
from storage.postgres.quota import PostgresQuota
from storage.postgres.retention import PostgresRetention
from storage.postgres.sessions import PostgresSessions
from storage.postgres.sites import PostgresSites
from storage.postgres.sponsorship import PostgresSponsorship
from storage.postgres.submissions import PostgresSubmissions
from storage.postgres.visitor_secrets import PostgresVisitorSecrets
from storage.postgres.webhooks import PostgresWebhooks
from storage.schema import MigrationFailed, SchemaDrift, check_migrated, migrate, server_version, unsafe_settings

OLDEST_SERVER = 150_000
"""`server_version_num` of the oldest supported Postgres."""

BESIDE_SECONDS = 20.0
"""How long a command waits for the Postgres of a service that is still starting."""

OTHER_CONNECTIONS = 20
"""Connections of the embedded Postgres beyond those of nodes: commands, backups, and those reserved for superusers."""


Inspect = Callable[[Database], Awaitable[None]]
"""Looks at a database before it is migrated, and raises an error if it must not be used."""

log = logging.getLogger(__name__)


class StorageError(Exception):
    """Storage cannot be used. The text is one line for the operator."""


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """Which Postgres to use, and the bounds of the pool. Without a `url` it is the embedded one, with connections for so
    many `nodes`. `distributed` requires Citus."""

    limits: PoolLimits
    url: str | None = None
    os_user: str | None = None
    allow_unsafe: bool = False
    nodes: int = 1
    distributed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened(Stores):
    """Storage with the schema of this program, with what only the start and the commands use."""

    database: Database
    demo: PostgresDemo
    identity: Identity


@asynccontextmanager
async def open_storage(
    options: StorageOptions,
    data_dir: Path,
    *,
    beside: bool = False,
    create: bool = True,
    prepared: bool = False,
    migrates: bool = True,
    reads_only: bool = False,
    inspect: Inspect | None = None,
) -> AsyncIterator[Opened]:
    """Storage for the life of the block. Raises `StorageError` with one clear line if it cannot be used.

    `beside` is for commands: they use the embedded Postgres of a running service, and start it only if none runs.
    Without `create`, a data directory without a database is an error. `prepared` is for a worker whose parent has opened
    storage: it waits for the database, and neither starts nor migrates it. Without `migrates`, a schema that lacks a
    migration is an error. `reads_only` is for a command that reports: it
    changes nothing, on any server that has this program's schema, a standby too. `inspect` runs before anything is written.
    """
    try:
        async with (
            _target(options, data_dir, beside=beside, create=create, prepared=prepared) as target,
            open_database(replace(target, reads_only=reads_only), options.limits) as database,
        ):
            patient = prepared or (beside and options.url is None)
            migrates = migrates and not (prepared or reads_only)
            places = await _prepare(database, options, data_dir, patient=patient, migrates=migrates, inspect=inspect)
            distributed = None if places is None else DistributedEvents(database, places)
            yield Opened(
                database=database,
                accounts=PostgresAccounts(database),
                announcements=Listener(database),
                quota=PostgresQuota(database),
                retention=PostgresRetention(database),
                keys=PostgresKeys(database),
                catalog=PostgresCatalog(database),
                clock=PostgresClock(database),
                submissions=PostgresSubmissions(database),
                outbox=PostgresOutbox(database),
                demo=PostgresDemo(database),
                devices=PostgresDevices(database),
                events=distributed or PostgresEvents(database),
                sites=PostgresSites(database),
                visitor_secrets=PostgresVisitorSecrets(database),
                ledger=PostgresLedger(database),
                nodes=PostgresNodes(database),
                sessions=PostgresSessions(database),
                sponsorship=PostgresSponsorship(database),
                identity=Identity(database),
                webhooks=PostgresWebhooks(database),
                sections=distributed,
                ask_servers=None if distributed is None else partial(ask_workers, distributed),
            )
    except EmbeddedError as error:
        raise StorageError(str(error)) from error


@asynccontextmanager
async def _target(
    options: StorageOptions, data_dir: Path, *, beside: bool, create: bool, prepared: bool
) -> AsyncIterator[Target]:
    if options.url is not None:
        yield Target(url=options.url, distributed=options.distributed)
        return
    running = endpoint_of_running(data_dir) if beside else None
    if running is not None:
        yield running
        return
    if prepared:
        raise StorageError(f"the database in {data_dir} is not running any more: restart the service")
    if not create and not (data_dir / "postgres").exists():
        raise StorageError(
            f"there is no database in {data_dir}: choose another --data-dir, or run 'migrate' to create one"
        )
    async with running_postgres(data_dir, os_user=options.os_user, settings=_room(options)) as postgres:
        yield postgres.endpoint


def _room(options: StorageOptions) -> dict[str, str]:
    """The setting that gives all nodes their connections."""
    needed = options.nodes * connections_of(options.limits) + OTHER_CONNECTIONS
    return {"max_connections": str(needed)} if needed > int(DEFAULTS["max_connections"]) else {}


async def _prepare(
    database: Database,
    options: StorageOptions,
    data_dir: Path,
    *,
    patient: bool,
    migrates: bool,
    inspect: Inspect | None,
) -> PlaceMap | None:
    """Check the server, and migrate it or check that it is migrated. Returns where the places of events are, if
    distributed."""
    where = _where(options)
    try:
        if options.url is not None and not patient:
            await check_sessions(database.target, options.limits)
        version = await _first_answer(database, patient=patient)
        if version < OLDEST_SERVER:
            raise StorageError(f"{where} runs Postgres {version // 10_000}; 15 or newer is needed")
        access = await access_of(database)
        barred = access.bars_reading or (access.bars_migrating if migrates else "")
        if barred:
            raise StorageError(f"{where} {barred}")
        if migrates:
            await _check_server(database, options)
            if inspect is not None:
                await inspect(database)
            await migrate(database, distributed=options.distributed)
        else:
            await check_migrated(database, distributed=options.distributed)
        places = await distribution.read_places(database) if options.distributed else None
    except (SchemaDrift, MigrationFailed) as error:
        raise StorageError(str(error)) from error
    except DistributionError as error:
        raise StorageError(f"{where} {error}") from error
    except TransientStorageError as error:
        if options.url is None and is_wrong_user(error):
            owner = account_of((data_dir / "postgres").stat().st_uid).name
            raise StorageError(
                f"the embedded Postgres in {data_dir} belongs to the user {owner}: run this command as {owner}"
            ) from error
        raise StorageError(f"{where} cannot be used: {error}") from error
    except Exception as error:
        if is_refusal(error):
            raise StorageError(f"{where} cannot be used: {reason_of(error)}") from error
        raise
    return places


async def _check_server(database: Database, options: StorageOptions) -> None:
    """Raises `StorageError` or `DistributionError` if the server is not suitable."""
    where = _where(options)
    unsafe = await unsafe_settings(database)
    if unsafe and not options.allow_unsafe:
        raise StorageError(
            f"{where} runs with {', '.join(unsafe)}: a crash can lose confirmed writes. "
            "Turn it on, or set database.allow_unsafe to accept the risk"
        )
    if unsafe:
        log.warning("%s runs with %s: a crash can lose confirmed writes", where, ", ".join(unsafe))
    if options.distributed:
        await distribution.check_engine(database)


async def _first_answer(database: Database, *, patient: bool) -> int:
    """The server's version. If `patient`, wait for a server that is still starting."""
    deadline = trio.current_time() + (BESIDE_SECONDS if patient else 0.0)
    while True:
        try:
            return await server_version(database)
        except StorageUnavailable as error:
            if trio.current_time() >= deadline or is_wrong_user(error):
                raise
        await trio.sleep(0.2)


def _where(options: StorageOptions) -> str:
    """The name of the database in messages, without its password."""
    if options.url is None:
        return "the embedded Postgres"
    return f"the database at {Target(options.url).place}"
