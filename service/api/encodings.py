"""Content codings: which ones a client accepts, and the ETags of encoded bodies (RFC 9110, 8.8.3.3 and 12.5.3). Pure."""

import re
from collections.abc import Mapping
from functools import lru_cache

from service.http.header_lists import members

BR, GZIP, IDENTITY = "br", "gzip", "identity"

CODINGS = (BR, GZIP)
"""The codings in which bodies are sent, the better one first."""

VARY = ("vary", "Accept-Encoding")
"""For responses that are compressed for some clients."""

MAX_CHARACTERS = 256
"""A longer Accept-Encoding is taken for one that accepts no coding. Those of browsers have about 25 characters."""

_ANY = (IDENTITY, *CODINGS)
_LAST = 0.0001
"""The weight of a plain body that the header does not name: below all weights, which have three digits."""
_WEIGHT = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")
_ALIASES = {"x-gzip": GZIP}


def acceptable(header: str | None) -> tuple[str, ...]:
    """The codings that an Accept-Encoding header accepts, best first, with `identity` for a plain body.

    Without the header a client accepts all, and a plain body is best, because it may not know of codings. If the header
    excludes everything, the result is empty.
    """
    if header is None:
        return _ANY
    return (IDENTITY,) if len(header) > MAX_CHARACTERS else _parsed(header)


@lru_cache(512)
def _parsed(header: str) -> tuple[str, ...]:
    """Most clients send one of few headers, so results are cached. Of equal weights, the smaller body is best."""
    weights: dict[str, float] = {}
    for part in members(header.lower()):
        name, *parameters = members(part, ";")
        weights[_ALIASES.get(name, name)] = _weight(parameters)
    rest = weights.get("*")
    plain = _LAST if rest is None else rest
    of = {coding: weights.get(coding, rest or 0.0) for coding in CODINGS}
    of[IDENTITY] = weights.get(IDENTITY, plain)
    return tuple(sorted((coding for coding, weight in of.items() if weight > 0), key=lambda coding: -of[coding]))


def _weight(parameters: list[str]) -> float:
    """The weight that follows a coding: 1 without any, and 0 for one that cannot be read."""
    if not parameters:
        return 1.0
    name, _, value = parameters[0].partition("=")
    well_formed = len(parameters) == 1 and name.rstrip() == "q" and _WEIGHT.fullmatch(value.lstrip())
    return float(value) if well_formed else 0.0


def tag_in(etag: str, coding: str, *, best: bool = False) -> str:
    """The strong ETag of a body in this coding, at its usual level or at the best one, which gives other bytes. `etag` is
    that of the plain body."""
    if coding == IDENTITY:
        return etag
    return f'{etag[:-1]}-{coding}{"-best" if best else ""}"'


def known_tag(headers: Mapping[str, str], etag: str) -> str | None:
    """The ETag of a 304 to a request with these headers: of the best coding that the client both has and accepts. None if
    there is none. `etag` is that of the plain body.

    A cache may hold a coding that the present client does not accept. It must not be told to use that one. A plain body
    comes last and always counts: every client can read it, and gets it where no coding pays, even with `identity;q=0`.
    """
    if_none_match = headers.get("if-none-match")
    if if_none_match is None:
        return None
    # The comparison is weak, and `*` is every tag (RFC 9110, section 13.1.2).
    named = {tag.removeprefix("W/") for tag in members(if_none_match)}
    codings = (*acceptable(headers.get("accept-encoding")), IDENTITY)
    tags = (tag_in(etag, coding, best=best) for coding in codings for best in (False, True))
    return next((tag for tag in tags if "*" in named or tag in named), None)
