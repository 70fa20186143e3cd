"""The client address whose limit a keyless request uses, also behind trusted proxies."""

import pytest

from actors.clock import MINUTE_MS
from tests.api.world import World, open_world

PROXY = "10.0.0.9"
TRUSTED = {"SERVER__TRUSTED_PROXIES": "10.0.0.0/8, fd00::/8", "KEYLESS__PER_MINUTE": 1}


async def _passes(world: World, address: str | None, **headers: str) -> bool:
    """Whether one more request is allowed, at a limit of one a minute per address."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    response = await world.client.get("/api/v1/bots", headers=named, address=address)
    assert response.words in ("200", "429 rate_limited")
    return response.status == 200


@pytest.mark.parametrize(
    "name",
    ["X-Forwarded-For", "Remote-Addr", "X-Real-IP", "Forwarded", "Client-IP", "True-Client-IP", "CF-Connecting-IP"],
)
async def test_no_header_gives_a_stranger_another_address(name: str) -> None:
    async with open_world(**TRUSTED) as world:
        assert await _passes(world, "203.0.113.7")
        for spoofed in ("198.51.100.1", "127.0.0.1", "10.0.0.1", "for=198.51.100.2"):
            assert not await _passes(world, "203.0.113.7", **{name: spoofed})


async def test_without_trusted_proxies_forwarded_for_is_not_looked_at() -> None:
    async with open_world(KEYLESS__PER_MINUTE=1) as world:
        assert await _passes(world, "127.0.0.1", X_Forwarded_For="198.51.100.1")
        assert not await _passes(world, "127.0.0.1", X_Forwarded_For="198.51.100.2")


FORWARDED = {
    "a proxy speaks for its clients": {"198.51.100.1": True, "198.51.100.2": True},
    "only what the nearest proxies added is believed": {
        "198.51.100.1": True,
        "192.0.2.77, 198.51.100.1": False,
        "192.0.2.78, 198.51.100.1, 10.9.9.9, fd00::5": False,
        "garbage,198.51.100.1 ,10.9.9.9": False,
    },
    "a proxy that names no client is the client": {"": True, " ": False, ",": False, "10.0.0.1, 10.0.0.2": True},
    "a port makes no other client": {"198.51.100.1": True, "198.51.100.1:4711": False, "198.51.100.1:4712": False},
    "a port of IPv6 neither": {"2001:db8::1": True, "[2001:db8::2]:443": False, "[2001:db8::3]": False},
}


@pytest.mark.parametrize("sent", FORWARDED.values(), ids=FORWARDED)
async def test_a_trusted_proxy_forwards(sent: dict[str, bool]) -> None:
    async with open_world(**TRUSTED) as world:
        assert [await _passes(world, PROXY, X_Forwarded_For=each) for each in sent] == list(sent.values())
        for each in sent:
            assert not await _passes(world, PROXY, X_Forwarded_For=each)


async def test_several_forwarded_for_headers_are_one_list() -> None:
    async with open_world(**TRUSTED) as world:
        several = [("X-Forwarded-For", "192.0.2.77"), ("X-Forwarded-For", "198.51.100.1")]
        response = await world.client.get("/api/v1/bots", headers=several, address=PROXY)
        assert response.status == 200
        assert not await _passes(world, "198.51.100.1")


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("203.0.113.7", None, False),
    ],
)
async def test_two_addresses_are_one_client_or_two(one: str, other: str | None, alike: bool) -> None:
    async with open_world(KEYLESS__PER_MINUTE=1) as world:
        assert await _passes(world, one)
        assert await _passes(world, other) is not alike
        assert not await _passes(world, one)


async def test_keyed_requests_do_not_use_the_addresss_limit() -> None:
    async with open_world(KEYLESS__PER_MINUTE=1) as world:
        key = world.key()
        for _ in range(3):
            assert (await world.client.get("/api/v1/bots", key)).words == "200"
        assert await _passes(world, "203.0.113.7")


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Forwarded-Proto"])
async def test_a_proxy_that_is_not_trusted_is_logged_once_a_minute_and_counted(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    def warnings() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.name == "service.observability.client_address"]

    async with open_world(SERVER__TRUSTED_PROXIES="10.0.0.0/8") as world:
        await _passes(world, "192.0.2.9")
        await _passes(world, PROXY, **{name: "198.51.100.1"})
        assert warnings() == [], "nothing is wrong with these"
        for _ in range(3):
            await _passes(world, "192.0.2.9", **{name: "198.51.100.1"})
        [warning] = warnings()
        assert f"{name.lower()} from 192.0.2.9" in warning
        assert "server.trusted_proxies" in warning
        assert "198.51.100.1" not in warning, "a visitor's text is not logged"
        world.clock.at_ms += MINUTE_MS
        await _passes(world, "192.0.2.10", **{name: "198.51.100.1"})
        assert "192.0.2.10" in warnings()[1]
        assert "4 such requests" in warnings()[1]
        page = (await world.client.get("/metrics")).body.decode()
        assert "\ncatalog_untrusted_forwards_total 4.0\n" in page
