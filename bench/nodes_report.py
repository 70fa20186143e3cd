"""The report on three nodes against one, in Markdown: ratios, shares of the machine's cores, counts, and bottlenecks."""

from collections.abc import Sequence
from statistics import median

from bench.report import WRONG, counts, place, shown_ratio, table
from bench.results import Cell, Result, Run, Setting

FIGURES = ("Throughput", "CPU", "CPU of Postgres", "p99")
FULL = 0.9
"""A machine or core that is busy for more than this share of the time is saturated."""
SHARED = 0.25
"""If other processes use this share of the machine or more, the measurement does not have it to itself."""


def published(setting: Setting, results: Sequence[Result], deadlocks: int) -> str:
    """Publishable Markdown: ratios, shares and counts."""
    parts = [
        _setting(setting),
        _growth(results),
        _cores(results, setting.cores),
        _group_commit(results),
        counts(results),
    ]
    words = f"{WRONG}: {deadlocks:,}" if deadlocks else "0"
    return "\n\n".join([*parts, f"## Deadlocks\n\nReported by Postgres during all runs: {words}."]) + "\n"


def _setting(setting: Setting) -> str:
    return (
        f"Ratios of one run: {setting.entries:,} catalog entries, {setting.bookings} bookings with events, "
        f"{setting.rounds} interleaved rounds of {setting.seconds:g} s each, load by three times {setting.generator}; "
        f"{setting.cores} cores in total, Python {setting.python}, PostgreSQL {setting.postgres}, Linux "
        f"{setting.kernel}. Ratios are three nodes / one node, from the medians of all rounds. In brackets: the smallest "
        "and the largest ratio within one round."
    )


def _growth(results: Sequence[Result]) -> str:
    rows = [
        (*place(result), *(shown_ratio(result.ratio(other, figure)) for figure in FIGURES))
        for result in results
        for other in result.scenario.programs[1:]
    ]
    return (
        "## Three nodes over one\n\nCPU is that of all nodes, and of Postgres, for the same number of requests (batches: of "
        "events). p99 is that of the slowest generator.\n\n"
        + table(("Operation", "Load", "Connections", *FIGURES), rows)
    )


def _cores(results: Sequence[Result], cores: int) -> str:
    rows = []
    for result in results:
        for name, cell in result.cells.items():
            spent = shares(cell, cores)
            rows.append((*place(result), name, *(f"{share:.0%}" for share in spent.values()), limit(cell, cores)))
    head = ("Operation", "Load", "Connections", "Loaded", "Nodes", "Postgres", "Generators", "Others", "Limited by")
    return (
        f"## Use of the cores\n\nShares of the time of all {cores} cores, medians of the rounds. Others include the "
        "kernel's own work and idle nodes. Limited by the machine means that its cores are full, so that more nodes on it "
        "do not help.\n\n" + table(head, rows)
    )


def shares(cell: Cell, cores: int) -> dict[str, float]:
    """Shares of the machine's CPU time, 0 to 1: nodes, Postgres, generators, others."""

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
    """The saturated resource, as far as the use of cores shows it."""
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
        "## Group commit\n\nCharges or events per transaction. The same load in more mailboxes makes smaller batches.\n\n"
        + table(("Operation", "Load", "Connections", "Nodes", "Per transaction"), rows)
    )
