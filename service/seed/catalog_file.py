"""Reads a catalog file: a JSON array, a JSON object of two lists, or JSON lines. All or nothing, each error with its line.

Pure: a stream in, entries and errors out. Prints nothing and knows no store; `unknown_bots` is the one check that needs
to be told what the catalog has.
"""

import io
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from pydantic import ValidationError

from actors.catalog.store import Entry, Kind
from service.schemas.catalog import Bot, UseCase, document_of
from service.seed.json_text import Broken, Malformed, Walker

MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_ERRORS = 50
MESSAGE_CHARACTERS = 300

KINDS: Mapping[str, Kind] = {"usecase": Kind.USECASES, "bot": Kind.BOTS}
MODELS: Mapping[Kind, type[UseCase] | type[Bot]] = {Kind.USECASES: UseCase, Kind.BOTS: Bot}

_BOM = b"\xef\xbb\xbf"
_DOCUMENT = re.compile(rb'[ \t\r\n]*(?:\[|\{[ \t\r\n]*"(?:usecases|bots)"[ \t\r\n]*:)')


@dataclass(slots=True)
class Parsed:
    """What a file holds. With any error, nothing of it may be imported.

    `entries` has each kind that the file speaks of. `errors` has at most 50 lines, and `more_errors` counts the rest.
    `references` are the bots that guides name and the file lacks, each with the first line that does.
    """

    entries: dict[Kind, list[Entry]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    more_errors: int = 0
    references: dict[str, int] = field(default_factory=dict)

    def complain(self, message: str) -> None:
        """Count an error, and keep it while there are few. Safe to show: it is short and printable."""
        if len(self.errors) == MAX_ERRORS:
            self.more_errors += 1
        else:
            shown = message if len(message) <= MESSAGE_CHARACTERS else message[: MESSAGE_CHARACTERS - 1] + "…"
            self.errors.append("".join(sign if sign.isprintable() else "?" for sign in shown))

    def report(self) -> list[str]:
        """The errors as lines for a person."""
        return [*self.errors, f"and {self.more_errors} more"] if self.more_errors else list(self.errors)


@dataclass(frozen=True, slots=True)
class _Found:
    """A value of the file before it is validated: where it stands, and its kind where its list tells."""

    line: int
    place: str
    value: Any
    kind: Kind | None = None


def parse(stream: BinaryIO, max_bytes: int = MAX_FILE_BYTES) -> Parsed:
    """Read and validate a whole file."""
    parsed = Parsed()
    collector = _Collector(parsed)
    try:
        data = _read(stream, max_bytes)
        for found in _document(_decoded(data, 1), parsed) if _DOCUMENT.match(data) else _lines(data):
            collector.add(found)
    except Malformed as error:
        parsed.complain(str(error))
    collector.finish()
    return parsed


def unknown_bots(parsed: Parsed, present: Container[str]) -> list[str]:
    """A warning for each bot that a guide names and neither the file nor the catalog (`present`) has."""
    missing = sorted((line, slug) for slug, line in parsed.references.items() if slug not in present)
    return [f'line {line}: a guide names the bot "{slug}", which does not exist' for line, slug in missing]


class _Collector:
    """Validates values one by one and collects entries and errors."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._lines: dict[tuple[Kind, str], int] = {}
        self._references: dict[str, int] = {}

    def add(self, found: _Found) -> None:
        where = found.place + _slug_hint(found.value)
        try:
            kind, fields = _typed(found)
            entry = MODELS[kind].model_validate(fields)
            self._keep(found.line, kind, entry)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False, include_context=False):
                self._parsed.complain(f"{where}: {_explained(detail['loc'], detail['msg'])}")
        except ValueError as error:
            self._parsed.complain(f"{where}: {error}")

    def finish(self) -> None:
        """What can be said only at the end."""
        parsed = self._parsed
        if not parsed.errors and not any(parsed.entries.values()):
            parsed.complain("the file holds no entries")
        parsed.references = {
            slug: line for slug, line in self._references.items() if (Kind.BOTS, slug) not in self._lines
        }

    def _keep(self, line: int, kind: Kind, entry: UseCase | Bot) -> None:
        first = self._lines.get((kind, entry.slug))
        if first is not None:
            raise Malformed(f"the slug stands twice, first on line {first}")
        self._lines[kind, entry.slug] = line
        self._parsed.entries.setdefault(kind, []).append(Entry(entry.slug, entry.addedAt, document_of(entry)))
        if isinstance(entry, UseCase) and entry.guide is not None:
            for slug in entry.guide.botSlugs:
                self._references.setdefault(slug, line)


# --- From bytes to values


def _read(stream: BinaryIO, max_bytes: int) -> bytes:
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Malformed(f"the file is larger than {max_bytes / 1024 / 1024:g} MiB")
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise Malformed("the file is empty")
    return data


def _decoded(data: bytes, line: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise Malformed(f"line {line}: the file is not UTF-8") from None


def _lines(data: bytes) -> Iterator[_Found]:
    """JSON lines; one that is no JSON is found as its error, so that those after it are read too."""
    for line, raw in enumerate(io.BytesIO(data), 1):
        text = _decoded(raw, line).strip(" \t\r\n")
        if text:
            yield _Found(line, f"line {line}", _line_value(text))


def _line_value(text: str) -> Any:
    try:
        walker = Walker(text)
        value = walker.value()
        walker.end()
    except Broken as error:
        return Malformed(f"is not JSON: {error.why} (column {error.at + 1})")
    return value


def _document(text: str, parsed: Parsed) -> Iterator[_Found]:
    """The entries of one JSON array, or of an object of lists by kind. Ends the reading where it is no JSON."""
    walker = Walker(text)
    try:
        if walker.accept("["):
            yield from _elements(walker, "", None)
        else:
            for name in walker.members():
                kind = _list_kind(name, walker.line(), parsed)
                yield from _elements(walker.opened("["), name, kind)
        walker.end()
    except Broken as error:
        line = text.count("\n", 0, error.at) + 1
        raise Malformed(f"line {line}: is not JSON: {error.why}") from None


def _list_kind(name: str, line: int, parsed: Parsed) -> Kind:
    if name not in (Kind.USECASES, Kind.BOTS):
        raise Malformed(f'line {line}: "{name}" is not a list of the catalog; they are "usecases" and "bots"')
    kind = Kind(name)
    if kind in parsed.entries:
        raise Malformed(f'line {line}: the list "{name}" stands twice')
    parsed.entries[kind] = []
    return kind


def _elements(walker: Walker, name: str, kind: Kind | None) -> Iterator[_Found]:
    for index, value in enumerate(walker.elements()):
        yield _Found(walker.value_line, f"line {walker.value_line}, {name}[{index}]", value, kind)


# --- From values to entries


def _typed(found: _Found) -> tuple[Kind, dict[str, Any]]:
    """The kind of a value and its fields, without `type`, which says the kind where the list does not."""
    if isinstance(found.value, Malformed):
        raise found.value
    if not isinstance(found.value, dict):
        raise Malformed("is not an object")
    fields = dict(found.value)
    if "type" not in fields and found.kind is not None:
        return found.kind, fields
    name = fields.pop("type", None)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise Malformed('"type" must be "usecase" or "bot"')
    if found.kind not in (None, kind):
        raise Malformed(f'a "{name}" stands in the list "{found.kind}"')
    return kind, fields


def _slug_hint(value: Any) -> str:
    slug = value.get("slug") if isinstance(value, dict) else None
    return f" ({slug[:100]})" if isinstance(slug, str) and slug else ""


def _explained(location: tuple[int | str, ...], message: str) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    return f"{path[:100]}: {message.removeprefix('Value error, ')}"
