"""`/embed.js` and boxes that are odd: elements that cannot show anything, attributes, texts and answers of any kind."""

import pytest

from tests.browser.conftest import Visit
from tests.browser.test_embed import LEFT, PAGE, SCRIPT, placement
from tests.browser.visitors import PLACEMENTS, Visitor

GOOD = '<div id="good" data-placements="left"></div>'
SHADOWS = (
    "customElements.define('own-open', class extends HTMLElement { constructor() { super();"
    "this.attachShadow({ mode: 'open' }).innerHTML = '<i>mine</i>' } });"
    "customElements.define('own-closed', class extends HTMLElement { constructor() { super();"
    "this.attachShadow({ mode: 'closed' }).innerHTML = '<i>mine</i>' } });"
    "customElements.define('own-none', class extends HTMLElement { static disabledFeatures = ['shadow'] });"
    "customElements.define('own-throws', class extends HTMLElement { attachShadow() { throw new Error('no') } })"
)
BAD_BOXES = (
    '<a data-placements="left" href="#x">A link</a>',
    '<img data-placements="left" alt="">',
    '<input data-placements="left">',
    '<video data-placements="left"></video>',
    '<iframe data-placements="left"></iframe>',
    '<button data-placements="left">A button</button>',
    '<ul data-placements="left"></ul>',
    '<table><tr data-placements="left"></tr></table>',
    '<svg data-placements="left"></svg>',
    '<math data-placements="left"></math>',
    '<own-open data-placements="left"></own-open>',
    '<own-closed data-placements="left"></own-closed>',
    '<own-none data-placements="left"></own-none>',
    '<own-throws data-placements="left"></own-throws>',
    '<div data-placements="left"><template shadowrootmode="closed"><i>mine</i></template></div>',
)
GOOD_BOXES = (
    "<article data-placements='left'></article>",
    "<not-defined data-placements='left'></not-defined>",
    "<div data-placements='left'><template shadowrootmode='open'><i>mine</i></template></div>",
    "<p data-placements='left'></p>",
    "<h2 data-placements='left'></h2>",
)
ARABIC = placement(
    bookingId="bok_ar",
    headline="دفتر البستان.",
    body="لكل شجرة رقم وسنة.",
    cta="اقرأ المزيد.",
    sponsorName="شركة المثال",
    logoText="بس",
)
WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbau"
WRONG: tuple[object, ...] = (
    None,
    7,
    "text",
    [],
    {},
    placement(headline=None),
    placement(headline=7),
    placement(bookingId={"a": 1}),
    placement(body=["x"]),
    placement(logoText=True),
    {name: value for name, value in placement().items() if name != "cta"},
    {name: value for name, value in placement().items() if name != "sponsorName"},
)


def cards_of(visitor: Visitor, selector: str) -> int:
    """The number of cards in a box."""
    return visitor.page.locator(selector).get_by_role("listitem").count()


@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_a_box_that_cannot_show_anything_harms_no_other(visit: Visit, first: bool) -> None:
    bad = "".join(BAD_BOXES)
    boxes = bad + GOOD if first else GOOD + bad
    visitor = visit(
        f"<!doctype html><script>{SHADOWS}</script>{boxes}{SCRIPT}", placements=[placement(headline="Unique")]
    )
    visitor.page.locator("#good[data-placed='1']").wait_for()
    assert cards_of(visitor, "#good") == 1
    assert visitor.page.get_by_text("Unique").count() == 1
    marks = "[...document.querySelectorAll('[data-placements]:not(#good)')].map((box) => box.dataset.placed)"
    assert visitor.page.evaluate(marks) == ["0"] * len(BAD_BOXES)
    assert visitor.page.get_by_text("mine").count() >= 1, "a shadow root of the page's own is left alone"
    visitor.page.evaluate("placements.reload()")
    assert visitor.asked(PLACEMENTS) == 1, "a box that cannot show anything is not tried again"


@pytest.mark.parametrize("box", GOOD_BOXES)
def test_any_element_that_can_have_a_shadow_root_is_a_box(visit: Visit, box: str) -> None:
    visitor = visit(f"<!doctype html>{box}{SCRIPT}", placements=[placement()])
    visitor.filled()
    assert cards_of(visitor, "[data-placements]") == 1


def test_a_box_without_data_attributes_of_its_own_harms_no_other(visit: Visit) -> None:
    add = (
        "const odd = document.createElementNS('urn:odd', 'odd'); odd.setAttribute('data-placements', 'left');"
        "document.body.prepend(odd)"
    )
    visitor = visit(f"<!doctype html><body>{GOOD}<script>{add}</script>{SCRIPT}", placements=[placement()])
    visitor.filled()
    visitor.page.evaluate("placements.reload()")
    assert visitor.asked(PLACEMENTS) == 1


@pytest.mark.parametrize(
    ("limit", "number"),
    [
        ("2", 2),
        (" 2 ", 2),
        ("2.5", 2),
        ("0", 0),
        ("1e9", 5),
        ("9" * 400, 5),
        ("Infinity", 5),
        ("", 5),
        (" ", 5),
        ("-1", 5),
        ("-0.5", 5),
        ("NaN", 5),
        ("two", 5),
        ("2 ads", 5),
        ("null", 5),
    ],
)
def test_a_limit_that_is_no_number_of_at_least_zero_has_no_effect(visit: Visit, limit: str, number: int) -> None:
    visitor = visit(
        f'<!doctype html><div data-placements data-limit="{limit}"></div>{SCRIPT}',
        placements=[placement(bookingId=f"bok_{each}") for each in range(5)],
    )
    visitor.page.locator(f"[data-placed='{number}']").wait_for(state="attached")
    assert cards_of(visitor, "[data-placements]") == number


