"""Rules for every response of every test: general ones, and those of the OpenAPI document."""

import re
from functools import cache
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from service.api.openapi import Described
from service.api.operations import OPERATIONS
from tests.api.asgi import Exchange, Response

BASE_URL = "https://catalog.test"
DESCRIBED = Described.of(OPERATIONS, BASE_URL)
DESCRIBED.build()
DOCUMENT = DESCRIBED.document

CORS_PATHS = re.compile(
    r"/(openapi\.json|favicon\.ico|embed\.js|llms\.txt|robots\.txt|security\.txt|feed\.xml|sitemap(-[^/]+)?\.xml)|/(static|\.well-known)/.*"
    r"|/oauth/(register|token|revoke)|/api/v1/((usecases|bots)(/[^/]+)?|categories|changes"
    r"|sponsors/(inventory|placements|events(/batch)?))"
)
"""Public documents, static files, operations 6 to 12, and categories: the only ones with CORS."""

OAUTH = re.compile(r"POST (/api/v1/auth/device/token|/oauth/(register|token|revoke))")
"""The operations whose errors follow RFC 6749."""

MCP = ("/mcp", "/mcp/")
"""Its errors are those of JSON-RPC. Pages of other sites may call it if they are in `server.mcp_origins`."""

COOKIE = re.compile(
    r"__Host-(session=sst_[0-9A-Za-z]{43}; Path=/; Max-Age=2592000|session=; Path=/; Max-Age=0|"
    r"sign-in=brw_[0-9A-Za-z]{43}; Path=/; Max-Age=600); HttpOnly; SameSite=Lax; Secure"
)
PENDING_COOKIE = re.compile(
    r"__Host-passkey=(sst_[0-9A-Za-z]{43}; Path=/; Max-Age=600|; Path=/; Max-Age=0); HttpOnly; SameSite=Lax; Secure"
)
FORM_COOKIE = re.compile(
    r"__Host-(sign-in|claim)-form=(([a-zA-Z]+=[\w.%+-]+&?)+; Path=/; Max-Age=600|; Path=/; Max-Age=0); "
    r"HttpOnly; SameSite=Lax; Secure",
    re.ASCII,
)
COOKIES = (COOKIE, PENDING_COOKIE, FORM_COOKIE)
SECURITY = {"x-content-type-options": "nosniff", "x-frame-options": "DENY"}
PAGE = "text/html; charset=utf-8"

_registry: Registry[Any] = Registry().with_resource(
    "urn:document", Resource.from_contents(DOCUMENT, default_specification=DRAFT202012)
)
_compiled = jsonschema_rs.Registry([("urn:document", DOCUMENT)], draft=jsonschema_rs.Draft202012)


def check(exchange: Exchange) -> None:
    """Fail unless the response is allowed by the document and the general rules."""
    method, path, response = exchange.method, exchange.path, exchange.response
    _check_head(response)
    _check_body(method, response)
    _check_refusal(method, path, response)
    if response.all("access-control-allow-origin") and path not in MCP:
        assert not response.all("set-cookie")
        assert CORS_PATHS.fullmatch(path), f"{path} may not be called from other sites"
    operation = documented(method, path)
    if operation is not None:
        _check_documented(*operation, method, response)


@cache
def documented(method: str, path: str) -> tuple[str, str] | None:
    """The document's path and method of a request, or None."""
    method = "get" if method == "HEAD" else method.lower()
    if path in DOCUMENT["paths"]:
        return (path, method) if method in DOCUMENT["paths"][path] else None
    for template, methods in DOCUMENT["paths"].items():
        if method in methods and re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path):
            return template, method
    return None


def _check_head(response: Response) -> None:
    assert re.fullmatch(r"[0-9A-Za-z._-]{1,64}", response.header("x-request-id") or ""), response.headers
    for name, value in SECURITY.items():
        assert response.header(name) == value, f"{name}: {response.header(name)}"
    # With no-referrer, browsers would send `Origin: null` for forms of this service.
    # A 304 has no type, and repeats what its page has.
    policies = {"same-origin", "no-referrer"} if response.status == 304 else {"no-referrer"}
    if response.header("content-type") == PAGE:
        # A page whose address is a permission, and that has no form of its own, tells it to nobody.
        policies = {"same-origin"} | (
            {"no-referrer"} if "no-store" in (response.header("cache-control") or "") else set()
        )
    assert response.header("referrer-policy") in policies
    assert response.header("content-security-policy"), "no content security policy"
    assert response.header("server") is None, "the server's name is nobody's business"
    assert response.header("access-control-allow-credentials") is None
    for cookie in response.all("set-cookie"):
        assert any(known.fullmatch(cookie) for known in COOKIES), "cookies are for signing in and codes only"
        assert response.header("cache-control") == "no-store"
    names = [cookie.partition("=")[0] for cookie in response.all("set-cookie")]
    assert len(set(names)) == len(names)


