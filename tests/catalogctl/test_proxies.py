"""Proxies of the environment: which is used for what, as curl reads the variables, and what is said when one fails."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from service.catalogctl.failures import Misused
from service.catalogctl.proxies import proxy_of
from tests.catalogctl.stage import Line, Stage, says, scripted

PLAIN, SECURE = "http://catalog.example.com:8080", "https://catalog.example.com"
EMPTY = says(200, {"data": [], "nextCursor": None})
VARIABLES = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")


@pytest.mark.parametrize(
    ("url", "environment", "chosen"),
    [
        (PLAIN, {}, None),
        (PLAIN, {"http_proxy": "http://p:3128"}, ("http_proxy", "p:3128")),
        (PLAIN, {"HTTP_PROXY": "http://p:3128"}, None),
        (PLAIN, {"https_proxy": "http://p:3128", "HTTPS_PROXY": "http://p:3128"}, None),
        (SECURE, {"https_proxy": "http://p:1", "HTTPS_PROXY": "http://p:2"}, ("https_proxy", "p:1")),
        (SECURE, {"https_proxy": "", "HTTPS_PROXY": "http://p:2"}, ("HTTPS_PROXY", "p:2")),
        (SECURE, {"http_proxy": "http://p:1", "ALL_PROXY": "p:3"}, ("ALL_PROXY", "p:3")),
        (PLAIN, {"all_proxy": "p:4", "ALL_PROXY": "p:3"}, ("all_proxy", "p:4")),
        (PLAIN, {"http_proxy": "p.example.com"}, ("http_proxy", "p.example.com:1080")),
        (PLAIN, {"http_proxy": " HTTP://[::1]:3128/ "}, ("http_proxy", "[::1]:3128")),
        (PLAIN, {"http_proxy": "p:1", "no_proxy": "", "NO_PROXY": "example.com"}, None),
        (PLAIN, {"http_proxy": "p:1", "no_proxy": "other.example", "NO_PROXY": "example.com"}, ("http_proxy", "p:1")),
        (PLAIN, {"http_proxy": "socks5://p:1", "no_proxy": "example.com"}, None),
    ],
)
def test_the_proxy_is_that_of_the_first_variable(
    url: str, environment: Mapping[str, str], chosen: tuple[str, str] | None
) -> None:
    proxy = proxy_of(url, environment)
    assert (proxy and (proxy.variable, proxy.address)) == chosen


@pytest.mark.parametrize(
    ("url", "exempt", "direct"),
    [
        *((PLAIN, "*", True), (PLAIN, " * ", True), (PLAIN, "*.example.com", False), (PLAIN, "other,*", False)),
        *((PLAIN, "catalog.example.com", True), (PLAIN, "Example.COM.", True), (PLAIN, ".example.com", True)),
        *((PLAIN, "log.example.com", False), (PLAIN, ".", False), (PLAIN, ",", False), (PLAIN, "com", True)),
        *((PLAIN, "a.example b.example\tcatalog.example.com", True), (PLAIN, "a, ,, catalog.example.com ,b", True)),
        *((PLAIN, "example.com:8080", True), (PLAIN, "example.com:80", False), (SECURE, "example.com:443", True)),
        *(
            (PLAIN, "127.0.0.0/8", False),
            (PLAIN, "0.0.0.0/0", False),
            ("http://Catalog.Example.com.", "example.com", True),
        ),
        *(("http://127.1.2.3:8080", "127.0.0.0/8", True), ("http://127.1.2.3", "127.9.9.9/8", True)),
        *(("http://127.0.0.1", "127.0.0.1", True), ("http://127.0.0.1", "0.0.1", False)),
        *(("http://127.0.0.1:8080", "127.0.0.1:8080", True), ("http://127.0.0.1:8080", "127.0.0.1:80", False)),
        *(("http://10.0.0.1", "127.0.0.0/8", False), ("http://10.0.0.1", "10.0.0.0/33", False)),
        *(("http://10.0.0.1", "::/0", False), ("http://localhost", "127.0.0.0/8", False)),
        *(("http://[::1]:8080", "::1", True), ("http://[::1]:8080", "[::1]", True), ("http://[::1]", "[::1]:80", True)),
        *(("http://[::1]:8080", "[::1]:80", False), ("http://[fd00::1]", "fd00::/8", True)),
        *(("http://[fd00::1]", "[fd00::]/8", True), ("http://[0:0:0:0:0:0:0:1]", "::1", True)),
    ],
)
def test_no_proxy_is_read_as_curl_reads_it(url: str, exempt: str, direct: bool) -> None:
    for variable in ("no_proxy", "NO_PROXY"):
        assert (proxy_of(url, {"all_proxy": "http://p:1", variable: exempt}) is None) == direct


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *(
            (f"{kind}://me:hidden@p:1", f"the kind {kind}://; only http:// is supported")
            for kind in ("socks5", "socks4a")
        ),
        *((f"{kind}://p:1", f"the kind {kind.lower()}://") for kind in ("SOCKS5H", "https", "ftp")),
        *(
            (text, "is not the address of a proxy")
            for text in ("http://", "p:0", "p:99999", "p:hidden", "a b:1", "http://[::1")
        ),
        ("http://me:hidden@:3128", "is not the address of a proxy"),
        ("http://p\u00f6:1", "is not the address of a proxy"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_before_anything_is_sent(value: str, words: str) -> None:
    with pytest.raises(Misused, match=r"^ALL_PROXY ") as refused:
        proxy_of(PLAIN, {"ALL_PROXY": value})
    assert words in str(refused.value)
    assert "hidden" not in str(refused.value)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    return monkeypatch


def test_a_proxy_gets_the_login_of_its_address_and_the_request(stage: Stage, environment: pytest.MonkeyPatch) -> None:
    with scripted(EMPTY) as proxy:
        environment.setenv("http_proxy", proxy.url.replace("//", "//me:p%40ss@"))
        assert stage.run("bots", "--url", "http://catalog.invalid") == 0
    assert proxy.targets() == ["GET http://catalog.invalid/api/v1/bots"]
    assert proxy.heard[0].headers["proxy-authorization"] == "Basic bWU6cEBzcw=="


def test_a_network_of_no_proxy_is_reached_directly(stage: Stage, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("http_proxy", "http://proxy.invalid:1")
    environment.setenv("no_proxy", "127.0.0.0/8")
    with scripted(EMPTY) as server:
        assert stage.run("bots", "--url", server.url) == 0


@contextmanager
def _closed() -> Iterator[str]:
    """The address of a port at which nothing listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.parametrize("url", ["http://catalog.invalid", "https://catalog.invalid"])
