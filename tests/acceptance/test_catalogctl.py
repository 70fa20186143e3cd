"""`catalogctl` as a process: the examples of docs/catalogctl.md, unchanged, and a login that a person approves."""

import json
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from release.wheel import build_wheel
from tests.acceptance.people import Person
from tests.acceptance.postgres import ask
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import Service, environment, serving, until

TEXT = (REPOSITORY / "docs/catalogctl.md").read_text(encoding="utf-8")
OWN = (sys.executable, "-m", "service.catalogctl")


@pytest.fixture(scope="module")
def service(new_data_dir: Callable[[str], Path]) -> Iterator[Service]:
    with serving(
        new_data_dir("catalogctl"), {"device.starts_per_hour": 1_000, "device.interval_seconds": 1}
    ) as running:
        yield running


def variables(home: Path, **more: str) -> dict[str, str]:
    inherited = {name: value for name, value in environment({}).items() if not name.startswith("CATALOGCTL_")}
    return {**inherited, "XDG_CONFIG_HOME": str(home), "NO_PROXY": "127.0.0.1", **more}


def catalogctl(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*OWN, *arguments],
        cwd=REPOSITORY,
        env=variables(home, **more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_examples_do_what_is_said_of_them(service: Service, tmp_path: Path) -> None:
    key = service.command("issue-key", "--email", "examples@example.com").strip()
    blocks = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 8, blocks
    script = "".join(blocks).replace("http://127.0.0.1:8080", service.url).replace("cs_user_...", key)
    function = f'set -eu\ncatalogctl() {{ {sys.executable} -m service.catalogctl "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", function + script],
        cwd=REPOSITORY,
        env=variables(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    for words in (
        "examples@example.com",
        "Sponsor  Example Tools",
        "Status       checkout",
        "Status       cancelled",
        "Reports   off",
        "cs_scoped_",
        "The old key expires",
    ):
        assert words in done.stdout, (words, done.stdout)
    notes = [line for line in done.stderr.splitlines() if not line.startswith(("There are more: ", "The key is shown"))]
    assert [line.partition(": ")[0] for line in notes] == [
        "Idempotency key",
        "Pay before the hold runs out",
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_first_time_user_gets_an_answer_by_three_commands(service: Service, tmp_path: Path) -> None:
    """The first example, in a new environment. Its `pip` downloads nothing."""
    wheel = build_wheel(REPOSITORY, tmp_path, 1_763_000_000)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    commands = re.findall(r"^\$ (.*)$", TEXT.partition("```console\n")[2].partition("```")[0], re.MULTILINE)
    assert [line.split()[0] for line in commands] == ["pip", "export", "catalogctl"]
    script = "\n".join(commands).replace("https://catalog.example.com", service.url)
    done = subprocess.run(
        ["bash", "-c", f"set -eu\n{script}"],
        cwd=wheel.parent,
        env={"HOME": str(tmp_path), "PATH": f"{tmp_path / 'venv/bin'}:/usr/bin:/bin", "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split()[0] != "SLUG"
    assert "\nchasing-late-invoices " in done.stdout


def test_whoever_stops_reading_gets_no_complaint(service: Service, tmp_path: Path) -> None:
    command = f"{' '.join(OWN)} bots --all --url {service.url} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", f"trap '' PIPE; {command}"],
        cwd=REPOSITORY,
        env=variables(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 141)
    assert done.stderr == ""


# A login.


class Embedded:
    """The embedded database of a service."""

    def __init__(self, service: Service) -> None:
        self.sockets = service.sockets

    def ask(self, *statements: str, database: str = "catalog") -> object:
        return ask(self.sockets, *statements, database=database)


@contextmanager
def logging_in(service: Service, home: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A login in progress: its process, and the printed address and code."""
    told = home.with_name(f"{home.name}.err")
    with told.open("w") as err:
        process = subprocess.Popen(
            [*OWN, "login", "--no-browser", "--url", service.url],
            cwd=REPOSITORY,
            env=variables(home),
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
        )
    try:
        until(lambda: process.poll() is not None or "Waiting" in told.read_text(), 20, what="the code to be shown")
        match = re.match(r"Open   (\S+)\nEnter  ([B-Z]{4}-[B-Z]{4})\n", told.read_text())
        assert match, told.read_text()
        yield process, match[1], match[2]
    finally:
        process.kill()
        process.communicate(timeout=10)


def test_a_login_that_a_person_approves_or_denies(service: Service, tmp_path: Path) -> None:
    home, person = tmp_path / "config", Person(Embedded(service))

    with logging_in(service, home) as (process, address, code):
        assert address == f"{service.url}/device"
        person.decides(service, code, "deny")
        assert process.wait(30) == 1
        assert "denied" in home.with_name("config.err").read_text().splitlines()[-1]

    with logging_in(service, home) as (process, address, code):
        person.decides(service, code)
        assert process.wait(30) == 0
        assert process.stdout is not None
        assert process.stdout.read().startswith(f"Logged in to {service.url} with the key cs_user_")

    file = home / "catalogctl" / "credentials.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    [(url, credential)] = json.loads(file.read_text())["services"].items()
    assert url == service.url
    assert service.usage(credential["api_key"])["email"] == person.email
    assert f"Account     {person.email}\n" in catalogctl(home, "usage").stdout
    assert credential["api_key"] not in service.log()
    assert catalogctl(home, "logout").returncode == 0
    assert catalogctl(home, "usage", "--url", service.url).returncode == 5
    assert service.usage(credential["api_key"])["email"] == person.email
