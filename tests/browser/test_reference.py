"""The reference in a browser: search, languages and copies with scripts, and the same without; its code against a node."""

import json
import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from service.api.operations import OPERATIONS
from tests.acceptance.processes import Service
from tests.browser import looking
from tests.browser.conftest import Meet
from tests.browser.people import PHONE, Person
from tests.slow import SLOW

QUERIES = (
    "a refund",
    "rotate the zeppelin booking",
    "slot_unavailable",
    "list keys",
    "visitorId",
    "/api/v1/usage",
    "zeppelin",
    "-",
    "Ä",
)

[USAGE] = [operation.summary for operation in OPERATIONS if operation.name == "getUsage"]


def rows_of(person: Person) -> list[str]:
    """The results that are shown."""
    return [str(each.get_attribute("href")) for each in person.page.locator(".found a:visible").all()]


def test_the_search_finds_as_you_type_what_the_server_finds(meet: Meet) -> None:
    reader = meet()
    reader.opens("/docs/createBooking")
    status = reader.page.locator("#find-status")
    for query in QUERIES:
        reader.page.keyboard.press("Control+k")
        reader.page.get_by_role("searchbox").fill(query)
        expect(status).to_have_text(re.compile("result"))
        typed, told = rows_of(reader), status.inner_text()
        page = reader.context.request.get(f"/docs?q={quote(query)}").text()
        assert typed == re.findall(r'<li><a href="(/docs[^"]+)"', page.partition('<ol class="found">')[2]), query
        assert told in unescape(re.sub("</?bdi>", "", page))
        reader.page.keyboard.press("Escape")
        expect(status).to_be_empty()


def test_the_search_goes_by_keyboard_to_a_page_and_to_an_error(meet: Meet) -> None:
    reader = meet()
    reader.opens("/docs")
    page = reader.page
    page.keyboard.press("Control+k")
    page.keyboard.type("getUsage")
    expect(page.locator("#find-status")).to_have_text(re.compile("^1 result"))
    page.keyboard.press("Enter")
    # The address is there at once, the script only when the page has loaded.
    page.wait_for_url("**/docs/getUsage")
    page.keyboard.press("Control+k")
    page.keyboard.type("hold_limit")
    expect(page.locator(".found a").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".found a").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs#hold_limit")
    expect(page.locator("#hold_limit")).to_be_in_viewport()
    # On the same page, the results give way to what they lead to.
    page.keyboard.press("Control+k")
    page.keyboard.type("key_limit")
    expect(page.locator(".found a").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator("#key_limit")).to_be_in_viewport()
    assert rows_of(reader) == []


def test_old_addresses_lead_to_the_page_of_the_operation(meet: Meet) -> None:
    reader = meet()
    reader.opens("/docs#getUsage")
    reader.reads(USAGE)
    assert reader.page.url.endswith("/docs/getUsage")
    reader.opens("/docs#rate-limits")
    expect(reader.page.get_by_role("heading", name="Rate limits")).to_be_in_viewport()


def test_a_language_is_chosen_once_and_its_code_copied(meet: Meet) -> None:
    reader = meet(permissions=["clipboard-read", "clipboard-write"])
    reader.opens("/docs/getUsage")
    page = reader.page
    expect(page.locator("#sample-curl")).to_be_visible()
    page.get_by_text("Python", exact=True).click()
    expect(page.locator("#sample-curl")).to_be_hidden()
    reader.opens("/docs/mintKey")
    code = page.locator("#sample-python")
    expect(code).to_be_visible()
    page.get_by_role("button", name="Copy the request in Python").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == code.inner_text()


@pytest.mark.parametrize("scheme", ["light", *(["dark"] if SLOW else [])])
def test_results_and_languages_are_sound_on_a_phone(meet: Meet, scheme: str) -> None:
    reader = meet(viewport=PHONE, color_scheme=scheme)
    reader.opens("/docs/createBooking")
    page = reader.page
    page.get_by_text("TypeScript", exact=True).click()
    assert looking.sticking_out(page) == []
    page.get_by_role("searchbox").fill("booking")
    expect(page.locator(".found a").first).to_be_visible()
    assert looking.sticking_out(page) + looking.violations(page) == []


def test_without_scripts_the_form_asks_the_server_and_all_languages_can_be_read(meet: Meet) -> None:
    reader = meet(java_script_enabled=False, viewport=PHONE)
    reader.opens("/docs/getUsage")
    page = reader.page
    assert page.locator("[data-copy]:visible").count() == 0
    for language in ("Python", "TypeScript", "curl"):
        page.get_by_text(language, exact=True).click()
        expect(page.locator(f"#sample-{language.lower()}")).to_be_visible()
    page.get_by_role("searchbox").fill("paint a zeppelin")
    page.keyboard.press("Enter")
    reader.reads("Search the reference")
    expect(page.get_by_text("No results for")).to_be_visible()
    page.get_by_role("searchbox").fill("usage")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name=USAGE).click()
    reader.reads(USAGE)


# Its code.

COMMANDS = {
    "curl": ["bash", "-euc"],
    "python": [sys.executable, "-W", "error", "-c"],
    "typescript": ["node", "--input-type=module", "-e"],
}


def sample(node: Service, name: str, language: str) -> str:
    page = node.get(f"/docs/{name}").text
    found = re.search(rf'<code id="sample-{language}">(.*?)</code>', page, re.DOTALL)
    assert found is not None
    return unescape(found[1].replace("<wbr>", ""))


def output(node: Service, name: str, language: str, where: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the code of an operation as its page shows it, in an empty directory."""
    command = COMMANDS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    path = os.environ.get("PATH", "/usr/bin:/bin")
    return subprocess.run(
        [*command, sample(node, name, language)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=where,
        env={"PATH": path, **variables},
    )


@pytest.mark.parametrize("language", COMMANDS)
def test_the_code_of_a_page_runs_as_it_stands_there(node: Service, language: str, tmp_path: Path) -> None:
    key = node.command("issue-key", "--email", "reader@example.com").strip()
    done = output(node, "getUsage", language, tmp_path, KEY=key)
    assert done.returncode == 0, done.stderr
    assert "claimed" in done.stdout
    refused = output(node, "getUsage", language, tmp_path, KEY="cs_user_wrong")
    assert "invalid_api_key" in refused.stdout + refused.stderr or "401" in refused.stderr


@pytest.mark.parametrize("language", COMMANDS)
def test_code_with_and_without_a_body_and_with_a_session_runs(
    node: Service, meet: Meet, language: str, tmp_path: Path
) -> None:
    person = meet()
    person.comes("coder@example.com", "/dashboard")
    [session] = [each["value"] for each in person.context.cookies() if each["name"] == "session"]
    key = node.command("issue-key", "--email", "coder@example.com").strip()
    for name, shown in {
        "mintKey": "claimToken",
        "listUseCases": "nextCursor",
        "listSessions": "current",
        "editNotifications": "reports",
        "createAccountKey": "apiKey",
        "createScopedKey": "sponsor:read",
        "saveProfile": "Example Tools",
        "endAll": "sessions",
    }.items():
        done = output(node, name, language, tmp_path, KEY=key, SESSION=session)
        assert done.returncode == 0, (name, done.stderr)
        assert shown in done.stdout, (name, done.stdout)
        if language == "curl":
            assert "error" not in json.loads(done.stdout), name
