"""`python -m service`: parses the command line and runs one command. Errors are one line and exit code 2."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from service.cli.command import CommandError, Commands, Parser, argument, path_of
from service.cli.table import COMMANDS
from service.terminal.completion import SHELLS, NoLibrary, completion_script
from service.terminal.output import USAGE, are_text
from service.version import PROGRAM, VERSION

OWN = ("service", "actors", "storage")


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the process's exit code."""
    if not are_text(arguments):
        _complain("an argument is not valid UTF-8")
        return USAGE
    try:
        options = parser_of(arguments).parse_args(arguments)
        # Help and wrong usage load no more than the parsers.
        from service.cli.running import run

        return run(options, _complain)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in OWN:
            raise
        _complain(
            f"the Python package {package!r} is not installed for {sys.executable}: run 'make setup' and use "
            ".venv/bin/python in a checkout, or install the wheel again"
        )
        return USAGE


def _complain(words: str) -> None:
    flat = " ".join(words.split())
    print(f"service: {flat}", file=sys.stderr)


def parser_of(arguments: Sequence[str]) -> Parser:
    """The parser of these arguments. Of all commands, it knows the options of the chosen one alone."""
    installed = Path(sys.argv[0]).name == PROGRAM
    parser, commands = _parser(PROGRAM if installed else "python -m service")
    chosen = next((word for word in arguments if not word.startswith("-")), "")
    if chosen in COMMANDS:
        commands.add(chosen)
        return parser
    if chosen:
        meant = get_close_matches(chosen, COMMANDS, 1)
        parser.error(f"there is no command {chosen!r}" + (f": did you mean {meant[0]!r}?" if meant else ""))
    for name in COMMANDS:
        commands.mention(name)
    return parser


def whole_parser() -> Parser:
    """The parser of all commands with all their options, under the name that an installation has."""
    parser, commands = _parser(PROGRAM)
    for name in COMMANDS:
        commands.add(name)
    return parser


def _parser(program: str) -> tuple[Parser, Commands]:
    """The parser without commands, and what adds them."""
    parser = Parser(prog=program, description="The catalog and sponsorship service.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {VERSION}")
    shared = Parser(add_help=False)
    shared.add_argument(
        "--config",
        dest="config_file",
        type=path_of,
        metavar="FILE",
        help="settings that override those of the project's config.toml",
    )
    shared.add_argument(
        "--data-dir",
        type=path_of,
        metavar="DIR",
        help="directory of the embedded Postgres and the server's secret (default: data in a checkout; of an installation, "
        "the user's data directory, and for root /var/lib/catalog-service/data)",
    )
    shared.add_argument("--verbose", action="store_true", help="log at log.level, not only warnings and errors")
    shared.set_defaults(bind=None)
    return parser, Commands(parser, shared)


async def print_completion(
    _: object, *, shell: Annotated[str, argument("SHELL", " or ".join(SHELLS), choices=SHELLS)]
) -> None:
    try:
        print(completion_script(whole_parser(), shell))
    except NoLibrary as error:
        raise CommandError(str(error)) from None
