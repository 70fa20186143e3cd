"""Sends requests over the network, through the proxies of the environment. Follows no redirect.

Requests run in threads, because a DNS lookup and a response that trickles in have no time limit of their own.
"""

import http.client
import os
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import closing
from queue import Empty, Queue
from time import monotonic
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from service.catalogctl.client import JSON, Asked, Reply
from service.catalogctl.failures import Unreachable
from service.catalogctl.proxies import Proxy, proxy_of
from service.version import VERSION

SILENCE_SECONDS = 10.0
"""Maximum time without a byte from the other side."""
ANSWER_SECONDS = 30.0
"""Maximum time for a whole response, from the DNS lookup to the last byte."""
ANSWER_BYTES = 16 * 1024 * 1024
FILE_SECONDS = 3600.0
"""Maximum time for a file."""
FILE_BYTES = 4 * 1024**3
FILE_SILENCE_SECONDS = 60.0
"""Maximum time without a byte of a file, each page of which is a read of the database."""
PIECE_BYTES = 64 * 1024
PIECES = 16
"""Pieces of a file that wait to be written."""

NO_TUNNEL = "Tunnel connection failed: "
"""Python's words before the status with which a proxy refuses a tunnel."""

NEEDS_LOGIN = "needs a login; add it to the variable, as in http://USER:PASSWORD@HOST:PORT"

Outcome = bytes | Reply | Exception
"""A piece of a file, a response without its file, or why there is none."""


class _Stay(HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_: Any) -> None:
        return None


def send(
    asked: Asked,
    *,
    silence_seconds: float = SILENCE_SECONDS,
    answer_seconds: float = ANSWER_SECONDS,
    answer_bytes: int = ANSWER_BYTES,
) -> Reply:
    """`Send` over the network. Raises `Misused` if the proxy cannot be used."""
    proxy = proxy_of(asked.url, os.environ)

    def work(deliver: Callable[[Outcome], None]) -> None:
        with closing(_opened(asked, proxy, silence_seconds, JSON)) as answer:
            deliver(_whole(answer, answer_bytes))

    return _run(asked, proxy, work, answer_seconds, _no_piece)


def download(
    asked: Asked,
    write: Callable[[bytes], None],
    *,
    silence_seconds: float = FILE_SILENCE_SECONDS,
    file_seconds: float = FILE_SECONDS,
    file_bytes: int = FILE_BYTES,
) -> Reply:
    """`Download` over the network. At most `PIECES` pieces are held in memory.

    Raises `Misused` if the proxy cannot be used.
    """
    proxy = proxy_of(asked.url, os.environ)

    def work(deliver: Callable[[Outcome], None]) -> None:
        with closing(_opened(asked, proxy, silence_seconds, "text/csv, application/json")) as answer:
            headers = _headers(answer)
            if answer.status != http.client.OK or not Reply(answer.status, headers, b"").is_spreadsheet:
                deliver(_whole(answer, ANSWER_BYTES))
                return
            left = file_bytes
            while piece := answer.read1(PIECE_BYTES):
                left -= len(piece)
                if left < 0:
                    raise OSError(f"the file is larger than {file_bytes:,} bytes")
                deliver(piece)
            if answer.length:
                raise http.client.IncompleteRead(b"", answer.length)
            deliver(Reply(answer.status, headers, b""))

    return _run(asked, proxy, work, file_seconds, write)


def _no_piece(piece: bytes) -> None:
    raise AssertionError("a response has no pieces")


def _run(
    asked: Asked,
    proxy: Proxy | None,
    work: Callable[[Callable[[Outcome], None]], None],
    seconds: float,
    write: Callable[[bytes], None],
) -> Reply:
    """Run `work` in a thread, write the pieces that it delivers, and return its response. Raises `Unreachable`."""
    outcomes: Queue[Outcome] = Queue(PIECES)

    def run() -> None:
        try:
            work(outcomes.put)
        except Exception as error:
            outcomes.put(error)

    threading.Thread(target=run, daemon=True).start()
    host = asked.url.split("/")[2]
    through = f" through {proxy}" if proxy else ""
    ends = monotonic() + seconds
    while True:
        try:
            outcome = _next(outcomes, ends - monotonic())
        except Empty:
            raise Unreachable(f"{host} did not respond{through} within {seconds:g} s") from None
        match outcome:
            case bytes():
                write(outcome)
            case Reply():
                if proxy and outcome.status == http.client.PROXY_AUTHENTICATION_REQUIRED:
                    raise Unreachable(f"{proxy} {NEEDS_LOGIN}")
                return outcome
            case URLError() if proxy and not isinstance(outcome.reason, ssl.SSLError):
                raise Unreachable(f"{proxy} {_failure(outcome, host)}") from None
            case OSError() | http.client.HTTPException():
                raise Unreachable(f"cannot reach {host}{through}: {_reason(outcome)}") from None
            case _:
                raise outcome


def _next(outcomes: "Queue[Outcome]", seconds: float) -> Outcome:
    """The next outcome. Raises `Empty` if there is none within `seconds`, which may be over."""
    if seconds <= 0:
        raise Empty
    return outcomes.get(timeout=seconds)


def _opened(asked: Asked, proxy: Proxy | None, silence_seconds: float, accept: str) -> Any:
    """The response of any status, whose body is not read yet."""
    request = Request(asked.url, data=asked.body, method=asked.method)
    request.add_header("User-Agent", f"catalogctl/{VERSION}")
    request.add_header("Accept", accept)
    if asked.body is not None:
        request.add_header("Content-Type", asked.content_type)
    for name, value in asked.headers.items():
        request.add_header(name, value)
    if asked.if_match:
        request.add_header("If-Match", asked.if_match)
    if asked.key is not None:
        request.add_unredirected_header("Authorization", f"Bearer {asked.key}")
    if proxy is not None:
        request.set_proxy(proxy.address, "http")
        if proxy.login is not None:
            request.add_unredirected_header("Proxy-Authorization", proxy.login)
    try:
        return build_opener(ProxyHandler({}), _Stay).open(request, timeout=silence_seconds)
    except HTTPError as refusal:
        return refusal


def _headers(answer: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items()}


def _whole(answer: Any, answer_bytes: int) -> Reply:
    body: bytes = answer.read(answer_bytes + 1)
    if len(body) > answer_bytes:
        raise OSError(f"the response is larger than {answer_bytes:,} bytes")
    if answer.length:
        raise http.client.IncompleteRead(body, answer.length)
    return Reply(answer.status, _headers(answer), body)


def _failure(error: URLError, host: str) -> str:
    """The reason why a proxy did not connect to the host."""
    status = str(error.reason).partition(NO_TUNNEL)[2]
    if status.startswith("407"):
        return NEEDS_LOGIN
    return f"does not connect to {host}: {status}" if status else f"cannot be used: {_reason(error)}"


def _reason(error: Exception) -> str:
    """The reason why no response arrived."""
    if isinstance(error, URLError) and isinstance(error.reason, Exception):
        error = error.reason
    match error:
        case TimeoutError():
            return "it did not respond in time"
        case http.client.RemoteDisconnected() | ConnectionError():
            return (
                "the connection was refused" if isinstance(error, ConnectionRefusedError) else "the connection was lost"
            )
        case http.client.IncompleteRead():
            return "the connection was lost in the middle of a response"
        case http.client.HTTPException():
            return "the response is not HTTP"
        case socket.gaierror():
            return "there is no such host"
        case OSError():
            return error.strerror or str(error)
        case _:
            return str(error)
