"""Every page of the service opens without a fault and fits a phone and a desktop.

`make pages` measures all of them (`tests/pages`), and `make shots` takes pictures.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from service.web.pages.table import PAGES
from tests.acceptance.processes import Service
from tests.browser import looking
from tests.browser.conftest import Meet
from tests.browser.looks import LOOKS, NO_PAGES, Look, address_of, everybody, lookers, placeholders
from tests.browser.people import DESKTOP, PHONE, Person
from tests.slow import smoke

LOOKED_AT_ELSEWHERE = {"/sign-in/passkey", "/dev/outbox/{id}", "/account/suspended"}
"""Pages that need an authenticator, the HTML of mails, and a page of a suspended account: `test_passkeys`, `test_mails` and
`test_administering` look at them."""

SEEN_BY_DEFAULT = {
    "home",
    "usecase",
    "dashboard",
    "settings",
    "sponsor-reports",
    "sponsor-webhooks",
    "admin-audit",
    "ops",
}
"""The looks that `make test` has, too: pages of each concern that no walk of `smoke` shows."""


@smoke
def test_every_page_is_looked_at() -> None:
    assert {look.path for look in LOOKS} - NO_PAGES == {page.path for page in PAGES} - LOOKED_AT_ELSEWHERE


@pytest.fixture(scope="module")
def people(browser: Browser, node: Service) -> Iterator[dict[str, Person]]:
    """One person of each kind, shared by all pages."""
    with everybody(browser, node, viewport=PHONE) as met:
        yield met


@pytest.fixture(scope="module")
def found(node: Service, people: dict[str, Person]) -> dict[str, str]:
    """The ids in addresses, by their placeholder in a look."""
    return placeholders(node, people)


@pytest.mark.parametrize(
    "look", [pytest.param(each, id=each.name, marks=[smoke] if each.name in SEEN_BY_DEFAULT else []) for each in LOOKS]
)
def test_a_page_opens_without_a_fault_and_fits(people: dict[str, Person], found: dict[str, str], look: Look) -> None:
    person, address = people[lookers(look)[0]], address_of(look, found)
    person.opens(address)
    if look.status != 200:
        person.refused(look.status, address)
    if look.pressed:
        person.presses(look.pressed)
    assert in_both_sizes(person) + person.told_faults() == []


def in_both_sizes(person: Person) -> list[str]:
    """Layout faults on a desktop and on a phone."""
    wrong = []
    for viewport in (DESKTOP, PHONE):
        person.page.set_viewport_size(viewport)
        wrong += looking.sticking_out(person.page) + looking.out_of_sight(person.page)
    return wrong


def test_data_for_search_engines_stands_in_a_page_and_the_policy_says_nothing(
    people: dict[str, Person], found: dict[str, str]
) -> None:
    person = people["visitor"]
    for path in ("/", "/bots", f"/usecases/{found['USECASE']}"):
        person.opens(path)
        graph = person.page.evaluate("JSON.parse(document.querySelector('script[type=\"application/ld+json\"]').text)")
        assert graph["@context"] == "https://schema.org"
        assert person.told_faults() == []


def test_the_looks_find_what_is_wrong(meet: Meet) -> None:
    person = meet(viewport=PHONE, color_scheme="light")
    person.opens("/claim/form")
    page = person.page
    assert in_both_sizes(person) + looking.violations(page) == []
    page.evaluate(
        "document.querySelector('h1').style.cssText = 'color: #aaa; background: #fff; width: 500px';"
        "document.querySelector('label[for=email]').remove()"
    )
    assert kinds_of(looking.violations(page)) == {"color-contrast", "label", "label-title-only"}
    assert kinds_of(looking.violations(page, looking.CONTRAST)) == {"color-contrast"}
    assert "H1." in kinds_of(in_both_sizes(person))
    tabs = "<li><a href='/'>Another</a></li>" * 9 + "<li><a href='/' aria-current='page'>Last</a></li>"
    page.evaluate(
        "html => document.querySelector('main').insertAdjacentHTML('beforeend', html)",
        f"<nav class='tabs'><ul>{tabs}</ul></nav>",
    )
    assert "current" not in kinds_of(in_both_sizes(person))
    page.evaluate("document.querySelector('.tabs ul').style.cssText = 'scroll-snap-type: none'")
    page.evaluate("document.querySelector('.tabs ul').scrollTo(0, 0)")
    assert "current" in kinds_of(in_both_sizes(person))
    page.evaluate(
        "console.error('wrong'); document.body.append(Object.assign(document.createElement('script'), "
        "{ textContent: 'alert(1)' }), Object.assign(new Image(), { src: 'https://elsewhere.example.com/' }));"
        "setTimeout(() => { throw Error('thrown') })"
    )
    page.evaluate("fetch('/no/such/page')")
    faults = person.told_faults()
    assert kinds_of(faults) == {"console:", "thrown:", "404", "to", "failed:"}
    assert [fault for fault in faults if "Content Security Policy" in fault] != []


def kinds_of(faults: list[str]) -> set[str]:
    return {fault.partition(" ")[0] for fault in faults}
