"""Pages, static files and the development outbox."""

from collections.abc import AsyncIterator

import pytest

from tests.api.asgi import Client
from tests.api.conformity import check
from tests.api.world import LOCAL, World, open_world


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_a_page_takes_no_other_method(world: World, method: str) -> None:
    for path in ("/", "/docs", "/claim", "/openapi.json", "/metrics"):
        response = await world.client.request(method, path)
        assert response.words == "405 method_not_allowed"
        assert set((response.header("allow") or "").split(", ")) >= {"GET", "HEAD"}


async def test_the_icon_is_where_browsers_look_for_it(world: World) -> None:
    response = await world.client.get("/favicon.ico")
    assert (response.status, response.header("location")) == (301, "/static/icon.svg")


async def test_static_files_are_served_and_nothing_beside_them(world: World) -> None:
    style = await world.client.get("/static/style.css")
    assert style.status == 200
    assert style.header("content-type") == "text/css; charset=utf-8"
    for target in ("../config.py", "%2e%2e/config.py", "..%2Fconfig.py", "%2Fetc%2Fpasswd", "nothing", "", "%00"):
        assert (await world.client.get(f"/static/{target}")).words == "404 not_found"


# The outbox.


@pytest.fixture
async def here() -> AsyncIterator[World]:
    """A node for this machine alone."""
    async with open_world(**LOCAL) as opened:
        yield opened


async def _outbox(world: World, address: str | None, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return (await world.client.get("/dev/outbox", address=address, headers=named)).status


async def _send_code(world: World) -> str:
    token = (await world.services.keys.mint()).claim_token
    await world.client.post("/api/v1/auth/claim", json={"claimToken": token, "email": "ann@example.com"})
    return await world.emailed_code("ann@example.com")


async def test_the_outbox_shows_mails_to_who_sits_at_this_machine(here: World) -> None:
    code = await _send_code(here)
    for address in ("127.0.0.1", "::1", "127.8.8.8"):
        response = await here.client.get("/dev/outbox", address=address)
        assert code in response.body.decode()


@pytest.mark.parametrize("address", ["203.0.113.7", "10.0.0.1", "::", "0.0.0.0", "localhost", "", None])
async def test_nobody_else_sees_the_outbox(here: World, address: str | None) -> None:
    assert await _outbox(here, address) == 404
    assert await _outbox(here, address, X_Forwarded_For="127.0.0.1", Remote_Addr="127.0.0.1") == 404


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Anything", "Forwarded", "X-Real-IP", "Via"]
)
async def test_a_proxy_on_this_machine_does_not_open_the_outbox(here: World, header: str) -> None:
    """Whether the proxy is trusted or not, and whatever address it forwards."""
    assert await _outbox(here, "127.0.0.1") == 200
    assert await _outbox(here, "127.0.0.1", **{header: "203.0.113.7"}) == 404
    assert await _outbox(here, "127.0.0.1", **{header: "127.0.0.1"}) == 404


async def test_the_outbox_is_closed_to_names_that_lead_to_this_machine() -> None:
    """A page of another site reaches this machine by a name of its own (DNS rebinding), and a proxy may pass its Host on."""
    hosts = {"127.0.0.1": 200, "localhost:8080": 200, "[::1]:8080": 200, "rebound.example.com:8080": 404, "": 404}
    async with open_world(**LOCAL) as world:
        for host, status in hosts.items():
            client = Client(world.client.app, check, host)
            assert (await client.get("/dev/outbox", address="127.0.0.1")).status == status


@pytest.mark.parametrize(
    "settings",
    [
        {"SERVER__BASE_URL": "https://catalog.example.com"},
        {"SERVER__BIND": "0.0.0.0:8080"},
        {"SERVER__BIND": "[::]:8080"},
        {"TLS__BIND": "0.0.0.0:8443", "TLS__CERTIFICATE": "a", "TLS__KEY": "b"},
    ],
    ids=lambda settings: " ".join(settings.values()),
)
async def test_a_service_that_others_reach_has_no_outbox(settings: dict[str, str]) -> None:
    async with open_world(**(LOCAL | settings)) as world:
        there = Client(world.client.app, check, "127.0.0.1:8080")
        assert (await there.get("/dev/outbox", address="127.0.0.1")).status == 404


async def test_with_a_mail_server_there_is_no_outbox() -> None:
    async with open_world(**LOCAL, MAIL__SMTP_URL="smtp://mail.example:25") as world:
        assert await _outbox(world, "127.0.0.1") == 404
