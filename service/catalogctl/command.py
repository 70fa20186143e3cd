"""The rows of commands: each names an operation of the service, its arguments, and the parts of its response to show.

A table or a list of facts is written as `TITLE: field`, with `;` between two of them. A field is a path such as
`profile.name`, perhaps with the name of one of `FORMS` and with ` | ` and the words for no value: `endsAt day | never`.
`a/b` is the first of two fields that has a value, and `{title} ({id})` a text around fields. `TITLE*` is a column that is
never cut, because users copy its values, and `TITLE>` one of numbers, which are aligned to the right.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from service.catalogctl.client import Reply
from service.catalogctl.failures import Exit, Failure, Unreachable
from service.catalogctl.lists import Entry, entries_of, printed_file, walk
from service.catalogctl.session import Session
from service.terminal import layout
from service.terminal.layout import day, moment, money, printable, time_left

ROOT = "/api/v1/"
_NAME = re.compile(r"\{(\w+)\}")

Cell = Callable[[Entry], Any]
"""Picks the value of a cell from an entry, which also has the fields of its response, and its `Date` header."""
Show = Callable[[Session, Reply], Sequence[str]]
"""The lines that people see of a response."""


def _lines(value: object) -> str:
    """A text with its line breaks. The layout makes each line harmless."""
    return value if isinstance(value, str) else printable(value)


def _steps(value: object) -> list[str]:
    return [f"{place}. {_lines(step)}" for place, step in enumerate(value, 1)] if isinstance(value, list) else []


FORMS: Mapping[str, Callable[[Any, Entry], str | list[str]]] = {
    "": lambda value, _: printable(value),
    "day": lambda value, _: day(value),
    "moment": lambda value, _: moment(value),
    "money": lambda value, entry: money(value, entry.get("currency", "usd")),
    "money back": lambda value, entry: (
        (value and money(value, entry.get("paidCurrency") or entry.get("currency"))) or ""
    ),
    "first day": lambda value, entry: day(entry.get("periodStart", value)),
    "money if any": lambda value, entry: (value and FORMS["money"](value, entry)) or "",
    "time left": lambda value, entry: time_left(value, entry.get("Date")),
    "words": lambda value, _: printable(value).replace("_", " "),
    "switch": lambda value, _: "on" if value else "off",
    "lines": lambda value, _: _lines(value),
    "steps": lambda value, _: _steps(value),
}
"""The forms of values. `words` are those of a name with underscores."""


def value_of(entry: Entry, path: str) -> Any:
    """The value at a path such as `profile.name` or `weeks.0.price`, or None."""
    value: Any = entry
    for name in path.split("."):
        if isinstance(value, list):
            value = value[int(name)] if name.isdigit() and int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def _cell(text: str) -> Cell:
    if "{" in text:
        return lambda entry: re.sub(r"\{(.+?)\}", lambda field: str(_cell(field[1])(entry)), text).strip()
    field, _, none = text.partition(" | ")
    paths, _, form = field.partition(" ")
    make = FORMS[form]

    def show(entry: Entry) -> Any:
        values = [value_of(entry, path) for path in paths.split("/")]
        value = next((each for each in values if each), values[-1])
        return none if value in (None, "") else make(value, entry)

    return show


def _cells(text: str, computed: Mapping[str, Cell]) -> dict[str, Cell]:
    """The cells of a text by their titles. `computed` are fields that functions make of an entry."""
    pairs = (each.split(": ", 1) for each in " ".join(text.split()).split("; "))
    return {title: computed.get(what) or _cell(what) for title, what in pairs}


class Table:
    """Shows the list `items` of a response as a table, or `nothing` in words if it is empty."""

    def __init__(self, columns: Sequence[layout.Column], cells: Sequence[Cell], nothing: str, items: str) -> None:
        self.columns, self.cells, self.nothing, self.items = columns, cells, nothing, items

    def __call__(self, session: Session, reply: Reply) -> list[str]:
        document = reply.document
        return self.lines(session, [{**document, **each} for each in entries_of(reply, self.items)])

    def lines(self, session: Session, entries: Iterable[Entry]) -> list[str]:
        rows = [[str(cell(entry)) for cell in self.cells] for entry in entries]
        return layout.table(self.columns, rows, session.outside.columns) if rows else [self.nothing]


def table(text: str, nothing: str, items: str = "items", **computed: Cell) -> Table:
    cells = _cells(text, computed)
    columns = [layout.Column(title.rstrip("*>"), title[-1] in "*>", title[-1] == ">") for title in cells]
    return Table(columns, list(cells.values()), nothing, items)


class Facts:
    """Shows facts of the object `part` in the response, or of the response itself."""

    def __init__(self, part: str, cells: Mapping[str, Cell]) -> None:
        self.part, self.cells = part, cells

    def __call__(self, session: Session, reply: Reply) -> list[str]:
        part = part_of(reply, self.part) if self.part else {}
        return self.lines(session, {**reply.document, "Date": reply.headers.get("date"), **part})

    def lines(self, session: Session, entry: Entry) -> list[str]:
        return layout.facts({title: cell(entry) for title, cell in self.cells.items()}, session.outside.columns)


def facts(text: str, part: str = "", **computed: Cell) -> Facts:
    return Facts(part, _cells(text, computed))


def part_of(reply: Reply, name: str) -> Entry:
    """An object within the response. Raises `Unreachable` if there is none."""
    part = reply.document.get(name)
    if not isinstance(part, dict):
        raise Unreachable(f"the response has no {name}")
    return part


def done(name: str, words: str) -> Show:
    """Shows what was done to the object that an argument names."""
    return lambda session, reply: [f"{printable(session.option(name))} {words}."]


# Arguments.


class Argument(NamedTuple):
    """An argument of the command line, which is sent as the field `to` if it has one. `settings` are argparse's.
    `read` makes the value of the field once it is known that there is a key."""

    flag: str
    to: str
    settings: Mapping[str, Any]
    read: Callable[[Any], Any]

    @property
    def dest(self) -> str:
        return self.flag.lstrip("-").replace("-", "_")


def argument(
    usage: str, help: str, to: str | None = None, read: Callable[[Any], Any] = lambda value: value, **settings: Any
) -> Argument:
    """An argument, by its usage: `--flag`, `--option VALUE`, `--option=` whose value has its name, `NAME`, or `[NAME]`, which
    may be left out. Without `to` its field has its name in camel case."""
    flag, _, value = usage.partition(" ")
    if not flag.startswith("-"):
        flag, value = flag.strip("[]").lower(), flag.strip("[]")
        settings |= {"nargs": "?"} if usage.startswith("[") else {}
    elif not value and not flag.endswith("="):
        settings |= {"action": "store_true"}
    settings |= {"metavar": value} if value else {}
    flag = flag.rstrip("=")
    camel = re.sub("-(.)", lambda dash: dash[1].upper(), flag.lstrip("-"))
    settings = {"help": help, "default": argparse.SUPPRESS, **settings}
    return Argument(flag, camel if to is None else to, settings, read)


def required(**options: str) -> list[Argument]:
    """Options that must be given, by name with their help."""
    return [argument(f"--{name}=", words, required=True) for name, words in options.items()]


def count(text: str) -> int:
    """The type of a number of entries."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 6 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 99999")
    return int(text)


