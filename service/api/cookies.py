"""The cookies of sessions and of browsers that were mailed a code, and the check that a request comes from our pages.

Source: ADR 0011, 0012 and 0056.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from service.api.messages import Request
from service.http.header_lists import members

MAX_COOKIES = 256
"""Cookies of a request that are read. Browsers keep fewer for a site."""

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing (RFC 9110, 9.2.1)."""


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie that only this service reads. Over https, browsers bind it to this host."""

    plain_name: str

    def name(self, base_url: str) -> str:
        return f"__Host-{self.plain_name}" if base_url.startswith("https://") else self.plain_name

    def value(self, headers: Mapping[str, str], base_url: str) -> str | None:
        """The value in a request. None if there is none, or more than one."""
        name, values = self.name(base_url), []
        # Only what separates cookies for a browser (RFC 6265, 5.2): otherwise a page of a sibling domain could hide a cookie
        # with a protected name in the value, or behind a letter of the name, of one that it may set.
        for pair in members(headers.get("cookie", ""), ";", MAX_COOKIES):
            key, found, value = pair.partition("=")
            if found and key == name:
                values.append(value)
        return values[0] if len(values) == 1 else None

    def set(self, value: str, base_url: str, seconds: int) -> tuple[str, str]:
        """The header that sets the cookie."""
        secure = "; Secure" if base_url.startswith("https://") else ""
        attributes = f"Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
        return "set-cookie", f"{self.name(base_url)}={value}; {attributes}"

    def delete(self, base_url: str) -> tuple[str, str]:
        """The header that deletes the cookie."""
        return self.set("", base_url, 0)


SESSION = Cookie("session")
BROWSER = Cookie("sign-in")
"""Of a browser that asked for a sign-in code."""
PENDING = Cookie("passkey")
"""Of a sign-in that waits for a passkey."""
SIGN_IN_FORM = Cookie("sign-in-form")
CLAIM_FORM = Cookie("claim-form")
"""Of a browser that was mailed a code: the fields that the form for the code repeats."""


def from_our_page(request: Request, base_url: str) -> bool:
    """Whether a page of this service sent the request, according to the browser.

    No page can forge `Sec-Fetch-Site`. Browsers that do not send it, or not to this address, send `Origin`.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return request.headers.get("origin") == base_url
