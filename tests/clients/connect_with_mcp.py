"""The official client of the Model Context Protocol, which gets a key by its own OAuth. Imports nothing of the project.

`CATALOG_URL` has the address of the service, and `DOCUMENT` that of the client's metadata document, if it has one.
"""

import os
from typing import Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl
from scripted import URL, Returning, Stored, answers, kept_by, opens, run


async def main() -> None:
    returning, stored = Returning(), Stored()

    async def returned() -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(await returning.wait())

    metadata = OAuthClientMetadata(client_name=os.environ["CLIENT_NAME"], redirect_uris=[AnyUrl(returning.address)])
    document = os.environ.get("DOCUMENT")
    auth = OAuthClientProvider(URL, metadata, stored, opens, returned, client_metadata_url=document)

    def kept() -> Any:
        auth.context.token_expiry_time = 1.0
        return kept_by(stored.client, stored.tokens)

    async with (
        httpx2.AsyncClient(auth=auth, timeout=60.0, trust_env=False) as http,
        Client(streamable_http_client(URL, http_client=http)) as client,
    ):

        async def call(tool: str) -> Any:
            return (await client.call_tool(tool, {})).structured_content

        await answers(call, kept)


run(main)
