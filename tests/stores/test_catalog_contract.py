"""One contract over both catalog stores: what is imported is loaded, in order and whole, and found."""


import pytest

from actors.catalog.store import CatalogStore
from storage.memory.catalog import MemoryCatalog
from storage.memory.tables import Memory
from storage.postgres.catalog import PostgresCatalog


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> CatalogStore:
    if request.param == "memory":
        return MemoryCatalog(Memory())
    return PostgresCatalog(request.getfixturevalue("database"))
