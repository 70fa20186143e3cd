"""A service that root starts gives up root before it reads a request."""

import os
import pwd
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from storage.embedded.children import server_account
from storage.embedded.directories import reaches
from tests.acceptance.postgres import PostgresServer
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import (
    SECRET,
    Service,
    Settings,
    children_of,
    command,
    complaint,
    run,
    serving,
    until,
)
from tests.acceptance.workers import workers_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up root")

PYTHON = "/usr/bin/python3.11"
"""An interpreter that every user can read, unlike one below /root."""


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> str:
    """Such an interpreter, with the packages of this environment."""
    packages = Path(pytest.__file__).parents[1]
    account = server_account(None)
    if not (Path(PYTHON).exists() and f"/python{PYTHON[-4:]}/" in f"{packages}/" and reaches(account, packages)):
        pytest.skip(f"there is no {PYTHON} with packages that {account.name} can read")
    if not reaches(account, REPOSITORY):
        pytest.skip(f"{account.name} cannot read {REPOSITORY}")
    monkeypatch.setenv("PYTHONPATH", str(packages))
    return PYTHON


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    for child in children_of(pid):
        yield from family(child)


def users_of(service: Service) -> set[str]:
    """The users of all processes of a service: real, effective, saved and of files, and the groups."""
    users: set[str] = set()
    for pid in family(service.process.pid):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended, as a worker that was replaced
        for name in ("Uid", "Gid", "Groups"):
            line = re.search(rf"^{name}:(.*)$", status, re.MULTILINE)
            assert line is not None
            users |= {f"{name} {number}" for number in line[1].split()}
    return users


def is_only(service: Service, name: str) -> bool:
    entry = pwd.getpwnam(name)
    groups = {f"Groups {group}" for group in os.getgrouplist(name, entry.pw_gid)}
    return users_of(service) == {f"Uid {entry.pw_uid}", f"Gid {entry.pw_gid}", *groups}


@pytest.mark.parametrize("workers", [1, 2])
def test_no_process_is_root_any_more_and_commands_work_beside(
    workers: int, python: str, data_dir: Path, tmp_path: Path
) -> None:
    account = server_account(None)
    with serving(data_dir, {"server.workers": workers}, python=python) as service:
        assert is_only(service, account.name)
        assert service.is_ready()
        key = service.mint()["apiKey"]
        service.command("backup", tmp_path / "backup")
        os.kill(service.postmaster_pid, signal.SIGKILL)
        until(lambda: service.log().count(" accepts connections at ") == 2 and service.is_ready())
        assert is_only(service, account.name), "nor is the Postgres that it started anew"
        assert service.usage(key)["status"] == "anonymous"
    assert data_dir.stat().st_uid == 0, "nobody else can put a file here, for root to open"
    with serving(data_dir, {"server.workers": workers}, python=python) as service:
        assert service.usage(key)["status"] == "anonymous", "the next start finds all files"


@pytest.mark.parametrize("workers", [1, 2])
def test_scheduled_backups_are_made_and_replaced_without_root(workers: int, python: str, data_dir: Path) -> None:
    account, directory = server_account(None), data_dir / "backups"
    settings: Settings = {"server.workers": workers, "backup.every_hours": 24, "backup.keep": 1}
    old = directory / "catalog-20200101T000000Z.backup"
    directory.mkdir(mode=0o700)
    old.touch()  # root's, as if a start had kept root
    with serving(data_dir, settings, python=python) as service:
        until(lambda: "deleted the backup" in service.log())
        assert is_only(service, account.name)
        [file] = directory.iterdir()
        assert (directory.stat().st_uid, file.stat().st_uid) == (account.uid, account.uid)
        assert f"ok: the newest scheduled backup in {directory}" in command(
            "doctor", "--data-dir", data_dir, settings=settings
        )


