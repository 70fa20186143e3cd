"""Shared by all commands: their parsers, and an error that an operator reads as one line. Loads nothing but argparse."""

import argparse
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

from service.cli.table import COMMANDS
from service.config.user_errors import UserError
from service.process.exit_codes import USAGE

Work = Callable[..., Awaitable[int | None]]
"""A command: takes the configuration, the data directory if it uses one, and its arguments by name. None means success."""


class CommandError(UserError):
    """A command failed. The text is one line for the operator."""


def path_of(text: str) -> Path:
    """The path that an argument names. Raises `ArgumentTypeError` for an empty one, which would mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: give a name")
    return Path(text)


def file_of(text: str) -> Path:
    """The path of a file. Raises `ArgumentTypeError` for "-" too, which here does not stand for a standard stream."""
    if text in ("", "-"):
        raise argparse.ArgumentTypeError("give a file name")
    return Path(text)


class Parser(argparse.ArgumentParser):
    """An argument parser that reports an error on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message} (try --help)\n")


class Commands:
    """The subcommands of a parser, with the summaries of the table. All of them also take the options of `shared`."""

    def __init__(self, parser: Parser, shared: Parser) -> None:
        self._subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
        self._shared = shared

    def mention(self, name: str) -> None:
        """List a command in the help, without its options."""
        self._subparsers.add_parser(name, help=COMMANDS[name].summary)

    def add(self, name: str, work: Work, *arguments: str, uses_data: bool = True) -> Parser:
        """Add a command that calls `work` with the parsed values of `arguments`, and the data directory unless `uses_data`
        is false. Returns its parser."""
        summary = COMMANDS[name].summary
        parser = self._subparsers.add_parser(name, help=summary, description=summary, parents=[self._shared])
        parser.set_defaults(work=work, arguments=arguments, uses_data=uses_data)
        return parser