def names(text: str) -> list[str]:
    """The type of names that are separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


PAGED = (
    argument("--limit N", "entries per page", type=count),
    argument("--cursor=", "the cursor that the previous page has printed"),
    argument("--all", "read all pages"),
)
OUTPUT = argument("--output FILE", "with --csv: write the file here; replaces it once it is complete")
CSV = "print the whole list as CSV"


# Commands.


class Command(NamedTuple):
    """A command: its name after that of its group, the operation's method and path below `ROOT`, its help, and the rest.

    Names in braces in the path are arguments, too. With `paged` it reads a list, and has options to choose pages. `csv` is
    the help of its option for a file. `body` has fields that are always sent. `then` is a hint after the result, or a
    function. `missing` explains that something is not found, and `lost` that no response arrives. `run` replaces `send`.
    """

    name: str
    call: str
    help: str
    shows: Show | None
    arguments: tuple[Argument, ...]
    paged: bool = False
    csv: str = ""
    keyless: bool = False
    body: Mapping[str, Any] | None = None
    then: str | Callable[[Session, Reply], None] = ""
    missing: str = ""
    lost: str = ""
    run: "Callable[[Command, Session], None] | None" = None

    def command_line(self) -> list[Argument]:
        """All its arguments."""
        named = _NAME.findall(self.call)
        of_path = (argument(name.upper(), "the key's id" if name == "id" else "its id") for name in named)
        file = (argument("--csv", self.csv), OUTPUT) if self.csv else ()
        return [*of_path, *(PAGED if self.paged else ()), *self.arguments, *file]

    def fields(self, session: Session) -> dict[str, Any]:
        """The arguments that were given by their fields."""
        given = vars(session.options)
        return {each.to: each.read(given[each.dest]) for each in self.arguments if each.to and each.dest in given}

    def request(self, session: Session) -> tuple[str, str, dict[str, Any]]:
        """The method, path and query."""
        method, path = self.call.split(" ")
        named = _NAME.sub(lambda name: quote(session.option(name[1]), safe=""), path)
        given = self.fields(session) if method == "GET" else {}
        return method, ROOT + named, {name: "true" if value is True else value for name, value in given.items()}

    def ask(self, session: Session, lost: str = "", **more: Any) -> Reply:
        """Send the request, with `more` fields in its body. Raises `Refused` or `Unreachable`."""
        method, path, query = self.request(session)
        sends = method != "GET" and (self.body or any(each.to for each in self.arguments))
        body = {**(self.body or {}), **self.fields(session), **more} if sends else None
        try:
            return session.client.ask(method, path, query, body)
        except Unreachable as error:
            raise Unreachable("; ".join(filter(None, (str(error), lost or self.lost)))) from None
        except Failure as failure:
            if self.missing and failure.code is Exit.NOT_FOUND:
                failure.details = [self.missing]
            raise

    def finish(self, session: Session, reply: Reply) -> None:
        """Print the response."""
        assert self.shows
        session.printer.show(reply, self.shows(session, reply))
        if callable(self.then):
            self.then(session, reply)
        elif self.then:
            session.printer.hint(self.then)

    def __call__(self, session: Session) -> None:
        """Run the command. Raises `Failure`."""
        if not self.keyless:
            session.needs_key()
        (self.run or send)(self, session)


def command(name: str, call: str, help: str, shows: Show | None = None, *arguments: Argument, **more: Any) -> Command:
    return Command(name, call, help, shows, arguments, **more)


def send(row: Command, session: Session) -> None:
    """Call the operation of a row, and print what it returns: as a file, as pages, or as one response."""
    _, path, query = row.request(session)
    if row.csv and printed_file(session, path, query):
        return
    if row.paged:
        print_list(row, session, walk(session, path, query))
    else:
        row.finish(session, row.ask(session))


def print_list(row: Command, session: Session, entries: Sequence[Entry]) -> None:
    """Print the entries of a list for people. With `--json` or `--quiet`, `walk` has already printed its pages."""
    assert isinstance(row.shows, Table)
    session.printer.print_text(*row.shows.lines(session, entries))
