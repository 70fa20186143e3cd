"""From runs to the tables: ratios of runs that lay side by side, and what was counted against what was answered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.ledger import Batches
from bench.load import Measured

OURS = "service"
WRONG = "WRONG"
"""Stands in the verdict of a count that does not fit."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """An operation under one kind of load. `keys` 0 is keyless."""

    title: str
    keys: int
    connections: int


@dataclass(slots=True)
class Cell:
    """All runs of one program in one scenario."""

    runs: list[Measured] = field(default_factory=list)
    counted: int = 0
    """Requests that were counted in Postgres in these runs."""

    @property
    def answers(self) -> int:
        return sum(run.answers for run in self.runs)

    @property
    def failures(self) -> int:
        return sum(run.failures for run in self.runs)

    @property
    def surplus(self) -> int:
        """Requests that were counted and not seen answered: in flight when a run ended."""
        return self.counted - self.answers


@dataclass(slots=True)
class Result:
    """One scenario over all programs; the runs of one round lie at the same place of each list."""

    scenario: Scenario
    cells: dict[str, Cell]
    transactions: int = 0
    batches: Batches = field(default_factory=Batches)

    def ratios(self, peer: str, what: str) -> list[float]:
        """The service's figure over the peer's, for each round."""
        pairs = zip(self.cells[OURS].runs, self.cells[peer].runs, strict=True)
        return [getattr(ours, what) / max(getattr(theirs, what), 1e-9) for ours, theirs in pairs]


@dataclass(frozen=True, slots=True)
class Audit:
    """One run that waited for its last answer: what was answered, what was counted, and the commits it took.

    `batches` are those of the service's accountant, 0 for a peer; `commits` are all of Postgres.
    """

    program: str
    answers: int
    failures: int
    counted: int
    batches: int
    commits: int


@dataclass(frozen=True, slots=True)
class Setting:
    """What the figures depend on."""

    entries: int
    rounds: int
    seconds: float
    generator: str
    postgres: str
    python: str
    cores: int
    peers: tuple[str, ...]


def published(setting: Setting, results: Sequence[Result], audits: Sequence[Audit]) -> str:
    """The Markdown that may be published: ratios and counts, no time of one machine."""
    parts = [_setting(setting), _ratios(setting, results), _group_commit(results), _counts(results)]
    if audits:
        parts.append(_audits(audits))
    return "\n\n".join(parts) + "\n"


def absolute(results: Sequence[Result]) -> str:
    """The figures behind the ratios, for whoever sits at this machine."""
    rows = [
        (
            result.scenario.title,
            _keys(result.scenario),
            result.scenario.connections,
            name,
            f"{median(run.rate for run in cell.runs):,.0f}",
            f"{median(run.p50_ms for run in cell.runs):.1f}",
            f"{median(run.p99_ms for run in cell.runs):.1f}",
        )
        for result in results
        for name, cell in result.cells.items()
    ]
    return "Of this machine at this hour, not for publication (median of the rounds):\n\n" + _table(
        ("Operation", "Keys", "Connections", "Program", "Answers/s", "p50 ms", "p99 ms"), rows
    )


def _setting(setting: Setting) -> str:
    return (
        f"Ratios of one run: {setting.entries:,} catalog entries, {setting.rounds} interleaved rounds of "
        f"{setting.seconds:g} s each, load by {setting.generator}, {setting.cores} cores, Python {setting.python}, "
        f"PostgreSQL {setting.postgres}. Ratios are service / peer: the median of the rounds, and in brackets their range."
    )


def _ratios(setting: Setting, results: Sequence[Result]) -> str:
    head = ["Operation", "Keys", "Connections"]
    for peer in setting.peers:
        head += [f"Throughput / {peer}", f"p50 / {peer}", f"p99 / {peer}"]
    rows = []
    for result in results:
        row: list[object] = [result.scenario.title, _keys(result.scenario), result.scenario.connections]
        for peer in setting.peers:
            row += [_spread(result.ratios(peer, what)) for what in ("rate", "p50_ms", "p99_ms")]
        rows.append(row)
    return "## Ratios\n\nThroughput above 1 and latency below 1 are in the service's favour.\n\n" + _table(head, rows)


def _group_commit(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        if not result.transactions:
            continue
        cell, batches = result.cells[OURS], result.batches
        seconds = sum(run.seconds for run in cell.runs)
        rows.append(
            (
                result.scenario.title,
                _keys(result.scenario),
                result.scenario.connections,
                f"{cell.counted / result.transactions:.1f}",
                f"{batches.messages / max(batches.batches, 1):.1f}",
                f"{batches.small / max(batches.batches, 1):.1%}",
                f"{result.transactions / seconds:.1f}",
            )
        )
    head = (
        "Operation",
        "Keys",
        "Connections",
        "Charges a transaction (Postgres)",
        "Messages a batch (/metrics)",
        "Batches of 20 or fewer",
        "Commits/s",
    )
    return (
        "## Group commit\n\nCharges from the tenants' counters, transactions from the journal that each batch writes; "
        "the peers commit once a charge.\n\n" + _table(head, rows)
    )


def _counts(results: Sequence[Result]) -> str:
    rows = [
        (
            result.scenario.title,
            _keys(result.scenario),
            result.scenario.connections,
            name,
            cell.answers,
            cell.failures,
            cell.counted,
            _verdict(result, cell),
        )
        for result in results
        if result.scenario.keys
        for name, cell in result.cells.items()
    ]
    head = ("Operation", "Keys", "Connections", "Program", "Answered", "Failed", "Counted in Postgres", "Verdict")
    return (
        "## Counts\n\nA run that ends leaves at most one request in flight on each connection: counted, never seen "
        "answered.\n\n" + _table(head, rows)
    )


def _verdict(result: Result, cell: Cell) -> str:
    most = result.scenario.connections * len(cell.runs) + cell.failures
    if cell.surplus == 0:
        return "equal"
    return f"+{cell.surplus} in flight (at most {most})" if 0 < cell.surplus <= most else f"{WRONG} by {cell.surplus}"


def _audits(audits: Sequence[Audit]) -> str:
    rows = [
        (
            audit.program,
            audit.answers,
            audit.failures,
            audit.counted,
            "equal" if audit.answers == audit.counted else f"{WRONG} by {audit.counted - audit.answers}",
            f"{audit.counted / audit.batches:.1f}" if audit.batches else "1",
            audit.commits,
        )
        for audit in audits
    ]
    head = ("Program", "Answered", "Failed", "Counted", "Verdict", "Charges a transaction", "All commits of Postgres")
    return (
        "## The same, exactly\n\nOne run each with 64 keys that waits for its last answer, and `xact_commit` of "
        "`pg_stat_database` around it. That counts every transaction, also those that write nothing: the service's look "
        "at the catalog's revision twice a second, and what the pool of `models` sends when a connection goes back.\n\n"
        + _table(head, rows)
    )


def _keys(scenario: Scenario) -> str:
    return str(scenario.keys) if scenario.keys else "none"


def _spread(ratios: Sequence[float]) -> str:
    if len(ratios) == 1:
        return f"{ratios[0]:.2f}"
    return f"**{median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f})"


def _table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    lines = [[_shown(cell) for cell in row] for row in (head, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
