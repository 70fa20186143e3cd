"""The official client of MCP as it was for revision 2025-03-26, used as an agent. Imports nothing of the project.

The other environment of `make clients` runs it, with `CATALOG_URL` and `CATALOG_KEY`, the key of an account.
"""

import os

import anyio
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

REVISION = "2025-03-26"
CALLS: dict[str, dict[str, object]] = {
    "search_use_cases": {"q": "invoice", "limit": 3.0},
    "search_bots": {"limit": 2},
    "list_categories": {},
    "list_slot_weeks": {"weeks": 2},
    "list_bookings": {},
    "get_usage": {},
}


async def use(address: str) -> None:
    """Connect to an address, list the tools, and call them."""
    headers = {"X-Request-Id": "with-old-mcp", "Authorization": f"Bearer {os.environ['CATALOG_KEY']}"}
    async with (
        streamablehttp_client(os.environ["CATALOG_URL"] + address, headers=headers) as (reads, writes, _),
        ClientSession(reads, writes) as session,
    ):
        begun = await session.initialize()
        assert begun.protocolVersion == REVISION, begun
        names = {tool.name for tool in (await session.list_tools()).tools}
        assert names >= CALLS.keys(), names
        for name, arguments in CALLS.items():
            result = await session.call_tool(name, arguments)
            assert not result.isError, result
        assert (await session.call_tool("get_bot", {"slug": "no-such-bot"})).isError
        await session.send_ping()


async def main() -> None:
    for address in ("/mcp", "/mcp/"):
        await use(address)


for variable in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[variable]
anyio.run(main)
