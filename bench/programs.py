"""Starts the service and its peers, finds their addresses, and pins each to its core."""

import argparse
import asyncio
import json
import os
import re
import socket
import sys
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 120.0
STOP_SECONDS = 30.0
READY = re.compile(r"(?:listening|running) on http://\S+:(?P<port>\d+)", re.IGNORECASE)
"""A program writes this line when it accepts connections."""
GRANIAN_READY = re.compile(r"Listening at: http://\S+:(?P<port>\d+).*with PID: (?P<pid>\d+).*Started worker", re.DOTALL)
"""Granian's lines. Its worker, not the process that was started, answers."""

PLENTY = 1_000_000_000
"""High enough that no run reaches a limit of the service or the cap of a key."""

LIMITS = {
    "KEYLESS__PER_MINUTE": PLENTY,
    "PLACEMENTS__PER_MINUTE": PLENTY,
    "MINT__PER_HOUR": PLENTY,
    "MINT__PER_HOUR_TOTAL": PLENTY,
    "TIERS__ANONYMOUS__LIFETIME": PLENTY,
    "TIERS__ANONYMOUS__DAILY": PLENTY,
    "TIERS__ANONYMOUS__PER_MINUTE": PLENTY,
    "TIERS__ANONYMOUS__USECASE_READS": PLENTY,
    "TIERS__CLAIMED__MONTHLY": PLENTY,
    "TIERS__CLAIMED__DAILY": PLENTY,
    "TIERS__CLAIMED__PER_MINUTE": PLENTY,
    "PAGES__PER_MINUTE": PLENTY,
    "ACCOUNT__CHANGES_PER_DAY": PLENTY,
    "ACCOUNT__EXPORTS_PER_HOUR": PLENTY,
    "BOOKINGS__OPEN_HOLDS": PLENTY,
    "BOOKINGS__HOLDS_PER_DAY": PLENTY,
    "BOOKINGS__COOLDOWN_MINUTES": 0,
    "EVENTS__EXEMPT_NETWORKS": "127.0.0.0/8",
    # 512 connections with 500 events each must wait, not be refused.
    "EVENTS__MAILBOX": 300_000,
}
CONNECTIONS = 80
"""The embedded Postgres admits as many as its node may open, and some more: here, those of all programs. A node that is busy
with the mix of `bench.mixed` opens some 30."""
UVICORN_OPTIONS = ["--port", "0", "--loop", "uvloop", "--http", "httptools", "--workers", "1", "--no-access-log"]
PEER_CAPS = {"anonymous": {"lifetime": PLENTY, "daily": PLENTY, "usecase_reads": PLENTY}}


@dataclass(frozen=True, slots=True)
class Program:
    """A running program."""

    name: str
    port: int
    pid: int


Starting = AbstractAsyncContextManager[Program]
"""A program that starts when the context is entered, and stops at its end."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores of the program under load and of the load generator; None if there is only one core. Postgres is not pinned."""

    server: int | None
    load: int | None

    @classmethod
    def of_this_machine(cls) -> "Cores":
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        return cls(cores[0], cores[1]) if len(cores) > 1 else cls(None, None)


@contextmanager
def pinned_to(core: int | None) -> Iterator[None]:
    """Pin children that are started in the block to `core`."""
    if core is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _pin(pid: int, core: int | None) -> None:
    """Pin a process with all of its threads, but not its children: the embedded Postgres is one."""
    if core is not None:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})


OURS, HYPERCORN = "service", "service on Hypercorn"
"""The same node under each `server.engine`."""
ENGINE, RAW = "bare engine", "FastAPI raw"
IDIOMS = {"FastAPI models": "models", RAW: "raw"}
"""Names of the FastAPI peers in the tables."""
GROUPED = "FastAPI grouped"
"""FastAPI raw with a group commit of single events."""
FASTAPI = {**IDIOMS, GROUPED: "grouped"}
UVICORN, GRANIAN = "ASGI on uvicorn", "ASGI on Granian"
CONSTANT = (UVICORN, GRANIAN)
"""Plain ASGI programs that return recorded responses."""
BEFORE = "before"
"""A node of another checkout."""


def service(data_dir: Path, logs: Path, core: int | None, connections: int = CONNECTIONS) -> Starting:
    """The service on its embedded Postgres in `data_dir`, with at most so many connections to it in its pool."""
    command = ["-m", "service", "serve", "--bind", "127.0.0.1:0", "--data-dir", str(data_dir)]
    environment = _configuration() | {"CATALOG__DATABASE__CONNECTIONS": str(connections)}
    return _running(OURS, command, environment, logs, core)


def joining(
    name: str, data_dir: Path, logs: Path, root: Path = ROOT, core: int | None = None, **settings: str
) -> Starting:
    """One more node, of the checkout in `root`, on the Postgres of the service in `data_dir`."""
    environment = _configuration() | {
        "CATALOG__DATABASE__URL": url_of(data_dir),
        # The user of the service, which dropped root if that user can read Python. This Postgres admits no other but root.
        "CATALOG__SERVER__USER": (data_dir / "secret").owner().replace("root", ""),
        "CATALOG__SERVER__SECRET": (data_dir / "secret").read_text().strip(),
        **{f"CATALOG__{setting}": value for setting, value in settings.items()},
    }
    command = ["-m", "service", "serve", "--bind", "127.0.0.1:0", "--data-dir", str(logs / f"{name} data")]
    known = _settings_of(root)
    environment = {setting: value for setting, value in environment.items() if setting in known}
    return _running(name, command, environment, logs, core, root)


