"""Shared by all commands: the parsers, opening storage, and errors that an operator reads as one line."""

import argparse
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

from actors.values import Agent, Refused, TransientStorageError
from service.config import Config
from service.main import storage_options
from service.process.exit_status import USAGE, first_of
from service.user_errors import UserError
from storage.opening import Opened, open_storage

AGENT = Agent("cli", f"uid {os.getuid()}" if hasattr(os, "getuid") else "cli")
"""The author of a command's changes in the audit."""

Work = Callable[..., Awaitable[int | None]]
"""A command: takes the configuration, the data directory and its arguments by name. None means success."""

T = TypeVar("T")


class CommandError(UserError):
    """A command failed. The text is one line for the operator."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message} (try --help)\n")


class Commands:
    """The subcommands of a parser. All of them also take the options of `shared`."""

    def __init__(self, parser: Parser, shared: Parser) -> None:
        self._subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
        self._shared = shared

    def add(self, name: str, summary: str, work: Work, *arguments: str) -> Parser:
        """Add a command that calls `work` with the parsed values of `arguments`. Returns its parser."""
        parser = self._subparsers.add_parser(name, help=summary, description=summary, parents=[self._shared])
        parser.set_defaults(work=work, arguments=arguments)
        return parser


@asynccontextmanager
async def open_beside(config: Config, data_dir: Path, *, create: bool = False) -> AsyncIterator[Opened]:
    """Open storage, next to a running server or without one. With `create`, a new data directory gets a database.

    Raises `StorageError` if storage cannot be opened, and `CommandError` if the database fails during the block.
    """
    async with open_storage(storage_options(config), data_dir, beside=True, create=create) as opened:
        with database_errors():
            yield opened


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn a failure of the database into a `CommandError`, also one that comes out of a nursery."""
    try:
        yield
    except* TransientStorageError as errors:
        raise CommandError(f"the database is not available: {first_of(errors)}") from None


def accepted(outcome: T | Refused) -> T:
    """The outcome of a change. Raises `CommandError` if it was refused."""
    if isinstance(outcome, Refused):
        raise CommandError(outcome.message)
    return outcome
