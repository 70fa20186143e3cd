"""Which addresses webhooks may reach, and which URLs can be given."""

from ipaddress import ip_address, ip_network

import pytest

from service.api.operations.sponsor_webhooks import url_problem
from service.outside.public_addresses import is_listed, is_public

PRIVATE = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.0.1 168.63.129.16
169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1
198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 :: ::1 ::127.0.0.1 ::8.8.8.8
::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1
2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 2002:7f00:1::1 2002:a9fe:a9fe::1 2002:0a00:0001::1 3fff::1 fc00::1
fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1
"""
PUBLIC = """
1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.167.1.1 223.255.255.254 2606:4700:4700::1111
2a00:1450:4001:82a::200e ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:0808:0808::1
"""


@pytest.mark.parametrize("address", PRIVATE.split())
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC.split())
def test_a_public_address_is_reached(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:0a01:0203::1"])
def test_a_network_of_the_operator_is_reached_however_it_is_written(address: str) -> None:
    assert is_listed(ip_address(address), [ip_network("10.0.0.0/8")])
    assert not is_listed(ip_address(address), [ip_network("10.0.0.0/16"), ip_network("fd00::/8")])


INSIDE = [ip_network("10.0.0.0/8")]


@pytest.mark.parametrize(
    ("url", "allowed", "why"),
    [
        ("https://tools.example.com/hook", [], None),
        ("https://tools.example.com:8443/hook?a=1", [], None),
        ("http://tools.example.com/hook", [], "must begin with https://"),
        ("https://localhost/", [], "must have a public host name, such as example.com"),
        ("https://metadata.google.internal/", [], "must have a public host name, such as example.com"),
        ("https://10.0.0.1/", [], "must not lead to a private network"),
        ("https://169.254.169.254/latest", INSIDE, "must not lead to a private network"),
        ("https://10.0.0.1/", INSIDE, None),
        ("http://10.0.0.1:8080/", INSIDE, None),
        ("http://8.8.8.8/", INSIDE, "must begin with https://"),
        ("http://hooks.corp/", INSIDE, None),
        ("https://hooks.corp/", INSIDE, None),
        ("https://8.8.8.8/", [], None),
    ],
)
def test_a_url_is_refused_when_it_can_never_be_reached(url: str, allowed: list[object], why: str | None) -> None:
    assert url_problem(url, allowed) == why  # type: ignore[arg-type]
