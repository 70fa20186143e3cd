"""The guide of docs/backups.md, walked with real servers: its commands are run as they stand there."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import trio

from actors.backups.state import AHEAD_MS, LONGEST_RETRY_MS, MARGIN_BYTES, BackupRules, name_at, retry_ms
from actors.clock import HOUR_MS, MINUTE_MS
from service.config.loading import load
from storage.embedded.binaries import find_binaries
from storage.embedded.children import Account, run, server_account
from storage.embedded.directories import make_directory
from tests.acceptance.postgres import ask
from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import SECRET, Service, Settings, as_user, serving, until

TEXT = (REPOSITORY / "docs/backups.md").read_text(encoding="utf-8")
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")
ARCHIVE, TAKE, RESTORE, DUMPS = "### 1. Archive", "### 2. Take", "### 3. Restore", "## Dumps"
COMMAND_SECONDS = 60.0
DAILY = BackupRules(every_ms=24 * HOUR_MS, keep=1)


def blocks(title: str) -> list[str]:
    """The shell commands of the section whose title begins so."""
    [section] = re.findall(rf"^{re.escape(title)}.*?$(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


class Operator:
    """Runs commands of the guide as the user that runs Postgres. `replaced` are values of the operator's own."""

    def __init__(self, binaries: Path, place: Path) -> None:
        self.account: Account = server_account(None)
        self.binaries = binaries
        self.data, self.sockets, self.backups = place / "main", place / "run", place / "backups"
        for directory in (place, self.data, self.sockets, self.backups):
            make_directory(directory, 0o711 if directory == self.sockets else 0o700)
            shutil.chown(directory, self.account.uid, self.account.gid)
        place.chmod(0o711)
        [names] = blocks("## Your own")
        self._names = _replaced(names, {"PGDATA": self.data, "PGHOST": self.sockets, "BACKUPS": self.backups})

    def walk(self, *scripts: str, **values: object) -> None:
        """Run scripts of the guide as one."""
        script = self._names + _replaced("".join(scripts), values)
        done = subprocess.run(
            ["bash", "-euc", script],
            env={"PATH": f"{self.binaries}:{os.defpath}", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
            cwd="/",
            **as_user(self.account.uid if os.geteuid() == 0 else None),
        )
        assert done.returncode == 0, (done.stdout, done.stderr)

    def ask(self, statement: str, database: str = "catalog") -> list[object]:
        return [row[0] for row in ask(self.sockets, statement, database=database, role="postgres")]

    @contextmanager
    def running(self) -> Iterator[None]:
        """A new server with a database of an ordinary role, which is stopped in the end, whatever the walk has started."""
        initdb: list[str | Path] = [
            self.binaries / "initdb",
            "-D",
            self.data,
            "-U",
            "postgres",
            "--no-sync",
            "-E",
            "UTF8",
        ]
        trio.run(partial(run, [*initdb, "--auth=trust"], self.account))
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"unix_socket_directories = '{self.sockets}'\nlisten_addresses = ''\n")
        log = f'-w -l "{self.backups}/server.log"'
        try:
            self.walk(f"pg_ctl start {log}\ncreateuser catalog\ncreatedb --owner=catalog catalog\n")
            yield
        finally:
            self.walk("pg_ctl stop -m immediate -w || true\n")


def _replaced(script: str, values: dict[str, object]) -> str:
    """The script with other values of its variables. Each of them is set there once."""
    for name, value in values.items():
        script, count = re.subn(rf"\b{name}=('[^']*'|\S+)", f"{name}='{value}'", script)
        assert count == 1, name
    return script


class Writer:
    """Mints keys until it is stopped, and keeps those that were answered."""

    def __init__(self, service: Service) -> None:
        self.keys: list[str] = []
        self._service = service
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        while not self._stop.is_set() and len(self.keys) < 5_000:
            self.keys.append(self._service.mint()["apiKey"])

    def __enter__(self) -> "Writer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(COMMAND_SECONDS)


