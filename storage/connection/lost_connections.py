"""Finds connections that wait for an answer of which their server knows nothing, and ends the transactions that they leave.

A network may drop what was sent without an error to either side, for example if something between the two has forgotten
their connection. The server ends a statement that is slow, but not one that it never got, or that it has answered. Without
this, only the bound of the whole transaction would end such a wait.
"""

import socket
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import trio

from actors.kernel.periodic import shared_pause
from storage.connection.asyncio_border import cross

SUSPECT_SECONDS = 0.75
"""The time of a transaction after which the server is asked about it."""

REST_SECONDS = 1.0
"""The time between two looks while no connection is in use. A transaction that begins meanwhile is looked at as soon as one
that began when another was in use: after `SUSPECT_SECONDS` and `LOOK_SECONDS` at the latest."""

LOOK_SECONDS = 0.25
"""The time between two such questions. A connection is lost if both get the same answer."""

IDLE = """select pid, state_change::text as since from unnest($1::int[]) as asked (pid) left join pg_stat_activity using (pid)
where datname is null or state like 'idle%'"""
"""The processes that wait for their client, and since when, and those that do not exist."""

END = """select pg_terminate_backend(pid) from unnest($1::int[], $2::text[]) as lost (pid, since)
join pg_stat_activity using (pid) where state like 'idle in transaction%' and state_change::text = lost.since"""
"""End those of them that still wait within a transaction. Until `statement_seconds` are over, its locks would make others
wait, among them the transaction that repeats it."""

PROBE_SECONDS = 1.0
"""The time limit of such a question, and of the connection that asks it."""


class LostConnections:
    """The connections of a pool that are in use. `connect` opens one more, to ask about them: those of the pool may all be
    lost. It raises `StorageUnavailable`."""

    def __init__(self, connect: Callable[[], Awaitable[Any]], give_up: Callable[[Any], None]) -> None:
        self._connect = connect
        self._give_up = give_up
        self._used: dict[Any, float] = {}
        self._idle: Mapping[int, str | None] = {}
        self._asking: Any = None
        self.found = 0

    @contextmanager
    def using(self, connection: Any) -> Iterator[None]:
        self._used[connection] = trio.current_time()
        try:
            yield
        finally:
            del self._used[connection]

    async def watch(self) -> None:
        """Give up connections that are lost, until cancelled."""
        try:
            while True:
                await trio.sleep(shared_pause(LOOK_SECONDS if self._used else REST_SECONDS))
                await self._look()
        finally:
            self._hang_up()

    async def _look(self) -> None:
        due = trio.current_time() - SUSPECT_SECONDS
        suspects = {each: since for each, since in self._used.items() if since <= due}
        if not suspects:
            self._hang_up()
            return
        try:
            rows = await self._ask(IDLE, [each.backend for each in suspects])
        except Exception:  # the bound of each transaction holds without an answer, and its error has the reason
            self._hang_up()
            return
        before, self._idle = self._idle, {row["pid"]: row["since"] for row in rows}
        same = {pid for pid, since in self._idle.items() if pid in before and before[pid] == since}
        lost = []
        for connection, since in suspects.items():
            is_used_still = self._used.get(connection) == since
            if connection.backend in same and is_used_still and silent_seconds(connection) > LOOK_SECONDS:
                self.found += 1
                self._give_up(connection)
                lost.append(connection.backend)
        if lost:
            try:
                await self._ask(END, lost, [self._idle[each] for each in lost])
            except Exception:  # the server ends an idle transaction after `statement_seconds`
                self._hang_up()

    async def _ask(self, statement: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        if self._asking is None:
            self._asking = await self._connect()
        asking = self._asking
        rows: Sequence[Mapping[str, Any]] = await cross(
            lambda: asking.fetch(statement, *values), PROBE_SECONDS, asking.terminate
        )
        return rows

    def _hang_up(self) -> None:
        self._idle = {}
        if self._asking is not None:
            self._asking.terminate()
            self._asking = None


def silent_seconds(connection: Any) -> float:
    """Seconds since anything arrived over TCP: an answer that is on its way over a slow link is not lost. As good as infinite
    where the system does not say it."""
    own = connection._transport.get_extra_info("socket")
    if own is None or own.family not in (socket.AF_INET, socket.AF_INET6) or not hasattr(socket, "TCP_INFO"):
        return float("inf")
    return float(struct.unpack_from("I", own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 64), 52)[0]) / 1_000
