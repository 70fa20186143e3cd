"""Both parts of a mail, made of the same values: plain text, and HTML for mail programs. Pure.

HTML is made of tables and inline styles, since many mail programs know nothing else. It loads nothing from anywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import TextWrapper

from jinja2 import Environment, StrictUndefined, Template

from actors.mail.template_files import FOLDER, Button, Code, Entries, Facts, Paragraph, Part, Quotation

WIDTH = 72
"""Columns of the plain text. Addresses may be longer, because a broken one is of no use."""


@dataclass(frozen=True, slots=True)
class Footer:
    """The reason for the mail, the service that sent it, the links about it, and the page that stops mails of its topic, if
    it has one."""

    because: str
    site: str
    links: tuple[tuple[str, str], ...] = ()
    topic: str = ""
    stop_url: str = ""
    choices_url: str = ""


def as_text(parts: Sequence[Part], footer: Footer) -> str:
    """The plain text."""
    blocks = ["\n".join(_lines(part)) for part in parts]
    return "\n\n".join([*blocks, "\n".join(_footer_lines(footer))]) + "\n"


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Paragraph(text):
            yield from _wrapped(text)
        case Code(text):
            yield text
        case Facts(rows):
            for name, text in rows:
                yield from _wrapped(f"{name}: {text}", after="  ")
        case Quotation(lines):
            for line in lines:
                yield from _wrapped(line, before="> ", after="> ")
        case Entries(lines):
            for line in lines:
                yield from _wrapped(line, before="- ", after="  ")
        case Button(words, url):
            yield f"{words}:"
            yield url


def _footer_lines(footer: Footer) -> Iterator[str]:
    # This line marks the end of the text for mail programs.
    yield "-- "
    yield from _wrapped(f"You get this mail because {footer.because}. It was sent by {footer.site}")
    if footer.topic:
        yield f"Stop mails about {footer.topic}:"
        yield footer.stop_url
        yield "Choose your mails:"
        yield footer.choices_url
    for label, url in footer.links:
        yield f"{label}: {url.removeprefix('mailto:')}"


def _wrapped(text: str, before: str = "", after: str = "") -> list[str]:
    wrapper = TextWrapper(WIDTH, initial_indent=before, subsequent_indent=after, break_on_hyphens=False)
    wrapper.break_long_words = "://" not in text
    return wrapper.wrap(text)


_PAGES = Environment(undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True)
_SOURCE = (FOLDER / "page.html").read_text(encoding="utf-8")


@cache
def _page() -> Template:
    return _PAGES.from_string(_SOURCE)


def as_html(name: str, subject: str, parts: Sequence[Part], footer: Footer) -> str:
    """The HTML. `name` is what the service calls itself. Every value is escaped."""
    return _page().render(name=name, subject=subject, parts=parts, footer=footer)
