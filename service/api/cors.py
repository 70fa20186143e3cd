"""Pages of other sites may call some operations and read public documents, without credentials (Fetch, 3.2). Pure.

Their scripts may add any header. Libraries for traces patch `fetch`, so that all of a page's requests carry `traceparent`,
`baggage` and the like, and would fail if one of them were not allowed. No header but `Authorization` has rights here, and the
script has to know the key.
"""

import re

from service.api.messages import Headers, Request
from service.http.header_lists import members

ANY = "*"
USUAL = ("authorization", "content-type", "if-none-match", "x-request-id")
"""Headers that a preflight allows, asked for or not."""

SHARED = (("access-control-allow-origin", ANY), ("cross-origin-resource-policy", "cross-origin"))
"""Headers that let pages of any site load the response, also those that isolate themselves by `COEP: require-corp`."""
CORS = (
    *SHARED,
    (
        "access-control-expose-headers",
        "ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Event-Dropped, X-Request-Id, X-Search-Relaxed",
    ),
)
"""The same, for scripts that read headers of operations."""

_NAME = re.compile(r"[0-9a-z!#$%&'*+.^_`|~-]{1,100}")


def preflight_headers(request: Request, methods: str, seconds: int, usual: tuple[str, ...] = USUAL) -> Headers:
    """The headers of a preflight's answer but for the origin. All header names that it asks for are allowed."""
    asked = members(request.headers.get("access-control-request-headers", "").lower())
    names = dict.fromkeys((*usual, *(name for name in asked if _NAME.fullmatch(name))))
    return [
        ("access-control-allow-methods", methods),
        ("access-control-allow-headers", ", ".join(names)),
        ("access-control-max-age", str(seconds)),
        ("vary", "Access-Control-Request-Headers"),
    ]
