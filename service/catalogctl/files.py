"""CSV files: to standard output as they arrive, or to a file that appears once it is complete."""

import codecs
import os
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from service.catalogctl.failures import Misused
from service.catalogctl.session import Session
from service.catalogctl.texts import harmless_text

UNFINISHED = ".part"
"""The end of a file's name until it is complete."""

NOT_WITH_CSV = ("json", "quiet", "all", "limit", "cursor")


def add_csv(parser: ArgumentParser, words: str = "print the whole list as CSV") -> None:
    """Add the options of a command that may print a file; see `printed_file`."""
    parser.add_argument("--csv", action="store_true", help=words)
    parser.add_argument(
        "--output", metavar="FILE", help="with --csv: write the file here; replaces it once it is complete"
    )


def printed_file(session: Session, path: str, query: Mapping[str, str | int | None]) -> bool:
    """Print or write the service's CSV file if `--csv` asks for it, and return whether it does.

    Raises `Misused`, `Refused` or `Unreachable`.
    """
    options = session.options
    if not options.csv:
        if options.output is not None:
            raise Misused("--output needs --csv")
        return False
    for name in NOT_WITH_CSV:
        if getattr(options, name, None):
            raise Misused(f"--csv and --{name} cannot be combined")
    if options.output is None:
        session.client.fetch(path, query, _terminal(session))
    else:
        with _replacing(Path(options.output)) as write:
            session.client.fetch(path, query, write)
    return True


def _terminal(session: Session) -> Callable[[bytes], None]:
    """Writes pieces to standard output, with a mark for each harmful character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(piece: bytes) -> None:
        session.outside.out.write(harmless_text(decoder.decode(piece)))

    return write


@contextmanager
def _replacing(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Writes a file beside `path`, which replaces it in the end. After an error nothing is left of it. Raises `Misused`."""
    try:
        if path.exists() and not path.is_file():  # a device, which cannot be replaced
            with open(path, "wb") as device:
                yield _writer(device)
            return
        path = path.resolve()
        unfinished = path.with_name(f"{path.name}{UNFINISHED}")
        with open(unfinished, "xb") as file:
            try:
                yield _writer(file)
                file.flush()
                os.fsync(file.fileno())
                unfinished.replace(path)
            except BaseException:
                with suppress(OSError):
                    unfinished.unlink()
                raise
    except FileExistsError as error:
        raise Misused(
            f"{error.filename} exists: another download is writing it, or one was interrupted; remove it if none is running"
        ) from None
    except OSError as error:
        raise Misused(f"cannot write {path}: {error.strerror}") from None


def _writer(file: BinaryIO) -> Callable[[bytes], None]:
    def write(piece: bytes) -> None:
        file.write(piece)

    return write
