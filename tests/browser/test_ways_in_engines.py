"""The ways of a developer, a sponsor, an administrator and a site owner in Firefox and WebKitGTK, as in Chromium."""

from collections.abc import Iterator

import pytest

from tests.acceptance.processes import Service, until
from tests.browser.acting import makes_a_key, pays, revokes
from tests.browser.conftest import ADMIN
from tests.browser.driven import Driven
from tests.browser.test_sponsoring import is_placed
from tests.browser.walking import NUMBERS, makes_slots
from tests.browser.webdriver import running_firefox, running_webkit

STARTS = {"firefox": running_firefox, "webkit": running_webkit}


@pytest.fixture(scope="module", params=STARTS)
def person(request: pytest.FixtureRequest, node: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """Somebody with this engine, which is started once."""
    with STARTS[request.param](tmp_path_factory.mktemp(request.param)) as browser:
        yield Driven(browser, node)


def test_a_developer_makes_a_key_and_revokes_it(node: Service, person: Driven) -> None:
    person.signs_in(f"developer{next(NUMBERS)}@example.com")
    person.fits()
    key = makes_a_key(person)
    assert node.status("/api/v1/usage", key) == 200
    person.fits()
    person.follows("I copied it, back to the dashboard")
    person.reads("Dashboard")
    revokes(person, key)
    person.forgets()


def test_a_sponsor_pays_and_an_administrator_approves(node: Service, person: Driven) -> None:
    number = next(NUMBERS)
    slot, headline = f"engine-{number}", f"Ledgers, number {number}"
    makes_slots(node, slot)
    pays(person, slot, f"engine{number}@example.com", headline)
    person.follows("Back to the booking")
    person.forgets()

    person.signs_in(ADMIN, "/admin/reviews")
    person.fits()
    person.presses("Approve Ledgers")
    person.told("The ad is approved")
    until(lambda: is_placed(node, headline), what="the placement")
    person.forgets()


def test_a_site_owner_gets_the_lines_for_a_page(node: Service, person: Driven) -> None:
    person.opens("/")
    person.follows("Show sponsors on your site")
    person.fills(**{"Label (optional)": "Anzeige"})
    person.presses("Show the lines")
    person.fits()
    lines = person.text("#snippet")
    assert 'data-label="Anzeige"' in lines
    assert f'<script async src="{node.url}/embed.js"></script>' in lines
