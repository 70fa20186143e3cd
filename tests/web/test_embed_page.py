"""The guide for owners of websites, and the page of websites for administrators."""

import re
from pathlib import Path

import pytest

from service.web.pages.public.embed_guide import LOOKS, RULES, Choice, snippet_of
from tests.api.test_event_sites import BLOG, admitted, booked, counting, seen  # noqa: F401 - a fixture
from tests.api.world import World, open_world
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
    assert "&lt;div data-placements=&#34;left&#34;&gt;&lt;/div&gt;" in shown
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
