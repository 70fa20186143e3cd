"""A client that sends requests to one node after another and records their outcomes."""

import json
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar

import trio

from tests.acceptance.clients import Reply, Torn, Unanswered, Wire
from tests.chaos.history import LOST, Answers, Request
from tests.chaos.recording import Sent, now_ms

PATIENCE_SECONDS = 20.0
THINKING_SECONDS = 0.04
"""The longest pause between two requests of one client; the mean is half of it."""

OUR_PAGE = {"sec-fetch-site": "same-origin"}
"""The header of a browser on one of the service's own pages."""


@dataclass(slots=True)
class Caller:
    """One client with one connection at a time, to a random node. Runs until `stop`."""

    name: ClassVar[str] = ""

    nodes: Mapping[int, str]
    """URLs of the nodes."""
    answers: Answers
    chance: random.Random = field(default_factory=random.Random)
    stop: trio.Event = field(default_factory=trio.Event)
    node: int = field(default=0, init=False)
    _wire: Wire | None = field(default=None, init=False)
    _who: str = field(default="", init=False)
    """The name in the history, unlike that of any other client."""

    async def run(self) -> None:
        """Repeat `once` until stopped."""
        try:
            while not self.stop.is_set():
                await self.once()
                await self.think()
        finally:
            self.close()

    async def once(self) -> None:
        """One round of this client."""
        raise NotImplementedError

    async def think(self) -> None:
        await trio.sleep(self.chance.uniform(0, THINKING_SECONDS))

    async def ask(
        self,
        what: str,
        path: str,
        body: object = None,
        *,
        method: str = "",
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply | None:
        """Send one request; None if its answer was lost. Bytes are sent as they are, other bodies as JSON, by POST."""
        wire = await self._connected()
        if wire is None:
            return None
        sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {**({"authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
        method = method or ("GET" if body is None else "POST")
        began, began_ms, reply = trio.current_time(), now_ms(), None
        try:
            with trio.move_on_after(PATIENCE_SECONDS):
                await wire.send(path, method=method, body=sent, headers=fields)
                reply = await wire.read()
        except (Unanswered, Torn):
            pass
        finally:
            # Also of a client that is stopped while it waits: its request may have taken effect.
            self._record(began_ms, Sent(method, path, fields, sent), reply)
        outcome = LOST if reply is None else f"{reply.status} {_error(reply)}".strip()
        self.answers.note(Request(self.name, what, self.node, began, trio.current_time(), outcome))
        if reply is None or reply.headers.get("connection", "").lower() == "close":
            self.close()
        return reply

    def _record(self, began_ms: float, sent: Sent, reply: Reply | None) -> None:
        if self.answers.recording is not None:
            self._who = self._who or self.answers.recording.named(self.name)
            self.answers.recording.note(self._who, self.nodes[self.node], began_ms, sent, reply)

    async def insist(self, what: str, path: str, body: object = None, **more: str | None) -> Reply | None:
        """Repeat a request until its answer is neither lost nor 503. Returns None once `stop` is set."""
        while not self.stop.is_set():
            reply = await self.ask(what, path, body, key=more.get("key"), method=more.get("method") or "")
            if reply is not None and reply.status != 503:
                return reply
            await self.think()
        return None

    async def _connected(self) -> Wire | None:
        while self._wire is None and not self.stop.is_set():
            self.node = self.chance.choice(list(self.nodes))
            with suppress(OSError):
                self._wire = await Wire.open(self.nodes[self.node])
                return self._wire
            await trio.sleep(0.02)
        return self._wire

    def close(self) -> None:
        """End the connection."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None


def _error(reply: Reply) -> str:
    """Return the error code of a JSON error; pages have none."""
    if reply.status < 400:
        return ""
    with suppress(ValueError, KeyError):
        return reply.error
    return "page"
