"""All stores, over Postgres and in memory: each contract test runs over both."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TypeVar

import pytest
import trio

from actors.accounts.store import AccountStore
from actors.bookings.store import LedgerStore, SponsorshipStore
from actors.devices.store import DeviceStore
from actors.events.store import EventStore
from actors.keys.store import KeyStore
from actors.quota.store import QuotaStore
from actors.retention.store import RetentionStore
from actors.sessions.store import SessionStore
from actors.webhooks.store import WebhookStore
from storage.connection.pool import Database, open_database
from storage.connection.target import Target
from storage.events.store import PostgresEvents
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.devices import PostgresDevices
from storage.postgres.keys import PostgresKeys
from storage.postgres.ledger import PostgresLedger
from storage.postgres.quota import PostgresQuota
from storage.postgres.retention import PostgresRetention
from storage.postgres.sessions import PostgresSessions
from storage.postgres.sponsorship import PostgresSponsorship
from storage.postgres.webhooks import PostgresWebhooks
from tests.conftest import Server, template
from tests.doubles.accounts import MemoryAccounts
from tests.doubles.devices import MemoryDevices
from tests.doubles.events import MemoryEvents
from tests.doubles.keys import MemoryKeys
from tests.doubles.ledger import MemoryLedger
from tests.doubles.quota import MemoryQuota
from tests.doubles.retention import MemoryRetention
from tests.doubles.sessions import MemorySessions
from tests.doubles.sponsorship import MemorySponsorship
from tests.doubles.tables import Memory
from tests.doubles.webhooks import MemoryWebhooks
from tests.stores.distributed import CITUS_URL, distributed, distributed_events, on_citus, settings_of

M = TypeVar("M")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Stores:
    """One database's stores, and the database itself."""

    keys: KeyStore
    quota: QuotaStore
    events: EventStore
    ledger: LedgerStore
    sessions: SessionStore
    sponsorship: SponsorshipStore
    devices: DeviceStore
    accounts: AccountStore
    retention: RetentionStore
    webhooks: WebhookStore
    below: Memory | Database


def stores_in_memory(memory: Memory | None = None) -> Stores:
    memory = memory or Memory()
    return Stores(
        MemoryKeys(memory),
        MemoryQuota(memory),
        MemoryEvents(memory),
        MemoryLedger(memory),
        MemorySessions(memory),
        MemorySponsorship(memory),
        MemoryDevices(memory),
        MemoryAccounts(memory),
        MemoryRetention(memory),
        MemoryWebhooks(memory),
        memory,
    )


def stores_over(database: Database) -> Stores:
    return Stores(
        PostgresKeys(database),
        PostgresQuota(database),
        PostgresEvents(database),
        PostgresLedger(database),
        PostgresSessions(database),
        PostgresSponsorship(database),
        PostgresDevices(database),
        PostgresAccounts(database),
        PostgresRetention(database),
        PostgresWebhooks(database),
        database,
    )


def beside(stores: Stores, memory: Callable[[Memory], M], postgres: Callable[[Database], P]) -> M | P:
    """One more store over the same database."""
    return memory(stores.below) if isinstance(stores.below, Memory) else postgres(stores.below)


async def stores_over_workers(database: Database) -> Stores:
    return replace(stores_over(database), events=await distributed_events(database))


@pytest.fixture(params=["memory", "postgres"])
def where(request: pytest.FixtureRequest) -> Target | None:
    """A fresh database, or None for memory."""
    return None if request.param == "memory" else request.getfixturevalue("database_target")


@pytest.fixture
async def stores(where: Target | None) -> AsyncIterator[Stores]:
    if where is None:
        yield stores_in_memory()
        return
    async with open_database(where) as database:
        yield stores_over(database)


@pytest.fixture(params=["memory", "postgres", "sharded", *(["citus"] if CITUS_URL else [])])
def event_place(request: pytest.FixtureRequest) -> tuple[str, Target | None]:
    """The kind of event store: in addition to the usual two, one over sharded tables."""
    own = {"postgres": "database_target", "sharded": "divided"}.get(request.param)
    return request.param, None if own is None else request.getfixturevalue(own)


@pytest.fixture(scope="session")
def divided_template(postgres_server: Server) -> str:
    """The name of a distributed database of four logical shards, which is copied for each test."""
    name = f"{template()}_divided"
    postgres_server.run(f"create database {name} template {template()} {postgres_server.copying}")
    trio.run(distributed, postgres_server.named(name))
    postgres_server.prepare(name)
    return name


@pytest.fixture
def divided(postgres_server: Server, divided_template: str) -> Iterator[Target]:
    """A fresh distributed database of four logical shards."""
    with postgres_server.fresh(divided_template, *settings_of(4)) as target:
        yield target


@pytest.fixture
async def event_stores(event_place: tuple[str, Target | None]) -> AsyncIterator[Stores]:
    """The stores, for the contract of the event store."""
    kind, target = event_place
    async with AsyncExitStack() as stack:
        if kind == "memory":
            yield stores_in_memory()
            return
        if target is None:
            target = await stack.enter_async_context(on_citus())
        database = await stack.enter_async_context(open_database(target))
        yield stores_over(database) if kind == "postgres" else await stores_over_workers(database)
