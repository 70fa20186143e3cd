"""What `/embed.js` reports: which visitor, how it is sent, what is kept on the device, and when nothing is sent."""

import re

import pytest
from playwright.sync_api import Browser

from tests.acceptance.processes import Service, until
from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.browser.test_embed import LOW, PAGE, live, placement, scrolled_to
from tests.browser.visitors import EVENTS, Visitor, new_context
from tests.browser.walking import counts

DEVICE = PAGE.replace("async", 'async data-visitor="device"')
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}")
KEPT = "C489A346-a657-4d6c-8b28-e7f292ffd690"
REFUSED_STORAGE = (
    "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } })"
)
WISHES = {
    "Do Not Track": "Object.defineProperty(navigator, 'doNotTrack', { get: () => '1' })",
    "Global Privacy Control": "Object.defineProperty(navigator, 'globalPrivacyControl', { get: () => true })",
    "an automated browser": "Object.defineProperty(navigator, 'webdriver', { get: () => true })",
}
STORED = """async () => [
    localStorage.length, sessionStorage.length, document.cookie.length, (await indexedDB.databases()).length,
    (await caches.keys()).length, (await navigator.storage.estimate()).usage]"""

WATCHED = "window.fetches = []; const own = fetch; window.fetch = (...each) => (fetches.push(each[1]), own(...each))"
POSTS = "own = fetch; window.fetch = (url, options) => options.method ? %s : own(url, options)"
BEACONS = "window.beacons = []; navigator.sendBeacon = (url, text) => (beacons.push(url + ' ' + text), true)"
NO_KEEPALIVE = "delete Request.prototype.keepalive"
THROWS = f"const {POSTS % '(() => { throw new TypeError() })()'}"
REJECTS_KEEPALIVE = f"const {POSTS % '(options.keepalive ? Promise.reject(new TypeError()) : own(url, options))'}"
REJECTS = f"window.tries = 0; const {POSTS % '(tries++, Promise.reject(new TypeError()))'}"


def visitor_of(visitor: Visitor) -> str:
    """The single visitor id of a page's two impressions."""
    seen_for_a_second(visitor)
    assert len(visitor.sent) == 2
    [sent] = {str(event["visitorId"]) for event in visitor.sent}
    return sent


def seen_for_a_second(visitor: Visitor) -> None:
    """Let a second pass over the page, and wait until all requests are reported."""
    visitor.filled()
    visitor.looked("li")
    visitor.page.clock.run_for(1_000)
    visitor.settled()


# The visitor.


def test_by_default_each_page_has_a_visitor_of_its_own_and_nothing_is_stored(node: Service, visit: Visit) -> None:
    visitor = visit(PAGE, before=f"localStorage.placementVisitor = '{KEPT}'; localStorage.clear()", frozen=True)
    first = visitor_of(visitor)
    assert UUID.fullmatch(first)
    assert {request.url for request in visitor.requests if visitor.is_event(request)} == {
        f"{node.url}{EVENTS}?unit=day"
    }
    visitor.sent.clear()
    visitor.page.reload()
    assert visitor_of(visitor) != first
    visitor.page.get_by_role("link").first.click(button="middle")
    visitor.settled()
    assert visitor.events("click")


def test_nothing_is_on_the_device_after_a_visit(browser: Browser, node: Service, site: Site) -> None:
    """`localhost` is a secure context, which alone has caches."""
    site.pages["/"] = PAGE.replace("https://HOST", node.url)
    visitor = Visitor(browser, node, site, frozen=True)
    visitor.page.goto(f"{site.url}/")
    visitor_of(visitor)
    assert visitor.page.evaluate(STORED) == [0] * 6
    assert visitor.context.cookies() == []
    assert visitor.context.storage_state(indexed_db=True) == {"cookies": [], "origins": []}
    visitor.leave()


def test_an_id_that_the_device_kept_is_not_read_by_default(visit: Visit) -> None:
    assert visitor_of(visit(PAGE, before=f"localStorage.placementVisitor = '{KEPT}'", frozen=True)) != KEPT


def test_by_device_an_id_is_stored_with_the_first_event_and_used_again(node: Service, visit: Visit) -> None:
    visitor = visit(LOW.replace("async", 'async data-visitor="device"'))
    visitor.filled()
    assert visitor.page.evaluate("localStorage.length") == 0
    scrolled_to(visitor, 1)
    with visitor.page.expect_request(visitor.is_event) as sent:
        pass
    assert sent.value.url == f"{node.url}{EVENTS}"
    assert visitor.page.evaluate("Object.entries(localStorage)") == [["placementVisitor", visitor.sent[0]["visitorId"]]]
    assert visitor.context.cookies() == []


def test_an_id_of_the_device_is_used(visit: Visit) -> None:
    assert visitor_of(visit(DEVICE, before=f"localStorage.placementVisitor = '{KEPT}'", frozen=True)) == KEPT


@pytest.mark.parametrize("kept", ["somebody", "", "c489a346-a657-4d6c-8b28-e7f292ffd69", "<script>", "0" * 9_000])
def test_an_id_of_the_device_that_is_none_is_replaced(visit: Visit, kept: str) -> None:
    visitor = visit(DEVICE, before=f"localStorage.placementVisitor = '{kept}'", frozen=True)
    sent = visitor_of(visitor)
    assert UUID.fullmatch(sent)
    assert visitor.page.evaluate("localStorage.placementVisitor") == sent


