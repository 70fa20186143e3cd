"""The log and the metrics show the status that was sent, even if the server answered instead of the application."""

import pytest

from service.http.asgi import Receive, Scope, Send
from tests.http.memory_server import Recorder, open_memory_server

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError("a bug")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}X\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    ],
)
async def test_what_the_server_answers_for_the_application_is_what_is_logged_and_counted(
    data: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "service.access")
    async with open_memory_server(Recorder()) as server:
        client = server.connect()
        await client.send(data)
        await client.stream.send_eof()
        [reply] = await client.replies()
    assert [reply.status, *(vars(line)["status"] for line in caplog.records)] == [status, status]
    assert f'status="{status}"'.encode() in server.metrics.page()


async def test_a_failure_of_the_application_is_logged_with_the_status_that_was_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "service.access")
    async with open_memory_server(failing) as server:
        await server.connect().ask(GET)
    assert [vars(line)["status"] for line in caplog.records if line.name == "service.access"] == [500]
