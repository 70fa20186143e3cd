"""Reads lists: one page, all pages by their cursors, or the whole as a CSV file.

A file goes to standard output as it arrives, or appears under its name once it is complete.
"""

import codecs
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from service.catalogctl.client import Reply, text_of
from service.catalogctl.failures import Misused, Unreachable
from service.catalogctl.session import Session
from service.terminal.layout import harmless_text

Query = Mapping[str, str | int | None]
Entry = dict[str, Any]

PAGES = 1_000
"""Maximum number of pages that are read."""

UNFINISHED = ".part"
"""The end of a file's name until it is complete."""

NOT_WITH_CSV = ("json", "quiet", "all", "limit", "cursor")


class Listed(NamedTuple):
    """The names of a list's entries and cursor, and the size of its largest page."""

    items: str
    cursor: str
    largest: int


CATALOG, SPONSORSHIP = Listed("data", "nextCursor", 100), Listed("items", "cursor", 50)


def walk(session: Session, path: str, query: Query, listed: Listed = SPONSORSHIP) -> list[Entry]:
    """The entries of a page, or with `--all` those of all pages. With `--json` each page is printed as it comes, and with
    `--quiet` its ids. The caller prints the entries for people, by `print_text`.

    Raises `Refused` or `Unreachable`.
    """
    reads_all, cursor = session.option("all"), session.option("cursor")
    size = session.option("limit") or (listed.largest if reads_all else None)
    entries, seen = [], set()
    for _ in range(PAGES if reads_all else 1):
        reply = session.client.ask("GET", path, {**query, "limit": size, "cursor": cursor})
        session.printer.show(reply, [])
        if reply.headers.get("x-search-relaxed"):
            session.printer.hint(
                "No entry has all of these words. Those shown have the most of them, or similar words."
            )
        entries += entries_of(reply, listed.items)
        cursor = text_of(reply.document, listed.cursor) or None
        if cursor is None:
            return entries
        if cursor in seen:
            raise Unreachable("the list led back to a page that was already read")
        seen.add(cursor)
    next_page = f"--cursor {shell_word(cursor)} the next page"
    session.printer.hint(f"There are more: --all shows all of them, {next_page}.")
    return entries


def entries_of(reply: Reply, name: str) -> list[Entry]:
    """The objects of a list. Raises `Unreachable` if the response has no such list."""
    items = reply.document.get(name)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unreachable(f"the response has no list of {name}")
    return items


def shell_word(cursor: str | None) -> str:
    """The cursor if it is safe to copy into a shell, otherwise `CURSOR`."""
    plain = cursor is not None and cursor.isascii() and all(letter.isalnum() or letter in "-_.=" for letter in cursor)
    return cursor if plain and cursor is not None else "CURSOR"


def printed_file(session: Session, path: str, query: Query) -> bool:
    """Print or write the service's CSV file if `--csv` asks for it, and return whether it does.

    Raises `Misused`, `Refused` or `Unreachable`.
    """
    output = session.option("output")
    if not session.option("csv"):
        if output is not None:
            raise Misused("--output needs --csv")
        return False
    for name in NOT_WITH_CSV:
        if session.option(name):
            raise Misused(f"--csv and --{name} cannot be combined")
    if output is None:
        session.client.fetch(path, query, _terminal(session))
    else:
        with _replacing(Path(output)) as write:
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
