"""The script of every page on a page of its parts, in the browser's virtual time; the claim page and the operations page with
their scripts."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.acceptance.processes import Service
from tests.browser.conftest import ADMIN, Meet
from tests.browser.people import Person

PARTS = """<!doctype html>
<html lang="en"><head>
<title>Parts</title><link rel="stylesheet" href="/static/style.css"><script src="/static/page.js" defer></script>
</head>
<body>
<details class="menu"><summary>Menu</summary><a href="#one">One</a></details>
<main><h1>Parts</h1>
<div class="code"><pre><code>curl -s /one &amp;&amp; echo
</code></pre><button class="copy" type="button" hidden data-copy>Copy<span class="unseen"> the command</span></button></div>
<code id="whole" title="key_0123456789">key_0123\N{HORIZONTAL ELLIPSIS}</code>
<button class="copy" type="button" hidden data-copy="whole">Copy<span class="unseen"> the id</span></button>
<p hidden><label for="find">Filter</label> <input id="find" type="search" data-filters="rows">
<span role="status" id="found"></span></p>
<table id="rows"><thead><tr><th>Name</th></tr></thead><tbody>
<tr><td>Alpha Left</td></tr><tr><td>Alpha Right</td></tr><tr><td>Beta Left</td></tr></tbody></table>
<p data-over>Held for <span class="hold" role="timer" data-seconds="62">1 minute</span>.</p>
<p hidden>The hold has ended. <a href="">Reload the page</a></p>
<p data-over>Held for <span id="long" data-seconds="172801">2 days</span>.</p><p hidden>Over.</p>
<form method="post" action="/sent">
<label for="text">Text</label> <textarea id="text" name="text">four</textarea>
<span id="count" data-count-of="text" data-most="6"></span>
<button type="submit">Send</button></form>
</main></body></html>
"""


@pytest.fixture
def parts(meet: Meet) -> Page:
    """The page of the parts, whose clock stands still until a test moves it."""
    person = meet(permissions=["clipboard-read", "clipboard-write"])
    person.page.clock.install(time=1_000_000)
    person.page.route("**/parts", lambda route: route.fulfill(body=PARTS, content_type="text/html"))
    person.opens("/parts")
    person.page.clock.pause_at(2_000_000)
    return person.page


def said(page: Page) -> str:
    """The text of the live region once it has changed."""
    page.clock.run_for(100)
    return page.locator("output").inner_text()


def test_a_button_copies_its_box_or_a_whole_id_and_says_so_for_two_seconds(parts: Page) -> None:
    for name, text in (("Copy the command", "curl -s /one && echo"), ("Copy the id", "key_0123456789")):
        parts.get_by_role("button", name=name).click()
        copied = parts.get_by_role("button", name=name.replace("Copy", "Copied"))
        expect(copied).to_be_visible()
        assert parts.evaluate("navigator.clipboard.readText()") == text
        assert said(parts) == "Copied"
        parts.clock.run_for(1_950)
        expect(parts.get_by_role("button", name=name)).to_be_visible()


def test_without_a_clipboard_the_text_is_selected(parts: Page) -> None:
    parts.evaluate("() => { navigator.clipboard.writeText = undefined; }")
    parts.get_by_role("button", name="Copy the command").click()
    expect(parts.get_by_role("button", name="Selected the command")).to_be_visible()
    assert parts.evaluate("String(getSelection()).trim()") == "curl -s /one && echo"


def test_rows_are_filtered_by_all_words_as_they_are_typed_and_counted(parts: Page) -> None:
    rows = parts.locator("tbody tr:visible")
    for words, names, told in (
        ("left ALPHA", ["Alpha Left"], "1 of 3"),
        ("alpha", ["Alpha Left", "Alpha Right"], "2 of 3"),
        ("zeppelin", [], "0 of 3"),
        ("", ["Alpha Left", "Alpha Right", "Beta Left"], ""),
    ):
        parts.get_by_label("Filter").fill(words)
        assert rows.all_inner_texts() == names
        expect(parts.locator("#found")).to_have_text(told)
    expect(parts.get_by_role("columnheader", name="Name")).to_be_visible()


def test_a_hold_is_counted_down_in_words_and_gives_way_at_its_end(parts: Page) -> None:
    hold, ended = parts.locator(".hold"), parts.get_by_text("The hold has ended.")
    parts.reload()
    expect(parts.locator("#long")).to_have_text("2 days")
    expect(hold).to_have_text("1 minute")
    parts.clock.run_for(3_000)
    expect(hold).to_have_text("59 seconds")
    expect(parts.locator("#long")).to_have_text("47 hours")
    parts.clock.run_for(58_000)
    expect(hold).to_have_text("1 second")
    assert parts.locator("output").inner_text() == "", "a countdown is not read out"
    expect(ended).to_be_hidden()
    parts.clock.run_for(1_000)
    expect(hold).to_be_hidden()
    expect(ended).to_be_visible()
    assert said(parts) == "The hold has ended. Reload the page"
    parts.get_by_role("link", name="Reload the page").click()
    expect(hold).to_have_text("1 minute")


def test_what_is_left_to_write_is_counted_in_code_points_once_it_is_little_and_said_in_a_pause(parts: Page) -> None:
    text, count = parts.get_by_label("Text"), parts.locator("#count")
    expect(count).to_have_text("")
    text.fill(" \N{PARTY POPPER}\N{PARTY POPPER}\N{PARTY POPPER}\n5 ")
    expect(count).to_have_text("1 left.")
    text.fill("1234567")
    expect(count).to_have_text("1 too many.")
    expect(count).to_have_class("over")
    assert said(parts) == "", "typing is not interrupted"
    parts.clock.run_for(900)
    assert parts.locator("output").inner_text() == "1 too many."
    text.fill("123456")
    expect(count).to_have_text("0 left.")
    expect(count).not_to_have_class("over")


def test_a_form_is_sent_once_in_two_seconds(parts: Page) -> None:
    sent: list[str] = []

    def answers(route: Route) -> None:
        sent.append(route.request.method)
        # Browsers stay on the page for this status, as if the answer had not arrived yet.
        route.fulfill(status=204)

    parts.route("**/sent", answers)
    send = parts.get_by_role("button", name="Send")
    with parts.expect_response("**/sent"):
        send.dblclick()
    assert sent == ["POST"]
    parts.evaluate("document.querySelector('form').dataset.sentUntil = 0")
    with parts.expect_response("**/sent"):
        send.click()
    assert sent == ["POST", "POST"]


@pytest.mark.parametrize(
    "leave", [lambda page: page.keyboard.press("Escape"), lambda page: page.get_by_role("heading").click()]
)
def test_a_menu_closes_with_escape_and_with_a_click_elsewhere(parts: Page, leave: Callable[[Page], None]) -> None:
    parts.get_by_text("Menu").click()
    expect(parts.get_by_role("link", name="One")).to_be_visible()
    leave(parts)
    expect(parts.get_by_role("link", name="One")).to_be_hidden()


def test_escape_in_a_menu_leads_the_focus_back_to_its_name(parts: Page) -> None:
    parts.get_by_text("Menu").press("Enter")
    parts.keyboard.press("Tab")
    expect(parts.get_by_role("link", name="One")).to_be_focused()
    parts.keyboard.press("Escape")
    expect(parts.get_by_text("Menu")).to_be_focused()


# The claim page.


def claims(person: Person, email: str) -> None:
    """Ask for a code from the link of a key."""
    person.opens(person.node.mint()["claimUrl"])
    expect(person.page.get_by_text("Your link has the claim token.")).to_be_visible()
    person.fills(Email=email)
    person.presses("Send the code")
    expect(person.page.get_by_label("Code", exact=True)).to_be_focused()


def test_a_phone_that_unloads_the_page_during_a_claim_goes_on_with_the_code(node: Service, meet: Meet) -> None:
    email, person = "reloaded@example.com", meet()
    claims(person, email)
    assert person.page.url == f"{node.url}/claim"
    requests: list[str] = []
    person.page.on("request", lambda request: requests.append(f"{request.method} {request.url}"))
    person.page.reload()
    assert f"GET {node.url}/claim" in requests
    assert not any("POST" in each or "clm_" in each for each in requests)
    expect(person.page.get_by_text(f"We sent a code to {email}")).to_be_visible()
    person.fills_in_the_code(email)
    person.presses("Claim the key")
    expect(person.page.get_by_role("heading", name="The key is claimed")).to_be_focused()


def test_a_refused_code_and_another_email_keep_the_token(node: Service, meet: Meet) -> None:
    email, person = "twice@example.com", meet()
    claims(person, "mistyped@example.com")
    person.fills(Code="000000")
    person.presses("Claim the key")
    expect(person.page.get_by_label("Code", exact=True)).to_have_attribute("aria-invalid", "true")
    person.refused(400, "/claim/form")
    person.page.reload()
    expect(person.page.get_by_text("We sent a code to mistyped@example.com")).to_be_visible()
    person.presses("Change email")
    person.fills(Email=email)
    person.presses("Send the code")
    person.fills_in_the_code(email)
    person.presses("Claim the key")
    expect(person.page.get_by_role("heading", name="The key is claimed")).to_be_visible()


def test_another_token_replaces_that_of_the_link_also_in_the_same_tab(node: Service, meet: Meet) -> None:
    person, other = meet(), node.mint()
    page = person.page
    claims(person, "first@example.com")
    page.evaluate("(token) => (location.hash = token)", other["claimToken"])
    expect(page.get_by_label("Email", exact=True)).to_be_visible()
    assert page.url == f"{node.url}/claim"
    assert page.locator("#token").input_value() == other["claimToken"]
    person.presses("Use another token")
    expect(page.get_by_label("Claim token or link")).to_be_focused()
    page.evaluate("location.hash = 'main'")
    expect(page.get_by_label("Claim token or link")).to_be_visible()


# The operations page.


def test_operations_refresh_while_somebody_watches_and_say_when_they_cannot(node: Service, meet: Meet) -> None:
    person = meet()
    person.comes(ADMIN, "/dashboard")
    assert node.status("/api/v1/bots/nothing") == 404, "a refusal to be listed"
    page = person.page
    page.clock.install()
    person.opens("/ops")
    page.locator("summary", has_text="refusal").click()
    page.evaluate("document.getElementById('live').append(document.createElement('hr'))")
    person.presses("Refresh every 10 seconds")
    page.clock.run_for(10_000)
    expect(page.locator("hr")).to_have_count(0)
    expect(page.locator("#live details[open]")).to_have_count(1)
    expect(page.get_by_role("button", name="Refresh every 10 seconds", pressed=True)).to_be_visible()
    page.route("**/ops", lambda route: route.abort())
    page.clock.run_for(10_000)
    person.told("The page could not be refreshed.")
    expect(page.get_by_role("button", name="Refresh every 10 seconds", pressed=False)).to_be_visible()
    assert "ERR_FAILED" in person.told_faults()[0]


ROWS = """<!doctype html><html lang="en"><head><title>Rows</title>
<script src="/static/page.js" defer></script><script src="/static/desk.js" defer></script></head><body><main><h1>Rows</h1>
<label id="keys" hidden><input type="checkbox" checked>Keys: J, K, A, R.</label><label>Search <input id="search"></label>
<article tabindex="0" data-row id="one"><form action="/sent"><label>Note <input name="note" aria-keyshortcuts="R"></label>
<button aria-keyshortcuts="A" name="do" value="one">Approve</button></form></article>
<article tabindex="0" data-row id="two"><form action="/sent"><label>Note <input id="note" aria-keyshortcuts="R"></label>
<button aria-keyshortcuts="A" name="do" value="two">Approve</button></form></article>
<a href="/more" rel="next" id="more">Next</a></main></body></html>"""


def test_keys_go_through_rows_and_decide_on_the_one_with_the_focus_but_not_while_somebody_types(meet: Meet) -> None:
    person = meet()
    for path in ("rows", "sent*"):
        person.page.route(f"**/{path}", lambda route: route.fulfill(body=ROWS, content_type="text/html"))
    person.opens("/rows")
    page, keys = person.page, person.page.keyboard
    expect(page.get_by_text("Keys: J")).to_be_visible()
    for key, focus in (
        ("a", ""),
        ("k", "one"),
        ("j", "two"),
        ("J", "more"),
        ("k", "one"),
        ("Control+j", "one"),
        ("j", "two"),
    ):
        keys.press(key)
        assert page.evaluate("document.activeElement.id") == focus, key
    keys.press("r")
    keys.type("jar")
    expect(page.locator("#note")).to_have_value("jar")
    page.locator("#two").focus()
    page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', repeat: true, bubbles: true}))"
    )
    assert page.url.endswith("/rows"), "a key that is held decides on one row"
    switch = page.get_by_role("checkbox", name="Keys: J, K, A, R.")
    switch.uncheck()
    person.opens("/rows")
    expect(switch).not_to_be_checked()
    page.locator("#two").focus()
    for key in ("k", "a"):
        keys.press(key)
        assert page.evaluate("document.activeElement.id") == "two", "keys are off, and stay off"
    switch.check()
    page.locator("#two").focus()
    keys.press("a")
    page.wait_for_url("**/sent?**do=two")