def verify(backups: Path) -> None:
    """Compare the files of the only backup with its manifest, as pg_verifybackup does."""
    [backup] = backups.iterdir()
    files = json.loads((backup / "backup_manifest").read_text())["Files"]
    assert len(files) > 900
    for file in files:
        content = (backup / file["Path"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["Checksum"], file["Path"]


def works(binaries: Path, program: str) -> bool:
    """Whether a program can run at all. The wheel's pg_verifybackup cannot: it is killed by SIGSEGV."""
    return subprocess.run([binaries / program, "--version"], capture_output=True, check=False).returncode == 0


def test_its_figures_and_names_are_those_of_the_code() -> None:
    config = load(None, {}).backup
    assert f"    every_hours = 24\n    keep = {config.keep}\n" in TEXT
    retries = ", ".join(str(retry_ms(failures, DAILY) // MINUTE_MS) for failures in (1, 2, 3))
    for words in (
        f"after {retries} minutes and so on",
        f"{MARGIN_BYTES // 2**20} MiB more",
        f"`{name_at(0)[:8]}YYYYMMDDTHHMMSSZ{name_at(0)[-7:]}`",
    ):
        assert words in TEXT, words
    assert (LONGEST_RETRY_MS, AHEAD_MS) == (HOUR_MS, HOUR_MS)


@pytest.mark.parametrize("version", [15, 18])
def test_the_guide_leads_back_to_the_moment_before_an_accident(version: int, playground: Path) -> None:
    binaries = DEBIAN_15 if version == 15 else find_binaries(server_account(None))
    if not (binaries / "postgres").exists():
        pytest.skip(f"there is no Postgres {version} in {binaries}")
    operator = Operator(binaries, playground / f"guide-{version}")
    place = playground / f"guide-{version}" / "service"
    settings: Settings = {
        "database.url": f"postgresql://catalog@/catalog?host={operator.sockets}",
        "server.secret": SECRET,
    }
    take, clean = blocks(TAKE)
    choose, restore = blocks(RESTORE)
    verified = works(binaries, "pg_verifybackup")
    assert verified or version == 18
    with operator.running():
        with serving(place, settings) as service:
            early = [service.mint()["apiKey"]]
            operator.walk(*blocks(ARCHIVE))
            until(service.is_ready, what="the service reconnects after the restart")
            with Writer(service) as writer:
                operator.walk(take if verified else take.replace("pg_verifybackup", ": not"))
            assert len(writer.keys) > 5
            verify(operator.backups / "base")
            operator.walk(clean)
            early += [*writer.keys, service.mint()["apiKey"]]
            [moment] = operator.ask("select clock_timestamp()::text")
            late = service.mint()["apiKey"]
            bookings = operator.ask("select count(*) from bookings")
            operator.ask("truncate bookings cascade")
        if version == 15:
            # The server dies, and its disk can be read: what it had not archived is in its pg_wal.
            operator.walk("pg_ctl stop -m immediate -w\n")
        else:
            # The disk is lost: there is the archive alone.
            restore, count = re.subn(r"^cp .*pg_wal.*\n", "", restore, flags=re.MULTILINE)
            assert count == 1
        operator.walk(choose, restore, MOMENT=moment)
        assert operator.ask("select count(*) from bookings") == bookings != [0], "the accident did not happen"
        with serving(place, settings) as service:
            assert {service.usage(key)["status"] for key in early} == {"anonymous"}
            assert service.get("/api/v1/usage", late).status_code == 401
            assert service.mint()
            said = service.command("doctor")
            assert "ok: the server's secret is that of the database" in said
            assert "ok: the database archives its write-ahead log" in said
            assert "PROBLEM" not in said
            dump, load_dump = blocks(DUMPS)
            operator.walk(dump, load_dump)
        counts = "select count(*) from api_keys"
        assert operator.ask(counts, "restored") == operator.ask(counts)
