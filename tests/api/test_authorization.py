"""Authorization of clients over HTTP: from an address to a key of an account, by one approval (ADR 0109)."""

import re

import pytest

from tests.api.agents import call, message, send
from tests.api.conformity import BASE_URL
from tests.api.oauth import ANN, CALLBACK, agent, answer_of, form_sent
from tests.api.world import World
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
