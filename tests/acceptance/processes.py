"""Real processes for the acceptance tests: the service, its commands, and waiting for conditions in other processes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from tests.acceptance.prepared import REPOSITORY, Forked, run_prepared

COMMAND_SECONDS = 60.0
START_SECONDS = 60.0
STOP_SECONDS = 30.0
SECRET = "a secret of these tests that all nodes share"

Settings = Mapping[str, object]

ROOMY: Settings = {
    "mint.per_hour": 100_000,
    "mint.per_hour_total": 100_000,
    "keyless.per_minute": 1_000_000,
    "placements.per_minute": 1_000_000,
    "account.changes_per_day": 1_000_000,
    "keys.per_day": 1_000,
    "claim.starts_per_hour": 10_000,
    "claim.completions_per_hour": 10_000,
    "mail.per_hour_total": 100_000,
    "device.per_hour_total": 100_000,
    "events.exempt_networks": "127.0.0.0/8",
}
"""Limits per address that no test reaches, because all tests share the loopback address."""


def until(condition: Callable[[], object], seconds: float = 20.0, *, what: str = "") -> float:
    """Wait for a condition in another process. Returns the seconds it took. Fails after `seconds`."""
    began = time.monotonic()
    while not condition():
        waited = time.monotonic() - began
        assert waited < seconds, f"not within {seconds:g} s: {what or condition}"
        # A condition that takes long is asked less often, because many of them are requests.
        time.sleep(min(max(0.01, waited / 20), 0.1))
    return time.monotonic() - began


def environment(settings: Settings) -> dict[str, str]:
    """The environment of a service with these settings, named `section.name`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CATALOG__")}
    chosen = {f"CATALOG__{name.upper().replace('.', '__')}": str(value) for name, value in settings.items()}
    return {**inherited, "PYTHONUNBUFFERED": "1", **chosen}


def as_user(uid: int | None) -> dict[str, Any]:
    """The options that run a process as another user. None means the current user."""
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