def test_a_directory_of_backups_that_belongs_to_root_is_left_to_root_and_refused(python: str, data_dir: Path) -> None:
    account, directory = server_account(None), data_dir.parent / "for-backups"
    settings: Settings = {"backup.every_hours": 24, "backup.directory": directory}
    serve = ("serve", "--bind", "127.0.0.1:0", "--data-dir", data_dir)
    directory.mkdir(mode=0o700)
    assert complaint(run(*serve, settings=settings, python=python)) == (
        f"service: backup.directory: the user {account.name} cannot write to {directory}: let that user own it "
        f"(chown {account.name})"
    )
    assert directory.stat().st_uid == 0
    directory.rmdir()
    with serving(data_dir, settings, python=python) as service:
        until(lambda: "backed up the database" in service.log())
        assert directory.stat().st_uid == account.uid, "a new one is the user's"


def test_workers_are_replaced_and_started_anew_without_root(python: str, data_dir: Path) -> None:
    with serving(data_dir, {"server.workers": 2}, python=python) as service:
        lost = min(workers_of(service))
        os.kill(lost, signal.SIGKILL)
        until(lambda: len(workers_of(service) - {lost}) == 2 and "is ready again" in service.log())
        service.process.send_signal(signal.SIGHUP)
        until(lambda: "all workers are replaced" in service.log())
        assert is_only(service, server_account(None).name)
        assert service.is_ready()


def test_beside_a_postgres_of_its_own_it_becomes_nobody(
    python: str, external: PostgresServer, playground: Path
) -> None:
    settings: Settings = {"database.url": external.url(external.fresh_database())}
    with serving(playground / "as-nobody", settings, python=python) as service:
        assert is_only(service, "nobody")
        assert service.mint()
    with serving(playground / "as-nobody", settings, python=python) as service:
        assert service.is_ready(), "it reads the secret that the first start made as root"


def test_a_named_user_is_taken(python: str, external: PostgresServer, playground: Path) -> None:
    settings: Settings = {
        "database.url": external.url(external.fresh_database()).replace("?", "?application_name=named&"),
        "server.secret": SECRET,
        "server.user": server_account(None).name,
    }
    with serving(playground / "as-named", settings, python=python) as service:
        assert is_only(service, server_account(None).name)


def test_a_data_directory_that_the_user_cannot_enter_is_named(
    python: str, external: PostgresServer, playground: Path
) -> None:
    barred = playground / "barred"
    barred.mkdir(mode=0o700)
    settings: Settings = {"database.url": external.url(external.fresh_database())}
    with serving(barred / "data", settings, python=python) as service:
        assert f"runs as root, because the user nobody cannot read {barred}/data: install it" in service.log()
        assert service.is_ready()
    named = {**settings, "server.user": "nobody"}
    refused = run("serve", "--bind", "127.0.0.1:0", "--data-dir", barred / "data", settings=named, python=python)
    public = {**settings, "server.base_url": "https://catalog.example.com", "mail.smtp_url": "smtp://127.0.0.1:9"}
    line = complaint(
        run("serve", "--bind", "127.0.0.1:0", "--data-dir", barred / "data", settings=public, python=python)
    )
    assert f"a public service does not run as root, and the user nobody cannot read {barred}/data" in line
    assert complaint(refused) == (
        f"service: server.user: 'nobody' cannot read {barred}/data: move it, or let that user read it"
    )


def test_a_database_that_admits_root_only_is_an_error_at_the_start(
    python: str, external: PostgresServer, playground: Path
) -> None:
    settings: Settings = {
        "database.url": external.url(external.fresh_database()),
        "server.secret": SECRET,
        "server.user": "daemon",
    }
    done = run("serve", "--bind", "127.0.0.1:0", "--data-dir", playground / "y", settings=settings, python=python)
    assert "cannot be used: " in complaint(done)


def free_low_port() -> int:
    """An unused port that only root can bind. Skips the test if there is none."""
    first = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    for port in range(first - 1, 0, -1):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    pytest.skip("every user can bind any port here")


def test_workers_on_a_port_of_root_are_started_anew(python: str, data_dir: Path) -> None:
    bind = f"127.0.0.1:{free_low_port()}"
    with serving(data_dir, {"server.workers": 2}, python=python, bind=bind) as service:
        lost = min(workers_of(service))
        os.kill(lost, signal.SIGKILL)
        until(lambda: len(workers_of(service) - {lost}) == 2 and "is ready again" in service.log())
        assert "new connections wait; only root can bind ports below 1024 again" in service.log()
        for _ in range(8):
            service.close()  # each request uses a new connection, to either worker
            assert service.status("/healthz") == 200
