"""A proxy between the pool and Postgres that can delay, hold or cut traffic, like a bad network."""

import math
import os
import re
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import NoReturn

import trio

from storage.connection.target import Target

SLOW_SECONDS = 0.05
COMMIT = b"Q\x00\x00\x00\x0bcommit\x00"
PARSE = re.compile(rb"P.{4}(__asyncpg_\w+__)\x00(.*?)\x00", re.DOTALL)
BIND = re.compile(rb"B.{4}\x00(__asyncpg_\w+__)\x00", re.DOTALL)
ITS_OWN_TRANSACTION = (b"select record_new_events(", b"select record_event_batch(")
"""Parts of `record_new` and `record` of events, which are transactions of their own: their execution is their commit."""


class Weather(Enum):
    """The effect of the proxy on traffic."""

    FAIR = "fair"
    SLOW = "everything is delayed"
    HELD = "nothing passes until the weather changes"
    SILENT = "nothing passes, without an error"
    SILENT_AT_LISTEN = "a LISTEN never arrives, without an error"
    CUT_BEFORE_COMMIT = "the connection breaks before a commit reaches the server"
    CUT_AFTER_COMMIT = "the connection breaks before the answer to a commit reaches the client"


@dataclass(eq=False, slots=True)
class Line:
    """One proxied connection, and whether a commit is in flight on it."""

    client: trio.SocketStream
    server: trio.SocketStream
    committing: bool = False
    silent: bool = False
    """Whether something was swallowed. Neither side learns from the other any more that it is gone."""
    _transactions: set[bytes] = field(default_factory=set)

    def commits(self, sent: bytes) -> bool:
        """Whether the bytes sent by the client contain a commit."""
        for name, text in PARSE.findall(sent):
            if any(each in text for each in ITS_OWN_TRANSACTION):
                self._transactions.add(name)
        return COMMIT in sent or not self._transactions.isdisjoint(BIND.findall(sent))


class Proxy:
    """Carries connections to a Postgres behind it. `weather` applies to all of them."""

    def __init__(self, target: Target, behind: str) -> None:
        self.target = target
        self._weather = Weather.FAIR
        self._changed = trio.Event()
        self.behind = behind
        self._carried: list[Line] = []
        self.silence_seconds = math.inf
        """The time after which the server's end of a silent connection is closed, as `tcp_user_timeout` does over TCP."""
        self.bitten = 0
        """How often the weather has held back data or cut a connection."""

    @property
    def weather(self) -> Weather:
        return self._weather

    @weather.setter
    def weather(self, weather: Weather) -> None:
        self._weather = weather
        self._changed.set()
        self._changed = trio.Event()

    async def carry(self, client: trio.SocketStream) -> None:
        try:
            server = await trio.open_unix_socket(self.behind)
        except OSError:
            # No server is behind the proxy at the moment.
            client.socket.close()
            return
        line = Line(client, server)
        self._carried.append(line)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._copy, line, client, server, nursery)
                nursery.start_soon(self._copy, line, server, client, nursery)
        finally:
            self._carried.remove(line)
            for stream in (client, server):
                stream.socket.close()

    async def _copy(
        self, line: Line, source: trio.SocketStream, sink: trio.SocketStream, nursery: trio.Nursery
    ) -> None:
        try:
            while data := bytes(await source.receive_some(65_536)):
                answers = source is line.server
                commits = not answers and line.commits(data)
                self.bitten += self._bites(line, answers=answers, commits=commits)
                if self.weather is Weather.SILENT:
                    await self._fall_silent(line)
                if self.weather is Weather.SLOW:
                    await trio.sleep(SLOW_SECONDS)
                while self.weather is Weather.HELD:
                    await self._changed.wait()
                if self.weather is Weather.SILENT_AT_LISTEN and b"LISTEN" in data:
                    await trio.sleep_forever()
                if self.weather is Weather.CUT_BEFORE_COMMIT and commits:
                    break
                if self.weather is Weather.CUT_AFTER_COMMIT and answers and line.committing:
                    break
                # A batch arrives in several pieces. Any answer of the server ends it.
                line.committing = not answers and (commits or line.committing)
                await sink.send_all(data)
            if line.silent:
                await trio.sleep_forever()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        nursery.cancel_scope.cancel()

    async def _fall_silent(self, line: Line) -> NoReturn:
        line.silent = True
        await trio.sleep(self.silence_seconds)
        with suppress(OSError):
            line.server.socket.shutdown(socket.SHUT_RDWR)
        await trio.sleep_forever()

    def _bites(self, line: Line, *, answers: bool, commits: bool) -> bool:
        """Whether the weather affects the current piece."""
        match self.weather:
            case Weather.FAIR | Weather.SILENT_AT_LISTEN:
                return False
            case Weather.CUT_BEFORE_COMMIT:
                return commits
            case Weather.CUT_AFTER_COMMIT:
                return answers and line.committing
            case Weather.SLOW | Weather.HELD | Weather.SILENT:
                return True

    async def cut_all(self) -> None:
        """Break every open connection."""
        self.bitten += len(self._carried)
        for line in list(self._carried):
            for stream in (line.client, line.server):
                await trio.aclose_forcefully(stream)


@asynccontextmanager
async def proxied(target: Target) -> AsyncIterator[Proxy]:
    """A proxy in front of `target`, which must be the embedded Postgres."""
    assert target.host is not None
    with tempfile.TemporaryDirectory(prefix="proxy-") as directory:
        path = str(Path(directory) / ".s.PGSQL.5432")
        listening = trio.socket.socket(trio.socket.AF_UNIX)
        await listening.bind(path)
        # A service that gives up root may still connect.
        os.chmod(directory, 0o711)
        os.chmod(path, 0o777)
        listening.listen(20)
        proxy = Proxy(replace(target, host=directory), f"{target.host}/.s.PGSQL.5432")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, proxy.carry, [trio.SocketListener(listening)])
            yield proxy
            nursery.cancel_scope.cancel()
