"""Which network addresses webhooks may reach: public ones, and those that the operator allows. Pure."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NAT64 = ip_network("64:ff9b::/96")
SIX_TO_FOUR = ip_network("2002::/16")

REFUSED: Sequence[Network] = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carrier-grade NAT; Alibaba's metadata is in it
            "127.0.0.0/8",
            "168.63.129.16/32",  # Azure's metadata
            "169.254.0.0/16",  # link-local; most metadata services
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "::/96",  # unspecified, loopback, and IPv4-compatible ones
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",  # Teredo and other protocols
            "2001:db8::/32",
            "3fff::/20",
            "5f00::/16",
            "fc00::/7",  # unique local; metadata of Amazon and Google
            "fe80::/10",
            "fec0::/10",
            "ff00::/8",
        ),
    )
)
"""Networks that are not public, written out because Python's own list differs between versions."""


def embedded(address: Address) -> Address:
    """The IPv4 address that packets to an IPv6 address end at, if it carries one (mapped, 6to4 or NAT64)."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in SIX_TO_FOUR:
        return IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_listed(address: Address, allowed: Iterable[Network]) -> bool:
    return any(_within(embedded(address), network) for network in allowed)


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet, and so is one that it carries."""
    inner = embedded(address)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return False
    return not inner.is_multicast and inner.is_global and not any(_within(inner, network) for network in REFUSED)


def parsed(text: str) -> Address | None:
    """The address that a host is, or None for a name."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def _within(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network
