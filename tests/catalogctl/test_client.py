"""Requests and responses: the bytes sent, the responses refused, and the limits of time and size."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from service.catalogctl.client import Asked, base_of, is_in_clear, is_page
from service.catalogctl.failures import Misused, Unreachable
from service.catalogctl.transport import send
from tests.catalogctl.stage import HANGS_UP, Line, Stage, logged_in, refuses, says, scripted

EMPTY = says(200, {"data": [], "nextCursor": None})


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("HTTPS://Catalog.Example.com:443/", "https://catalog.example.com"),
        ("http://catalog.example.com:80/shop/", "http://catalog.example.com/shop"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_an_address_has_one_normal_form(text: str, base: str) -> None:
    assert base_of(text) == base


@pytest.mark.parametrize(
    "text",
    [
        *(
            "catalog.example.com",
            "ftp://catalog.example.com",
            "https://",
            "https://[::1",
            "https://catal\u00f6g.example.com",
        ),
        "https://user:password@catalog.example.com",
        *(
            f"https://catalog.example.com{end}"
            for end in ("/?a=b", "/#top", ":99999", ":0", "\r\nX: y", "/" + "a" * 2_000)
        ),
    ],
)
def test_an_invalid_service_address_is_refused_before_anything_is_sent(stage: Stage, text: str) -> None:
    with pytest.raises(Misused):
        base_of(text)
    assert stage.run("bots", "--url", text) == 2
    assert len(stage.err.splitlines()) == 1
    assert "password" not in stage.err


def test_only_http_addresses_are_pages() -> None:
    assert is_page("https://catalog.example.com/device?user_code=BCDF-GHJK")
    for text in ("javascript:alert(1)", "file:///etc/passwd", "https://a b", "--version", ""):
        assert not is_page(text)


def test_plain_http_to_another_machine_is_in_clear() -> None:
    here = ("http://127.0.0.1:8080", "http://127.9.9.9", "http://[::1]", "http://localhost")
    for base in ("https://catalog.example.com", *here):
        assert not is_in_clear(base)
    for host in ("catalog.example.com", "127.example.com", "10.0.0.1", "localhost.example.com"):
        assert is_in_clear(f"http://{host}")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(stage: Stage, status: int) -> None:
    with scripted() as elsewhere:
        target = f"{elsewhere.url}/api/v1/usage"
        with scripted(Line(status, b"", {"Location": target})) as server:
            logged_in(stage, server.url)
            assert stage.run("usage") == 3
        assert elsewhere.heard == []
    assert f"a redirect to {target}, which is not followed" in stage.err


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (
            refuses(404, "not_found", "There is no bot template with this slug."),
            4,
            "There is no bot template with this slug.",
        ),
        (
            refuses(401, "invalid_api_key", hint="/api/v1/auth/agent"),
            5,
            "(invalid_api_key; run catalogctl login to get a key)",
        ),
        (refuses(403, "claim_required", hint="/api/v1/auth/claim"), 5, "/api/v1/auth/claim)"),
        (says(429, {"error": "rate_limited", "message": "Too fast."}, Retry_After="7"), 6, "try again in 7 s"),
        (refuses(503, "service_unavailable", "Later."), 7, "Later. (service_unavailable)"),
        (refuses(500, "bad\x1b[31m", "\x1b]0;title\x07 No.\r\nfake line"), 7, "No. fake line"),
        (Line(502, b"<html>"), 3, "a response that is not the service's: status 502"),
        (Line(200, b"<html>"), 3, "a response that is not the service's: status 200"),
        (Line(200, b"[" * 100_000), 3, "not the service's"),
        (Line(200, b'{"data": 7}'), 3, "no list of data"),
        (Line(200, b'{"data": [7]}'), 3, "no list of data"),
        (
            Line(200, b'{"data": []}', {"Content-Length": "400"}),
            3,
            "the connection was lost in the middle of a response",
        ),
        (Line(200, b"\x1b[31m", {"X": "y" * 70_000}), 3, "the response is not HTTP"),
        (HANGS_UP, 3, "the connection was lost"),
    ],
)
def test_every_unsuccessful_response_is_one_clear_line(stage: Stage, answer: Line, code: int, words: str) -> None:
    with scripted(answer) as server:
        assert stage.run("bots", "--url", server.url) == code
    [line] = stage.err.splitlines()
    assert line.startswith("catalogctl: ")
    assert words in line
    assert "\x1b" not in line
    assert stage.out == ""


def test_a_host_that_does_not_exist_is_reported(stage: Stage) -> None:
    assert stage.run("bots", "--url", "http://nowhere.invalid") == 3
    assert "cannot reach nowhere.invalid: " in stage.err


@contextmanager
def one_that(behaves: bytes, *, drip: bytes = b"") -> Iterator[str]:
    """A server that sends `behaves` to the first connection, then `drip` again and again, without an end."""
    stop = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(behaves)
            while not stop.wait(0.01):
                try:
                    connection.sendall(drip)
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            stop.set()
            thread.join(10)


def test_a_silent_server_times_out() -> None:
    with one_that(b"") as url, pytest.raises(Unreachable, match="it did not respond in time"):
        send(Asked("GET", url), silence_seconds=0.05)


@pytest.mark.parametrize("behaves", [b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "])
def test_a_slow_server_times_out(behaves: bytes) -> None:
    with one_that(behaves, drip=b"x") as url, pytest.raises(Unreachable, match=r"did not respond within 0\.1 s"):
        send(Asked("GET", url), silence_seconds=5, answer_seconds=0.1)


def test_a_response_that_is_too_large_is_refused() -> None:
    with scripted(Line(200, b"x" * 1_001)) as server, pytest.raises(Unreachable, match="larger than 1,000 bytes"):
        send(Asked("GET", f"{server.url}/"), answer_bytes=1_000)
    with scripted(Line(200, b"x" * 1_000)) as server:
        assert len(send(Asked("GET", f"{server.url}/"), answer_bytes=1_000).body) == 1_000


def test_the_repr_of_a_request_does_not_show_the_key() -> None:
    assert "secret" not in repr(Asked("GET", "http://127.0.0.1/", key="secret"))


def test_the_variable_and_the_option_give_a_key_for_one_call(stage: Stage) -> None:
    with scripted(EMPTY, EMPTY) as server:
        stage.environment |= {"CATALOGCTL_KEY": "cs_user_variable", "CATALOGCTL_URL": server.url}
        assert stage.run("bots") == 0
        assert stage.err == ""
        assert stage.run("bots", "--key", "cs_user_option") == 0
        assert "--key exposes the key in the process list" in stage.err
    assert [heard.headers["authorization"] for heard in server.heard] == [
        "Bearer cs_user_variable",
        "Bearer cs_user_option",
    ]
    assert not stage.file.exists()


@pytest.mark.parametrize("key", ["a b", "a\r\nX-Evil: 1", "schl\u00fcssel", "a" * 513, "\x00"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_printed(stage: Stage, key: str) -> None:
    stage.environment["CATALOGCTL_KEY"] = key
    assert stage.run("bots") == 2
    assert key not in stage.err


def test_an_unencrypted_connection_prints_a_warning(stage: Stage) -> None:
    stage.environment["CATALOGCTL_KEY"] = "cs_user_variable"
    assert stage.run("usage", "--url", "http://catalog.invalid") == 3
    assert "warning: http://catalog.invalid is not encrypted" in stage.err
    assert stage.run("login", "--url", "http://catalog.invalid") == 3
    assert "warning: http://catalog.invalid is not encrypted" in stage.err
