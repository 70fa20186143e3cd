"""Reads an authorization request (RFC 6749, 4.1.1; RFC 7636; RFC 8707), or says what is wrong with it. Pure.

A request whose client or redirect URI is wrong is answered by a page. All other errors belong to the client.
"""

import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from actors.values import Code, Refused, Scope
from service.api.oauth.clients import LONGEST_ID
from service.api.oauth.redirects import LONGEST, problem_of

OFFERED = (Scope.LIBRARY_READ, Scope.SPONSOR_READ)
"""The scopes that clients can get."""
USUAL = (Scope.LIBRARY_READ,)
"""The scopes of a request that names none."""

MAX_PARAMETERS = 50
LONGEST_STATE = 1_000
LONGEST_REQUEST = 8_000
"""Characters of a request as it is sent: more than a client can need."""

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_ORIGIN = re.compile(r"https?://[^/?#]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """The parameters of a request whose client and redirect URI are still to be checked."""

    client_id: str
    redirect_uri: str
    state: str | None
    values: Mapping[str, str]
    repeated: Sequence[str]
    resources: Sequence[str]


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A valid request. `challenge` is the SHA-256 of the client's verifier."""

    scopes: tuple[Scope, ...]
    challenge: bytes
    resource: str


def read(query: str) -> Asked | Refused:
    """The parameters of a query. Refused if there is nobody to whom another error could be told."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return _unusable("The address of this request is not valid.")
    # A parameter without a value counts as absent (RFC 6749, 3.1).
    pairs = [(name, value) for name, value in pairs if value]
    names = [name for name, _ in pairs if name != "resource"]
    values, repeated = dict(pairs), [name for name in dict.fromkeys(names) if names.count(name) > 1]
    client_id, redirect_uri, state = values.get("client_id", ""), values.get("redirect_uri", ""), values.get("state")
    for name, value, longest in (("client_id", client_id, LONGEST_ID), ("redirect_uri", redirect_uri, LONGEST)):
        if name in repeated or not value or len(value) > longest:
            return _unusable(f"The request of the program must have one {name} of at most {longest:,} characters.")
    if problem := problem_of(redirect_uri):
        return _unusable(f"The redirect_uri of the program {problem}.")
    if "state" in repeated or len(state or "") > LONGEST_STATE:
        return _unusable(f"The request of the program must have one state of at most {LONGEST_STATE:,} characters.")
    resources = [value for name, value in pairs if name == "resource"]
    return Asked(client_id, redirect_uri, state, values, repeated, resources)


def checked(asked: Asked, base_url: str) -> AuthorizationRequest | Refused:
    """The request, or the error for its client."""
    values = asked.values
    if asked.repeated:
        return _invalid("Parameters must be given only once.")
    if "response_type" not in values:
        return _invalid("response_type is missing: it must be code.")
    if values["response_type"] != "code":
        return Refused(Code.UNSUPPORTED_RESPONSE_TYPE, "response_type must be code.")
    if values.get("response_mode", "query") != "query":
        return _invalid("response_mode must be query.")
    if values.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(values.get("code_challenge", "")):
        return _invalid("code_challenge must be there, of 43 characters, with code_challenge_method=S256 (RFC 7636).")
    scopes = scopes_of(values.get("scope"))
    if isinstance(scopes, Refused):
        return scopes
    resources = {resource_of(each, base_url) for each in asked.resources}
    if None in resources or len(resources) > 1:
        return _foreign_resource(base_url)
    challenge = urlsafe_b64decode(values["code_challenge"] + "=")
    return AuthorizationRequest(scopes or USUAL, challenge, next(iter(resources), None) or f"{base_url}/mcp")


def scopes_of(text: str | None) -> tuple[Scope, ...] | Refused:
    """The scopes of a `scope` parameter, in the order of `OFFERED`; none if it has none of them. Names that no scope of this
    service has are ignored (RFC 6749, 3.3): clients ask for openid, offline_access or names of their own, whatever the
    metadata offers. The token response names what was allowed."""
    names = (text or "").split(" ")
    if any(scope in names for scope in Scope if scope not in OFFERED):
        return Refused(Code.INVALID_SCOPE, f"scope can have {' and '.join(OFFERED)}.")
    return tuple(scope for scope in OFFERED if scope in names)


def resource_of(text: str, base_url: str) -> str | None:
    """The canonical form of a resource of this service: its base URL, or that of `/mcp`. None for any other."""
    origin = _ORIGIN.match(text)
    if origin is None:
        return None
    lowered = origin[0].lower() + text[origin.end() :]
    canonical = lowered.removesuffix("/")
    return canonical if canonical in (base_url, f"{base_url}/mcp") else None


def read_resource(text: str | None, base_url: str) -> str | Refused | None:
    """The `resource` of a token request in its canonical form; None if it is absent."""
    if not text:
        return None
    return resource_of(text, base_url) or _foreign_resource(base_url)


def _foreign_resource(base_url: str) -> Refused:
    return Refused(Code.INVALID_TARGET, f"The resource of this service is {base_url}/mcp.")


def _invalid(words: str) -> Refused:
    return Refused(Code.INVALID_REQUEST, words)


def _unusable(words: str) -> Refused:
    return Refused(
        Code.INVALID_REQUEST, f"{words} Start again from the program; if that does not help, tell its maker."
    )
