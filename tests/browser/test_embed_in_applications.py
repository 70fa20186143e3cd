"""`/embed.js` on pages that change: slots, `placements.reload()`, the event, and boxes that leave the page."""

import pytest

from tests.acceptance.processes import Service
from tests.browser.conftest import Visit
from tests.browser.test_embed import LEFT, PAGE, SCRIPT, live, placement
from tests.browser.visitors import PLACEMENTS, Visitor

BOX = "document.querySelector('[data-placements]')"
HEARD = (
    "window.heard = []; addEventListener('placements:shown', "
    "({ target, detail, composed }) => heard.push([target.id, detail.number, detail.bookingIds, composed]))"
)
TWO = [placement(), placement(bookingId="bok_2", headline="Another", slotId="right-1", side="right")]


def titles(visitor: Visitor) -> list[str]:
    """The titles of all placements on the page."""
    return visitor.page.locator("[part=title]").all_text_contents()


def second(visitor: Visitor) -> None:
    """Let a second pass, once every observer of the page was notified."""
    visitor.looked("body")
    visitor.page.clock.run_for(1_000)
    visitor.settled()


def test_a_slot_shows_its_own_placement_with_a_side_and_without(node: Service, visit: Visit) -> None:
    first, other = live(node, "left")
    boxes = f'<div data-slot="{first["slotId"]}"></div><p data-placements data-slot="{other["slotId"]}"></p>'
    wrong = f'<div data-placements="right" data-slot="{first["slotId"]}"></div>'
    visitor = visit(f"<!doctype html>{boxes}{wrong}{SCRIPT}")
    visitor.filled()
    assert titles(visitor) == [first["headline"], other["headline"]]
    assert visitor.page.locator("[data-placements=right]").get_attribute("data-placed") == "0"
    assert visitor.asked(PLACEMENTS) == 1


def test_slots_that_mean_something_else_to_the_page_are_left_alone(visit: Visit) -> None:
    button = '<button data-slot="button">A</button><p data-slot=""></p><input data-slot="input">'
    visitor = visit(f"<!doctype html>{button}{LEFT}{SCRIPT}", before=HEARD, placements=TWO)
    visitor.filled()
    assert visitor.page.evaluate("document.querySelectorAll('[data-slot][data-placed]').length") == 0
    assert (
        visitor.page.evaluate("[...document.querySelectorAll('[data-slot]')].filter((e) => e.shadowRoot).length") == 0
    )
    assert len(visitor.page.evaluate("heard")) == 1


def test_each_box_tells_what_it_shows(visit: Visit) -> None:
    boxes = '<div id="a" data-placements></div><div id="b" data-placements="right" data-slot="none"></div>'
    visitor = visit(f"<!doctype html>{boxes}{SCRIPT}", before=HEARD, placements=TWO)
    visitor.filled()
    assert visitor.page.evaluate("heard") == [["a", 2, ["bok_1", "bok_2"], True], ["b", 0, [], True]]


def test_reload_draws_new_boxes_and_changed_ones_and_leaves_the_rest(visit: Visit) -> None:
    visitor = visit(f'<!doctype html><div id="a" data-placements="left"></div>{SCRIPT}', before=HEARD, placements=TWO)
    visitor.filled()
    visitor.page.evaluate("placements.reload()")
    assert visitor.asked(PLACEMENTS) == 1, "nothing has changed"
    card = visitor.page.evaluate_handle("a.shadowRoot.querySelector('li')")
    visitor.page.evaluate(
        "async () => { const box = document.createElement('aside'); box.id = 'b'; box.dataset.slot = 'right-1';"
        "document.body.append(box); await placements.reload() }"
    )
    assert titles(visitor) == ["A headline", "Another"]
    assert card.evaluate("(card) => card.isConnected"), "the first box was left as it was"
    visitor.page.evaluate("async () => { a.dataset.placements = 'right'; await placements.reload() }")
    assert titles(visitor) == ["Another", "Another"]
    assert visitor.page.evaluate("heard.map(([id, number]) => id + number)") == ["a1", "b1", "a1"]
    assert visitor.asked(PLACEMENTS) == 3


