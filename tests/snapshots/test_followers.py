"""The followers of catalog and placements in virtual time: they load, follow changes, and survive an unavailable store."""

import logging

import pytest
import trio

from actors.values import OutcomeUnknown
from service.snapshots.catalog import CatalogLimits
from service.snapshots.placements import PlacementsLimits
from tests.fakes import Script
from tests.snapshots.worlds import AWAY, CatalogWorld, PlacementsWorld

World = CatalogWorld | PlacementsWorld


@pytest.fixture(params=["catalog", "placements"])
def world(request: pytest.FixtureRequest) -> World:
    return CatalogWorld() if request.param == "catalog" else PlacementsWorld()


@pytest.fixture(params=["catalog", "placements"])
def rare(request: pytest.FixtureRequest) -> World:
    """A follower that looks once an hour by itself."""
    if request.param == "catalog":
        return CatalogWorld(CatalogLimits(check_seconds=3_600.0))
    return PlacementsWorld(PlacementsLimits(check_seconds=3_600.0))


async def test_what_the_store_has_is_visible_when_the_follower_runs(world: World) -> None:
    await world.add("a")
    async with world.running() as follower:
        assert world.visible() == ["a"]
        assert follower.accepting
    assert not follower.accepting


async def test_a_change_is_visible_within_the_check_time(world: World) -> None:
    async with world.running():
        await world.add("a")
        assert world.visible() == []
        await trio.sleep(0.51)
        assert world.visible() == ["a"]


async def test_a_nudge_brings_a_change_at_once(rare: World) -> None:
    async with rare.running() as follower:
        await rare.add("a")
        follower.refresh_soon()
        await trio.sleep(0.01)
        assert rare.visible() == ["a"]


async def test_a_nudge_during_a_load_is_not_slept_over(rare: World) -> None:
    async with rare.running() as follower:
        await rare.add("a")
        rare.memory.after = Script([3.0])
        follower.refresh_soon()
        await trio.sleep(1)
        await rare.add("b")
        follower.refresh_soon()
        await trio.sleep(10)
        assert rare.visible() == ["a", "b"]


async def test_an_unchanged_revision_is_not_loaded_again(world: World) -> None:
    async with world.running() as follower:
        await trio.sleep(60)
        assert follower.statistics().loads == 1


async def test_a_database_that_was_set_back_is_followed(world: World) -> None:
    await world.add("a")
    await world.add("b")
    async with world.running():
        await world.set_back("c")
        await trio.sleep(0.6)
        assert world.visible() == ["c"]


async def test_the_last_snapshot_is_served_while_the_store_is_away_and_the_new_one_when_it_is_back(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "service.snapshots")
    await world.add("a")
    async with world.running() as follower:
        caplog.clear()
        await world.add("b")
        world.memory.before = Script([AWAY] * 20)
        await trio.sleep(8)
        assert world.visible() == ["a"]
        assert follower.accepting
        assert follower.statistics().away
        await trio.sleep(3)
        assert world.visible() == ["a", "b"]
        assert not follower.statistics().away
    name = "catalog" if isinstance(world, CatalogWorld) else "placements"
    lines = [(record.levelname, record.message.split(",")[0]) for record in caplog.records]
    assert lines[0] == ("WARNING", f"the background task {name} failed")
    assert [level for level, _ in lines].count("WARNING") == 1
    assert ("INFO", f"the background task {name} recovered") in lines


async def test_a_load_that_breaks_off_leaves_the_old_snapshot(world: World) -> None:
    await world.add("a")
    async with world.running():
        await world.add("b")
        world.memory.after = Script([OutcomeUnknown("cut")])
        await trio.sleep(0.6)
        assert world.visible() == ["a"]
        await trio.sleep(0.5)
        assert world.visible() == ["a", "b"]


async def test_a_store_that_is_away_at_the_start_is_awaited(world: World) -> None:
    world.memory.before = Script([AWAY] * 5)
    async with world.running() as follower:
        assert follower.loaded
        assert trio.current_time() == pytest.approx(2.5)


async def test_a_follower_that_never_loaded_can_be_stopped(world: World) -> None:
    world.memory.before = Script([AWAY] * 1_000)
    with trio.move_on_after(10) as scope:
        async with world.running():
            pytest.fail("nothing was loaded")
    assert scope.cancelled_caught
    assert trio.current_time() < 11
