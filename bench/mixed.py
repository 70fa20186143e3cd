"""Latency under mixed load: `python -m bench.mixed`.

One node of a service with years of rows gets reads, single events and batches, bookings, searches, pages and exports at
once. First its limit is measured: the requests per second of this mix over busy connections. Then phases alternate: in `idle`
ones, a few events and reads a second are sent alone; in `mixed` ones the same, beside the mix at half of the limit.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

from actors.times import week_of
from bench.generate_catalog import COMMON_WORDS
from bench.ledger import open_ledger
from bench.load import run_on
from bench.programs import CONNECTIONS as DATABASE_CONNECTIONS
from bench.programs import Program, service
from bench.stage import BOOKINGS, SLUGS, search_path, tell, temporary_place
from bench.usage import cpu_seconds, machine_cpu_seconds
from bench.workloads import read

MOST_TIMES = 3.0
"""The p99 of a probe under mixed load over that of the same on an idle node, at most."""
STALL_SECONDS = 0.05
PROBES = 40.0
"""Events and reads a second that are measured, each."""
CONNECTIONS, PROBE_CONNECTIONS = 64, 16
FREE_WEEKS, BOOKED_WEEKS = 5, 16
"""Weeks from this one on that are free, and how many are booked and cancelled."""
POLL_SECONDS = 0.01
IDLE_SECONDS = 40.0
"""The longest idle phase: it has 1,600 probes of each kind."""

Kinds = Mapping[str, tuple[float, Mapping[str, Any]]]


@dataclass(slots=True)
class Phase:
    """A phase: what each kind of request met, the turns of the loop by their bound, and how busy the machine was."""

    kinds: dict[str, dict[str, Any]]
    turns: Counter[float]
    seconds: float
    node_cpu: float
    machine_cpu: float
    waited: float
    """Seconds for which the node's main thread was ready and had no core."""


@dataclass(slots=True)
class Waits:
    """The time for which the node's main thread has waited for a core, by moments: stalls of the machine, not of the node."""

    pid: int
    found: list[tuple[float, float]] = field(default_factory=list)

    def read(self) -> float:
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[1]) / 1e9

    async def follow(self) -> None:
        while True:
            self.found.append((time.time(), self.read()))
            await asyncio.sleep(POLL_SECONDS)

    def between(self, began: float, ended: float) -> float:
        within = [waited for moment, waited in self.found if began - 2 * POLL_SECONDS <= moment <= ended + POLL_SECONDS]
        return within[-1] - within[0] if within else 0.0


