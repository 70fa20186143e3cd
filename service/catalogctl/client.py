"""Asks the service and understands its addresses and responses. Knows no command and no network, and stores nothing."""

import json
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlencode, urlsplit

from service.catalogctl.failures import Misused, Refused, Unreachable, exit_of

DEFAULT_URL = "http://127.0.0.1:8080"
URL_VARIABLE = "CATALOGCTL_URL"
PORTS = {"http": 80, "https": 443}
LONGEST = 2_000
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


class Asked(NamedTuple):
    """A request. `url` is absolute; `key` is sent only in the Authorization header. `if_match` is the ETag of what it
    changes, and `headers` are further ones."""

    method: str
    url: str
    body: bytes | None = None
    content_type: str = ""
    key: str | None = None
    if_match: str | None = None
    headers: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"<{self.method} {self.url}>"  # without the key


class Reply(NamedTuple):
    """A response. Header names are lower-case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"<response with status {self.status}>"  # without the body, which may hold a key

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

Download = Callable[[Asked, Callable[[bytes], None]], Reply]
"""Sends one request. Passes the body of a CSV file to the function piece by piece, and returns the response without it.

Raises `Unreachable` if no response arrives or if the file is incomplete."""


def text_of(document: Mapping[str, Any], name: str) -> str:
    """The value of a field if it is a string, or an empty string."""
    value = document.get(name)
    return value if isinstance(value, str) else ""


def message_of(document: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The message of an error body without the problems of its fields, and these, such as `name: is required`.

    Problems that the message already names are left out.
    """
    message, fields = text_of(document, "message"), document.get("fields")
    listed = [each for each in fields if isinstance(each, dict)] if isinstance(fields, list) else []
    pairs = [(text_of(each, "name"), text_of(each, "message")) for each in listed]
    problems = [f"{name}: {words}" for name, words in pairs]
    if problems and f": {problems[0]}" in message:
        return message.partition(f": {problems[0]}")[0], problems
    return message, [problem for problem, (_, words) in zip(problems, pairs, strict=True) if words not in message]


class Client(NamedTuple):
    """Sends requests to the service at `base`, authenticated by `key` if it has one.

    `is_default`: the service was chosen by no option, variable or login.
    """

    base: str
    send: Send
    download: Download
    key: str | None = None
    is_default: bool = False

    def __repr__(self) -> str:
        return f"<client of {self.base}>"  # without the key

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int | None] | None = None,
        body: object = None,
        if_match: str | None = None,
    ) -> Reply:
        """Send one request with the key and return a successful response. Raises `Refused` or `Unreachable`."""
        sent = None if body is None else json.dumps(body).encode()
        asked = Asked(method, self._url(path, query or {}), sent, JSON if sent else "", self.key, if_match)
        return self.accepted(self._arrived(lambda: self.send(asked)))

    def fetch(self, path: str, query: Mapping[str, str | int | None], write: Callable[[bytes], None]) -> None:
        """Pass a CSV file to `write`, piece by piece. Raises `Refused` or `Unreachable`."""
        asked = Asked("GET", self._url(path, {**query, "format": "csv"}), key=self.key)
        reply = self.accepted(self._arrived(lambda: self.download(asked, write)))
        if not reply.is_spreadsheet:
            raise Unreachable(f"{self.base} returned a response that is not a CSV file")

    def _url(self, path: str, query: Mapping[str, str | int | None]) -> str:
        given = {name: value for name, value in query.items() if value is not None}
        return f"{self.base}{path}{'?' if given else ''}{urlencode(given)}"

    def post_form(self, path: str, fields: Mapping[str, str]) -> Reply:
        """Send one form without the key and return any response. Raises `Unreachable`."""
        asked = Asked("POST", f"{self.base}{path}", urlencode(fields).encode(), FORM)
        return self._arrived(lambda: self.send(asked))

    def _arrived(self, request: Callable[[], Reply]) -> Reply:
        try:
            return request()
        except Unreachable as error:
            raise self._lost(str(error)) from None

    def _lost(self, words: str) -> Unreachable:
        """The error. It says how to choose a service if none was chosen."""
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
        message, problems = message_of(reply.document)
        raise Refused(self.words_of(reply, message), reply.error, code, details=problems, body=reply.body)

    def words_of(self, reply: Reply, message: str) -> str:
        """The message of a refusal, its code, and what to do."""
        words = message or f"The service returned status {reply.status}."
        hint = text_of(reply.document, "hint")
        helps = [reply.error]
        if reply.wait_seconds is not None and f"{reply.wait_seconds} s" not in words:
            helps.append(f"try again in {reply.wait_seconds} s")
        if reply.status == 401:
            helps.append("run catalogctl login to get a key")
        elif reply.status == 429 and self.key is None:
            helps.append("run catalogctl login for higher limits")
        elif hint:
            helps.append(f"see {self.base}{hint}" if hint.startswith("/") else f"see {hint}")
        return f"{words} ({'; '.join(helps)})"


# Addresses of services and pages.


def base_of(text: str) -> str:
    """The normal form of a service's address: `https://host[:port][/path]`, lower-case, without a default port.

    Raises `Misused`.
    """
    parts = _split(text)
    if parts is None or parts.scheme not in PORTS or not parts.hostname:
        raise Misused(f"{text!r} is not the address of a service; use one such as {DEFAULT_URL}")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise Misused("the address of a service cannot have a user, query or fragment")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def is_in_clear(base: str) -> bool:
    """Whether requests can be read on the network: plain HTTP to another machine."""
    parts = urlsplit(base)
    host = parts.hostname or ""
    return parts.scheme == "http" and host != "localhost" and not _is_loopback(host)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_page(text: str) -> bool:
    """Whether it can be opened in a browser."""
    parts = _split(text)
    return parts is not None and parts.scheme in PORTS and bool(parts.hostname)


def _split(text: str) -> SplitResult | None:
    """The parts of an address, or None if it is not an address in visible ASCII."""
    if len(text) > LONGEST or not text.isascii() or any(not "!" <= letter <= "~" for letter in text):
        return None
    try:
        parts = urlsplit(text)
        return parts if parts.port is None or parts.port else None
    except ValueError:
        return None
