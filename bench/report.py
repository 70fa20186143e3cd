"""Results as Markdown: publishable ratios and counts, and the figures behind them, which are not for publication."""

from collections.abc import Iterable, Sequence

from bench.goals import Outcome, outcomes
from bench.programs import OURS
from bench.results import FIGURES, Audit, Ratio, Result, Setting, verdict
from bench.scenarios import CEILING_SIZE

WRONG = "WRONG"
"""The verdict on a count that does not match."""
BUSY = 0.9
"""A generator that used more of its core than this may have been the bottleneck."""


def published(setting: Setting, results: Sequence[Result], audits: Sequence[Audit], middle: int) -> str:
    """Publishable Markdown: ratios and counts, no times of one machine."""
    parts = [_setting(setting), _goals(outcomes(results, middle)), _ratios(results), _group_commit(results)]
    parts.append(counts(results))
    if audits:
        parts.append(_audits(audits))
    return "\n\n".join(parts) + "\n"


def absolute(results: Sequence[Result]) -> str:
    """The figures behind the ratios, which only describe this machine."""
    rows = []
    for result in results:
        for name, cell in result.cells.items():
            busy = max(run.measured.generator_cpu for run in cell.runs)
            rows.append(
                (
                    *place(result),
                    name,
                    f"{cell.median('Throughput'):,.0f}",
                    f"{cell.median('p50'):.1f}",
                    f"{cell.median('p99'):.1f}",
                    f"{cell.median('CPU'):.3f}",
                    f"{cell.median('CPU of Postgres'):.3f}",
                    f"{cell.median('Peak memory') / 2**20:.0f}",
                    f"{busy:.0%}{' (bottleneck?)' if busy > BUSY else ''}",
                )
            )
    head = ("Program", "A second", "p50 ms", "p99 ms", "CPU s/1,000", "of Postgres", "Peak MiB", "Generator")
    return "Figures of this machine, not for publication (medians of the rounds):\n\n" + table(
        ("Operation", "Load", "Connections", *head), rows
    )


def _setting(setting: Setting) -> str:
    return (
        f"Ratios of one run: {setting.entries:,} catalog entries, {setting.bookings} bookings with events, "
        f"{setting.rounds} interleaved rounds of {setting.seconds:g} s each, load by {setting.generator}; {setting.cores} "
        f"cores, Python {setting.python}, PostgreSQL {setting.postgres}, Linux {setting.kernel}. Ratios are service / other, "
        "from the medians of all rounds. In brackets: the smallest and the largest ratio within one round."
    )


def _goals(measured: Sequence[Outcome]) -> str:
    rows = [
        (
            *place(each.result),
            f"{each.goal.figure} / {each.other}",
            each.goal.words,
            shown_ratio(each.ratio),
            each.words,
        )
        for each in measured
    ]
    head = ("Operation", "Load", "Connections", "Figure", "Goal", "Measured", "Verdict")
    reached = sum(each.goal.reached(each.ratio) for each in measured)
    return f"## Figures to reach\n\n{reached} of {len(measured)} goals are reached.\n\n" + table(head, rows)


def _ratios(results: Sequence[Result]) -> str:
    rows = [
        (*place(result), other, *(shown_ratio(result.ratio(other, figure)) for figure in FIGURES))
        for result in results
        for other in result.cells
        if other != OURS
    ]
    return (
        "## Ratios\n\nThe service does better where throughput is above 1 and all else is below 1. CPU is that of the "
        "program and of Postgres for the same number of requests (batches: of events). Peak memory is the program's. The "
        f"database's ceilings always write batches of {CEILING_SIZE}.\n\n"
        + table(("Operation", "Load", "Connections", "Other", *FIGURES), rows)
    )


def _group_commit(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        cell = result.cells[OURS]
        for done, transactions in (
            (cell.charges.counted, cell.charges.transactions),
            (cell.recorded.rows, cell.recorded.transactions),
        ):
            if transactions:
                seconds = sum(run.measured.seconds for run in cell.runs)
                rows.append((*place(result), f"{done / transactions:.1f}", f"{transactions / seconds:.1f}"))
    return (
        "## Group commit\n\nCharges or events from the tables, transactions from the journal that each batch writes. The "
        "peers commit each charge or event by itself.\n\n"
        + table(("Operation", "Load", "Connections", "Per transaction", "Transactions/s"), rows)
    )


def counts(results: Sequence[Result]) -> str:
    """Responses against rows in Postgres, for each program."""
    rows = []
    for result in results:
        for name, cell in result.cells.items():
            found = verdict(result, name)
            if found is None:
                continue
            surplus = found.kept - found.said
            words = f"+{surplus:,} in flight (at most {found.most_in_flight:,})" if surplus else "equal"
            rows.append(
                (
                    *place(result),
                    name,
                    cell.total("failures"),
                    found.said,
                    found.kept,
                    found.counted,
                    words if found.right else f"{WRONG} by {surplus:,}",
                )
            )
    head = ("Program", "Failed", "Answered", "In Postgres", "Counted", "Verdict")
    return (
        "## Counts\n\nFor events: responses with `recorded: true`, new rows, and the growth of the counts. For keyed "
        "reads: responses and charges. At the end of a run each connection may have one request in flight, which is stored "
        "but whose response is never seen.\n\n" + table(("Operation", "Load", "Connections", *head), rows)
    )


def _audits(audits: Sequence[Audit]) -> str:
    rows = [
        (
            audit.program,
            audit.load,
            audit.answers,
            audit.failures,
            audit.said,
            audit.kept,
            audit.counted,
            "equal" if audit.exact else f"{WRONG} by {audit.kept - audit.said:,}",
            f"{audit.kept / audit.transactions:.1f}" if audit.transactions else "1",
            "" if audit.commits is None else audit.commits,
        )
        for audit in audits
    ]
    head = (
        "Program",
        "Load",
        "Responses",
        "Failed",
        "Reported",
        "In Postgres",
        "Counted",
        "Verdict",
        "Per transaction",
    )
    return (
        "## The same, exactly\n\nOne run each that waits for its last response. Reported: the charged responses, or the "
        "events answered with `recorded: true`. All commits: the growth of `xact_commit` in `pg_stat_database` during a run "
        "of reads, including commits that write nothing, such as the service's check of the catalog's revision twice a "
        "second.\n\n" + table((*head, "All commits of Postgres"), rows)
    )


def place(result: Result) -> tuple[str, str, int]:
    """The first columns of a row: operation, load and connections."""
    scenario = result.scenario
    return scenario.kind.value, scenario.load, scenario.connections


def shown_ratio(ratio: Ratio | None) -> str:
    """The ratio of the medians, and the range of the rounds."""
    if ratio is None:
        return ""
    if ratio.low == ratio.high:
        return f"{ratio.value:.2f}"
    return f"**{ratio.value:.2f}** ({ratio.low:.2f} to {ratio.high:.2f})"


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = [[_shown(cell) for cell in row] for row in (head, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
