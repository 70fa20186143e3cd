"""The catalog follower in virtual time: it loads, follows changes, and survives an unavailable store."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from actors.catalog.store import Found, Kind
from actors.kernel.supervision import running
from actors.values import OutcomeUnknown, Overloaded, StorageUnavailable
from service.snapshots.catalog import Catalog, CatalogLimits
from service.snapshots.catalog_entries import Position
from service.snapshots.turns import Searcher
from tests.doubles.catalog import MemoryCatalog
from tests.doubles.tables import Memory
from tests.fakes import Script
from tests.snapshots.entries import bot, of_bots

AWAY = StorageUnavailable("nobody is there")
ANN = Searcher("203.0.113.7", "203.0.113.0/24")


class World:
    """One store with one catalog over it; `limits` as in the configuration."""

    def __init__(self, limits: CatalogLimits | None = None) -> None:
        self.memory = Memory()
        self.store = MemoryCatalog(self.memory)
        self.catalog = Catalog(self.store, limits)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Catalog]:
        async with running([self.catalog]):
            yield self.catalog

    def slugs(self) -> set[str]:
        return {slug for slug in "abcdef" if self.catalog.snapshot.item(Kind.BOTS, slug) is not None}


async def test_what_the_store_has_is_there_when_the_troupe_runs(autojump_clock: MockClock) -> None:
    world = World()
    await world.store.replace(of_bots(bot("a")))
    async with world.running() as catalog:
        assert world.slugs() == {"a"}
        assert catalog.accepting
    assert not catalog.accepting


async def test_an_import_is_served_within_the_check_time(autojump_clock: MockClock) -> None:
    world = World()
    async with world.running():
        await world.store.replace(of_bots(bot("a")))
        await trio.sleep(0.51)
        assert world.slugs() == {"a"}


async def test_a_nudge_brings_an_import_at_once(autojump_clock: MockClock) -> None:
    world = World(CatalogLimits(check_seconds=3_600.0))
    async with world.running() as catalog:
        await world.store.replace(of_bots(bot("a")))
        catalog.refresh_soon()
        await trio.sleep(0.01)
        assert world.slugs() == {"a"}


async def test_a_nudge_during_a_load_is_not_slept_over(autojump_clock: MockClock) -> None:
    world = World(CatalogLimits(check_seconds=3_600.0))
    async with world.running() as catalog:
        world.memory.after = Script([0.0, 3.0])
        await world.store.replace(of_bots(bot("a")))
        catalog.refresh_soon()
        await trio.sleep(1)
        await world.store.replace(of_bots(bot("b")))
        catalog.refresh_soon()
        await trio.sleep(10)
        assert world.slugs() == {"a", "b"}


async def test_an_unchanged_revision_is_not_loaded_again(autojump_clock: MockClock) -> None:
    world = World()
    async with world.running() as catalog:
        await trio.sleep(60)
        assert catalog.statistics().loads == 1


async def test_the_old_snapshot_is_served_while_the_store_is_away_and_the_new_one_when_it_is_back(
    caplog: pytest.LogCaptureFixture,
    autojump_clock: MockClock,
) -> None:
    caplog.set_level(logging.INFO, "service.snapshots.catalog")
    world = World()
    await world.store.replace(of_bots(bot("a")))
    async with world.running() as catalog:
        caplog.clear()
        await world.store.replace(of_bots(bot("b")))
        world.memory.before = Script([AWAY] * 20)
        await trio.sleep(8)
        assert world.slugs() == {"a"}
        assert catalog.accepting
        assert catalog.statistics().away
        await trio.sleep(3)
        assert world.slugs() == {"a", "b"}
        assert not catalog.statistics().away
    told = [(record.levelname, record.message.split(",")[0]) for record in caplog.records]
    assert told[0] == ("WARNING", "catalog failed")
    assert [level for level, _ in told].count("WARNING") == 1
    assert ("INFO", "catalog recovered") in told


async def test_a_load_that_breaks_off_leaves_the_old_snapshot(autojump_clock: MockClock) -> None:
    world = World()
    await world.store.replace(of_bots(bot("a")))
    async with world.running():
        await world.store.replace(of_bots(bot("a", job="Another."), bot("b")))
        world.memory.after = Script([OutcomeUnknown("cut")])
        await trio.sleep(0.6)
        assert world.slugs() == {"a"}
        await trio.sleep(0.5)
        assert world.slugs() == {"a", "b"}


async def test_a_store_that_is_away_at_the_start_is_waited_for(autojump_clock: MockClock) -> None:
    world = World()
    world.memory.before = Script([AWAY] * 5)
    async with world.running() as catalog:
        assert catalog.loaded
        assert trio.current_time() == pytest.approx(2.5)


async def test_a_catalog_that_never_loaded_can_be_stopped(autojump_clock: MockClock) -> None:
    world = World()
    world.memory.before = Script([AWAY] * 1_000)
    with trio.move_on_after(10) as scope:
        async with world.running():
            pytest.fail("nothing was loaded")
    assert scope.cancelled_caught
    assert trio.current_time() < 11


async def test_a_database_that_was_set_back_is_followed(autojump_clock: MockClock) -> None:
    world = World()
    await world.store.replace(of_bots(bot("a")))
    await world.store.replace(of_bots(bot("b")))
    async with world.running() as catalog:
        restored = MemoryCatalog(world.memory)
        await restored.replace(of_bots(bot("c")))
        world.store._tables = restored._tables
        catalog.refresh_soon()
        await trio.sleep(0.1)
        assert world.slugs() == {"c"}


# First pages.


def cursor_to(position: Position) -> str:
    return f"after {position.slug}"


async def test_a_first_page_is_kept_until_the_catalog_changes(autojump_clock: MockClock) -> None:
    world = World()
    await world.store.replace(of_bots(bot("a"), bot("b")))
    async with world.running() as catalog:
        page = catalog.first_page(Kind.BOTS, 1, cursor_to)
        assert page.body == catalog.snapshot.page(Kind.BOTS, None, 1).body("after a")
        assert page.etag == catalog.snapshot.page(Kind.BOTS, None, 1).etag("after a")
        assert catalog.first_page(Kind.BOTS, 1, cursor_to) is page
        assert catalog.first_page(Kind.BOTS, 2, cursor_to).body.endswith(b'"nextCursor":null}')
        assert catalog.first_page(Kind.USECASES, 1, cursor_to).body == b'{"data":[],"nextCursor":null}'
        await world.store.replace(of_bots(bot("a", name="Other"), bot("b")))
        catalog.refresh_soon()
        await trio.sleep(0.1)
        assert b"Other" in catalog.first_page(Kind.BOTS, 1, cursor_to).body


@pytest.mark.parametrize("limits", [CatalogLimits(remembered_pages=1), CatalogLimits(remembered_page_bytes=100)])
async def test_what_is_kept_of_first_pages_is_bounded(autojump_clock: MockClock, limits: CatalogLimits) -> None:
    world = World(limits)
    await world.store.replace(of_bots(bot("a"), bot("b")))
    async with world.running() as catalog:
        first = catalog.first_page(Kind.BOTS, 1, cursor_to)
        catalog.first_page(Kind.BOTS, 2, cursor_to)
        again = catalog.first_page(Kind.BOTS, 1, cursor_to)
        assert again == first
        assert again is not first


# Searching.


async def test_a_search_is_remembered_until_the_catalog_changes(autojump_clock: MockClock) -> None:
    world = World()
    await world.store.replace(of_bots(bot("a", name="Fence")))
    async with world.running() as catalog:
        for _ in range(3):
            assert len((await catalog.search(Kind.BOTS, "fence", 20, ANN))[0].documents) == 1
        assert catalog.statistics().searches == 1
        await world.store.replace(of_bots(bot("b", name="Fence")))
        catalog.refresh_soon()
        await trio.sleep(0.1)
        assert len((await catalog.search(Kind.BOTS, "fence", 20, ANN))[0].documents) == 2


class Hurried(MemoryCatalog):
    """A store whose time ends during each search."""

    async def search(self, *arguments: Any, **options: Any) -> Found:
        return (await super().search(*arguments, **options))._replace(cut=True)


async def test_a_search_that_was_cut_short_is_not_remembered(autojump_clock: MockClock) -> None:
    world = World()
    world.catalog = Catalog(Hurried(world.memory))
    async with world.running() as catalog:
        await catalog.search(Kind.BOTS, "fence", 20, ANN)
        assert catalog.statistics().remembered == 0


async def test_a_search_overtaken_by_a_new_snapshot_is_not_remembered(autojump_clock: MockClock) -> None:
    world = World()
    await world.store.replace(of_bots(bot("a", name="Fence")))
    async with world.running() as catalog, trio.open_nursery() as nursery:
        world.memory.before = Script([0.0, 3.0])
        await world.store.replace(of_bots(bot("b", name="Fence")))
        nursery.start_soon(catalog.search, Kind.BOTS, "fence", 20, ANN)
        await trio.sleep(10)
        assert catalog.statistics().remembered == 0


async def test_remembered_searches_are_bounded_and_those_in_use_stay(autojump_clock: MockClock) -> None:
    world = World(CatalogLimits(remembered_searches=2))
    async with world.running() as catalog:
        for q in ("a", "b", "a", "c", "a"):
            await catalog.search(Kind.BOTS, q, 20, ANN)
        assert catalog.statistics().remembered == 2
        assert catalog.statistics().searches == 3


async def test_searches_beyond_the_waiting_ones_are_refused_at_once(autojump_clock: MockClock) -> None:
    world = World(CatalogLimits(searches=1, search_waiters=1))
    async with world.running() as catalog, trio.open_nursery() as nursery:
        world.memory.before = Script([1.5, 1.5, 1.5])
        nursery.start_soon(catalog.search, Kind.BOTS, "a", 20, ANN)
        nursery.start_soon(catalog.search, Kind.BOTS, "b", 20, ANN)
        await trio.sleep(1)
        with pytest.raises(Overloaded):
            await catalog.search(Kind.BOTS, "c", 20, ANN)


async def test_a_search_while_the_store_is_away_is_refused_and_a_remembered_one_is_served(
    autojump_clock: MockClock,
) -> None:
    world = World()
    await world.store.replace(of_bots(bot("a", name="Fence")))
    async with world.running() as catalog:
        await catalog.search(Kind.BOTS, "fence", 20, ANN)
        world.memory.before = Script([AWAY] * 1_000)
        assert len((await catalog.search(Kind.BOTS, "fence", 20, ANN))[0].documents) == 1
        with pytest.raises(StorageUnavailable):
            await catalog.search(Kind.BOTS, "another", 20, ANN)
