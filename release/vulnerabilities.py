"""Looks for known vulnerabilities of the packages of a lock: `python -m release.vulnerabilities LOCK`.

Exit code 1 for a vulnerability that release/ignored.toml does not name. Without a network, one line says that nothing was
checked, and the exit code is 0.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

IGNORED = Path(__file__).with_name("ignored.toml")
SECONDS = 300.0
_OFFLINE = re.compile(
    r"ConnectionError|ProxyError|ConnectTimeout|ReadTimeout|NameResolution|Max retries exceeded|Connection timed out"
)


def still_ignored(text: str, today: date) -> frozenset[str]:
    """The ids in the text of ignored.toml that still count. Raises `ValueError` for an entry without a field or a reason."""
    ids = set()
    for entry in tomllib.loads(text).get("ignored", []):
        if (
            set(entry) != {"id", "package", "reason", "until"}
            or not entry["reason"]
            or type(entry["until"]) is not date
        ):
            raise ValueError(f"{IGNORED.name}: an entry needs id, package, reason and until: {entry}")
        if entry["until"] >= today:
            ids.add(entry["id"])
    return frozenset(ids)


def findings(packages: Sequence[Mapping[str, Any]], ignored: frozenset[str]) -> list[str]:
    """A line for each vulnerability, and for each package that could not be looked up. `packages` are those of pip-audit."""
    lines = []
    for package in packages:
        if "skip_reason" in package:
            lines.append(f"{package['name']}: it could not be looked up: {package['skip_reason']}")
        for each in package.get("vulns", []):
            if ignored.isdisjoint({each["id"], *each.get("aliases", [])}):
                fixed = ", ".join(each["fix_versions"]) or "no version yet"
                lines.append(f"{package['name']} {package['version']}: {each['id']}, fixed in {fixed}")
    return lines


def verdict(report: str | None, errors: str, ignored: frozenset[str]) -> tuple[int, list[str]]:
    """The exit code and the lines for pip-audit's report, which is None if it wrote none, and for its error output."""
    if report is None:
        last = (errors.strip().splitlines() or ["no output"])[-1]
        if _OFFLINE.search(errors):
            return 0, [f"not checked, because the database cannot be reached: {last.partition(':')[0]}"]
        return 1, [f"pip-audit failed: {last[:200]}"]
    packages = json.loads(report)["dependencies"]
    if all("skip_reason" in package for package in packages):
        return 0, ["not checked, because the database that can be reached from here knows none of the packages"]
    lines = findings(packages, ignored)
    return (1, lines) if lines else (0, [f"none known of {len(packages)} packages"])


def main(lock: str) -> int:
    ignored = still_ignored(IGNORED.read_text(encoding="utf-8"), datetime.now(UTC).date())
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "report.json")
        options = ["--requirement", lock, "--require-hashes", "--disable-pip", "--progress-spinner", "off"]
        command = [sys.executable, "-m", "pip_audit", *options, "--format", "json", "--output", str(file)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            errors = done.stderr
        except subprocess.TimeoutExpired:
            errors = f"Connection timed out: no end within {SECONDS:g} s"
        code, lines = verdict(file.read_text() if file.exists() else None, errors, ignored)
    for line in lines:
        (sys.stderr if code else sys.stdout).write(f"vulnerabilities: {line}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
