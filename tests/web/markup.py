"""Reads HTML as browsers and screen readers do, and lists its faults."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

Attributes = dict[str, str]

VOID = {"meta", "link", "input", "img", "br", "hr", "col", "wbr", "source"}
NAMED = {"a", "button", "summary", "legend", "caption", "th"}
LABELLED = {"input", "select", "textarea", "meter", "progress", "output"}
REFERENCES = {"for", "aria-labelledby", "aria-describedby", "aria-controls", "list", "form", "headers"}
SCRIPTED = {"data-copy", "data-filters", "data-count-of"}
"""Attributes with the id of what the script of every page copies, filters or counts."""
LOADS = ("src", "srcset", "poster", "data", "background")
DATA = "application/ld+json"
LISTED = {
    *("description", "canonical", "og:site_name", "og:type", "og:title", "og:description", "og:url", "og:image"),
    *("og:image:type", "og:image:width", "og:image:height", "og:image:alt", "twitter:card"),
}
"""The parts of a page's head that search engines list."""
TOLD = {"robots", "alternate", *LISTED}
PAGE_SCRIPT = re.compile(r"/static/page\.[0-9a-f]{16}\.js")
"""The script of every page."""
HEADING = re.compile(r"h([1-6])")


@dataclass(slots=True)
class Element:
    tag: str
    attributes: Attributes
    around: "tuple[Element, ...]" = field(repr=False)
    """The elements around it, from the outermost."""
    words: list[str] = field(repr=False)
    """The pieces of text of the whole page; those from `first` to `last` are inside."""
    first: int
    last: int | None = None

    @property
    def above(self) -> tuple[str, ...]:
        """The tags around it."""
        return tuple(each.tag for each in self.around)

    @property
    def text(self) -> str:
        """All text inside, with single spaces."""
        return " ".join("".join(self.words[self.first : self.last]).split())

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    def __contains__(self, name: str) -> bool:
        return name in self.attributes


@dataclass(slots=True)
class Markup(HTMLParser):
    """A parsed page. `faults` are those of its markup."""

    html: str = field(repr=False)
    elements: list[Element] = field(default_factory=list, repr=False)
    faults: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)
        self._open: list[Element] = []
        self.feed(self.html)
        self.close()
        self.faults += [f"<{element.tag}> is not closed" for element in self._open]
        if not self.html.startswith("<!doctype html>"):
            self.faults.append("it does not begin with its doctype")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.faults.append(f"<{tag}> has an attribute twice")
        attributes = {name: value or "" for name, value in attrs}
        element = Element(tag, attributes, tuple(self._open), self.words, len(self.words))
        self.elements.append(element)
        if tag in VOID:
            element.last = element.first
        else:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._close()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].tag != tag:
            self.faults.append(f"</{tag}> closes {self._open[-1].tag if self._open else 'nothing'}")
            return
        self._close()

    def updatepos(self, i: int, j: int) -> int:
        """Count no lines, which takes a twelfth of the time and which nothing reads."""
        return j

    def _close(self) -> None:
        self._open.pop().last = len(self.words)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    def one(self, tag: str) -> Element:
        [element] = self.all(tag)
        return element

    @property
    def text(self) -> str:
        return self.one("body").text

    @property
    def scripts(self) -> list[Element]:
        """The scripts that run beside that of every page. Data is not among them."""
        running = (script for script in self.all("script") if script.attributes.get("type") != DATA)
        return [script for script in running if not PAGE_SCRIPT.fullmatch(script.attributes.get("src", ""))]

    @property
    def ids(self) -> list[str]:
        return [element.attributes["id"] for element in self.elements if "id" in element.attributes]


@lru_cache(maxsize=32)
def parsed(html: str) -> Markup:
    """A page that is only read. Tests that look for faults first do not parse it again, nor do those of the same page."""
    return Markup(html)


def faults_of(html: str) -> list[str]:
    """All faults of a page of ours."""
    page = parsed(html)
    parts = (_frame, _card, _headings, _strictness, _references, _controls)
    return page.faults + [fault for part in parts for fault in part(page)]


def _frame(page: Markup) -> list[str]:
    faults = []
    if page.one("html").attributes.get("lang") != "en":
        faults.append("it does not say its language")
    titles = [element.text for element in page.all("title") if "head" in element.above]
    if len(titles) != 1 or not re.fullmatch(r"\S.* - Catalog", titles[0]):
        faults.append(f"its titles are {titles}")
    if len(page.all("main")) != 1:
        faults.append("it has not one main part")
    # The navigation stands there twice, for wide screens and for phones.
    if len({each.attributes["href"] for each in page.all("a") if each.attributes.get("aria-current") == "page"}) > 1:
        faults.append("it is at two places of the navigation")
    return faults


ATOM = "application/atom+xml"
"""The type of the feed, an alternate of all pages."""


def card_of(html: str) -> dict[str, str]:
    """Values of the head for search engines and link previews, by name: of `meta` elements, `canonical` and `alternate`."""
    page = parsed(html)
    told = [
        *(
            (meta.attributes.get("name") or meta.attributes.get("property", ""), meta.attributes)
            for meta in page.all("meta")
        ),
        *(
            (link.attributes["rel"], link.attributes)
            for link in page.all("link")
            if link.attributes.get("type") != ATOM
        ),
    ]
    named = [
        (name, attributes.get("content") or attributes.get("href", "")) for name, attributes in told if name in TOLD
    ]
    assert len(named) == len(dict(named)), f"twice in the head: {named}"
    return dict(named)


