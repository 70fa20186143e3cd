"""An export of a million rows of Postgres over a real connection: memory stays bounded, and no transaction is long."""

import resource
from functools import partial

import trio

from actors.clock import SystemClock
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call
from service.api.spreadsheets import Spreadsheet
from service.http.listen_address import ListenAddress
from service.http.listeners import open_listeners
from service.web.error_responses import handlers
from storage.connection.pool import Database
from tests.api.test_spreadsheets import GET, exporting
from tests.api.world import open_world
from tests.http.memory_server import LIMITS
from tests.slow import repeats

ROWS = 1_000_000
MOST_KIB = 16 * 1024
"""The most that the process may grow while it sends 60 times as much."""

PAGE = "select number, repeat('word ', 10) as words from generate_series($1::bigint, $2::bigint) as number"


@repeats("tests/api/test_spreadsheets.py exports some thousand rows")
async def test_a_million_rows_leave_in_bounded_memory(database: Database) -> None:
    class Export:
        async def fetch(self, after: int | None, limit: int) -> list[tuple[int, str]]:
            first = (after or 0) + 1
            rows = await database.fetch(PAGE, first, min(first + limit - 1, ROWS))
            return [(row["number"], row["words"]) for row in rows]

        async def export(self, services: Services, call: Call) -> Answer:
            sheet = Spreadsheet(["number", "words"], self.fetch, lambda row: row[0], lambda row: row, 5)
            return await sheet.answer("numbers.csv")

    async with open_world() as world:
        app = exporting(world, Export()).app  # type: ignore[arg-type]
        stop, ready = trio.Event(), trio.Event()
        listening = open_listeners([ListenAddress("127.0.0.1", 0)], LIMITS, SystemClock())
        async with listening as server, trio.open_nursery() as nursery:
            nursery.start_soon(partial(server.serve, handlers(app), stop=stop, ready=ready.set))
            await ready.wait()
            async with await trio.open_tcp_stream("127.0.0.1", int(server.url.rpartition(":")[2])) as stream:
                await stream.send_all(GET)
                await stream.receive_some(65_536)
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                size, last = 0, b""
                while data := bytes(await stream.receive_some(65_536)):
                    size, last = size + len(data), last[-200:] + data
                grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            stop.set()
    assert b"\r\n1000000,word" in last
    assert last.endswith(b"\r\n0\r\n\r\n")
    assert size > 55_000_000
    assert grown < MOST_KIB, f"{grown} KiB more"