@dataclass(frozen=True, slots=True)
class People:
    """The key and the session of an administrator and of a sponsor with many bookings; the key and a campaign of buyers."""

    administrator: Mapping[str, str]
    sponsor: Mapping[str, str]
    buyers: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Mixed:
    """The running node, and the subjects of requests."""

    node: Program
    log: Path
    people: People
    bookings: Sequence[str]
    slugs: Sequence[str]

    def probes(self) -> Kinds:
        return {
            "event": (PROBES, self._events(1)),
            "placements": (PROBES / 2, _reads("/api/v1/sponsors/placements")),
            "entry": (PROBES / 2, _reads(*(f"/api/v1/usecases/{slug}" for slug in self.slugs))),
        }

    def mix(self) -> Kinds:
        """By kind its weight, in percent of the requests, and what is sent."""
        people, words = self.people, COMMON_WORDS.split()
        searches = [search_path(f"{first} {second}") for first in words for second in words]
        pages = [
            "/",
            "/usecases",
            "/bots",
            "/advertise",
            "/changelog",
            "/status",
            f"/usecases/{self.slugs[0]}",
            "/usecases?q=invoice",
        ]
        sponsor = [
            "/sponsor",
            "/sponsor/bookings",
            "/sponsor/reports",
            "/sponsor/inventory",
            "/sponsor/invoices",
            "/dashboard",
        ]
        admin = [
            "/admin",
            "/admin/bookings",
            "/admin/revenue",
            "/admin/audit",
            "/admin/accounts",
            "/admin/reviews",
            "/ops",
        ]
        now_ms = int(time.time() * 1000)
        year = urlencode({"from": now_ms - 365 * 86_400_000, "to": now_ms, "format": "csv"})
        bookings = {
            "buyers": people.buyers,
            "slots": 20,
            "first_week_ms": week_of(now_ms) + FREE_WEEKS * 7 * 86_400_000,
            "weeks": BOOKED_WEEKS,
        }
        return {
            "event": (30, self._events(1)),
            "batch of 50": (5, self._events(50)),
            "batch of 500": (0.5, self._events(500)),
            "placements": (20, _reads("/api/v1/sponsors/placements")),
            "entry": (15, _reads(*(f"/api/v1/usecases/{slug}" for slug in self.slugs))),
            "list": (10, _reads("/api/v1/usecases?limit=20", "/api/v1/usecases?limit=100", "/api/v1/bots?limit=100")),
            "search": (5, _reads(*searches)),
            "booking": (3, bookings),
            "public page": (6, _reads(*pages, gzip=True)),
            "sponsor's page": (2, _pages(people.sponsor["session"], sponsor)),
            "administrator's page": (1, _pages(people.administrator["session"], admin)),
            "export of an account": (0.3, _reads("/api/v1/account/export?limit=1000", key=people.sponsor["key"])),
            "revenue": (0.1, _reads("/api/v1/admin/sponsorships/revenue?format=csv", key=people.administrator["key"])),
            "report as CSV": (0.05, _reads(f"/api/v1/sponsors/delivery?{year}", key=people.sponsor["key"])),
            "list as CSV": (
                0.02,
                _reads(
                    *(
                        f"/api/v1/admin/{name}?format=csv"
                        for name in ("sponsorships/bookings", "accounts", "sponsorships/audit")
                    ),
                    key=people.administrator["key"],
                ),
            ),
            "document": (0.5, _reads("/openapi.json", "/docs", "/llms.txt", "/sitemap.xml", gzip=True)),
            "metrics": (0.1, _reads("/metrics")),
        }

    def _events(self, size: int) -> Mapping[str, Any]:
        return {"bookings": list(self.bookings), "seed": int.from_bytes(os.urandom(6)), "size": size, "repeats": 10}


def _reads(*paths: str, key: str | None = None, gzip: bool = False) -> Mapping[str, Any]:
    return {"lines": [read(path, key and f"Bearer {key}", "gzip" if gzip else None) for path in paths]}


def _pages(session: str, paths: Sequence[str]) -> Mapping[str, Any]:
    cookie = f"Cookie: session={session}~Accept: text/html~Sec-Fetch-Site: same-origin~"
    return {"lines": [f"{read(path)[:-1]}{cookie}~" for path in paths]}


@asynccontextmanager
async def stage(
    data_dir: Path, place: Path, people: People, database_connections: int = DATABASE_CONNECTIONS
) -> AsyncIterator[Mixed]:
    async with service(data_dir, place, None, database_connections) as node, open_ledger(data_dir) as ledger:
        bookings = await ledger.book(BOOKINGS, int(time.time() * 1000))
        await ledger.settle()
        yield Mixed(node, place / node.name, people, bookings, await ledger.slugs(SLUGS))


async def send(mixed: Mixed, kinds: Kinds, connections: int, seconds: float, *options: str) -> dict[str, Any]:
    """Load the node from a process of its own. Returns what each kind met."""
    file = mixed.log.parent / f"kinds-{os.urandom(4).hex()}.json"
    file.write_text(json.dumps(kinds))
    numbers = [str(mixed.node.port), str(connections), str(seconds)]
    try:
        said = await run_on(None, sys.executable, "-m", "bench.paced", *numbers, str(file), *options)
    finally:
        file.unlink()
    found: dict[str, Any] = json.loads(said)
    return found


async def turns(node: Program) -> Counter[float]:
    """The turns of the loop, by the upper bound of their bucket."""
    await asyncio.sleep(1.1)  # the page is shared for a second
    url = f"http://127.0.0.1:{node.port}/metrics"
    page = (await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=20).read())).decode()
    sums = re.findall(r'^catalog_loop_lag_seconds_bucket\{le="(\S+)"\} (\S+)$', page, re.MULTILINE)
    counts = [(float(bound), float(count)) for bound, count in sums]
    return Counter(
        {bound: int(count - before) for (bound, count), (_, before) in zip(counts, [(0, 0), *counts], strict=False)}
    )


