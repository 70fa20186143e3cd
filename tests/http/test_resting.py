"""A server without connections has nothing to do, and the first one gets what it needs."""

from functools import partial

import trio

from service.http.listen_address import ListenAddress
from service.http.listeners import open_listeners
from service.web.error_responses import handlers
from tests.fakes import HandClock
from tests.http.memory_server import LIMITS, NOON_MS, Client, Recorder
from tests.http.test_stopping import GET, port_of


class Moments(trio.abc.Instrument):
    """The moments of virtual time at which a task has run."""

    def __init__(self) -> None:
        self.found: set[float] = set()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.found.add(trio.current_time())


async def test_a_server_without_connections_sleeps_and_the_next_response_has_the_date_of_its_moment() -> None:
    clock, stop, ready = HandClock(NOON_MS), trio.Event(), trio.Event()
    async with (
        open_listeners([ListenAddress("127.0.0.1", 0)], LIMITS, clock) as server,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(partial(server.serve, handlers(Recorder()), stop=stop, ready=ready.set))
        await ready.wait()
        for hour in (13, 14):
            moments = Moments()
            trio.lowlevel.add_instrument(moments)
            await trio.sleep(3_600)
            trio.lowlevel.remove_instrument(moments)
            assert len(moments.found) <= 3, "at the start, once after the last connection, and at the end"
            clock.at_ms += 3_600_000
            client = Client(await trio.open_tcp_stream("127.0.0.1", port_of(server.url)))
            reply = await client.ask(GET)
            assert reply.header("date") == f"Wed, 18 Nov 2026 {hour}:00:00 GMT"
            await client.stream.aclose()
        stop.set()
