"""An ASGI client that drives an application directly and checks the ASGI contract."""

import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import brotli
import trio

from service.http.asgi import App, Message

READER = "203.0.113.7"
"""The default client address."""

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Response:
    """A response. Header names are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]

    def header(self, name: str) -> str | None:
        """The value of a header. Fails if it occurs twice."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} stands {len(values)} times"
        return values[0] if values else None

    @property
    def plain(self) -> bytes:
        """The body without its content coding."""
        match self.header("content-encoding"):
            case None:
                return self.body
            case "br":
                return bytes(brotli.decompress(self.body))
            case "gzip":
                return gzip.decompress(self.body)
            case other:
                raise AssertionError(f"a coding that nobody asked for: {other}")

    @property
    def json(self) -> Any:
        return json.loads(self.plain)

    @property
    def words(self) -> str:
        """The status and the error code, if any: `403 key_expired`."""
        return str(self.status) if self.status < 400 else f"{self.status} {self.json['error']}"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its response, for observers."""

    method: str
    path: str
    response: Response


class Client:
    """Sends requests to `app` and passes each exchange to `observe`."""

    def __init__(self, app: App, observe: Callable[[Exchange], None], host: str = "catalog.test") -> None:
        self.app = app
        self._host = host
        self.observe = observe

    def watched_by(self, observe: Callable[[Exchange], None]) -> "Client":
        """The same client, which passes each exchange to another observer, too."""

        def both(exchange: Exchange) -> None:
            self.observe(exchange)
            observe(exchange)

        return Client(self.app, both, self._host)

    async def get(self, target: str, key: str | None = None, **rest: Any) -> Response:
        return await self.request("GET", target, key, **rest)

    async def post(self, target: str, key: str | None = None, **rest: Any) -> Response:
        return await self.request("POST", target, key, **rest)

    async def request(
        self,
        method: str,
        target: str,
        key: str | None = None,
        *,
        headers: Headers = (),
        json: Any = None,
        body: bytes | Sequence[bytes] = b"",
        address: str | None = READER,
    ) -> Response:
        """Sends one request. `target` is as on the request line. The parts of a `body` are sent separately."""
        pairs = [("host", self._host)]
        if key is not None:
            pairs.append(("authorization", f"Bearer {key}"))
        if json is not None:
            body = _dumped(json)
            pairs.append(("content-type", "application/json"))
        pairs += headers.items() if isinstance(headers, Mapping) else headers
        parts = [body] if isinstance(body, bytes) else list(body)
        path, _, query = target.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"spec_version": "2.3", "version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
            "client": None if address is None else (address, 50_000),
            "server": ("catalog.test", 80),
            "state": {},
            "extensions": {},
        }
        wire = _Wire(parts)
        await self.app(scope, wire.receive, wire.send)
        response = wire.response()
        self.observe(Exchange(method, scope["path"], response))
        return response


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


class _Wire:
    """The server's side of one ASGI connection."""

    def __init__(self, parts: Sequence[bytes]) -> None:
        self._parts = list(parts) or [b""]
        self._start: Message | None = None
        self._body = b""
        self._ended = trio.Event()

    async def receive(self) -> Message:
        if self._parts:
            await trio.lowlevel.checkpoint()
            part = self._parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self._parts)}
        await self._ended.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await trio.lowlevel.checkpoint()
        assert not self._ended.is_set(), f"{message['type']} after the end of the answer"
        match message["type"]:
            case "http.response.start":
                assert self._start is None, "a second start of the answer"
                assert isinstance(message["status"], int)
                for name, value in message["headers"]:
                    assert isinstance(name, bytes), name
                    assert isinstance(value, bytes), value
                    assert name == name.lower(), f"{name!r} is not lower-case"
                    assert not set(value) & set(b"\r\n\0"), f"{name!r} can break the head: {value!r}"
                self._start = message
            case "http.response.body":
                assert self._start is not None, "a body before the start of the answer"
                self._body += message.get("body", b"")
                if not message.get("more_body", False):
                    self._ended.set()
            case other:
                raise AssertionError(f"a message of the kind {other}")

    def response(self) -> Response:
        assert self._start is not None, "no answer"
        assert self._ended.is_set(), "an answer without an end"
        fields = as_sent(self._start["headers"])
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)
        return Response(self._start["status"], headers, self._body)


def as_sent(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers with the length of the body behind the others, where the server writes it."""
    return sorted(headers, key=lambda header: header[0] == b"content-length")
