"""What editors and websites send, which no test here can run: their registrations, metadata documents and requests."""

import json
from typing import Any

import pytest

from service.outside.client_documents import FetchedDocument
from tests.api.oauth import ANN, Program, answer_of, registered
from tests.api.world import World

GRANTS = ["authorization_code", "refresh_token"]
VS_CODE = ["https://insiders.vscode.dev/redirect", "https://vscode.dev/redirect"]
LOOPBACK = ["http://localhost", "http://127.0.0.1", "http://localhost:33418", "http://127.0.0.1:33418"]
CURSOR = "cursor://anysphere.cursor-mcp/oauth/callback"
CLAUDE = "https://claude.ai/api/mcp/auth_callback"
CHATGPT = "https://chatgpt.com/connector_platform_oauth_redirect"

REGISTRATIONS: list[tuple[dict[str, Any], str, str | None]] = [
    (
        {
            "client_name": "Visual Studio Code",
            "client_uri": "https://code.visualstudio.com",
            "grant_types": [*GRANTS, "urn:ietf:params:oauth:grant-type:device_code"],
            "response_types": ["code"],
            "redirect_uris": VS_CODE + LOOPBACK,
            "scope": "library:read",
            "token_endpoint_auth_method": "none",
            "application_type": "native",
        },
        "http://127.0.0.1:50123/",
        "library:read",
    ),
    (
        {
            "redirect_uris": [
                CURSOR,
                "https://www.cursor.com/agents/mcp/oauth/callback",
                "http://localhost:8787/callback",
            ]
        },
        CURSOR,
        "library:read",
    ),
    ({"redirect_uris": [CLAUDE], "token_endpoint_auth_method": "client_secret_post"}, CLAUDE, "claudeai"),
    ({"redirect_uris": [CHATGPT], "token_endpoint_auth_method": "client_secret_basic"}, CHATGPT, None),
    (
        {"redirect_uris": ["http://localhost:3334/oauth/callback"]},
        "http://localhost:3334/oauth/callback",
        "openid email profile",
    ),
    (
        {"redirect_uris": ["http://localhost:3118/callback"]},
        "http://localhost:3118/callback",
        "library:read offline_access",
    ),
]


@pytest.mark.parametrize(("metadata", "redirect_uri", "scope"), REGISTRATIONS)
async def test_programs_connect_by_what_they_register(
    world: World, metadata: dict[str, Any], redirect_uri: str, scope: str | None
) -> None:
    uris = metadata["redirect_uris"]
    client_id = await registered(
        world, *uris, **{name: each for name, each in metadata.items() if name != "redirect_uris"}
    )
    await connects(Program(world, client_id, redirect_uri, {"scope": scope}), world.session(ANN))


DOCUMENTS: list[tuple[str, dict[str, Any], str]] = [
    (
        "https://vscode.dev/oauth/client-metadata.json",
        {"redirect_uris": ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"]},
        "http://127.0.0.1:33418/",
    ),
    (
        "https://claude.ai/oauth/claude-code-client-metadata",
        {
            "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
            "token_endpoint_auth_method": "none",
        },
        "http://localhost:3118/callback",
    ),
    (
        "https://chatgpt.com/oauth/an-id/client.json",
        {
            "redirect_uris": ["https://chatgpt.com/connector/oauth/an-id"],
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
            "token_endpoint_auth_signing_alg": "RS256",
            "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
        },
        "https://chatgpt.com/connector/oauth/an-id",
    ),
]


@pytest.mark.parametrize(("address", "document", "redirect_uri"), DOCUMENTS)
async def test_programs_connect_by_their_documents(
    world: World, address: str, document: dict[str, Any], redirect_uri: str
) -> None:
    body = json.dumps({"client_id": address, "client_name": "A program", **document}).encode()
    world.documents.documents[address] = FetchedDocument(body, None)
    await connects(Program(world, address, redirect_uri), world.session(ANN))


async def connects(program: Program, session: str) -> None:
    decided = await program.decided(session)
    assert (decided.header("location") or "").startswith(program.redirect_uri)
    tokens = await program.exchanged(answer_of(decided)["code"])
    assert (tokens.words, tokens.json["scope"]) == ("200", "library:read")
