"""The catalog pages: lists, search, entries, and hostile entries."""

import json
import re
from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest

from actors.bookings.records import Side
from actors.catalog.messages import Entry, Kind
from actors.catalog.store import Import
from service.schemas.catalog import BotEntry, document_of
from service.schemas.fields import NEWEST_MS
from service.web.pages.public.catalog import PageAds
from tests.api.asgi import Response
from tests.api.sponsors import ADMIN, CAMPAIGN, THIS_WEEK, add_slot, administrator, sponsor
from tests.api.world import GUIDE, World, away
from tests.snapshots.rows import booking, slot
from tests.web.markup import Element, Markup, data_of, faults_of, parsed
from tests.web.visitors import Visitor

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></textarea></pre><h1>Other</h1>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; &amp;amp; &#60;script&#62;",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\U0001f469\u200d\U0001f680 \U0001f3f3\ufe0f\u200d\U0001f308",
    "javascript:alert(1)",
    "W" * 200,
)


async def look(world: World, path: str, status: int = 200) -> Markup:
    """Open a page and check its markup."""
    response = await Visitor(world).get(path)
    assert response.status == status, response.body
    return _sound(response)


def _sound(response: Response) -> Markup:
    html = response.body.decode()
    assert faults_of(html) == []
    return parsed(html)


def _chosen(page: Markup) -> list[str]:
    """The categories that are chosen."""
    return [
        each.text for each in page.all("a") if each.attributes.get("aria-current") == "true" and "main" in each.above
    ]


def _hrefs(page: Markup, start: str = "") -> list[str]:
    return [each.attributes["href"] for each in page.all("a") if each.attributes["href"].startswith(start)]


# Lists.


@pytest.mark.parametrize(("path", "total"), [("/usecases", 45), ("/bots", 23)])
async def test_a_list_is_walked_from_page_to_page_and_gives_each_entry_once(
    world: World, path: str, total: int
) -> None:
    slugs: list[str] = []
    following: str | None = path
    while following is not None:
        page = await look(world, following)
        slugs += [href.rpartition("/")[2] for href in _hrefs(page, f"{path}/")]
        links = [each for each in page.all("a") if each.attributes.get("rel") == "next"]
        following = links[0].attributes["href"] if links else None
    assert len(slugs) == len(set(slugs)) == total
    assert f"to {total} of {total}" in page.text


async def test_a_list_is_walked_back_and_says_where_it_is(world: World) -> None:
    addresses, said, titles = ["/usecases"], [], []
    while True:
        page = await look(world, addresses[-1])
        said.append(page.all("nav")[-1].text)
        titles.append(page.all("title")[0].text)
        previous = [each.attributes["href"] for each in page.all("a") if each.attributes.get("rel") == "prev"]
        assert previous == addresses[-2:-1]
        onward = [each.attributes["href"] for each in page.all("a") if each.attributes.get("rel") == "next"]
        if not onward:
            break
        addresses += onward
    places = ("1 to 12", "13 to 24", "25 to 36", "37 to 45")
    assert said == [f"Previous {place} of 45 Next" for place in places]
    assert titles[0] == "Use cases - Catalog"
    assert titles[1:] == [f"{place} of 45 - Use cases - Catalog" for place in places[1:]]


async def test_a_search_shows_the_best_matches_and_keeps_the_words(world: World) -> None:
    page = await look(world, "/usecases?q=zebra")
    assert sorted(_hrefs(page, "/usecases/")) == ["/usecases/case-04", "/usecases/case-30"]
    [field] = page.all("input")
    assert (field.attributes["value"], field.attributes["type"]) == ("zebra", "search")
    assert page.all("h2")[0].text == "2 use cases for zebra"
    assert "Best matches first" in page.text
    assert "Pages" not in [each.attributes["aria-label"] for each in page.all("nav")], "a search has no pages"


@pytest.mark.parametrize("q", ["nothing-like-it", *HOSTILE])
async def test_a_search_without_matches_says_so_and_shows_the_words_as_text(world: World, q: str) -> None:
    page = await look(world, f"/usecases?q={quote(q)}")
    assert page.all("input")[0].attributes["value"] == q
    assert page.all("h2")[0].text == f"No use cases for {' '.join(q.split())}"
    assert "No entry has these words" in page.text
    assert "Browse all 45 use cases" in page.text
    assert (page.scripts, len(page.all("img"))) == ([], 1)


