"""Shared by the commands that use the database: opening it, its errors and refusals as one line, and progress bars."""

import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

from actors.clock import SystemEntropy
from actors.kernel.supervision import Member, running
from actors.values import Agent, Refused
from service.cli.command import CommandError
from service.config.model import Config
from service.running.foundation import storage_options
from storage.opening import Opened, open_storage

AGENT = Agent("cli", f"uid {os.getuid()}" if hasattr(os, "getuid") else "cli")
"""The author of a command's changes in the audit."""

T = TypeVar("T")
A = TypeVar("A", bound=Member)
NewActor = Callable[[Config, Path, Opened, str], Awaitable[A]]
"""Makes an actor over open storage; the last argument names this process."""


@asynccontextmanager
async def open_with_running_node(
    config: Config, data_dir: Path, *, create: bool = False, migrates: bool = True
) -> AsyncIterator[Opened]:
    """Open storage, next to a running server or without one. With `create`, a new data directory gets a database. Without
    `migrates`, a database that lacks a migration is an error.

    Raises `StorageError` if storage cannot be opened.
    """
    options = storage_options(config)
    async with open_storage(options, data_dir, beside=True, create=create, migrates=migrates) as opened:
        yield opened


@asynccontextmanager
async def open_to_read(config: Config, data_dir: Path) -> AsyncIterator[Opened]:
    """`open_with_running_node`, for a command that reports: nothing is migrated, and no statement can write."""
    async with open_storage(storage_options(config), data_dir, beside=True, create=False, reads_only=True) as opened:
        yield opened


@asynccontextmanager
async def open_actor(config: Config, data_dir: Path, new: "NewActor[A]") -> AsyncIterator[tuple[A, Opened]]:
    """A running actor over open storage."""
    async with open_with_running_node(config, data_dir) as opened:
        actor = await new(config, data_dir, opened, f"cli-{SystemEntropy().token(6).hex()}")
        async with running([actor]):
            yield actor, opened


def accepted(outcome: T | Refused) -> T:
    """The outcome of a change. Raises `CommandError` if it was refused."""
    if isinstance(outcome, Refused):
        raise CommandError(outcome.message)
    return outcome


Progress = Callable[[int, int], None]
"""Shows how much is done, and of how much; 0 if that is unknown."""

MAX_COLUMNS = 100


@contextmanager
def progress_bar(words: str, unit: str) -> Iterator[Progress]:
    """A bar for the block, on standard error and only where that is a terminal. `unit` is `bytes`, which are shown in
    thousands, or the plural of what is counted."""
    from tqdm import tqdm  # which no node needs

    tqdm.monitor_interval = 0  # no thread that refreshes bars
    in_bytes = unit == "bytes"
    look = {"unit": "B", "unit_scale": True} if in_bytes else {"unit": f" {unit}"}
    # The size is given, because a terminal may not know its own.
    size = shutil.get_terminal_size()
    columns = min(size.columns, MAX_COLUMNS)
    with tqdm(desc=words, file=sys.stderr, disable=None, ncols=columns, nrows=size.lines, **look) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        yield show
