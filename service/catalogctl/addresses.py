"""Addresses of services and of pages: one normal form, and what may be asked of them. Pure."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from service.catalogctl.failures import Misused

DEFAULT_URL = "http://127.0.0.1:8080"
PORTS = {"http": 80, "https": 443}
LONGEST = 2_000


def base_of(text: str) -> str:
    """The address of a service as it is kept and compared: `https://host[:port][/path]`, lower-case, without a default port.

    Raises `Misused`.
    """
    parts = _split(text)
    if parts is None or parts.scheme not in PORTS or not parts.hostname:
        raise Misused(f"{text!r} is not an address of a service, such as {DEFAULT_URL}")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise Misused("an address of a service has no user, query or fragment")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def is_in_clear(base: str) -> bool:
    """Whether what is sent there can be read on the way: plain HTTP to another machine."""
    parts = urlsplit(base)
    host = parts.hostname or ""
    return parts.scheme == "http" and host != "localhost" and not _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_page(text: str) -> bool:
    """Whether a browser may be sent there."""
    parts = _split(text)
    return parts is not None and parts.scheme in PORTS and bool(parts.hostname)


def _split(text: str) -> SplitResult | None:
    """The parts of an address that holds nothing but visible ASCII, or None."""
    if len(text) > LONGEST or not text.isascii() or any(not "!" <= letter <= "~" for letter in text):
        return None
    try:
        parts = urlsplit(text)
        return parts if parts.port is None or parts.port else None
    except ValueError:
        return None
