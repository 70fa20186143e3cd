"""The composition root of `catalogctl`: gives the real ports to one command, and prints its error."""

import os
import shutil
import sys
import time
import uuid
from collections.abc import Sequence

from service.catalogctl.addresses import is_page
from service.catalogctl.credentials import Keyring, directory_of
from service.catalogctl.failures import Exit, Failure, Misused, Refused
from service.catalogctl.output import Format, Outside, Printer, format_of
from service.catalogctl.parser import made_parser
from service.catalogctl.session import opened
from service.catalogctl.transport import download, send
from service.terminal.browser import open_page


def main() -> int:
    """Run the command of the process's arguments; returns its exit code."""
    outside = Outside(
        environment=os.environ,
        out=sys.stdout,
        err=sys.stderr,
        columns=shutil.get_terminal_size().columns if sys.stdout.isatty() else None,
        send=send,
        download=download,
        now=time.monotonic,
        sleep=time.sleep,
        browse=lambda address: is_page(address) and open_page(address),
        new_id=lambda: str(uuid.uuid4()),
    )
    return run(sys.argv[1:], outside)


def run(arguments: Sequence[str], outside: Outside) -> int:
    """Run one command; returns its exit code. The parser may raise `SystemExit`, after `--help` for example."""
    printer = Printer(outside.out, outside.err, Format.JSON if "--json" in arguments else Format.WORDS)
    try:
        if any(not _is_text(argument) for argument in arguments):
            raise Misused("an argument is not valid UTF-8")
        options = made_parser().parse_args(arguments)
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


def _is_text(argument: str) -> bool:
    """Whether it can be encoded: Python decodes invalid UTF-8 on the command line as lone surrogates."""
    return argument.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in argument)