@pytest.mark.parametrize(
    "answer",
    [
        "null",
        "[]",
        "[1, 2]",
        "7",
        '"text"',
        "{}",
        '{"placements": "left"}',
        '{"placements": {"length": 1}}',
        "<!doctype html><title>Sign in</title>",
        '{"placements": [',
        "\ufeff",
        "",
    ],
)
def test_an_answer_that_is_not_ours_leaves_the_page_as_it_is(visit: Visit, answer: str) -> None:
    visitor = visit(PAGE.replace(LEFT, f"{LEFT[:-6]}Be the first</div>"), placements=answer)
    box = visitor.page.locator("[data-placed='0']")
    box.wait_for(state="attached")
    visitor.settled()
    assert box.evaluate("(box) => box.shadowRoot") is None
    assert visitor.page.get_by_text("Be the first").is_visible()
    assert visitor.sent == []


def test_an_entry_that_is_not_ours_is_left_out(visit: Visit) -> None:
    visitor = visit(PAGE, frozen=True, placements=[*WRONG, placement(), *WRONG])
    visitor.filled()
    assert cards_of(visitor, "[data-placements]") == 1
    visitor.looked("li")
    visitor.page.clock.run_for(1_000)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]


def test_five_hundred_boxes_take_one_request_and_a_placement_in_all_of_them_counts_once(visit: Visit) -> None:
    visitor = visit(f"<!doctype html>{LEFT * 500}{SCRIPT}", frozen=True, placements=[placement(), *WRONG])
    visitor.filled()
    assert visitor.page.locator("[data-placed='1']").count() == 500
    assert visitor.asked(PLACEMENTS) == 1
    visitor.looked("li")
    visitor.page.clock.run_for(2_000)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]


def test_boxes_that_go_while_they_load_count_nothing_and_throw_nothing(visit: Visit) -> None:
    leave = (
        "const own = fetch; window.fetch = async (...each) => { const answer = await own(...each);"
        "document.querySelectorAll('.goes').forEach((box) => box.remove());"
        "document.querySelector('.changes').removeAttribute('data-placements'); return answer }"
    )
    boxes = '<div class="goes" data-placements></div><div class="changes" data-placements></div>'
    visitor = visit(
        f"<!doctype html>{boxes * 2}{GOOD}{SCRIPT}",
        before=f"window.told = []; addEventListener('placements:shown', (e) => told.push(e.target.id)); {leave}",
        frozen=True,
        placements=[placement(), placement(bookingId="bok_2", side="right")],
    )
    visitor.page.locator("#good[data-placed='1']").wait_for()
    visitor.looked("#good li")
    visitor.page.clock.run_for(5_000)
    visitor.settled()
    assert "bok_1" in visitor.events("impression")
    assert len(visitor.sent) == len({(event["bookingId"], event["kind"]) for event in visitor.sent})


def test_a_listener_that_throws_stops_no_other_box(visit: Visit) -> None:
    throws = "addEventListener('placements:shown', () => { throw new Error('of the page') })"
    visitor = visit(f"<!doctype html><script>{throws}</script>{LEFT}{LEFT}{SCRIPT}", placements=[placement()])
    visitor.filled()
    assert visitor.page.locator("[data-placed='1']").count() == 2
    assert visitor.errors == ["of the page"] * 2
    visitor.errors.clear()


# Texts.


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_each_text_has_its_own_direction_and_the_card_that_of_the_page(visit: Visit, direction: str) -> None:
    page = PAGE.replace("<title>", f'<html dir="{direction}"><title>')
    visitor = visit(page, placements=[placement(), ARABIC])
    visitor.filled()
    for index, wanted in enumerate(("ltr", "rtl")):
        card = visitor.page.locator("li").nth(index)
        directions = "(card) => [...card.querySelectorAll('[part]')].map((each) => getComputedStyle(each).direction)"
        assert card.evaluate(directions) == [wanted] * 5
        assert card.evaluate("(card) => getComputedStyle(card).direction") == direction
        logo, sponsor = (card.locator(f"[part={part}]").bounding_box() for part in ("logo", "sponsor"))
        assert logo is not None
        assert sponsor is not None
        left, right = (logo, sponsor) if direction == "ltr" else (sponsor, logo)
        assert right["x"] - (left["x"] + left["width"]) > 4, "the logo stands beside the name, with a gap"
    stop = (
        "(title) => { const range = document.createRange(); const text = title.firstChild;"
        "range.setStart(text, text.length - 1); range.setEnd(text, text.length);"
        "return range.getBoundingClientRect().left < title.getBoundingClientRect().right - 40 }"
    )
    assert visitor.page.locator("li").nth(1).locator("[part=title]").evaluate(stop), "the full stop ends the line"


@pytest.mark.parametrize("parent", ["", "display: flex", "display: grid", "overflow: hidden"])
def test_a_long_word_fits_a_narrow_column_and_the_card_counts(visit: Visit, parent: str) -> None:
    box = f'<div style="width: 200px; {parent}"><div data-placements data-label="{WORD}"></div></div>'
    names = ("headline", "body", "cta", "logoText", "sponsorName")
    visitor = visit(f"<!doctype html>{box}{SCRIPT}", frozen=True, placements=[placement(**dict.fromkeys(names, WORD))])
    visitor.filled()
    for part in ("card", "label", "logo", "sponsor", "title", "body", "cta"):
        shape = visitor.page.locator(f"[part={part}]").bounding_box()
        assert shape is not None
        assert shape["width"] <= 200, part
    assert visitor.looked("li") == 1
    visitor.page.clock.run_for(1_000)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]
