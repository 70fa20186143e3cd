"""The standard streams of a process: closed ones are replaced, and output that cannot be written is an error of its own.

Uses the standard library only.
"""

import errno
import gc
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable
from typing import TextIO

SUCCESS, BUG, USAGE, INTERRUPTED, READER_GONE = 0, 1, 2, 130, 141
"""The exit codes of all processes. 141 is what a shell reports for a program that SIGPIPE has ended."""

PRIVATE = 0o600
"""The mode of a file with a secret."""

MINUTE, HOUR, DAY = 60, 3_600, 86_400
"""Seconds."""


RARE = 20_000, 50, 100
"""Thresholds of the garbage collector, in objects: loading modules makes many that stay."""


class OutputLost(Exception):
    """Standard output cannot be written. The text is one line for the user."""


class BrokenOutput(OutputLost):
    """The program that reads the output has ended, as `head` does."""


class Output(io.TextIOWrapper):
    """Standard output. Raises `OutputLost`, and writes characters that the terminal's encoding lacks as escapes."""

    @classmethod
    def over(cls, stream: TextIO) -> "Output":
        """Take over the file of `stream`, which cannot be used any more."""
        assert isinstance(stream, io.TextIOWrapper)
        encoding, lines, through = stream.encoding, stream.line_buffering, stream.write_through
        return cls(stream.detach(), encoding, "backslashreplace", line_buffering=lines, write_through=through)

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise _lost(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise _lost(error) from None


def _lost(error: OSError) -> OutputLost:
    if isinstance(error, BrokenPipeError):
        return BrokenOutput("the reader of the output has ended")
    return OutputLost(f"cannot write the output: {'it is closed' if error.errno == errno.EBADF else error.strerror}")


def run_process(program: str, work: Callable[[], int]) -> int:
    """Run `work` as the whole of a process. Returns its exit code: 141 if nobody reads the output any more, and 2, with one
    line, if the output cannot be written otherwise."""
    gc.set_threshold(*RARE)
    open_closed_streams()
    sys.stdout = Output.over(sys.stdout)
    try:
        try:
            return work()
        finally:
            sys.stdout.flush()
    except OutputLost as error:
        discard_output()
        if isinstance(error, BrokenOutput):
            return READER_GONE
        print(f"{program}: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:
        discard(sys.stderr)
        return READER_GONE
    except KeyboardInterrupt:
        return INTERRUPTED  # while modules were loaded: commands handle it by themselves


def open_closed_streams() -> None:
    """Open the null device for each standard stream that the caller has closed. Otherwise the next file that is opened
    would get its number, and errors of the program would be written into that file. Output is opened for reading only, so
    that writing what somebody has asked for fails."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Takes the lowest free number, which is this one.
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False, errors="backslashreplace")


def discard_output() -> None:
    """Send what is left of standard output, and all that follows, to the null device."""
    discard(sys.stdout)


def discard(stream: TextIO) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def made_private(stream: TextIO) -> str | None:
    """Prepare a stream for a secret. Returns what to warn of, or None if it is not a file that others can read.

    An empty file of the user's own that everybody can read was made by the shell for this output: it becomes private.
    The mode of any other file stays, because somebody chose it.
    """
    try:
        descriptor = stream.fileno()
        status = os.fstat(descriptor)
        if os.name != "posix" or not stat.S_ISREG(status.st_mode) or not status.st_mode & (stat.S_IRGRP | stat.S_IROTH):
            return None
        if status.st_mode & stat.S_IROTH and status.st_uid == os.geteuid() and status.st_size == 0:
            os.fchmod(descriptor, PRIVATE)
            return f"the output file has a secret and was readable by other users; its mode is now {PRIVATE:04o}"
    except (OSError, ValueError):  # a stream without a descriptor, or a file system without modes
        return None
    return f"the output file has a secret and is readable by other users; make it private with chmod {PRIVATE:o}"


def are_text(arguments: Iterable[str]) -> bool:
    """Whether all can be encoded: Python decodes invalid UTF-8 on the command line as lone surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for argument in arguments for letter in argument)


def confirm(question: str) -> bool | None:
    """Ask a question on standard error; returns whether the answer is yes. None if no person can answer."""
    if not sys.stdin.isatty():
        return None
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def duration(seconds: int) -> str:
    """`22 minutes` under an hour, `5 h 12 min` under two days, else `6 days 23 h`. Parts of the last unit are left out."""
    if seconds < HOUR:
        minutes = max(0, seconds) // MINUTE
        return "less than a minute" if not minutes else "1 minute" if minutes == 1 else f"{minutes} minutes"
    if seconds < 2 * DAY:
        return _two(seconds // HOUR, "h", seconds % HOUR // MINUTE, "min")
    return _two(seconds // DAY, "days", seconds % DAY // HOUR, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"


def open_page(address: str) -> bool:
    """Open a page in the browser of BROWSER or in a graphical one. A text browser would take over the terminal.

    Returns whether there is such a browser. May wait for some seconds until the browser has taken the address.
    """
    import webbrowser  # with modules that nothing else here needs

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    chosen = bool(os.environ.get("BROWSER"))
    return (chosen or type(browser) is not webbrowser.GenericBrowser) and browser.open(address)
