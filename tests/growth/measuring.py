"""What each read and each change costs on a large service, beside a small one of which each list has a page."""

import gc
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import trio

from actors.clock import DAY_MS, SystemClock
from service.http.asgi import Message
from storage.connection.pool import PoolLimits, open_database
from storage.connection.target import Target
from storage.embedded.server import running_postgres
from storage.schema import migrate
from tests.api.asgi import Response
from tests.growth.bounds import LONGER_MS, excess
from tests.growth.changes import CHANGES, People
from tests.growth.filling import ADMIN, FILL_SECONDS, MOST, SMALL, Size, fill, key_of
from tests.growth.node import BASE_URL, Node, Statistics, open_node
from tests.growth.reads import Read, names_of, reads

MOST_TIMES = 3
"""How many times as much a read may cost on the large service, unless its answer is longer."""

SLACK_MS = 8.0
"""What a read may cost more in any case: other programs take turns on the machine."""

ROUNDS, LONG_ROUNDS, LONG_MS = 7, 2, 400.0
"""Both services are asked in turn so often; those that take long less often. The fastest answer counts."""

POSTGRES = {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
    "maintenance_work_mem": "256MB",
}
"""Settings of a server that is filled once."""

Ask = Callable[[], Awaitable[Response]]


@dataclass(slots=True)
class Cost:
    """A request on both services: milliseconds, bytes, and what it has read too much of on the large one."""

    name: str
    small_ms: list[float] = field(default_factory=list)
    large_ms: list[float] = field(default_factory=list)
    small_bytes: int = 0
    large_bytes: int = 0
    much: str = ""

    @property
    def times(self) -> float:
        return min(self.large_ms) / min(self.small_ms)

    @property
    def is_over(self) -> bool:
        longer = max(1.0, self.large_bytes / max(1, self.small_bytes))
        slack_ms = SLACK_MS + next((ms for start, ms in LONGER_MS.items() if self.name.startswith(start)), 0.0)
        return bool(self.much) or min(self.large_ms) > MOST_TIMES * longer * min(self.small_ms) + slack_ms

    def __str__(self) -> str:
        bytes_ = f"{self.small_bytes:>9,} {self.large_bytes:>11,}"
        line = f"{self.times:6.1f} {min(self.small_ms):8.1f} {min(self.large_ms):9.1f} {bytes_}  {self.name}"
        return f"{'OVER' if self.is_over else '    '} {line}{f': reads {self.much}' if self.much else ''}"


HEADER = "      times small ms  large ms small bytes large bytes"


async def timed(ask: Ask) -> tuple[float, Response]:
    started = time.perf_counter()
    response = await ask()
    return (time.perf_counter() - started) * 1e3, response


async def measured(name: str, small: Ask, large: Ask, node: Node, rounds: int = ROUNDS) -> Cost:
    """Ask both in turn. The reads of the last answer of the large one are looked at."""
    cost = Cost(name)
    seen: Statistics | None = None
    while len(cost.large_ms) < (LONG_ROUNDS if cost.large_ms and cost.large_ms[0] > LONG_MS else rounds):
        spent, answer = await timed(small)
        cost.small_ms.append(spent)
        cost.small_bytes = len(answer.body)
        before = await node.statistics()
        spent, answer = await timed(large)
        cost.large_ms.append(spent)
        cost.large_bytes = len(answer.body)
        seen = (await node.statistics()).since(before)
    cost.much = "" if seen is None else excess(name, seen)
    return cost


FILES = ("sponsorships/bookings", "sponsorships/campaigns", "sponsorships/audit", "sponsorships/sponsors", "accounts")
"""The lists of administrators that are as long as the service is large. As files they are measured by their lines."""


MOST_STEP_MS = 0.6
"""How much CPU 99 of 100 steps take at most while a file is made."""


def files(now_ms: int) -> Iterator[tuple[int, str]]:
    """Who gets which long file: all lists of administrators, and the deliveries of a year of the largest sponsor."""
    yield from ((ADMIN, f"/api/v1/admin/{file}?format=csv") for file in FILES)
    days = {"from": now_ms - 365 * DAY_MS, "to": now_ms}
    yield MOST, f"/api/v1/sponsors/delivery?{urlencode({**days, 'format': 'csv'})}"


def is_whole_list(read: Read) -> bool:
    return read.target in [f"/api/v1/admin/{file}?format=csv" for file in FILES]


def asking(node: Node, read: Read) -> Ask:
    return lambda: node.ask("GET", read.target, read.person, browser=read.browser)


async def costs_of_reads(small: Node, large: Node, size: Size, only: str) -> list[Cost]:
    now_ms = small.services.clock.now_ms()
    of_small = {each.name: each for each in reads(await names_of(small, SMALL), now_ms)}
    found = []
    for read in reads(await names_of(large, size), now_ms):
        if only in read.name and read.name in of_small and not is_whole_list(read):
            pair = asking(small, of_small[read.name]), asking(large, read)
            found.append(await measured(read.name, *pair, large))
    return sorted(found, key=lambda cost: -cost.times)


async def costs_of_changes(small: Node, large: Node, size: Size) -> list[Cost]:
    """Each change as often as `ROUNDS`, each time to other rows."""
    on_small, on_large = People(small, SMALL), People(large, size)
    return [
        await measured(name, lambda: change(on_small, person), lambda: change(on_large, person), large)  # noqa: B023
        for name, (change, person) in CHANGES.items()
    ]


