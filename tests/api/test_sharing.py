"""Limits shared among live nodes: the shares, their headers, and the limits that stay exact."""

import pytest

from service.api.policy import Budget
from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE
from tests.api.test_claiming import NOBODYS
from tests.api.world import World, open_world

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


# What one node allows.


@pytest.mark.parametrize(
    ("path", "body", "words", "limit"),
    [
        ("agent", None, "200", 10),
        ("device", None, "200", 10),
        ("claim", {"claimToken": NOBODYS, "email": "ann@example.com"}, "400 invalid_claim", 12),
        (
            "claim/complete",
            {"claimToken": NOBODYS, "email": "ann@example.com", "code": "123456"},
            "400 invalid_claim",
            60,
        ),
        ("session", {"email": "ann{}@example.com"}, "200", 12),
        ("session/complete", {"email": "ann{}@example.com", "code": "123456"}, "400 invalid_code", 60),
    ],
)
async def test_an_address_starts_so_many_an_hour_whatever_comes_of_them(
    world: World, path: str, body: dict[str, str] | None, words: str, limit: int
) -> None:
    number = 0

    async def ask(address: str = "203.0.113.7") -> Response:
        nonlocal number
        number += 1
        numbered = body and {name: value.replace("{}", str(number)) for name, value in body.items()}
        return await world.client.post(f"/api/v1/auth/{path}", headers=OUR_PAGE, json=numbered, address=address)

    first = await ask()
    assert first.words == words
    await world.pass_seconds(600)
    assert {(await ask()).words for _ in range(limit - 1)} == {words}
    refused = await ask()
    assert (refused.words, refused.header("retry-after"), refused.json["retryAfter"]) == (
        "429 rate_limited",
        "3000",
        3_000,
    )
    assert (await ask("203.0.113.8")).words == words
    await world.pass_seconds(2_999)
    assert (await ask()).json["retryAfter"] == 1
    await world.pass_seconds(1)
    assert (await ask()).words == words


@pytest.mark.parametrize(
    ("path", "settings"),
    [("agent", {"MINT__PER_HOUR_TOTAL": 100}), ("device", {"DEVICE__PER_HOUR_TOTAL": 100, "DEVICE__TOTAL_FACTOR": 2})],
)
async def test_one_network_uses_at_most_a_tenth_of_a_total(path: str, settings: dict[str, int]) -> None:
    async with open_world(**settings) as world:

        async def ask(network: int, number: int) -> int:
            address = f"2001:db8:{network}:{number:x}::1"
            return (await world.client.post(f"/api/v1/auth/{path}", address=address)).status

        assert [await ask(1, number) for number in range(30)] == [200] * 10 + [429] * 20
        assert len(world.memory.devices) + len(world.memory.keys) == 10, "a refused request leaves no row"
        assert [await ask(2, number) for number in range(10)] == [200] * 10


async def test_the_totals_of_an_hour_unless_configured(world: World) -> None:
    config = world.config
    assert (config.mint.per_hour, config.mint.per_hour_total) == (10, 1_000)
    assert (config.device.per_hour_total, config.device.total_factor) == (2_000, 5)
    assert (config.mail.per_hour_total, config.mail.total_factor) == (500, 5)
    assert config.keys.full_per_account == 10
