"""Chooses the proxy of a request by the variables of the environment, as curl reads them. Knows no network."""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import unquote, urlsplit

from service.catalogctl.failures import Misused

VARIABLES = {"http": ("http_proxy",), "https": ("https_proxy", "HTTPS_PROXY")}
"""The variables by the scheme of the service. `HTTP_PROXY` is not read: under CGI, clients set it by a header `Proxy`."""
FOR_ALL = ("all_proxy", "ALL_PROXY")
EXEMPT = ("no_proxy", "NO_PROXY")
DEFAULT_PORT = 1080
PORTS = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_ENTRY = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]+))?")
"""A host with or without a port. An IPv6 address without brackets does not match."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy for HTTP. `address` is `host:port`, `login` the value of Proxy-Authorization."""

    variable: str
    address: str
    login: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"the proxy {self.address} of {self.variable}"


def proxy_of(url: str, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy of a request to `url`, or None. Raises `Misused` if it cannot be used. An empty variable counts as unset."""
    parts = urlsplit(url)
    variable = next((name for name in (*VARIABLES[parts.scheme], *FOR_ALL) if environment.get(name)), None)
    if variable is None or parts.hostname is None:
        return None
    exempt = next((environment[name] for name in EXEMPT if environment.get(name)), "")
    port = parts.port or PORTS[parts.scheme]
    return None if _is_exempt(parts.hostname, port, exempt) else _parsed(variable, environment[variable].strip())


def _parsed(variable: str, text: str) -> Proxy:
    """The proxy of a variable's value. Errors do not show the value, which may hold a password."""
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[1].lower() != "http":
        raise Misused(f"{variable} names a proxy of the kind {scheme[1].lower()}://; only http:// is supported")
    try:
        parts = urlsplit(text if scheme else f"http://{text}")
        host, port = parts.hostname or "", DEFAULT_PORT if parts.port is None else parts.port
    except ValueError:
        host, port = "", 0
    if not _HOST.fullmatch(host) or not port:
        raise Misused(f"{variable} is not the address of a proxy; use one such as http://proxy.example.com:3128")
    login = None
    if parts.username is not None:
        words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        login = f"Basic {b64encode(words.encode()).decode('ascii')}"
    return Proxy(variable, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", login)


def _is_exempt(host: str, port: int, exempt: str) -> bool:
    """Whether a list of hosts, domains and networks, separated by commas or spaces, has the host. `*` alone means all."""
    if exempt.strip() == "*":
        return True
    name, address = host.rstrip(".").lower(), _address(host)
    return any(_names(entry, name, address, port) for entry in re.split(r"[\s,]+", exempt.lower()) if entry)


def _names(entry: str, host: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
    ported = _ENTRY.fullmatch(entry)
    named = ported[1] if ported else entry
    if ported and ported[2] and int(ported[2]) != port:
        return False
    if address is None:
        domain = named.removeprefix(".").rstrip(".")
        return domain != "" and f".{host}".endswith(f".{domain}")
    try:
        return address in ip_network(named.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        return False


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
