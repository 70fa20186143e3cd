"""Redirect URIs: which a client may have, which are the same, and what a browser needs to know about one. Pure.

Source of the rules: RFC 8252 (7.1, 7.3), RFC 9700 (2.1 and 4.1.3) and ADR 0109.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlencode

LONGEST = 1_000
HIGHEST_PORT = 65_535

LOOPBACK = ("127.0.0.1", "[::1]", "localhost")
"""The hosts of programs on the machine of the person. Their port is chosen when they start, so it is not compared."""

FORBIDDEN = frozenset(
    {
        *("about", "blob", "data", "file", "filesystem", "javascript", "vbscript", "view-source"),  # of the browser
        *("chrome", "edge", "resource", "jar", "intent", "android-app", "content"),
        *("ftp", "ftps", "sftp", "ssh", "telnet", "ldap", "smb", "ws", "wss", "gopher"),  # of other protocols
        *("mailto", "tel", "sms", "facetime", "search", "search-ms", "shell", "hcp", "res", "mk"),  # of the system
    }
)
"""Schemes that are no program's own."""
_OF_WINDOWS = "ms-"

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,99}):")
_CHARACTERS = re.compile(r"[!$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")
"""Those of RFC 3986 without `#`. Browsers read a backslash as a slash."""
_WEB = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9][0-9]{0,4}))?([/?].*)?", re.I
)
_CREDENTIALS = re.compile(r"//[^/?]*@")


def problem_of(uri: str) -> str | None:
    """The reason why a client may not have this redirect URI, or None."""
    if not 1 <= len(uri) <= LONGEST:
        return f"must have 1 to {LONGEST:,} characters"
    if "#" in uri:
        return "must not have a fragment"
    scheme = _SCHEME.match(uri)
    if _CHARACTERS.fullmatch(uri) is None or scheme is None:
        return "must be an absolute URI, such as https://client.example.com/callback"
    if _CREDENTIALS.search(uri):
        return "must not have credentials"
    name = scheme[1].lower()
    if name in ("http", "https"):
        return _problem_of_web(uri)
    if name in FORBIDDEN or name.startswith(_OF_WINDOWS):
        return "must be an https address, an http address of 127.0.0.1, [::1] or localhost, or have a scheme of the program"
    return None


def _problem_of_web(uri: str) -> str | None:
    parts = _WEB.fullmatch(uri)
    if parts is None or int(parts[3] or 1) > HIGHEST_PORT:
        return "must have a valid host and port"
    if parts[1].lower() == "http" and parts[2].lower() not in LOOPBACK:
        return "must use https, unless its host is 127.0.0.1, [::1] or localhost"
    return None


def without_port(uri: str) -> str:
    """The form of a valid redirect URI in which it is compared, character by character: that of a loopback address has no
    port, and a slash for an empty path (RFC 3986, 6.2.3)."""
    parts = _WEB.fullmatch(uri)
    if parts is None or not is_loopback(uri):
        return uri
    rest = parts[4] or ""
    return f"http://{parts[2]}{rest if rest.startswith('/') else f'/{rest}'}"


def is_loopback(uri: str) -> bool:
    """Whether a valid redirect URI leads to a program on the person's machine, over http."""
    parts = _WEB.fullmatch(uri)
    return parts is not None and parts[1].lower() == "http" and parts[2].lower() in LOOPBACK


def place_of(uri: str) -> str:
    """The place that a person compares: the host and port of a valid redirect URI, or its scheme."""
    parts = _WEB.fullmatch(uri)
    if parts is None:
        return uri.partition(":")[0].lower() + ":"
    return parts[2].lower() + (f":{parts[3]}" if parts[3] else "")


def source_of(uri: str) -> str:
    """The source expression of a valid redirect URI in a content security policy (CSP 3, 2.3.1). It has no expression for
    hosts that are IPv6 addresses."""
    parts = _WEB.fullmatch(uri)
    if parts is None:
        return place_of(uri)
    scheme = parts[1].lower()
    return f"{scheme}:" if parts[2].startswith("[") else f"{scheme}://{place_of(uri)}"


def with_parameters(uri: str, parameters: Mapping[str, str | None]) -> str:
    """A redirect URI with the parameters of a response that are not None (RFC 6749, 4.1.2)."""
    query = urlencode({name: value for name, value in parameters.items() if value is not None})
    return f"{uri}{'&' if '?' in uri else '?'}{query}"
