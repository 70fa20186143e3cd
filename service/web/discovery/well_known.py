"""The documents below `/.well-known/` (RFC 8615): OAuth metadata, the API catalog, and the security contact. Pure."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from actors.times import DAY_MS, SECOND_MS
from service.api.messages import JSON
from service.api.operation import Operation
from service.schemas.devices import GRANT
from service.web.representations import TEXT, Published

OAUTH = "/.well-known/oauth-authorization-server"
API_CATALOG = "/.well-known/api-catalog"
SECURITY = "/.well-known/security.txt"
LINKSET = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
CONTACT_DAYS = 180
"""The time for which security.txt is valid. RFC 9116 recommends less than a year."""


def oauth_metadata(operations: Sequence[Operation], base_url: str) -> Published:
    """Authorization server metadata (RFC 8414) with the endpoints of the device login (RFC 8628, 4).

    There is no authorization endpoint. `response_types_supported` must be there, and clients refuse an empty list, so it has
    the registered type that asks for nothing. Clients need no registration.
    """
    paths = {operation.name: operation.path for operation in operations}
    return _published(
        {
            "issuer": base_url,
            "device_authorization_endpoint": base_url + paths["startDevice"],
            "token_endpoint": base_url + paths["pollDevice"],
            "grant_types_supported": [GRANT],
            "response_types_supported": ["none"],
            "token_endpoint_auth_methods_supported": ["none"],
            "service_documentation": f"{base_url}/docs",
            "ui_locales_supported": ["en"],
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