def run(
    *arguments: object,
    settings: Settings | None = None,
    python: str | None = None,
    uid: int | None = None,
    home: Path = REPOSITORY,
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end, which may be a failure. `python` names another interpreter, `home` another checkout."""
    words = [str(argument) for argument in arguments]
    if python is None and uid is None:
        return run_prepared(words, environment(settings or {}), COMMAND_SECONDS)
    return subprocess.run(
        [python or sys.executable, "-m", "service", *words],
        cwd=home,
        env=environment(settings or {}),
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
        **as_user(uid),
    )


def run_all(*commands: Sequence[object], settings: Settings | None = None) -> list[subprocess.CompletedProcess[str]]:
    """Run commands in parallel, each to its end."""
    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda arguments: run(*arguments, settings=settings), commands))


def command(*arguments: object, settings: Settings | None = None, **options: Any) -> str:
    """Run a command that must succeed. Returns its output."""
    done = run(*arguments, settings={"log.level": "warning", **(settings or {})}, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The error line of a process that refused to work. Asserts exit code 2 and no traceback."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    own = [line for line in lines if line.startswith(("service: ", "python -m service"))]
    assert len(own) == 1, lines
    assert lines[-1] == own[0], lines
    return own[0]


class Service:
    """One `serve` process. Its output goes to files that can be read while it runs."""

    def __init__(
        self,
        data_dir: Path,
        settings: Settings,
        *,
        bind: str = "127.0.0.1:0",
        python: str | None = None,
        uid: int | None = None,
        module: str = "service",
        config: Path | None = None,
        home: Path = REPOSITORY,
        launcher: Sequence[str] = (),
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.data_dir = data_dir
        self.settings = settings
        self.python, self.uid, self.home = python, uid, home
        data_dir.parent.mkdir(exist_ok=True)
        number = sum(1 for _ in data_dir.parent.glob(f"{data_dir.name}.*.out"))
        self.out, self.err = (data_dir.with_name(f"{data_dir.name}.{number}.{kind}") for kind in ("out", "err"))
        options = ["--bind", bind, "--data-dir", str(data_dir), *(["--config", str(config)] if config else [])]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process: subprocess.Popen[bytes] | Forked
            if python is None and uid is None and module == "service" and not launcher:
                self.process = Forked(["serve", *options], environment(settings), out.fileno(), err.fileno())
            else:
                self.process = subprocess.Popen(
                    [*launcher, python or sys.executable, "-m", module, "serve", *options],
                    cwd=home,
                    env=environment(settings),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    pass_fds=pass_fds,
                    **as_user(uid),
                )
        self.url = ""
        self._client: httpx.Client | None = None

    # Starting and stopping.

    def wait_ready(self) -> None:
        """Wait until it prints its address."""
        until(lambda: self.process.poll() is not None or self._listening(), START_SECONDS, what="the start")
        match = self._listening()
        assert match, f"it said {self.out.read_text()!r} and {self.log()}"
        self.url = match[1]

    def _listening(self) -> re.Match[str] | None:
        return re.search(r"^listening on (http://\S+)$", self.out.read_text(), re.MULTILINE)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Wait for its end. Returns the exit code."""
        return self.process.wait(seconds)

    def stop(self) -> None:
        """Stop it gracefully. Asserts success and no bug in the log."""
        self.terminate()
        assert self.wait() == 0, self.log()
        assert "Traceback" not in self.log(), self.log()

    def kill(self) -> None:
        """Kill -9 the process."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    # Output.

    def log(self) -> str:
        return self.err.read_text(errors="replace")

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def sockets(self) -> Path:
        """The socket directory of its embedded Postgres."""
        return self.data_dir / "run"

    @property
    def postmaster_pid(self) -> int:
        return int((self.data_dir / "postgres" / "postmaster.pid").read_text().split("\n")[0])

    def command(self, *arguments: object) -> str:
        """Run a command beside it as its operator would: as the same user on the same database."""
        shared = {name: value for name, value in self.settings.items() if name.startswith(("database.", "server."))}
        beside = ("--data-dir", self.data_dir)
        return command(*arguments, *beside, settings=shared, python=self.python, uid=self.uid, home=self.home)

    # Responses.

    @property
    def http(self) -> httpx.Client:
        if self._client is None:
            self._client = httpx.Client(base_url=self.url, timeout=15.0, trust_env=False, verify=False)
        return self._client

    def get(self, path: str, key: str | None = None) -> httpx.Response:
        return self.http.get(path, headers={"authorization": f"Bearer {key}"} if key else {})

    def post(self, path: str, body: object = None) -> httpx.Response:
        return self.http.post(path, json=body)

    def mint(self) -> dict[str, Any]:
        """Mint an anonymous key with its claim token."""
        answer = self.post("/api/v1/auth/agent")
        assert answer.status_code == 200, answer.text
        minted: dict[str, Any] = answer.json()
        return minted

    def usage(self, key: str) -> dict[str, Any]:
        answer = self.get("/api/v1/usage", key)
        assert answer.status_code == 200, answer.text
        usage: dict[str, Any] = answer.json()
        return usage

    def status(self, path: str, key: str | None = None) -> int:
        """The status of the response, or 0 without one."""
        try:
            return self.get(path, key).status_code
        except httpx.TransportError:
            return 0

    def is_ready(self) -> bool:
        return self.status("/readyz") == 200


@contextmanager
def serving(
    data_dir: Path, settings: Settings | None = None, *, wait: bool = True, **options: Any
) -> Iterator[Service]:
    """Start a service and wait until it is ready. At the end it is stopped gracefully, unless the test has ended it."""
    service = Service(data_dir, {**ROOMY, **(settings or {})}, **options)
    try:
        if wait:
            service.wait_ready()
        yield service
        if service.process.poll() is None:
            service.stop()
    finally:
        service.close()
        if service.process.poll() is None:
            # Gracefully first: otherwise files would be removed under a running Postgres.
            service.terminate()
            with suppress(subprocess.TimeoutExpired):
                service.wait(STOP_SECONDS)
            service.kill()


def is_alive(pid: int) -> bool:
    """Whether a process runs. A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    """The running children of a process, started by any of its threads."""
    children: list[int] = []
    with suppress(OSError):  # the process has ended
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # the thread has ended
                children += map(int, (thread / "children").read_text().split())
    return [child for child in children if is_alive(child)]


# Catalog files.


def bot(number: int, *, words: str = "Reads invoices and drafts reminders", **fields: object) -> dict[str, object]:
    return {
        "type": "bot",
        "slug": f"bot-{number}",
        "name": f"Invoice Helper {number}",
        "who": "A bookkeeper",
        "handle": f"@helper-{number}",
        "job": words,
        "templateUrl": f"https://example.com/templates/{number}",
        "addedAt": 1_700_000_000_000 + number,
        **fields,
    }


def usecase(number: int, *, prompt: str = "Draft a polite reminder.", **fields: object) -> dict[str, object]:
    return {
        "type": "usecase",
        "slug": f"usecase-{number}",
        "title": f"Orchard ledger {number}",
        "who": "A fruit grower",
        "handle": f"@grower-{number}",
        "roi": "Saves two hours a week.",
        "sourceUrl": f"https://example.org/usecases/{number}",
        "addedAt": 1_700_000_000_000 + number,
        "guide": {
            "title": "Keep the ledger",
            "category": "Finance",
            "opportunity": "Paper notes become rows.",
            "audience": "Growers.",
            "platforms": ["Spreadsheet"],
            "botSlugs": ["bot-1"],
            "steps": ["Take a photograph.", "Check the row."],
            "prompt": prompt,
        },
        **fields,
    }


def write_catalog(path: Path, *entries: Mapping[str, object]) -> Path:
    """A catalog file in JSON lines."""
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path
