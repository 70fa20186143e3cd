"""Measures the cost of compressed reads: `python -m bench.wire` compares them with plain ones and, with `--before`, with
another checkout.

All runs are interleaved in one run, on one Postgres and catalog. This checkout and the other one run as two nodes beside the
service that holds the Postgres.
"""

import argparse
import asyncio
import itertools
import json
import signal
import sys
import urllib.request
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from bench.generate_catalog import COMMON_WORDS
from bench.load import measure
from bench.programs import BEFORE, ROOT, checkout, joining
from bench.results import FIGURES, Cell, Run
from bench.rounds import REST_SECONDS
from bench.stage import Stage, fetch, set_up, tell
from bench.usage import Meter
from bench.workloads import Reads, read

PLAIN, NOW = "plain", "now"
CODINGS = ("gzip", "br")
LIST = "/api/v1/usecases?limit=100"
PAGES = 48
"""Pages of 100 entries whose cursors are followed."""
LIMITS = range(53, 101)
"""With each page in all of these lengths, few lists come from a cache."""
SEARCHES = 40


@dataclass(frozen=True, slots=True)
class Subject:
    """One kind of read: its name in the table, and its paths, which are asked for in turn."""

    name: str
    paths: Sequence[str]


async def subjects(stage: Stage) -> list[Subject]:
    cursors = await _cursors(stage)
    words = itertools.islice(itertools.permutations(COMMON_WORDS.split(), 2), SEARCHES)
    return [
        Subject("first page of 100", [LIST]),
        Subject("pages of 100, by cursor", [_page(100, cursor) for cursor in cursors]),
        Subject("many different lists", [_page(limit, cursor) for limit in LIMITS for cursor in cursors]),
        Subject("remembered searches", [f"{LIST}&{urlencode({'q': ' '.join(pair)})}" for pair in words]),
        Subject("single entries", [f"/api/v1/usecases/{slug}" for slug in stage.slugs]),
    ]


async def _cursors(stage: Stage) -> list[str]:
    found: list[str] = []
    cursor: str | None = json.loads(await fetch(stage.service, LIST))["nextCursor"]
    while cursor is not None and len(found) < PAGES:
        found.append(cursor)
        cursor = json.loads(await fetch(stage.service, _page(100, cursor)))["nextCursor"]
    return found


def _page(limit: int, cursor: str) -> str:
    return f"/api/v1/usecases?{urlencode({'limit': limit, 'cursor': cursor})}"


async def size_of(stage: Stage, path: str, coding: str) -> int:
    """The bytes of a body, as sent, once it has become popular."""
    url = f"http://127.0.0.1:{stage.programs[NOW].port}{path}"
    request = urllib.request.Request(url, headers={} if coding == PLAIN else {"Accept-Encoding": coding})

    def ask() -> int:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return len(answer.read())

    return await asyncio.to_thread(ask)


async def compare(stage: Stage, subject: Subject, rounds: int, seconds: float, connections: int) -> dict[str, Cell]:
    """All runs of a subject, round by round."""
    names = [name for name in (BEFORE, PLAIN, *CODINGS) if name != BEFORE or BEFORE in stage.programs]
    cells = {name: Cell() for name in names}
    # One by one, because a caller searches once at a time. Later searches are remembered.
    for program, path in itertools.product(stage.programs.values(), subject.paths[:PAGES]):
        await fetch(program, path)
    for number in range(-1, rounds):
        tell(f"{subject.name}, round {number + 1}")
        for name in names[number % len(names) :] + names[: number % len(names)]:
            run = await _run(stage, subject, name, seconds, connections)
            if number >= 0:
                cells[name].runs.append(run)
            await asyncio.sleep(REST_SECONDS)
    return cells


async def _run(stage: Stage, subject: Subject, name: str, seconds: float, connections: int) -> Run:
    program = stage.programs[BEFORE if name == BEFORE else NOW]
    coding = name if name in CODINGS else None
    workload = Reads([read(path, accept_encoding=coding) for path in subject.paths])
    meter = Meter([program.pid], stage.postmaster)
    measured = await measure(program.port, workload, connections, seconds, stage.cores.load)
    if measured.failures:
        raise RuntimeError(f"{subject.name}, {name}: {measured.failures} requests failed")
    return Run(measured, meter.read())


def ratio(cells: dict[str, Cell], name: str, other: str, figure: str) -> str:
    """`name` relative to `other`: of the medians, and the range of the rounds."""
    of = FIGURES[figure]
    pairs = [of(one) / of(two) for one, two in zip(cells[name].runs, cells[other].runs, strict=True)]
    value = median(map(of, cells[name].runs)) / median(map(of, cells[other].runs))
    return f"{value:.2f} ({min(pairs):.2f} to {max(pairs):.2f})"


async def run(given: argparse.Namespace) -> None:
    async with set_up(given.entries, given.data_dir, alone=True) as stage, AsyncExitStack() as stack:
        roots = {NOW: ROOT} | ({} if given.before is None else {BEFORE: given.before})
        for name, root in roots.items():
            tell(f"starting the node {name}")
            program = joining(name, stage.data_dir, stage.data_dir.parent, root, stage.cores.server)
            stage.programs[name] = await stack.enter_async_context(program)
        await report(stage, given)


async def report(stage: Stage, given: argparse.Namespace) -> None:
    say("| Read | | Bytes | Throughput | CPU |\n| --- | --- | --- | --- | --- |")
    for subject in await subjects(stage):
        cells = await compare(stage, subject, given.rounds, given.seconds, given.connections)
        pairs = [(PLAIN, BEFORE)] if BEFORE in cells else []
        for name, other in [*pairs, *((coding, PLAIN) for coding in CODINGS)]:
            sizes = [[await size_of(stage, path, each) for path in subject.paths[:PAGES]] for each in (name, PLAIN)]
            figures = " | ".join(ratio(cells, name, other, figure) for figure in ("Throughput", "CPU"))
            say(f"| {subject.name} | {name} / {other} | {sum(sizes[0]) / sum(sizes[1]):.3f} | {figures} |")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.wire", description="Measure compressed reads.")
    parser.add_argument("--seconds", type=float, default=2, help="length of one run (2)")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds of each read (5)")
    parser.add_argument("--connections", type=int, default=32, help="connections (32)")
    parser.add_argument("--entries", type=int, default=20_000, help="size of the generated catalog (20000)")
    parser.add_argument("--before", type=checkout, help="another checkout, not newer, to compare plain reads with")
    parser.add_argument("--data-dir", type=Path, help="keep the data in this directory and reuse its catalog")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
