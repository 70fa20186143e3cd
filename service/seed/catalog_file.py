"""Reads a catalog file: a JSON array, a JSON object of two lists, or JSON lines. A file with any error is refused as a whole.

Pure: takes a stream, returns entries and errors. Knows no store, so `unknown_bots` has to be told what the catalog has.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from pydantic import ValidationError

from actors.catalog.messages import Entry, Kind
from service.schemas.catalog import BotEntry, UseCaseEntry, document_of
from service.schemas.problems import problems_of, text_of

MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_ERRORS = 50
MESSAGE_CHARACTERS = 300

KINDS: Mapping[str, Kind] = {"usecase": Kind.USECASES, "bot": Kind.BOTS}
MODELS: Mapping[Kind, type[UseCaseEntry] | type[BotEntry]] = {Kind.USECASES: UseCaseEntry, Kind.BOTS: BotEntry}

_BOM = b"\xef\xbb\xbf"
_DOCUMENT = re.compile(rb'[ \t\r\n]*(?:\[|\{[ \t\r\n]*"(?:usecases|bots)"[ \t\r\n]*:)')


class Malformed(ValueError):
    """The file or an entry is wrong. The text is what follows its name in a sentence, such as `is not an object`."""


@dataclass(slots=True)
class Parsed:
    """The contents of a file. If there is any error, nothing of it may be imported.

    `entries` has each kind that the file speaks of. `errors` holds at most 50 lines; `more_errors` counts the rest.
    `references` are the bots that guides name and the file lacks, each with the place of the first such guide.
    """

    entries: dict[Kind, list[Entry]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    more_errors: int = 0
    references: dict[str, str] = field(default_factory=dict)

    def complain(self, message: str) -> None:
        """Add an error. It is shortened and made printable; after 50 errors it is only counted."""
        if len(self.errors) == MAX_ERRORS:
            self.more_errors += 1
        else:
            shown = message if len(message) <= MESSAGE_CHARACTERS else message[: MESSAGE_CHARACTERS - 1] + "…"
            self.errors.append("".join(sign if sign.isprintable() else "?" for sign in shown))

    def report(self) -> list[str]:
        """The errors as lines for the operator."""
        return [*self.errors, f"and {self.more_errors} more"] if self.more_errors else list(self.errors)


@dataclass(frozen=True, slots=True)
class _Found:
    """A value of the file, or a `Malformed`, before validation. `kind` is set if the value stands in the list of a kind."""

    place: str
    value: Any
    kind: Kind | None = None


def parse(stream: BinaryIO, max_bytes: int = MAX_FILE_BYTES) -> Parsed:
    """Read and validate a whole file."""
    parsed = Parsed()
    collector = _Collector(parsed)
    try:
        data = _read(stream, max_bytes)
        for found in _document(data, parsed) if _DOCUMENT.match(data) else _lines(data):
            collector.add(found)
    except Malformed as error:
        parsed.complain(f"the file {error}")
    collector.finish()
    return parsed


def unknown_bots(parsed: Parsed, present: Container[str]) -> list[str]:
    """A warning for each bot that a guide names and neither the file nor the catalog (`present`) has."""
    return [
        f'{place}: the guide names the bot "{slug}", which does not exist'
        for slug, place in parsed.references.items()
        if slug not in present
    ]


class _Collector:
    """Validates values one by one and collects entries and errors."""

    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self._places: dict[tuple[Kind, str], str] = {}
        self._references: dict[str, str] = {}

    def add(self, found: _Found) -> None:
        where = found.place + _slug_hint(found.value)
        try:
            kind, fields = _typed(found)
            self._keep(found.place, kind, MODELS[kind].model_validate(fields))
        except ValidationError as error:
            for problem in problems_of(error):
                self._parsed.complain(f"{where}: {text_of([problem])}")
        except ValueError as error:
            self._parsed.complain(f"{where}: {error}")

    def finish(self) -> None:
        """Check what only the whole file shows."""
        parsed = self._parsed
        if not parsed.errors and not any(parsed.entries.values()):
            parsed.complain("the file has no entries")
        parsed.references = {
            slug: place for slug, place in self._references.items() if (Kind.BOTS, slug) not in self._places
        }

    def _keep(self, place: str, kind: Kind, entry: UseCaseEntry | BotEntry) -> None:
        first = self._places.get((kind, entry.slug))
        if first is not None:
            raise Malformed(f"has the same slug as {first}")
        self._places[kind, entry.slug] = place
        self._parsed.entries.setdefault(kind, []).append(Entry(entry.slug, entry.addedAt, document_of(entry)))
        if isinstance(entry, UseCaseEntry) and entry.guide is not None:
            for slug in entry.guide.botSlugs:
                self._references.setdefault(slug, place)


# --- From bytes to values


def _read(stream: BinaryIO, max_bytes: int) -> bytes:
    """The whole file, which is UTF-8 and not blank."""
    data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise Malformed(f"is larger than {max_bytes / 1024 / 1024:g} MiB")
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise Malformed("is empty")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Malformed(f"is not UTF-8 (line {line})") from None
    return data


def _lines(data: bytes) -> Iterator[_Found]:
    """The entries of JSON lines."""
    for number, line in enumerate(io.BytesIO(data), 1):
        text = line.decode().strip(" \t\r\n")
        if text:
            yield _Found(f"line {number}", _json(text))


def _document(data: bytes, parsed: Parsed) -> Iterator[_Found]:
    """The entries of a JSON array, or of a JSON object with a list per kind. Raises `Malformed`."""
    document = _json(data.decode())
    if isinstance(document, Malformed):
        raise document
    if isinstance(document, list):
        yield from _elements("", document)
        return
    for name, values in document.items():
        if name not in (Kind.USECASES, Kind.BOTS):
            raise Malformed(f'has "{name}", which is not a list of the catalog; the lists are "usecases" and "bots"')
        if not isinstance(values, list):
            raise Malformed(f'has "{name}", which must be a list')
        kind = Kind(name)
        parsed.entries[kind] = []
        yield from _elements(name, values, kind)


def _elements(name: str, values: list[Any], kind: Kind | None = None) -> Iterator[_Found]:
    for index, value in enumerate(values):
        yield _Found(f"{name}[{index}]", value, kind)


def _json(text: str) -> Any:
    """The value of a JSON text. A `Malformed` stands for the text if it is not JSON, or for an object that is wrong."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_not_json)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        return Malformed(f"is not JSON: {error.msg} ({line}column {error.colno})")
    except RecursionError:
        return Malformed("is nested too deeply")
    except ValueError:
        return Malformed("has a number with too many digits")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Malformed:
    """The object, or the first problem in it: a name that it has twice, or one in its values."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        return Malformed(f'has the key "{twice}" twice')
    return next((value for value in fields.values() if isinstance(value, Malformed)), fields)


def _not_json(constant: str) -> Malformed:
    """Python's decoder accepts NaN and infinities, which JSON does not have."""
    return Malformed(f"has {constant}, which is not JSON")


# --- From values to entries


def _typed(found: _Found) -> tuple[Kind, dict[str, Any]]:
    """The kind of an entry and its fields without `type`, which is required where the list does not tell the kind."""
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
        raise Malformed('has no "type" of "usecase" or "bot"')
    if found.kind not in (None, kind):
        raise Malformed(f'is a "{name}" in the list "{found.kind}"')
    return kind, fields


def _slug_hint(value: Any) -> str:
    slug = value.get("slug") if isinstance(value, dict) else None
    return f" ({slug[:100]})" if isinstance(slug, str) and slug else ""
