"""Reads templates, the style sheet and rendered pages for the rules of the design."""

import re
from collections.abc import Iterator
from pathlib import Path

import service.web
from tests.web.markup import Element, Markup, parsed

WEB = Path(service.web.__file__).parent
SHEET = (WEB / "static/style.css").read_text(encoding="utf-8")
DIGITS = "0123456789"
BLOCKED = {"ad", "ads"}
"""Words that content blockers hide by class, id or address."""
NAMES = ("id", "name", "href", "src", "action")
SPOKEN = ("aria-label", "placeholder", "title", "alt")

_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_NOTES = re.compile(r"\{#.*?#\}", re.DOTALL)
_EXPRESSION = "\0"
_WORD = re.compile(r"[A-Z]?[a-z\d]+|[A-Z\d]+")
_OTHER_NAMES = re.compile(r"campaigns?|\breaders?\b|\btenants?\b", re.IGNORECASE)
"""Pages say ad, visitor and account."""


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


TYPED = ("code", "pre", "bdi", "textarea", "script", "option")
"""Elements with code, or with what people typed."""


def plain_words(page: Markup) -> list[str]:
    """The words outside of code and of what people typed, after those of attributes."""
    typed = {place for each in page.all(*TYPED) for place in range(each.first, each.last or len(page.words))}
    words = [each[name] for each in page.elements for name in SPOKEN if name in each]
    return words + [text for place, text in enumerate(page.words) if place not in typed]


def is_filled(element: Element) -> bool:
    """Whether it is a filled button that is shown."""
    hidden = any(each.tag == "form" and "hidden" in each for each in element.around)
    return element.tag in ("a", "button", "input") and "main" in (element.get("class") or "").split() and not hidden


def faults_of_design(html: str, sheet: set[str], *, queue: bool = False) -> list[str]:
    """The rules that a rendered page breaks. In a queue each item has a filled button."""
    page = parsed(html)
    classes = {name for each in page.elements for name in (each.get("class") or "").split()}
    names = classes | {each[name] for each in page.elements for name in NAMES if name in each}
    filled = sum(map(is_filled, page.elements))
    faults = [f"the style sheet has no class {name}" for name in sorted(classes - sheet)]
    # In lower case, because the capitals of random ids begin no words.
    faults += [f"blockers hide {name}" for name in sorted(names) if blocked(name.lower())]
    if filled > 1 and not queue:
        faults.append(f"it has {filled} filled buttons")
    text = " ".join(" ".join(plain_words(page)).split())
    faults += [f"it says: {text[max(0, each.start() - 30) : each.end() + 20]}" for each in _OTHER_NAMES.finditer(text)]
    return faults
