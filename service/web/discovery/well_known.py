"""The documents below `/.well-known/` (RFC 8615): OAuth metadata, the API catalog, and the security contact. Pure."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from actors.times import DAY_MS, SECOND_MS
from service.api.mcp.endpoint import SERVER
from service.api.messages import JSON
from service.api.oauth.requests import OFFERED
from service.api.operation import Operation
from service.api.operations.oauth import GRANTS
from service.web.pages.account.authorize import PATH as AUTHORIZE
from service.web.representations import TEXT, Published

OAUTH = "/.well-known/oauth-authorization-server"
OAUTH_OF_MCP = f"{OAUTH}/mcp"
"""The same, where clients look for it that take `/mcp` for the issuer."""
API_CATALOG = "/.well-known/api-catalog"
SECURITY = "/.well-known/security.txt"
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
CONTACT_DAYS = 180
"""The time for which security.txt is valid. RFC 9116 recommends less than a year."""


def oauth_metadata(operations: Sequence[Operation], base_url: str) -> Published:
    """Authorization server metadata (RFC 8414), also of the device login (RFC 8628, 4), which needs no client."""
    paths = {operation.name: operation.path for operation in operations}
    return _published(
        {
            "issuer": base_url,
            "authorization_endpoint": base_url + AUTHORIZE,
            "token_endpoint": base_url + paths["issueToken"],
            "registration_endpoint": base_url + paths["registerClient"],
            "revocation_endpoint": base_url + paths["revokeToken"],
            "device_authorization_endpoint": base_url + paths["startDevice"],
            "scopes_supported": list(OFFERED),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(GRANTS),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "client_id_metadata_document_supported": True,
            "authorization_response_iss_parameter_supported": True,
            "service_documentation": f"{base_url}/docs",
            "ui_locales_supported": ["en"],
        },
        JSON,
    )


def resource_metadata(base_url: str, path: str) -> Published:
    """Protected resource metadata (RFC 9728) of the resource at `path`: empty for the whole API, or that of `/mcp`."""
    return _published(
        {
            "resource": base_url + path,
            "authorization_servers": [base_url],
            "scopes_supported": list(OFFERED),
            "bearer_methods_supported": ["header"],
            "resource_name": SERVER.title,
            "resource_documentation": f"{base_url}/docs",
        },
        JSON,
    )


def api_catalog(base_url: str) -> Published:
    """The API catalog (RFC 9727), a set of links (RFC 9264) with one API."""
    api = {
        "anchor": f"{base_url}/api/v1",
        "service-desc": [{"href": f"{base_url}/openapi.json", "type": JSON}],
        "service-doc": [
            {"href": f"{base_url}/docs", "type": "text/html"},
            {"href": f"{base_url}/llms.txt", "type": "text/plain"},
        ],
        "service-meta": [{"href": base_url + OAUTH, "type": JSON}],
        "status": [{"href": f"{base_url}/readyz", "type": JSON}],
    }
    return _published({"linkset": [api]}, LINKSET, f'<{base_url}{API_CATALOG}>; rel="api-catalog"')


def security_text(contact: str, base_url: str, now_ms: int) -> Published:
    """security.txt (RFC 9116) with a `mailto:` or `https:` contact. Its text changes once a day."""
    expires_ms = (now_ms // DAY_MS + CONTACT_DAYS) * DAY_MS
    lines = [
        f"Contact: {contact}",
        f"Expires: {datetime.fromtimestamp(expires_ms // SECOND_MS, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages: en",
    ]
    if base_url.startswith("https:"):
        # A web address in this file must be https (RFC 9116, 2.5).
        lines.append(f"Canonical: {base_url}{SECURITY}")
    return Published(("\n".join(lines) + "\n").encode(), TEXT)


def _published(document: Mapping[str, object], content_type: str, link: str = "") -> Published:
    return Published(json.dumps(document, indent=2).encode(), content_type, link=link)