def test_where_storage_is_refused_the_id_lives_as_long_as_the_page(visit: Visit) -> None:
    visitor = visit(DEVICE, before=REFUSED_STORAGE, frozen=True)
    first = visitor_of(visitor)
    assert UUID.fullmatch(first)
    visitor.sent.clear()
    visitor.page.reload()
    assert visitor_of(visitor) != first


@pytest.mark.parametrize("page", [PAGE, DEVICE], ids=["day", "device"])
@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
def test_some_browsers_show_placements_and_send_and_store_nothing(visit: Visit, wish: str, page: str) -> None:
    visitor = visit(page, before=wish, frozen=True)
    seen_for_a_second(visitor)
    assert visitor.page.evaluate("localStorage.length") == 0
    visitor.page.get_by_role("link").first.click()
    visitor.page.wait_for_url("https://*.example.com/**")
    assert visitor.sent == []


def test_a_browser_under_control_says_so_unless_these_tests_hide_it(visit: Visit) -> None:
    assert visit(PAGE).page.evaluate("navigator.webdriver") is False


# How it is sent.


def test_an_event_needs_no_preflight_outlives_its_page_and_carries_no_more_than_it_says(
    node: Service, site: Site, visit: Visit
) -> None:
    visitor = visit(PAGE, before=WATCHED, frozen=True)
    visitor_of(visitor)
    sent = [request for request in visitor.requests if visitor.is_event(request)]
    assert [(each.method, each.resource_type) for each in sent] == [("POST", "fetch")] * 2
    assert all(set(event) == {"bookingId", "kind", "visitorId"} for event in visitor.sent)
    assert all(each.headers["content-type"] == "text/plain;charset=UTF-8" for each in sent)
    assert all(each.headers["origin"] == site.url for each in sent)
    assert not any("cookie" in each.headers for each in sent)
    assert visitor.page.evaluate("fetches.filter((each) => each.method).map((each) => each.keepalive)") == [True] * 2
    assert visitor.page.evaluate("fetches.map((options) => options.credentials)")[:3] == ["omit"] * 3


@pytest.mark.parametrize("before", [NO_KEEPALIVE, THROWS], ids=["no keepalive", "fetch throws"])
def test_a_beacon_is_sent_only_where_fetch_cannot_outlive_the_page(node: Service, visit: Visit, before: str) -> None:
    visitor = visit(PAGE, before=f"{BEACONS}; {before}", frozen=True, placements=[placement()])
    seen_for_a_second(visitor)
    [beacon] = visitor.page.evaluate("beacons")
    assert beacon.startswith(f'{node.url}{EVENTS}?unit=day {{"bookingId":"bok_1","kind":"impression"')
    assert visitor.sent == []


@pytest.mark.parametrize("before", [THROWS, NO_KEEPALIVE])
def test_without_any_way_to_send_nothing_is_thrown(visit: Visit, before: str) -> None:
    visitor = visit(PAGE, before=f"navigator.sendBeacon = undefined; {before}", frozen=True, placements=[placement()])
    seen_for_a_second(visitor)
    assert visitor.sent == []


def test_a_fetch_that_the_browser_refuses_is_sent_once_more_and_not_a_third_time(visit: Visit) -> None:
    visitor = visit(PAGE, before=f"{BEACONS}; {REJECTS}", frozen=True, placements=[placement()])
    seen_for_a_second(visitor)
    visitor.page.clock.run_for(60_000)
    assert visitor.page.evaluate("[tries, beacons.length]") == [2, 0]


def test_an_event_beyond_the_fetches_that_outlive_a_page_is_sent_without(visit: Visit) -> None:
    visitor = visit(PAGE, before=REJECTS_KEEPALIVE, frozen=True, placements=[placement()])
    seen_for_a_second(visitor)
    visitor.page.clock.run_for(1_000)
    visitor.settled()
    assert visitor.events("impression") == ["bok_1"]


def test_five_hundred_placements_in_view_all_arrive_once(browser: Browser, node: Service, site: Site) -> None:
    """Chromium refuses a third of so many at once that are to outlive their page."""
    site.pages["/"] = PAGE.replace("https://HOST", node.url).replace(
        "<title>", "<style>* { font-size: 5px }</style><title>"
    )
    context = new_context(browser)
    visitor = Visitor(
        browser,
        node,
        site,
        share=context,
        counted=True,
        placements=[placement(bookingId=f"bok_{number}") for number in range(500)],
    )
    answered: list[str] = []
    visitor.page.on("response", lambda response: answered.append((response.request.post_data or "")[:60]))
    visitor.page.set_viewport_size({"width": 4_000, "height": 6_000})
    visitor.page.goto(f"{site.url}/")
    wanted = {f'{{"bookingId":"bok_{number}","kind":"impression"'[:60] for number in range(500)}

    def arrived() -> set[str]:
        visitor.page.wait_for_timeout(100)
        return {each[: each.find(',"visitorId')] for each in answered if "bookingId" in each}

    until(lambda: arrived() == wanted, what="all events")
    assert len([each for each in answered if "bookingId" in each]) == 500
    assert visitor.errors == []
    context.close()


def test_by_device_a_click_counts_once_though_it_leaves_the_page(node: Service, visit: Visit) -> None:
    shown = live(node, "left")[0]
    seen, clicks = counts(node, shown["bookingId"])
    visitor = visit(DEVICE, counted=True, frozen=True)
    for _ in range(2):
        visitor.filled().get_by_role("link", name=shown["headline"]).click()
        visitor.page.wait_for_url(shown["targetUrl"])
        until(lambda: counts(node, shown["bookingId"]) == (seen, clicks + 1))
        visitor.page.go_back()
