"""The unit of systemd: complete, hardened, and in step with the service's own limits."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from service.config.loading import load
from service.config.model import Config
from service.http.limits import LAST_MOMENT_SECONDS
from service.process.parent import SPARE_SECONDS
from service.running.foundation import OTHER_FILES
from storage.embedded.server import DEFAULT_LIMITS
from tests.architecture import ROOT
from tests.programs import program

UNIT = ROOT / "deploy/systemd/catalog-service.service"
MOST_EXPOSED = 2.0
"""Of 10, as systemd judges."""
DRAIN_SECONDS = 10.0
"""The value of server.drain_seconds that docs/deployment.md recommends behind a balancer."""


@pytest.fixture(scope="module")
def analyze() -> str:
    return program("systemd-analyze", "systemd")


def settings() -> dict[str, list[str]]:
    """The unit's assignments; a name may have several."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def seconds(name: str) -> float:
    [value] = settings()[name]
    return float(value.removesuffix("s"))


def test_systemd_finds_no_mistake_in_it(analyze: str, tmp_path: Path) -> None:
    installed = tmp_path / UNIT.name
    installed.write_text(
        UNIT.read_text(encoding="utf-8").replace("/opt/catalog-service/bin/catalog-service", "/bin/true")
    )
    done = subprocess.run([analyze, "verify", "--man=no", str(installed)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_mistake_would_be_found(analyze: str, tmp_path: Path) -> None:
    wrong = tmp_path / UNIT.name
    wrong.write_text(UNIT.read_text(encoding="utf-8").replace("ProtectSystem=strict", "ProtectSystems=strict"))
    done = subprocess.run([analyze, "verify", "--man=no", str(wrong)], capture_output=True, text=True, check=False)
    assert "ProtectSystems" in done.stderr


def test_what_systemd_judges_exposed_is_little(analyze: str) -> None:
    judged = subprocess.run(
        [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED * 10:.0f}", "--no-pager", str(UNIT)],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    level = re.search(r"Overall exposure level for \S+: ([\d.]+)", judged.stdout)
    assert level, judged.stderr
    assert float(level[1]) <= MOST_EXPOSED, judged.stdout
    assert judged.returncode == 0, "systemd agrees"
    assert f"rates it {level[1]} of 10" in (ROOT / "docs/deployment.md").read_text(encoding="utf-8")


def test_systemd_waits_longer_than_the_service_needs() -> None:
    config = load(None, {})
    assert seconds("TimeoutStartSec") > DEFAULT_LIMITS.start_seconds
    assert seconds("TimeoutStopSec") > longest_stop(config)


def longest_stop(config: Config) -> float:
    """The seconds from SIGTERM to the end of a service with its own Postgres and the recommended drain."""
    serving = DRAIN_SECONDS + config.server.graceful_seconds + LAST_MOMENT_SECONDS
    return serving + config.actors.drain_seconds + SPARE_SECONDS + DEFAULT_LIMITS.stop_seconds


def test_the_files_that_a_node_may_open_suffice_for_its_connections() -> None:
    [allowed] = settings()["LimitNOFILE"]
    assert int(allowed) >= load(None, {}).http.connections + OTHER_FILES


def test_it_is_notified_watched_reloaded_and_run_by_its_own_user() -> None:
    unit = {name: values[-1] for name, values in settings().items()}
    assert unit["Type"] == "notify"
    assert seconds("WatchdogSec") > 0
    assert "kill -HUP $MAINPID" in unit["ExecReload"]
    assert unit["User"] == unit["Group"] == unit["StateDirectory"] == "catalog-service"
    assert "--data-dir /var/lib/catalog-service/" in unit["ExecStart"]
