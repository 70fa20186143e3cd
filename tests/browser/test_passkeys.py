"""Passkeys in a real browser, with Chromium's virtual authenticator: add one, sign in with it, and remove it."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, CDPSession, expect

from tests.acceptance.postgres import free_port
from tests.acceptance.processes import Service, serving
from tests.browser import looking
from tests.browser.acting import code_for
from tests.browser.conftest import ADMIN, SETTINGS
from tests.browser.people import DESKTOP, PHONE, WELCOME, Person
from tests.memory import in_memory

ANN = "ann@example.com"
SECURITY = "/dashboard/security"
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


@pytest.fixture(scope="module")
def named() -> Iterator[Service]:
    """A node at a host name, because browsers offer no passkeys at IP addresses, where administrators need a passkey."""
    place = Path(tempfile.mkdtemp(prefix="catalog-passkeys-", dir=in_memory()))
    place.chmod(0o711)
    port = free_port()
    url = f"http://localhost:{port}"
    try:
        with serving(
            place / "data",
            {**SETTINGS, "server.base_url": url, "admin.require_passkey": "true"},
            bind=f"127.0.0.1:{port}",
        ) as service:
            service.url = url
            yield service
    finally:
        shutil.rmtree(place, ignore_errors=True)


class Holder:
    """A person at the node, whose browser has an authenticator."""

    def __init__(self, browser: Browser, node: Service) -> None:
        self.person = Person(browser, node)
        self.page = self.person.page
        self._devtools: CDPSession = self.person.context.new_cdp_session(self.page)
        self._devtools.send("WebAuthn.enable")
        self.authenticator = str(
            self._devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})["authenticatorId"]
        )

    def verifies(self, verified: bool) -> None:
        """Whether the authenticator recognizes its person from now on."""
        told = {"authenticatorId": self.authenticator, "isUserVerified": verified}
        self._devtools.send("WebAuthn.setUserVerified", told)

    def enters_code(self, email: str) -> None:
        self.person.opens("/sign-in")
        self.person.fills(Email=email)
        self.person.presses("Send the code")
        self.person.fills_in_the_code(email)
        self.person.presses("Sign in")

    def adds(self, name: str) -> None:
        self.person.opens(SECURITY)
        self.page.get_by_label("Name of the passkey").fill(name)
        self.person.presses("Add a passkey")
        self.person.told("The passkey is added.")

    def signs_out(self) -> None:
        self.person.signs_out()

    def looks_right(self, name: str) -> None:
        """Check the page at both sizes, and take pictures."""
        for size, viewport in (("phone", PHONE), ("desktop", DESKTOP)):
            self.page.set_viewport_size(viewport)
            assert looking.sticking_out(self.page) == []
            assert looking.violations(self.page) == []
            looking.picture(self.page, "passkeys", name, size)


Holding = Callable[[], Holder]


@pytest.fixture
def hold(browser: Browser, named: Service) -> Iterator[Holding]:
    """Creates people with an authenticator. Fails at the end if anything went wrong in a browser."""
    holders: list[Holder] = []

    def holding() -> Holder:
        holders.append(Holder(browser, named))
        return holders[-1]

    yield holding
    for holder in holders:
        holder.person.context.close()
    assert [fault for holder in holders for fault in holder.person.faults] == []


def test_a_person_adds_a_passkey_signs_in_with_it_and_removes_it(hold: Holding) -> None:
    holder = hold()
    person = holder.person
    holder.enters_code(ANN)
    person.reads(WELCOME)
    person.follows("Security")
    holder.looks_right("none")
    holder.adds("Laptop")
    holder.looks_right("added")
    holder.signs_out()

    holder.enters_code(ANN)
    person.reads("Your passkey")
    holder.looks_right("second-step")
    person.presses("Use a passkey")
    person.told("You are signed in.")
    person.reads(WELCOME)

    person.opens(SECURITY)
    person.page.get_by_text("Rename Laptop", exact=True).click()
    person.page.get_by_label("New name").fill("Old laptop")
    person.presses("Rename")
    person.told("The passkey is renamed.")
    person.page.get_by_text("Remove Old laptop", exact=True).click()
    person.presses("Remove this passkey")
    person.told("The passkey is removed.")
    holder.signs_out()
    holder.enters_code(ANN)
    person.reads(WELCOME)


def test_who_is_not_recognized_stays_outside_and_may_try_again_or_cancel(hold: Holding) -> None:
    holder, email = hold(), "twin@example.com"
    person = holder.person
    holder.enters_code(email)
    holder.adds("Phone")
    holder.signs_out()
    holder.enters_code(email)
    person.reads("Your passkey")
    holder.verifies(False)
    person.presses("Use a passkey")
    expect(person.page.get_by_role("alert")).to_contain_text("No passkey was used")
    holder.looks_right("refused")
    person.opens("/dashboard")
    person.reads("Sign in")
    person.opens("/sign-in/passkey")
    holder.verifies(True)
    person.presses("Use a passkey")
    person.reads(WELCOME)
    holder.signs_out()
    holder.enters_code(email)
    person.presses("Cancel the sign-in")
    person.told("The sign-in is cancelled.")
    person.opens("/sign-in/passkey")
    person.told("This sign-in has ended.")


def test_an_operator_helps_who_has_lost_the_passkey(named: Service, hold: Holding) -> None:
    holder, email = hold(), "lost@example.com"
    holder.enters_code(email)
    holder.adds("Lost phone")
    holder.signs_out()
    holder.enters_code(email)
    holder.person.reads("Your passkey")
    assert named.command("remove-passkeys", email) == f"removed from {email}: Lost phone\n"
    holder.person.presses("Use a passkey")
    expect(holder.page.get_by_role("alert")).to_contain_text("This sign-in has ended.")
    holder.person.refused(401, "/api/v1/auth/passkey")
    holder.enters_code(email)
    holder.person.reads(WELCOME)


def test_a_device_registers_once_for_an_account(hold: Holding) -> None:
    holder = hold()
    holder.enters_code("once@example.com")
    holder.adds("Laptop")
    holder.page.get_by_label("Name of the passkey").fill("Laptop again")
    holder.person.presses("Add a passkey")
    alert = holder.page.get_by_role("alert").filter(has_text="already has a passkey")
    expect(alert).to_be_visible()


def test_an_administrator_is_led_to_a_passkey_and_then_administers(hold: Holding) -> None:
    holder = hold()
    person = holder.person
    holder.enters_code(ADMIN)
    person.opens("/admin")
    person.reads("Security")
    person.told("Administration needs a passkey.")
    holder.adds("Laptop")
    person.opens("/admin")
    expect(person.page.get_by_role("heading", level=1)).not_to_have_text(WELCOME)


def test_a_second_browser_confirms_with_a_passkey_to_add_another(hold: Holding) -> None:
    early, holder, email = hold(), hold(), "pair@example.com"
    early.enters_code(email)
    early.person.reads(WELCOME)
    holder.enters_code(email)
    holder.adds("Laptop")
    early.person.opens(SECURITY)
    early.looks_right("confirm")
    early.person.presses("Confirm with a passkey")
    # This browser has another authenticator, with no passkey of the account.
    expect(early.page.get_by_role("alert").filter(has_text="No passkey was used")).to_be_visible()


def test_without_scripts_the_page_says_what_is_missing_and_all_else_works(
    browser: Browser, named: Service, hold: Holding
) -> None:
    holder, email = hold(), "plain@example.com"
    holder.enters_code(email)
    holder.adds("Laptop")
    plain = Person(browser, named, java_script_enabled=False)
    plain.opens("/sign-in")
    plain.fills(Email=email)
    plain.presses("Send the code")
    plain.page.get_by_label("Code", exact=True).fill(code_for(named, email))
    plain.presses("Sign in")
    plain.reads("Your passkey")
    expect(plain.page.get_by_text("Turn on JavaScript for this site")).to_be_visible()
    looking.PICTURES.mkdir(parents=True, exist_ok=True)
    plain.page.screenshot(path=looking.PICTURES / "passkeys-no-script.png")
    plain.presses("Use a passkey")
    expect(plain.page.get_by_role("alert").first).to_contain_text("JavaScript")
    plain.refused(400, "/sign-in/passkey")
    plain.presses("Cancel the sign-in")
    plain.told("The sign-in is cancelled.")
    assert plain.faults == []
    plain.context.close()
