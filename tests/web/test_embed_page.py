"""The guide for owners of websites, and the page of websites for administrators."""

import re
from pathlib import Path

import pytest

from service.web.pages.public.embed_guide import LOOKS, RULES, Choice, snippet_of
from tests.api.events import BATCH, event, report, stock
from tests.api.sponsors import uuid
from tests.api.test_event_sites import BLOG, admitted, booked, counting, seen  # noqa: F401 - a fixture
from tests.api.world import World, away, open_world
from tests.snapshots.rows import booking
from tests.web.test_administration import boss
from tests.web.visitors import Visitor

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/embedding.md").read_text(encoding="utf-8")
STYLE = (ROOT / "service/web/static/style.css").read_text(encoding="utf-8")


async def text_of(world: World, path: str) -> str:
    answer = await Visitor(world).get(path)
    assert answer.status == 200, answer.body
    return answer.body.decode().replace("<wbr>", "")


async def test_the_page_shows_the_lines_of_the_document(world: World) -> None:
    shown = await text_of(world, "/embed")
    base_url = world.services.base_url
    assert "&lt;div data-placements=&#34;left&#34; data-limit=&#34;1&#34;&gt;&lt;/div&gt;" in shown
    assert "&lt;div data-placements=&#34;left&#34;&gt;&lt;/div&gt;" in await text_of(world, "/embed?limit=")
    assert f"&lt;script async src=&#34;{base_url}/embed.js&#34;&gt;&lt;/script&gt;" in shown
    assert f"script-src {base_url}; connect-src {base_url}" in shown
    assert snippet_of(Choice(), "https://HOST") in GUIDE
    for words in ("data-slot", "data-limit", "data-label", "data-preview", "reload()", "placements:shown"):
        assert words in GUIDE, words
        assert words in shown or words in ("data-slot", "data-limit", "data-label"), words


async def test_the_page_says_how_often_a_visitor_counts(world: World) -> None:
    assert "each counts once a day." in await text_of(world, "/embed")


async def test_the_form_changes_the_lines_without_a_script(world: World) -> None:
    shown = await text_of(world, "/embed?side=&slot=&limit=2&label=An%22zeige&look=square")
    assert "&lt;div data-placements data-limit=&#34;2&#34; data-label=&#34;An&amp;quot;zeige&#34;&gt;" in shown
    assert RULES["square"] in shown
    assert '<div class="preview square" data-placements="" data-limit="2" data-label="An&#34;zeige">' in shown


@pytest.mark.parametrize(
    "query", ["side=x&slot=x&limit=9&look=x&label=", "label=%3Cscript%3Ealert(1)%3C/script%3E", "side=%00"]
)
async def test_what_the_form_cannot_ask_for_changes_nothing_and_hurts_nobody(world: World, query: str) -> None:
    shown = await text_of(world, f"/embed?{query}")
    assert "<script>alert" not in shown
    assert "data-placements=&#34;left&#34;" in shown


def test_the_preview_looks_as_the_rule_in_the_snippet_does() -> None:
    assert RULES.keys() == LOOKS.keys()
    style = re.sub(r"\s+", " ", STYLE)
    for look, rule in RULES.items():
        assert not look or rule.replace("[data-placements]", f".preview.{look}").replace(" }", "; }") in style


async def test_the_pages_tell_whether_websites_are_counted(world: World) -> None:
    words = "for the host of your website by day"
    assert words in await text_of(world, "/embed")
    async with open_world(EVENTS__COUNT_SITES="false") as other:
        assert words not in await text_of(other, "/embed")
        assert "events.count_sites = true" in (await boss(other).look("/admin/sites")).text


