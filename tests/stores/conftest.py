"""The stores of every concern, over Postgres and in memory: each contract test runs over both."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from actors.keys.store import KeyStore
from actors.quota.store import QuotaStore
from storage.memory.keys import MemoryKeys
from storage.memory.quota import MemoryQuota
from storage.memory.tables import Memory
from storage.pool import Target, open_database
from storage.postgres.keys import PostgresKeys
from storage.postgres.quota import PostgresQuota


@dataclass(frozen=True, slots=True)
class Stores:
    """One database's stores."""

    keys: KeyStore
    quota: QuotaStore


@pytest.fixture(params=["memory", "postgres"])
def where(request: pytest.FixtureRequest) -> Target | None:
    """A fresh database, or None for memory."""
    return None if request.param == "memory" else request.getfixturevalue("database_target")


@pytest.fixture
async def stores(where: Target | None) -> AsyncIterator[Stores]:
    if where is None:
        memory = Memory()
        yield Stores(MemoryKeys(memory), MemoryQuota(memory))
        return
    async with open_database(where) as database:
        yield Stores(PostgresKeys(database), PostgresQuota(database))