async def phase(mixed: Mixed, waits: Waits, seconds: float, rate: float) -> Phase:
    """Send the probes, and the mix beside them if it has a rate."""
    pid = mixed.node.pid
    before, cpu, machine, waited = await turns(mixed.node), cpu_seconds(pid), machine_cpu_seconds(), waits.read()
    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        probing = tasks.create_task(send(mixed, mixed.probes(), PROBE_CONNECTIONS, seconds))
        if rate:
            mix = mixed.mix()
            whole = sum(weight for weight, _ in mix.values())
            scaled = {name: (rate * weight / whole, fields) for name, (weight, fields) in mix.items()}
            load = tasks.create_task(send(mixed, scaled, CONNECTIONS, seconds))
    kinds = {f"probe {name}": found for name, found in probing.result().items()}
    kinds |= load.result() if rate else {}
    took = time.perf_counter() - began
    spent = cpu_seconds(pid) - cpu, machine_cpu_seconds() - machine, waits.read() - waited
    return Phase(kinds, await turns(mixed.node) - before, took, *(each / took for each in spent))


@dataclass(frozen=True, slots=True)
class Stall:
    """A stall that the node has logged, and the time in it for which its loop had no core, in milliseconds."""

    took_ms: float
    waited_ms: float

    @property
    def own_ms(self) -> float:
        return self.took_ms - self.waited_ms

    def __str__(self) -> str:
        return f"{self.took_ms:.0f} ms, {self.waited_ms:.0f} of them without a core"


def stalls(lines: str, waits: Waits) -> list[Stall]:
    found = []
    for said in re.finditer(
        r"^(\S+) warning .*the event loop stalled: all requests waited (\d+) ms", lines, re.MULTILINE
    ):
        ended, took_ms = datetime.fromisoformat(said[1]).timestamp(), float(said[2])
        waited_ms = 1e3 * waits.between(ended - took_ms / 1e3, ended)
        found.append(Stall(took_ms, min(took_ms, waited_ms)))
    return found


async def run(data_dir: Path, place: Path, entries: int, seconds: float, rounds: int) -> bool:
    said = await run_on(None, sys.executable, "-m", "bench.filled", str(data_dir), str(entries))
    async with stage(data_dir, place, People(**json.loads(said))) as mixed:
        waits = Waits(mixed.node.pid)
        following = asyncio.create_task(waits.follow())
        tell("warming up, then the limit")
        await send(mixed, mixed.mix(), CONNECTIONS, 5, "--flat-out")
        flat = await send(mixed, mixed.mix(), CONNECTIONS, 15, "--flat-out")
        limit = sum(each["answers"] for each in flat.values()) / 15
        failures = {name: each["failures"] for name, each in flat.items() if each["failures"]}
        tell(f"the limit is {limit:.0f} requests a second; failures: {failures}")
        since = len(mixed.log.read_text(errors="replace"))
        found: dict[str, list[Phase]] = defaultdict(list)
        for _ in range(rounds):
            for name, rate, most in (("idle", 0.0, IDLE_SECONDS), ("mixed", limit / 2, inf)):
                found[name].append(await phase(mixed, waits, min(seconds / rounds, most), rate))
                tell(f"{name}: {_brief(found[name][-1])}")
        following.cancel()
        logged = stalls(mixed.log.read_text(errors="replace")[since:], waits)
    sys.stdout.write(report(limit, found, logged))
    return all(probe.within for probe in probes_of(found)) and not own_stalls(logged)


def _brief(each: Phase) -> str:
    probes = (f"{name} p99 {kind['p99_ms']:.1f} ms" for name, kind in each.kinds.items() if name.startswith("probe"))
    return f"{', '.join(probes)}; {_above(each.turns)} stalls; the loop waited for a core {each.waited:.0%} of the time"


def _above(turns: Counter[float]) -> int:
    return sum(count for bound, count in turns.items() if bound > STALL_SECONDS)


