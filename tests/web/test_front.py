"""The application that is made for the first request for it."""

import threading

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from service.http.asgi import App, Message, Receive, Scope, Send
from service.web.front import OnDemand


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": scope["type"]})


async def sent_by(made: OnDemand, sent: list[Message]) -> None:
    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    await made({"type": "http"}, receive, send)


async def test_a_thread_makes_it_once_for_many_first_requests_and_the_loop_goes_on() -> None:
    made_in: list[str] = []
    loop_went_on = threading.Event()

    def make() -> App:
        made_in.append(threading.current_thread().name)
        assert loop_went_on.wait(10)
        return app

    sent: list[Message] = []
    later = OnDemand(make)
    assert made_in == []
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(sent_by, later, sent)
        await wait_all_tasks_blocked()
        loop_went_on.set()
    assert sent == [{"type": "http"}] * 3
    assert len(made_in) == 1
    assert made_in != [threading.main_thread().name]


async def test_it_is_made_by_the_next_request_if_the_first_failed() -> None:
    outcomes = [app, None]

    def make() -> App:
        if (made := outcomes.pop()) is None:
            raise ImportError("a file is missing")
        return made

    later, sent = OnDemand(make), list[Message]()
    with pytest.raises(ImportError, match="a file is missing"):
        await sent_by(later, sent)
    await sent_by(later, sent)
    assert sent == [{"type": "http"}]
