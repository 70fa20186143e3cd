"""A campaign: many seeds on all cores, with progress, a summary of what they met, and a record of each failed seed."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, takewhile
from multiprocessing import cpu_count, get_context
from pathlib import Path

from tests.simulation.faults import BASE_RATES
from tests.simulation.rules import Scene
from tests.simulation.scenes import AREAS
from tests.simulation.world import Report, run

SECONDS = 30.0
"""Virtual seconds that each seed of a campaign runs."""
ENOUGH_SEEDS = 200
"""From this many seeds on, a campaign of all scenes has to meet everything."""
SOMETIMES = (*(f"fault {kind}" for kind in BASE_RATES), *(each for area in AREAS for each in area.sometimes))
TOLD = (
    "transitions told",
    "steps of schedules",
    "mails of the ledger",
    "webhook_events of the ledger",
    "deliveries queued",
    "invoices and credit notes",
)
PROGRESS_SECONDS = 10.0
SHOWN_VIOLATIONS = 5
SEEDS_OF_A_PROCESS = 250
"""Replace a process after this many seeds, so that what runs leave behind does not add up overnight."""
REGRESSIONS = Path(__file__).with_name("regressions.txt")

Out = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Regression:
    """A seed that failed once: one line of `regressions.txt`."""

    seed: int
    scene: Scene
    seconds: float

    def __str__(self) -> str:
        return f"{self.seed} {self.scene} {self.seconds:g}"

    @property
    def command(self) -> str:
        return f"python -m tests.simulation --seed {self.seed} --scene {self.scene} --seconds {self.seconds:g}"


def kept(path: Path = REGRESSIONS) -> list[Regression]:
    """Return the seeds listed in the file."""
    lines = [line.partition("#")[0].split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [Regression(int(seed), Scene(scene), float(seconds)) for seed, scene, seconds in filter(None, lines)]


def keep(regression: Regression, why: str, path: Path = REGRESSIONS) -> None:
    """Add a seed to the file unless it is already there."""
    if regression not in kept(path):
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{regression}  # {why[:160]}\n")


@dataclass(slots=True, eq=False)
class Summary:
    """Totals of everything that the seeds of a campaign met."""

    seconds: float
    seeds: dict[Scene, int] = field(default_factory=lambda: dict.fromkeys(Scene, 0))
    failed: list[int] = field(default_factory=list)
    steps: int = 0
    operations: int = 0
    requests: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def number(self) -> int:
        return sum(self.seeds.values())

    def add(self, report: Report) -> None:
        self.seeds[report.scene] += 1
        self.steps += report.trace.steps
        self.operations += report.operations
        self.requests += report.requests
        if report.violations:
            self.failed.append(report.seed)
        for what, count in report.counts.items():
            self.counts[what] = self.counts.get(what, 0) + count

    def missed(self) -> list[str]:
        """Return everything on the required list that was never met."""
        return [what for what in SOMETIMES if not self.counts.get(what)]

    def lines(self, *, everything: bool = False) -> Iterator[str]:
        """Yield the totals, then the faults and refusals with their counts, or all counts."""
        scenes = ", ".join(f"{number} {scene}" for scene, number in self.seeds.items() if number)
        yield f"{self.number} seeds of {self.seconds:g} s ({scenes}): {self.steps:,} steps"
        yield f"{self.requests:,} requests, {self.operations:,} operations, {self.kills:,} kills"
        yield self.told()
        for heading in ("fault ", "" if everything else "refused"):
            names = [what for what in sorted(self.counts) if heading in what and (heading or "fault " not in what)]
            yield f"{heading.strip() or 'counted'}:"
            yield from (f"  {self.counts[what]:>9,}  {what.removeprefix('fault ')}" for what in names)

    @property
    def kills(self) -> int:
        return sum(count for what, count in self.counts.items() if what.startswith("fault ") and "killed" in what)

    def told(self) -> str:
        """Say what the ledger has told, which the oracle has compared with its transitions one by one."""
        return ", ".join(f"{self.counts.get(what, 0):,} {what}" for what in TOLD)


def reports(
    seeds: Iterable[int], seconds: float, scene: Scene | None, bug: str | None, workers: int
) -> Iterator[Report]:
    """Yield a report of each seed as it finishes. Each process has its own string hashes."""
    work, waiting = partial(run, seconds=seconds, scene=scene, bug=bug), iter(seeds)
    with ProcessPoolExecutor(workers, get_context("spawn"), max_tasks_per_child=SEEDS_OF_A_PROCESS) as pool:
        running = {pool.submit(work, seed): seed for seed in islice(waiting, 2 * workers)}
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=running.__getitem__):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    raise SystemExit(
                        f"a process ended by itself; under way were the seeds {sorted(running.values())}"
                    ) from None
                del running[future]
                running.update((pool.submit(work, seed), seed) for seed in islice(waiting, 1))


def campaign(
    seeds: Iterable[int],
    out: Out,
    *,
    seconds: float = SECONDS,
    scene: Scene | None = None,
    bug: str | None = None,
    workers: int = 0,
    regressions: Path = REGRESSIONS,
    everything: bool = False,
    kills: int | None = None,
) -> bool:
    """Run all seeds, or seeds until `kills` nodes were killed. Returns True if every promise was kept and, with enough seeds,
    everything required was met.

    A failing seed is printed at once with the command that replays it, and added to `regressions` unless a bug was
    planted.
    """
    began, told = time.perf_counter(), 0.0
    summary = Summary(seconds)
    wanted = takewhile(lambda seed: kills is None or summary.kills < kills, seeds)
    for report in reports(wanted, seconds, scene, bug, workers or cpu_count()):
        summary.add(report)
        if report.violations:
            _tell(report, seconds, bug, out)
            if bug is None:
                keep(Regression(report.seed, report.scene, seconds), report.violations[0], regressions)
        passed = time.perf_counter() - began
        if passed >= told + PROGRESS_SECONDS:
            told = passed
            out(f"{summary.number} seeds, {summary.kills:,} kills, {len(summary.failed)} failed, {passed:.0f} s\n")
    out("".join(f"{line}\n" for line in summary.lines(everything=everything)))
    missed = summary.missed() if scene is None and bug is None and summary.number >= ENOUGH_SEEDS else []
    out("".join(f"never met: {what}\n" for what in missed))
    out(f"{summary.number} seeds, {len(summary.failed)} failed, {time.perf_counter() - began:.1f} s\n")
    return not summary.failed and not missed


def _tell(report: Report, seconds: float, bug: str | None, out: Out) -> None:
    planted = f" --bug {bug}" if bug else ""
    out(f"seed {report.seed} ({report.scene}) failed: {len(report.violations)} violations\n")
    out("".join(f"  {violation}\n" for violation in report.violations[:SHOWN_VIOLATIONS]))
    out(f"  again: {Regression(report.seed, report.scene, seconds).command}{planted}\n")
