"""The command line of those who run the service. Errors are one clear line and exit code 2."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import trio

from service.api.openapi import document
from service.api.operations import OPERATIONS
from service.cli import backup, commands, slots
from service.config import Config, load
from service.http.listeners import ListenError
from service.main import run
from service.observability.logs import set_up
from service.process import parent
from service.process.supervisor import DiesTooOften, WorkerFailed
from service.user_errors import UserError
from storage.opening import StorageError

DATA_DIR = Path("data")
SUCCESS, BUG, USAGE, INTERRUPTED = 0, 1, 2, 130

EXPECTED = (UserError, ListenError, StorageError, commands.CommandError, WorkerFailed)
"""What a person can mend by what its text says."""

log = logging.getLogger(__name__)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message} (try --help)\n")


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the process's exit code."""
    if any(not _is_text(argument) for argument in arguments):
        _complain("an argument is not valid UTF-8")
        return USAGE
    options = _parser().parse_args(arguments)
    return outcome_of(lambda: _command(options), _complain)


def _command(options: argparse.Namespace) -> int:
    config = _config(options)
    set_up(config.log.level, config.log.format)
    return int(options.command(config, options))


def _config(options: argparse.Namespace) -> Config:
    """The configuration as it stands now. Raises `ConfigError`."""
    config = load(options.config, os.environ)
    if options.bind is None:
        return config
    return load(options.config, {**os.environ, "CATALOG__SERVER__BIND": options.bind})


def outcome_of(work: Callable[[], int], complain: Callable[[str], None]) -> int:
    """The exit code of `work`. What a person can mend is one clear line for `complain`."""
    try:
        return work()
    except EXPECTED as error:
        complain(str(error))
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseExceptionGroup as group:
        return _of_group(group, complain)


def _is_text(argument: str) -> bool:
    """Whether it can be encoded: what was not UTF-8 on the command line comes as lone surrogates."""
    return argument.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in argument)


def _of_group(group: BaseExceptionGroup[BaseException], complain: Callable[[str], None]) -> int:
    """What comes out of nested nurseries: a clear line for what a person can mend, else the traceback."""
    expected, rest = group.split(EXPECTED)
    if rest is None and expected is not None:
        complain(str(_first(expected)))
        return USAGE
    if group.split(KeyboardInterrupt)[1] is None:
        return INTERRUPTED
    dying, rest = group.split(DiesTooOften)
    if rest is None and dying is not None:
        log.critical("the service ends: %s", _first(dying))
        return BUG
    log.critical("the service ends after a failure", exc_info=group)
    return BUG


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _complain(words: str) -> None:
    flat = " ".join(words.split())
    print(f"service: {flat}", file=sys.stderr)


# The commands.


def _serve(config: Config, options: argparse.Namespace) -> int:
    def ready(urls: Sequence[str]) -> None:
        print("\n".join(f"listening on {url}" for url in urls), flush=True)

    if config.server.workers == 1:
        trio.run(run, config, options.data_dir, ready)
    else:
        trio.run(parent.run, config, options.data_dir, ready, partial(_config, options))
    return SUCCESS


def _openapi(config: Config, options: argparse.Namespace) -> int:
    base_url = config.server.base_url or f"http://{config.server.bind}"
    print(json.dumps(document(OPERATIONS, base_url), indent=1, ensure_ascii=False))
    return SUCCESS


def _over_storage(work: Callable[..., Awaitable[int]], *names: str) -> Callable[[Config, argparse.Namespace], int]:
    """A command that needs storage and the arguments called `names`."""

    def command(config: Config, options: argparse.Namespace) -> int:
        values = {name: getattr(options, name) for name in names}
        return trio.run(partial(work, config, options.data_dir, **values))

    return command


def _parser() -> Parser:
    parser = Parser(prog="python -m service", description="The catalog and sponsorship service.")
    shared = Parser(add_help=False)
    shared.add_argument("--config", type=Path, metavar="FILE", help="settings over those of the project's config.toml")
    shared.add_argument(
        "--data-dir", type=Path, metavar="DIR", default=DATA_DIR, help="where the embedded Postgres and the secret live"
    )
    shared.set_defaults(bind=None)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    def add(name: str, words: str, command: Callable[[Config, argparse.Namespace], int]) -> argparse.ArgumentParser:
        made = subparsers.add_parser(name, help=words, description=words, parents=[shared])
        made.set_defaults(command=command)
        return made

    serve = add("serve", "Start the service; prints 'listening on URL' when it is ready.", _serve)
    serve.add_argument("--bind", metavar="HOST:PORT", help="address to listen on; port 0 takes a free one")
    add("migrate", "Bring the database's schema up to date.", _over_storage(commands.migrate))
    imports = add(
        "import-catalog",
        "Import use cases and bots from a JSON or JSON lines file: all or nothing.",
        _over_storage(commands.import_catalog, "file", "prune", "dry_run"),
    )
    imports.add_argument("file", type=Path, metavar="FILE")
    imports.add_argument("--prune", action="store_true", help="remove entries that the file does not have")
    imports.add_argument("--dry-run", action="store_true", help="say what would change, and change nothing")
    issue = add(
        "issue-key",
        "Issue a full key of an account, or a scoped one; it is printed once.",
        _over_storage(commands.issue_key, "email", "scopes", "name"),
    )
    issue.add_argument("--email", required=True, help="the account; made where it does not exist")
    issue.add_argument("--scopes", metavar="A,B", help="scopes between commas; without them the key is a full one")
    issue.add_argument("--name", help="what the key is for")
    revoke = add("revoke-key", "End a key for good.", _over_storage(commands.revoke_key, "key"))
    revoke.add_argument(
        "key", metavar="KEY", help="its id, the key itself, or its displayed prefix where one key has it"
    )
    tier = add("set-tier", "Set an account's tier.", _over_storage(commands.set_tier, "email", "tier"))
    tier.add_argument("--email", required=True)
    tier.add_argument("--tier", required=True, choices=["claimed", "upgraded"])
    grant = add("grant-admin", "Make an account an administrator.", _over_storage(commands.grant_admin, "email"))
    grant.add_argument("email", metavar="EMAIL", help="the account, which may come into being later")
    dismiss = add(
        "revoke-admin",
        "Make an account an administrator no longer; it holds for the next request on every node.",
        _over_storage(commands.revoke_admin, "email"),
    )
    dismiss.add_argument("email", metavar="EMAIL")
    demo = add(
        "seed-demo",
        "Put demo sponsors, slots and bookings of this week in the place of an older demo; real ones stay.",
        _over_storage(commands.seed_demo, "remove"),
    )
    demo.add_argument("--remove", action="store_true", help="take the demo away, also for later starts")
    slots.add_slot_commands(add, _over_storage)
    backup.add_backup_commands(add, _over_storage)
    add("openapi", "Print the OpenAPI document.", _openapi)
    add("doctor", "Look for what keeps the service from running well.", _over_storage(commands.doctor))
    return parser
