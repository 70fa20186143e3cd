"""`python -m bench`: measure the service against its peers, side by side, and print the tables."""

import argparse
import asyncio
import itertools
import json
import os
import platform
import random
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from bench.generate_catalog import COMMON_WORDS, generate
from bench.ledger import Ledger, batches, fetch, open_ledger
from bench.load import Measured, generator, measure, request
from bench.programs import Cores, Program, import_catalog, peer, service
from bench.report import WRONG, Audit, Cell, Result, Scenario, Setting, absolute, published

RESULTS = Path(__file__).parent / "RESULTS.md"
IDIOMS = ("models", "raw")
KEYS = 64
SLUGS = 256
SEARCH_CONNECTIONS = 16
WARM_UP_SECONDS = 1.0
RELOAD_SECONDS = 60.0
REST_SECONDS = 0.3
"""Between two runs: what the last one left in flight is none of the next one's."""

LIST = "/api/v1/usecases?limit=20"
LISTING, READING, SEARCHING = (
    "`GET /api/v1/usecases?limit=20`",
    "`GET /api/v1/usecases/{slug}`",
    "`GET /api/v1/usecases?q=...`",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    entries: int
    seconds: float
    rounds: int
    connections: tuple[int, ...]
    audit: bool


@dataclass(slots=True)
class Stage:
    """Everything that is up."""

    programs: tuple[Program, ...]
    ledger: Ledger
    cores: Cores
    keys: list[str]
    slugs: list[str]

    @property
    def service(self) -> Program:
        return self.programs[0]


async def run(plan: Plan, data_dir: Path | None) -> tuple[str, str]:
    """The report that may be published, and the figures that may not."""
    async with set_up(plan, data_dir) as stage:
        scenarios = [
            *(Scenario(LISTING, 0, connections) for connections in plan.connections),
            *(Scenario(READING, keys, connections) for keys in (1, KEYS) for connections in plan.connections),
            Scenario(SEARCHING, 0, SEARCH_CONNECTIONS),
        ]
        results = [await compare(stage, plan, scenario) for scenario in scenarios]
        audits = await audit(stage, plan) if plan.audit else []
        setting = Setting(
            entries=await stage.ledger.entries(),
            rounds=plan.rounds,
            seconds=plan.seconds,
            generator=generator(),
            postgres=await stage.ledger.version(),
            python=platform.python_version(),
            cores=os.cpu_count() or 1,
            peers=tuple(program.name for program in stage.programs[1:]),
        )
    return published(setting, results, audits), absolute(results)


@asynccontextmanager
async def set_up(plan: Plan, data_dir: Path | None) -> AsyncIterator[Stage]:
    """The service over a catalog of the wanted size, and the peers over the same Postgres."""
    cores = Cores.of_this_machine()
    async with AsyncExitStack() as stack:
        place = stack.enter_context(temporary_place())
        data_dir = data_dir or place / "data"
        tell("starting the service")
        ours = await stack.enter_async_context(service(data_dir, place, cores.server))
        ledger = await stack.enter_async_context(open_ledger(data_dir))
        if await ledger.entries() != plan.entries:
            tell(f"importing a catalog of {plan.entries:,} entries")
            file = place / "catalog.jsonl"
            write_catalog(file, plan.entries)
            await import_catalog(file, data_dir, place)
            await ledger.settle()
        peers = [await stack.enter_async_context(peer(idiom, data_dir, place, cores.server)) for idiom in IDIOMS]
        keys = [json.loads(await fetch(ours, "/api/v1/auth/agent", method="POST"))["apiKey"] for _ in range(KEYS)]
        stage = Stage((ours, *peers), ledger, cores, keys, await ledger.slugs(SLUGS))
        await check_that_answers_agree(stage)
        yield stage


def write_catalog(file: Path, entries: int) -> None:
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(f"{line}\n" for line in generate(entries, seed=1))


@contextmanager
def temporary_place() -> Iterator[Path]:
    """A directory on a disk, since a commit costs nothing on a file system in memory."""
    disk = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="bench-", dir=disk) as directory:
        place = Path(directory).resolve()
        place.chmod(0o755)  # Postgres may run as another user
        yield place


async def check_that_answers_agree(stage: Stage) -> None:
    """All programs must give the same bodies. The service may still be loading what was imported."""
    paths = [LIST, search_path("invoice report"), f"/api/v1/usecases/{stage.slugs[0]}"]
    for path in paths:
        for attempt in itertools.count():
            bodies = [json.loads(await fetch(program, path)) for program in stage.programs]
            for body in bodies:
                body.pop("nextCursor", None)  # each has its own spelling
            if all(body == bodies[0] for body in bodies):
                break
            if attempt >= RELOAD_SECONDS:
                raise RuntimeError(f"the programs do not answer the same to GET {path}")
            await asyncio.sleep(1)


