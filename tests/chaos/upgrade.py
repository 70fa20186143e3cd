"""An upgrade without downtime: two nodes of the previous release are replaced, one after the other, under the clients of a
chaos run, and the database is migrated meanwhile. Then the history of all answers is judged, and what is stored.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from actors.clock import SystemClock, day_of
from actors.events.state import VisitorHasher
from service.running.server_secret import derived
from tests.acceptance.postgres import PostgresServer, free_port
from tests.acceptance.processes import SECRET, Service, Settings, command, serving
from tests.chaos.agents import Agent, Person
from tests.chaos.auditor import audit
from tests.chaos.campaign import SETTINGS, clients_of, complaints
from tests.chaos.cores import watch_cores
from tests.chaos.history import Answers, Happened, Span
from tests.chaos.judge import Verdict, judge
from tests.chaos.readers import Owner, Visitor
from tests.chaos.recording import judged, recording
from tests.chaos.releases import Release
from tests.chaos.setting import Setting, founded
from tests.chaos.sponsors import Sponsor
from tests.chaos.stored import read_stored
from tests.chaos.websites import Website

NODES = 2
OF_THE_LAST: Settings = {"catalog.waiters_per_caller": 64}
"""Settings that only the last release has, for clients that share the loopback address."""
STEP_SECONDS = 4.0
"""How long clients go on between two steps."""


@dataclass(slots=True)
class Upgraded:
    """The outcome of an upgrade."""

    verdict: Verdict
    answers: Answers
    unavailable: Counter[str] = field(default_factory=Counter)
    """Answers of 5xx, by the step in which they came."""


@dataclass(slots=True)
class Upgrade:
    """Nodes of either release on one database, each at its address."""

    postgres: PostgresServer
    place: Path
    release: Release
    services: ExitStack
    out: Callable[[str], None]
    database: str = "upgraded"
    ports: list[int] = field(default_factory=lambda: [free_port() for _ in range(NODES)])
    nodes: list[Service] = field(default_factory=list)
    answers: Answers = field(default_factory=Answers)
    happened: Happened = field(default_factory=Happened)
    unavailable: Counter[str] = field(default_factory=Counter)

    async def run(self, seed: int) -> Upgraded:
        """Upgrade under load, and judge it."""
        self.postgres.ask(f"create database {self.database}", database="postgres")
        began_ms = SystemClock().now_ms()
        self.nodes = [await trio.to_thread.run_sync(self._old, number) for number in range(NODES)]
        # Nodes of the last release know no unit, so that nobody knows whether two visitors of a day are one.
        with recording("upgrade", address="") as history:
            self.answers.recording, self.answers.unit_ignored = history, True
            setting = await founded(self.nodes[0], self.answers)
            async with trio.open_nursery() as watching:
                watching.start_soon(watch_cores, self._pids, self.happened.waits)
                await self._under_load(setting, seed)
                watching.cancel_scope.cancel()
            await audit(self._urls(), self.answers, setting)
        for number in range(NODES):
            await self._end(number)
            # The log of the last release cannot be corrected any more. Its answers count.
            self.happened.complaints += complaints([self.nodes[number].log()])
        after = await trio.to_thread.run_sync(read_stored, self.postgres, self.database)
        days = range(day_of(began_ms), day_of(SystemClock().now_ms()) + 1)
        hasher = VisitorHasher(derived(SECRET.encode(), "visitors"))
        clients = {client.name for client in (Website, Agent, Person, Sponsor, Visitor, Owner)}
        verdict = judge(self.answers, self.happened, after, hasher, days, clients)
        broken, verdict.told = judged(history.path)
        verdict.found += broken
        self.out(
            f"{self.answers.requests} requests, {len(self.answers.recorded)} events, {len(self.answers.keys)} keys"
        )
        for line in (*verdict.told, *verdict.found):
            self.out(line)
        return Upgraded(verdict, self.answers, self.unavailable)

    async def _under_load(self, setting: Setting, seed: int) -> None:
        stop = trio.Event()
        async with trio.open_nursery() as nursery:
            for client in clients_of(self._urls(), self.answers, setting, seed, stop):
                if isinstance(client, Website):
                    client.names_clients = False
                nursery.start_soon(client.run)
            await self._step("the previous release alone")
            await self._step("migrating", self._migrate)
            await self._step("the previous release on the migrated database")
            for number in range(NODES):
                await self._step(f"replacing node {number}", partial(self._replace, number))
                await self._step("both releases" if number + 1 < NODES else "this release alone")
            stop.set()

    async def _step(self, name: str, act: Callable[[], Awaitable[None]] | None = None) -> None:
        """Do something, or let clients go on, and count what was unavailable meanwhile."""
        before, began = self._refused(), trio.current_time()
        if act is None:
            await trio.sleep(STEP_SECONDS)
        else:
            await act()
        self.unavailable[name] = self._refused() - before
        self.out(f"{name}: {trio.current_time() - began:.1f} s, {self.unavailable[name]} answers of 5xx")

    def _refused(self) -> int:
        counts = self.answers.outcomes.values()
        return sum(count for each in counts for outcome, count in each.items() if outcome.startswith("5"))

    def _urls(self) -> dict[int, str]:
        return {number: node.url for number, node in enumerate(self.nodes)}

    def _pids(self) -> dict[int, int]:
        return {number: node.process.pid for number, node in enumerate(self.nodes)}

    def _settings(self) -> Settings:
        return {**SETTINGS, "database.url": self.postgres.url(self.database)}

    def _old(self, number: int) -> Service:
        bind, settings = f"127.0.0.1:{self.ports[number]}", self.release.known({**self._settings(), **OF_THE_LAST})
        place, python = self.place / f"old-{number}", str(self.release.python)
        node = Service(place, settings, bind=bind, python=python, home=self.release.source)
        self.services.callback(node.kill)
        node.wait_ready()
        return node

    def _new(self, number: int) -> Service:
        place, bind = self.place / f"new-{number}", f"127.0.0.1:{self.ports[number]}"
        return self.services.enter_context(serving(place, self._settings(), bind=bind))

    async def _migrate(self) -> None:
        await trio.to_thread.run_sync(lambda: command("migrate", settings=self._settings()))

    async def _replace(self, number: int) -> None:
        began = trio.current_time()
        await self._end(number)
        self.nodes[number] = await trio.to_thread.run_sync(self._new, number)
        self.happened.down.append(Span(number, began, trio.current_time()))

    async def _end(self, number: int) -> None:
        node = self.nodes[number]
        node.terminate()
        self.happened.exits.append((number, await trio.to_thread.run_sync(node.wait)))