def test_a_box_whose_placements_are_gone_shows_its_own_content_again(visit: Visit) -> None:
    page = PAGE.replace(LEFT, '<div data-placements="left"><b>Be the first</b></div>')
    visitor = visit(page, placements=[placement()])
    visitor.filled()
    visitor.page.evaluate(f"async () => {{ {BOX}.dataset.placements = 'right'; await placements.reload() }}")
    assert visitor.page.get_by_text("Be the first").is_visible()
    assert visitor.page.locator("[data-placed='0']").count() == 1


def test_a_hundred_calls_are_at_most_two_requests_and_the_last_attributes_win(visit: Visit) -> None:
    visitor = visit(PAGE, placements=TWO)
    visitor.filled()
    visitor.page.evaluate(
        f"async () => {{ for (let n = 0; n < 100; n++) {{ {BOX}.dataset.placements = n % 2 ? 'right' : 'left';"
        f"{BOX}.dataset.label = n; placements.reload() }} }}"
    )
    visitor.page.get_by_role("list", name="99").wait_for()
    visitor.settled()
    assert titles(visitor) == ["Another"]
    assert visitor.asked(PLACEMENTS) - 1 in (2, 3), "the first draw, one or two for the calls, and one of this test"


def test_a_view_that_is_drawn_again_counts_no_second_impression(visit: Visit) -> None:
    visitor = visit(PAGE, frozen=True, placements=TWO)
    visitor.filled()
    second(visitor)
    assert visitor.events("impression") == ["bok_1"]
    for side in ("", "left", ""):
        visitor.page.evaluate(
            "async (side) => { document.querySelector('[data-placements]').remove();"
            "const box = document.createElement('div'); box.dataset.placements = side;"
            "document.body.prepend(box); await placements.reload() }",
            side,
        )
        second(visitor)
    assert visitor.events("impression") == ["bok_1", "bok_2"]


@pytest.mark.parametrize("change", [f"{BOX}.remove()", f"{BOX}.dataset.placements = 'right'; placements.reload()"])
def test_a_box_that_is_removed_or_emptied_stops_its_second(visit: Visit, change: str) -> None:
    visitor = visit(PAGE, frozen=True, placements=[placement()])
    visitor.filled()
    assert visitor.looked("li") == 1
    visitor.page.clock.run_for(999)
    visitor.page.evaluate(f"async () => {{ {change} }}")
    visitor.page.locator("li").wait_for(state="detached")
    visitor.page.clock.run_for(60_000)
    visitor.settled()
    assert visitor.sent == []


def test_a_failed_request_is_tried_again_by_the_next_call(visit: Visit) -> None:
    visitor = visit(PAGE, placements=503)
    visitor.page.locator("[data-placed='0']").wait_for(state="attached")
    visitor.settled()
    visitor.context.unroute_all()
    visitor.page.evaluate("placements.reload()")
    visitor.filled()


def test_a_preview_shows_placements_and_counts_nothing(visit: Visit) -> None:
    visitor = visit(PAGE.replace("async", "async data-preview"), frozen=True, placements=[placement()])
    visitor.filled()
    second(visitor)
    visitor.page.get_by_role("link").click()
    visitor.page.wait_for_url("https://x.example.com/")
    assert visitor.sent == []


def test_a_page_with_a_global_of_this_name_keeps_it_and_two_scripts_still_share_their_work(visit: Visit) -> None:
    visitor = visit(f"<!doctype html>{LEFT}<script>window.placements = [1]</script>{SCRIPT}{SCRIPT}", placements=TWO)
    visitor.filled()
    visitor.settled()
    assert visitor.page.evaluate("placements") == [1]
    assert titles(visitor) == ["A headline"]


def test_an_element_of_this_name_is_no_obstacle(visit: Visit) -> None:
    visitor = visit(PAGE.replace("<div", '<div id="placements"'), placements=TWO)
    visitor.filled()
    assert visitor.page.evaluate("typeof placements.reload") == "function"
