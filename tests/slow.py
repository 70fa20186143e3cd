"""What `make test` runs and what it leaves to `make thorough`, which CI runs.

`make test` leaves out files by the two tables here, without importing them, and tests of the other files by a mark: those
marked `repeats`, and in the folders of `PROCESSES` also those not marked `smoke`. A file that is named on the command line
runs whole.
"""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

SLOW = bool(os.environ.get("CATALOG_TEST_SLOW"))
"""Whether this is `make thorough`. It also plants every bug of the simulation instead of every fortieth, generates more
examples, runs all attacks, walks through the pages on every device and takes pictures of mails."""

ROOT = Path(__file__).parents[1]

PROCESSES = ("acceptance", "browser", "embedded")
"""Folders of tests whose tests run real processes: a node, commands, a browser, Postgres."""

SMOKE: Mapping[str, str] = {
    "acceptance/test_commands.py": "accounts",
    "acceptance/test_main_job.py": "catalog keys mail quota",
    "acceptance/test_proxies.py": "events",
    "acceptance/test_quota.py": "quota",
    "acceptance/test_refusals.py": "",
    "acceptance/test_restore.py": "backups",
    "acceptance/test_stopping.py": "quota",
    "acceptance/test_two_nodes.py": "catalog keys nodes",
    "acceptance/test_workers.py": "keys nodes",
    "browser/test_embed.py": "events",
    "browser/test_pages.py": "accounts catalog keys nodes quota",
    "browser/test_people.py": "devices keys mail sessions",
    "browser/test_sponsor_walk.py": "accounts mail webhooks",
    "browser/test_sponsoring.py": "bookings events",
    "embedded/test_life.py": "",
}
"""The files of these folders with tests marked `smoke`, and the concerns that those go through."""

THOROUGH: Mapping[str, str] = {
    "api/test_spreadsheets_opened.py": "tests/api/test_spreadsheets.py splits files itself; this starts LibreOffice",
    "api/test_schemathesis.py": "tests/api/conformity.py holds each response of tests/api to the document",
    "judge/test_proxy.py": "tests/judge/test_wire.py reads the facts that the proxy records",
    "growth/test_growth.py": "tests/stores runs the statements on few rows",
    "retention/test_year.py": "tests/stores/test_retention_contract.py prunes each table",
    "storage/test_event_moves.py": "tests/stores/test_events_on_workers.py moves a day under batches",
    "stores/test_events_on_nodes.py": "tests/stores/test_events_contract.py records by several nodes at once",
    "stores/test_invoices_on_three_nodes.py": "tests/stores/test_invoices_contract.py numbers them in batches that fail",
    "stores/test_growth.py": "the contracts of the stores run the statements on few rows",
    "stores/test_keys_at_scale.py": "tests/stores/test_key_renewals_contract.py lists and locks a few ended keys",
    "stores/test_oversight_plans.py": "tests/stores/test_oversight_contract.py runs the statements on few rows",
    "stores/test_pruning_plans.py": "tests/stores/test_retention_contract.py runs the statements on few rows",
    "snapshots/test_search_fuzz.py": "tests/snapshots/test_search_index.py searches with signs of each kind",
    "stores/test_webhooks_at_scale.py": "tests/stores/test_webhooks_contract.py runs the statements on few rows",
    "terminal/test_process.py": "tests/cli and tests/catalogctl run both programs in the test process",
}
"""Files of the other folders, and where `make test` shows the same."""

smoke = pytest.mark.smoke


def repeats(other: str) -> pytest.MarkDecorator:
    """Leave a test to `make thorough`. `other` says where `make test` shows the same."""
    return pytest.mark.repeats(other)


def is_left_out(path: Path) -> bool:
    """Whether `make test` leaves out a whole file of tests."""
    name = path.relative_to(ROOT / "tests").as_posix()
    if path.name.startswith("test_") and name.partition("/")[0] in PROCESSES:
        return name not in SMOKE
    return name in THOROUGH


def is_repetition(nodeid: str, marks: Collection[str]) -> bool:
    """Whether `make test` leaves out a test, with marks of these names, of a file that it runs."""
    return "repeats" in marks or (nodeid.split("/", 2)[1] in PROCESSES and "smoke" not in marks)


def named(arguments: Collection[str]) -> set[Path]:
    """The files that a command line names."""
    return {path for path in (Path(each.partition("::")[0]).resolve() for each in arguments) if path.is_file()}


def shortened(number: int) -> int:
    """Return the number of generated examples: all in `make thorough`, and a third by default."""
    return number if SLOW else number // 3
