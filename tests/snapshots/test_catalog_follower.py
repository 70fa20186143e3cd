"""The catalog's first pages and searches in virtual time: they are remembered until the catalog changes."""

from collections.abc import Callable
from typing import TypeVar

import pytest
import trio

from actors.catalog.messages import Kind
from actors.values import Overloaded
from service.snapshots import catalog as catalog_module
from service.snapshots import catalog_entries, search_index
from service.snapshots.catalog import Catalog, CatalogLimits
from service.snapshots.catalog_entries import Position
from tests.doubles.catalog import PromptCatalog
from tests.fakes import Script
from tests.snapshots.entries import bot, of_bots
from tests.snapshots.worlds import AWAY, CatalogWorld

T = TypeVar("T")


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
            assert len((await catalog.search(Kind.BOTS, "fence", 20))[0].documents) == 1
        assert catalog.statistics().searches == 1
        await world.store.replace(of_bots(bot("b", name="Fence")))
        catalog.refresh_soon()
        await trio.sleep(0.1)
        assert len((await catalog.search(Kind.BOTS, "fence", 20))[0].documents) == 2


async def test_remembered_searches_are_bounded_and_those_in_use_stay() -> None:
    world = CatalogWorld(CatalogLimits(remembered_searches=2))
    async with world.running() as catalog:
        for q in ("a", "b", "a", "c", "a"):
            await catalog.search(Kind.BOTS, q, 20)
        assert catalog.statistics().remembered == 2
        assert catalog.statistics().searches == 3


async def test_searches_beyond_the_waiting_ones_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "AT_ONCE_ENTRIES", -1)
    world = CatalogWorld(CatalogLimits(searches=1, search_waiters=1))
    async with world.running() as catalog, trio.open_nursery() as nursery:
        await catalog._searching.acquire_on_behalf_of("a search in a thread")
        nursery.start_soon(catalog.search, Kind.BOTS, "b", 20)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Overloaded):
            await catalog.search(Kind.BOTS, "c", 20)
        catalog._searching.release_on_behalf_of("a search in a thread")


async def test_searches_are_answered_while_the_store_is_away() -> None:
    world = CatalogWorld()
    await world.store.replace(of_bots(bot("a", name="Fence")))
    async with world.running() as catalog:
        world.memory.before = Script([AWAY] * 1_000)
        assert len((await catalog.search(Kind.BOTS, "fence", 20))[0].documents) == 1


async def test_entries_about_the_same_are_related() -> None:
    world = CatalogWorld()
    fences = (bot("a", name="Fence painter"), bot("b", name="Fences"), bot("c", name="Submarine", job="Dives."))
    await world.store.replace(of_bots(*fences))
    async with world.running() as catalog:
        related = await catalog.related(Kind.BOTS, "a", 5)
        assert related == catalog.snapshot.pick(Kind.BOTS, ["b"])
        assert not (await catalog.related(Kind.BOTS, "unknown", 5)).documents


async def test_related_entries_are_read_once_for_each_snapshot_and_a_bounded_number_is_kept() -> None:
    world = CatalogWorld(CatalogLimits(remembered_related=1))
    await world.store.replace(of_bots(bot("a", name="Fence"), bot("b", name="Fence")))
    read = world.catalog.before = Script()
    async with world.running() as catalog:
        for slug, reads in (("a", 1), ("a", 1), ("b", 2), ("a", 3)):
            assert len((await catalog.related(Kind.BOTS, slug, 5)).documents) == 1
            assert read.calls == reads
        await world.store.replace(of_bots(bot("c", name="Fence")))
        catalog.refresh_soon()
        await trio.sleep(0.1)
        assert len((await catalog.related(Kind.BOTS, "a", 5)).documents) == 2


class Immediate(PromptCatalog):
    """Indexes and searches at once, without a thread."""

    async def _in_thread(self, work: Callable[[], T], room: trio.CapacityLimiter) -> T:
        return work()

    async def _read(self, kind: Kind, work: Callable[[], T]) -> T:
        return await Catalog._read(self, kind, work)


async def test_many_new_entries_are_found_by_their_titles_first_and_soon_by_all_of_their_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalog_module, "AT_FIRST_ENTRIES", 2)
    monkeypatch.setattr(catalog_module, "SLICE", 2)
    world = CatalogWorld()
    catalog = world.catalog = Immediate(world.store)
    await world.store.replace(of_bots(*(bot(slug, name="Fence", who="Owner of roses") for slug in "abcde")))
    async with world.running():
        assert [len(catalog._index.search(Kind.BOTS, q, 9).slugs) for q in ("fence", "roses")] == [5, 0]
        await catalog.related(Kind.BOTS, "a", 1)
        await trio.sleep(0.1)
        assert [len((await catalog.search(Kind.BOTS, q, 9))[0].documents) for q in ("fence", "roses")] == [5, 5]
        assert not catalog._related, "it may be another entry now"


async def test_a_start_with_many_entries_lists_them_before_they_are_indexed_and_searches_wait_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalog_module, "LARGE_CHANGES", 2)
    world = CatalogWorld()
    catalog = Immediate(world.store, CatalogLimits(search_waiters=1))
    await world.store.replace(of_bots(*(bot(slug, name="Fence") for slug in "abc")))
    await catalog._round()
    assert len(catalog.snapshot.page(Kind.BOTS, None, 9).documents) == 3
    found: list[int] = []

    async def search() -> None:
        page, _ = await Catalog.search(catalog, Kind.BOTS, "fence", 9)
        found.append(len(page.documents))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(search)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Overloaded):
            await search()
        await catalog._round()
    assert found == [3]


async def test_only_a_few_changes_are_built_outside_of_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "AT_ONCE_CHANGES", 2)
    rooms: list[trio.CapacityLimiter] = []

    class Recording(Immediate):
        async def _in_thread(self, work: Callable[[], T], room: trio.CapacityLimiter) -> T:
            rooms.append(room)
            return work()

    world = CatalogWorld()
    catalog = Recording(world.store)
    for slugs, built in (("ab", []), ("abc", [catalog._building]), ("d", [])):
        rooms.clear()
        await world.store.replace(of_bots(*(bot(slug, name=f"Fence {slugs}") for slug in slugs)))
        await catalog._round()
        assert [room for room in rooms if room is not catalog._indexing] == built
    assert len(catalog.snapshot.lists[Kind.BOTS]) == 4


async def test_a_large_change_gives_way_to_the_event_loop_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((catalog_module, "LARGE_CHANGES"), (search_index, "STRETCH_SECONDS")):
        monkeypatch.setattr(module, name, 0)
    for module, name in ((catalog_entries, "STEP"), (catalog_module, "FREED")):
        monkeypatch.setattr(module, name, 2)
    turns = list[None]()
    monkeypatch.setattr(catalog_module, "_turn", lambda: turns.append(None))
    world = CatalogWorld()
    catalog = Catalog(world.store)
    await catalog._round()
    for names, changed in (("abcde", 5), ("bcdef", 6)):
        turns.clear()
        await world.store.replace(of_bots(*(bot(slug, name=f"Fence {names}") for slug in names), prune=True))
        await catalog._round()
        assert [slug for _, slug in catalog.snapshot.lists[Kind.BOTS].positions(0, 9)] == sorted(names)
        assert len((await catalog.search(Kind.BOTS, names, 9))[0].documents) == 5
        assert len(turns) >= changed
