"""FastMCP's client, which gets a key by its own OAuth. Imports nothing of the project.

`DOCUMENT` has the address of the client's metadata document, if it has one.
"""

import os
import warnings
from typing import Any

from fastmcp import Client
from fastmcp.client.auth import OAuth
from scripted import URL, answers, kept_by, run


async def main() -> None:
    document = os.environ.get("DOCUMENT")
    auth = OAuth(client_metadata_url=document, callback_host="127.0.0.1") if document else "oauth"
    client = Client(URL, auth=auth)

    def kept() -> Any:
        context = client.transport.auth.context
        context.token_expiry_time = 1.0
        return kept_by(context.client_info, context.current_tokens)

    async def call(tool: str) -> Any:
        return (await client.call_tool(tool, {})).structured_content

    async with client:
        await answers(call, kept)


# It says that it keeps tokens in memory alone.
warnings.simplefilter("ignore")
run(main)
