"""The service's HTTP engine with a constant response: the ceiling of every response. `python -m bench.peers.constant`

It reads the body of each request and sends the response to a recorded event.
"""

import gc
import os
import signal
import sys

import trio

from actors.clock import SystemClock
from service.config.loading import load
from service.http.asgi import Receive, Scope, Send
from service.http.listen_address import ListenAddress
from service.http.listeners import open_listeners
from service.running.limits import serving_limits
from service.web.error_responses import handlers

BODY = b'{"recorded":true}'
HEADERS = [
    (b"content-type", b"application/json"),
    (b"content-length", b"%d" % len(BODY)),
    (b"cache-control", b"no-store"),
]


async def constant(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY, "more_body": False})


async def run() -> None:
    stop = trio.Event()
    async with (
        open_listeners(
            [ListenAddress("127.0.0.1", 0)], serving_limits(load(None, os.environ)), SystemClock()
        ) as server,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(_set_when_told, stop)
        gc.freeze()
        await server.serve(handlers(constant), stop=stop, ready=lambda: _say(server.url))


async def _set_when_told(stop: trio.Event) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            stop.set()
            return


def _say(url: str) -> None:
    sys.stdout.write(f"listening on {url}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    trio.run(run)
