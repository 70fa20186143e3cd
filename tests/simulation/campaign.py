"""A campaign: many seeds on all cores, with progress, a summary of what they met, and a record of each failed seed.

A campaign that takes days is run in pieces: `Record` is a file of the blocks of seeds that were run.
"""

import csv
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice, takewhile
from multiprocessing import cpu_count, get_context
from pathlib import Path

from tests.simulation.faults import BASE_RATES
from tests.simulation.rules import Scene
from tests.simulation.scenes import AREAS, scene_of
from tests.simulation.world import Report, run

SECONDS = 30.0
"""Virtual seconds that each seed of a campaign runs."""
ENOUGH_SEEDS = 200
"""From this many seeds on, a campaign of all scenes has to meet everything."""
SOMETIMES = (*(f"fault {kind}" for kind in BASE_RATES), *(each for area in AREAS for each in area.sometimes))
NOTIFIED = (
    "transitions notified",
    "steps of schedules",
    "mails of the ledger",
    "webhook events",
    "deliveries queued",
    "invoices and credit notes",
)
PROGRESS_SECONDS = 10.0
MOST_VIOLATIONS = 5
SEEDS_OF_A_PROCESS = 250
"""Replace a process after this many seeds, so that what runs leave behind does not add up overnight."""
REGRESSIONS = Path(__file__).with_name("regressions.txt")
BLOCK = 50
"""Seeds of a line of a record. A campaign that is interrupted runs again those of the blocks that it had begun."""

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


def regressions(path: Path = REGRESSIONS) -> list[Regression]:
    """Return the seeds listed in the file."""
    lines = [line.partition("#")[0].split() for line in path.read_text(encoding="utf-8").splitlines()]
    return [Regression(int(seed), Scene(scene), float(seconds)) for seed, scene, seconds in filter(None, lines)]


def add_regression(regression: Regression, why: str, path: Path = REGRESSIONS) -> None:
    """Add a seed to the file unless it is already there."""
    if regression not in regressions(path):
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{regression}  # {' '.join(why.split())[:160]}\n")


@dataclass(frozen=True, slots=True)
class Block:
    """A line of a record: seeds that ran, each for `seconds` in the scene whose turn it was, and what became of them."""

    first: int
    last: int
    commit: str
    """Of the checkout that ran; with a `+` if its programs had changes."""
    seconds: float
    requests: int
    kills: int
    failed: tuple[int, ...]

    @classmethod
    def of(cls, row: Sequence[str]) -> "Block":
        first, last, commit, seconds, requests, kills, failed = row
        seeds = tuple(map(int, failed.split()))
        return cls(int(first), int(last), commit, float(seconds), int(requests), int(kills), seeds)

    @property
    def seeds(self) -> range:
        return range(self.first, self.last + 1)


