"""Reads lists: one page, or all pages by their cursors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.catalogctl.client import Reply, text_of
from service.catalogctl.failures import Unreachable
from service.catalogctl.session import Session

PAGES = 1_000
"""Maximum number of pages that are read."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The names of a list's entries and cursor, and the size of its largest page."""

    items: str
    cursor: str
    largest: int


CATALOG, SPONSORSHIP = Listed("data", "nextCursor", 100), Listed("items", "cursor", 50)


def walk(session: Session, path: str, listed: Listed, query: Mapping[str, str | int | None]) -> list[dict[str, Any]]:
    """The entries of a page, or with `--all` those of all pages. With `--json` each page is printed as it comes, and with
    `--quiet` its ids. The caller prints the entries for people, by `session.say`.

    Raises `Refused` or `Unreachable`.
    """
    options = session.options
    size = options.limit or (listed.largest if options.all else None)
    cursor, entries, seen = options.cursor, [], set()
    for _ in range(PAGES if options.all else 1):
        reply = session.client.ask("GET", path, {**query, "limit": size, "cursor": cursor})
        session.show(reply, [])
        if reply.headers.get("x-search-relaxed"):
            session.hint("No entry has all of these words. Those shown have the most of them, or similar words.")
        entries += entries_of(reply, listed.items)
        cursor = text_of(reply.document, listed.cursor) or None
        if cursor is None:
            return entries
        if cursor in seen:
            raise Unreachable("the list led back to a page that was already read")
        seen.add(cursor)
    session.hint(f"There are more: --all shows all of them, --cursor {shell_word(cursor)} the next page.")
    return entries


def entries_of(reply: Reply, name: str) -> list[dict[str, Any]]:
    """The objects of a list. Raises `Unreachable` if the response has no such list."""
    items = reply.document.get(name)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unreachable(f"the response has no list of {name}")
    return items


def part_of(reply: Reply, name: str) -> dict[str, Any]:
    """An object within the response. Raises `Unreachable` if there is none."""
    part = reply.document.get(name)
    if not isinstance(part, dict):
        raise Unreachable(f"the response has no {name}")
    return part


def shell_word(cursor: str | None) -> str:
    """The cursor if it is safe to copy into a shell, otherwise `CURSOR`."""
    plain = cursor is not None and cursor.isascii() and all(letter.isalnum() or letter in "-_.=" for letter in cursor)
    return cursor if plain and cursor is not None else "CURSOR"
