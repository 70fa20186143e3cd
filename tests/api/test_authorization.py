"""Authorization of clients over HTTP: from an address to a key of an account, by one approval (ADR 0109)."""

import re

import pytest

from actors.clock import DAY_MS
from actors.shared.credentials import Kind
from actors.values import Scope, Tier
from tests.api.agents import call, message, send
from tests.api.conformity import BASE_URL
from tests.api.devices import GRANT, decided
from tests.api.oauth import ANN, CALLBACK, TOKEN, agent, answer_of, form_of, form_sent, sent
from tests.api.world import World, away, open_world
from tests.web.browser import Browser
from tests.web.visitors import Seen


async def test_a_client_comes_from_the_address_to_a_key_by_one_approval(world: World) -> None:
    ann = world.session(ANN)
    asked = await send(world, message("tools/call", {"name": "get_usage", "arguments": {}}))
    assert (asked.status, asked.json["error"]["data"]["error"]) == (401, "unauthorized")
    metadata = f"{BASE_URL}/.well-known/oauth-protected-resource/mcp"
    assert asked.header("www-authenticate") == f'Bearer resource_metadata="{metadata}", scope="library:read"'
    resource = (await world.client.get(metadata.removeprefix(BASE_URL))).json
    assert resource["resource"] == f"{BASE_URL}/mcp"
    [issuer] = resource["authorization_servers"]
    server = (await world.client.get("/.well-known/oauth-authorization-server")).json
    assert server["issuer"] == issuer == BASE_URL
    client = await agent(world, client_name="An agent")
    page = Seen.of(await client.opened(ann))
    for shown in ("An agent", "127.0.0.1:8123", ANN, "library:read", "In 90 days", "Nobody has checked that name"):
        assert shown in page.text
    answer = answer_of(response := await client.decided(ann))
    assert (response.header("location") or "").startswith(f"{CALLBACK}?code=")
    assert answer.keys() == {"code", "state", "iss"}
    assert (answer["state"], answer["iss"]) == ("a state", BASE_URL)
    tokens = (await client.exchanged(answer["code"])).json
    assert tokens.keys() == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert (tokens["token_type"], tokens["scope"]) == ("Bearer", "library:read")
    usage = await call(world, "get_usage", {}, tokens["access_token"])
    assert usage["structuredContent"]["email"] == ANN
    again = (await client.refreshed(tokens["refresh_token"])).json
    assert (await call(world, "get_usage", {}, again["access_token"]))["isError"] is False
    revoked = await form_sent(world, "/oauth/revoke", {"token": again["refresh_token"], "client_id": client.client_id})
    assert (revoked.words, revoked.json) == ("200", {})
    ended = await send(world, message("ping"), again["access_token"])
    assert (ended.status, 'error="invalid_token"' in (ended.header("www-authenticate") or "")) == (401, True)


METADATA = f'resource_metadata="{BASE_URL}/.well-known/oauth-protected-resource/mcp"'


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list", "notifications/initialized", "nonsense"])
async def test_every_message_with_a_key_that_ended_is_challenged(world: World, method: str) -> None:
    told = message(method, message_id=None if method.startswith("notifications") else 7)
    for key in (world.key(revoked=True), world.key(expires_in_ms=-1), "nonsense"):
        response = await send(world, told, key)
        assert (response.status, response.json["id"]) == (401, told.get("id"))
        challenge = response.header("www-authenticate") or ""
        assert challenge.startswith('Bearer error="invalid_token", error_description="')
        assert challenge.endswith(f'{METADATA}, scope="library:read"')
    assert (await send(world, told, Authorization="Basic Y2xpOng=")).status == 401
    assert (await send(world, told)).status != 401, "nobody needs a key for it"


async def test_a_key_without_the_scope_is_told_which_one_it_lacks_beside_its_own(world: World) -> None:
    world.key(email=ANN, tier=Tier.CLAIMED, kind=Kind.USER)
    key = world.key_of(ANN, (Scope.SPONSOR_READ, Scope.BILLING_WRITE))
    response = await send(world, message("tools/call", {"name": "get_usage", "arguments": {}}), key)
    assert (response.status, response.json["error"]["data"]["error"]) == (403, "insufficient_scope")
    challenge = response.header("www-authenticate") or ""
    assert 'error="insufficient_scope"' in challenge
    assert challenge.endswith(f'{METADATA}, scope="library:read sponsor:read"')


async def test_refusals_that_no_authorization_resolves_stay_results(world: World) -> None:
    used_up = world.key(used=1_000)
    for key in (used_up, world.key(usecase_reads=1_000)):
        result = await call(world, "search_use_cases", {}, key)
        assert result["isError"], result


async def test_messages_that_need_no_key_are_answered_while_the_database_is_away(world: World) -> None:
    key = world.key()
    world.memory.before = away
    assert (await send(world, message("tools/list"), key)).status == 200


async def test_a_page_of_another_site_can_read_the_challenge() -> None:
    async with open_world(SERVER__MCP_ORIGINS='["https://agent.example.com"]') as world:
        response = await send(world, message("ping"), "nonsense", Origin="https://agent.example.com")
        assert response.status == 401
        assert "WWW-Authenticate" in (response.header("access-control-expose-headers") or "")


async def test_an_operation_itself_challenges_as_before(world: World) -> None:
    response = await world.client.get("/api/v1/usage", "nonsense")
    assert (response.words, response.header("www-authenticate")) == ("401 invalid_api_key", "Bearer")


