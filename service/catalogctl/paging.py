"""Lists that come page by page: one page, or all of them by their cursors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.catalogctl.client import Reply, text_of
from service.catalogctl.failures import Unreachable
from service.catalogctl.session import Session

PAGES = 1_000
"""More than this are not followed."""


@dataclass(frozen=True, slots=True)
class Listed:
    """How a list names its entries and the next page's cursor, and how many entries its largest page has."""

    items: str
    cursor: str
    largest: int


CATALOG, SPONSORSHIP = Listed("data", "nextCursor", 100), Listed("items", "cursor", 50)


def walk(session: Session, path: str, listed: Listed, query: Mapping[str, str | int | None]) -> list[dict[str, Any]]:
    """The entries of a page, or with `--all` those of all pages. With `--json` each page is printed as it comes.

    Raises `Refused` or `Unreachable`.
    """
    options = session.options
    size = options.limit or (listed.largest if options.all else None)
    cursor, entries, seen = options.cursor, [], set()
    for _ in range(PAGES if options.all else 1):
        reply = session.client.ask("GET", path, {**query, "limit": size, "cursor": cursor})
        session.show(reply, list)
        entries += entries_of(reply, listed.items)
        cursor = text_of(reply.document, listed.cursor) or None
        if cursor is None:
            return entries
        if cursor in seen:
            raise Unreachable("the list leads back to a page that it has shown")
        seen.add(cursor)
    if not session.as_json:
        session.note(f"There are more: --all shows all of them, --cursor {shell_word(cursor)} the next page.")
    return entries


def entries_of(reply: Reply, name: str) -> list[dict[str, Any]]:
    """The objects of a list. Raises `Unreachable` where the answer has no such list."""
    items = reply.document.get(name)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Unreachable(f"the answer has no list of {name}")
    return items


def part_of(reply: Reply, name: str) -> dict[str, Any]:
    """An object within the answer. Raises `Unreachable` where there is none."""
    part = reply.document.get(name)
    if not isinstance(part, dict):
        raise Unreachable(f"the answer has no {name}")
    return part


def shell_word(cursor: str | None) -> str:
    """A cursor that a person may copy, or a word for it where it is not as plain as cursors are."""
    plain = cursor is not None and cursor.isascii() and all(letter.isalnum() or letter in "-_.=" for letter in cursor)
    return cursor if plain and cursor is not None else "CURSOR"
