"""Refused forms in a browser, by keyboard alone: the focus is on the first wrong field, and the note leads to the others."""

import re

import pytest
from playwright.sync_api import expect

from tests.acceptance.processes import Service
from tests.browser.conftest import Meet


@pytest.mark.parametrize("scripts", [True, False])
def test_a_refused_form_has_the_focus_on_the_first_wrong_field(node: Service, meet: Meet, scripts: bool) -> None:
    person = meet(java_script_enabled=scripts)
    person.comes("forms@example.com", "/sponsor/profile")
    brand, website = person.page.get_by_label("Brand", exact=True), person.page.get_by_label("Website", exact=True)
    person.fills(Brand="Too  wide", Website="tools dot example")
    website.press("Enter")
    person.refused(400, "/sponsor/profile")
    expect(brand).to_be_focused()
    expect(brand).to_have_accessible_description(re.compile("Use one plain space between words."))
    expect(brand).to_have_js_property("value", "Too  wide")
    note = person.page.get_by_role("alert")
    expect(note).to_contain_text("Correct 2 fields.")
    note.get_by_role("link", name="Website").press("Enter")
    expect(website).to_be_focused()
    person.fills(Brand="Not wide")
    website.fill("tools.example.com")
    website.press("Enter")
    person.told("Your profile is saved.")


def test_a_group_of_boxes_has_the_focus_on_its_first_box(node: Service, meet: Meet) -> None:
    person = meet()
    person.comes("boxes@example.com", "/sponsor/webhooks")
    person.fills(Address="tools.example.com/hook")
    person.presses("Create the webhook")
    person.refused(400, "/sponsor/webhooks")
    first = person.page.get_by_role("checkbox").first
    expect(first).to_be_focused()
    expect(first).to_have_accessible_description("Choose at least one event.")
    first.press("Space")
    person.presses("Create the webhook")
    expect(person.page.get_by_text("whsec_")).to_be_visible()
