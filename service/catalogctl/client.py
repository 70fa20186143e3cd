"""Sends one request to the service and reads its response. Knows no command, and stores nothing.

Redirects are not followed.
"""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from service.catalogctl.addresses import URL_VARIABLE
from service.catalogctl.failures import Refused, Unreachable, exit_of
from service.version import VERSION

SILENCE_SECONDS = 10.0
"""Maximum time without a byte from the other side."""
ANSWER_SECONDS = 30.0
"""Maximum time for a whole response, from the DNS lookup to the last byte."""
ANSWER_BYTES = 16 * 1024 * 1024
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. `url` is absolute; `key` is sent only in the Authorization header."""

    method: str
    url: str
    body: bytes | None = None
    content_type: str = ""
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    @property
    def is_spreadsheet(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/csv")

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object in the body, or an empty one."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def error(self) -> str:
        """The error code of a refusal, or an empty string."""
        return text_of(self.document, "error")

    @property
    def wait_seconds(self) -> int | None:
        """The seconds of Retry-After, or None."""
        asked = self.headers.get("retry-after", "")
        return int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else None


Send = Callable[[Asked], Reply]
"""Sends one request. Raises `Unreachable` if no response arrives."""


def text_of(document: Mapping[str, Any], name: str) -> str:
    """The value of a field if it is a string, or an empty string."""
    value = document.get(name)
    return value if isinstance(value, str) else ""


def fields_of(document: Mapping[str, Any]) -> list[str]:
    """The problems of the fields in an error body, such as `name: is required`."""
    fields = document.get("fields")
    problems = [each for each in fields if isinstance(each, dict)] if isinstance(fields, list) else []
    return [f"{text_of(each, 'name')}: {text_of(each, 'message')}" for each in problems]


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to the service at `base`, authenticated by `key` if it has one.

    `is_default` is whether nobody chose the service.
    """

    base: str
    send: Send
    key: str | None = field(default=None, repr=False)
    is_default: bool = False

    def ask(
        self, method: str, path: str, query: Mapping[str, str | int | None] | None = None, body: object = None
    ) -> Reply:
        """Send one request with the key and return a successful response. Raises `Refused` or `Unreachable`."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.base}{path}{'?' if given else ''}{urlencode(given)}"
        sent = None if body is None else json.dumps(body).encode()
        return self.accepted(self._sent(Asked(method, url, sent, JSON if sent else "", self.key)))

    def post_form(self, path: str, fields: Mapping[str, str]) -> Reply:
        """Send one form without the key and return any response. Raises `Unreachable`."""
        return self._sent(Asked("POST", f"{self.base}{path}", urlencode(fields).encode(), FORM))

    def _sent(self, asked: Asked) -> Reply:
        try:
            return self.send(asked)
        except Unreachable as error:
            raise self._lost(str(error)) from None

    def _lost(self, words: str) -> Unreachable:
        """The error, which says how to choose a service if nobody did."""
        return Unreachable(f"{words}; choose a service by --url URL or {URL_VARIABLE}" if self.is_default else words)

    def accepted(self, reply: Reply) -> Reply:
        """The response, if it is a success of the service. Raises `Refused` or `Unreachable`."""
        if 200 <= reply.status < 300 and (reply.document or reply.is_spreadsheet):
            return reply
        if reply.status < 400 or not reply.error:
            where = reply.headers.get("location")
            leads = f", a redirect to {where}, which is not followed" if where else ""
            raise self._lost(f"{self.base} returned a response that is not the service's: status {reply.status}{leads}")
        code = exit_of(reply.status, reply.error)
        raise Refused(self.words_of(reply), reply.error, code, details=fields_of(reply.document), body=reply.body)

    def words_of(self, reply: Reply) -> str:
        """The service's message of a refusal, its code, and what to do. Problems of fields are left to `fields_of`."""
        document = reply.document
        words = text_of(document, "message") or f"The service returned status {reply.status}."
        problems = fields_of(document)
        if problems:
            words = words.partition(f": {problems[0]}")[0]
        hint = text_of(document, "hint")
        helps = [reply.error]
        if reply.wait_seconds is not None and f"{reply.wait_seconds} s" not in words:
            helps.append(f"try again in {reply.wait_seconds} s")
        if reply.status == 401:
            helps.append("run catalogctl login to get a key")
        elif hint:
            helps.append(f"see {self.base}{hint}" if hint.startswith("/") else f"see {hint}")
        return f"{words} ({'; '.join(helps)})"


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
    """`Send` over the network, through the proxies of the environment.

    Runs in a thread, because a DNS lookup and a response that trickles in have no time limit of their own.
    """
    outcomes: SimpleQueue[Reply | Exception] = SimpleQueue()

    def work() -> None:
        try:
            outcomes.put(_exchange(asked, silence_seconds, answer_bytes))
        except Exception as error:
            outcomes.put(error)

    threading.Thread(target=work, daemon=True).start()
    host = asked.url.split("/")[2]
    try:
        outcome = outcomes.get(timeout=answer_seconds)
    except Empty:
        raise Unreachable(f"{host} did not respond within {answer_seconds:g} s") from None
    match outcome:
        case Reply():
            return outcome
        case OSError() | http.client.HTTPException():
            raise Unreachable(f"cannot reach {host}: {_reason(outcome)}") from None
        case _:
            raise outcome


def _exchange(asked: Asked, silence_seconds: float, answer_bytes: int) -> Reply:
    request = Request(asked.url, data=asked.body, method=asked.method)
    request.add_header("User-Agent", f"catalogctl/{VERSION}")
    request.add_header("Accept", JSON)
    if asked.body is not None:
        request.add_header("Content-Type", asked.content_type)
    if asked.key is not None:
        request.add_unredirected_header("Authorization", f"Bearer {asked.key}")
    try:
        answer = build_opener(_Stay).open(request, timeout=silence_seconds)
    except HTTPError as refusal:
        answer = refusal
    with answer:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        body: bytes = answer.read(answer_bytes + 1)
        if len(body) > answer_bytes:
            raise OSError(f"the response is larger than {answer_bytes:,} bytes")
        if answer.length:
            raise http.client.IncompleteRead(body, answer.length)
        return Reply(answer.status, headers, body)


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
