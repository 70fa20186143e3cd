"""A site owner finds the guide, copies the lines, and sees placements on a page of another origin."""

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.acceptance.processes import Service, until
from tests.browser.conftest import Meet, Visit
from tests.browser.looking import sticking_out
from tests.browser.test_embed import live
from tests.browser.walking import WAYS, counts, way_id


@pytest.mark.parametrize(("viewport", "scripts"), WAYS, ids=way_id)
def test_a_site_owner_goes_from_the_front_page_to_a_counted_impression(
    node: Service, meet: Meet, visit: Visit, viewport: ViewportSize, scripts: bool
) -> None:
    owner = meet(viewport=viewport, java_script_enabled=scripts)
    owner.opens("/")
    owner.follows("Show sponsors on your site")
    owner.reads("Show sponsors on your website")
    owner.page.get_by_label("Domain of your website (optional)", exact=True).fill("127.0.0.1")
    owner.page.get_by_label("Side", exact=True).select_option("right")
    owner.page.get_by_label("Ads at most", exact=True).select_option("1")
    owner.page.get_by_label("Label (optional)", exact=True).fill("Anzeige")
    owner.presses("Show the lines")
    lines = owner.page.locator("#snippet").inner_text()
    assert lines == (
        '<div data-placements="right" data-limit="1" data-label="Anzeige"></div>\n'
        f'<script async src="{node.url}/embed.js"></script>'
    )
    assert owner.screens == ["/", "/embed", "/embed"]
    expect(owner.page.get_by_role("button", name="Copy Lines for the page")).to_be_visible(visible=scripts)
    if scripts:
        expect(owner.page.get_by_role("list", name="Anzeige").get_by_role("listitem")).to_have_count(1)
        assert sticking_out(owner.page) == []

    light = owner.page.locator("#seen")
    shown = live(node, "right")[0]["bookingId"]
    seen, clicks = counts(node, shown)
    visitor = visit(f"<!doctype html><title>My site</title>{lines}", counted=True)
    visitor.filled()
    assert visitor.page.get_by_role("list", name="Anzeige").get_by_role("listitem").count() == 1
    until(lambda: counts(node, shown) == (seen + 1, clicks))
    if not scripts:
        owner.follows("Look again")
    expect(light).to_contain_text("It works We saw an impression from 127.0.0.1", timeout=10_000)
    assert owner.page.locator("#label").input_value() == "Anzeige", "the choice stays"
