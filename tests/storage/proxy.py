"""A proxy between the pool and Postgres that can hold or cut what passes: what a network does on a bad day."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from enum import Enum
from pathlib import Path

import trio

from storage.pool import Target

SLOW_SECONDS = 0.05
COMMIT = b"Q\x00\x00\x00\x0bcommit\x00"


class Weather(Enum):
    """What happens to what passes."""

    FAIR = "fair"
    SLOW = "everything takes a while"
    HELD = "nothing passes until the weather changes"
    SILENT = "nothing passes, and nobody says so"
    SILENT_AT_LISTEN = "a LISTEN never arrives, and nobody says so"
    CUT_BEFORE_COMMIT = "the connection breaks when a commit comes by; the server never sees it"
    CUT_AFTER_COMMIT = "the connection breaks when the server answers a commit; the client never sees that"


class Proxy:
    """Carries connections to a Postgres behind it; `weather` holds for all of them."""

    def __init__(self, target: Target, behind: str) -> None:
        self.target = target
        self._weather = Weather.FAIR
        self._changed = trio.Event()
        self._behind = behind
        self._carried: list[tuple[trio.SocketStream, trio.SocketStream]] = []
        self._committing = False

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
            server = await trio.open_unix_socket(self._behind)
        except OSError:
            # Nobody is behind us at the moment.
            client.socket.close()
            return
        self._carried.append((client, server))
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._copy, client, server, nursery)
                nursery.start_soon(self._copy, server, client, nursery)
        finally:
            if (client, server) in self._carried:
                self._carried.remove((client, server))
            for stream in (client, server):
                stream.socket.close()

    async def _copy(self, source: trio.SocketStream, sink: trio.SocketStream, nursery: trio.Nursery) -> None:
        try:
            while data := await source.receive_some(65_536):
                if self.weather is Weather.SILENT:
                    await trio.sleep_forever()
                if self.weather is Weather.SLOW:
                    await trio.sleep(SLOW_SECONDS)
                while self.weather is Weather.HELD:
                    await self._changed.wait()
                if self.weather is Weather.SILENT_AT_LISTEN and b"LISTEN" in bytes(data):
                    await trio.sleep_forever()
                if self.weather is Weather.CUT_BEFORE_COMMIT and COMMIT in bytes(data):
                    break
                if self.weather is Weather.CUT_AFTER_COMMIT and self._committing:
                    break
                self._committing = COMMIT in bytes(data)
                await sink.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        nursery.cancel_scope.cancel()

    async def cut_all(self) -> None:
        """Break every connection that is open now."""
        for pair in list(self._carried):
            for stream in pair:
                await trio.aclose_forcefully(stream)


@asynccontextmanager
async def proxied(target: Target) -> AsyncIterator[Proxy]:
    """A proxy before `target`, which has to be the embedded Postgres."""
    assert target.host is not None
    with tempfile.TemporaryDirectory(prefix="proxy-") as directory:
        path = str(Path(directory) / ".s.PGSQL.5432")
        socket = trio.socket.socket(trio.socket.AF_UNIX)
        await socket.bind(path)
        socket.listen(20)
        proxy = Proxy(replace(target, host=directory), f"{target.host}/.s.PGSQL.5432")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, proxy.carry, [trio.SocketListener(socket)])
            yield proxy
            nursery.cancel_scope.cancel()
