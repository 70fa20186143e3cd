"""An agent that speaks the Model Context Protocol to the application, message by message."""

import json
from collections.abc import Mapping
from typing import Any

from tests.api.asgi import Response
from tests.api.world import World
from tests.contract import CONTRACT

STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"

TOOLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    row.tool: (row.path, row.arguments) for row in CONTRACT.values() if row.tool
}
"""The path behind each tool, and arguments that it takes."""


def message(method: str, params: Any = None, message_id: Any = 1) -> dict[str, Any]:
    """A request of JSON-RPC; a notification if `message_id` is None."""
    told = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
    return told if message_id is None else told | {"id": message_id}


def stateless(method: str, params: Any = None, revision: str = STATELESS) -> tuple[dict[str, Any], dict[str, str]]:
    """A request that describes itself, with its headers."""
    meta = {f"{META}protocolVersion": revision, f"{META}clientCapabilities": {}}
    headers = {"MCP-Protocol-Version": revision, "Mcp-Method": method}
    if method == "tools/call":
        headers["Mcp-Name"] = params["name"]
    return message(method, {**(params or {}), "_meta": meta}), headers


async def send(world: World, told: Any, key: str | None = None, /, **headers: str) -> Response:
    """Send a message. Underscores of header names are dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await world.client.post("/mcp", key, json=told, headers=named)


async def call(world: World, tool: str, arguments: Any = None, key: str | None = None, /, **headers: str) -> Any:
    """The result of calling a tool."""
    params = {"name": tool} | ({} if arguments is None else {"arguments": arguments})
    response = await send(world, message("tools/call", params), key, **headers)
    assert response.status == 200, response.body
    return response.json["result"]


async def not_called(world: World, tool: str, arguments: Any = None, key: str | None = None, /, **headers: str) -> Any:
    """The error body of a call that was refused: in a result, or in an error if another authorization resolves it."""
    response = await send(world, message("tools/call", {"name": tool, "arguments": arguments or {}}), key, **headers)
    if response.status == 200:
        return refused(response.json["result"])
    body = response.json["error"]["data"]
    challenged = {"unauthorized": 401, "invalid_api_key": 401, "key_expired": 401, "insufficient_scope": 403}
    assert response.status == challenged[body["error"]], response.body
    assert (response.header("www-authenticate") or "").startswith("Bearer ")
    return body


def refused(result: Any) -> Any:
    """The error body of a call that was refused."""
    assert result["isError"], result
    assert "structuredContent" not in result
    [content] = result["content"]
    assert content["type"] == "text"
    return json.loads(content["text"])


def url(tool: str, arguments: Mapping[str, Any]) -> str:
    """The address of the operation behind a tool with these arguments."""
    path = TOOLS[tool][0]
    query = "&".join(f"{name}={value}" for name, value in arguments.items() if f"{{{name}}}" not in path)
    return path.format(**arguments) + (f"?{query}" if query else "")