async def test_a_search_that_was_relaxed_says_so(world: World) -> None:
    page = await look(world, "/usecases?q=zebra+submarine")
    assert sorted(_hrefs(page, "/usecases/")) == ["/usecases/case-04", "/usecases/case-30"]
    assert "No entry has all of these words. These have the most of them, or similar words." in page.text
    assert "No entry has all" not in (await look(world, "/usecases?q=zebra")).text


async def test_a_list_is_filtered_by_category_and_walked_within_it(world: World) -> None:
    page = await look(world, "/usecases?category=finance&q=")
    assert _hrefs(page, "/usecases/") == ["/usecases/case-04"]
    assert _chosen(page) == ["Finance 1"]
    assert page.all("h2")[0].text == "1 use case in Finance"
    assert "/bots?category=Finance" in _hrefs(page), "the other list has the category, too"
    page = await look(world, "/bots?category=Finance")
    [following] = [each.attributes["href"] for each in page.all("a") if each.attributes.get("rel") == "next"]
    last = await look(world, following)
    assert len({*_hrefs(page, "/bots/"), *_hrefs(last, "/bots/")}) == 23
    assert "13 to 23 of 23" in last.text
    assert "/bots?category=Finance" in _hrefs(last)


async def test_the_largest_categories_are_shown_and_the_rest_is_one_step_away(world: World) -> None:
    for number in range(12):
        await world.add(f"topic-{number}", guide=GUIDE | {"category": f"Topic {number:02}"})
    await world.add("topic-12", guide=GUIDE | {"category": "Topic 11"})
    page = await look(world, "/usecases?category=Topic+10")
    first, rest = [each for each in page.all("ul") if each.attributes.get("class", "").startswith("chips")]
    assert first.text.startswith("All 58 Topic 11 2 Finance 1 Topic 00 1")
    assert _chosen(page) == ["Topic 10 1"], "the chosen one is among those"
    assert rest.text == "Topic 06 1 Topic 07 1 Topic 08 1 Topic 09 1"
    [more] = [each for each in page.all("details") if "main" in each.above]
    assert "open" not in more.attributes
    page = await look(world, "/usecases?categories=all")
    assert "open" in next(each for each in page.all("details") if "main" in each.above).attributes


async def test_a_search_within_a_category_keeps_both(world: World) -> None:
    page = await look(world, "/usecases?q=zebra&category=Finance")
    assert _hrefs(page, "/usecases/") == ["/usecases/case-04"]
    assert page.all("h2")[0].text == "1 use case for zebra in Finance"
    assert _chosen(page) == ["Finance"]


async def test_a_search_leads_to_the_same_search_in_the_other_list(world: World) -> None:
    page = await look(world, "/usecases?q=receipts")
    assert "/bots?q=receipts" in _hrefs(page)
    assert "See 23 bot templates" in page.text


@pytest.mark.parametrize("category", ["nothing-like-it", *HOSTILE])
async def test_an_unknown_category_is_said_to_be_empty_and_shown_as_text(world: World, category: str) -> None:
    page = await look(world, f"/usecases?category={quote(category)}")
    assert "There are no use cases in this category." in page.text
    assert page.all("h2")[0].text == f"No use cases in {' '.join(category.split())}"
    assert (page.scripts, len(page.all("img"))) == ([], 1)


@pytest.mark.parametrize("q", ["", "%20%20", "+"])
async def test_an_empty_search_is_the_list(world: World, q: str) -> None:
    assert len(_hrefs(await look(world, f"/bots?q={q}"), "/bots/")) == 12


