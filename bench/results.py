"""Measurements as the tables and plots need them: data and its arithmetic."""

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from bench.ledger import Charges, Recorded
from bench.load import Measured
from bench.programs import CONSTANT, ENGINE
from bench.scenarios import EVENT_KINDS, INSERT, RECORD, Scenario
from bench.usage import Usage


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one program. `size` is the number of events per response, 1 for reads."""

    measured: Measured
    usage: Usage
    size: int = 1

    @property
    def done(self) -> int:
        """Answered requests, or answered events for batches."""
        return self.measured.answers * self.size


Figure = Callable[[Run], float]

FIGURES: dict[str, Figure] = {
    "Throughput": lambda run: run.done / run.measured.seconds,
    "p50": lambda run: run.measured.p50_ms,
    "p99": lambda run: run.measured.p99_ms,
    "CPU": lambda run: 1_000 * run.usage.server_cpu / max(run.done, 1),
    "CPU of Postgres": lambda run: 1_000 * run.usage.postgres_cpu / max(run.done, 1),
    "Peak memory": lambda run: float(run.usage.peak_bytes),
}
"""Figures by their names in the tables. CPU is in seconds per 1,000 requests (batches: events), memory in bytes."""

NOT_COMPARED = {
    **{name: {"CPU of Postgres"} for name in (ENGINE, *CONSTANT)},
    INSERT: {"p50", "p99", "Peak memory"},
    RECORD: {"p50", "p99", "Peak memory"},
}
"""Figures without a meaning: constant responses need no database, and the database's ceilings answer no requests."""


@dataclass(slots=True)
class Cell:
    """All runs of one program in one scenario, and the rows they left in Postgres."""

    runs: list[Run] = field(default_factory=list)
    charges: Charges = field(default_factory=lambda: Charges(0, 0))
    recorded: Recorded = field(default_factory=lambda: Recorded(0, 0, 0))

    def median(self, figure: str) -> float:
        return median(FIGURES[figure](run) for run in self.runs)

    def total(self, what: str) -> int:
        """The sum of a count of `Measured` over all runs."""
        return sum(getattr(run.measured, what) for run in self.runs)


@dataclass(frozen=True, slots=True)
class Ratio:
    """One program's figure divided by another's: from the medians, and the smallest and largest of the rounds."""

    value: float
    low: float
    high: float


@dataclass(slots=True)
class Result:
    """One scenario of all its programs. The runs of one round have the same index in each list."""

    scenario: Scenario
    cells: dict[str, Cell]

    @property
    def subject(self) -> str:
        """The first program, which is compared with the others."""
        return self.scenario.programs[0]

    def ratio(self, other: str, figure: str) -> Ratio | None:
        """The subject's figure divided by that of `other`; None if they cannot be compared."""
        ours, theirs = self.cells[self.subject], self.cells[other]
        of = FIGURES[figure]
        if figure in NOT_COMPARED.get(other, ()) or not all(map(of, theirs.runs)):
            return None
        rounds = [of(mine) / of(their) for mine, their in zip(ours.runs, theirs.runs, strict=True)]
        return Ratio(ours.median(figure) / theirs.median(figure), min(rounds), max(rounds))


@dataclass(frozen=True, slots=True)
class Audit:
    """One run that waited for its last response, and the rows in Postgres.

    For reads: responses, charges, the accountant's transactions (0 for a peer), and all commits of Postgres. For events:
    responses with `recorded: true`, rows, the deduper's transactions, and the sum of the counts.
    """

    program: str
    load: str
    answers: int
    failures: int
    said: int
    kept: int
    counted: int
    transactions: int
    commits: int | None = None

    @property
    def exact(self) -> bool:
        return self.said == self.kept == self.counted


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether Postgres has everything answered, and beyond it at most the requests in flight when the runs ended."""

    said: int
    kept: int
    counted: int
    most_in_flight: int

    @property
    def right(self) -> bool:
        return self.kept == self.counted and 0 <= self.kept - self.said <= self.most_in_flight


def verdict(result: Result, name: str) -> Verdict | None:
    """None if nothing is counted: for keyless reads and the bare engine."""
    scenario, cell = result.scenario, result.cells[name]
    requests = scenario.connections * len(cell.runs) + cell.total("failures")
    if scenario.kind in EVENT_KINDS:
        if not cell.recorded.rows:
            return None
        counted = cell.recorded.rows if name == INSERT else cell.recorded.counted
        return Verdict(cell.total("recorded"), cell.recorded.rows, counted, requests * scenario.size)
    if not scenario.keys:
        return None
    return Verdict(cell.total("answers"), cell.charges.counted, cell.charges.counted, requests)


@dataclass(frozen=True, slots=True)
class Setting:
    """The environment of the figures. Names no machine."""

    entries: int
    bookings: int
    rounds: int
    seconds: float
    generator: str
    postgres: str
    python: str
    kernel: str
    cores: int
