"""A model of events: computes bytes, memory, log, workers and transactions from a rate. `python -m bench.scaling`

It prints the tables of `docs/scaling.md`. `MEASURED` comes from `python -m bench.sizes` and `bench/results`. `ASSUMED` is not
measured: operators put in their own values.
"""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

from storage.connection.pool import PoolLimits, connections_of, connections_to_worker

DAY_SECONDS = 86_400
PAGE_BYTES = 8_192
GB, TB = 10**9, 10**12


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes of an event, with its log in batches of ten, and of a page written whole, plain and with lz4. `of_a_core`: single
    events per second of one core of a node. `replay_seconds`: of a core, to replay an event after a crash."""

    row: float = 60.3
    index: float = 52.0
    log: float = 339.0
    log_of_a_page: float = 5_900.0
    log_of_a_page_lz4: float = 4_540.0
    replay_seconds: float = 9e-6
    of_a_core: float = 15_200.0


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions: a worker's bytes of memory for the index of the day; seconds between checkpoints and per transaction; the
    planned share of a core; concurrent transactions of a node on each worker; the most days that keys are kept."""

    memory: float = 64 * GB
    checkpoint_seconds: float = 7_200.0
    transaction_seconds: float = 0.005
    share: float = 0.6
    at_once: int = 1
    days: int = 42


@dataclass(frozen=True, slots=True)
class Needs:
    """Needs of a steady rate of events, for all workers together. Bytes of log and of pages are per second, `log_kept` those
    on disk. `commits` are transactions per second on each worker, `connections` those of all nodes to each, with those that
    Citus keeps for them."""

    events_a_day: float
    index_of_a_day: float
    kept: float
    log_bytes: float
    log_kept: float
    written_bytes: float
    workers: int
    nodes: int
    transactions: float
    batch: float
    commits: float
    connections: int


LIMITS = PoolLimits()
"""Those of the default configuration."""

MEASURED, ASSUMED = Measured(), Assumed()
KEPT_DISTANCES = 1.9
"""`max_wal_size` over the log between two checkpoints: 1 and the default `checkpoint_completion_target`."""
EVENTS_OF_A_DAY = 100e6
CHECKPOINTS = (288, 96, 24, 12, 8)
"""Those of the days whose log is compared."""
RATES = (1_000, 14_000, 30_000, 100_000, 300_000, 1_000_000)


def whole_pages(leaves: float, events: float) -> float:
    """Full-page writes per event after a checkpoint, if each event touches one of `leaves` pages at random."""
    return leaves * -math.expm1(-events / leaves) / events


def log_of_day(events: float, checkpoints: int, measured: Measured = MEASURED) -> tuple[float, float]:
    """Bytes of log per event of a steady day: between its last two checkpoints, and on average."""
    between = events / checkpoints
    leaves = [between * number * measured.index / PAGE_BYTES for number in range(1, checkpoints + 1)]
    logs = [measured.log + whole_pages(each, between) * measured.log_of_a_page for each in leaves]
    return logs[-1], math.fsum(logs) / checkpoints


def needs(rate: float, measured: Measured = MEASURED, assumed: Assumed = ASSUMED) -> Needs:
    """Needs of `rate` events per second, at the end of a day."""
    events_a_day = rate * DAY_SECONDS
    index = events_a_day * measured.index
    pages = whole_pages(index / PAGE_BYTES, rate * assumed.checkpoint_seconds)
    log_bytes = rate * (measured.log + pages * measured.log_of_a_page)
    workers = math.ceil(index / assumed.memory)
    nodes = math.ceil(rate / (measured.of_a_core * assumed.share))
    transactions = min(rate, nodes * workers * assumed.at_once / assumed.transaction_seconds)
    return Needs(
        events_a_day=events_a_day,
        index_of_a_day=index,
        kept=events_a_day * (measured.row + measured.index) * assumed.days,
        log_bytes=log_bytes,
        log_kept=log_bytes * assumed.checkpoint_seconds * KEPT_DISTANCES,
        written_bytes=rate * (measured.row + pages * PAGE_BYTES),
        workers=workers,
        nodes=nodes,
        transactions=transactions,
        batch=rate / transactions,
        commits=transactions / workers,
        connections=nodes * (connections_of(LIMITS) if workers == 1 else sum(connections_to_worker(LIMITS))),
    )


DAY_COLUMNS = (
    "Checkpoints apart",
    "Log per event, end of the day",
    "Whole day",
    "With lz4, end of the day",
    "Whole day",
    "`max_wal_size`",
    "Replay after a crash",
)


def days() -> str:
    """The log of a day by the distance of its checkpoints, as `docs/scaling.md` has it."""
    return "\n".join([_row(DAY_COLUMNS), _row(["---"] * len(DAY_COLUMNS)), *map(_day, CHECKPOINTS)])


def _day(checkpoints: int) -> str:
    between = EVENTS_OF_A_DAY / checkpoints
    plain = log_of_day(EVENTS_OF_A_DAY, checkpoints)
    compressed = log_of_day(EVENTS_OF_A_DAY, checkpoints, replace(MEASURED, log_of_a_page=MEASURED.log_of_a_page_lz4))
    return _row(
        (
            f"{DAY_SECONDS / checkpoints / 60:.0f} minutes",
            *(f"{log:,.0f} bytes" for log in (*plain, *compressed)),
            f"{plain[0] * between * KEPT_DISTANCES / GB:,.1f} GB",
            f"{between * KEPT_DISTANCES * MEASURED.replay_seconds:,.0f} s",
        )
    )


COLUMNS = (
    "Events/s",
    "A day",
    "Index of the day",
    "Keys kept",
    "Log",
    "Log kept",
    "Pages written",
    "Workers",
    "Nodes",
    "Transactions/s",
    "Events in one",
    "Commits at a worker/s",
    "Connections at a worker",
)


def table() -> str:
    """The needs of some rates, as `docs/scaling.md` has them."""
    return "\n".join([_row(COLUMNS), _row(["---"] * len(COLUMNS)), *(_line(rate, needs(rate)) for rate in RATES)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _line(rate: int, need: Needs) -> str:
    return _row(
        (
            f"{rate:,}",
            f"{need.events_a_day / 1e6:,.0f} M",
            f"{need.index_of_a_day / GB:,.0f} GB",
            f"{need.kept / TB:,.1f} TB",
            f"{need.log_bytes / 1e6:,.1f} MB/s",
            f"{need.log_kept / GB:,.0f} GB",
            f"{need.written_bytes / 1e6:,.0f} MB/s",
            f"{need.workers}" if need.workers > 1 else "one Postgres",
            f"{need.nodes}",
            f"{need.transactions:,.0f}",
            f"{need.batch:,.0f}",
            f"{need.commits:,.0f}",
            f"{need.connections:,}",
        )
    )


if __name__ == "__main__":
    sys.stdout.write(f"{days()}\n\n{table()}\n")
