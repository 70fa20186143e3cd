"""People at the pages of the service: keys, devices, sessions, and failures."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.prepared import REPOSITORY
from tests.acceptance.processes import Service, children_of, environment, until
from tests.api.oauth import VERIFIER
from tests.browser.acting import code_for
from tests.browser.conftest import DOCTYPE, Meet
from tests.browser.looks import authorization
from tests.browser.people import WELCOME
from tests.browser.sites import Site
from tests.slow import smoke

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


# Keys.


# Devices.


@contextmanager
def logging_in(node: Service, home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command line that logs in: its process, and the code that it shows."""
    home.mkdir()
    said = home / "said"
    with said.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "service.catalogctl", "login", "--no-browser", "--url", node.url],
            cwd=REPOSITORY,
            env={**environment({}), "XDG_CONFIG_HOME": str(home), "NO_PROXY": "127.0.0.1"},
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
        )
    try:
        until(lambda: process.poll() is not None or "Waiting" in said.read_text(), what="the code to be shown")
        shown = re.search(r"^Enter +(\S+)$", said.read_text(), re.MULTILINE)
        assert shown, said.read_text()
        yield process, shown[1]
    finally:
        process.kill()
        process.communicate(timeout=10)


@smoke
def test_a_command_line_logs_in_while_its_person_approves_and_another_is_denied(
    node: Service, meet: Meet, tmp_path: Path
) -> None:
    email, person = "operator@example.com", meet()
    person.comes(email, "/device")
    with (
        logging_in(node, tmp_path / "mine") as (mine, code),
        logging_in(node, tmp_path / "foreign") as (foreign, other),
    ):
        for shown, button, notice in (
            (code, "Approve", "The device is approved."),
            (other, "Deny", "The device is denied."),
        ):
            person.opens("/device")
            person.page.get_by_label("Code", exact=True).fill(shown.lower().replace("-", " "))
            person.presses("Continue")
            person.reads("Approve this device?")
            expect(person.page.get_by_role("region", name="The request")).to_contain_text(shown)
            person.presses(button)
            person.told(notice)
        assert mine.wait(30) == 0
        assert foreign.wait(30) == 1
        assert mine.stdout is not None
        assert f"Logged in to {node.url} with the key cs_user_" in mine.stdout.read()
    assert "denied" in (tmp_path / "foreign/said").read_text()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_person_approves_a_program_that_waits_on_this_computer(
    node: Service, meet: Meet, site: Site, scripts: bool
) -> None:
    """Browsers hold the redirect of a form to the policy of its page, which has to let this one through."""
    email, person = f"approver-{scripts}@example.com".lower(), meet(java_script_enabled=scripts)
    site.pages["/callback"] = f"{DOCTYPE}<title>Connected</title><h1>Connected</h1>"
    asked = authorization(node, f"{site.url}/callback")
    person.opens(f"/oauth/authorize?{asked}")
    person.passes_sign_in(email)
    for button, expected in (("Deny", "error"), ("Approve", "code")):
        person.opens(f"/oauth/authorize?{asked}")
        person.reads("Connect this program?")
        person.fits()
        person.presses(button)
        person.reads("Connected")
        url = person.page.url
        person.leaves(url)
        answer = dict(parse_qsl(url.partition("?")[2]))
        assert expected in answer
        assert (answer["state"], answer["iss"]) == ("a state", node.url)
    exchange = {"code": answer["code"], "code_verifier": VERIFIER, "redirect_uri": f"{site.url}/callback"}
    client = {"client_id": dict(parse_qsl(asked))["client_id"], "grant_type": "authorization_code"}
    tokens = node.http.post("/oauth/token", data=exchange | client)
    assert node.usage(tokens.json()["access_token"])["email"] == email
    person.opens("/dashboard")
    expect(person.page.get_by_role("link", name=re.compile("^Research agent"))).to_be_visible()


def test_signing_in_and_approving_a_device_need_no_mouse(node: Service, meet: Meet) -> None:
    email, person = "keyboard@example.com", meet()
    started = node.post("/api/v1/auth/device", {"client_id": "terminal"}).json()
    person.opens("/device")
    person.reads("Sign in")
    typed_into(person.page, "Email", email)
    pressed(person.page, "Send the code")
    expect(person.page.get_by_label("Code", exact=True)).to_be_focused()
    person.page.keyboard.type(code_for(node, email))
    person.page.keyboard.press("Enter")
    person.reads("Connect a device")
    typed_into(person.page, "Code", started["user_code"])
    person.page.keyboard.press("Enter")
    person.reads("Approve this device?")
    pressed(person.page, "Approve")
    person.told("The device is approved.")
    polled = node.http.post(
        "/api/v1/auth/device/token", data={"grant_type": GRANT, "device_code": started["device_code"]}
    )
    assert node.usage(polled.json()["apiKey"])["email"] == email


def walked_to(page: Page, role: str, name: str) -> None:
    """Press Tab until the element has the focus, and check that the focus is visible."""
    wanted = page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
    for _ in range(40):
        page.keyboard.press("Tab")
        if wanted.evaluate("(element) => element === document.activeElement"):
            assert wanted.evaluate("(element) => getComputedStyle(element).outlineStyle") != "none", name
            return
    raise AssertionError(f"no Tab leads to {name!r}")


def typed_into(page: Page, label: str, text: str) -> None:
    walked_to(page, "textbox", label)
    page.keyboard.type(text)


def pressed(page: Page, button: str) -> None:
    walked_to(page, "button", button)
    page.keyboard.press("Enter")


# What goes wrong.


def test_a_database_that_does_not_answer_is_told_as_a_page_and_all_goes_on_when_it_does(
    node: Service, meet: Meet
) -> None:
    person, visitor = meet(), meet()
    person.comes("patient@example.com", "/dashboard")
    with stopped(node):
        person.opens("/dashboard")
        person.reads("We cannot answer right now")
        person.refused(503, "/dashboard")
        visitor.opens("/usecases")
        visitor.reads("Use cases")
    until(node.is_ready, what="the database to answer")
    person.opens("/dashboard")
    person.reads(WELCOME)


@contextmanager
def stopped(node: Service) -> Iterator[None]:
    """Stop the processes of the database."""
    postmaster = node.postmaster_pid
    halted = [postmaster, *children_of(postmaster)]
    for pid in halted:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in halted:
            os.kill(pid, signal.SIGCONT)
