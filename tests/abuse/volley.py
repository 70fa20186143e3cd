"""Sends mutations to a node. Each must lead to responses with known statuses, or to the end of the connection."""

import math
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import trio

from tests.abuse.answers import Answers, Malformed, read_answers
from tests.abuse.ground import RESET
from tests.abuse.mutator import Manner, Mutation, mutation

AT_ONCE = 48
PATIENCE_SECONDS = 0.1
"""Seconds for the first response on an open connection, before the client closes its side."""
DEADLINE_SECONDS = 5.0
"""Seconds for a mutation in total, until its response or the end of its connection."""
MAX_CONFIRMED = 3
"""Late mutations that are late again when they are sent alone. After so many, others are faults without that."""
STATUSES = frozenset(
    {
        100,
        200,
        202,
        204,
        304,
        307,
        308,
        400,
        401,
        403,
        404,
        405,
        408,
        409,
        411,
        413,
        414,
        415,
        417,
        421,
        422,
        426,
        429,
        431,
    }
    | {501, 503, 505}
)


class Faulty(Exception):
    """A mutation had a wrong outcome, which the message describes."""


class Late(Faulty):
    """A mutation had no outcome in time. On a busy machine that says nothing, unless it is late alone, too."""


@dataclass(slots=True)
class Tally:
    """The outcomes of the mutations."""

    statuses: Counter[int] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        statuses = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        outcomes = ", ".join(f"{what}: {count}" for what, count in sorted(self.outcomes.items()))
        return f"{outcomes}; statuses {statuses}"


@dataclass(slots=True)
class Connection:
    """One connection, the numbers of its mutations, and whether one of them may have been a HEAD request."""

    stream: trio.SocketStream
    carried: list[int] = field(default_factory=list)
    head: bool = False

    @classmethod
    async def open(cls, host: str, port: int) -> "Connection":
        plain = trio.socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        try:
            await plain.connect((host, port))
        except BaseException:
            plain.close()
            raise
        return cls(trio.SocketStream(plain))

    def close(self) -> None:
        self.stream.socket.close()


class Volley:
    """Sends mutations of one seed to one node, several at once. Raises OSError if the node is unreachable."""

    def __init__(self, host: str, port: int, seed: int, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._host, self._port, self._seed = host, port, seed
        self._deadline_seconds = deadline_seconds
        self.tally = Tally()
        self._late: list[tuple[list[int], Late]] = []

    async def send(self, numbers: Iterable[int]) -> Tally:
        waiting = iter(numbers)
        async with trio.open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(self._client, waiting)
        await self._repeat_late()
        return self.tally

    async def _repeat_late(self) -> None:
        """Send each late mutation again, alone, after those that were on its connection before."""
        late, self._late = self._late, []
        for carried, fault in late:
            if len(self._late) < MAX_CONFIRMED:
                self.tally.outcomes["repeated alone"] += 1
                await self._client(iter(carried))
            else:
                self._late.append((carried, fault))
        for carried, fault in self._late:
            self._note(carried, fault)

    def _note(self, carried: list[int], fault: Faulty) -> None:
        before = f", after {carried[:-1]} on the same connection" if carried[1:] else ""
        self.tally.faults.append(f"{self._seed}:{carried[-1]}{before}: {fault}")

    async def _client(self, numbers: Iterator[int]) -> None:
        connection: Connection | None = None
        for number in numbers:
            one = mutation(self._seed, number)
            connection = connection or await Connection.open(self._host, self._port)
            connection.carried.append(number)
            connection.head |= b"HEAD" in one.data
            try:
                still_open = await self._one(one, connection)
            except Late as fault:
                still_open = False
                self._late.append((connection.carried, fault))
            except Faulty as fault:
                still_open = False
                self._note(connection.carried, fault)
            if not still_open:
                connection.close()
                connection = None
        if connection is not None:
            connection.close()

    async def _one(self, one: Mutation, connection: Connection) -> bool:
        """Send a mutation and check the responses. Returns whether the connection can carry another. Raises `Faulty`."""
        with trio.move_on_after(self._deadline_seconds) as bound:
            if not await _sent(one, connection.stream):
                self.tally.outcomes["closed meanwhile"] += 1
                return False
            if one.manner is Manner.DROPPED:
                self.tally.outcomes["dropped"] += 1
                return False
            data, ended = await _received(one, connection.stream)
            answers = _judged(data, head=connection.head)
            self.tally.statuses.update(answers.statuses)
            self.tally.outcomes[f"{'closed' if ended else 'open'}, {'answered' if answers.statuses else 'silent'}"] += 1
            return not ended and not answers.closing
        assert bound.cancelled_caught
        raise Late(f"{one.manner}: neither an answer nor an end within {self._deadline_seconds:g} s")


async def _sent(one: Mutation, stream: trio.SocketStream) -> bool:
    """Whether all of it could be sent. The node may have closed, also because of an earlier mutation."""
    size = len(one.data) if one.manner is not Manner.PIECES else max(1, math.ceil(len(one.data) / 8))
    try:
        for at in range(0, len(one.data), size or 1):
            await stream.send_all(one.data[at : at + size])
            await trio.lowlevel.checkpoint()
        if one.manner in (Manner.ENDED, Manner.PIECES):
            await stream.send_eof()
    except (trio.BrokenResourceError, OSError):
        return False
    return True


async def _received(one: Mutation, stream: trio.SocketStream) -> tuple[bytes, bool]:
    """The response bytes, and whether the connection has ended. On an open one, returns at the first complete response.

    A reset may discard bytes the client has not read, so a response before a reset never counts as cut off.
    """
    data, ended, patient = b"", False, one.manner is Manner.OPEN
    while not ended:
        with trio.move_on_after(PATIENCE_SECONDS if patient else math.inf) as patience:
            try:
                more = await stream.receive_some(65_536)
            except (trio.BrokenResourceError, OSError):
                return _up_to_the_break(data), True
            data, ended = data + more, not more
        if patience.cancelled_caught:
            patient = False
            try:
                await stream.send_eof()
            except (trio.BrokenResourceError, OSError):
                return _up_to_the_break(data), True
        elif patient and _is_settled(data):
            break
    return data, ended


def _is_settled(data: bytes) -> bool:
    """Whether a response is complete or can never become valid."""
    try:
        return read_answers(data).settled
    except Malformed:
        return True


def _up_to_the_break(data: bytes) -> bytes:
    """`data` without an incomplete response at its end."""
    end = data.rfind(b"HTTP/1.1 ")
    return data if end < 0 or _is_settled(data) else data[:end]


def _judged(data: bytes, *, head: bool) -> Answers:
    """The responses in `data`. Raises `Faulty` if one is wrong."""
    try:
        answers = read_answers(data)
    except Malformed as error:
        raise Faulty(f"{error}") from None
    odd = [status for status in answers.statuses if status not in STATUSES]
    if odd:
        raise Faulty(f"status {odd}: {data[-500:]!r}")
    if not answers.whole or (answers.bare and not head):
        raise Faulty(f"an answer that breaks off: {data[-200:]!r}")
    return answers