def _check_body(method: str, response: Response) -> None:
    length = response.header("content-length")
    if response.status in (204, 304):
        assert response.body == b""
        assert length is None, f"{response.status} with a Content-Length"
    elif method != "HEAD" and not (length is None and (response.header("content-type") or "").startswith("text/csv")):
        assert length == str(len(response.body))


def _check_refusal(method: str, path: str, response: Response) -> None:
    if response.status < 400:
        assert response.header("retry-after") is None
        assert response.header("www-authenticate") is None
        return
    assert response.header("cache-control") == "no-store"
    if response.header("content-type") == PAGE:
        assert not path.startswith("/api/"), "operations answer in JSON"
        assert (response.header("retry-after") is not None) == (response.status in (429, 503))
        return
    assert response.header("content-type") == "application/json"
    if path in MCP:
        _check_rpc_error(method, response)
        return
    scheme = "Basic" if path.startswith("/oauth/") else "Bearer"
    assert response.header("www-authenticate") == (scheme if response.status == 401 else None)
    wait = response.header("retry-after")
    body = {"error": ""} if method == "HEAD" else response.json
    if body["error"] != "hold_limit":
        assert (wait is not None) == (response.status in (429, 503)), f"{response.status} with Retry-After {wait}"
    if wait is not None:
        assert re.fullmatch(r"[1-9]\d*", wait), wait
    if method == "HEAD":
        return
    assert body.get("retryAfter") == (None if wait is None else int(wait))
    family = "SponsorshipError" if path.startswith(("/api/v1/sponsors", "/api/v1/admin")) else "CatalogError"
    fields = {"error", "message", "hint", "fields", "retryAfter"}
    if OAUTH.fullmatch(f"{method} {path}"):
        family, fields = "DeviceError", fields | {"error_description", "interval"}
    validate(f"/components/schemas/{family}", body)
    assert body.keys() <= fields, body


def _check_rpc_error(method: str, response: Response) -> None:
    assert (response.header("retry-after") is not None) == (response.status in (429, 503))
    if method == "HEAD":
        return
    body = response.json
    assert body.keys() == {"jsonrpc", "id", "error"}
    assert body["error"].keys() - {"data"} == {"code", "message"}
    if body["error"]["code"] > 0:
        assert body["error"]["code"] == response.status
        assert body["error"]["data"].get("retryAfter") == (int(response.header("retry-after") or 0) or None)
        validate("/components/schemas/CatalogError", body["error"]["data"])


def _check_documented(path: str, method: str, asked: str, response: Response) -> None:
    place = f"/paths/{_escaped(path)}/{method}/responses"
    described = DOCUMENT["paths"][path][method]["responses"].get(str(response.status))
    assert described is not None, f"{method} {path} answered {response.status}, which is not documented"
    for name, reference in described["headers"].items():
        for value in response.all(name.lower()):
            pointer = reference["$ref"].removeprefix("#")
            schema = DOCUMENT["components"]["headers"][name]["schema"]
            validate(f"{pointer}/schema", int(value) if schema["type"] == "integer" else value)
    if "content" not in described:
        assert response.body == b"", f"{method} {path} answered {response.status} with a body"
        return
    content_type = (response.header("content-type") or "").partition(";")[0]
    assert content_type in described["content"]
    if content_type == "text/csv" or asked == "HEAD":
        return
    whole = response.json
    validate(f"{place}/{response.status}/content/application~1json/schema", whole)
    if response.status >= 400:
        error = whole["error"]
        assert error in described["x-error-codes"], f"{method} {path} answered {error}, which is not documented"
    if response.status == 200:
        result = described["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        models, bodies = DOCUMENT["components"]["schemas"], [whole]
        if models[result].get("type") == "array":
            result, bodies = models[result]["items"]["$ref"].rpartition("/")[2], whole
        fields = models[result]["properties"].keys()
        for body in bodies:
            assert body.keys() <= fields, f"{method} {path} answered with a field that is not documented"


def validate(pointer: str, value: Any) -> None:
    """Validate a value against the schema at a JSON pointer of the document."""
    _compiled_validator(pointer).validate(value)


@cache
def _compiled_validator(pointer: str) -> jsonschema_rs.Draft202012Validator:
    """Checks thousands of responses a second. `validator` is slower, but explains its errors better."""
    return jsonschema_rs.Draft202012Validator(
        {"$ref": f"urn:document#{pointer}"}, registry=_compiled, validate_formats=True
    )


@cache
def validator(pointer: str) -> Draft202012Validator:
    return Draft202012Validator(
        {"$ref": f"urn:document#{pointer}"}, registry=_registry, format_checker=Draft202012Validator.FORMAT_CHECKER
    )


def _escaped(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")
