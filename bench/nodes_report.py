"""What three nodes were to one, in Markdown: ratios, shares of the machine's cores, counts, and what kept it from growing."""

from collections.abc import Sequence
from statistics import median

from bench.report import WRONG, counts, place, shown_ratio, table
from bench.results import Cell, Result, Run, Setting

FIGURES = ("Throughput", "CPU", "CPU of Postgres", "p99")
FULL = 0.9
"""A machine, or a core, that is busy for more of the time than this has nothing left to give."""
SHARED = 0.25
"""What others take of a machine that is not for this measurement alone, or more."""


def published(setting: Setting, results: Sequence[Result], deadlocks: int) -> str:
    """The Markdown that may be published: ratios, shares and counts."""
    parts = [
        _setting(setting),
        _growth(results),
        _cores(results, setting.cores),
        _group_commit(results),
        counts(results),
    ]
    words = f"{WRONG}: {deadlocks:,}" if deadlocks else "0"
    return "\n\n".join([*parts, f"## Deadlocks\n\nThat Postgres has ended in all of this: {words}."]) + "\n"


def _setting(setting: Setting) -> str:
    return (
        f"Ratios of one run: {setting.entries:,} catalog entries, {setting.bookings} bookings that events are about, "
        f"{setting.rounds} interleaved rounds of {setting.seconds:g} s each, load by three of {setting.generator}; "
        f"{setting.cores} cores for all of it, Python {setting.python}, PostgreSQL {setting.postgres}, Linux "
        f"{setting.kernel}. Ratios are three nodes / one node: of the medians of all rounds, and in brackets the smallest "
        "and the largest within one round."
    )


def _growth(results: Sequence[Result]) -> str:
    rows = [
        (*place(result), *(shown_ratio(result.ratio(other, figure)) for figure in FIGURES))
        for result in results
        for other in result.scenario.programs[1:]
    ]
    return (
        "## Three nodes over one\n\nCPU is of the nodes together and of Postgres for the same number of requests (of events, "
        "for batches); p99 is that of the slowest generator.\n\n"
        + table(("Operation", "Load", "Connections", *FIGURES), rows)
    )


def _cores(results: Sequence[Result], cores: int) -> str:
    rows = []
    for result in results:
        for name, cell in result.cells.items():
            spent = shares(cell, cores)
            rows.append((*place(result), name, *(f"{share:.0%}" for share in spent.values()), limit(cell, cores)))
    head = ("Operation", "Load", "Connections", "Who", "Nodes", "Postgres", "Generators", "Others", "Limited by")
    return (
        f"## Where the cores went\n\nShares of the time of all {cores} cores, medians of the rounds. What others on the "
        "machine take includes the kernel's own work and nodes that are not asked. Limited by the machine means that its "
        "cores are full, so that no number of nodes brings more on it.\n\n" + table(head, rows)
    )


def shares(cell: Cell, cores: int) -> dict[str, float]:
    """Who has had how much of the machine: nodes, Postgres, generators, others; 1 is all of it."""

    def of(run: Run) -> tuple[float, float, float, float]:
        generators = run.measured.generator_cpu * run.measured.seconds
        known = (run.usage.server_cpu, run.usage.postgres_cpu, generators)
        return (*known, max(run.usage.machine_cpu - sum(known), 0.0))

    whole = [cores * run.usage.seconds for run in cell.runs]
    spent = zip(*map(of, cell.runs), strict=True)
    names = ("nodes", "Postgres", "generators", "others")
    return {
        name: median(seconds / all_of_it for seconds, all_of_it in zip(each, whole, strict=True))
        for name, each in zip(names, spent, strict=True)
    }


def limit(cell: Cell, cores: int) -> str:
    """What had nothing left to give, as far as the use of cores tells."""
    spent = shares(cell, cores)
    if sum(spent.values()) >= FULL:
        return "the machine" if spent["others"] < SHARED else "the machine, which others use"
    if max(spent.values()) * cores >= FULL:
        return f"a core of the {max(spent, key=spent.__getitem__)}"
    return "waiting for commits"


def _group_commit(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        for name, cell in result.cells.items():
            done = cell.charges.counted + cell.recorded.rows
            transactions = cell.charges.transactions + cell.recorded.transactions
            if transactions:
                rows.append((*place(result), name, f"{done / transactions:.1f}"))
    return (
        "## Group commit\n\nCharges or events in one transaction: the same load in more mailboxes makes smaller batches.\n\n"
        + table(("Operation", "Load", "Connections", "Who", "In one transaction"), rows)
    )
