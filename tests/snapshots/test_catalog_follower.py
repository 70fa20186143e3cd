"""The catalog's first pages and searches in virtual time: they are remembered until the catalog changes."""

from typing import Any

import pytest
import trio

from actors.catalog.store import Found, Kind
from actors.values import Overloaded, StorageUnavailable
from service.snapshots.catalog import Catalog, CatalogLimits
from service.snapshots.catalog_entries import Position
from service.snapshots.turns import Searcher
from tests.doubles.catalog import MemoryCatalog
from tests.fakes import Script
from tests.snapshots.entries import bot, of_bots
from tests.snapshots.worlds import AWAY, CatalogWorld

ANN = Searcher("203.0.113.7", "203.0.113.0/24")


# First pages.


def cursor_to(position: Position) -> str:
    return f"after {position.slug}"


async def test_a_first_page_is_kept_until_the_catalog_changes() -> None:
    world = CatalogWorld()
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
async def test_what_is_kept_of_first_pages_is_bounded(limits: CatalogLimits) -> None:
    world = CatalogWorld(limits)
    await world.store.replace(of_bots(bot("a"), bot("b")))
    async with world.running() as catalog:
        first = catalog.first_page(Kind.BOTS, 1, cursor_to)
        catalog.first_page(Kind.BOTS, 2, cursor_to)
        again = catalog.first_page(Kind.BOTS, 1, cursor_to)
        assert again == first
        assert again is not first


# Searching.


async def test_a_search_is_remembered_until_the_catalog_changes() -> None:
    world = CatalogWorld()
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


async def test_a_search_that_was_cut_short_is_not_remembered() -> None:
    world = CatalogWorld()
    world.catalog = Catalog(Hurried(world.memory))
    async with world.running() as catalog:
        await catalog.search(Kind.BOTS, "fence", 20, ANN)
        assert catalog.statistics().remembered == 0


async def test_a_search_overtaken_by_a_new_snapshot_is_not_remembered() -> None:
    world = CatalogWorld()
    await world.store.replace(of_bots(bot("a", name="Fence")))
    async with world.running() as catalog, trio.open_nursery() as nursery:
        world.memory.before = Script([0.0, 3.0])
        await world.store.replace(of_bots(bot("b", name="Fence")))
        nursery.start_soon(catalog.search, Kind.BOTS, "fence", 20, ANN)
        await trio.sleep(10)
        assert catalog.statistics().remembered == 0


async def test_remembered_searches_are_bounded_and_those_in_use_stay() -> None:
    world = CatalogWorld(CatalogLimits(remembered_searches=2))
    async with world.running() as catalog:
        for q in ("a", "b", "a", "c", "a"):
            await catalog.search(Kind.BOTS, q, 20, ANN)
        assert catalog.statistics().remembered == 2
        assert catalog.statistics().searches == 3


async def test_searches_beyond_the_waiting_ones_are_refused_at_once() -> None:
    world = CatalogWorld(CatalogLimits(searches=1, search_waiters=1))
    async with world.running() as catalog, trio.open_nursery() as nursery:
        world.memory.before = Script([1.5, 1.5, 1.5])
        nursery.start_soon(catalog.search, Kind.BOTS, "a", 20, ANN)
        nursery.start_soon(catalog.search, Kind.BOTS, "b", 20, ANN)
        await trio.sleep(1)
        with pytest.raises(Overloaded):
            await catalog.search(Kind.BOTS, "c", 20, ANN)


async def test_a_search_while_the_store_is_away_is_refused_and_a_remembered_one_is_served() -> None:
    world = CatalogWorld()
    await world.store.replace(of_bots(bot("a", name="Fence")))
    async with world.running() as catalog:
        await catalog.search(Kind.BOTS, "fence", 20, ANN)
        world.memory.before = Script([AWAY] * 1_000)
        assert len((await catalog.search(Kind.BOTS, "fence", 20, ANN))[0].documents) == 1
        with pytest.raises(StorageUnavailable):
            await catalog.search(Kind.BOTS, "another", 20, ANN)
