"""External Postgres servers, which the service does not start or manage."""

import asyncio
import itertools
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import trio

from storage.embedded.children import Account, run, server_account, spawn
from storage.embedded.directories import make_directory
from tests.acceptance.processes import children_of, is_alive, until

BINARIES = Path("/usr/lib/postgresql/15/bin")
PASSWORD = "a-password-of-the-database"

_numbers = itertools.count(1)


async def _ask(statements: tuple[str, ...], arguments: dict[str, Any]) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(timeout=10, **arguments)
    try:
        rows: list[asyncpg.Record] = []
        for statement in statements:
            rows = await connection.fetch(statement)
        return rows
    finally:
        connection.terminate()


def ask(
    sockets: Path, *statements: str, database: str = "catalog", role: str = "catalog", port: int = 5432
) -> list[asyncpg.Record]:
    """Run statements over a new connection. Returns the rows of the last one.

    Uses its own thread, because the thread of an async test runs Trio's loop.
    """

    def work() -> list[asyncpg.Record]:
        target = {"host": str(sockets), "user": role, "database": database, "port": port, "ssl": False}
        return asyncio.run(_ask(statements, target))

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def answers(sockets: Path, database: str = "catalog") -> bool:
    """Whether the server accepts a connection and answers."""
    try:
        return bool(ask(sockets, "select 1", database=database))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False


def admit_nobody(cluster: Path, sockets: Path) -> None:
    """Let the user nobody in, which a service that root starts becomes beside an external server."""
    sockets.chmod(0o711)
    with (cluster / "pg_ident.conf").open("a") as admitted:
        admitted.write("service nobody catalog\n")


class PostgresServer:
    """A server on a cluster directory owned by `account`. `sockets` is its socket directory."""

    def __init__(self, binaries: Path, account: Account, directory: Path, sockets: Path, *options: str) -> None:
        self.binaries = binaries
        self.account = account
        self.directory = directory
        self.sockets = sockets
        self.options = options
        self.role = "catalog"
        self.port = 5432
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        settings = [f"unix_socket_directories={self.sockets}", *self.options]
        if not any(setting.startswith("listen_addresses=") for setting in settings):
            settings.append("listen_addresses=")
        arguments = [part for setting in settings for part in ("-c", setting)]
        with self.directory.with_name(f"{self.directory.name}.log").open("ab") as log:
            # It quits if this process is killed; for that it must be started in the main thread.
            self.process = spawn(
                [self.binaries / "postgres", "-D", self.directory, *arguments],
                self.account,
                signal.SIGQUIT,
                log.fileno(),
            )
        until(lambda: self.is_up() or self._ended(), 60, what="Postgres to start")
        assert not self._ended(), self.log()

    def stop(self, order: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: fast by default, or immediately with SIGQUIT, which leaves a crash to recover from."""
        if self.process is not None:
            self.process.send_signal(order)
            self.process.wait(60)
            self.process = None

    def kill(self) -> None:
        """Kill -9 every process of the server. The next start recovers."""
        pids, process = self._pids(), self.process
        assert process is not None
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(60)
        until(lambda: not any(is_alive(pid) for pid in pids), what="the end of all backends")
        self.process = None

    def freeze(self) -> None:
        """Suspend every process of the server: connections stay open and nothing responds."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        """Signal every process of the server, but for those that end meanwhile."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def is_up(self) -> bool:
        try:
            return bool(self.ask("select 1", database="postgres"))
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False

    def ask(self, *statements: str, database: str = "catalog") -> list[asyncpg.Record]:
        return ask(self.sockets, *statements, database=database, role=self.role, port=self.port)

    def url(self, database: str = "catalog") -> str:
        return f"postgresql://catalog@/{database}?host={self.sockets}"

    def fresh_database(self) -> str:
        """Create a migrated, unused database. Returns its name."""
        name = f"fresh_{next(_numbers)}"
        self.ask(f"create database {name} template catalog", database="postgres")
        return name

    def configure(self, *statements: str) -> None:
        """Run `alter system ...` and reload the server, even if it is read-only."""
        alone = ("set default_transaction_read_only = off", *statements, "select pg_reload_conf()")
        self.ask(*alone, database="postgres")

    def log(self) -> str:
        return self.directory.with_name(f"{self.directory.name}.log").read_text(errors="replace")

    def _ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def _pids(self) -> list[int]:
        assert self.process is not None
        postmaster = self.process.pid
        return [postmaster, *children_of(postmaster)]


@contextmanager
def started(server: PostgresServer) -> Iterator[PostgresServer]:
    """Run the server during the block."""
    server.start()
    try:
        yield server
    finally:
        if server.process is not None:
            server.thaw()
        server.stop()


@contextmanager
def ordinary_postgres(place: Path, *options: str) -> Iterator[PostgresServer]:
    """Postgres 15 on TCP. Its role `catalog` has a password, and owns nothing yet; the tests ask as a superuser."""
    account = server_account(None)
    make_directory(place, 0o711)
    directories = [place / "cluster", place / "run"]
    for directory in directories:
        make_directory(directory, 0o700)
        shutil.chown(directory, account.uid, account.gid)
    cluster, sockets = directories
    initdb: list[str | Path] = [
        BINARIES / "initdb",
        "-D",
        cluster,
        "-U",
        "boss",
        "--no-sync",
        "--auth=trust",
        "-E",
        "UTF8",
    ]
    trio.run(partial(run, initdb, account))
    (cluster / "pg_hba.conf").write_text(
        "local all,replication boss trust\nhost all catalog 127.0.0.1/32 scram-sha-256\n"
    )
    port = free_port()
    server = PostgresServer(BINARIES, account, cluster, sockets, "listen_addresses=127.0.0.1", f"port={port}", *options)
    server.role, server.port = "boss", port
    with started(server):
        server.ask(f"create role catalog login password '{PASSWORD}'", database="postgres")
        yield server


def free_port() -> int:
    """A currently unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
