"""`/embed.js` in a real browser, on a page of another origin: what it shows, what counts, and what is never sent."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.processes import Service, until
from tests.browser.conftest import Visit
from tests.browser.visitors import EVENTS, PLACEMENTS, Visitor
from tests.browser.walking import counts
from tests.slow import smoke

SCRIPT = '<script async src="https://HOST/embed.js"></script>'
LEFT = '<div data-placements="left"></div>'
PAGE = f"<!doctype html><title>A site</title>{LEFT}{SCRIPT}"
LOW = f'<!doctype html><title>A long page</title><div style="height: 3000px"></div>{LEFT}{SCRIPT}'
GUIDE = (Path(__file__).resolve().parents[2] / "docs/embedding.md").read_text(encoding="utf-8")

HIDEABLE = "window.away = false; Object.defineProperty(document, 'hidden', { get: () => window.away })"


def live(node: Service, side: str) -> list[dict[str, Any]]:
    """The placements of a side."""
    placements = node.get(PLACEMENTS).json()["placements"]
    return [each for each in placements if each["side"] == side]


def placement(**fields: object) -> dict[str, object]:
    """A placement as another service might answer it."""
    usual = {
        "headline": "A headline",
        "body": "A body.",
        "cta": "Go",
        "targetUrl": "https://x.example.com/",
        "logoText": "X",
    }
    return {
        **usual,
        "bookingId": "bok_1",
        "sponsorName": "X",
        "side": "left",
        "demo": False,
        "slotId": "left-1",
        **fields,
    }


def scrolled_to(visitor: Visitor, share: float) -> None:
    """Scroll this share of the first card into view, and wait until the page has noticed."""
    visitor.page.evaluate(
        "(share) => { const card = document.querySelector('[data-placements]').shadowRoot.querySelector('li')"
        ".getBoundingClientRect(); scrollBy(0, card.top + share * card.height - innerHeight) }",
        share,
    )
    assert abs(visitor.looked("li") - share) < 0.02


def turned(visitor: Visitor, *, away: bool) -> None:
    """Hide the page, as a tab in front of it does, or show it again."""
    visitor.page.evaluate(
        "(away) => { window.away = away; document.dispatchEvent(new Event('visibilitychange', { bubbles: true })) }",
        away,
    )


# What is shown.


def test_a_side_is_a_labelled_list_of_links(node: Service, visit: Visit) -> None:
    visitor = visit(PAGE)
    [box] = visitor.filled().all()
    placements = live(node, "left")
    cards = box.get_by_role("list", name="Sponsored").get_by_role("listitem").all()
    assert len(cards) == len(placements) == 2
    for card, shown in zip(cards, placements, strict=True):
        link = card.get_by_role("link", name=shown["headline"], exact=True)
        assert link.get_attribute("href") == shown["targetUrl"]
        assert link.get_attribute("rel") == "sponsored noopener nofollow"
        assert link.get_attribute("target") is None
        texts = [shown["logoText"], f"{shown['sponsorName']} (Sample)", shown["headline"], shown["body"], shown["cta"]]
        assert card.locator("[part]").all_text_contents() == texts


def test_attributes_choose_side_number_and_label(node: Service, visit: Visit) -> None:
    boxes = '<div data-placements="right" data-limit="1" data-label="Anzeige"></div><div data-placements></div>'
    visitor = visit(f"<!doctype html>{boxes}{SCRIPT}")
    right, both = visitor.filled().all()
    assert (right.get_attribute("data-placed"), both.get_attribute("data-placed")) == ("1", "5")
    [title] = right.get_by_role("list", name="Anzeige").get_by_role("link").all_text_contents()
    assert title == live(node, "right")[0]["headline"]
    assert visitor.asked(PLACEMENTS) == 1


def test_a_real_placement_is_not_called_a_sample(visit: Visit) -> None:
    visitor = visit(PAGE, placements=[placement(sponsorName="Example Tools")])
    assert visitor.filled().locator("[part=sponsor]").all_text_contents() == ["Example Tools"]


def test_what_a_sponsor_writes_is_text_and_never_markup(visit: Visit) -> None:
    hostile = ["<img src=x onerror='window.hacked = 1'>", "<script>window.hacked = 1</script>", "&lt;b&gt;", "</style>"]
    names = ("headline", "body", "cta", "logoText", "sponsorName")
    visitor = visit(PAGE, placements=[placement(**dict.fromkeys(names, text)) for text in hostile])
    cards = visitor.filled().get_by_role("listitem").all()
    assert [card.locator("[part]").all_text_contents() for card in cards] == [[text] * len(names) for text in hostile]
    assert visitor.page.locator("li :not([part])").count() == 0
    assert visitor.page.evaluate("window.hacked") is None


def test_a_target_that_is_no_web_address_is_not_linked(visit: Visit) -> None:
    targets = [
        "javascript:window.hacked=1",
        " JaVaScRiPt:window.hacked=1",
        "data:text/html,x",
        "//x.example.com/",
        "",
        None,
    ]
    visitor = visit(PAGE, placements=[placement(targetUrl=target) for target in targets])
    titles = visitor.filled().locator("[part=title]").all()
    assert [title.get_attribute("href") for title in titles] == [None] * len(targets)
    for title in titles:
        title.click()
    visitor.settled()
    assert visitor.events("click") == []
    assert visitor.page.evaluate("window.hacked") is None


@pytest.mark.parametrize("answer", [False, 503, "no JSON", '{"placements": null}', []], ids=str)
def test_without_placements_there_is_no_box(visit: Visit, answer: object) -> None:
    visitor = visit(PAGE, placements=answer)
    box = visitor.page.locator("[data-placed='0']")
    box.wait_for(state="attached")
    visitor.settled()
    assert box.evaluate("(box) => [box.shadowRoot, box.offsetHeight]") == [None, 0]
    assert visitor.sent == []


@pytest.mark.parametrize(("placements", "visible"), [([], True), ([placement()], False)], ids=["none", "one"])
def test_what_stands_in_the_box_is_for_when_there_is_no_placement(
    visit: Visit, placements: list[object], visible: bool
) -> None:
    page = PAGE.replace(LEFT, '<div data-placements="left"><b>Be the first</b></div>')
    visitor = visit(page, placements=placements)
    visitor.page.locator(f"[data-placed='{len(placements)}']").wait_for()
    assert visitor.page.get_by_text("Be the first").is_visible() == visible


def test_a_second_script_doubles_nothing(visit: Visit) -> None:
    visitor = visit(f"<!doctype html>{LEFT}{SCRIPT}{SCRIPT}", frozen=True)
    visitor.filled()
    visitor.looked("li")
    visitor.page.clock.run_for(5_000)
    visitor.settled()
    assert len(visitor.events("impression")) == len(set(visitor.events("impression"))) == 2
    assert visitor.page.get_by_role("listitem").count() == 2
    assert visitor.asked(PLACEMENTS) == 2, "one for the box, and one of this test"


def test_a_box_that_is_added_later_is_filled_by_another_script_element(node: Service, visit: Visit) -> None:
    visitor = visit(PAGE)
    visitor.filled()
    visitor.page.evaluate(
        "(source) => { const box = document.createElement('aside'); box.dataset.placements = 'right';"
        "const script = document.createElement('script'); script.src = source; document.body.append(box, script) }",
        f"{node.url}/embed.js",
    )
    visitor.page.locator("aside[data-placed='3']").wait_for()
    assert visitor.page.locator("div[data-placements]").get_by_role("listitem").count() == 2


def test_the_script_leaves_one_global(visit: Visit) -> None:
    names = "Object.getOwnPropertyNames(window).sort()"
    visitor = visit(f"<!doctype html>{LEFT}<script>window.before = []; before = {names}</script>{SCRIPT}")
    visitor.filled()
    assert visitor.page.evaluate(f"{names}.filter((name) => !before.includes(name))") == ["placements"]
    assert visitor.page.evaluate("typeof api + typeof send + typeof load") == "undefined" * 3


# Strict pages.


def test_the_documented_policy_is_enough_also_on_a_page_that_is_isolated(node: Service, visit: Visit) -> None:
    [policy] = re.findall(r"^Content-Security-Policy: (script-src .*)$", GUIDE, re.MULTILINE)
    headers = {
        "content-security-policy": "default-src 'none'; require-trusted-types-for 'script'; "
        + policy.replace("https://HOST", node.url),
        "cross-origin-embedder-policy": "require-corp",
        "cross-origin-opener-policy": "same-origin",
    }
    before = "window.violations = []; addEventListener('securitypolicyviolation', (e) => violations.push(e.blockedURI))"
    visitor = visit(PAGE, headers, before=before, frozen=True)
    visitor.filled()
    assert visitor.page.evaluate("crossOriginIsolated")
    assert visitor.page.locator("li").first.evaluate("(card) => getComputedStyle(card).borderTopStyle") == "solid"
    visitor.looked("li")
    visitor.page.clock.run_for(1_000)
    visitor.settled()
    assert len(visitor.events("impression")) == 2
    assert visitor.page.evaluate("violations") == []


def test_a_site_can_style_the_parts(visit: Visit) -> None:
    rule = "<style>[data-placements]::part(title) { color: rgb(1, 2, 3) } a { color: red } li { border: 9px solid }</style>"
    visitor = visit(f"<!doctype html>{rule}{LEFT}{SCRIPT}")
    visitor.filled()
    title, card = visitor.page.locator("[part=title]").first, visitor.page.locator("li").first
    assert title.evaluate("(title) => getComputedStyle(title).color") == "rgb(1, 2, 3)"
    assert card.evaluate("(card) => getComputedStyle(card).borderTopWidth") == "1px"


def test_the_example_of_the_guide_works_as_it_stands(node: Service, visit: Visit) -> None:
    [example] = re.findall(r"^```html\n(<!doctype html>.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    boxes = visit(example).filled()
    boxes.nth(1).wait_for()
    assert boxes.get_by_role("listitem").count() == len(live(node, "left") + live(node, "right"))


# What counts.


@smoke
def test_a_visit_counts_one_impression_and_a_reload_none(node: Service, visit: Visit) -> None:
    first, second = (each["bookingId"] for each in live(node, "left"))
    before = counts(node, first), counts(node, second)
    visitor = visit(PAGE, counted=True)
    answered: list[str] = []
    visitor.page.on("response", lambda response: answered.append(response.url))

    def after(number: int) -> None:
        while answered.count(f"{node.url}{EVENTS}?unit=day") < number:
            visitor.page.wait_for_event("response")

    after(2)
    [(seen, clicks), (seen_too, clicks_too)] = before
    once = (seen + 1, clicks), (seen_too + 1, clicks_too)
    assert (counts(node, first), counts(node, second)) == once
    visitor.page.reload()
    after(4)
    assert (counts(node, first), counts(node, second)) == once
    assert sorted(visitor.events("impression")) == sorted([first, second] * 2)
    assert len({event["visitorId"] for event in visitor.sent}) == 2, "each page has an id of its own"


@smoke
def test_a_click_counts_once_though_it_leaves_the_page(node: Service, visit: Visit) -> None:
    shown = live(node, "left")[0]
    seen, clicks = counts(node, shown["bookingId"])
    visitor = visit(PAGE, counted=True, frozen=True)
    for _ in range(2):
        visitor.filled().get_by_role("link", name=shown["headline"]).click()
        visitor.page.wait_for_url(shown["targetUrl"])
        until(lambda: counts(node, shown["bookingId"]) == (seen, clicks + 1))
        visitor.page.go_back()
    assert visitor.events("click")[0] == shown["bookingId"]
    assert visitor.events("impression") == []


def test_the_middle_button_and_the_keyboard_click_too_and_the_right_button_does_not(
    node: Service, visit: Visit
) -> None:
    visitor = visit(PAGE)
    first, second = visitor.filled().get_by_role("link").all()
    first.click(button="right")
    visitor.settled()
    assert visitor.events("click") == []
    with visitor.context.expect_event("request", visitor.is_event):
        first.click(button="middle")
    visitor.settled()
    second.focus()
    with visitor.context.expect_event("request", visitor.is_event):
        second.press("Enter")
    assert visitor.events("click") == [each["bookingId"] for each in live(node, "left")]


def test_the_whole_card_is_the_link(node: Service, visit: Visit) -> None:
    visitor = visit(PAGE)
    visitor.filled().get_by_text(live(node, "left")[0]["cta"], exact=True).click(force=True)
    visitor.page.wait_for_url(live(node, "left")[0]["targetUrl"])
    assert visitor.events("click") == [live(node, "left")[0]["bookingId"]]


# What was seen.


def test_what_stays_below_the_fold_is_not_seen_until_somebody_scrolls_there(node: Service, visit: Visit) -> None:
    visitor = visit(LOW, frozen=True)
    visitor.filled()
    assert visitor.looked("li") == 0
    visitor.page.clock.run_for(60_000)
    visitor.settled()
    assert visitor.sent == []
    visitor.page.locator("[data-placements]").scroll_into_view_if_needed()
    assert visitor.looked("li") == 1
    visitor.page.clock.run_for(1_000)
    visitor.settled()
    assert set(visitor.events("impression")) == {each["bookingId"] for each in live(node, "left")}


def test_half_of_a_placement_has_to_be_in_view(visit: Visit) -> None:
    visitor = visit(LOW, frozen=True, placements=[placement()])
    visitor.filled()
    scrolled_to(visitor, 0.4)
    visitor.page.clock.run_for(5_000)
    visitor.settled()
    assert visitor.sent == []
    scrolled_to(visitor, 0.6)
    visitor.page.clock.run_for(1_000)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]


def test_less_than_a_second_on_end_does_not_count(visit: Visit) -> None:
    visitor = visit(LOW, frozen=True, placements=[placement()])
    visitor.filled()
    for left in (0.4, 0):
        scrolled_to(visitor, 1)
        visitor.page.clock.run_for(999)
        scrolled_to(visitor, left)
        visitor.page.clock.run_for(5_000)
    visitor.settled()
    assert visitor.sent == []
    scrolled_to(visitor, 1)
    visitor.page.clock.run_for(1_000)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]


def test_a_placement_is_seen_once_a_page(visit: Visit) -> None:
    visitor = visit(LOW.replace(LEFT, LEFT + LEFT), frozen=True, placements=[placement()])
    visitor.filled()
    for _ in range(3):
        scrolled_to(visitor, 0)
        visitor.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        assert visitor.looked("li") == 1
        visitor.page.clock.run_for(2_000)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]


def test_a_page_in_the_background_is_not_seen_and_the_second_begins_anew(visit: Visit) -> None:
    visitor = visit(PAGE, before=HIDEABLE, frozen=True, placements=[placement()])
    visitor.filled()
    assert visitor.looked("li") == 1
    visitor.page.clock.run_for(999)
    turned(visitor, away=True)
    visitor.page.clock.run_for(60_000)
    turned(visitor, away=False)
    visitor.page.clock.run_for(999)
    visitor.settled()
    assert visitor.sent == []
    visitor.page.clock.run_for(1)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]


def test_a_page_that_begins_hidden_sends_nothing_before_it_is_shown(visit: Visit) -> None:
    """Like a background tab or a prerendered page."""
    visitor = visit(PAGE, before=f"{HIDEABLE}; window.away = true", frozen=True, placements=[placement()])
    visitor.filled()
    assert visitor.looked("li") == 1
    visitor.page.clock.run_for(60_000)
    visitor.settled()
    assert visitor.sent == []
    turned(visitor, away=False)
    visitor.page.clock.run_for(1_000)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]
