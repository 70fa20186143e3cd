"""Shared by all commands: parsers made from their signatures, and an error that an operator reads as one line.

A command is a function. It takes the configuration, the data directory if it uses one, and by name what its parameters
declare: `email: Annotated[str, argument("EMAIL")]`. Loads no library.
"""

import argparse
from collections.abc import Awaitable, Callable
from inspect import Parameter, signature
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from service.cli.table import COMMANDS
from service.config.user_errors import UserError
from service.terminal.output import USAGE

Work = Callable[..., Awaitable[int | None]]
"""A command. Returns an exit code; None means success."""


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

    def one_of(self) -> argparse._ActionsContainer:
        """The group of options that exclude each other."""
        groups = self._mutually_exclusive_groups
        return groups[0] if groups else self.add_mutually_exclusive_group()


class Commands:
    """The subcommands of a parser, with the summaries of the table. All of them also take the options of `shared`."""

    def __init__(self, parser: Parser, shared: Parser) -> None:
        self._subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
        self._shared = shared

    def mention(self, name: str) -> None:
        """List a command in the help, without its options."""
        self._subparsers.add_parser(name, help=COMMANDS[name].summary)

    def add(self, name: str) -> Parser:
        """Add a command with the arguments that its function declares. Returns its parser."""
        row = COMMANDS[name]
        work: Work = resolve_name(f"service.cli.{row.work}")
        parser = self._subparsers.add_parser(name, help=row.summary, description=row.summary, parents=[self._shared])
        parameters = signature(work).parameters
        named = [each for each in parameters.values() if each.kind is Parameter.KEYWORD_ONLY]
        names, uses_data = [each.name for each in named], "data_dir" in parameters
        parser.set_defaults(work=work, arguments=names, uses_data=uses_data, logs_all=row.logs_all)
        hints = get_type_hints(work, include_extras=True)
        for each in named:
            for declared in getattr(hints[each.name], "__metadata__", ()):
                declared(parser, each.replace(annotation=hints[each.name].__origin__))
        return parser


Declared = Callable[[Parser, Parameter], None]
"""In the annotation of a parameter: adds its argument to the parser of the command."""


def argument(metavar: str, help: str | None = None, **settings: Any) -> Declared:
    """An argument by its place. It may be left out if its parameter has a default. `settings` are argparse's."""

    def add(parser: Parser, parameter: Parameter) -> None:
        count: dict[str, Any] = {} if parameter.default is Parameter.empty else {"nargs": "?"}
        parser.add_argument(parameter.name, metavar=metavar, help=help, **count, **_choices(parameter), **settings)

    return add


def option(help: str | None = None, *, flag: str = "", excludes: bool = False, **settings: Any) -> Declared:
    """An option with the name of its parameter, or `flag`. It must be given unless its parameter has a default.

    At most one option of a command with `excludes` can be given.
    """

    def add(parser: Parser, parameter: Parameter) -> None:
        name = flag or f"--{parameter.name.replace('_', '-')}"
        kind: dict[str, Any] = {"action": "store_true"} if parameter.annotation is bool else _choices(parameter)
        needed = parameter.default is Parameter.empty
        place = parser.one_of() if excludes else parser
        place.add_argument(name, dest=parameter.name, required=needed, help=help, **kind, **settings)

    return add


def _choices(parameter: Parameter) -> dict[str, Any]:
    return {"choices": get_args(parameter.annotation)} if get_origin(parameter.annotation) is Literal else {}


EmailArgument = Annotated[str, argument("EMAIL")]
SlotId = Annotated[str, argument("ID")]
