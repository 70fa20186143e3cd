"""The cookie of a browser session, and where a request that carries it comes from. Knows nothing of what a session is.

Source of the rules: ADR 0012 and 0013.
"""

from collections.abc import Mapping

from service.api.messages import Request

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""


def cookie_name(base_url: str) -> str:
    """`__Host-session`, which browsers take over https only, for this host and all of its paths; over http `session`."""
    return "__Host-session" if base_url.startswith("https://") else "session"


def session_token(headers: Mapping[str, str], base_url: str) -> str | None:
    """What the session's cookie holds; None where there is none, or more than one."""
    name = cookie_name(base_url)
    values = []
    for pair in headers.get("cookie", "").replace(",", ";").split(";"):
        key, found, value = pair.strip().partition("=")
        if found and key == name:
            values.append(value)
    return values[0] if len(values) == 1 else None


def keep_cookie(token: str, base_url: str, seconds: int) -> tuple[str, str]:
    """The header that gives a browser its session."""
    return "set-cookie", _morsel(token, base_url, seconds)


def drop_cookie(base_url: str) -> tuple[str, str]:
    """The header that takes it away."""
    return "set-cookie", _morsel("", base_url, 0)


def _morsel(value: str, base_url: str, seconds: int) -> str:
    secure = "; Secure" if base_url.startswith("https://") else ""
    return f"{cookie_name(base_url)}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def from_our_page(request: Request, base_url: str) -> bool:
    """Whether a browser says that a page of this service sent the request.

    `Sec-Fetch-Site` is what browsers say by themselves and no page can forge; those that do not know it, or that do not
    trust the address, send `Origin`.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return request.headers.get("origin") == base_url
