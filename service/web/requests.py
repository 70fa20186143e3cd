"""Turns an ASGI scope into the request of operations and pages."""

from collections.abc import Mapping

from service.api.messages import Request, note
from service.http.asgi import Scope
from service.http.header_lists import members
from service.http.request_head import Fields
from service.observability.client_address import Proxies

HTML, JSON = "text/html", "application/json"

ACCEPT_CHARACTERS = 1_000
"""The part of Accept that is read. Those of browsers have about 150 characters."""


def headers_of(scope: Scope) -> Mapping[str, str]:
    """The headers by lower-case name, which requests with the same head share."""
    fields = scope["headers"]
    return (fields if isinstance(fields, Fields) else Fields(fields)).by_name


def request_of(
    scope: Scope,
    headers: Mapping[str, str],
    path_values: Mapping[str, str],
    body: bytes,
    proxies: Proxies,
) -> Request:
    """The request, with the client's address behind trusted proxies, which is also noted for the access log."""
    peer = (scope.get("client") or ("", 0))[0]
    client = proxies.client_of(peer, headers)
    note("client", client)
    query: bytes = scope["query_string"]
    return Request(
        method=scope["method"],
        path=scope["path"],
        path_values=path_values,
        query=query.decode("utf-8", "surrogateescape"),
        headers=headers,
        body=body,
        client=client,
    )


def wants_page(headers: Mapping[str, str]) -> bool:
    """Whether the client names HTML and prefers it to JSON, or accepts both equally."""
    weights = _weights(headers.get("accept", ""))
    html = weights.get(HTML, 0.0)
    return html > 0 and html >= weights.get(JSON, 0.0)


def _weights(accept: str) -> dict[str, float]:
    """The weight of each media range; 0 for a weight that cannot be read."""
    weights: dict[str, float] = {}
    for part in members(accept[:ACCEPT_CHARACTERS].lower()):
        kind, *parameters = members(part, ";")
        weight = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                weight = _weight(value.strip())
        weights[kind] = weight
    return weights


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        return 0.0
    return weight if 0.0 <= weight <= 1.0 else 0.0
