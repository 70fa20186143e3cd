"""Boots systemd with the unit: `python -m tests.deploy.unit_boot` (root; Debian's debootstrap and systemd-container).

The machine is a minimal Debian on which the commands of docs/deployment.md are carried out, in a container of systemd-nspawn.
Under all restrictions of the unit, the service must become ready, make a backup, reload, be restarted when it hangs, and
stop.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.acceptance.processes import children_of, until
from tests.architecture import ROOT
from tests.deploy.chroots import Surroundings, build
from tests.deploy.image import context, image
from tests.deploy.image_steps import PATH, PLACE, base, say, usable

UNIT = "catalog-service"
UNIT_FILE = f"deploy/systemd/{UNIT}.service"
DOCUMENT = ROOT / "docs/deployment.md"
WATCHDOG_SECONDS = 4
POWER_OFF = signal.SIGRTMIN + 4
"""The signal that tells systemd to power off."""
SLOWEST_SECONDS = 90.0


def machine(place: Path) -> Path:
    """A root directory with systemd, on which the commands of docs/deployment.md have been carried out."""
    root = place / "machine"
    if root.exists():
        shutil.rmtree(root)
    subprocess.run(["cp", "-a", str(base(image().final, place)), str(root)], check=True)
    for path in {*context(), UNIT_FILE}:
        (root / "source" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, root / "source" / path)
    section = DOCUMENT.read_text(encoding="utf-8").partition("\n## systemd\n")[2]
    commands = block(section, "sh")
    start = f"systemctl enable --now {UNIT}"
    assert commands.endswith(f"{start}\n"), "the boot starts it, where the document does"
    steps = (
        "apt-get -qq update && apt-get -qq install --yes --no-install-recommends systemd systemd-sysv >/dev/null",
        commands.replace(start, f"systemctl enable {UNIT}"),
        "systemctl mask console-getty getty.target",
    )
    variables = {"PATH": PATH, "DEBIAN_FRONTEND": "noninteractive", "TERM": "dumb"}
    for step in steps:
        say(step)
        build(root, ["/bin/sh", "-euc", step], Surroundings(variables, "/source", "0:0"))
    drop_ins = root / f"etc/systemd/system/{UNIT}.service.d"
    drop_ins.mkdir()
    (drop_ins / "watchdog.conf").write_text(f"[Service]\nWatchdogSec={WATCHDOG_SECONDS}s\n")
    (drop_ins / "secret.conf").write_text(block(section, "ini"))
    secret = root / "etc/catalog-service/server_secret"
    secret.write_text("a secret that systemd alone can read, as root\n")
    secret.chmod(0o600)
    (root / "etc/catalog-service/config.toml").write_text("[server]\nworkers = 2\n[backup]\nevery_hours = 1\n")
    return root


def block(text: str, kind: str) -> str:
    """The first block of a kind in a document, without its indentation."""
    found = re.search(rf"^ *```{kind}\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    assert found, kind
    return textwrap.dedent(found[1])


class Machine:
    """A booted machine."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The pid of its first process, as this machine sees it. Before that process, systemd-nspawn has another child."""
        until(lambda: children_of(self._process.pid) or self._process.poll() is not None, what="the machine")
        assert self._process.poll() is None, "systemd-nspawn has ended: see machine.log"
        return children_of(self._process.pid)[-1]

    def run(self, *command: str) -> str:
        """The output of a command in it, which must succeed."""
        done = self.attempt(*command)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def attempt(self, *command: str) -> subprocess.CompletedProcess[str]:
        spaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup"]
        beside = ["nsenter", f"--target={self.pid}", *spaces, "/usr/bin/env", "-i", f"PATH={PATH}"]
        return subprocess.run([*beside, *command], capture_output=True, text=True, timeout=SLOWEST_SECONDS, check=False)

    def shows(self, name: str) -> str:
        """A property of the unit."""
        return self.run("systemctl", "show", f"--property={name}", "--value", UNIT)

    def is_active(self) -> bool:
        return self.attempt("systemctl", "is-active", UNIT).stdout.strip() == "active"

    def log(self) -> str:
        return self.run("journalctl", f"--unit={UNIT}", "--no-pager", "--output=cat")


@contextmanager
def booted(root: Path) -> Iterator[Machine]:
    command = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", f"--directory={root}"]
    with (root.parent / "machine.log").open("wb") as console:
        process = subprocess.Popen(
            [*command, "--boot"],
            env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
        )
    try:
        running = Machine(process)
        yield running
        os.kill(running.pid, POWER_OFF)
        process.wait(SLOWEST_SECONDS)
    finally:
        for pid in [*children_of(process.pid), process.pid] if process.poll() is None else []:
            os.kill(pid, signal.SIGKILL)
        process.wait()


def check(running: Machine) -> None:
    """Hold the unit to what docs/deployment.md says of it. Raises `AssertionError`."""
    until(running.is_active, SLOWEST_SECONDS, what="the service's readiness")
    say(f"ready: {running.shows('StatusText')}")
    hung, before = running.shows("MainPID"), running.shows("NRestarts")
    status = running.run("cat", f"/proc/{hung}/status")
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    assert "Uid:\t0" not in status

    kept = running.run("ls", f"/var/lib/{UNIT}/data").split()
    assert "postgres" in kept
    assert "secret" not in kept, "the service uses the credential, and makes no secret of its own"

    until(lambda: ".backup" in running.attempt("ls", f"/var/lib/{UNIT}/data/backups").stdout, what="the first backup")
    say("made its first backup")

    running.run("systemctl", "reload", UNIT)
    until(lambda: "all workers are replaced" in running.log() and running.is_active(), what="the reload")
    say("reloaded: all workers are replaced")

    running.run("/bin/sh", "-c", f"kill -STOP {hung}")
    until(lambda: running.shows("NRestarts") != before and running.is_active(), SLOWEST_SECONDS, what="the restart")
    assert running.shows("MainPID") != hung
    assert "Watchdog timeout" in running.log()
    say("restarted after the watchdog heard nothing")

    running.run("systemctl", "stop", UNIT)
    assert (running.shows("ActiveState"), running.shows("Result")) == ("inactive", "success")
    say("stopped in order")


def main() -> int:
    if problem := usable("debootstrap", "systemd-nspawn"):
        sys.stderr.write(f"unit-boot: {problem}\n")
        return 2
    with booted(machine(PLACE)) as running:
        check(running)
    return 0


if __name__ == "__main__":
    sys.exit(main())
