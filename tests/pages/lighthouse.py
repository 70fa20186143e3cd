"""Runs Lighthouse on some pages of a node, in a browser of its own, beside other work."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.acceptance.processes import until
from tests.browser.looks import LOOKS
from tests.pages import findings
from tests.pages.findings import Finding, Place
from tests.pages.stage import Stage

SCRIPT = Path(__file__).parent / "lighthouse.mjs"
SECONDS = 240
PHONE_PX = 412
"""The width of the phone that Lighthouse emulates, with a slow network and a quarter of this processor."""

PUBLIC = ("home", "usecases", "usecase", "advertise", "reference", "reference-operation")
PRIVATE = ("dashboard", "sponsor-booking")
"""Pages for their owner alone, which ask search engines not to list them."""

OF_LISTED_PAGES = ["is-crawlable", "meta-description"]
"""Audits that are left out for private pages. What search engines do not list needs no description."""


class Run:
    """A run that has begun. Its output is small, so that nobody has to read it before the end."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def findings(self) -> Iterator[Finding]:
        """Wait for the end. Writes the points of each page, and yields what is wrong with it."""
        output, complaint = "", f"it takes longer than {SECONDS} s"
        with suppress(subprocess.TimeoutExpired):
            output, complaint = self._process.communicate(timeout=SECONDS)
        reports = {report["name"]: report for report in map(json.loads, output.splitlines())}
        for name in (*PUBLIC, *PRIVATE):
            report = reports.get(name, {"error": f"there is no report: {complaint.strip()[-300:]}"})
            sys.stdout.write(f"lighthouse {name}: {summary(report)}\n")
            yield from findings.of_lighthouse(Place(name, PHONE_PX), report)


def summary(report: dict[str, Any]) -> str:
    """The points of a page, for people."""
    if "error" in report:
        return str(report["error"])
    points = {name: round((each["score"] or 0) * 100) for name, each in report["categories"].items()}
    return ", ".join(f"{name} {score}" for name, score in points.items())


def wanted(stage: Stage) -> list[dict[str, Any]]:
    """The pages with their addresses on this node, and the cookies of who may see them."""
    looks = {look.name: look for look in LOOKS}
    return [
        {
            "name": name,
            "url": f"{stage.node.url}{stage.address(looks[name])}",
            "headers": {"Cookie": cookies_of(stage, name)} if name in PRIVATE else {},
            "skip": OF_LISTED_PAGES if name in PRIVATE else [],
            "enough": findings.LEAST_SCORE / 100,
        }
        for name in (*PUBLIC, *PRIVATE)
    ]


def cookies_of(stage: Stage, name: str) -> str:
    look = next(look for look in LOOKS if look.name == name)
    return "; ".join(f"{each['name']}={each['value']}" for each in stage.looker(look).context.cookies())


@contextmanager
def browsing(stage: Stage) -> Iterator[int]:
    """A browser with a port for its debugger."""
    profile = Path(tempfile.mkdtemp(prefix="catalog-lighthouse-"))
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    flags = ["--headless", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--no-first-run", *sandbox]
    # Debian's program is a script that starts the browser, so the signal goes to both.
    browser = subprocess.Popen(
        [stage.chromium, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    told = profile / "DevToolsActivePort"
    try:
        until(lambda: told.exists() and "\n" in told.read_text(), what="the port of the debugger")
        yield int(told.read_text().split("\n")[0])
    finally:
        with suppress(ProcessLookupError):
            os.killpg(browser.pid, signal.SIGKILL)
        browser.wait(10)
        shutil.rmtree(profile, ignore_errors=True)


@contextmanager
def lighthouse(stage: Stage, modules: Path) -> Iterator[Run]:
    """Begin a run. It is ended if the work beside it fails."""
    with browsing(stage) as port:
        process = subprocess.Popen(
            ["node", SCRIPT, modules, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(wanted(stage)))
        process.stdin.close()
        process.stdin = None
        try:
            yield Run(process)
        finally:
            process.kill()
            process.wait(10)