def test_a_dead_proxy_is_named(stage: Stage, environment: pytest.MonkeyPatch, url: str) -> None:
    with _closed() as address:
        environment.setenv("all_proxy", f"http://me:hidden@{address}")
        assert stage.run("bots", "--url", url) == 3
    assert stage.err == f"catalogctl: the proxy {address} of all_proxy cannot be used: the connection was refused\n"


@pytest.mark.parametrize(
    ("url", "line", "words"),
    [
        ("https://catalog.invalid", Line(403, b""), "does not connect to catalog.invalid: 403 Forbidden"),
        ("https://catalog.invalid", Line(407, b""), "needs a login; add it to the variable"),
        ("http://catalog.invalid", Line(407, b"<html>"), "needs a login; add it to the variable"),
    ],
)
def test_a_proxy_that_refuses_is_named(
    stage: Stage, environment: pytest.MonkeyPatch, url: str, line: Line, words: str
) -> None:
    with scripted(line) as proxy:
        environment.setenv("ALL_PROXY", proxy.url)
        assert stage.run("bots", "--url", url) == 3
    assert stage.err.startswith(f"catalogctl: the proxy {proxy.url.removeprefix('http://')} of ALL_PROXY {words}")


def test_an_error_behind_the_proxy_is_not_the_proxys(stage: Stage, environment: pytest.MonkeyPatch) -> None:
    with scripted() as proxy:
        environment.setenv("http_proxy", proxy.url)
        assert stage.run("bots", "--url", "http://catalog.invalid") == 3
    assert stage.err.startswith("catalogctl: cannot reach catalog.invalid through the proxy 127.0.0.1:")
    assert "the connection was lost" in stage.err
