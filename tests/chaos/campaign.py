"""A run: nodes on one Postgres, clients of all kinds, a plan of faults, and the verdict."""

import os
import random
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import trio

from actors.clock import MINUTE_MS, SystemClock, day_of
from actors.events.state import VisitorHasher
from actors.times import WEEK_MS, week_of
from service.running.server_secret import derived
from storage.connection.target import Target
from tests.acceptance.postgres import free_port
from tests.acceptance.processes import ROOMY, SECRET, Service, Settings, serving
from tests.chaos.agents import Agent, Person
from tests.chaos.auditor import audit
from tests.chaos.caller import Caller
from tests.chaos.clock import VARIABLE, Steps
from tests.chaos.cores import watch_cores
from tests.chaos.faults import suffer
from tests.chaos.ground import Ground
from tests.chaos.history import Answers, Happened, Stored
from tests.chaos.journeys import Administrator, Customer
from tests.chaos.judge import Verdict, judge
from tests.chaos.plan import STEP_SECONDS, Fault, Kind, plan
from tests.chaos.readers import Owner, Visitor
from tests.chaos.recording import judged, recording
from tests.chaos.setting import SLOTS, Setting, founded
from tests.chaos.sponsors import Sponsor
from tests.chaos.stage import Node, Stage
from tests.chaos.stored import read_stored
from tests.chaos.websites import COUNTING, Website
from tests.storage.proxy import proxied

NODES, WEBSITES, AGENTS, PERSONS, SPONSORS_AN_ACCOUNT, READERS = 2, 10, 4, 2, 2, 3
SILENCE_SECONDS = 3.0
"""The default of `database.statement_seconds`, after which a server over TCP leaves a client that is silent."""

VISIBLE_MS = 60_000
"""A node that was frozen, or whose network was, may show what it remembers for so long."""

SETTINGS: Settings = {
    **ROOMY,
    "server.secret": SECRET,
    "log.level": "warning",
    "tiers.anonymous.lifetime": 1_000_000,
    "tiers.anonymous.daily": 1_000_000,
    "tiers.anonymous.per_minute": 1_000_000,
    "tiers.anonymous.usecase_reads": 1_000_000,
    "tiers.claimed.per_minute": 1_000_000,
    "tiers.claimed.daily": 1_000_000,
    "tiers.claimed.monthly": 1_000_000,
    "sessions.starts_per_hour": 1_000_000,
    "sessions.completions_per_hour": 1_000_000,
    "device.starts_per_hour": 1_000_000,
    "pages.per_minute": 1_000_000,
    "keys.full_per_account": 100,
    "bookings.open_holds": 100_000,
    "bookings.holds_per_day": 100_000,
    "bookings.cooldown_minutes": 0,
    "catalog.search_waiters": 256,
    "http.connections_per_address": 1_000,
    **COUNTING,
}
"""Limits that no client reaches, although all share the loopback address."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run."""

    faults: list[Fault]
    answers: Answers
    happened: Happened
    after: Stored
    verdict: Verdict


async def run(ground: Ground, seed: int, seconds: float, out: Callable[[str], None], count: int = NODES) -> Report:
    """Inject faults for about `seconds` while `count` nodes serve. This may kill the Postgres of `ground`; it runs again on
    return."""
    without = [] if ground.disk is not None else [Kind.DISK_FULL]
    faults = plan(seed, seconds, without)
    database = ground.postgres.fresh_database()
    happened = Happened()
    happened.planned.update(str(fault.kind) for fault in faults)
    began_ms = SystemClock().now_ms()
    reach_ms = max(map(abs, STEP_SECONDS)) * 1_000 + MINUTE_MS
    with (
        recording(f"chaos-{seed}", clock_ms=reach_ms, visible_ms=VISIBLE_MS) as history,
        ThreadPoolExecutor(1) as starter,
        ExitStack() as services,
    ):
        answers = Answers(history)
        async with proxied(Target(host=str(ground.postgres.sockets), user="catalog", database=database)) as proxy:
            proxy.silence_seconds = SILENCE_SECONDS
            hosts = [proxy.target.host] + [str(ground.postgres.sockets)] * (count - 1)
            nodes = [
                await trio.to_thread.run_sync(_node, services, ground.place, number, f"/{database}?host={host}")
                for number, host in enumerate(hosts)
            ]
            stage = Stage(nodes, ground, proxy, answers, happened, starter)
            async with trio.open_nursery() as watching:
                watching.start_soon(watch_cores, stage.pids, happened.waits)
                stage.setting = await founded(nodes[0].service, answers)
                await _suffer(stage, faults, seed, out)
                await audit(stage.urls, answers, stage.setting)
                watching.cancel_scope.cancel()
            await _stop(stage)
        after = await trio.to_thread.run_sync(read_stored, ground.postgres, database)
    days = range(day_of(began_ms - reach_ms), day_of(SystemClock().now_ms() + reach_ms) + 1)
    hasher = VisitorHasher(derived(SECRET.encode(), "visitors"))
    clients = {client.name for client in (Website, Agent, Person, Sponsor, Visitor, Owner, Customer, Administrator)}
    verdict = judge(answers, happened, after, hasher, days, clients)
    broken, verdict.told = judged(history.path)
    verdict.found += broken
    return Report(faults, answers, happened, after, verdict)


