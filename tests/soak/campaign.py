"""A run: two nodes over one Postgres, websites without a pause, a plan of faults, and the judgement."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import trio

from actors.clock import SystemClock, day_of
from actors.events.state import Seals
from service.secret import derived
from storage.pool import Target
from tests.acceptance.postgres import PostgresServer, free_port
from tests.acceptance.processes import SECRET, Service, Settings, serving
from tests.soak.faults import Node, Stage, plan
from tests.soak.judge import Kept, kept, untold, violations
from tests.soak.websites import Answers, Website
from tests.storage.proxy import proxied

WEBSITES = 24
SECONDS_A_FAULT = 3.0
BREATH_SECONDS = (0.2, 0.8)
"""How long all is well between two faults."""

SETTINGS: Settings = {"server.secret": SECRET, "log.level": "warning"}


@dataclass(frozen=True, slots=True)
class Report:
    """What a run has shown."""

    seed: int
    stage: Stage
    after: Kept
    found: list[str]

    def lines(self) -> list[str]:
        answers = self.stage.answers
        faults = [
            f"  {name}: {times} times, healed after {self.stage.slowest_seconds[name]:.2f} s at most"
            for name, times in sorted(self.stage.made.items())
        ]
        outcomes = [f"  {kind}: {count}" for kind, count in sorted(answers.kinds.items())]
        return [
            f"seed {self.seed}: {self.stage.made.total()} faults, {len(answers.sent)} events, {len(self.after.rows)} rows",
            *faults,
            *outcomes,
            f"  the slowest answer took {answers.slowest_seconds:.2f} s, {len(answers.late)} took more than 5 s",
            f"  rows of which nobody was told: {untold(answers, self.after)}",
            f"  violations: {len(self.found)}",
            *(f"    {each}" for each in self.found[:20]),
        ]


async def run(
    postgres: PostgresServer, place: Path, seed: int, seconds: float, said: Callable[[str], None] = lambda line: None
) -> Report:
    """Suffer faults for about `seconds`; `postgres` is ours to kill, and runs when this returns."""
    chance = random.Random(seed)
    database = postgres.fresh_database()
    first_day = day_of(SystemClock().now_ms())
    behind = Target(host=str(postgres.sockets), user="catalog", database=database)
    with ThreadPoolExecutor(1) as starter, ExitStack() as services:
        async with proxied(behind) as proxy:
            urls = [f"postgresql://catalog@/{database}?host={host}" for host in (proxy.target.host, postgres.sockets)]
            nodes = [
                await trio.to_thread.run_sync(_node, services, place / f"node-{number}", url)
                for number, url in enumerate(urls, 1)
            ]
            answers = Answers()
            bookings = await trio.to_thread.run_sync(_live, nodes[0].url)
            before = kept(postgres, database)
            stage = Stage(nodes, postgres, proxy, bookings, answers, chance, starter, said=said)
            await _suffer(stage, plan(chance, round(seconds / SECONDS_A_FAULT)))
            await trio.to_thread.run_sync(services.close)
        after = kept(postgres, database)
    days = range(first_day, day_of(SystemClock().now_ms()) + 1)
    found = violations(answers, before, after, Seals(derived(SECRET.encode(), "visitors")), days)
    found += [f"a slow answer: {each}" for each in answers.late]
    return Report(seed, stage, after, found)


async def _suffer(stage: Stage, faults: list[str]) -> None:
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        urls = [node.url for node in stage.nodes]
        for number in range(WEBSITES):
            chance = random.Random(f"website {number} of {stage.chance.random()}")
            nursery.start_soon(Website(urls, stage.bookings, chance, stage.answers, stop).run)
        for name in faults:
            await trio.sleep(stage.chance.uniform(*BREATH_SECONDS))
            await stage.suffer(name)
        stop.set()


def _node(services: ExitStack, data_dir: Path, url: str) -> Node:
    settings = {**SETTINGS, "database.url": url}
    bind = f"127.0.0.1:{free_port()}"

    def start() -> Service:
        return services.enter_context(serving(data_dir, settings, bind=bind))

    return Node(data_dir.name, start(), start)


def _live(url: str) -> list[str]:
    """The bookings whose placements are shown: the demo's."""
    placements = httpx.get(f"{url}/api/v1/sponsors/placements", trust_env=False).json()["placements"]
    assert placements, "the demo shows placements"
    return [each["bookingId"] for each in placements]
