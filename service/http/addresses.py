"""Client addresses: behind trusted proxies, grouped for limits, and matched against networks. Pure."""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

from service.http.header_lists import last_members

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

ADDRESSES = 10_000
"""Size of each cache of parsed addresses. Parsing one costs more than the rest of rate limiting."""

LONGEST_ADDRESS = 64


def client_address(peer: str, forwarded_for: str | None, trusted: "Networks") -> str:
    """The peer or, if that is a trusted proxy, the rightmost address in X-Forwarded-For that is not one."""
    if not trusted:
        return peer
    address = peer
    for hop in last_members(forwarded_for or ""):
        if address not in trusted:
            break
        hop = _without_port(hop)
        if not hop:
            break
        address = hop
    return address


def _without_port(hop: str) -> str:
    """Drop the port that some proxies add, because each connection would otherwise get its own limit."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def is_address(text: str) -> bool:
    """Whether this is an IPv4 or IPv6 address, without a port, a prefix or a zone."""
    return len(text) <= LONGEST_ADDRESS and "%" not in text and _parsed(text) is not None


def limited_as(address: str) -> str:
    """The key that a client's limits are counted under: an IPv4 address, or the /64 of an IPv6 address."""
    return _limited_as(address[:LONGEST_ADDRESS])


@lru_cache(ADDRESSES)
def _limited_as(address: str) -> str:
    parsed = _parsed(address)
    if isinstance(parsed, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(parsed) >> 64 << 64, 64)))
    return address if parsed is None else str(parsed)


def network_of(address: str) -> str:
    """The network that a client's address most likely belongs to: the /24 of an IPv4 address, the /48 of an IPv6 address."""
    return _network_of(address[:LONGEST_ADDRESS])


@lru_cache(ADDRESSES)
def _network_of(address: str) -> str:
    parsed = _parsed(address)
    if parsed is None:
        return address
    length = 48 if isinstance(parsed, ipaddress.IPv6Address) else 24
    return str(ipaddress.ip_network((int(parsed), length), strict=False))


class Networks:
    """A set of networks. Its answers are cached by address, because hashing networks costs more than all other limits."""

    def __init__(self, networks: Iterable[Network] = ()) -> None:
        self._networks = tuple(networks)
        self._holds = lru_cache(ADDRESSES)(self._match)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def __contains__(self, address: str) -> bool:
        """Whether `address` is valid and in one of the networks. It may be an IPv4 address written as IPv6, as dual-stack
        sockets do."""
        return bool(self._networks) and self._holds(address[:LONGEST_ADDRESS])

    def _match(self, address: str) -> bool:
        parsed = _parsed(address)
        return parsed is not None and any(parsed in network for network in self._networks)

    def __repr__(self) -> str:
        return f"<Networks {', '.join(map(str, self._networks))}>"


@lru_cache(ADDRESSES)
def _parsed(address: str) -> Address | None:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    return getattr(parsed, "ipv4_mapped", None) or parsed


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
