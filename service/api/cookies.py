"""The cookies of sessions and of browsers that sign in, and the check that a request comes from a page of this service.

Source: ADR 0012, 0013, 0056 and 0058.
"""

from collections.abc import Mapping

from service.api.messages import Request

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""


def cookie_name(base_url: str) -> str:
    """`__Host-session` over https, which browsers bind to this host; `session` over http."""
    return "__Host-session" if base_url.startswith("https://") else "session"


def browser_cookie_name(base_url: str) -> str:
    """The name of the cookie of a browser that asked for a sign-in code."""
    return "__Host-sign-in" if base_url.startswith("https://") else "sign-in"


def pending_cookie_name(base_url: str) -> str:
    """The name of the cookie of a sign-in that waits for a passkey."""
    return "__Host-passkey" if base_url.startswith("https://") else "passkey"


def session_token(headers: Mapping[str, str], base_url: str) -> str | None:
    """The value of the session cookie. None if there is none, or more than one."""
    return _value(cookie_name(base_url), headers)


def browser_token(headers: Mapping[str, str], base_url: str) -> str | None:
    """The value of the cookie of a browser that asked for a sign-in code. None if there is none, or more than one."""
    return _value(browser_cookie_name(base_url), headers)


def pending_token(headers: Mapping[str, str], base_url: str) -> str | None:
    """The value of the cookie of a sign-in that waits for a passkey. None if there is none, or more than one."""
    return _value(pending_cookie_name(base_url), headers)


def _value(name: str, headers: Mapping[str, str]) -> str | None:
    values = []
    # Only what separates cookies for a browser (RFC 6265, 5.2): otherwise a page of a sibling domain could hide a cookie with
    # a protected name in the value, or behind a letter of the name, of one that it may set.
    for pair in headers.get("cookie", "").split(";"):
        key, found, value = pair.strip(" \t").partition("=")
        if found and key == name:
            values.append(value)
    return values[0] if len(values) == 1 else None


def set_session_cookie(token: str, base_url: str, seconds: int) -> tuple[str, str]:
    """The header that sets the session cookie."""
    return _morsel(cookie_name(base_url), token, base_url, seconds)


def delete_session_cookie(base_url: str) -> tuple[str, str]:
    """The header that deletes the session cookie."""
    return _morsel(cookie_name(base_url), "", base_url, 0)


def set_browser_cookie(token: str, base_url: str, seconds: int) -> tuple[str, str]:
    """The header that sets the cookie of a browser that asks for a sign-in code."""
    return _morsel(browser_cookie_name(base_url), token, base_url, seconds)


def set_pending_cookie(token: str, base_url: str, seconds: int) -> tuple[str, str]:
    """The header that sets the cookie of a sign-in that waits for a passkey."""
    return _morsel(pending_cookie_name(base_url), token, base_url, seconds)


def delete_pending_cookie(base_url: str) -> tuple[str, str]:
    """The header that deletes that cookie."""
    return _morsel(pending_cookie_name(base_url), "", base_url, 0)


def _morsel(name: str, value: str, base_url: str, seconds: int) -> tuple[str, str]:
    secure = "; Secure" if base_url.startswith("https://") else ""
    return "set-cookie", f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"


def from_our_page(request: Request, base_url: str) -> bool:
    """Whether a page of this service sent the request, according to the browser.

    No page can forge `Sec-Fetch-Site`. Browsers that do not send it, or not to this address, send `Origin`.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return request.headers.get("origin") == base_url
