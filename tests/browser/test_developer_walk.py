"""An agent developer's way from the front page: a key, the first request as the page shows it, the usage, and its end."""

import json
import subprocess

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.acceptance.processes import Service
from tests.browser.acting import makes_a_key, revokes
from tests.browser.conftest import Meet
from tests.browser.people import Person
from tests.browser.walking import NUMBERS, WAYS, fits, way_id

walks = pytest.mark.parametrize(("viewport", "scripts"), WAYS, ids=way_id)

SCREENS_TO_REVOKED = 11
"""Front page, three steps of a claim, two of a sign-in, dashboard, new key, dashboard, key, dashboard."""


def run(line: str) -> str:
    """The output of a page's command line in a shell."""
    done = subprocess.run(
        ["bash", "-euc", line], capture_output=True, text=True, timeout=30, check=True, env={"PATH": "/usr/bin:/bin"}
    )
    return done.stdout


def shown(person: Person, panel: str) -> str:
    """The command line that stands in a panel with this name."""
    return str(person.page.get_by_role("region", name=panel, exact=True).locator("pre").inner_text())


@walks
def test_a_developer_mints_a_key_claims_it_makes_another_and_revokes_it(
    node: Service, meet: Meet, viewport: ViewportSize, scripts: bool
) -> None:
    email, developer = f"developer{next(NUMBERS)}@example.com", meet(viewport=viewport, java_script_enabled=scripts)
    developer.opens("/")
    fits(developer)
    [entry] = json.loads(run(f"{developer.page.locator('#first').inner_text()} -s"))["data"]
    assert f'"slug": "{entry["slug"]}"' in developer.page.get_by_label("Its answer, shortened").inner_text()
    minted = json.loads(run(f"{shown(developer, 'Build on the API')} -s"))
    assert node.usage(minted["apiKey"])["status"] == "anonymous"

    developer.follows("Claim a key")
    fits(developer)
    developer.fills(**{"Claim token or link": minted["claimToken"], "Email": email})
    developer.presses("Send the code")
    developer.fills_in_the_code(email)
    developer.presses("Claim the key")
    expect(developer.page.get_by_role("heading", name="The key is claimed")).to_be_visible()
    fits(developer)
    developer.follows("Sign in to the dashboard")
    developer.fills(Email=email)
    developer.presses("Send the code")
    developer.fills_in_the_code(email)
    developer.presses("Sign in")
    developer.reads("Dashboard")
    fits(developer)

    made = makes_a_key(developer, "Name")
    fits(developer)
    line = str(developer.page.locator("pre").filter(has_text="curl").inner_text())
    assert len(json.loads(run(f"{line} -s"))["data"]) == 3
    developer.follows("I copied it, back to the dashboard")
    expect(developer.page.get_by_role("region", name="Usage", exact=True)).to_contain_text("Today")
    revokes(developer, made)
    assert len(developer.screens) == SCREENS_TO_REVOKED, developer.screens
