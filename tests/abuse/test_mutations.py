"""The mutations and their judge: a campaign that cannot fail proves nothing."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import pytest
import trio

from tests.abuse.answers import Malformed, read_answers
from tests.abuse.mutator import CHANGES, Manner, mutation
from tests.abuse.seeds import SEEDS
from tests.abuse.volley import MAX_CONFIRMED, Tally, Volley

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
GONE = b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

Server = Callable[[trio.SocketStream], Awaitable[None]]


def test_a_number_is_always_the_same_mutation() -> None:
    assert [mutation(1, number) for number in range(200)] == [mutation(1, number) for number in range(200)]
    assert mutation(1, 7) != mutation(2, 7)


def test_every_change_and_every_manner_occur_and_change_something() -> None:
    many = [mutation(1, number) for number in range(500)]
    assert {name for one in many for name in one.changes} == {change.__name__.strip("_") for change in CHANGES}
    assert {one.manner for one in many} == set(Manner)
    assert len({one.data for one in many}) > 450
    assert len(SEEDS) >= 15


@pytest.mark.parametrize(
    ("data", "statuses", "settled"),
    [
        (b"", (), False),
        (OK, (200,), True),
        (OK + CHUNKED + GONE, (200, 200, 404), True),
        (CONTINUE, (100,), False),
        (CONTINUE + OK, (100, 200), True),
        (HEAD, (200,), False),
        (HEAD + OK, (200, 200), False),
        (OK[:-1], (200,), False),
        (CHUNKED[:-3], (200,), False),
        (OK + b"HTTP/1", (200,), False),
    ],
)
def test_answers_are_read_to_the_end_of_what_is_there(data: bytes, statuses: tuple[int, ...], settled: bool) -> None:
    answers = read_answers(data)
    assert (answers.statuses, answers.settled) == (statuses, settled)
    assert answers.closing == data.endswith(GONE)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x00\x12\x04\x00",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        OK + b"more",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxy\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{}\r\n",
    ],
)
def test_what_is_not_an_answer_is_found(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_answers(data)


async def test_a_server_that_refuses_everything_and_closes_has_no_fault() -> None:
    tally = await _volley(partial(_answering, GONE))
    assert not tally.faults
    assert tally.outcomes.total() == 60


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", "status [500]"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", "an answer that breaks off"),
        (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", "an answer that begins with"),
    ],
)
async def test_a_server_that_answers_wrong_is_found(answer: bytes, words: str) -> None:
    tally = await _volley(partial(_answering, answer))
    assert any(words in fault for fault in tally.faults)


async def test_a_server_that_neither_answers_nor_closes_is_found() -> None:
    tally = await _volley(_silent)
    assert any("neither an answer nor an end" in fault for fault in tally.faults)
    assert tally.outcomes["repeated alone"] == MAX_CONFIRMED, "a server that hangs does not hold the campaign up"


async def test_a_server_that_is_late_while_the_machine_is_busy_has_no_fault() -> None:
    busy = 0

    async def serve(stream: trio.SocketStream) -> None:
        nonlocal busy
        busy += 1
        await (_silent(stream) if busy <= 5 else _answering(GONE, stream))

    tally = await _volley(serve)
    assert tally.faults == []
    assert tally.outcomes["repeated alone"] >= 1


async def _volley(serve: Server) -> Tally:
    """Send 60 mutations to a faulty server."""

    async def one(stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError):
            await serve(stream)
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        listeners: list[trio.SocketListener] = await nursery.start(partial(trio.serve_tcp, one, 0, host="127.0.0.1"))
        port = listeners[0].socket.getsockname()[1]
        tally = await Volley("127.0.0.1", port, 1, deadline_seconds=0.3).send(range(60))
        nursery.cancel_scope.cancel()
    return tally


async def _answering(answer: bytes, stream: trio.SocketStream) -> None:
    if await stream.receive_some(200_000):
        await stream.send_all(answer)


async def _silent(stream: trio.SocketStream) -> None:
    while await stream.receive_some(200_000):
        pass
    await trio.sleep_forever()
