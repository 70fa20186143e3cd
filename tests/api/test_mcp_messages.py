"""Messages of the Model Context Protocol: revisions, errors of JSON-RPC, origins, and hostile bodies."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from service.api.context import Services
from service.api.mcp import endpoint
from service.schemas import mcp as wire
from tests.api.agents import META, STATELESS, TOOLS, message, send, stateless
from tests.api.asgi import Response
from tests.api.conformity import BASE_URL
from tests.api.world import World, open_world

JSON = {"Content-Type": "application/json"}
PARSE, INVALID, NO_METHOD, PARAMS, MISMATCH, UNSUPPORTED = -32700, -32600, -32601, -32602, -32020, -32022


@pytest.fixture
async def open_to_all() -> AsyncIterator[World]:
    async with open_world(SERVER__MCP_ORIGINS='["https://agent.example.com"]') as world:
        yield world


def outcome_of(response: Response) -> tuple[int, int]:
    """The HTTP status and the error code of a response."""
    return response.status, response.json["error"]["code"]


# Revisions.


@pytest.mark.parametrize("wanted", ["2025-03-26", "2025-06-18", "2025-11-25", "2024-11-05", "2026-07-28", "1", ""])
async def test_initialize_agrees_on_a_revision(world: World, wanted: str) -> None:
    params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
    result = (await send(world, message("initialize", params))).json["result"]
    assert result["protocolVersion"] == (
        wanted if wanted in ("2025-03-26", "2025-06-18", "2025-11-25") else "2025-11-25"
    )
    assert result["capabilities"] == {"tools": {}}
    assert result["serverInfo"]["name"] == "catalog-service"
    assert "mcp-session-id" not in dict((await send(world, message("initialize", params))).headers)


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "clientInfo"])
async def test_initialize_needs_all_that_the_protocol_asks_for(world: World, missing: str) -> None:
    params: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    del params[missing]
    response = await send(world, message("initialize", params))
    assert outcome_of(response) == (200, PARAMS)
    assert missing in response.json["error"]["message"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_the_endpoint_has_the_same_methods_with_a_slash_at_its_end(world: World, path: str) -> None:
    assert (await world.client.post(path, json=message("ping"))).json["result"] == {}
    assert (await world.client.post(path, json=[message("ping")])).json["error"]["code"] == INVALID
    for method in ("GET", "DELETE", "PUT"):
        response = await world.client.request(method, path)
        assert outcome_of(response) == (405, 405)
        assert response.header("allow") == "OPTIONS, POST"
    preflight = await world.client.request("OPTIONS", path, headers={"Origin": BASE_URL})
    assert (preflight.status, preflight.header("access-control-allow-methods")) == (204, "POST")
    assert (await world.client.post(f"{path}/x", json=message("ping"))).status == 404


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_older_revisions_name_themselves_in_a_header_or_nowhere(world: World, revision: str) -> None:
    for headers in ({}, {"MCP_Protocol_Version": revision}):
        response = await send(world, message("ping"), **headers)
        assert response.json == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert (await send(world, message("tools/list"))).json["result"].keys() == {"tools"}


@pytest.mark.parametrize(
    "revision", ["2025-03-27", "2024-11-05", "2027-01-01", "", "nonsense", "2025-06-18, 2025-06-18"]
)
async def test_other_revisions_are_refused_with_those_that_are_supported(world: World, revision: str) -> None:
    for sent in (message("tools/list"), message("notifications/initialized", None, None)):
        response = await send(world, sent, MCP_Protocol_Version=revision)
        assert outcome_of(response) == (400, UNSUPPORTED)
        assert response.json["error"]["data"] == {
            "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"],
            "requested": revision,
        }


async def test_discover_tells_revisions_and_how_long_to_keep_them(world: World) -> None:
    sent, headers = stateless("server/discover")
    result = (await send(world, sent, **headers)).json["result"]
    assert result["supportedVersions"] == list(wire.SUPPORTED)
    assert (result["ttlMs"], result["cacheScope"], result["resultType"]) == (3_600_000, "public", "complete")


async def test_a_stateless_list_may_be_kept(world: World) -> None:
    sent, headers = stateless("tools/list")
    result = (await send(world, sent, **headers)).json["result"]
    assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")
    assert {tool["name"] for tool in result["tools"]} == TOOLS.keys()


NO_METHODS = ("server/discover", "resources/list", "prompts/get", "x" * 10_000, "", "TOOLS/LIST")


async def test_a_method_that_a_revision_lacks_is_404_or_an_error_of_the_request(world: World) -> None:
    for method in ("initialize", "ping", "resources/list", "subscriptions/listen"):
        sent, headers = stateless(method)
        assert outcome_of(await send(world, sent, **headers)) == (404, NO_METHOD)
    for method in NO_METHODS:
        assert outcome_of(await send(world, message(method))) == (200, NO_METHOD)


MISMATCHED = {
    "MCP-Protocol-Version": (None, "2025-11-25"),
    "Mcp-Method": (None, "tools/list", "=?base64?dG9vbHMvY2FsbA==?="),
    "Mcp-Name": (None, "get_usage", "get_bot, get_bot", "=?base64?!?=", "=?base64?/w==?="),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in MISMATCHED.items() for value in values])
async def test_headers_and_a_stateless_message_agree(world: World, name: str, value: str | None) -> None:
    sent, headers = stateless("tools/call", {"name": "get_bot", "arguments": {"slug": "bot-00"}})
    encoded = await send(world, sent, **headers | {"Mcp-Name": "=?base64?Z2V0X2JvdA==?="})
    assert encoded.json["result"]["isError"] is False
    changed = {each: text for each, text in (headers | {name: value}).items() if text is not None}
    response = await send(world, sent, **changed)
    assert outcome_of(response) == (400, MISMATCH)
    assert name in response.json["error"]["message"]


@pytest.mark.parametrize(
    "meta",
    [
        None,
        [],
        {},
        {f"{META}protocolVersion": STATELESS},
        {f"{META}clientCapabilities": {}},
        {f"{META}protocolVersion": 1, f"{META}clientCapabilities": {}},
        {f"{META}protocolVersion": STATELESS, f"{META}clientCapabilities": []},
    ],
)
async def test_a_stateless_message_describes_itself(world: World, meta: Any) -> None:
    sent = message("tools/list", {"_meta": meta})
    response = await send(world, sent, MCP_Protocol_Version=STATELESS, Mcp_Method="tools/list")
    assert outcome_of(response) == (400, PARAMS)


async def test_a_stateless_message_of_an_older_revision_is_refused(world: World) -> None:
    sent, headers = stateless("tools/list", revision="2025-11-25")
    assert outcome_of(await send(world, sent, **headers)) == (400, UNSUPPORTED)


# Messages.


@pytest.mark.parametrize("method", ["notifications/initialized", "notifications/cancelled", "tools/call", "nonsense"])
async def test_a_notification_is_taken_without_an_answer(world: World, method: str) -> None:
    response = await send(world, message(method, {"name": "get_usage"}, None), world.key())
    assert (response.status, response.body) == (202, b"")


@pytest.mark.parametrize("message_id", [0, -1, 1, 2**63, 10**400, "", "a", "ä\u2028", "x" * 5_000, "1"])
async def test_an_answer_has_the_id_of_its_request(world: World, message_id: Any) -> None:
    assert (await send(world, message("ping", message_id=message_id))).json["id"] == message_id
    assert (await send(world, message("nonsense", message_id=message_id))).json["id"] == message_id


@pytest.mark.parametrize(("written", "read"), [("1.0", 1), ("2e1", 20), ("-0.0", 0), ("9007199254740993.0", 2**53 + 1)])
async def test_an_id_is_a_whole_number_however_it_is_written(world: World, written: str, read: int) -> None:
    body = f'{{"jsonrpc": "2.0", "id": {written}, "method": "ping"}}'.encode()
    response = await world.client.post("/mcp", body=body, headers=JSON)
    assert response.body.decode() == f'{{"jsonrpc":"2.0","id":{read},"result":{{}}}}'


BODIES: dict[str, tuple[bytes, int, Any]] = {
    "nothing": (b"", PARSE, None),
    "no JSON": (b"hello", PARSE, None),
    "two": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}{}', PARSE, None),
    "not UTF-8": (b'{"jsonrpc": "2.0", "id": "\xff", "method": "ping"}', PARSE, None),
    "half a surrogate": (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', PARSE, None),
    "deep": (b"[" * 5_000 + b"]" * 5_000, PARSE, None),
    "deep arguments": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b'{"a":' * 2_000, PARSE, None),
    "a number": (b"1", INVALID, None),
    "a batch": (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', INVALID, None),
    "no version": (b'{"id": 1, "method": "ping"}', INVALID, 1),
    "a version that is a number": (b'{"jsonrpc": 2.0, "id": 1, "method": "ping"}', INVALID, 1),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', INVALID, 1),
    "an id that is null": (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID, None),
    "an id with a fraction": (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID, None),
    "an id with a long fraction": (b'{"jsonrpc": "2.0", "id": 2.0000000000000000001, "method": "ping"}', INVALID, None),
    "an id without end": (b'{"jsonrpc": "2.0", "id": 1e400, "method": "ping"}', INVALID, None),
    "an id that is a list": (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', INVALID, None),
    "parameters in a list": (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', INVALID, 1),
    "two ids": (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', INVALID, 2),
    "two arguments of a name": (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_bot", '
        b'"arguments": {"slug": "bot-00", "slug": "bot-01"}}}',
        INVALID,
        1,
    ),
}


@pytest.mark.parametrize("name", BODIES)
async def test_what_is_no_message_is_an_error_and_changes_nothing(world: World, name: str) -> None:
    body, code, message_id = BODIES[name]
    key = world.key()
    response = await world.client.post("/mcp", key, body=body, headers=JSON)
    assert outcome_of(response) == (400, code)
    assert response.json["id"] == message_id
    assert world.tenant_of(key).lifetime_used == 0
    if name.startswith("an id"):
        assert response.json["error"]["message"] == "The message is not valid: id: must be a string or a whole number"


NO_ARGUMENTS: tuple[Any, ...] = ([], "slug", 1)


@pytest.mark.parametrize(
    "params",
    [
        *({}, {"name": None}, {"name": 1}, {"name": "get_nothing"}, {"name": "GET_BOT"}, {"name": "getBot"}),
        *({"name": "get_bot", "arguments": arguments} for arguments in NO_ARGUMENTS),
    ],
)
async def test_a_call_of_no_tool_is_an_error_of_the_protocol(world: World, params: Any) -> None:
    assert outcome_of(await send(world, message("tools/call", params))) == (200, PARAMS)
    sent, headers = stateless("tools/call", {"name": "", **params})
    headers["Mcp-Name"] = str(sent["params"]["name"])
    status, code = outcome_of(await send(world, sent, **headers))
    assert status == 400
    assert code in (PARAMS, MISMATCH)


async def test_the_list_has_one_page(world: World) -> None:
    assert outcome_of(await send(world, message("tools/list", {"cursor": "x"}))) == (200, PARAMS)
    assert (await send(world, message("tools/list", {"cursor": None}))).json["result"]["tools"]


# HTTP.


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "TRACE"])
async def test_other_methods_are_refused_in_json_even_for_browsers(world: World, method: str) -> None:
    for accept in ("text/event-stream", "text/html"):
        response = await world.client.request(method, "/mcp", headers={"Accept": accept})
        assert response.status == 405
        assert response.header("allow") == "OPTIONS, POST"
        assert response.header("content-type") == "application/json"


async def test_a_message_is_declared_as_json_and_may_name_its_encoding(world: World) -> None:
    body = json.dumps(message("ping")).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "text/html", "application/jsonp"):
        headers = {"Content-Type": kind, "Accept": "text/html"}
        assert outcome_of(await world.client.post("/mcp", body=body, headers=headers)) == (415, 415)
    headers = {"Content-Type": "Application/JSON; charset=utf-8", "Accept": "text/html"}
    assert (await world.client.post("/mcp", body=body, headers=headers)).json["result"] == {}


async def test_a_body_beyond_the_limit_is_refused(world: World) -> None:
    body = b" " * (world.config.http.body_bytes + 1)
    for parts in (body, [body[:10], body[10:]]):
        assert outcome_of(await world.client.post("/mcp", body=parts, headers=JSON)) == (413, 413)


async def test_messages_without_a_call_count_as_pages() -> None:
    async with open_world(PAGES__PER_MINUTE=3) as world:
        for sent in (message("ping"), message("nonsense"), message("notifications/initialized", None, None)):
            assert (await send(world, sent)).status in (200, 202)
        bodies: tuple[Any, ...] = (message("ping"), [], message("tools/list"))
        for body in bodies:
            response = await send(world, body)
            assert outcome_of(response) == (429, 429)
            assert response.json["error"]["data"]["error"] == "rate_limited"
        assert (await world.client.get("/")).status == 429


async def test_a_bug_is_an_error_of_json_rpc(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Services:
        raise RuntimeError("a bug of this test")

    monkeypatch.setattr(endpoint, "read", fail)
    response = await send(world, message("ping"))
    assert outcome_of(response) == (500, 500)
    assert "bug" not in response.body.decode()


# Origins.


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "", f"{BASE_URL}:8443", "http://catalog.test", "*"])
async def test_pages_of_other_origins_are_refused(world: World, origin: str) -> None:
    response = await send(world, message("tools/call", {"name": "search_bots"}), Origin=origin)
    assert outcome_of(response) == (403, 403)
    assert response.header("access-control-allow-origin") is None
    refused = await world.client.request("OPTIONS", "/mcp", headers={"Origin": origin})
    assert outcome_of(refused) == (403, 403)


async def test_pages_of_this_origin_and_of_listed_ones_may_call(open_to_all: World) -> None:
    for origin in (BASE_URL, "https://agent.example.com"):
        response = await send(open_to_all, message("ping"), Origin=origin)
        assert response.json["result"] == {}
        assert response.header("access-control-allow-origin") == origin
        assert response.header("vary") == "Origin"
        preflight = await open_to_all.client.request("OPTIONS", "/mcp", headers={"Origin": origin})
        assert preflight.status == 204
        assert preflight.header("access-control-allow-origin") == origin
        assert "authorization" in (preflight.header("access-control-allow-headers") or "")
    assert outcome_of(await send(open_to_all, message("ping"), Origin="https://agent.example.com:8443")) == (403, 403)


async def test_an_operator_may_let_all_pages_call() -> None:
    async with open_world(SERVER__MCP_ORIGINS='["*"]') as world:
        response = await send(world, message("ping"), Origin="https://anything.example")
        assert response.header("access-control-allow-origin") == "*"
        wrong = await send(world, [], Origin="https://anything.example")
        assert wrong.header("access-control-allow-origin") == "*"
