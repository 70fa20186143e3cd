"""Bugs found by the campaign, each as its smallest request."""

import pytest

from service.http.request_head import BadRequest, parse_head


def _head(host: bytes) -> bytes:
    return b"GET /healthz HTTP/1.1\r\nhost: " + host + b"\r\n\r\n"


@pytest.mark.parametrize(
    "host", [b".", b"..", b".a", b"a..b", b"a" * 64, b"a." + b"b" * 64, b"a." * 128, b"node.example.com:x"]
)
def test_a_host_that_is_no_name_is_refused_before_the_application_sees_it(host: bytes) -> None:
    """Quart's routing fails on an empty label or one of more than 63 bytes."""
    with pytest.raises(BadRequest) as refused:
        parse_head(_head(host))
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "host", [b"a", b"a" * 63, b"node.example.com.", b"NODE_1.example.com:8080", b"[::1]:80", b"10.0.0.1"]
)
def test_a_host_that_is_a_name_or_an_address_is_taken(host: bytes) -> None:
    assert (b"host", host) in parse_head(_head(host)).headers
