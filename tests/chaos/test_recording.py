"""Each client writes what it asked and was answered into the history, before it goes on."""

from pathlib import Path

import pytest
import trio

from tests.chaos.caller import Caller
from tests.chaos.history import Answers
from tests.chaos.recording import Recording, judged
from tests.judge.lines import read_history, write_history
from tests.judge.recording import Recorder
from tests.judge.records import VERSION, Header, Operation
from tests.judge.small import event, history

ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n{"recorded":true}'
EVENT = {"bookingId": "bok_1", "kind": "click", "visitorId": "3f2a8c1e-5b7d-4e90-a1c6-0d9e8f7b6a54"}


async def answer_once(stream: trio.SocketStream) -> None:
    """Answer the first request of a connection, and never the second."""
    await stream.receive_some(65_536)
    await stream.send_all(ANSWER)
    await trio.sleep_forever()


async def test_a_client_writes_a_request_before_it_has_the_answer_and_also_if_it_is_stopped_before(
    tmp_path: Path,
) -> None:
    path = tmp_path / "history.jsonl"

    def written() -> list[Operation]:
        with path.open("rb") as stream:
            return list(read_history(stream).operations)

    with path.open("wb") as stream:
        answers = Answers(Recording(path, Recorder(stream, Header(VERSION))))
        async with trio.open_nursery() as nursery:
            [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
            nursery.start_soon(trio.serve_listeners, answer_once, [listener])
            place = f"127.0.0.1:{listener.socket.getsockname()[1]}"
            client = Caller({0: f"http://{place}"}, answers)
            await client.ask("report", "/api/v1/sponsors/events", EVENT)
            [first] = written()
            assert (first.client, first.node, first.kind) == ("-1", place, "recordEvent")
            assert first.said.outcomes == ("recorded",)
            assert first.began < first.ended
            with trio.CancelScope() as scope:
                scope.cancel()
                await client.ask("report", "/api/v1/sponsors/events", EVENT)
            assert written()[1].answer is None
            assert written()[1].asked == first.asked
            client.close()
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize("broken", [False, True])
def test_a_run_tells_what_its_history_breaks_and_how_to_judge_it_again(tmp_path: Path, broken: bool) -> None:
    path, run = tmp_path / "run.jsonl", history([event(1, "v"), event(2, "v" if broken else "w")])
    with path.open("wb") as stream:
        write_history(stream, run.header, run.operations)
    found, told = judged(path)
    assert len(found) == broken
    assert all(each.startswith("an event is recorded once a day: ") for each in found)
    assert told[-1] == f"to judge it again: python -m tests.judge {path}"
