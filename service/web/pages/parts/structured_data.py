"""Pages as data of schema.org, in JSON-LD. Pure; `json_ld` makes it safe inside a page.

Texts of the catalog are copied as they are, never as markup. Links are given only where they are web addresses.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from actors.clock import SECOND_MS
from actors.shared.dates import LAST_SECOND
from service.web.pages.parts.words import moment
from service.web.static_files import static_url

Data = dict[str, Any]
HEADLINE_CHARACTERS = 110
"""The longest headline that search engines take."""

_UNSAFE = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


def json_ld(data: Mapping[str, Any]) -> Markup:
    """JSON for the inside of a script element: without `<`, `>` and `&`, so that no text can end it."""
    return Markup(json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE))


def website(base_url: str, site: str) -> Data:
    """The front page: the site by its name, and how to search it."""
    target = {"@type": "EntryPoint", "urlTemplate": f"{base_url}/usecases?q={{search_term_string}}"}
    search = {"@type": "SearchAction", "target": target, "query-input": "required name=search_term_string"}
    return _graph({"@type": "WebSite", "name": site, "url": f"{base_url}/", "potentialAction": search})


def listing(base_url: str, site: str, path: str, name: str, entries: Iterable[Mapping[str, Any]]) -> Data:
    """A list of entries, in its order."""
    items = [
        {"@type": "ListItem", "position": place, "url": f"{base_url}{path}/{entry['slug']}", "name": _name(entry)}
        for place, entry in enumerate(entries, start=1)
    ]
    listed = {"@type": "ItemList", "name": name, "url": f"{base_url}{path}", "itemListElement": items}
    return _graph(listed, _crumbs((site, f"{base_url}/"), (name, f"{base_url}{path}")))


def usecase(base_url: str, site: str, entry: Mapping[str, Any]) -> Data:
    """A use case as an article. Its guide, if it has steps, is a part of it."""
    above, url = f"{base_url}/usecases", f"{base_url}/usecases/{entry['slug']}"
    article = {
        "@type": "Article",
        "headline": entry["title"][:HEADLINE_CHARACTERS],
        "description": entry["roi"],
        "url": url,
        "mainEntityOfPage": url,
        "author": _person(entry),
        "publisher": _publisher(base_url, site),
        **_published(entry),
        **_link("isBasedOn", entry["sourceUrl"]),
    }
    guide = entry.get("guide")
    if guide and guide["steps"]:
        article["hasPart"] = _how_to(guide)
    return _graph(article, _crumbs((site, f"{base_url}/"), ("Use cases", above), (entry["title"], url)))


def bot(base_url: str, site: str, entry: Mapping[str, Any]) -> Data:
    """A bot template as an application."""
    above, url = f"{base_url}/bots", f"{base_url}/bots/{entry['slug']}"
    application = {
        "@type": "SoftwareApplication",
        "name": entry["name"],
        "description": entry["job"],
        "url": url,
        "author": _person(entry),
        **({"applicationCategory": entry["category"]} if entry.get("category") else {}),
        **_published(entry),
        **_link("installUrl", entry["templateUrl"]),
    }
    return _graph(application, _crumbs((site, f"{base_url}/"), ("Bot templates", above), (entry["name"], url)))


def _how_to(guide: Mapping[str, Any]) -> Data:
    steps = [
        {"@type": "HowToStep", "position": place, "text": step} for place, step in enumerate(guide["steps"], start=1)
    ]
    tools = [{"@type": "HowToTool", "name": platform} for platform in guide["platforms"]]
    how_to = {"@type": "HowTo", "name": guide["title"], "description": guide["opportunity"], "step": steps}
    return how_to | ({"tool": tools} if tools else {})


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry["title"] if "title" in entry else entry["name"])


def _person(entry: Mapping[str, Any]) -> Data:
    return {"@type": "Person", "name": entry["who"], "alternateName": entry["handle"]}


def _publisher(base_url: str, site: str) -> Data:
    return {"@type": "Organization", "name": site, "url": f"{base_url}/", "logo": f"{base_url}{static_url('icon.svg')}"}


def _published(entry: Mapping[str, Any]) -> Data:
    """When the entry was added and last changed, unless the calendar of clients does not reach it."""
    times = {"datePublished": entry["addedAt"], "dateModified": entry["updatedAt"]}
    return {name: moment(at_ms).iso for name, at_ms in times.items() if at_ms // SECOND_MS < LAST_SECOND}


def _link(name: str, url: str) -> Data:
    return {name: url} if url.startswith(("https://", "http://")) else {}


def _crumbs(*places: tuple[str, str]) -> Data:
    """The way to a page, from the front page."""
    items = [
        {"@type": "ListItem", "position": place, "name": name, "item": url}
        for place, (name, url) in enumerate(places, start=1)
    ]
    return {"@type": "BreadcrumbList", "itemListElement": items}


def _graph(*things: Data) -> Data:
    return {"@context": "https://schema.org", "@graph": list(things)}
