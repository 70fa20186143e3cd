"""`/feed.xml`: the newest entries of both lists, as an Atom feed (RFC 4287). Pure.

Texts of entries are the words of others: they are escaped, and never markup. Their models refuse what XML forbids.
"""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from actors.catalog.messages import Kind
from actors.shared.dates import calendar
from service.snapshots.catalog_entries import CatalogSnapshot, Item
from service.snapshots.etags import digest_of, etag_of
from service.web.representations import Published

PATH = "/feed.xml"
ATOM = "application/atom+xml; charset=utf-8"
TITLE = "New in the catalog"
NEWEST = 50
MAX_AGE_SECONDS = 300

_FORMAT = b"1"
"""Part of every ETag. Increase it when the form of the feed changes."""


def feed(base_url: str, snapshot: CatalogSnapshot) -> Published:
    """The feed. It is written only for clients that do not have it."""
    newest = sorted(_positions(snapshot), key=lambda each: (-each[0], each[1], each[2]))[:NEWEST]
    items = [(kind, item) for _, slug, kind in newest if (item := snapshot.item(kind, slug)) is not None]
    seed = b"\n".join((_FORMAT, base_url.encode(), *(item.etag.encode() for _, item in items)))
    body = partial(_written, base_url, items)
    return Published(body, ATOM, etag_of(digest_of(seed)), max_age_seconds=MAX_AGE_SECONDS)


def _positions(snapshot: CatalogSnapshot) -> Iterable[tuple[int, str, Kind]]:
    for kind, entries in snapshot.lists.items():
        for added_ms, slug in entries.positions(0, NEWEST):
            yield added_ms, slug, kind


def _written(base_url: str, items: Iterable[tuple[Kind, Item]]) -> bytes:
    entries = [(kind, json.loads(item.body)) for kind, item in items]
    # A feed has to have the time of its last change (RFC 4287, 4.1.1). One that is empty has not changed yet.
    updated = max((entry["updatedAt"] for _, entry in entries), default=0)
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n',
        f"<id>{escape(base_url)}{PATH}</id>\n<title>{TITLE}</title>\n<updated>{_time(updated)}</updated>\n",
        f'<link rel="self" type="application/atom+xml" href={quoteattr(base_url + PATH)}/>\n',
        f'<link rel="alternate" type="text/html" href={quoteattr(base_url + "/")}/>\n',
        *(_entry(base_url, kind, entry) for kind, entry in entries),
        "</feed>\n",
    ]
    return "".join(parts).encode()


def _entry(base_url: str, kind: Kind, entry: Mapping[str, Any]) -> str:
    usecase = kind is Kind.USECASES
    url = f"{base_url}/{kind}/{entry['slug']}"
    category = entry.get("guide", {}).get("category") if usecase else entry.get("category")
    lines = [
        f"<id>{escape(url)}</id>",
        f"<title>{escape(entry['title' if usecase else 'name'])}</title>",
        f"<published>{_time(entry['addedAt'])}</published>",
        f"<updated>{_time(entry['updatedAt'])}</updated>",
        f"<author><name>{escape(entry['who'])}</name></author>",
        f'<link rel="alternate" type="text/html" href={quoteattr(url)}/>',
        f'<link rel="related" href={quoteattr(entry["sourceUrl" if usecase else "templateUrl"])}/>',
        f"<category term={quoteattr(category)}/>" if category else "",
        f"<summary>{escape(entry['roi' if usecase else 'job'])}</summary>",
    ]
    return "<entry>\n" + "".join(f"{line}\n" for line in lines if line) + "</entry>\n"


def _time(moment_ms: int) -> str:
    """A time of RFC 3339; the last one of the calendar, if it is beyond."""
    return f"{calendar(moment_ms).replace(microsecond=0, tzinfo=None).isoformat()}Z"
