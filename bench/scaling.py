"""A model of events: computes bytes, memory, log, workers and transactions from a rate. `python -m bench.scaling`

It prints the table of `docs/scaling.md`. `MEASURED` comes from `python -m bench.sizes` and `bench/results`. `ASSUMED` is not
measured: operators put in their own values.
"""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from storage.connection.pool import PoolLimits, connections_of, connections_to_worker

DAY_SECONDS = 86_400
PAGE_BYTES = 8_192
GB, TB = 10**9, 10**12


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes of an event, with its log in batches of ten. `of_a_core`: single events per second of one core of a node."""

    row: float = 60.3
    index: float = 52.0
    log: float = 339.0
    log_of_a_page: float = 5_900.0
    of_a_core: float = 15_200.0


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions: a worker's bytes of memory for the index of the day; seconds between checkpoints and per transaction; the
    planned share of a core; concurrent transactions of a node on each worker; the most days that keys are kept."""

    memory: float = 64 * GB
    checkpoint_seconds: float = 900.0
    transaction_seconds: float = 0.005
    share: float = 0.6
    at_once: int = 1
    days: int = 42


@dataclass(frozen=True, slots=True)
class Needs:
    """Needs of a steady rate of events, for all workers together. Bytes of log and of pages are per second. `commits` are
    transactions per second on each worker, `connections` those of all nodes to each, with those that Citus keeps
    for them."""

    events_a_day: float
    index_of_a_day: float
    kept: float
    log_bytes: float
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
RATES = (1_000, 14_000, 30_000, 100_000, 300_000, 1_000_000)


def whole_pages(leaves: float, events: float) -> float:
    """Full-page writes per event after a checkpoint, if each event touches one of `leaves` pages at random."""
    return leaves * -math.expm1(-events / leaves) / events


def needs(rate: float, measured: Measured = MEASURED, assumed: Assumed = ASSUMED) -> Needs:
    """Needs of `rate` events per second, at the end of a day."""
    events_a_day = rate * DAY_SECONDS
    index = events_a_day * measured.index
    pages = whole_pages(index / PAGE_BYTES, rate * assumed.checkpoint_seconds)
    workers = math.ceil(index / assumed.memory)
    nodes = math.ceil(rate / (measured.of_a_core * assumed.share))
    transactions = min(rate, nodes * workers * assumed.at_once / assumed.transaction_seconds)
    return Needs(
        events_a_day=events_a_day,
        index_of_a_day=index,
        kept=events_a_day * (measured.row + measured.index) * assumed.days,
        log_bytes=rate * (measured.log + pages * measured.log_of_a_page),
        written_bytes=rate * (measured.row + pages * PAGE_BYTES),
        workers=workers,
        nodes=nodes,
        transactions=transactions,
        batch=rate / transactions,
        commits=transactions / workers,
        connections=nodes * (connections_of(LIMITS) if workers == 1 else sum(connections_to_worker(LIMITS))),
    )


COLUMNS = (
    "Events/s",
    "A day",
    "Index of the day",
    "Keys kept",
    "Log",
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
            f"{need.log_bytes / 1e6:,.0f} MB/s",
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
    sys.stdout.write(table() + "\n")
