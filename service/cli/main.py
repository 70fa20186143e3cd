"""`python -m service`: parses the command line and runs one command. Errors are one line and exit code 2."""

import sys
from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name

from service.cli.command import Commands, Parser
from service.cli.table import COMMANDS
from service.process.exit_codes import USAGE

DATA_DIR = Path("data")


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the process's exit code."""
    if any(not _is_text(argument) for argument in arguments):
        _complain("an argument is not valid UTF-8")
        return USAGE
    options = _parser(arguments).parse_args(arguments)
    # Help and wrong usage load no more than the parsers.
    from service.cli.running import run

    return run(options, _complain)


def _is_text(argument: str) -> bool:
    """Whether it can be encoded: Python decodes invalid UTF-8 on the command line as lone surrogates."""
    return argument.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in argument)


def _complain(words: str) -> None:
    flat = " ".join(words.split())
    print(f"service: {flat}", file=sys.stderr)


def _parser(arguments: Sequence[str]) -> Parser:
    """The parser of these arguments. Of all commands, it knows the options of the chosen one alone."""
    parser = Parser(prog="python -m service", description="The catalog and sponsorship service.")
    shared = Parser(add_help=False)
    shared.add_argument(
        "--config",
        dest="config_file",
        type=Path,
        metavar="FILE",
        help="settings that override those of the project's config.toml",
    )
    shared.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        default=DATA_DIR,
        help="directory of the embedded Postgres and the server's secret",
    )
    shared.set_defaults(bind=None)
    commands = Commands(parser, shared)
    chosen = next((word for word in arguments if not word.startswith("-")), "")
    if chosen in COMMANDS:
        resolve_name(f"service.cli.{COMMANDS[chosen].adder}")(commands)
    else:
        for name in COMMANDS:
            commands.mention(name)
    return parser
