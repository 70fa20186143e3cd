"""Limits shared among live nodes: the shares, their headers, and the limits that stay exact."""

import pytest

from service.api.policy import Budget
from tests.api.world import World

BOTS = "/api/v1/bots?limit=1"


async def passing(world: World, key: str | None = None, tries: int = 70) -> int:
    """How many of `tries` requests are allowed."""
    answers = [await world.client.get(BOTS, key) for _ in range(tries)]
    assert {answer.words for answer in answers} <= {"200", "429 rate_limited"}
    return sum(answer.status == 200 for answer in answers)


# Keys.


async def test_three_nodes_let_a_third_each_of_a_keys_minute_through(world: World) -> None:
    await world.meet("n2", "n3")
    assert await passing(world, world.key()) == 20


async def test_a_key_is_told_the_limit_of_its_tier_and_what_is_left_where_it_asks(world: World) -> None:
    await world.meet("n2", "n3")
    key = world.key()
    told = await world.client.get(BOTS, key)
    assert str(told.header("ratelimit-policy")).startswith('"minute";q=60;w=60, "day";q=500;')
    assert str(told.header("ratelimit")).startswith('"minute";r=19;t=60, "day";r=499')
    assert await passing(world, key, 19) == 19
    refused = await world.client.get(BOTS, key)
    assert (refused.words, refused.header("retry-after")) == ("429 rate_limited", "60")
    assert refused.header("ratelimit") == '"minute";r=0;t=60'


# Addresses and emails.


async def test_readers_without_a_key_share_their_addresss_minute_over_the_nodes(world: World) -> None:
    await world.meet("n2", "n3", "n4")
    assert await passing(world) == 8, "a fourth of 30, rounded up"


async def test_keys_are_minted_by_shares(world: World) -> None:
    await world.meet("n2", "n3", "n4")
    assert [(await world.client.post("/api/v1/auth/agent")).status for _ in range(4)] == [200] * 3 + [429]


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (Budget.CLAIM_START, 12),
        (Budget.CLAIM_COMPLETE, 60),
        (Budget.SIGN_IN_START, 12),
        (Budget.SIGN_IN_COMPLETE, 60),
        (Budget.DEVICE_START, 10),
        (Budget.EVENTS, 600),
    ],
)
async def test_what_is_started_from_an_address_is_shared(world: World, budget: Budget, limit: int) -> None:
    await world.meet("n2")
    budgets = world.services.budgets
    assert sum(budgets.spend(budget, "203.0.113.7").allowed for _ in range(limit)) == limit // 2


async def test_pages_are_shared(world: World) -> None:
    await world.meet("n2")
    budgets = world.services.budgets
    assert sum(budgets.page("203.0.113.7").allowed for _ in range(120)) == 60
