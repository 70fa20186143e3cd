"""Mail templates, one file each in `templates/`, from which both parts of a mail are made. Pure; source: ADR 0081.

The files are read when this module is imported. A file begins with fields: `subject`, the reason in `because`, and the
`topic` of mails that their recipient can turn off. Blocks follow, separated by blank lines:

    Words, with {{ values }} and {% if %}.     a paragraph
    - Name: words                              a table of facts, one a line
    = expression                               a code
    > expression                               what somebody else wrote, with its lines
    * expression                               a list, one entry a line
    [Words] /path                              a button; `link` in place of a path is the link of a notice, which ends
                                               something and therefore looks risky

Blocks are taken apart before any value is known, so no value can add to them. A block whose values are empty is left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from jinja2 import Environment, StrictUndefined, Template
from jinja2.environment import TemplateExpression

from actors.mail.words import FILTERS, harmless, header
from actors.shared.announcements import Topic
from actors.shared.code_mails import LONG

FOLDER = Path(__file__).parent / "templates"
LINES = 50
"""Most lines of a quotation or a list."""

Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Paragraph:
    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Quotation:
    kind: ClassVar[str] = "quotation"
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    kind: ClassVar[str] = "entries"
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Button:
    """`risky` buttons end something that may be the recipient's own, so they are not the filled button of a mail."""

    kind: ClassVar[str] = "button"
    words: str
    url: str
    risky: bool = False


Part = Paragraph | Code | Facts | Quotation | Entries | Button
Block = Callable[[Values], Part | None]


@dataclass(frozen=True, slots=True)
class MailTemplate:
    """A template. Its functions take the values of one message, and raise `UndefinedError` if one is missing."""

    subject: Callable[[Values], str]
    because: Callable[[Values], str]
    topic: Topic | None
    blocks: tuple[Block, ...]

    def parts(self, values: Values) -> list[Part]:
        return [part for block in self.blocks if (part := block(values)) is not None]


ENVIRONMENT = Environment(undefined=StrictUndefined, autoescape=False, finalize=lambda value: harmless(str(value)))
ENVIRONMENT.filters.update(FILTERS)


@cache
def _template(text: str) -> Template:
    """Compiled when it is first used: compiling all would take a quarter of a second of each start."""
    return ENVIRONMENT.from_string(text)


@cache
def _expression(text: str) -> TemplateExpression:
    return ENVIRONMENT.compile_expression(text, undefined_to_none=False)


def parse_template(source: str) -> MailTemplate:
    """The template of a file's text."""
    head, *blocks = source.strip().split("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields.keys() <= {"subject", "topic", "because"}, f"unknown fields: {sorted(fields)}"
    subject, topic = _line(fields["subject"]), fields.get("topic")
    return MailTemplate(
        subject=lambda values: header(subject(values)),
        because=_line(fields["because"]),
        topic=None if topic is None else Topic(topic),
        blocks=tuple(_block(block) for block in blocks),
    )


def _block(source: str) -> Block:
    match source[:2]:
        case "= ":
            return _lined(source[2:], lambda lines: Code(lines[0]))
        case "> ":
            return _lined(source[2:], Quotation)
        case "* ":
            return _lined(source[2:], Entries)
        case "- ":
            return _facts(source)
    if source.startswith("["):
        return _button(source)
    paragraph = _line(source)
    return lambda values: Paragraph(text) if (text := paragraph(values)) else None


def _line(source: str) -> Callable[[Values], str]:
    """A template of one line."""
    text = " ".join(source.split())
    return lambda values: " ".join(_template(text).render(values).split())


def _lined(expression: str, part: Callable[[tuple[str, ...]], Part]) -> Block:
    """A part of the lines of a value."""

    def block(values: Values) -> Part | None:
        lines = tuple(line for line in map(harmless, str(_expression(expression)(dict(values))).splitlines()) if line)
        return part(lines[:LINES]) if lines else None

    return block


def _facts(source: str) -> Block:
    named = [line.removeprefix("- ").split(": ", 1) for line in source.splitlines()]
    rows = [(name, _line(value)) for name, value in named]

    def block(values: Values) -> Part | None:
        shown = tuple((name, text) for name, line in rows if (text := line(values)))
        return Facts(shown) if shown else None

    return block


def _button(source: str) -> Block:
    words, target = source.removeprefix("[").split("] ")
    if target == "link":
        return lambda values: Button(words, values["link"], risky=True)

    def block(values: Values) -> Part:
        quoted = {name: quote(value, safe="") for name, value in values.items()}
        return Button(words, values["site"] + _template(target).render(quoted))

    return block


def _read() -> dict[str, MailTemplate]:
    templates = {path.stem: parse_template(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.txt"))}
    return templates | {name + LONG: template for name, template in templates.items()}


TEMPLATES = _read()
"""By name. Subjects are seen on lock screens and in server logs, so they contain no code."""