def _settings_of(root: Path) -> set[str]:
    """The variables that a checkout knows: its config.toml has every setting. An older one has no limits that came later."""

    def within(table: dict[str, Any], name: str) -> Iterator[str]:
        for key, value in table.items():
            yield from within(value, f"{name}__{key}") if isinstance(value, dict) else [f"{name}__{key}".upper()]

    return set(within(tomllib.loads((root / "config.toml").read_text()), "CATALOG"))


def checkout(given: str) -> Path:
    """The directory of another checkout, for `argparse`. It may be older: the service migrates the database, which says with
    which programs it works. A newer one would migrate the database under the service."""
    root = Path(given).resolve()
    found, known = ({path.stem for path in (each / "storage" / "migrations").glob("*.sql")} for each in (root, ROOT))
    if not found:
        raise argparse.ArgumentTypeError(f"{root} is no checkout of the service: it has no storage/migrations")
    if newer := sorted(found - known):
        raise argparse.ArgumentTypeError(
            f"{root} has migrations that this checkout does not know ({', '.join(newer)}): exchange the two"
        )
    return root


def elsewhere(name: str, url: str, logs: Path, *, distributed: bool) -> Starting:
    """The service on an existing database, not pinned."""
    environment = _configuration() | {
        "CATALOG__DATABASE__URL": url,
        "CATALOG__DATABASE__DISTRIBUTED": str(distributed).lower(),
        # The same at each run, as nodes of one database need it.
        "CATALOG__SERVER__SECRET": "the secret of a benchmark, which is none",
    }
    command = ["-m", "service", "serve", "--bind", "127.0.0.1:0", "--data-dir", str(logs / f"{name} data")]
    return _running(name, command, environment, logs, None)


def fastapi(name: str, data_dir: Path, logs: Path, core: int | None) -> Starting:
    """The FastAPI program on the same Postgres."""
    environment = database_of(data_dir) | {"PEER_CAPS": json.dumps(PEER_CAPS)}
    command = ["-m", "uvicorn", f"bench.peers.fastapi_app:{FASTAPI[name]}", *UVICORN_OPTIONS]
    return _running(name, command, environment, logs, core)


def constant(name: str, responses: Path, logs: Path, core: int | None) -> Starting:
    """The plain ASGI program that returns the responses in a file."""
    environment = {"PEER_RESPONSES": str(responses)}
    program = ["--factory", "bench.peers.asgi_app:program"]
    if name == UVICORN:
        return _running(
            name, ["-m", "uvicorn", *program, *UVICORN_OPTIONS, "--lifespan", "off"], environment, logs, core
        )
    options = ["--port", str(_free_port()), "--interface", "asginl", "--loop", "uvloop", "--http", "1", "--no-ws"]
    return _running(name, ["-m", "granian", *program, *options], environment, logs, core, ready=GRANIAN_READY)


def _free_port() -> int:
    """A port for a program that does not tell the one that it was given."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def engine(logs: Path, core: int | None) -> Starting:
    """The service's HTTP engine with a constant response."""
    return _running(ENGINE, ["-m", "bench.peers.constant"], _configuration(), logs, core)


def url_of(data_dir: Path) -> str:
    """The setting that points a node to another node's embedded Postgres."""
    return f"postgresql://catalog@/catalog?host={quote(str(data_dir / 'run'), safe='')}"


def database_of(data_dir: Path) -> dict[str, str]:
    """The environment that points a child to the embedded Postgres of `data_dir`."""
    return {"PGHOST": str(data_dir / "run"), "PGUSER": "catalog", "PGDATABASE": "catalog"}


def postmaster_of(data_dir: Path) -> int:
    """The postmaster of the embedded Postgres."""
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


def _configuration() -> dict[str, str]:
    return {f"CATALOG__{name}": str(value) for name, value in LIMITS.items()} | {"CATALOG__LOG__LEVEL": "warning"}


async def import_catalog(file: Path, data_dir: Path, logs: Path) -> None:
    """Replace the catalog beside the running service."""
    with (logs / "import").open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "service", "import-catalog", str(file), "--prune", "--data-dir", str(data_dir)),
            cwd=ROOT,
            stdout=output,
            stderr=output,
        )
    if await process.wait():
        raise RuntimeError(f"the import failed: {_tail(logs / 'import')}")


@asynccontextmanager
async def _running(
    name: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    logs: Path,
    core: int | None,
    root: Path = ROOT,
    ready: re.Pattern[str] = READY,
) -> AsyncIterator[Program]:
    log = logs / name.replace(" ", "-")
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, cwd=root, env={**os.environ, **environment}, stdout=output, stderr=output
        )
    try:
        said = await _said(process, log, ready)
        program = Program(name, int(said["port"]), int(said.groupdict().get("pid", process.pid)))
        _pin(program.pid, core)
        yield program
        if process.returncode is not None:
            raise RuntimeError(f"{name} ended under load: {_tail(log)}")
    finally:
        await _stop(process)


async def _said(process: asyncio.subprocess.Process, log: Path, ready: re.Pattern[str]) -> re.Match[str]:
    for _ in range(int(START_SECONDS * 20)):
        said = ready.search(_text(log))
        if said is not None:
            return said
        if process.returncode is not None:
            break
        await asyncio.sleep(0.05)
    raise RuntimeError(f"{log.name} did not start: {_tail(log)}")


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()


def _tail(log: Path) -> str:
    return "\n".join(_text(log).splitlines()[-15:])


def _text(log: Path) -> str:
    return log.read_text(errors="replace")
