"""Search is shared by network first (ADR 0015): many addresses or accounts of one network do not slow others."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest
import trio

from actors.shared import credentials
from actors.values import Tier
from tests.api.world import World

SEARCH_SECONDS = 0.25
ELSEWHERE = "203.0.113.7"
Searching = Callable[[World, int], tuple[str | None, str]]
"""The key and the address of an attacker's client by its number."""


def of_many_addresses(world: World, number: int) -> tuple[str | None, str]:
    return None, f"2001:db8:1:{number:x}::1"


def of_many_accounts(world: World, number: int) -> tuple[str | None, str]:
    return account(world, f"ann{number}@example.com"), "198.51.100.1"


def of_many_accounts_and_addresses(world: World, number: int) -> tuple[str | None, str]:
    return account(world, f"ann{number}@example.com"), f"198.51.100.{number}"


def account(world: World, email: str) -> str:
    return world.key(kind=credentials.Kind.USER, tier=Tier.CLAIMED, email=email)


async def slow() -> None:
    await trio.sleep(SEARCH_SECONDS)


@pytest.mark.parametrize("searching", [of_many_addresses, of_many_accounts, of_many_accounts_and_addresses])
async def test_a_search_begins_at_once_while_one_network_searches_all_it_may(
    world: World, searching: Searching
) -> None:
    world.catalog_memory.before = slow
    statuses: Counter[int] = Counter()

    async def attack(number: int, key: str | None, address: str) -> None:
        response = await world.client.get(f"/api/v1/bots?q=word+-{number}", key, address=address)
        statuses[response.status] += 1

    async with trio.open_nursery() as nursery:
        for number in range(1, 51):
            nursery.start_soon(attack, number, *searching(world, number))
        await trio.sleep(SEARCH_SECONDS / 2)
        for number, key in enumerate((None, account(world, "bob@example.com")), 100):
            began = trio.current_time()
            response = await world.client.get(f"/api/v1/bots?q=word+-{number}", key, address=ELSEWHERE)
            assert response.words == "200"
            assert trio.current_time() - began == pytest.approx(SEARCH_SECONDS)
    assert statuses[200] >= 2
    assert statuses[429] == 50 - 1 - 32


async def test_beyond_half_of_the_waiting_places_a_network_gets_429_with_the_reason(world: World) -> None:
    world.catalog_memory.before = slow
    async with trio.open_nursery() as nursery:
        for number in range(2 + 32):
            target = f"/api/v1/bots?q=word+-{number}"
            nursery.start_soon(partial(world.client.get, target, address=f"198.51.100.{number}"))
        await trio.sleep(SEARCH_SECONDS / 2)
        response = await world.client.get("/api/v1/bots?q=word", address="198.51.100.99")
        assert response.words == "429 rate_limited"
        assert "your network" in response.json["message"]
        assert (await world.client.get("/api/v1/bots?q=word", address=ELSEWHERE)).words == "200"