class Record:
    """A file of CSV with a line for each block of seeds that was run, so that a campaign can go on another day. `missing` has
    those of `seeds` that no line has that ran for as long, by whatever commit."""

    def __init__(self, path: Path, commit: str, seeds: range, seconds: float) -> None:
        self._path, self._commit, self._seconds = path, commit, seconds
        done = {seed for block in self.blocks() if block.seconds == seconds for seed in block.seeds}
        self.missing = [seed for seed in seeds if seed not in done]
        blocks = groupby(enumerate(self.missing), lambda place: (place[1] - place[0], place[1] // BLOCK))
        self._waiting = [{seed for _, seed in block} for _, block in blocks]
        self._reports: dict[int, Report] = {}

    def blocks(self) -> list[Block]:
        if not self._path.exists():
            return []
        with self._path.open(encoding="utf-8", newline="") as file:
            return [Block.of(row) for row in csv.reader(file) if row != [*Block.__slots__]]

    def add(self, report: Report) -> None:
        """Write the block of the report, once each of its seeds has one."""
        self._reports[report.seed] = report
        block = next(each for each in self._waiting if report.seed in each)
        if not block <= self._reports.keys():
            return
        self._waiting.remove(block)
        summary = Summary(self._seconds)
        for seed in sorted(block):
            summary.add(self._reports.pop(seed))
        failed = " ".join(map(str, summary.failed))
        rows = [] if self._path.exists() else [Block.__slots__]
        numbers = min(block), max(block), self._commit, f"{self._seconds:g}", summary.requests, summary.kills
        with self._path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([*rows, (*numbers, failed)])

    def lines(self) -> Iterator[str]:
        """Yield the sums of the whole file."""
        blocks = self.blocks()
        scenes = Counter(scene_of(seed) for block in blocks for seed in block.seeds)
        failed = [seed for block in blocks for seed in block.failed]
        yield f"recorded: {scenes.total():,} seeds ({', '.join(f'{scenes[scene]:,} {scene}' for scene in Scene)})"
        requests, kills = sum(block.requests for block in blocks), sum(block.kills for block in blocks)
        yield f"{requests:,} requests, {kills:,} kills, {len(failed)} failed: {', '.join(map(str, failed)) or 'none'}"
        yield f"at {', '.join(dict.fromkeys(block.commit for block in blocks))}"


def commit_of_this_checkout() -> str:
    """Return the commit, with a `+` if programs differ from it."""

    def git(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )

    changed = git("diff", "--quiet", "HEAD", "--", ":/*.py", ":/*.sql", ":/*.html").returncode
    return git("rev-parse", "--short=10", "HEAD").stdout.strip() + ("+" if changed else "")


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
        """Return everything on the required list, or counted as zero, that was never met."""
        return [what for what in dict.fromkeys((*SOMETIMES, *self.counts)) if not self.counts.get(what)]

    def lines(self, *, everything: bool = False) -> Iterator[str]:
        """Yield the totals, then the faults and refusals with their counts, or all counts."""
        scenes = ", ".join(f"{number} {scene}" for scene, number in self.seeds.items() if number)
        yield f"{self.number} seeds of {self.seconds:g} s ({scenes}): {self.steps:,} steps"
        yield f"{self.requests:,} requests, {self.operations:,} operations, {self.kills:,} kills"
        yield self.notified()
        for heading in ("fault ", "" if everything else "refused"):
            names = [what for what in sorted(self.counts) if heading in what and (heading or "fault " not in what)]
            yield f"{heading.strip() or 'counted'}:"
            yield from (f"  {self.counts[what]:>9,}  {what.removeprefix('fault ')}" for what in names)

    @property
    def kills(self) -> int:
        return sum(count for what, count in self.counts.items() if what.startswith("fault ") and "killed" in what)

    def notified(self) -> str:
        """The mails and webhook events that the oracle has compared with the transitions of the ledger one by one."""
        return ", ".join(f"{self.counts.get(what, 0):,} {what}" for what in NOTIFIED)


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
    to: Path = REGRESSIONS,
    everything: bool = False,
    kills: int | None = None,
    record: Record | None = None,
) -> bool:
    """Run all seeds, or seeds until `kills` nodes were killed. Returns True if every promise held and, with enough seeds,
    everything required was met.

    With a `record`, the seeds are those that it misses. A failing seed is printed at once with the command that replays it,
    and added to the file `to` unless a bug was planted.
    """
    began, reported = time.perf_counter(), 0.0
    summary = Summary(seconds)
    wanted = takewhile(lambda seed: kills is None or summary.kills < kills, record.missing if record else seeds)
    for report in reports(wanted, seconds, scene, bug, workers or cpu_count()):
        summary.add(report)
        if record is not None:
            record.add(report)
        if report.violations:
            _report(report, seconds, bug, out)
            if bug is None:
                add_regression(Regression(report.seed, report.scene, seconds), report.violations[0], to)
        passed = time.perf_counter() - began
        if passed >= reported + PROGRESS_SECONDS:
            reported = passed
            out(f"{summary.number} seeds, {summary.kills:,} kills, {len(summary.failed)} failed, {passed:.0f} s\n")
    out("".join(f"{line}\n" for line in summary.lines(everything=everything)))
    missed = summary.missed() if scene is None and bug is None and summary.number >= ENOUGH_SEEDS else []
    out("".join(f"never met: {what}\n" for what in missed))
    out("".join(f"{line}\n" for line in record.lines()) if record else "")
    out(f"{summary.number} seeds, {len(summary.failed)} failed, {time.perf_counter() - began:.1f} s\n")
    return not summary.failed and not missed


def _report(report: Report, seconds: float, bug: str | None, out: Out) -> None:
    planted = f" --bug {bug}" if bug else ""
    out(f"seed {report.seed} ({report.scene}) failed: {len(report.violations)} violations\n")
    out("".join(f"  {violation}\n" for violation in report.violations[:MOST_VIOLATIONS]))
    out(f"  again: {Regression(report.seed, report.scene, seconds).command}{planted}\n")
