"""Responses and requests do not depend on how the network splits the bytes."""

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.http.corpus import BODIES, FOLLOWING, HEADS, TAKEN
from tests.http.memory_server import Recorder, Reply, open_memory_server
from tests.http.test_framing import cut

CASES = [case for case in (*HEADS, *BODIES, *TAKEN) if len(case.data) < 3_000]


async def conversation(pieces: list[bytes]) -> tuple[list[Reply], list[str], list[bytes]]:
    app = Recorder()
    async with open_memory_server(app) as server:
        client = server.connect()
        for piece in pieces:
            try:
                await client.send(piece)
            except trio.BrokenResourceError:
                break
            await wait_all_tasks_blocked()
        await client.stream.send_eof()
        answers = await client.replies()
    return [_comparable(each) for each in answers], app.seen, app.bodies


def _comparable(reply: Reply) -> Reply:
    headers = tuple(pair for pair in reply.headers if pair[0] not in ("x-request-id", "date", "content-length"))
    return Reply(reply.status, headers, b"" if reply.status >= 400 else reply.body, reply.whole)


def run(pieces: list[bytes]) -> tuple[list[Reply], list[str], list[bytes]]:
    return trio.run(conversation, pieces, clock=MockClock(autojump_threshold=0))


@settings(max_examples=150, deadline=None)
@given(
    cases=st.lists(st.sampled_from(CASES), min_size=1, max_size=3),
    places=st.lists(st.integers(0, 100_000), min_size=1, max_size=6),
)
def test_answers_do_not_depend_on_how_the_bytes_are_cut(cases: list[object], places: list[int]) -> None:
    data = b"".join(case.data for case in cases) + FOLLOWING  # type: ignore[attr-defined]
    assert run(cut(data, places)) == run([data])


def test_a_request_may_come_byte_by_byte() -> None:
    for case in (TAKEN[0], next(case for case in TAKEN if case.what == "trailers")):
        data = case.data + FOLLOWING
        assert run([data[place : place + 1] for place in range(len(data))]) == run([data])
