"""`/sitemap.xml` and its parts (sitemaps.org): all public pages and each entry of the catalog. Pure.

The file at the known address is an index. Parts of entries are counted from the oldest entry, so a new entry changes the last
part only. A part has at most `PART_URLS` addresses, far below the 50,000 that a sitemap may have, so rendering one is short.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial
from xml.sax.saxutils import escape

from actors.catalog.messages import Kind
from actors.times import DAY_MS
from service.snapshots.catalog_entries import CatalogList, CatalogSnapshot
from service.snapshots.etags import digest_of, etag_of
from service.web.representations import XML, Published

PART_URLS = 2_000
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
PAGES_PART = "pages"

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_EPOCH = date(1970, 1, 1).toordinal()
_LAST_MS = (date.max.toordinal() - _EPOCH) * DAY_MS
_FORMAT = b"2"
"""Part of every ETag. Increase it when the form of a part changes."""


@dataclass(frozen=True, slots=True)
class Sitemaps:
    """The sitemaps of a service at `base_url`, whose public pages are `paths`."""

    base_url: str
    paths: Sequence[str]

    def index(self, snapshot: CatalogSnapshot) -> Published:
        """The index: the part of pages, and those of each kind of entries with the day of their last change."""
        maps = [self._map(PAGES_PART, None)]
        for kind, entries in snapshot.lists.items():
            for number in range(1, _parts(entries) + 1):
                changed_ms = max(entries.updates(*_bounds(entries, number)))
                maps.append(self._map(f"{kind}-{number}", changed_ms))
        body = f'{_HEAD}<sitemapindex xmlns="{NAMESPACE}">\n{"".join(maps)}</sitemapindex>\n'
        return Published(body.encode(), XML)

    def part(self, snapshot: CatalogSnapshot, name: str) -> Published | None:
        """The part `name` of the index, such as `usecases-1`; None if there is none."""
        if name == PAGES_PART:
            return Published(_urls(f"<url><loc>{self._site}{path}</loc></url>\n" for path in self.paths), XML)
        for kind, entries in snapshot.lists.items():
            number = _number(name, kind)
            if 1 <= number <= _parts(entries):
                start, end = _bounds(entries, number)
                # The digests of the entries stand for their slugs and days, so a client that has the part costs no rendering.
                seed = b"\n".join((_FORMAT, self.base_url.encode(), entries.digests(start, end)))
                body = partial(self._entries, kind, entries, start, end)
                return Published(body, XML, etag_of(digest_of(seed)))
        return None

    def _map(self, name: str, changed_ms: int | None) -> str:
        return f"<sitemap><loc>{self._site}/sitemap-{name}.xml</loc>{_lastmod(changed_ms)}</sitemap>\n"

    def _entries(self, kind: Kind, entries: CatalogList, start: int, end: int) -> bytes:
        """Slugs are letters, digits and hyphens, and need no escaping."""
        place = f"<url><loc>{self._site}/{kind}/"
        rows = zip(entries.positions(start, end), entries.updates(start, end), strict=True)
        return _urls(f"{place}{slug}</loc>{_lastmod(changed_ms)}</url>\n" for (_, slug), changed_ms in rows)

    @property
    def _site(self) -> str:
        return escape(self.base_url)


def _urls(rows: Iterable[str]) -> bytes:
    return f'{_HEAD}<urlset xmlns="{NAMESPACE}">\n{"".join(rows)}</urlset>\n'.encode()


def _parts(entries: CatalogList) -> int:
    return -(-len(entries) // PART_URLS)


def _bounds(entries: CatalogList, number: int) -> tuple[int, int]:
    """The places of a part in the list, which begins with the newest entry. The last part may be shorter."""
    return max(0, len(entries) - number * PART_URLS), len(entries) - (number - 1) * PART_URLS


def _number(name: str, kind: Kind) -> int:
    """The number of a part of this kind in its only spelling; 0 if it is something else."""
    prefix, _, digits = name.rpartition("-")
    canonical = digits.isascii() and digits.isdigit() and len(digits) <= 9 and digits[0] != "0"
    return int(digits) if prefix == kind and canonical else 0


def _lastmod(changed_ms: int | None) -> str:
    """The day of the last change. Left out for pages, whose changes have no date, and beyond the calendar."""
    return "" if changed_ms is None or changed_ms > _LAST_MS else _lastmod_on(changed_ms // DAY_MS)


@lru_cache(4_096)
def _lastmod_on(day: int) -> str:
    """Cached, because many entries have the same day."""
    return f"<lastmod>{date.fromordinal(_EPOCH + day).isoformat()}</lastmod>"