@dataclass(frozen=True, slots=True)
class Probe:
    """A kind of probe in all phases: the ratios of its p99 under the mix to that of the idle phase before."""

    name: str
    idle: Sequence[Mapping[str, Any]]
    mixed: Sequence[Mapping[str, Any]]

    @property
    def ratios(self) -> list[float]:
        return [mixed["p99_ms"] / max(idle["p99_ms"], 1e-9) for idle, mixed in zip(self.idle, self.mixed, strict=True)]

    @property
    def within(self) -> bool:
        return median(self.ratios) <= MOST_TIMES

    def __str__(self) -> str:
        times = (
            f"{name} p50 {_middle(phases, 'p50_ms'):.2f}, p99 {_middle(phases, 'p99_ms'):.2f} ms"
            for name, phases in (("idle", self.idle), ("mixed", self.mixed))
        )
        ratios = f"p99 {median(self.ratios):.2f} times ({min(self.ratios):.2f} to {max(self.ratios):.2f})"
        return f"{self.name}: {'; '.join(times)}; {ratios}"


def _middle(kinds: Sequence[Mapping[str, Any]], part: str) -> float:
    return median(float(each[part]) for each in kinds)


def probes_of(found: Mapping[str, Sequence[Phase]]) -> list[Probe]:
    names = found["idle"][0].kinds
    return [
        Probe(name, *([each.kinds[name] for each in found[phase]] for phase in ("idle", "mixed"))) for name in names
    ]


def own_stalls(logged: Sequence[Stall]) -> list[Stall]:
    """The stalls for which the loop computed for too long itself, or waited for another thread of the node."""
    return [each for each in logged if each.own_ms > STALL_SECONDS * 1e3]


def report(limit: float, found: Mapping[str, Sequence[Phase]], logged: Sequence[Stall]) -> str:
    lines = [f"limit: {limit:.0f} requests a second", *map(str, probes_of(found))]
    for name, phases in found.items():
        turns = sum((each.turns for each in phases), Counter[float]())
        longest = max((bound for bound, count in turns.items() if count), default=0.0)
        node, machine, waited = (
            median(getattr(each, part) for each in phases) for part in ("node_cpu", "machine_cpu", "waited")
        )
        lines.append(
            f"{name}: {turns.total():,} turns, the longest within {longest:g} s, {_above(turns)} above {STALL_SECONDS} s; "
            f"the node used {node:.2f} cores, the machine {machine:.2f} of {os.cpu_count()}; "
            f"the loop waited for a core {waited:.1%} of the time"
        )
    most = max(logged, key=lambda each: each.own_ms, default=None)
    lines.append(
        f"logged stalls: {len(logged)}, {len(own_stalls(logged))} of the node's own; the longest: {most or 'none'}"
    )
    return "\n".join((*lines, "", *_of_mix([each.kinds for each in found["mixed"]]))) + "\n"


def _of_mix(phases: Sequence[Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    for name in phases[0]:
        kinds = [each[name] for each in phases]
        failures = sum((Counter(each["failures"]) for each in kinds), Counter[str]())
        answers, most = sum(each["answers"] for each in kinds), max(each["most_ms"] for each in kinds)
        p50, p99 = _middle(kinds, "p50_ms"), _middle(kinds, "p99_ms")
        failed = f" failures: {dict(failures)}" if failures else ""
        yield f"{answers:8,} {name}: p50 {p50:.1f}, p99 {p99:.1f}, most {most:.0f} ms{failed}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.mixed", description="Measure latency under mixed load.")
    parser.add_argument(
        "--seconds", type=float, default=120, help="length of all mixed phases; idle ones last 40 seconds at most (120)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="phases of each (3)")
    parser.add_argument("--entries", type=int, default=100_000, help="size of the generated catalog (100000)")
    parser.add_argument("--data-dir", type=Path, help="keep the data in this directory and reuse it")
    given = parser.parse_args()
    with temporary_place() as place:
        data_dir = (given.data_dir or place / "data").resolve()
        within = asyncio.run(run(data_dir, place, given.entries, given.seconds, given.rounds))
    if not within:
        sys.exit("bench: under mixed load, events and reads wait for too long, or the loop stalls")


if __name__ == "__main__":
    main()
