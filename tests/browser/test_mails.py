"""The HTML part of every mail in a browser, on a phone and on a desk, by day and by night.

`make thorough` leaves pictures of all of them in `build/screenshots`. No node is needed: a mail loads nothing.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request

from tests.browser import looking
from tests.browser.conftest import Meet
from tests.mail.outgoing import WRITER
from tests.mail.samples import harmed, samples
from tests.slow import SLOW

SIZES = {"phone": 390, "desktop": 700}
SCHEMES = ("light", "dark")
LOOKED_AT = ("sign_in_code", "booking_receipt", "campaign_rejected", "review_digest")
"""One of each kind of part. `make thorough` looks at all."""


@pytest.fixture
def page(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page, and the requests that it made."""
    context = browser.new_context()
    page, requests = context.new_page(), []

    def heard(request: Request) -> None:
        requests.append(request.url)

    page.on("request", heard)
    yield page, requests
    context.close()


def test_every_mail_is_readable_in_every_form_and_loads_nothing(page: tuple[Page, list[str]]) -> None:
    shown, requests = page
    for name, message in samples():
        if not SLOW and name not in LOOKED_AT:
            continue
        shown.set_content(WRITER.write(message).html)
        for size, width in SIZES.items():
            shown.set_viewport_size({"width": width, "height": 800})
            assert looking.sticking_out(shown) == [], (name, size)
            for scheme in SCHEMES:
                shown.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
                assert looking.violations(shown, looking.CONTRAST) == [], (name, size, scheme)
                if SLOW:
                    looking.picture(shown, "mail", name, scheme, size)
        assert looking.violations(shown) == [], name
    assert requests == []


def test_no_value_becomes_a_part_of_the_page(page: tuple[Page, list[str]]) -> None:
    shown, requests = page
    shown.set_viewport_size({"width": SIZES["phone"], "height": 800})
    for text, message in harmed():
        if not SLOW and message.template not in LOOKED_AT:
            continue
        shown.set_content(WRITER.write(message).html)
        assert shown.locator("script, img, iframe, form, b").count() == 0, (message.template, text)
        links = shown.locator("a").evaluate_all("(all) => all.map((each) => new URL(each.href).origin)")
        assert set(links) == {"https://catalog.example"}, (message.template, text)
        assert looking.sticking_out(shown) == [], (message.template, text)
    assert requests == []


def test_the_outbox_shows_the_html_of_a_mail_with_its_styles_in_a_sandbox(meet: Meet) -> None:
    person = meet(viewport={"width": SIZES["phone"], "height": 800}, color_scheme="dark")
    asked: dict[str, Any] = {"json": {"email": "reader@example.com"}, "headers": {"sec-fetch-site": "same-origin"}}
    assert person.node.http.post("/api/v1/auth/session", **asked).status_code == 200
    person.opens("/dev/outbox")
    person.page.get_by_role("link", name="See the mail as HTML").first.click()
    heading = person.page.get_by_role("heading", name="Your code to sign in")
    assert heading.evaluate("(each) => getComputedStyle(each).color") == "rgb(232, 235, 239)"
    assert person.page.evaluate("origin") == "null", "a page in a sandbox has no origin"
