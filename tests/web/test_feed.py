"""The Atom feed: the newest entries of both lists, with the words of others escaped, and a 304 for those who have it."""

from datetime import datetime
from xml.etree import ElementTree

from actors.catalog.messages import Entry, Kind
from actors.catalog.store import Import
from actors.clock import DAY_MS
from service.schemas.fields import NEWEST_MS
from service.web.discovery.feed import NEWEST
from tests.api.conformity import BASE_URL
from tests.api.world import World
from tests.snapshots.entries import bot, guide_fields, usecase

ATOM = "{http://www.w3.org/2005/Atom}"
MARKUP = "\"R&D\" <script>alert('1')</script> ]]> Ü 🙂"


async def replaced(world: World, *entries: Entry) -> None:
    usecases = [entry for entry in entries if b'"title"' in entry.document]
    bots = [entry for entry in entries if entry not in usecases]
    await world.catalog_store.replace(Import({Kind.USECASES: usecases, Kind.BOTS: bots}, world.now_ms, prune=True))
    await world.settled()


async def read(world: World) -> ElementTree.Element:
    answer = await world.client.get("/feed.xml")
    assert (answer.status, answer.header("content-type")) == (200, "application/atom+xml; charset=utf-8")
    return ElementTree.fromstring(answer.body)


def text(element: ElementTree.Element, path: str) -> str:
    found = element.findall("/".join(f"{ATOM}{name}" for name in path.split("/")))
    assert len(found) == 1, path
    return found[0].text or ""


async def test_the_feed_has_the_newest_entries_of_both_lists_with_what_atom_asks_for(world: World) -> None:
    root = await read(world)
    entries = root.findall(f"{ATOM}entry")
    assert root.tag == f"{ATOM}feed"
    assert len(entries) == NEWEST
    assert text(root, "id") == f"{BASE_URL}/feed.xml"
    ids = [text(entry, "id") for entry in entries]
    assert len(set(ids)) == NEWEST
    assert {each.split("/")[3] for each in ids} == {"usecases", "bots"}
    times = [datetime.fromisoformat(text(entry, "published")) for entry in entries]
    assert times == sorted(times, reverse=True)
    assert text(root, "updated") == max(text(entry, "updated") for entry in entries)
    for entry in entries:
        assert text(entry, "title")
        assert text(entry, "author/name")
        assert entry.find(f"{ATOM}link[@rel='alternate']") is not None


async def test_the_words_of_others_are_text_in_the_feed(world: World) -> None:
    guide = guide_fields(category=MARKUP)
    await replaced(
        world, usecase("a", title=MARKUP, who=MARKUP, roi=MARKUP, guide=guide, sourceUrl="https://example.com/?a&b")
    )
    [entry] = (await read(world)).findall(f"{ATOM}entry")
    assert {text(entry, name) for name in ("title", "author/name", "summary")} == {MARKUP}
    category, related = entry.find(f"{ATOM}category"), entry.find(f"{ATOM}link[@rel='related']")
    assert category is not None
    assert related is not None
    assert (category.get("term"), related.get("href")) == (MARKUP, "https://example.com/?a&b")


async def test_a_client_that_has_the_feed_is_told_so_until_an_entry_changes(world: World) -> None:
    await replaced(world, bot("a"), bot("b"))
    first = (await world.client.get("/feed.xml")).header("etag") or ""
    assert (await world.client.get("/feed.xml", headers={"If-None-Match": first})).status == 304
    world.clock.at_ms += DAY_MS
    await replaced(world, bot("a", job="Another."), bot("b"))
    changed = await world.client.get("/feed.xml", headers={"If-None-Match": first})
    assert changed.status == 200
    root = ElementTree.fromstring(changed.body)
    assert text(root, "updated") == text(root.findall(f"{ATOM}entry")[0], "updated")


async def test_an_empty_catalog_and_one_beyond_the_calendar_have_a_feed(world: World) -> None:
    await replaced(world)
    assert text(await read(world), "updated") == "1970-01-01T00:00:00Z"
    await replaced(world, bot("far", addedAt=NEWEST_MS))
    assert text(await read(world), "entry/published") == "9999-12-31T23:59:59Z"


async def test_pages_that_are_indexed_name_the_feed(world: World) -> None:
    for path, named in (("/", True), ("/usecases", True), ("/bots/bot-01", True), ("/login", False)):
        page = await world.client.get(path)
        assert (b'href="/feed.xml"' in page.body) == named, path