async def _suffer(stage: Stage, faults: list[Fault], seed: int, out: Callable[[str], None]) -> None:
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        usual = clients_of(stage.urls, stage.answers, stage.setting, seed, stop)
        for client in (*usual, *_customers_of(stage.urls, stage.answers, stage.setting, seed, stop)):
            nursery.start_soon(client.run)
        began = trio.current_time()
        for fault in faults:
            made = await suffer(stage, fault)
            stage.happened.faults.append(made)
            healed = max(made.healed_seconds)
            at, took = made.began - began, made.ended - made.began
            out(f"{at:6.1f} s  {fault}: took {took:.1f} s, hits {made.hit}, recovered after {healed:.2f} s")
        stop.set()


def clients_of(
    nodes: Mapping[int, str], answers: Answers, setting: Setting, seed: int, stop: trio.Event
) -> list[Caller]:
    """Create all clients of nodes, given by their URLs, each with its own random stream derived from the seed."""
    first_week = week_of(SystemClock().now_ms()) + WEEK_MS

    def chance(name: str, number: int) -> random.Random:
        return random.Random(f"{name} {number} of {seed}")

    def some(client: type[Caller], count: int, **more: object) -> list[Caller]:
        return [client(nodes, answers, chance(client.name, number), stop, **more) for number in range(count)]

    sponsors = [
        Sponsor(
            nodes,
            answers,
            chance(f"sponsor of {number}", each),
            stop,
            account=account,
            slots=SLOTS,
            first_week_ms=first_week,
        )
        for number, account in enumerate(setting.accounts)
        for each in range(SPONSORS_AN_ACCOUNT)
    ]
    websites = some(Website, WEBSITES, bookings=setting.bookings)
    owners = some(Owner, 1, bookings=setting.bookings, key=setting.accounts[0].key)
    return [*websites, *some(Agent, AGENTS), *some(Person, PERSONS), *some(Visitor, READERS), *owners, *sponsors]


def _customers_of(
    nodes: Mapping[int, str], answers: Answers, setting: Setting, seed: int, stop: trio.Event
) -> list[Caller]:
    """Create a customer of each account, and an administrator."""
    first_week = week_of(SystemClock().now_ms()) + WEEK_MS
    accounts = setting.accounts
    ads = [account.campaign for account in accounts]
    administrator = Administrator(
        nodes, answers, random.Random(f"administrator of {seed}"), stop, key=accounts[0].key, campaigns=ads
    )
    customers = [
        Customer(
            nodes,
            answers,
            random.Random(f"customer {number} of {seed}"),
            stop,
            account=account,
            slots=SLOTS,
            first_week_ms=first_week,
        )
        for number, account in enumerate(accounts)
    ]
    return [administrator, *customers]


async def _stop(stage: Stage) -> None:
    """Stop every node in order, and collect the logs of all their processes."""
    for node in stage.nodes:
        node.service.terminate()
    for node in stage.nodes:
        code = await trio.to_thread.run_sync(node.service.wait)
        stage.happened.exits.append((node.number, code))
        logs = sorted(node.service.err.parent.glob(f"{node.service.data_dir.name}.*.err"))
        stage.happened.complaints += complaints([log.read_text(errors="replace") for log in logs])


def complaints(logs: Collection[str]) -> list[str]:
    """Return the log lines that indicate a bug, each with the lines that follow. A mail that expires is none: clocks are
    stepped by as much as a code lives."""
    found = []
    for log in logs:
        lines = log.splitlines()
        for at, line in enumerate(lines):
            wrong = line.startswith("Traceback") or " error " in line or " critical " in line
            if wrong and not line.endswith("given up: expired"):
                found.append(" | ".join(lines[max(0, at - 1) : at + 40])[:4_000])
    return found


def _node(services: ExitStack, place: Path, number: int, where: str) -> Node:
    steps = Steps.make(place / f"node-{number}.clock")
    settings = {**SETTINGS, "database.url": f"postgresql://catalog@{where}"}
    bind = f"127.0.0.1:{free_port()}"

    def start() -> Service:
        # Only the node reads it, at its start.
        os.environ[VARIABLE] = str(place / f"node-{number}.clock")
        service = serving(place / f"node-{number}", settings, bind=bind, module="tests.chaos.node")
        return services.enter_context(service)

    return Node(number, start(), start, steps)
