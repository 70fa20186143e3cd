"""Every page that links lead to from the front page, for everybody: it answers, and it has a way on."""

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Browser

from service.web.pages.parts.page import Audience
from service.web.pages.table import PAGES
from tests.acceptance.processes import Service
from tests.browser.conftest import ADMIN
from tests.browser.people import Person
from tests.web.markup import Markup

KINDS = {"visitor": None, "sponsor": "demo-sponsor@example.com", "administrator": ADMIN}

ALIKE = 3
"""Addresses of one kind that are visited: the catalog has many entries, and lists have many filters."""

MOST = 400
"""Addresses that a crawl visits at most."""

BY_MAIL_OR_FORM = {
    "/account/suspended": "where the pages of a suspended account lead",
    "/admin/reviews": "another address of the queue",
    "/checkout-cancelled": "where Stripe sends sponsors who turn back",
    "/checkout/{token}": "behind the form of a booking",
    "/claim/form": "the form of a claim without scripts",
    "/dashboard/keys/{id}": "linked once the account has a key; the walk of a developer opens it",
    "/end/{token}": "in a mail",
    "/oauth/authorize": "where programs lead people",
    "/receipt/{token}": "linked by paid bookings, which are not among the newest; `test_pages` opens it",
    "/sign-in/link": "in a mail",
    "/sign-in/passkey": "after the code, for accounts with a passkey",
    "/sign-out": "behind a button",
    "/sponsor/bookings/{id}/invoice": "linked by bookings that are not samples; the walk of a sponsor opens it",
    "/sponsor/webhooks/{id}": "linked once there is a webhook; the walk of a sponsor opens it",
    "/unsubscribe/{token}": "in a mail",
    "/shared/{token}": "in a link that a sponsor gives away",
    "/dev/components": "in CONTRIBUTING.md",
}
"""Pages that no link of the demo leads to, and where people come from."""

NO_WAY_ON = {"/dev/outbox/{id}": "a mail as it is read, with the links of the mail alone"}
"""Pages that need no way on."""

PATTERNS = {page.path: re.compile(re.sub(r"{\w+}", "[^/]+", page.path)) for page in PAGES}


def kind_of(address: str) -> str:
    """The common part of addresses that show the same page with other content."""
    parts = urlsplit(re.sub(r"^/docs/\w+", "/docs/#", address))
    path = next((path for path, pattern in PATTERNS.items() if path == parts.path), "") or next(
        (path for path, pattern in PATTERNS.items() if pattern.fullmatch(parts.path)),
        re.sub(r"[^/]*\d[^/]*", "#", parts.path),
    )
    return f"{path}?{'&'.join(sorted(re.findall(r'([^&=]+)=', parts.query)))}"


def crawl(person: Person) -> Iterator[tuple[str, str]]:
    """Follow the links from the front page. Yields the path of each page, and what is wrong with it or nothing."""
    waiting, seen, visited = ["/"], {"/"}, Counter[str]()
    base = person.node.url
    while waiting and len(seen) < MOST:
        address = waiting.pop(0)
        answer = person.context.request.get(address)
        if not answer.ok:
            yield address, f"{answer.status} {address}"
            continue
        if "text/html" not in answer.headers["content-type"]:
            continue
        page = Markup(answer.text())
        onward = [each for each in page.all("a", "button") if "main" in each.above and "nav" not in each.above]
        goes_on = onward or kind_of(address).partition("?")[0] in NO_WAY_ON
        yield urlsplit(answer.url).path, "" if goes_on else f"{address} has no way on"
        # The outbox links to what mails are about, which only their readers may see.
        links = [each["href"] for each in page.all("a") if each.get("href") and each.get("rel") != "nofollow"]
        for link in links:
            to, _, fragment = urljoin(answer.url, link).partition("#")
            if not to.startswith(f"{base}/"):
                continue
            if fragment and to == answer.url and fragment not in page.ids:
                yield address, f"{address} links to #{fragment}, which it does not have"
            to = to.removeprefix(base)
            if to not in seen and visited[kind_of(to)] < ALIKE:
                seen.add(to)
                visited[kind_of(to)] += 1
                waiting.append(to)
    assert not waiting, "the crawl came to its end"


@pytest.mark.parametrize("kind", KINDS)
def test_links_lead_from_the_front_page_to_every_page_and_each_has_a_way_on(
    browser: Browser, node: Service, kind: str
) -> None:
    person = Person(browser, node)
    if email := KINDS[kind]:
        person.comes(email, "/")
    found = list(crawl(person))
    person.context.close()
    assert [fault for _, fault in found if fault] == []
    reached = {path for path, pattern in PATTERNS.items() for address, _ in found if pattern.fullmatch(address)}
    may = {"visitor": (Audience.ANYBODY,), "sponsor": (Audience.ANYBODY, Audience.ACCOUNT)}.get(kind, tuple(Audience))
    expected = {page.path for page in PAGES if page.who in may} - BY_MAIL_OR_FORM.keys()
    if kind == "administrator":
        # The administrator has no campaigns and bookings.
        expected -= {path for path in expected if path.startswith("/sponsor/") and "{" in path} | {"/sponsor/invoices"}
    if kind != "visitor":
        expected -= {"/sign-in"}
    assert expected - reached == set()
