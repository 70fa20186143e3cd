"""The composition root of `catalogctl`: gives the real ports to one command, and prints its error on one line."""

import os
import shutil
import sys
import time
import uuid
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from service.catalogctl.addresses import is_page
from service.catalogctl.client import send
from service.catalogctl.credentials import Keyring, directory_of
from service.catalogctl.failures import Exit, Failure, Misused
from service.catalogctl.parser import made_parser
from service.catalogctl.session import Outside, opened, warner
from service.catalogctl.texts import harmless


def main() -> int:
    """The entry point: runs the command of the process's arguments and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _forgive(stream)
    outside = Outside(
        environment=os.environ,
        out=sys.stdout,
        err=sys.stderr,
        columns=shutil.get_terminal_size().columns if sys.stdout.isatty() else None,
        send=send,
        now=time.monotonic,
        sleep=time.sleep,
        browse=_browse,
        new_id=lambda: str(uuid.uuid4()),
    )
    try:
        code = run(sys.argv[1:], outside)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone. The interpreter would try to flush once more at exit.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE
    except OSError as error:
        # Errors of files and of the network are handled elsewhere, so this one is the output's.
        print(f"catalogctl: cannot write the output: {error.strerror}", file=outside.err)
        return Exit.USAGE
    return code


def run(arguments: Sequence[str], outside: Outside) -> int:
    """Run one command; returns its exit code. Errors are one line. The parser may raise `SystemExit`."""
    try:
        if any(not _is_text(argument) for argument in arguments):
            raise Misused("an argument is not valid UTF-8")
        options = made_parser().parse_args(arguments)
        keyring = Keyring(directory_of(outside.environment), warner(outside.err))
        options.command(opened(options, outside, keyring, keyring.read()))
    except Failure as failure:
        print(f"catalogctl: {harmless(str(failure))}", file=outside.err)
        return failure.code
    except KeyboardInterrupt:
        print("catalogctl: interrupted", file=outside.err)
        return Exit.INTERRUPTED
    return Exit.SUCCESS


def _is_text(argument: str) -> bool:
    """Whether it can be encoded: Python decodes invalid UTF-8 on the command line as lone surrogates."""
    return argument.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in argument)


def _forgive(stream: TextIO) -> None:
    """Write characters that the terminal's encoding lacks as escapes."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _browse(address: str) -> bool:
    """Open a page in the browser of BROWSER or in a graphical one. A text browser would take over the terminal."""
    if not is_page(address):
        return False
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    chosen = bool(os.environ.get("BROWSER"))
    return (chosen or type(browser) is not webbrowser.GenericBrowser) and browser.open(address)
