"""`docs/scaling.md` agrees with the model and names the distributed tables."""

import re
from pathlib import Path

import pytest

from bench.scaling import ASSUMED, LIMITS, MEASURED, RATES, needs, table, whole_pages
from storage.connection.pool import connections_of, connections_to_worker

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "docs/scaling.md").read_text(encoding="utf-8")


def test_the_document_has_the_table_of_the_model() -> None:
    assert f"\n\n{table()}\n\n" in TEXT, f"put this into docs/scaling.md:\n\n{table()}\n"


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