@pytest.mark.parametrize(
    "query",
    ["cursor=no-cursor", "cursor=%00", f"cursor={'x' * 2_001}", f"q={'x' * 201}", "q=a%00b", f"category={'x' * 201}"],
)
@pytest.mark.parametrize("path", ["/usecases", "/bots"])
async def test_what_a_list_does_not_take_is_said_above_the_search(world: World, path: str, query: str) -> None:
    response = await Visitor(world).get(f"{path}?{query}")
    assert (response.status, response.header("cache-control")) == (400, "no-store")
    page = _sound(response)
    [problem] = [each for each in page.elements if each.attributes.get("id") == "problem"]
    assert problem.text.startswith("This list cannot be shown. ")
    assert not re.search(r"cursor|`|must|\bq\b", problem.text), "nothing of the validator"
    assert _hrefs(page, f"{path}/") == []
    assert path in _hrefs(page)


async def test_lists_and_entries_are_there_without_the_database_and_a_failed_search_says_what_is_wrong(
    world: World,
) -> None:
    person = Visitor(world, world.session("ann@example.com"))
    world.memory.before = world.catalog_memory.before = away
    for path in ("/", "/usecases", "/bots", "/usecases/case-04", "/bots/bot-00"):
        await look(world, path)
        # The session cannot be looked up, so the page is shown as to anybody.
        assert (await person.get(path)).status == 200
    world.searching.before = away
    response = await Visitor(world).get("/usecases?q=anything")
    assert response.header("retry-after") == "1"
    assert "You can try again in a second" in _sound(response).text


async def test_an_empty_catalog_says_that_it_is_empty(world: World) -> None:
    await world.catalog_store.replace(Import({Kind.USECASES: [], Kind.BOTS: []}, world.now_ms, prune=True))
    await world.pass_seconds(2)
    home, usecases = await look(world, "/"), await look(world, "/usecases")
    assert "The catalog is empty" in home.text
    assert "0 use cases" not in home.text
    assert "There are no use cases here yet." in usecases.text
    assert usecases.all("input") == [], "an empty list has no search"
    assert "There are no bot templates here yet." in (await look(world, "/bots")).text


# Entries.


async def test_a_use_case_shows_all_that_it_has(world: World) -> None:
    page = await look(world, "/usecases/case-04")
    words = [value for value in GUIDE.values() if isinstance(value, str)]
    for each in (
        *words,
        "mail",
        "Begin",
        "Go on",
        "500",
        "a month",
        "A creator's report",
        "A person",
        "@person",
        "18 November",
    ):
        assert each in page.text
    assert "An illustration: a creator reports this, and we have not checked it." in page.text
    assert "It is no promise of earnings." in page.text
    assert "/bots/bot-00" in _hrefs(page)
    assert "#prompt" in _hrefs(page)
    [source] = [each for each in page.all("a") if each.attributes["href"].startswith("https:")]
    assert source.attributes == {
        "class": "button",
        "href": "https://example.com/case-04",
        "rel": "ugc nofollow noopener",
    }


async def test_a_value_that_nobody_reported_is_an_illustration(world: World) -> None:
    value = {"amount": "500", "label": "a month", "basis": "An assumption", "kind": "illustrative"}
    await world.add("assumed", guide=GUIDE | {"value": value})
    text = (await look(world, "/usecases/assumed")).text
    assert "An illustration: it follows from assumptions, and nobody has measured it." in text
    assert "reports" not in text
    assert "It is no promise of earnings." in text


async def test_a_use_case_leads_to_others_also_where_it_has_no_guide(world: World) -> None:
    page = await look(world, "/usecases/case-05")
    assert "There is no guide to this one yet." in page.text
    others = set(_hrefs(page, "/usecases/"))
    assert len(others) == 4
    assert "/usecases/case-05" not in others
    [source] = [each.attributes for each in page.all("a") if each.text == "Read the source"]
    assert source["class"] == "button main", "without a prompt, the source is what people came for"
    await world.add("second", guide=GUIDE)
    page = await look(world, "/usecases/case-04")
    assert "Related use cases" in page.text
    assert "/usecases/second" in _hrefs(page, "/usecases/")


async def test_a_guide_links_the_bots_that_are_there_and_names_the_others(world: World) -> None:
    await world.add("linked", guide=GUIDE | {"botSlugs": ["bot-01", "no-bot", "bot-01"], "platforms": [], "steps": []})
    page = await look(world, "/usecases/linked")
    assert _hrefs(page, "/bots/")[0] == "/bots/bot-01"
    assert len(set(_hrefs(page, "/bots/"))) == 4, "others of its category follow"
    assert "The guide also names no-bot, which the catalog does not have." in page.text


