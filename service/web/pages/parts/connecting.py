"""How clients of the Model Context Protocol connect to `/mcp`: links that open a client, commands, and a file. Pure.

Each format is its client's own. docs/adr/0110-ways-to-connect.md has what each was checked against.
"""

import json
import shlex
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from service.api.mcp.endpoint import PATH

NAME = "catalog"
"""The name of the service in the settings of a client."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, and a link that opens it with the service filled in, a command, or a file in JSON. Absent ones are empty."""

    client: str
    link: str = ""
    command: str = ""
    file: str = ""


def connections(base_url: str) -> Sequence[Connection]:
    """The ways to connect to the service at `base_url`.

    Claude connects from its own servers, over HTTPS alone, so a service without it has no link for Claude.
    """
    url = base_url + PATH
    server = {"type": "http", "url": url}
    named = json.dumps({"name": NAME, **server})
    config = b64encode(json.dumps({"url": url}).encode()).decode()
    cursor = urlencode({"name": NAME, "config": config})
    claude = urlencode({"modal": "add-custom-connector", "connectorName": NAME, "connectorUrl": url})
    added = f"mcp add --scope user --transport http {NAME} {shlex.quote(url)}"
    found = (
        Connection("VS Code", f"vscode:mcp/install?{_escaped(named)}", f"code --add-mcp {shlex.quote(named)}"),
        Connection("VS Code Insiders", f"vscode-insiders:mcp/install?{_escaped(named)}"),
        Connection("Cursor", f"cursor://anysphere.cursor-deeplink/mcp/install?{cursor}"),
        Connection("Claude", f"https://claude.ai/customize/connectors?{claude}"),
        Connection("Claude Code", command=f"claude {added}"),
        Connection("Gemini CLI", command=f"gemini {added}"),
        Connection("Other clients", file=json.dumps({"mcpServers": {NAME: server}}, indent=2)),
    )
    return [each for each in found if each.client != "Claude" or url.startswith("https://")]


def _escaped(text: str) -> str:
    return quote(text, safe="")
