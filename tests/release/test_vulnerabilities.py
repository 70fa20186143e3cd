"""Known vulnerabilities fail unless they are ignored for a reason and until a day; without a network nothing is claimed."""

import json
from datetime import date
from typing import Any

import pytest

from release.vulnerabilities import IGNORED, still_ignored, verdict

TODAY = date(2026, 11, 25)
NONE = frozenset[str]()
HARMLESS = {"name": "harmless", "version": "1.0", "vulns": []}
UNKNOWN = {"name": "unknown", "skip_reason": "Dependency not found"}
HOLED = {
    "name": "holed",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-2026-1", "aliases": ["CVE-2026-1"], "fix_versions": ["2.1"], "description": "..."}],
}
ENTRY = '[[ignored]]\nid = "CVE-2026-1"\npackage = "holed"\nreason = "Not reached."\nuntil = {}\n'


def report(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def test_a_known_vulnerability_fails_and_names_its_remedy() -> None:
    code, lines = verdict(report(HARMLESS, HOLED), "", NONE)
    assert (code, lines) == (1, ["holed 2.0: PYSEC-2026-1, fixed in 2.1"])
    assert verdict(report(HARMLESS), "", NONE) == (0, ["none known of 1 packages"])


def test_an_ignored_one_counts_again_after_its_day() -> None:
    ignored = still_ignored(ENTRY.format("2026-11-25"), TODAY)
    assert verdict(report(HARMLESS, HOLED), "", ignored)[0] == 0
    assert verdict(report(HARMLESS, HOLED), "", still_ignored(ENTRY.format("2026-11-24"), TODAY))[0] == 1


@pytest.mark.parametrize("wrong", [ENTRY.format('"soon"'), ENTRY.format("2026-11-25").replace("Not reached.", "")])
def test_an_ignored_one_needs_a_reason_and_a_day(wrong: str) -> None:
    with pytest.raises(ValueError, match="needs id, package, reason and until"):
        still_ignored(wrong, TODAY)


def test_the_list_of_the_project_is_valid() -> None:
    still_ignored(IGNORED.read_text(encoding="utf-8"), TODAY)


def test_a_package_that_cannot_be_looked_up_fails_unless_none_can() -> None:
    assert verdict(report(HARMLESS, UNKNOWN), "", NONE)[0] == 1
    code, [line] = verdict(report(UNKNOWN), "", NONE)
    assert code == 0
    assert line.startswith("not checked")


def test_without_a_network_one_line_reports_it_and_other_failures_fail() -> None:
    offline = "Traceback\nrequests.exceptions.ConnectionError: HTTPSConnectionPool(host='example.com', port=443): ..."
    code, [line] = verdict(None, offline, NONE)
    assert (code, line) == (
        0,
        "not checked, because the database cannot be reached: requests.exceptions.ConnectionError",
    )
    assert verdict(None, "ERROR: invalid requirement", NONE) == (1, ["pip-audit failed: ERROR: invalid requirement"])
