"""A store and the follower over it, for the catalog and for the placements: the same steps for both."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from actors.catalog.messages import Kind
from actors.kernel.supervision import running
from actors.values import StorageUnavailable
from service.snapshots.catalog import Catalog, CatalogLimits
from service.snapshots.placements import Placements, PlacementsLimits
from tests.doubles.catalog import MemoryCatalog, PromptCatalog
from tests.doubles.tables import CatalogTables, Memory
from tests.fakes import TrioClock
from tests.snapshots.entries import bot, of_bots
from tests.snapshots.rows import NOON_MS, Rows, booking, slot, week

AWAY = StorageUnavailable("nobody is there")


class CatalogWorld:
    """One store with one catalog over it; `limits` as in the configuration."""

    def __init__(self, limits: CatalogLimits | None = None) -> None:
        self.memory = Memory()
        self.store = MemoryCatalog(self.memory)
        self.catalog = PromptCatalog(self.store, limits)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Catalog]:
        async with running([self.catalog]):
            yield self.catalog

    async def add(self, name: str) -> None:
        await self.store.replace(of_bots(bot(name)))

    async def set_back(self, name: str) -> None:
        """Restore a database that has only this."""
        self.memory.catalog = CatalogTables()
        await self.store.replace(of_bots(bot(name)))

    def visible(self) -> list[str]:
        return [slug for slug in "abcdef" if self.catalog.snapshot.item(Kind.BOTS, slug) is not None]


class PlacementsWorld:
    """A store and a follower whose wall clock follows Trio's."""

    def __init__(self, limits: PlacementsLimits | None = None) -> None:
        self.memory = Memory()
        self.store = Rows(self.memory)
        self.clock = TrioClock(NOON_MS)
        self.placements = Placements(self.store, self.clock, "test", limits)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Placements]:
        async with running([self.placements]):
            yield self.placements

    async def add(self, name: str) -> None:
        self.store.keep(slot(f"slot-{name}"), booking(name, f"slot-{name}"))

    async def set_back(self, name: str) -> None:
        """Restore a database that has only this."""
        self.placements._store = restored = Rows(Memory())
        restored.keep(slot(), booking(name))

    def visible(self) -> list[str]:
        shown = json.loads(self.placements.placements(self.clock.now_ms()).body)
        return [each["bookingId"] for each in shown["placements"]]

    def free(self, number: int = 0) -> bool:
        shown = json.loads(self.placements.inventory(week(number), self.clock.now_ms()).body)
        return bool(shown["slots"][0]["available"])