async def test_a_bot_shows_all_that_it_has(world: World) -> None:
    page = await look(world, "/bots/bot-00")
    for each in ("Bot bot-00", "Finance", "A person", "@person", "Sorts receipts", "18 November"):
        assert each in page.text
    [template] = [each for each in page.all("a") if each.attributes["href"].startswith("https:")]
    assert template.attributes == {
        "class": "button main",
        "href": "https://example.com/bot-00",
        "rel": "ugc nofollow noopener",
    }
    assert "/usecases/case-04" in _hrefs(page), "a use case of its category"


@pytest.mark.parametrize("words", HOSTILE)
async def test_what_people_wrote_is_text_on_every_page_of_the_catalog(world: World, words: str) -> None:
    value = {"amount": words, "label": words, "basis": words, "kind": "reported"}
    texts = dict.fromkeys(("title", "category", "opportunity", "audience", "prompt"), words)
    guide = texts | {"platforms": [words], "botSlugs": ["hostile"], "steps": [words], "value": value}
    await world.add("hostile", world.now_ms + 1, title=words, who=words, handle=words, roi=words, guide=guide)
    await _add_bot(world, "hostile", name=words, category=words, who=words, handle=words, job=words)
    shown = " ".join(words.split())
    for path, times in {"/usecases/hostile": 15, "/bots/hostile": 5, "/usecases": 5, "/bots": 5, "/": 8}.items():
        page = await look(world, path)
        assert page.text.count(shown) >= times - 1, path
        assert len(page.all("img")) == 1
        assert page.scripts == []
        assert len(page.all("h1")) == 1
        if path != "/":
            assert shown in " ".join(json.dumps(data_of(page.html), ensure_ascii=False).replace('\\"', '"').split())


async def test_a_long_word_and_a_far_day_break_nothing(world: World) -> None:
    guide = GUIDE | {"prompt": "w" * 10_000, "opportunity": "w" * 2_000}
    await world.add("long", NEWEST_MS, title="W" * 200, guide=guide)
    page = await look(world, "/usecases/long")
    assert "w" * 10_000 in page.text
    assert "31 December 9999" in page.text


async def _add_bot(world: World, slug: str, **fields: Any) -> None:
    entry = BotEntry(slug=slug, templateUrl=f"https://example.com/{slug}", addedAt=world.now_ms + 1, **fields)
    await world.catalog_store.replace(
        Import({Kind.BOTS: [Entry(slug, world.now_ms + 1, document_of(entry))]}, world.now_ms)
    )
    await world.settled()


# The front page.


async def test_without_placements_the_front_page_has_no_frame_for_them_and_no_script(world: World) -> None:
    page = await look(world, "/")
    assert page.all("aside") == []
    assert "/embed.js" not in [each.attributes["src"] for each in page.scripts]


async def test_the_front_page_shows_a_request_with_the_beginning_of_its_true_answer(world: World) -> None:
    page = await look(world, "/")
    request, answer = [each for each in page.all("pre") if "section" in each.above][:2]
    assert request.text == f"curl '{world.services.base_url}/api/v1/usecases?limit=1'"
    told = "".join(answer.words[answer.first : answer.last]).removesuffix(",\n      ...")
    [entry] = (await world.client.get("/api/v1/usecases?limit=1")).json["data"]
    [shown] = json.loads(told + "}]}")["data"]
    assert [*shown] == ["slug", "title", "who", "handle", "roi"]
    assert all(entry[name].startswith(value.removesuffix("…")) for name, value in shown.items())
    assert max(map(len, shown.values())) <= 26, "each line fits a phone"


async def test_the_front_page_leads_to_a_key_through_the_sign_in_if_needed(world: World) -> None:
    person = Visitor(world, world.session("ann@example.com"))
    for visitor, address in ((Visitor(world), "/sign-in?next=%2Fdashboard"), (person, "/dashboard")):
        page = parsed((await visitor.get("/")).body.decode())
        [key] = [each.attributes for each in page.all("a") if each.text == "Get an API key"]
        assert (key["class"], key["href"]) == ("button main", address)
        assert f"{world.config.tiers.claimed.monthly:,} requests a month" in page.text


