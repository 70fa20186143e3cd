"""Reads templates, the style sheet and rendered pages for the rules of the design."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import service.web

WEB = Path(service.web.__file__).parent
SHEET = (WEB / "static/style.css").read_text(encoding="utf-8")
DIGITS = "0123456789"
BLOCKED = {"ad", "ads"}
"""Words that content blockers hide by class, id or address."""

_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_NOTES = re.compile(r"\{#.*?#\}", re.DOTALL)
_EXPRESSION = "\0"
_WORD = re.compile(r"[A-Z]?[a-z\d]+|[A-Z\d]+")
_CAMPAIGN = re.compile(r"campaigns?", re.IGNORECASE)


def classes_of_sheet(css: str) -> set[str]:
    """The classes in the selectors of a style sheet."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    css = re.sub(r'"[^"]*"', '""', css)
    selectors = re.sub(r"\{[^{}]*\}", "{}", css)
    return set(re.findall(r"\.(-?[A-Za-z_][\w-]*)", selectors))


CLASSES = classes_of_sheet(SHEET)


def attributes_of(source: str, name: str) -> Iterator[str]:
    """The values of an attribute in a template, with a NUL in place of each expression."""
    plain = _JINJA.sub(_EXPRESSION, _NOTES.sub("", source))
    for found in re.finditer(rf'[\s{_EXPRESSION}]{name}="([^"]*)"', plain):
        yield found[1]


def classes_of_template(source: str) -> set[str]:
    """The classes that stand in a template as they are. What expressions make is known only when a page is rendered."""
    return {word for value in attributes_of(source, "class") for word in value.split() if _EXPRESSION not in word}


def blocked(name: str) -> bool:
    """Whether a class, an id or an address has a word that content blockers hide: `ad-box`, `topAd`, `/ads/1`."""
    return not BLOCKED.isdisjoint(word.lower().rstrip(DIGITS) for word in _WORD.findall(name))


@dataclass(slots=True)
class _Reader(HTMLParser):
    """Collects what the rules are about. `plain` is the text outside of code and of what people typed."""

    classes: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    filled: int = 0
    plain: list[str] = field(default_factory=list)
    _within: list[str] = field(default_factory=list)
    _form_hidden: bool = False

    TYPED = ("code", "pre", "bdi", "textarea", "script", "option")

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        classes = told.get("class", "").split()
        self.classes.update(classes)
        self.names.update(classes)
        self.names.update(told[name] for name in ("id", "name", "href", "src", "action") if name in told)
        self.plain += [told[name] for name in ("aria-label", "placeholder", "title", "alt") if name in told]
        if tag == "form":
            self._form_hidden = "hidden" in told
        self.filled += "main" in classes and tag in ("a", "button", "input") and not self._form_hidden
        if tag in self.TYPED:
            self._within.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form_hidden = False
        if self._within and self._within[-1] == tag:
            self._within.pop()

    def handle_data(self, data: str) -> None:
        if not self._within:
            self.plain.append(data)


def faults_of_design(html: str, sheet: set[str], *, queue: bool = False) -> list[str]:
    """The rules that a rendered page breaks. In a queue each item has a filled button."""
    reader = _Reader()
    reader.feed(html)
    faults = [f"the style sheet has no class {name}" for name in sorted(reader.classes - sheet)]
    # In lower case, because the capitals of random ids begin no words.
    faults += [f"blockers hide {name}" for name in sorted(reader.names) if blocked(name.lower())]
    if reader.filled > 1 and not queue:
        faults.append(f"it has {reader.filled} filled buttons")
    text = " ".join(" ".join(reader.plain).split())
    faults += [f"it says: {text[max(0, each.start() - 30) : each.end() + 20]}" for each in _CAMPAIGN.finditer(text)]
    return faults
