"""`python -m service`: parses the command line and runs one command. Errors are one line and exit code 2."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import trio

from service.cli import accounts, backup, doctor, seeding, serving, slots
from service.cli.command import Commands, Parser
from service.observability.logs import set_up
from service.process.exit_status import SUCCESS, USAGE, outcome_of

DATA_DIR = Path("data")


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the process's exit code."""
    if any(not _is_text(argument) for argument in arguments):
        _complain("an argument is not valid UTF-8")
        return USAGE
    options = _parser().parse_args(arguments)
    return outcome_of(lambda: _run(options), _complain)


def _run(options: argparse.Namespace) -> int:
    config = serving.configured(options.config_file, options.bind)
    set_up(config.log.level, config.log.format)
    values = {name: getattr(options, name) for name in options.arguments}
    code: int | None = trio.run(partial(options.work, config, options.data_dir, **values))
    return SUCCESS if code is None else code


def _is_text(argument: str) -> bool:
    """Whether it can be encoded: Python decodes invalid UTF-8 on the command line as lone surrogates."""
    return argument.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in argument)


def _complain(words: str) -> None:
    flat = " ".join(words.split())
    print(f"service: {flat}", file=sys.stderr)


def _parser() -> Parser:
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
    serving.add_serving_commands(commands)
    seeding.add_seeding_commands(commands)
    accounts.add_account_commands(commands)
    slots.add_slot_commands(commands)
    backup.add_backup_commands(commands)
    doctor.add_doctor_command(commands)
    return parser