@pytest.mark.parametrize("words", ["Ship your first agent", *(each[:24] for each in HOSTILE)])
async def test_the_front_page_shows_what_sponsors_have_paid_for_also_without_a_script(world: World, words: str) -> None:
    add_slot(world)
    person = sponsor(world)
    await person.profile()
    campaign = await person.campaign(headline=words, body=words, cta=words)
    await administrator(world).post(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "approve"})
    booking = await person.booking(campaign, week=THIS_WEEK)
    await person.pay(booking["id"])
    await world.pass_seconds(2)
    page = await look(world, "/")
    [side] = page.all("aside")
    assert side.attributes["aria-label"] == "Sponsored, left"
    assert "Example Tools" in side.text
    assert side.text.count(" ".join(words.split())) == 3
    own, link = [each for each in page.all("a") if "aside" in each.above]
    assert (own.text, own.attributes["href"]) == ("Your ad here", "/advertise")
    assert link.attributes == {"dir": "auto", "href": CAMPAIGN["targetUrl"], "rel": "sponsored noopener nofollow"}
    assert "/embed.js" in [each.attributes["src"] for each in page.scripts]
    within, beside = [each for each in page.elements if "data-placement-booking" in each.attributes]
    assert within["data-placement-booking"] == beside["data-placement-booking"] == booking["id"]
    assert ("aside" in within.above, "aside" in beside.above) == (False, True)
    assert "Example Tools, sponsored" in within.text
    for path in ("/usecases", "/bots", "/usecases/case-04", "/bots/bot-00", "/usecases?q=nothing-like-it"):
        assert "Example Tools" in (await look(world, path)).one("aside").text


async def test_each_side_of_a_page_shows_its_own_ads_in_turns_and_narrow_windows_the_same_ones_among_the_cards(
    world: World,
) -> None:
    left = [slot(f"left-{number}") for number in range(5)]
    rows = [booking(f"l{number}", f"left-{number}") for number in range(5)]
    right = slot("right-1", side=Side.RIGHT)
    world.sponsorship_store.keep(*left, *rows, right, booking("r0", "right-1"))
    await world.settled()
    shown = Counter[str]()
    for path in ("/", "/usecases", "/bots", "/usecases/case-04", "/bots/bot-00"):
        response = await Visitor(world).get(path)
        assert (response.header("cache-control"), response.header("etag")) == ("no-cache", None), (
            "no cache stops the turns"
        )
        page = _sound(response)
        sides = {
            each["aria-label"]: [ad["data-placement-booking"] for ad in _ads(page) if each in ad.around]
            for each in page.all("aside")
        }
        assert sides.keys() == {"Sponsored, left", "Sponsored, right"}
        assert sides["Sponsored, right"] == ["r0"]
        shown.update(sides["Sponsored, left"])
        within = [ad["data-placement-booking"] for ad in _ads(page) if "aside" not in ad.above]
        assert sorted(within) == sorted([*sides["Sponsored, left"], "r0"])
    assert shown == {f"l{number}": 3 for number in range(5)}, "three of five on each of five page views"
    page = await look(world, "/usecases")
    listed = [each["class"] for each in page.all("li") if each.get("class") in ("card", "creative")]
    assert listed[:7] == ["card", "card", "card", "creative", "card", "card", "creative"]


def _ads(page: Markup) -> list[Element]:
    return [each for each in page.elements if "data-placement-booking" in each]


@pytest.mark.parametrize(
    ("lists", "among"),
    [
        (("abc",), ["lrLR"]),
        (("abc", "a"), ["lL", "rR"]),
        (("", "a"), ["", "lrLR"]),
        (("a", ""), ["lrLR", ""]),
        (("", ""), ["lrLR", ""]),
    ],
)
def test_within_lists_ads_of_the_right_have_the_second_list_or_take_turns_with_those_of_the_left(
    lists: tuple[str, ...], among: list[str]
) -> None:
    ads = PageAds(*([{"is": each} for each in side] for side in ("lL", "rR")))
    given = ads.among(*([{"slug": each} for each in entries] for entries in lists))
    assert ["".join(each["is"] for each in some) for some in given] == among
