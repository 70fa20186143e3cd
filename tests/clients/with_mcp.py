"""The official client of the Model Context Protocol, used as an agent. Imports nothing of the project.

The environment of `make clients` runs it, with `CATALOG_URL`, `CATALOG_KEY`, the key of an account, and `CATALOG_USED_UP`, an
anonymous key without a request left.
"""

import json
import os
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

URL = f"{os.environ['CATALOG_URL']}/mcp"
NO_METHOD, WRONG_PARAMETERS, UNAUTHORIZED = -32601, -32602, 401

OWN: dict[str, dict[str, Any]] = {
    "get_usage": {},
    "list_bookings": {},
    "get_booking": {"id": "bok_unknown"},
    "get_booking_delivery": {"id": "bok_unknown"},
    "get_delivery_report": {},
}
"""The tools that need a key, with arguments."""

Use = Callable[[Client], Awaitable[None]]


async def connected(use: Use, key: str | None, mode: str) -> None:
    """Connect as a program does that is configured with an address, and a header for its key."""
    headers = {"X-Request-Id": "with-mcp"} | ({} if key is None else {"Authorization": f"Bearer {key}"})
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20.0, trust_env=False) as http,
        Client(streamable_http_client(URL, http_client=http), mode=mode) as client,
    ):
        await use(client)


async def called(client: Client, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    """The structured result of a tool, which the client has held to the tool's schema."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult), result
    assert not result.is_error, result
    content = result.content[0]
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == result.structured_content
    return result.structured_content


async def refused(client: Client, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    """The error body of a tool that refuses."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult), result
    assert result.is_error, result
    [content] = result.content
    assert isinstance(content, TextContent)
    return json.loads(content.text)


async def challenged(asked: Awaitable[object]) -> Any:
    """The error body of a request that needs another key. It is an error of HTTP, by which clients with OAuth get one."""
    try:
        await asked
    except (MCPError, BaseExceptionGroup) as caught:
        error: BaseException = caught
        while isinstance(error, BaseExceptionGroup):
            [error] = error.exceptions
        assert isinstance(error, MCPError), error
        assert error.code == UNAUTHORIZED, error
        return error.data
    raise AssertionError("it was not refused")


async def error_of(asked: Awaitable[object]) -> int | None:
    """The code of an error of the protocol."""
    try:
        await asked
    except MCPError as error:
        return int(error.code)
    return None


async def reads(client: Client) -> int:
    """Call each tool that needs no key. Returns how many calls a key is charged for."""
    listed = await client.list_tools()
    for tool in listed.tools:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
    found = await called(client, "search_use_cases", {"q": "invoice", "limit": 3})
    case = await called(client, "get_use_case", {"slug": found["data"][0]["slug"]})
    assert case["title"] == found["data"][0]["title"]
    assert (await called(client, "get_use_case", {"slug": case["related"][0]["slug"]}))["related"]
    first = await called(client, "search_bots", {"limit": 2})
    second = await called(client, "search_bots", {"limit": 2, "cursor": first["nextCursor"]})
    assert first["data"] != second["data"]
    bot = await called(client, "get_bot", {"slug": first["data"][0]["slug"]})
    assert {key: value for key, value in bot.items() if key != "related"} == first["data"][0]
    assert await called(client, "list_categories")
    assert await free_weeks(client)
    assert (await called(client, "list_slot_prices"))["slots"]
    assert (await refused(client, "get_bot", {"slug": "no-such-bot"}))["error"] == "not_found"
    assert (await refused(client, "search_bots", {"limit": 1_000}))["error"] == "invalid_request"
    assert "query" in (await refused(client, "search_bots", {"query": "invoice"}))["message"]
    assert await error_of(client.call_tool("no_such_tool")) == WRONG_PARAMETERS
    assert await error_of(client.list_prompts()) == NO_METHOD
    # All but the call of no tool, and that with an argument of no tool.
    return 11


async def free_weeks(client: Client) -> list[tuple[str, int]]:
    """The ids of slots, each with the start of a week in which it is free."""
    weeks = (await called(client, "list_slot_weeks", {"weeks": 3}))["weeks"]
    return [(slot["id"], week["weekStart"]) for week in weeks for slot in week["slots"] if slot.get("available")]


async def without_a_key(client: Client) -> None:
    await reads(client)
    for tool, arguments in OWN.items():
        assert (await challenged(client.call_tool(tool, arguments)))["error"] == "unauthorized"


async def with_a_key(client: Client) -> None:
    before = await called(client, "get_usage")
    assert before["email"] == "agent@example.com"
    charged = await reads(client)
    [booking] = (await called(client, "list_bookings", {"limit": 5}))["items"]
    assert (await called(client, "get_booking", {"id": booking["id"]}))["booking"] == booking
    assert (await called(client, "get_booking_delivery", {"id": booking["id"]}))["impressions"] == 0
    assert (await called(client, "get_delivery_report"))["items"] == []
    assert (await refused(client, "get_delivery_report", {"format": "csv"}))["error"] == "invalid_request"
    after = await called(client, "get_usage")
    assert after["requestsUsed"] - before["requestsUsed"] == charged + 4, after


async def books(client: Client) -> None:
    """Book a free week by HTTP, because no tool changes anything."""
    slot_id, week = (await free_weeks(client))[0]
    brand = {
        "name": "Agent Tools",
        "website": "https://agent.example.com/",
        "headline": "Agents",
        "body": "All of them.",
    }
    body = brand | {"slotId": slot_id, "weekStart": week, "idempotencyKey": str(uuid.uuid4())}
    headers = {"Authorization": f"Bearer {os.environ['CATALOG_KEY']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=20.0, trust_env=False) as http:
        response = await http.post(f"{os.environ['CATALOG_URL']}/api/v1/sponsors/bookings/start", json=body)
    assert response.status_code == 200, response.text


async def with_a_key_that_is_used_up(client: Client) -> None:
    body = await refused(client, "search_bots")
    assert body["error"] == "quota_exhausted", body
    assert body["hint"] == "/api/v1/auth/claim"


async def never(client: Client) -> None:
    raise AssertionError("an unknown key connects")


async def too_fast(client: Client) -> None:
    """Call until the limit of a minute is reached."""
    for _ in range(1_000):
        result = await client.call_tool("get_bot", {"slug": "no-such-bot"})
        assert isinstance(result, CallToolResult)
        [content] = result.content
        assert isinstance(content, TextContent)
        body = json.loads(content.text)
        if body["error"] == "rate_limited":
            assert body["retryAfter"] > 0
            return
        assert body["error"] == "not_found", body
    raise AssertionError("there is no limit")


async def main() -> None:
    key, used_up = os.environ["CATALOG_KEY"], os.environ["CATALOG_USED_UP"]
    await connected(books, None, "auto")
    for mode in ("legacy", "auto"):
        await connected(without_a_key, None, mode)
        await connected(with_a_key, key, mode)
        await connected(with_a_key_that_is_used_up, used_up, mode)
        assert (await challenged(connected(never, "cs_anon_unknown", mode)))["error"] == "invalid_api_key"
    await connected(too_fast, None, "auto")


anyio.run(main)
