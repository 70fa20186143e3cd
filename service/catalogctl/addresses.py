"""Parses and normalises addresses of services and pages. Pure."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from service.catalogctl.failures import Misused

DEFAULT_URL = "http://127.0.0.1:8080"
URL_VARIABLE = "CATALOGCTL_URL"
PORTS = {"http": 80, "https": 443}
LONGEST = 2_000


def base_of(text: str) -> str:
    """The normal form of a service's address: `https://host[:port][/path]`, lower-case, without a default port.

    Raises `Misused`.
    """
    parts = _split(text)
    if parts is None or parts.scheme not in PORTS or not parts.hostname:
        raise Misused(f"{text!r} is not the address of a service; use one such as {DEFAULT_URL}")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise Misused("the address of a service cannot have a user, query or fragment")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def is_in_clear(base: str) -> bool:
    """Whether requests can be read on the network: plain HTTP to another machine."""
    parts = urlsplit(base)
    host = parts.hostname or ""
    return parts.scheme == "http" and host != "localhost" and not _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_page(text: str) -> bool:
    """Whether it can be opened in a browser."""
    parts = _split(text)
    return parts is not None and parts.scheme in PORTS and bool(parts.hostname)


def _split(text: str) -> SplitResult | None:
    """The parts of an address, or None if it is not an address in visible ASCII."""
    if len(text) > LONGEST or not text.isascii() or any(not "!" <= letter <= "~" for letter in text):
        return None
    try:
        parts = urlsplit(text)
        return parts if parts.port is None or parts.port else None
    except ValueError:
        return None
