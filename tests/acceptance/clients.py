"""Bare HTTP clients: they show exactly what came over the wire, and can break the rules when a test needs it."""

# ruff: noqa: ASYNC110 - a condition in another process sets no event

import json
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import trio

ANSWER_SECONDS = 20.0


class Unanswered(Exception):
    """The connection ended before the first byte of a response."""


class Torn(Exception):
    """The connection ended in the middle of a response."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One complete response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The error code of a refusal, or '' for a success."""
        return str(self.json()["error"]) if self.status >= 400 else ""


class Wire:
    """One keep-alive connection. The test closes it."""

    def __init__(self, stream: trio.SocketStream, host: str) -> None:
        self._stream = stream
        self._host = host
        self._rest = b""

    @classmethod
    async def open(cls, url: str, *, receive_bytes: int | None = None) -> "Wire":
        """Connect. A small `receive_bytes` limits how much the kernel buffers before the client reads."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        plain = trio.socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_bytes is not None:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        try:
            await plain.connect((parts.hostname, parts.port))
        except BaseException:
            plain.close()
            raise
        return cls(trio.SocketStream(plain), f"{parts.hostname}:{parts.port}")

    async def get(self, path: str, key: str | None = None) -> Reply:
        """Send a request and read the complete response. Raises `Unanswered` or `Torn`."""
        with trio.fail_after(ANSWER_SECONDS):
            await self.send(path, key)
            return await self.read()

    async def post(self, path: str, body: object, key: str | None = None) -> Reply:
        """Send JSON and read the complete response. Raises `Unanswered` or `Torn`."""
        with trio.fail_after(ANSWER_SECONDS):
            await self.send(path, key, method="POST", body=json.dumps(body).encode())
            return await self.read()

    async def send(
        self,
        path: str,
        key: str | None = None,
        *,
        method: str = "GET",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        head = f"{method} {path} HTTP/1.1\r\nhost: {self._host}\r\n"
        head += f"authorization: Bearer {key}\r\n" if key else ""
        head += "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        head += f"content-length: {len(body)}\r\n" if body else ""
        head += "content-type: application/json\r\n" if body and "content-type" not in (headers or {}) else ""
        try:
            await self._stream.send_all(f"{head}\r\n".encode() + body)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise Unanswered from None

    async def read(self) -> Reply:
        head, self._rest = await self._until(b"\r\n\r\n")
        status_line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers["content-length"])
        while len(self._rest) < length:
            self._rest += await self._more(started=True)
        body, self._rest = self._rest[:length], self._rest[length:]
        return Reply(int(status_line.split(" ")[1]), headers, body)

    async def until_closed(self) -> None:
        """Wait until the server ends the connection."""
        while await self._receive():
            pass

    async def _until(self, mark: bytes) -> tuple[bytes, bytes]:
        data = self._rest
        while mark not in data:
            data += await self._more(started=bool(data))
        head, _, rest = data.partition(mark)
        return head, rest

    async def _more(self, *, started: bool) -> bytes:
        data = await self._receive()
        if not data:
            raise Torn if started else Unanswered
        return data

    async def _receive(self) -> bytes:
        try:
            return bytes(await self._stream.receive_some(65_536))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""

    def close(self) -> None:
        self._stream.socket.close()


async def once(url: str, path: str, key: str | None = None) -> Reply:
    """One request on its own connection."""
    wire = await Wire.open(url)
    try:
        return await wire.get(path, key)
    finally:
        wire.close()


async def until_answer(url: str, path: str, status: int, key: str | None = None, *, seconds: float) -> Reply:
    """Repeat a request until the response has this status. Fails after `seconds`."""
    with trio.fail_after(seconds):
        while (reply := await once(url, path, key)).status != status:
            await trio.sleep(0.02)
    return reply


@dataclass(slots=True)
class Tally:
    """Results of a load. `lost` counts requests whose connection ended before their response did."""

    outcomes: Counter[str] = field(default_factory=Counter)
    torn: int = 0
    lost: int = 0
    replies: list[Reply] = field(default_factory=list)
    """The refusals themselves."""

    @property
    def yes(self) -> int:
        return self.outcomes["200"]

    @property
    def answered(self) -> int:
        return self.outcomes.total()

    def note(self, reply: Reply) -> None:
        self.outcomes[f"{reply.status} {reply.error}".strip()] += 1
        if reply.status >= 400 and len(self.replies) < 1_000:
            self.replies.append(reply)


@dataclass(slots=True)
class Crowd:
    """Clients that repeat one request, each over its own connection, one request at a time.

    They end after `requests` in total, or when `stop` is set. Until then a lost connection is opened again.
    """

    url: str
    path: str
    key: str | None = None
    requests: int | None = None
    stop: trio.Event = field(default_factory=trio.Event)
    tally: Tally = field(default_factory=Tally)
    on_answer: Callable[[Tally], None] = lambda tally: None
    pause_seconds: float = 0.0
    """The pause of each client after an answer, so that a long load leaves the cores to others."""
    sent: int = 0

    async def run(self, connections: int) -> Tally:
        async with trio.open_nursery() as nursery:
            for _ in range(connections):
                nursery.start_soon(self._client)
        return self.tally

    def _takes_one(self) -> bool:
        if self.stop.is_set() or self.sent == self.requests:
            return False
        self.sent += 1
        return True

    async def _client(self) -> None:
        wire: Wire | None = None
        try:
            while wire := wire or await self._connected():
                if not self._takes_one():
                    return
                wire = await self._one(wire)
                await trio.sleep(self.pause_seconds)
        finally:
            if wire is not None:
                wire.close()

    async def _one(self, wire: Wire) -> Wire | None:
        """Send one request. Returns the connection if it can be used again, otherwise None."""
        try:
            reply = await wire.get(self.path, self.key)
        except (Unanswered, Torn) as error:
            self.tally.lost += 1
            self.tally.torn += isinstance(error, Torn)
            wire.close()
            return None
        self.tally.note(reply)
        self.on_answer(self.tally)
        if reply.headers.get("connection", "").lower() == "close":
            wire.close()
            return None
        return wire

    async def _connected(self) -> Wire | None:
        with trio.fail_after(30):
            while not self.stop.is_set() and self.sent != self.requests:
                try:
                    return await Wire.open(self.url)
                except OSError:
                    await trio.sleep(0.02)
        return None
