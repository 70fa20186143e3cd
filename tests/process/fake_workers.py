"""Fake workers that start and end as a test plans. All events are recorded with their time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import trio

from service.observability.health import Report
from service.process.supervisor import WorkerFailed, WorkerRefused


@dataclass(frozen=True, slots=True)
class Plan:
    """The behaviour of a worker."""

    start_seconds: float = 1.0
    failure: str = ""
    """If set, it fails with this text instead of becoming ready."""
    refused: bool = False
    """Whether it says so itself, and does not die."""
    life_seconds: float = inf
    """Time from ready until it dies by itself."""
    end_seconds: float = 2.0
    """Time from `end` until it exits."""
    report_seconds: float = 0.1
    """Time to answer a question for its report."""
    how: str = "exited with code 0"
    """How it ends once it is stopped."""


class FakeWorker:
    """A worker, launched when created. `name` is its number and its generation, for example `2b`."""

    def __init__(self, launcher: "FakeLauncher", name: str, plan: Plan) -> None:
        self.name = name
        self._launcher = launcher
        self._plan = plan
        self._launched = trio.current_time()
        self._dies_at = self._launched + plan.start_seconds + plan.life_seconds
        self._told = trio.Event()
        self.dead = trio.Event()

    async def live(self) -> None:
        with trio.move_on_at(self._dies_at):
            await self._told.wait()
            with trio.move_on_after(self._plan.end_seconds):
                await self.dead.wait()
        self._die("gone")

    def _die(self, how: str) -> None:
        if not self.dead.is_set():
            self._launcher.note(how, self.name)
            self.dead.set()

    async def until_ready(self) -> None:
        await trio.sleep_until(self._launched + self._plan.start_seconds)
        if self._plan.failure:
            raise (WorkerRefused if self._plan.refused else WorkerFailed)(self._plan.failure)
        self._launcher.note("ready", self.name)

    async def report(self) -> Report:
        await trio.sleep(self._plan.report_seconds)
        if self.dead.is_set():
            raise WorkerFailed("has ended")
        return Report(f"metrics of {self.name}", [])

    async def until_dead(self) -> str:
        await self.dead.wait()
        return self._plan.how

    def end(self) -> None:
        self._launcher.note("stopped", self.name)
        self._told.set()

    def retire(self) -> None:
        self._launcher.note("retired", self.name)
        self.end()

    def kill(self) -> None:
        self._die("killed")


@dataclass(slots=True)
class FakeLauncher:
    """Launches fake workers."""

    nursery: trio.Nursery
    plan: Callable[[str], Plan] = lambda name: Plan()
    notes: list[tuple[float, str, str]] = field(default_factory=list)
    workers: dict[str, FakeWorker] = field(default_factory=dict)

    async def launch(self, number: int) -> FakeWorker:
        generation = sum(1 for name in self.workers if name[:-1] == str(number))
        name = f"{number}{'abcdefghijklmnopqrstuvwxyz'[min(generation, 25)]}"
        worker = self.workers[name] = FakeWorker(self, name, self.plan(name))
        self.note("launched", name)
        self.nursery.start_soon(worker.live)
        return worker

    def give_up_queue(self, number: int) -> None:
        self.note("queue given up", str(number))

    def note(self, what: str, whom: str) -> None:
        self.notes.append((trio.current_time(), what, whom))

    def when(self, what: str) -> list[tuple[float, str]]:
        """The time and the worker of each event of one kind."""
        return [(at, whom) for at, noted, whom in self.notes if noted == what]

    @property
    def alive(self) -> list[str]:
        return sorted(name for name, worker in self.workers.items() if not worker.dead.is_set())
