"""The program `catalogctl`: parses its command line, gives the real ports to one command, and prints its error."""

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NoReturn

from service.catalogctl.account_commands import KEYS, WEBHOOKS
from service.catalogctl.admin_commands import ADMIN
from service.catalogctl.catalog_commands import CATALOG
from service.catalogctl.client import URL_VARIABLE, Asked, Reply, is_page
from service.catalogctl.command import Command, argument, command, names
from service.catalogctl.credentials import Keyring, directory_of
from service.catalogctl.failures import Exit, Failure, Misused, Refused
from service.catalogctl.session import KEY_VARIABLE, Format, Outside, Printer, Session, format_of, opened
from service.catalogctl.sponsor_commands import SPONSOR
from service.terminal.completion import SHELLS, NoLibrary, completion_script
from service.terminal.output import are_text, confirm, open_page
from service.version import VERSION

DESCRIPTION = "Read the catalog, and book, watch and administer sponsorships, from the command line."
EPILOG = f"""\
The service is taken from --url, {URL_VARIABLE}, the last login, or http://127.0.0.1:8080, in this order.
The key is taken from --key, {KEY_VARIABLE}, or the login that was saved for this service, in this order.

exit codes:
"""
EPILOG += "\n".join(f"  {code:>3}  {code.meaning}" for code in Exit)


def main() -> int:
    """Run the command of the process's arguments; returns its exit code."""
    outside = Outside(
        environment=os.environ,
        out=sys.stdout,
        err=sys.stderr,
        columns=shutil.get_terminal_size().columns if sys.stdout.isatty() else None,
        send=_send,
        download=_download,
        now=time.monotonic,
        sleep=time.sleep,
        browse=lambda address: is_page(address) and open_page(address),
        new_id=_new_id,
        confirm=confirm,
    )
    return run(sys.argv[1:], outside)


# A command that sends nothing, such as --help, loads nothing that sends.


def _send(asked: Asked) -> Reply:
    from service.catalogctl.transport import send

    return send(asked)


def _download(asked: Asked, write: Callable[[bytes], None]) -> Reply:
    from service.catalogctl.transport import download

    return download(asked, write)


def _new_id() -> str:
    from uuid import uuid4

    return str(uuid4())


def run(arguments: Sequence[str], outside: Outside) -> int:
    """Run one command; returns its exit code. The parser may raise `SystemExit`, after `--help` for example."""
    printer = Printer(outside.out, outside.err, Format.JSON if "--json" in arguments else Format.WORDS)
    try:
        if not are_text(arguments):
            raise Misused("an argument is not valid UTF-8")
        options = parser_of(arguments).parse_args(arguments)
        printer = Printer(outside.out, outside.err, format_of(options))
        keyring = Keyring(directory_of(outside.environment), printer.warn)
        options.command(opened(options, outside, printer, keyring, keyring.read()))
    except Failure as failure:
        printer.fail(failure)
        return failure.code
    except KeyboardInterrupt:
        printer.fail(Refused("interrupted", "interrupted"))
        return Exit.INTERRUPTED
    return Exit.SUCCESS


class Parser(argparse.ArgumentParser):
    """An argument parser that raises `Misused`, and has no colours (Python 3.14 would add some to the help)."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.color = False

    def error(self, message: str) -> NoReturn:
        if unknown := re.match(r"argument COMMAND: invalid choice: '(.*?)' \(choose from (.*)\)", message):
            from difflib import get_close_matches

            meant = get_close_matches(unknown[1], re.findall(r"[\w-]+", unknown[2]), 1)
            message = f"there is no command {unknown[1]!r}" + (f": did you mean {meant[0]!r}?" if meant else "")
        raise Misused(f"{message} (try {self.prog} --help)")


def parser_of(arguments: Sequence[str]) -> Parser:
    """The parser of these arguments. It knows the options of the commands that they may name, and the names of all others."""
    return _parser(NAMES.intersection(arguments))


def whole_parser() -> Parser:
    """The parser of all commands with all their options."""
    return _parser(NAMES)


@cache
def _parser(known: frozenset[str]) -> Parser:
    """The parser with the options of these commands, and the commands of these groups. Parsed options have the row of the
    command, and the options that were given."""
    shared = _shared()
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="catalogctl", description=DESCRIPTION, epilog=EPILOG, parents=[shared], formatter_class=raw)
    parser.add_argument("--version", action="version", version=f"catalogctl {VERSION}")
    top = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for group, (words, rows) in GROUPS.items():
        subparsers = top
        if group:
            inner = top.add_parser(group, help=words, description=words, parents=[shared])
            if group not in known:
                continue
            subparsers = inner.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
        for row in rows:
            if row.name not in known:
                subparsers.add_parser(row.name, help=row.help)
                continue
            made = subparsers.add_parser(row.name, help=row.help, description=row.help, parents=[shared])
            made.set_defaults(command=row)
            for each in row.command_line():
                made.add_argument(each.flag, **each.settings)
    return parser


def _shared() -> Parser:
    """The options of every command, which may stand before or after its name."""
    shared = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    shared.add_argument("--json", action="store_true", help="print the service's JSON unchanged, also of errors")
    shared.add_argument(
        "-q", "--quiet", action="store_true", help="print ids alone, one a line; of a new secret, the secret"
    )
    shared.add_argument("--url", metavar="URL", help="the service's address")
    shared.add_argument(
        "--key", metavar="KEY", help=f"a key for this call; {KEY_VARIABLE} keeps it out of the process list"
    )
    return shared


def _print_completion(_: Command, session: Session) -> None:
    shell = session.option("shell")
    try:
        script = completion_script(whole_parser(), shell)
    except NoLibrary as error:
        raise Misused(str(error)) from None
    session.printer.present({"shell": shell, "script": script}, [script], [script])


def _listen(_: Command, session: Session) -> None:
    from service.catalogctl.listening import listen

    listen(session)


LISTEN = command(
    "listen",
    "",
    "Print what webhooks would send to you, one JSON line an event, or forward it to a program.",
    None,
    argument("--forward URL", "post each event there as a webhook does, and print the status of each"),
    argument("--events=", "only these, separated by commas, such as booking.paid,campaign.approved", type=names),
    argument("--since TIME", "begin so long ago, such as 1h or 7d; default: with what comes now"),
    argument("--cursor=", "go on after the cursor that an earlier run has printed"),
    run=_listen,
)
COMPLETION = command(
    "completion",
    "",
    "Print a script that completes commands and options in a shell.",
    None,
    argument("SHELL", " or ".join(SHELLS), choices=SHELLS),
    keyless=True,
    run=_print_completion,
)
GROUPS = {
    "": ("", (*CATALOG, LISTEN, COMPLETION)),
    "sponsor": ("Book sponsorships, pay for them and watch them.", SPONSOR),
    "admin": ("Look after accounts, bookings and the review queue.", ADMIN),
    "keys": ("Rename, extend, rotate and revoke keys, and see what each used.", KEYS),
    "webhooks": ("Have what happens to bookings and campaigns posted to your own systems.", WEBHOOKS),
}
"""The groups of commands, with their help and rows. The first group are the commands without a group."""
NAMES = frozenset(GROUPS).union(*({row.name for row in rows} for _, rows in GROUPS.values()))
