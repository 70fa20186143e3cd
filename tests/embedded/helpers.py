"""Shared by the tests of the embedded Postgres: statements, processes, and waiting for a condition."""

# ruff: noqa: ASYNC110 - a condition in another process sets no event

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
import trio

from storage.connection.target import Target
from storage.embedded.children import Account
from storage.embedded.directories import reaches
from storage.embedded.server import Postgres, State

REPOSITORY = Path(__file__).parents[2]
AS_ROOT = os.geteuid() == 0


async def fetch(endpoint: Target, statement: str) -> Any:
    """The first value of a statement, over a new connection."""

    async def ask() -> Any:
        connection = await asyncpg.connect(**endpoint.arguments())
        try:
            return await connection.fetchval(statement)
        finally:
            connection.terminate()

    return await trio.to_thread.run_sync(lambda: asyncio.run(ask()))


async def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    with trio.fail_after(seconds):
        while not condition():
            await trio.sleep(0.01)


async def until_restarted(postgres: Postgres, restarts: int) -> None:
    def running_again() -> bool:
        now = postgres.statistics()
        return now.state is State.RUNNING and now.restarts == restarts

    await until(running_again)


def postmasters_of(data_dir: Path) -> set[int]:
    """The pids of all running postmasters of this directory.

    A freshly forked child still has the postmaster's command line, so processes whose parent matches too are left out.
    """
    wanted = os.fsencode((data_dir / "postgres").resolve())
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if command[0].endswith(b"/postgres") and wanted in command:
                parents[int(entry.name)] = parent
    return {pid for pid, parent in parents.items() if parent not in parents}


@contextmanager
def owner_process(data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """Another service process. It runs once its first line can be read."""
    command = [sys.executable, "-m", "tests.embedded.owner", str(data_dir)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def run_as(account: Account, arguments: Sequence[str]) -> subprocess.Popen[str]:
    """Run this Python as another user. Skips the test if that user cannot reach an interpreter or the repository."""
    site = Path(trio.__file__).parents[1]
    minor = f"/usr/bin/python3.{sys.version_info.minor}"
    pythons = [path for path in (sys.executable, minor) if Path(path).exists() and reaches(account, Path(path))]
    if not pythons or not all(reaches(account, place) for place in (site, REPOSITORY)):
        pytest.skip(f"{account.name} cannot reach a Python 3.{sys.version_info.minor}, {site} or {REPOSITORY}")
    return subprocess.Popen(
        [pythons[0], "-B", *arguments],
        cwd=REPOSITORY,
        env={"PYTHONPATH": os.pathsep.join(map(str, (REPOSITORY, site))), "PATH": os.defpath},
        user=account.uid,
        group=account.gid,
        extra_groups=list(account.groups),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
