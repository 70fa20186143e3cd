"""`python -m bench.distributed`: a node on a distributed database against one on a single Postgres, in turn on the same
cores.

Both databases are yours, on this machine, empty or used for nothing else. Nothing is pinned to a core.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench.load import measure
from bench.programs import Program, elsewhere
from bench.report import table
from bench.stage import fetch, tell, temporary_place
from bench.usage import cpu_seconds, family_cpu_seconds, parent_of
from bench.workloads import Events

ONE, MANY = "one Postgres", "distributed"
LOADS = ((1, 1), (1, 128), (500, 32), (500, 128))
"""Events in a request, and connections."""
NODE = "node"
SERVERS = "select nodename, nodeport from pg_dist_node order by groupid"


@dataclass(frozen=True, slots=True)
class Side:
    """A running node, and the postmasters of its database by name."""

    program: Program
    servers: Mapping[str, int]
    bookings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Taken:
    """One run: events per second, and CPU seconds per event of each process."""

    rate: float
    cpu: Mapping[str, float]


@asynccontextmanager
async def side(name: str, url: str) -> AsyncIterator[Side]:
    """Start a node on the database of `url`."""
    async with AsyncExitStack() as stack:
        tell(f"starting the node on {name}")
        place = stack.enter_context(temporary_place())
        program = await stack.enter_async_context(elsewhere(name, url, place, distributed=name == MANY))
        shown = json.loads(await fetch(program, "/api/v1/sponsors/placements"))["placements"]
        urls = {"Postgres": url}
        if name == MANY:
            async with _connected(url) as connection:
                [first, *others] = await connection.fetch(SERVERS)
            urls = {"coordinator": _at(url, *first)}
            urls |= {f"worker {number}": _at(url, *each) for number, each in enumerate(others, start=1)}
        servers = {each: await _postmaster(to) for each, to in urls.items()}
        yield Side(program, servers, [each["bookingId"] for each in shown])


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def _postmaster(url: str) -> int:
    async with _connected(url) as connection:
        return parent_of(await connection.fetchval("select pg_backend_pid()"))


def _at(url: str, host: str, port: int) -> str:
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    return urlunsplit(parts._replace(netloc=f"{user}@{host}:{port}"))


async def take(of: Side, size: int, connections: int, seconds: float) -> Taken:
    """One run."""

    def spent() -> dict[str, float]:
        servers = {name: family_cpu_seconds(pid) for name, pid in of.servers.items()}
        return {NODE: cpu_seconds(of.program.pid), **servers}

    before = spent()
    events = Events(of.bookings, random.SystemRandom().getrandbits(52), size, 0)
    measured = await measure(of.program.port, events, connections, seconds, None)
    if measured.failures or not measured.answers:
        raise RuntimeError(f"{of.program.name}: {measured}")
    recorded = measured.answers * size
    return Taken(
        recorded / measured.seconds, {name: (after - before[name]) / recorded for name, after in spent().items()}
    )


async def run(one: str, many: str, rounds: int, seconds: float) -> str:
    """Measure both sides in turn; returns a table in Markdown."""
    rows: list[Sequence[str]] = []
    async with side(ONE, one) as single, side(MANY, many) as distributed:
        for size, connections in LOADS:
            taken: dict[str, list[Taken]] = {ONE: [], MANY: []}
            for number in range(-1, rounds):
                tell(f"requests of {size}, {connections} connections, round {number + 1}")
                for each in (single, distributed)[:: 1 if number % 2 else -1]:
                    found = await take(each, size, connections, seconds)
                    if number >= 0:
                        taken[each.program.name].append(found)
            rows += _rows(size, connections, taken)
    heads = ("Events a request", "Connections", "Database", "Events/s", "CPU an event", "of which")
    return table(heads, rows)


def _rows(size: int, connections: int, taken: Mapping[str, Sequence[Taken]]) -> list[Sequence[str]]:
    """A row for each side, relative to that of one Postgres: medians of the rounds."""
    rate = median(each.rate for each in taken[ONE])
    cpu = median(sum(each.cpu.values()) for each in taken[ONE])
    rows: list[Sequence[str]] = []
    for name, runs in taken.items():
        parts = {process: median(each.cpu[process] for each in runs) / cpu for process in runs[0].cpu}
        rows.append(
            (
                str(size),
                str(connections),
                name,
                f"{median(each.rate for each in runs) / rate:.2f}",
                f"{sum(parts.values()):.2f}",
                ", ".join(f"{process} {share:.2f}" for process, share in parts.items()),
            )
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.distributed", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--one", required=True, help="the URL of a single Postgres on this machine")
    parser.add_argument("--distributed", required=True, help="the URL of the coordinator of a Citus on this machine")
    parser.add_argument("--rounds", type=int, default=4, help="rounds of each load (4)")
    parser.add_argument("--seconds", type=float, default=3, help="length of one run (3)")
    given = parser.parse_args()
    sys.stdout.write(asyncio.run(run(given.one, given.distributed, given.rounds, given.seconds)) + "\n")


if __name__ == "__main__":
    main()
