"""Unknown keys and session tokens: a budget of lookups for each address, which never stops those that the node knows."""

from collections import Counter
from collections.abc import AsyncIterator
from functools import partial

import pytest
import trio

from actors.shared.credentials import ENTROPY_BYTES, SESSION_TOKEN, Kind, new_key
from actors.values import Tier
from tests.api.asgi import Response
from tests.api.callers import cookie
from tests.api.world import World, away, open_world
from tests.fakes import together

BOTS, USAGE, SESSIONS, PLACEMENTS = (
    "/api/v1/bots",
    "/api/v1/usage",
    "/api/v1/auth/sessions",
    "/api/v1/sponsors/placements",
)
ELSEWHERE = "203.0.113.8"


@pytest.fixture
async def three_a_minute() -> AsyncIterator[World]:
    async with open_world(KEYS__UNKNOWN_PER_MINUTE=3) as opened:
        yield opened


def unknown_key(world: World) -> str:
    return new_key(Kind.ANONYMOUS, world.entropy.token(ENTROPY_BYTES))


async def guessed(world: World, count: int, path: str = BOTS) -> list[str]:
    return [(await world.client.get(path, unknown_key(world))).words for _ in range(count)]


async def with_cookie(world: World, token: str, path: str = SESSIONS, address: str = "203.0.113.7") -> Response:
    return await world.client.get(path, headers=cookie(token), address=address)


def lookups(world: World) -> int:
    """The lookups of keys and sessions so far."""
    return sum(actor.statistics().messages for actor in (world.services.key_cache, world.services.session_reader))


async def test_an_address_sends_60_unknown_keys_a_minute_unless_configured(world: World) -> None:
    assert await guessed(world, 62) == ["401 invalid_api_key"] * 60 + ["429 rate_limited"] * 2
    assert lookups(world) == 60


@pytest.mark.parametrize("path", [BOTS, USAGE, PLACEMENTS, "/api/v1/sponsors/me"])
async def test_beyond_the_budget_unknown_keys_are_refused_without_a_lookup(three_a_minute: World, path: str) -> None:
    world = three_a_minute
    assert await guessed(world, 3) == ["401 invalid_api_key"] * 3
    answer = await world.client.get(path, unknown_key(world))
    assert (answer.words, answer.header("retry-after")) == ("429 rate_limited", "60")
    words = "Your address has sent too many unknown keys or sessions. Try again in 60 s."
    assert (answer.json["message"], answer.json["retryAfter"]) == (words, 60)
    assert lookups(world) == 3
    other = await world.client.get(path, unknown_key(world), address=ELSEWHERE)
    assert other.words == "401 invalid_api_key"
    await world.pass_seconds(60)
    assert await guessed(world, 1, path) == ["401 invalid_api_key"]


async def test_requests_without_a_key_are_not_affected(three_a_minute: World) -> None:
    await guessed(three_a_minute, 5)
    assert (await three_a_minute.client.get(BOTS)).words == "200"


async def test_keys_that_the_node_knows_always_pass_also_when_they_are_no_longer_cached(three_a_minute: World) -> None:
    world = three_a_minute
    key = world.key(tier=Tier.CLAIMED, email="ann@example.com")
    assert (await world.client.get(BOTS, key, address=ELSEWHERE)).words == "200"
    await guessed(world, 5)
    assert (await world.client.get(BOTS, key)).words == "200"
    await world.pass_seconds(20)
    assert (await world.client.get(BOTS, key)).words == "200"
    world.services.key_cache.forget_all()
    assert (await world.client.get(USAGE, key)).words == "200"


async def test_a_valid_key_that_is_new_to_the_node_waits_where_strangers_used_up_the_budget(
    three_a_minute: World,
) -> None:
    world = three_a_minute
    key = world.key()
    await guessed(world, 3)
    assert (await world.client.get(BOTS, key)).words == "429 rate_limited"
    assert (await world.client.get(BOTS, key, address=ELSEWHERE)).words == "200"
    assert (await world.client.get(BOTS, key)).words == "200", "from now on it is known"


async def test_a_key_that_was_just_minted_is_known(three_a_minute: World) -> None:
    world = three_a_minute
    await guessed(world, 5)
    key = (await world.client.post("/api/v1/auth/agent")).json["apiKey"]
    assert (await world.client.get(BOTS, key)).words == "200"


