"""`docs/scaling.md` agrees with the model and names the distributed tables."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench.scaling import (
    ASSUMED,
    EVENTS_OF_A_DAY,
    LIMITS,
    MEASURED,
    RATES,
    days,
    log_of_day,
    needs,
    table,
    whole_pages,
)
from storage.connection.pool import connections_of, connections_to_worker
from storage.embedded.postmaster import DEFAULTS, MOST_LOG_MB, most_log_mb
from storage.embedded.server import DEFAULT_LIMITS

ROOT = Path(__file__).resolve().parent.parent
LEAST_LOG_OF_AN_EVENT = 210
"""Bytes, in batches of 2,000 and without whole pages: the most events that a log can hold."""
TEXT = (ROOT / "docs/scaling.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("made", [days, table])
def test_the_document_has_the_tables_of_the_model(made: Callable[[], str]) -> None:
    assert f"\n\n{made()}\n\n" in TEXT, f"put this into docs/scaling.md:\n\n{made()}\n"


def test_the_document_names_the_tables_that_are_distributed() -> None:
    migrations = (ROOT / "storage/migrations/distributed").glob("*.sql")
    distributed = {
        name
        for path in migrations
        for name in re.findall(r"create_distributed_table\('(\w+)'", path.read_text(encoding="utf-8"))
    }
    assert set(re.findall(r"^\| `(\w+)`[^|]*\| distributed by ", TEXT, re.MULTILINE)) == distributed


@pytest.mark.parametrize(("leaves", "events", "share"), [(1e12, 1, 1.0), (10, 1_000_000, 1e-5), (100, 100, 0.632)])
def test_pages_go_to_the_log_once_after_a_checkpoint(leaves: float, events: float, share: float) -> None:
    assert whole_pages(leaves, events) == pytest.approx(share, rel=1e-3)


@pytest.mark.parametrize(
    ("checkpoints", "batch", "end", "whole"),
    [(96, 241, 3_060, 1_861), (24, 241, 1_068, 691), (12, 241, 671, 459), (12, 203, 629, 425), (12, 298, 722, 537)],
)
def test_the_model_agrees_with_the_days_that_were_measured(
    checkpoints: int, batch: float, end: float, whole: float
) -> None:
    modelled = log_of_day(1e6, checkpoints, replace(MEASURED, log=batch))
    assert modelled == pytest.approx((end, whole), rel=0.07)
    assert f"| {end:,} | {modelled[0]:,.0f} | {whole:,} | {modelled[1]:,.0f} |" in TEXT


def test_the_embedded_postgres_logs_a_quarter_of_what_checkpoints_every_quarter_of_an_hour_would() -> None:
    hours = int(DEFAULTS["checkpoint_timeout"].removesuffix("h"))
    assert hours * 3_600 == ASSUMED.checkpoint_seconds
    end, whole = log_of_day(EVENTS_OF_A_DAY, 24 // hours)
    quarter = log_of_day(EVENTS_OF_A_DAY, 96)[0] / 4
    assert whole < end < quarter
    kept = end * EVENTS_OF_A_DAY * hours / 24 * (1 + float(DEFAULTS["checkpoint_completion_target"]))
    assert kept < MOST_LOG_MB << 20, "the log forces no earlier checkpoint"


def test_a_start_replays_the_largest_log_of_the_embedded_postgres_in_half_of_its_time() -> None:
    events = (MOST_LOG_MB << 20) / LEAST_LOG_OF_AN_EVENT
    assert events * MEASURED.replay_seconds < DEFAULT_LIMITS.start_seconds / 2


@pytest.mark.parametrize(("disk_gb", "log_mb"), [(0, 1_024), (20, 1_024), (40, 2_048), (10_000, 8_192)])
def test_the_log_of_the_embedded_postgres_takes_a_small_part_of_the_disk(disk_gb: int, log_mb: int) -> None:
    assert most_log_mb(disk_gb << 30) == log_mb


def test_the_connections_are_those_that_doctor_counts() -> None:
    node, (own, of_citus) = connections_of(LIMITS), connections_to_worker(LIMITS)
    most = needs(RATES[-1])
    assert most.connections == most.nodes * (own + of_citus)
    row = f"{most.connections:,} at each worker at {most.nodes} nodes: {own} of each node, and up to {of_citus}"
    assert f"| {row} that Citus keeps for each; and {node} of each node at the coordinator |" in TEXT
    assert f"for each node: {own + of_citus} with the default of {LIMITS.connections}" in TEXT


def test_one_postgres_is_left_where_the_index_of_the_day_exceeds_its_memory() -> None:
    [steady] = map(int, re.findall(r"steady (\d+),(?:\d+) events a second", TEXT))
    most = ASSUMED.memory / MEASURED.index / 86_400
    assert steady * 1_000 <= most < (steady + 1) * 1_000
    assert needs(most - 1).workers == 1
    assert needs(most + 1).workers == 2