@dataclass(slots=True)
class Stream:
    """Counts a response that is too long to keep."""

    lines: int = 0
    status: int = 0
    ended: trio.Event = field(default_factory=trio.Event)

    async def send(self, message: Message) -> None:
        await trio.lowlevel.checkpoint()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        self.lines += message.get("body", b"").count(b"\n")
        if not message.get("more_body", False):
            self.ended.set()


class Steps(trio.abc.Instrument):
    """The CPU milliseconds of each step of a task. While one runs, all others wait; on a busy machine, they wait longer."""

    def __init__(self) -> None:
        self.found: list[float] = []
        self._started = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._started = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.found.append((time.thread_time() - self._started) * 1e3)


@dataclass(frozen=True, slots=True)
class During:
    """What another request met while a file was sent: the 99th percentiles of its milliseconds and of the CPU of a step; the
    lines of the file, and the seconds and the CPU seconds that it took."""

    wait_ms: float
    step_ms: float
    lines: int
    seconds: float
    cpu_seconds: float

    def __str__(self) -> str:
        took = (
            f"{self.lines:,} lines in {self.seconds:.1f} s, {self.cpu_seconds:.1f} s of CPU" if self.lines else "none"
        )
        return f"{took}; another request waits {self.wait_ms:.1f} ms (p99), a step takes {self.step_ms:.2f} ms of CPU (p99)"


async def during(node: Node, target: str | None, person: int = ADMIN, seconds: float = 10.0) -> During:
    """Ask again and again while a file is sent to a person, or, without one, for some seconds."""
    waits: list[float] = []
    stream, steps, started, cpu = Stream(), Steps(), time.perf_counter(), time.process_time()

    async def others() -> None:
        while not stream.ended.is_set():
            waits.append((await timed(lambda: node.ask("GET", "/api/v1/sponsors/placements")))[0])
            await trio.sleep(0.005)

    trio.lowlevel.add_instrument(steps)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        if target is None:
            await trio.sleep(seconds)
            stream.ended.set()
        else:
            await node.client.app(scope_of(target, person), _never, stream.send)
    took = time.perf_counter() - started, time.process_time() - cpu
    trio.lowlevel.remove_instrument(steps)
    return During(_p99(waits), _p99(steps.found), stream.lines, *took)


def _p99(found: list[float]) -> float:
    return sorted(found)[len(found) * 99 // 100]


async def rows_of_export(node: Node, person: int) -> tuple[int, float]:
    """The rows of the export of an account, and the seconds that all pages take."""
    rows, cursor, started = 0, "", time.perf_counter()
    while cursor is not None:
        page = (await node.ask("GET", f"/api/v1/account/export?{urlencode({'cursor': cursor})}", person)).json
        rows += sum(map(len, page["tables"].values()))
        cursor = page["cursor"]
    return rows, time.perf_counter() - started


async def _never() -> Message:
    await trio.sleep_forever()


def scope_of(target: str, person: int) -> Message:
    path, _, query = target.partition("?")
    headers = [
        (b"host", BASE_URL.removeprefix("https://").encode()),
        (b"authorization", f"Bearer {key_of(person)}".encode()),
    ]
    return {
        "type": "http",
        "asgi": {"spec_version": "2.3", "version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8443),
        "state": {},
        "extensions": {},
    }


@asynccontextmanager
async def filled(place: Path, size: Size, seed: int) -> AsyncIterator[tuple[Node, Node]]:
    """A node over a small service and one over a large service, on one Postgres in `place`, where they stay."""
    async with running_postgres(place / "data", settings=POSTGRES) as postgres:
        urls = [
            await _database(postgres.endpoint, name, each, seed) for name, each in (("small", SMALL), ("large", size))
        ]
        async with open_node(urls[0], place / "small") as small, open_node(urls[1], place / "large") as large:
            # As a node does, so that no collection holds all other tasks up.
            gc.collect()
            gc.freeze()
            yield small, large


async def _database(server: Target, name: str, size: Size, seed: int) -> str:
    """The URL of a filled database, which is made if there is none."""
    async with open_database(server) as maintenance:
        exists = await maintenance.fetchval("select exists (select from pg_database where datname = $1)", name)
        if not exists:
            await maintenance.read(lambda connection: connection.execute(f"create database {name}"))
    url = f"postgresql://{server.user}@/{name}?host={server.host}"
    async with open_database(Target(url=url), PoolLimits(command_seconds=FILL_SECONDS)) as database:
        await migrate(database)
        if not exists:
            started = time.perf_counter()
            await fill(database, size, seed, SystemClock().now_ms())
            tell(f"filled {name} in {time.perf_counter() - started:.0f} s: {size}")
    (Path(server.host or "").parents[1] / name).mkdir(exist_ok=True)
    return url


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def report(title: str, costs: Sequence[Cost]) -> int:
    """Print the costs, and return how many are over their bound."""
    over = sum(cost.is_over for cost in costs)
    tell(f"\n{title}: {len(costs)}, {over} over {MOST_TIMES} times\n{HEADER}")
    for cost in costs:
        tell(str(cost))
    return over