async def test_the_documents_of_the_service_name_what_it_can_do(world: World) -> None:
    metadata = (await world.client.get("/.well-known/oauth-authorization-server")).json
    assert (await world.client.get("/.well-known/oauth-authorization-server/mcp")).json == metadata
    endpoints = {name: url for name, url in metadata.items() if name.endswith("_endpoint")}
    assert {name: url.removeprefix(BASE_URL) for name, url in endpoints.items()} == {
        "authorization_endpoint": "/oauth/authorize",
        "token_endpoint": "/oauth/token",
        "registration_endpoint": "/oauth/register",
        "revocation_endpoint": "/oauth/revoke",
        "device_authorization_endpoint": "/api/v1/auth/device",
    }
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert metadata["response_types_supported"] == ["code"]
    assert metadata["token_endpoint_auth_methods_supported"] == ["none"]
    assert metadata["client_id_metadata_document_supported"] is True
    for path in ("", "/mcp"):
        resource = (await world.client.get(f"/.well-known/oauth-protected-resource{path}")).json
        assert resource["resource"] == BASE_URL + path
        assert resource["authorization_servers"] == [metadata["issuer"]]
        assert resource["scopes_supported"] == metadata["scopes_supported"] == ["library:read", "sponsor:read"]


async def test_a_device_gets_its_key_at_the_token_endpoint_of_the_metadata(world: World) -> None:
    device = (await world.client.post("/api/v1/auth/device")).json
    ann = world.session(ANN)
    await decided(world, ann, device["user_code"])
    await world.pass_seconds(5)
    fields = {"grant_type": GRANT, "device_code": device["device_code"], "client_id": "a-program"}
    tokens = (await form_sent(world, TOKEN, fields)).json
    assert tokens.keys() == {"access_token", "token_type"}
    assert (await world.client.get("/api/v1/usage", tokens["access_token"])).json["email"] == ANN


async def test_a_person_can_leave_out_what_is_not_needed(world: World) -> None:
    ann, client = world.session(ANN), await agent(world)
    form = form_of(await client.opened(ann, scope="library:read sponsor:read"))
    assert "scope sponsor:read" in form.fields
    del form.fields["scope sponsor:read"]
    tokens = (await client.exchanged(answer_of(await sent(world, ann, form))["code"])).json
    assert tokens["scope"] == "library:read"
    [key] = [key for key in world.memory.keys.values() if key.name == "127.0.0.1:8123"]
    assert key.expires_ms == world.now_ms + 90 * DAY_MS
    form.fields.pop("scope library:read")
    nothing = await sent(world, ann, form)
    assert "Choose at least one thing" in Seen.of(nothing).text


@pytest.mark.parametrize("days", ["30", "365"])
async def test_the_person_chooses_when_the_access_ends(world: World, days: str) -> None:
    ann, client = world.session(ANN), await agent(world)
    await client.tokens(ann, days=days)
    [key] = [key for key in world.memory.keys.values() if key.name == "127.0.0.1:8123"]
    assert key.expires_ms == world.now_ms + int(days) * DAY_MS
    response = await client.decided(ann, days="36500")
    assert "Choose when the access ends." in Seen.of(response).text


async def test_a_request_is_kept_through_the_sign_in(world: World) -> None:
    client = await agent(world, client_name="An agent")
    person = Browser(world)
    await person.open(client.request(state="s" * 500))
    await person.press("send", email=ANN)
    await person.press("complete", code=await world.emailed_code(ANN))
    assert "calls itself An agent" in person.text
    long = Browser(world)
    await long.open(client.request(state="%" * 1_000))
    assert "Sign in, then open the address again" in long.text


async def test_a_name_that_is_markup_is_a_text(world: World) -> None:
    ann, client = world.session(ANN), await agent(world, client_name="<b onclick=alert(1)>Bold</b>")
    page = await client.opened(ann)
    assert "<b onclick=alert(1)>Bold</b>" in Seen.of(page).text
    assert b"<b onclick" not in page.body


async def test_an_administrator_without_a_passkey_allows_what_is_not_administration() -> None:
    async with open_world(ADMIN__REQUIRE_PASSKEY="true") as world:
        boss, client = world.session(ANN, admin=True), await agent(world)
        tokens = await client.tokens(boss)
        assert (await world.client.get("/api/v1/usage", tokens["access_token"])).status == 200
        assert (await world.client.get("/api/v1/admin/accounts", tokens["access_token"])).status == 403


async def test_a_text_that_was_replaced_is_refused_at_once_without_the_announcement(world: World) -> None:
    client = await agent(world)
    tokens = await client.tokens(world.session(ANN))
    assert (await call(world, "get_usage", {}, tokens["access_token"]))["isError"] is False
    world.memory.listeners.clear()
    assert (await client.refreshed(tokens["refresh_token"])).words == "200"
    replaced = await send(world, message("ping"), tokens["access_token"])
    assert replaced.status == 401


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_metadata_is_that_of_the_address_that_a_client_was_given(world: World, path: str) -> None:
    asked = await world.client.post(path, json=message("tools/call", {"name": "get_usage", "arguments": {}}))
    [place] = re.findall(f'resource_metadata="{BASE_URL}([^"]*)"', asked.header("www-authenticate") or "")
    resource = (await world.client.get(place)).json["resource"]
    assert resource == BASE_URL + path
    client = await agent(world)
    code = await client.code(world.session(ANN), resource=resource)
    assert (await client.exchanged(code, resource=resource)).words == "200"