async def test_administrators_see_websites_by_period_and_sponsors_those_of_their_booking(counting: World) -> None:  # noqa: F811
    person, _, booking_id = await booked(counting)
    await admitted(counting, booking_id=booking_id)
    assert await seen(counting, 1, BLOG, bookingId=booking_id) == "recorded"
    page = await boss(counting).look("/admin/sites")
    assert "blog.example.com" in page.text
    assert "All others" in page.text
    assert "33.3" in page.text
    assert "Nothing was counted on these days" in (await boss(counting).look("/admin/sites?to=2026-01-01")).text
    sponsor = Visitor(counting, counting.session("sponsor@example.com"))
    assert "blog.example.com" in (await sponsor.look(f"/sponsor/bookings/{booking_id}")).text
    assert person


# The light of a website.


async def light(world: World, site: str = "blog.example.com") -> str:
    """What the guide says about a website."""
    text = (await Visitor(world).look(f"/embed?site={site}")).text
    return (
        text[text.index("at the first event.") : text.index("Look again")].removeprefix("at the first event.").strip()
    )


@pytest.mark.parametrize(
    ("headers", "booking_id", "kind", "words"),
    [
        ({}, "a", "impression", "It works We saw an impression from blog.example.com 4 s ago."),
        ({}, "a", "click", "It works We saw a click from blog.example.com 4 s ago."),
        (
            {},
            "later",
            "impression",
            "Not counted We saw an impression from blog.example.com 4 s ago. It does not",
        ),
        ({"User-Agent": "PingdomBot"}, "a", "impression", "4 s ago. It does not count, because a crawler, monitor"),
        ({"Purpose": "prefetch"}, "a", "impression", "4 s ago. It does not count, because a browser loaded"),
    ],
)
async def test_the_light_tells_what_became_of_the_last_event(
    world: World, headers: dict[str, str], booking_id: str, kind: str, words: str
) -> None:
    await stock(world, booking("later", start=1))
    assert "Waiting We saw nothing from blog.example.com in the last 24 hours." in await light(world)
    await report(world, headers={"origin": BLOG, **headers}, bookingId=booking_id, kind=kind)
    world.clock.at_ms += 4_200
    assert words in await light(world)
    assert "Waiting" in await light(world, "other.example.com")


async def test_a_repeated_event_is_a_good_sign_and_a_batch_of_a_page_is_seen(world: World) -> None:
    await stock(world)
    for _ in range(2):
        await report(world, headers={"origin": BLOG})
    assert "It works" in await light(world)
    assert "This visitor had been counted today." in await light(world)
    await world.client.post(
        BATCH, headers={"origin": "https://two.example.com"}, json={"events": [event(visitorId=uuid(2))]}
    )
    assert "It works" in await light(world, "two.example.com")


async def test_the_light_knows_what_another_node_has_seen(world: World) -> None:
    await stock(world)
    async with open_world(world.memory, 2, world.clock) as other:
        await report(world, headers={"origin": BLOG})
        assert "Waiting" in await light(other)
        world.services.sites.wake()
        await world.settled()
        assert "It works" in await light(other)


@pytest.mark.parametrize(
    "site", ["localhost", "a..b", "a.example/x", "%3Cb%3E.example", "[::1]", "a.example:80", "%00", "-"]
)
async def test_what_is_no_host_is_refused_at_its_field(world: World, site: str) -> None:
    response = await Visitor(world).get(f"/embed?site={site}&limit=2")
    assert (response.status, response.header("cache-control")) == (400, "no-store")
    text = response.body.decode()
    assert "Write a domain such as blog.example.com." in text
    assert 'id="seen"' not in text
    assert "<b>" not in text


async def test_a_service_that_counts_no_websites_has_no_light() -> None:
    async with open_world(EVENTS__COUNT_SITES="false") as other:
        await stock(other)
        await report(other, headers={"origin": BLOG})
        assert 'id="site"' not in await text_of(other, "/embed?site=blog.example.com")
        assert not other.services.sites.sightings.waiting()


async def test_the_guide_stays_while_the_database_is_away(world: World) -> None:
    world.memory.before = away
    assert "Unknown We cannot look for blog.example.com right now." in await light(world)
