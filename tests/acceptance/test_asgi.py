"""`service.asgi:app` under the stock command `hypercorn`."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.acceptance.postgres import PostgresServer, free_port
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import ROOMY, SECRET, Settings, environment, is_alive, until
from tests.slow import repeats

DEFAULT = "the first test of this file runs the command"


@dataclass(slots=True)
class Hypercorn:
    """A process of the command, with its output."""

    process: subprocess.Popen[bytes]
    output: Path
    url: str

    def log(self) -> str:
        return self.output.read_text(errors="replace")

    def node(self) -> str:
        """The id of the ready node that answers, or nothing."""
        with suppress(httpx.TransportError):
            return str(httpx.get(f"{self.url}/readyz", trust_env=False).json().get("node", ""))
        return ""

    def wait_started(self) -> None:
        until(lambda: "Running on" in self.log() or self.process.poll() is not None, 60, what="the start")
        assert self.process.poll() is None, self.log()


@contextmanager
def hypercorn(
    place: Path, settings: Settings, *options: str, app: str = "service.asgi:app", **variables: str
) -> Iterator[Hypercorn]:
    """Run the command until the end of the block, where it must have ended or ends by SIGTERM."""
    bind, output = f"127.0.0.1:{free_port()}", place.parent / "hypercorn.log"
    chosen = environment({**ROOMY, "server.data_dir": place, "server.bind": bind, **settings})
    command = [sys.executable, "-m", "hypercorn", "--worker-class", "trio", "--bind", bind, *options, app]
    with output.open("wb") as out:
        process = subprocess.Popen(command, cwd=REPOSITORY, env={**chosen, **variables}, stdout=out, stderr=out)
    started = Hypercorn(process, output, f"http://{bind}")
    try:
        yield started
        if process.poll() is None:
            process.terminate()
            assert process.wait(30) == 0, started.log()
            assert "Traceback" not in started.log(), started.log()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_the_stock_command_serves_a_node_and_drains_it_on_sigterm(data_dir: Path) -> None:
    with hypercorn(data_dir, {}) as served:
        served.wait_started()
        minted = httpx.post(f"{served.url}/api/v1/auth/agent", trust_env=False)
        assert minted.status_code == 200, served.log()
        assert minted.headers["x-request-id"]
        postmaster = int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])
    assert "the server has stopped; draining actors" in served.log()
    assert not is_alive(postmaster)


@repeats(DEFAULT)
def test_several_workers_on_the_embedded_database_are_refused_in_one_line(data_dir: Path) -> None:
    with hypercorn(data_dir, {}, "--workers", "2") as refused:
        assert refused.process.wait(60) == -signal.SIGABRT
        until(lambda: not (data_dir / "postgres" / "postmaster.pid").exists(), what="the other worker ends too")
        [line] = [line for line in refused.log().splitlines() if f"uses the data directory {data_dir}: " in line]
        assert " critical service.asgi the service ends: another process " in line
        assert "set database.url, which several processes can share" in line
        assert "Traceback" not in refused.log()


@repeats(DEFAULT)
def test_several_workers_share_a_database_and_all_drain_on_sigterm(external: PostgresServer, data_dir: Path) -> None:
    url = external.url(external.fresh_database())
    with hypercorn(data_dir, {"database.url": url, "server.secret": SECRET}, "--workers", "2") as served:
        served.wait_started()
        until(lambda: len({served.node() for _ in range(8)} - {""}) == 2, what="both workers answer")
    assert served.log().count("the server has stopped; draining actors") == 2


@repeats(DEFAULT)
def test_a_worker_ends_by_itself_when_its_parent_is_killed(data_dir: Path) -> None:
    with hypercorn(data_dir, {}) as served:
        served.wait_started()
        served.process.kill()
        until(lambda: "the service ends: the parent process of Hypercorn has ended" in served.log())
        assert not (data_dir / "postgres" / "postmaster.pid").exists(), "the database was stopped before"


@repeats(DEFAULT)
def test_an_actor_that_fails_ends_the_process_with_a_code_and_the_database_is_stopped(data_dir: Path) -> None:
    fail_at = data_dir.parent / "fail"
    with hypercorn(data_dir, {}, app="tests.acceptance.failing_app:app", FAIL_AT=str(fail_at)) as served:
        served.wait_started()
        fail_at.touch()
        assert served.process.wait(30) == -signal.SIGABRT, served.log()
        assert "nodes failed 5 times: RuntimeError('a bug of this test')" in served.log()
        assert not (data_dir / "postgres" / "postmaster.pid").exists()


def test_another_kind_of_worker_is_refused_in_one_line() -> None:
    command = [sys.executable, "-m", "hypercorn", "--bind", f"127.0.0.1:{free_port()}", "service.asgi:app"]
    done = subprocess.run(command, cwd=REPOSITORY, env=dict(os.environ), capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGABRT
    assert done.stderr.splitlines()[0] == (
        "the service ends: service.asgi:app runs on Trio: use hypercorn --worker-class trio"
    )