def data_of(html: str) -> list[Any]:
    """The things that a page describes in JSON-LD."""
    scripts = [each for each in parsed(html).all("script") if each.attributes.get("type") == DATA]
    graphs = [json.loads("".join(each.words[each.first : each.last])) for each in scripts]
    assert all(graph["@context"] == "https://schema.org" for graph in graphs)
    return [thing for graph in graphs for thing in graph["@graph"]]


def _card(page: Markup) -> list[str]:
    """Faults of what a head tells. A page that search engines do not list tells nothing else."""
    card = card_of(page.html)
    if card.get("robots") == "noindex":
        return [f"it is not listed, and has {name}" for name in card.keys() - {"robots"}]
    faults = [f"its head has no {name}" for name in sorted(LISTED - card.keys())]
    faults += [f"its {name} is empty or long" for name, words in card.items() if not 0 < len(words) <= 300]
    if card.get("og:url") != card.get("canonical") or re.search(r"[?#]", card.get("canonical", "?")):
        faults.append(f"its address is {card.get('canonical')} and {card.get('og:url')}")
    if f"{card.get('og:title')} - Catalog" not in [title.text for title in page.all("title")]:
        faults.append(f"its title is {card.get('og:title')} elsewhere")
    return faults


def _headings(page: Markup) -> list[str]:
    levels = [int(found[1]) for element in page.elements if (found := HEADING.fullmatch(element.tag))]
    faults = [f"h{after} follows h{before}" for before, after in pairwise(levels) if after > before + 1]
    if levels.count(1) != 1 or levels[0] != 1:
        faults.append(f"its headings are {levels}")
    return faults + [f"<{tag.tag}> is empty" for tag in page.elements if HEADING.fullmatch(tag.tag) and not tag.text]


def _strictness(page: Markup) -> list[str]:
    """Faults that the content policy would block."""
    faults = [
        f"<{element.tag}> is of no use here" for element in page.all("style", "iframe", "base", "object", "embed")
    ]
    for element in page.elements:
        for name, value in element.attributes.items():
            if name == "style" or name.startswith("on"):
                faults.append(f"<{element.tag}> has {name}")
            links = element.attributes.get("rel") in ("canonical", "alternate")
            loads = name in LOADS or (element.tag == "link" and name == "href" and not links)
            if loads and not re.match(r"/(?!/)", value):
                faults.append(f"<{element.tag}> loads {value}")
            if name in ("href", "action", "formaction") and re.match(r"\s*(javascript|data|vbscript):", value, re.I):
                faults.append(f"<{element.tag}> runs {value}")
        if element.tag == "a" and re.match(r"[a-z]+:", element.attributes.get("href", "")):
            rel = element.attributes.get("rel", "").split()
            faults += [f"a link to elsewhere without {word}" for word in ("noopener", "nofollow") if word not in rel]
    if any("src" not in script.attributes or script.text for script in page.scripts):
        faults.append("a script stands in the page itself")
    return faults


def _references(page: Markup) -> list[str]:
    ids = Counter(page.ids)
    faults = [f"the id {name} stands {number} times" for name, number in sorted(ids.items()) if number > 1]
    for element in page.elements:
        for name in element.attributes.keys() & REFERENCES:
            missing = set(element.attributes[name].split()) - ids.keys()
            faults += [f"<{element.tag} {name}> refers to {each}" for each in sorted(missing)]
        faults += [
            f"the script looks for {element.attributes[name]}"
            for name in element.attributes.keys() & SCRIPTED
            if element.attributes[name] and element.attributes[name] not in ids
        ]
        href = element.attributes.get("href", "")
        if element.tag == "a" and href.startswith("#") and href[1:] not in ids:
            faults.append(f"there is no {href}")
    return faults


def _controls(page: Markup) -> list[str]:
    """Faults of controls: each needs a name and a type, and each countdown an element that gives way at its end."""
    named = {element.attributes.get("for") for element in page.all("label") if element.text}
    counted, ending = (sum(name in each.attributes for each in page.elements) for name in ("data-seconds", "data-over"))
    faults = [] if counted <= ending else [f"{counted} times are counted down, and {ending} have an end"]
    if (focused := sum("autofocus" in each.attributes for each in page.elements)) > 1:
        faults.append(f"{focused} elements have the focus")
    for element in page.elements:
        attributes = element.attributes
        if element.tag in LABELLED and attributes.get("type") != "hidden":
            within = "label" in element.above
            if (
                not within
                and attributes.get("id") not in named
                and not {"aria-label", "aria-labelledby"} & attributes.keys()
            ):
                faults.append(f"<{element.tag} name={attributes.get('name')}> has no label")
        if element.tag in NAMED and not (
            element.text or attributes.get("aria-label") or attributes.get("aria-labelledby")
        ):
            faults.append(f"<{element.tag}> has no name")
        if element.tag == "button" and attributes.get("type") not in ("submit", "button", "reset"):
            faults.append(f"the button {element.text!r} has no type")
        if attributes.get("type") == "radio" and "fieldset" not in element.above:
            faults.append(f"the choice {attributes.get('name')} has no group")
        if element.tag == "th" and "scope" not in attributes:
            faults.append(f"the header {element.text!r} has no scope")
        if element.tag == "img" and "alt" not in attributes:
            faults.append("an image has no alt")
        if element.tag == "form" and attributes.get("method") not in ("get", "post"):
            faults.append("a form has no method")
    return faults
