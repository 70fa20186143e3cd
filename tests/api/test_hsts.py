"""Strict-Transport-Security: on every response of a public service that came over HTTPS, and on no other."""

import pytest

from service.web.middleware import Hsts
from tests.api.world import World, open_world

PROXY = "10.0.0.1"
PATHS = ("/", "/api/v1/bots", "/api/v1/sponsors/placements", "/openapi.json", "/nothing", "/metrics", "/dashboard")
YEAR = "max-age=31536000"


async def sent(world: World, path: str, address: str = PROXY, **headers: str) -> str | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return (await world.client.get(path, address=address, headers=named)).header("strict-transport-security")


@pytest.mark.parametrize("path", PATHS)
async def test_responses_behind_a_trusted_proxy_have_it_if_people_come_by_https(path: str) -> None:
    async with open_world(SERVER__TRUSTED_PROXIES=PROXY) as world:
        assert await sent(world, path, X_Forwarded_Proto="https") == YEAR
        assert await sent(world, path, X_Forwarded_Proto="http") is None
        assert await sent(world, path) is None
        assert await sent(world, path, "203.0.113.7", X_Forwarded_Proto="https") is None


@pytest.mark.parametrize(
    "settings",
    [
        {"SERVER__BASE_URL": "http://catalog.test"},
        {"SERVER__BASE_URL": "https://localhost"},
        {"SERVER__BASE_URL": "https://127.0.0.1:8443"},
        {"SERVER__HSTS_SECONDS": "0"},
    ],
    ids=lambda settings: " ".join(settings.values()),
)
async def test_a_service_of_this_machine_by_http_or_without_a_time_has_none(settings: dict[str, str]) -> None:
    async with open_world(**({"SERVER__TRUSTED_PROXIES": PROXY} | settings)) as world:
        assert await sent(world, "/", X_Forwarded_Proto="https") is None


@pytest.mark.parametrize(
    ("scheme", "seconds", "holds"), [("https", 60, True), ("http", 60, False), ("https", 0, False)]
)
def test_our_own_listener_says_so_itself(scheme: str, seconds: int, holds: bool) -> None:
    scope = {"scheme": scheme, "client": ("203.0.113.7", 1), "headers": []}
    assert Hsts(seconds).holds(scope) is holds


def test_a_client_without_an_address_is_no_proxy() -> None:
    assert not Hsts(60).holds({"scheme": "http", "client": None, "headers": [(b"x-forwarded-proto", b"https")]})
