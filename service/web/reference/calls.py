"""The example request of an operation, and what it says about who may call it. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from service.web.reference.kinds import Schema, resolved
from service.web.reference.samples import NOTHING, Call, Header

KEY, SESSION = "KEY", "SESSION"
"""The variables of the environment that hold a key, and the value of a session cookie."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The credentials of an operation: a word for lists, and a sentence with words in backticks as code."""

    word: str
    sentence: str


def access_of(security: Sequence[Mapping[str, Any]], scopes: str, same_origin: bool = False) -> Needs:
    """`scopes` are those that a scoped key needs, in backticks; empty if it needs none. `same_origin` wants our `Origin`."""
    if not security:
        return Needs(
            "no key", "None, but the request carries the `Origin` of this service." if same_origin else "None."
        )
    if {} in security:
        optional = "A key is optional. Without one, a lower rate limit applies."
        return Needs("key optional", f"{optional} A scoped key needs {scopes}." if scopes else optional)
    if any("bearer" in each for each in security):
        keys = f"A full key, a scoped key with {scopes}," if scopes else "A key"
        return Needs("key or sign-in", f"{keys} or a signed-in browser.")
    return Needs("sign-in required", "A signed-in browser. Keys do not work here.")


def call_of(document: Schema, method: str, url: str, operation: Schema, base_url: str, cookie: str) -> Call:
    """The request with the examples of the document. A value without an example is its name in capitals."""
    query: dict[str, str] = {}
    headers: list[Header] = []
    for parameter in (resolved(document, each) for each in operation.get("parameters", ())):
        name, value = parameter["name"], _value(document, parameter)
        if parameter["in"] == "path":
            url = url.replace(f"{{{name}}}", quote(value, safe=""))
        elif parameter.get("required", False):
            if parameter["in"] == "query":
                query[name] = value
            else:
                headers.append(Header(name, value))
    whole = f"{url}?{urlencode(query)}" if query else url
    credentials = _credentials(operation["security"], cookie)
    # Without our origin, the request is refused as one of another site.
    origin = [Header("Origin", base_url)] if operation.get("x-same-origin", False) else []
    return Call(method, whole, [*credentials, *origin, *headers], _body(document, operation))


def _credentials(security: Sequence[Mapping[str, Any]], cookie: str) -> list[Header]:
    """The headers of a caller: a key if one is needed and works, else a session."""
    if not security or {} in security:
        return []
    if any("bearer" in each for each in security):
        return [Header("Authorization", "Bearer ", KEY)]
    return [Header("Cookie", f"{cookie}=", SESSION)]


def _body(document: Schema, operation: Schema) -> Any:
    body = resolved(document, operation.get("requestBody", {}))
    media = body.get("content", {}).get("application/json", {})
    for value in examples_of(document, media):
        return value
    return {} if body.get("required", False) else NOTHING


def examples_of(document: Schema, media: Schema) -> list[Any]:
    """The values of all examples of a media type or parameter, however the document gives them."""
    if "example" in media:
        return [media["example"]]
    named: Mapping[str, Schema] = media.get("examples", {})
    return [each["value"] for one in named.values() if "value" in (each := resolved(document, one))]


def _value(document: Schema, parameter: Schema) -> str:
    schema = resolved(document, parameter["schema"])
    for value in (*examples_of(document, parameter), *schema.get("examples", ())):
        return str(value)
    return re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", parameter["name"]).upper()