async def test_valid_keys_and_mistyped_ones_do_not_count(three_a_minute: World) -> None:
    world = three_a_minute
    for _ in range(10):
        key = world.key()
        assert (await world.client.get(BOTS, key)).words == "200"
        mistyped = f"{key[:-1]}{'0' if key[-1] != '0' else '1'}"
        assert (await world.client.get(BOTS, mistyped)).words == "401 invalid_api_key"
    assert await guessed(world, 4) == ["401 invalid_api_key"] * 3 + ["429 rate_limited"]


async def test_a_valid_key_that_is_new_may_come_many_times_at_once(three_a_minute: World) -> None:
    world = three_a_minute
    keys = [world.key(tier=Tier.CLAIMED, email="ann@example.com"), unknown_key(world)]
    world.memory.before = partial(trio.sleep, 0.1)
    calls = [partial(world.client.get, BOTS, key) for key in keys for _ in range(30)]
    answers = await together(*calls)
    assert Counter(answer.words for answer in answers) == {"200": 30, "401 invalid_api_key": 30}
    # The first lookup of the valid key is given back, at times after the budget was full.
    assert (await guessed(world, 2))[-1] == "429 rate_limited", "each of those that found nothing counts"


async def test_one_unknown_key_that_is_always_being_looked_up_is_bounded_too(three_a_minute: World) -> None:
    """Requests that overlap, so that at any moment one of them is waiting for its lookup."""
    world, key, words = three_a_minute, unknown_key(three_a_minute), []
    world.memory.before = partial(trio.sleep, 0.1)

    async def ask(number: int) -> None:
        await trio.sleep(number * 0.06)
        words.append((await world.client.get(BOTS, key)).words)

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(ask, number)
    assert Counter(words)["401 invalid_api_key"] <= 6
    assert lookups(world) <= 6


async def test_revoked_and_expired_keys_do_not_count(three_a_minute: World) -> None:
    world = three_a_minute
    for _ in range(5):
        revoked = world.key(revoked=True)
        assert (await world.client.get(BOTS, revoked)).words == "401 invalid_api_key"
    assert await guessed(world, 1) == ["401 invalid_api_key"]


async def test_lookups_that_fail_do_not_count(three_a_minute: World) -> None:
    world = three_a_minute
    before = world.memory.before
    world.memory.before = away
    assert await guessed(world, 5) == ["503 service_unavailable"] * 5
    world.memory.before = before
    await world.settled()
    assert await guessed(world, 4) == ["401 invalid_api_key"] * 3 + ["429 rate_limited"]


# Sessions.


async def test_unknown_sessions_share_the_budget_and_live_ones_are_never_stopped(three_a_minute: World) -> None:
    world = three_a_minute
    token, late = world.session("ann@example.com"), world.session("bob@example.com")
    assert (await with_cookie(world, token, address=ELSEWHERE)).words == "200"
    for _ in range(3):
        guess = SESSION_TOKEN.new(world.entropy.token(ENTROPY_BYTES))
        assert (await with_cookie(world, guess)).words == "401 unauthorized"
    guess = SESSION_TOKEN.new(world.entropy.token(ENTROPY_BYTES))
    assert (await with_cookie(world, guess)).words == "429 rate_limited"
    assert await guessed(world, 1) == ["429 rate_limited"]
    assert (await with_cookie(world, token)).words == "200"
    assert (await with_cookie(world, late)).words == "429 rate_limited"
    assert lookups(world) == 5


async def test_pages_are_shown_to_visitors_and_refused_to_those_who_must_be_signed_in(three_a_minute: World) -> None:
    world = three_a_minute
    token = world.session("ann@example.com")
    assert (await with_cookie(world, token, "/dashboard")).status == 200
    await guessed(world, 3)
    guess = SESSION_TOKEN.new(world.entropy.token(ENTROPY_BYTES))
    assert (await with_cookie(world, guess, "/")).status == 200
    assert (await with_cookie(world, guess, "/dashboard")).status == 429
    assert (await with_cookie(world, token, "/dashboard")).status == 200


async def test_live_nodes_share_the_budget(world: World) -> None:
    await world.meet("n2", "n3")
    assert (await guessed(world, 40)).count("401 invalid_api_key") == 20
