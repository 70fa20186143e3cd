"""The sitemap: its form, its parts, and that it names every public page once."""

import re
from xml.etree import ElementTree

import pytest

from actors.catalog.messages import Entry, Kind
from actors.clock import DAY_MS
from service.api.operations import OPERATIONS
from service.schemas.fields import NEWEST_MS
from service.snapshots.catalog_entries import CatalogSnapshot
from service.web.discovery.sitemaps import NAMESPACE, PART_URLS, Sitemaps
from tests.api.conformity import BASE_URL
from tests.api.world import NOON_MS, World
from tests.snapshots.entries import snapshot_of
from tests.web.markup import card_of
from tests.web.visitors import Visitor

LARGEST_BYTES = 50 * 1024 * 1024
MAPS = Sitemaps(BASE_URL, ["/", "/usecases"])
NO_PARTS = (
    *(
        "usecases",
        "usecases-0",
        "usecases-01",
        "usecases-2",
        "usecases--1",
        "usecases-1.0",
        "usecases-\u0661",
        "keys-1",
    ),
    *(
        "",
        "-1",
        "usecases-" + "9" * 5_000,
        "pages-1",
        "Pages",
        "usecases-1 ",
        "../usecases-1",
        "usecases-1.xml.gz",
        "%00",
    ),
)


def rows_of(body: bytes, kind: str) -> list[tuple[str, str | None]]:
    """The address and day of each row of a sitemap (`url`) or of an index (`sitemap`), after a check of its form."""
    assert len(body) <= LARGEST_BYTES
    assert body.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n')
    root = ElementTree.fromstring(body)
    assert root.tag == f"{{{NAMESPACE}}}{'urlset' if kind == 'url' else 'sitemapindex'}"
    assert root.attrib == {}
    assert 0 < len(root) <= 50_000
    rows = []
    for row in root:
        assert row.tag == f"{{{NAMESPACE}}}{kind}"
        names = [child.tag.removeprefix(f"{{{NAMESPACE}}}") for child in row]
        assert names in (["loc"], ["loc", "lastmod"])
        loc, day = row[0].text or "", row[1].text if len(row) == 2 else None
        assert loc.startswith(f"{BASE_URL}/")
        assert len(loc) < 2_048
        assert day is None or re.fullmatch(r"\d{4}-\d\d-\d\d", day)
        rows.append((loc, day))
    assert len(dict(rows)) == len(rows)
    return rows


def entry(number: int) -> Entry:
    """One entry a day."""
    at_ms = NOON_MS + number * DAY_MS
    return Entry(f"case-{number}", at_ms, b'{"slug":"case-%d"}' % number, at_ms)


def answered(snapshot: CatalogSnapshot, name: str) -> tuple[bytes, str]:
    """The body and ETag of a part."""
    part = MAPS.part(snapshot, name)
    assert part is not None
    answer = part.answer({})
    return answer.body, dict(answer.headers)["etag"]


async def test_the_sitemap_names_each_public_page_once_and_each_says_that_it_is_listed(world: World) -> None:
    index = await world.client.get("/sitemap.xml")
    assert index.header("content-type") == "application/xml; charset=utf-8"
    addresses = []
    for part, _ in rows_of(index.body, "sitemap"):
        response = await world.client.get(part.removeprefix(BASE_URL))
        assert (response.status, response.header("content-type")) == (200, "application/xml; charset=utf-8")
        addresses += [address for address, _ in rows_of(response.body, "url")]
    assert len(addresses) == len(set(addresses))
    slugs = {
        kind: [row["slug"] for row in (await world.client.get(f"/api/v1/{kind}?limit=100")).json["data"]]
        for kind in Kind
    }
    assert {kind: len(found) for kind, found in slugs.items()} == {"usecases": 45, "bots": 23}
    entries = [f"{BASE_URL}/{kind}/{slug}" for kind, found in slugs.items() for slug in found]
    pages = ("/", "/usecases", "/bots", "/advertise", "/claim", "/embed", "/docs", "/docs/scoped-keys")
    operations = {f"{BASE_URL}/docs/{operation.name}" for operation in OPERATIONS}
    assert operations | set(entries) <= set(addresses)
    assert {f"{BASE_URL}{page}" for page in pages} <= set(addresses)
    # Of entries and operations, which have a template each, some are read.
    for number, address in enumerate(addresses):
        if number % 30 == 0 or address not in operations | set(entries):
            response = await Visitor(world).get(address.removeprefix(BASE_URL))
            assert response.status == 200
            assert card_of(response.body.decode())["canonical"] == address


