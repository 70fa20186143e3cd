"""The total of mailed codes: it runs short for networks that used it before it does for others."""

from collections.abc import AsyncIterator

import pytest

from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE
from tests.api.world import World, open_world

SIGN_IN, CLAIM, MINT = "/api/v1/auth/session", "/api/v1/auth/claim", "/api/v1/auth/agent"
HOGS = [f"198.51.{number // 10}.{number % 10}" for number in range(100)]


@pytest.fixture
async def a_hundred_an_hour() -> AsyncIterator[World]:
    async with open_world(
        MAIL__PER_HOUR_TOTAL=100, MAIL__TOTAL_FACTOR=3, MINT__PER_HOUR=100, SESSIONS__STARTS_PER_HOUR=100
    ) as opened:
        yield opened


async def sign_in(world: World, email: str, address: str = "203.0.113.7") -> Response:
    return await world.client.post(SIGN_IN, json={"email": email}, headers=OUR_PAGE, address=address)


async def claim(world: World, token: str, email: str, address: str = "203.0.113.7") -> Response:
    return await world.client.post(CLAIM, json={"claimToken": token, "email": email}, address=address)


async def minted(world: World) -> str:
    token: str = (await world.client.post(MINT, address="192.0.2.9")).json["claimToken"]
    return token


def mails(world: World) -> int:
    return len(world.memory.messages)


async def test_500_codes_are_mailed_an_hour_unless_configured(world: World) -> None:
    assert (world.config.mail.per_hour_total, world.config.mail.total_factor) == (500, 5)


async def test_claims_and_sign_ins_share_the_total(a_hundred_an_hour: World) -> None:
    world = a_hundred_an_hour
    for number in range(5):
        assert (await sign_in(world, f"ann{number}@example.com", HOGS[0])).words == "200"
        assert (await claim(world, await minted(world), f"bob{number}@example.com", HOGS[1])).words == "200"
    for address in HOGS[:10]:
        assert (await sign_in(world, "eve@example.com", address)).words == "429 rate_limited"
        assert (await claim(world, await minted(world), "eve@example.com", address)).words == "429 rate_limited"
    assert mails(world) == 10


async def test_codes_that_are_not_mailed_do_not_count(a_hundred_an_hour: World) -> None:
    world = a_hundred_an_hour
    assert (await sign_in(world, "ann@example.com", HOGS[0])).words == "200"
    for address in HOGS[:20]:
        assert (await sign_in(world, "ann@example.com", HOGS[0])).words == "429 rate_limited", "a code was just sent"
        unknown = f"clm_{'x' * 32}"
        assert (await claim(world, unknown, "ann@example.com", address)).words == "400 invalid_claim"
    for number in range(9):
        assert (await sign_in(world, f"bob{number}@example.com", HOGS[0])).words == "200"


@pytest.mark.parametrize("tag", ["", "+", "+news", "+a+b"])
async def test_tags_of_a_mailbox_share_its_letters(tag: str) -> None:
    async with open_world() as world:
        assert (await sign_in(world, "ann+first@example.com")).words == "200"
        assert (await sign_in(world, f"ann{tag}@example.com")).words == "429 rate_limited"
        assert (await sign_in(world, "ann@example.org")).words == "200"
        assert (await claim(world, await minted(world), "ann+new@example.com")).words == "200", "claims count apart"