# One scenario.


async def compare(stage: Stage, plan: Plan, scenario: Scenario) -> Result:
    """All programs in turn, round by round, so that a machine that grows slower does so for all of them."""
    result = Result(scenario, {program.name: Cell() for program in stage.programs})
    for program in stage.programs:
        await load(stage, scenario, program, WARM_UP_SECONDS, seed=-1)
    for number in range(plan.rounds):
        tell(f"{scenario.title}, {scenario.keys or 'no'} keys, {scenario.connections} connections, round {number + 1}")
        first = number % len(stage.programs)
        for program in stage.programs[first:] + stage.programs[:first]:
            await _measure(stage, result, program, plan.seconds, number)
    return result


async def _measure(stage: Stage, result: Result, program: Program, seconds: float, number: int) -> None:
    cell = result.cells[program.name]
    if not result.scenario.keys:
        cell.runs.append(await load(stage, result.scenario, program, seconds, seed=number))
        await asyncio.sleep(REST_SECONDS)
        return
    before, batches_before = await stage.ledger.charges(), await batches(stage.service)
    cell.runs.append(await load(stage, result.scenario, program, seconds, seed=number))
    after = await stage.ledger.charges()
    cell.counted += after.counted - before.counted
    if program is stage.service:
        result.transactions += after.batches - before.batches
        result.batches += await batches(program) - batches_before


async def load(stage: Stage, scenario: Scenario, program: Program, seconds: float, *, seed: int) -> Measured:
    requests = requests_of(stage, scenario, seed)
    return await measure(program.port, requests, scenario.connections, seconds, stage.cores.load)


def requests_of(stage: Stage, scenario: Scenario, seed: int) -> list[str]:
    """What is sent in turn; every round searches in another order, so that few answers are remembered from the last."""
    if scenario.title == LISTING:
        return [request(LIST)]
    if scenario.title == SEARCHING:
        pairs = list(itertools.permutations(COMMON_WORDS.split(), 2))
        random.Random(seed).shuffle(pairs)
        return [request(search_path(" ".join(pair))) for pair in pairs]
    return [
        request(f"/api/v1/usecases/{slug}", f"Bearer {key}")
        for slug, key in zip(stage.slugs, itertools.cycle(stage.keys[: scenario.keys]), strict=False)
    ]


def search_path(words: str) -> str:
    return f"/api/v1/usecases?{urlencode({'q': words, 'limit': 20})}"


# The exact count.


async def audit(stage: Stage, plan: Plan) -> list[Audit]:
    """For each program one run without anything left in flight, and every commit of Postgres around it."""
    scenario = Scenario(READING, KEYS, max(plan.connections))
    audits = []
    commits = await stage.ledger.commits()
    for program in stage.programs:
        tell(f"counting exactly: {program.name}")
        before = await stage.ledger.charges()
        requests = requests_of(stage, scenario, 0)
        run = await measure(program.port, requests, scenario.connections, plan.seconds, stage.cores.load, exact=True)
        after = await stage.ledger.charges()
        commits, commits_before = await stage.ledger.commits(), commits
        counted, transactions = after.counted - before.counted, after.batches - before.batches
        audits.append(Audit(program.name, run.answers, run.failures, counted, transactions, commits - commits_before))
    return audits


# The command line.


def tell(words: str) -> None:
    sys.stderr.write(f"bench: {words}\n")
    sys.stderr.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the service against its peers.")
    parser.add_argument("--seconds", type=float, default=2, help="length of one run (2)")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds of each scenario (3)")
    parser.add_argument("--connections", default="32,128", help="numbers of connections (32,128)")
    parser.add_argument("--entries", type=int, default=100_000, help="size of the generated catalog (100000)")
    parser.add_argument("--data-dir", type=Path, help="keep the data here, and find the catalog there the next time")
    parser.add_argument(
        "--quick", action="store_true", help="one short round over a small catalog: does it work at all?"
    )
    parser.add_argument("--publish", action="store_true", help="write the tables to bench/RESULTS.md")
    given = parser.parse_args()
    connections = tuple(int(number) for number in given.connections.split(","))
    plan = Plan(given.entries, given.seconds, given.rounds, connections, audit=True)
    if given.quick:
        plan = Plan(2_000, 1, 1, (max(connections),), audit=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report, figures = asyncio.run(run(plan, given.data_dir and given.data_dir.resolve()))
    sys.stdout.write(f"{report}\n{figures}\n")
    if given.publish:
        RESULTS.write_text(
            f"# Results of the benchmark\n\nWhat was measured, and how: [README.md](README.md).\n\n{report}"
        )
        tell(f"wrote {RESULTS}")
    if WRONG in report:
        sys.exit("bench: what was counted is not what was answered")


if __name__ == "__main__":
    main()