async def test_a_part_is_sent_again_only_when_its_entries_changed(world: World) -> None:
    for path in ("/sitemap.xml", "/sitemap-usecases-1.xml"):
        first = await world.client.get(path)
        assert first.header("cache-control") == "public, max-age=3600"
        seen = {"If-None-Match": first.header("etag") or ""}
        again = await world.client.get(path, headers=seen)
        assert (again.status, again.body) == (304, b"")
        world.clock.at_ms += DAY_MS
        await world.add(f"new-{len(path)}", NOON_MS + DAY_MS + len(path) * DAY_MS)
        assert (await world.client.get(path, headers=seen)).status == 200
    untouched = await world.client.get("/sitemap-bots-1.xml")
    await world.add("newest")
    assert (await world.client.get("/sitemap-bots-1.xml")).header("etag") == untouched.header("etag")


@pytest.mark.parametrize("name", NO_PARTS)
async def test_there_is_no_other_part(world: World, name: str) -> None:
    assert MAPS.part(world.services.catalog.snapshot, name) is None
    path = f"/sitemap-{name}.xml"
    if "/" not in name:
        assert (await world.client.get(path.encode().decode("latin-1"))).status == 404


async def test_parts_count_as_pages_for_the_limit_of_an_address(world: World) -> None:
    limit = world.services.config.pages.per_minute
    statuses = [(await world.client.get("/sitemap-pages.xml")).status for _ in range(limit + 1)]
    assert statuses == [200] * limit + [429]
    assert (await world.client.get("/sitemap.xml")).status == 200


@pytest.mark.parametrize("total", [0, 1, PART_URLS, PART_URLS + 1])
def test_parts_hold_all_entries_and_a_new_entry_changes_the_last_one_alone(total: int) -> None:
    before = snapshot_of(Kind.USECASES, map(entry, range(total)))
    after = snapshot_of(Kind.USECASES, map(entry, range(total + 1)))
    names = [name for name, _ in _parts(before)]
    assert len(names) == -(-total // PART_URLS)
    rows = [row for name in names for row in rows_of(answered(before, name)[0], "url")]
    assert sorted(address.rpartition("/")[2] for address, _ in rows) == sorted(
        f"case-{number}" for number in range(total)
    )
    full = total // PART_URLS
    for name in names[:full]:
        assert answered(after, name) == answered(before, name)
    for name in names[full:]:
        assert answered(after, name)[1] != answered(before, name)[1]


def _parts(snapshot: CatalogSnapshot) -> list[tuple[str, str]]:
    """The parts of use cases in the index, each with the day of its last change, which is that of its rows."""
    body = MAPS.index(snapshot).answer({}).body
    found = []
    for address, day in rows_of(body, "sitemap"):
        name = address.removeprefix(f"{BASE_URL}/sitemap-").removesuffix(".xml")
        if name != "pages":
            days = [row[1] or "" for row in rows_of(answered(snapshot, name)[0], "url")]
            assert day == max(days)
            found.append((name, day))
    return found


def test_a_day_beyond_the_calendar_is_left_out() -> None:
    snapshot = snapshot_of(Kind.USECASES, [Entry("far", NEWEST_MS, b"{}", NEWEST_MS), Entry("first", 0, b"{}", 1)])
    assert rows_of(answered(snapshot, "usecases-1")[0], "url") == [
        (f"{BASE_URL}/usecases/far", None),
        (f"{BASE_URL}/usecases/first", "1970-01-01"),
    ]


def test_an_address_of_the_service_is_text_in_xml() -> None:
    body = Sitemaps("https://a&b<c", ["/"]).index(CatalogSnapshot()).answer({}).body
    assert [loc.text for loc in ElementTree.fromstring(body).iter(f"{{{NAMESPACE}}}loc")] == [
        "https://a&b<c/sitemap-pages.xml"
    ]
