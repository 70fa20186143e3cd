"""The official client of MCP as it was for revision 2025-03-26, which gets a key by its own OAuth. Imports nothing of the
project.

`CATALOG_URL` has the address of the service. This client asks for a key before its first request, and never for another
scope.
"""

import json
import os
from typing import Any

from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl
from scripted import URL, Returning, Stored, answers, kept_by, opens, run

SCOPES = "library:read sponsor:read"


async def main() -> None:
    returning, stored = Returning(), Stored()

    async def returned() -> tuple[str, str | None]:
        answer = await returning.wait()
        return answer["code"], answer.get("state")

    name, uris = os.environ["CLIENT_NAME"], [AnyUrl(returning.address)]
    metadata = OAuthClientMetadata(client_name=name, redirect_uris=uris, scope=SCOPES)
    auth = OAuthClientProvider(URL, metadata, stored, opens, returned)

    def kept() -> Any:
        auth._token_expiry_time = 1.0
        return kept_by(stored.client, stored.tokens)

    async with streamablehttp_client(URL, auth=auth) as (reads, writes, _), ClientSession(reads, writes) as session:
        await session.initialize()

        async def call(tool: str) -> Any:
            result = await session.call_tool(tool, {})
            assert not result.isError, result
            return json.loads(result.content[0].text)

        await answers(call, kept)


for variable in [name for name in os.environ if name.lower().endswith("_proxy")]:
    del os.environ[variable]
run(main)
