"""An administrator's way from the front page: approve, reject, refund, find and suspend an account, and take a list along."""

import csv
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.acceptance.processes import Service, until
from tests.browser.conftest import ADMIN, Meet
from tests.browser.looking import sticking_out, violations
from tests.browser.people import DESKTOP, PHONE, Person
from tests.slow import SLOW

NUMBERS = count(1)
WAYS = [(PHONE, False), *([(DESKTOP, True), (DESKTOP, False), (PHONE, True)] if SLOW else [])]
WEEK_MS = 7 * 24 * 3_600_000


class Sponsor:
    """A sponsor who uses the API."""

    def __init__(self, node: Service, person: Person, email: str) -> None:
        self.node, self.person, self.email = node, person, email
        self.brand = f"Brand {email.partition('@')[0]}"
        self._headers = {"authorization": f"Bearer {node.command('issue-key', '--email', email).strip()}"}
        self.sends("PATCH", "profile", {"name": self.brand, "website": "https://tools.example.com/"})

    def sends(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.person.context.request.fetch(
            f"/api/v1/sponsors/{path}", method=method, headers=self._headers, data=body
        )
        assert answer.ok, answer.text()
        return answer.json()

    def submits(self, name: str) -> str:
        """The id of a campaign."""
        words = {"headline": f"{name}, your ledger", "body": "Balances every evening.", "cta": "See how"}
        body = {"name": name, **words, "targetUrl": "https://tools.example.com/start", "logoText": "LE"}
        return str(self.sends("POST", "campaigns", body)["campaign"]["id"])

    def pays(self, campaign: str, slot: str, number: int) -> str:
        """Book and pay this week of a slot; returns the booking's id."""
        week = self.person.context.request.get("/api/v1/sponsors/inventory").json()["weekStart"]
        key = f"00000000-0000-4000-8000-{number:012d}"
        body = {"campaignId": campaign, "slotId": slot, "weekStart": week, "idempotencyKey": key}
        booking = str(self.sends("POST", "bookings", body)["booking"]["id"])
        checkout = self.sends("POST", f"bookings/{booking}/checkout")["checkoutUrl"]
        paid = self.person.context.request.post(checkout, form={"do": "pay"}, headers={"origin": self.node.url})
        assert paid.ok, paid.text()
        return booking


def fits(person: Person) -> None:
    """The page needs no scrolling sideways, once its styles are there."""
    person.page.wait_for_load_state()
    assert sticking_out(person.page) == []


@pytest.mark.parametrize(
    ("viewport", "scripts"), WAYS, ids=lambda each: str(each["width"]) if isinstance(each, dict) else ""
)
def test_an_administrator_approves_rejects_refunds_suspends_and_takes_a_list_along(
    node: Service, meet: Meet, viewport: ViewportSize, scripts: bool, tmp_path: Path
) -> None:
    number = next(NUMBERS)
    slot = f"walk-{number}"
    node.command("create-slot", "--id", slot, "--name", slot, "--side", "left", "--week-price-cents", "2500")
    node.command(
        "create-slot", "--id", f"{slot}-b", "--name", f"{slot}-b", "--side", "left", "--week-price-cents", "2500"
    )
    sponsor = Sponsor(node, meet(), f"walker{number}@example.com")
    good, bad = f"Good {number}", f"Bad {number}"
    campaign = sponsor.submits(good)
    first = sponsor.pays(campaign, slot, number * 10)
    sponsor.pays(campaign, f"{slot}-b", number * 10 + 1)
    sponsor.submits(bad)

    admin = meet(viewport=viewport, java_script_enabled=scripts)
    admin.comes(ADMIN, "/")
    admin.follows("Admin")
    admin.reads("Campaigns: waiting for review")
    review = admin.page.get_by_role("article", name=good, exact=True)
    expect(review).to_contain_text("Begins on")
    expect(review).to_contain_text("0 approved, 0 rejected before")
    ad = review.locator(".embedded")
    assert ad.bounding_box() is not None
    assert round((ad.bounding_box() or {"width": 0})["width"]) == 224
    fits(admin)
    review.get_by_role("button", name=f"Approve {good}", exact=True).click()
    admin.told("The campaign is approved")
    until(lambda: f"{good}, your ledger" in node.get("/api/v1/sponsors/placements").text, what="the placement")

    review = admin.page.get_by_role("article", name=bad, exact=True)
    review.get_by_label("Note to the sponsor").fill("Say what it does.")
    review.get_by_role("button", name=f"Reject {bad}", exact=True).click()
    admin.told("The campaign is rejected.")

    admin.page.get_by_role("navigation", name="Administration").get_by_role(
        "link", name=re.compile("^Bookings")
    ).click()
    admin.reads("Bookings")
    admin.fills(**{"Sponsor, booking or payment": sponsor.brand})
    admin.presses("Filter")
    row = admin.page.get_by_role("row").filter(has_text=first)
    fits(admin)
    row.locator("summary", has_text="Refund").click()
    row.get_by_label("Reason").fill("The week was not delivered.")
    row.get_by_label(re.compile("Yes, refund")).check()
    row.get_by_role("button", name="Order the refund").click()
    admin.told("The refund is ordered.")
    with admin.page.expect_download() as download:
        admin.follows("Download CSV")
    download.value.save_as(tmp_path / "bookings.csv")
    with (tmp_path / "bookings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {each["sponsor"] for each in rows} == {sponsor.brand}
    assert len(rows) == 2

    admin.page.get_by_role("navigation", name="Administration").get_by_role("link", name="Accounts").click()
    admin.reads("Accounts")
    fits(admin)
    admin.fills(**{"Email, sponsor or account id": sponsor.email})
    admin.presses("Search")
    admin.follows(sponsor.email)
    admin.reads(sponsor.email)
    fits(admin)
    admin.page.locator("#reason").fill("The ads lead to malware.")
    admin.presses("Suspend the account")
    admin.told("The account is suspended.")
    until(
        lambda: f"{good}, your ledger" not in node.get("/api/v1/sponsors/placements").text, what="the placement to go"
    )
    admin.page.get_by_label("Yes, refund all its weeks and release them").check()
    admin.presses("Refund all its weeks")
    admin.told("The refunds are ordered.")
    fits(admin)

    owner = meet(viewport=viewport, java_script_enabled=scripts)
    owner.comes(sponsor.email, "/sponsor")
    owner.reads("This account is suspended")
    expect(owner.page.get_by_text("The ads lead to malware.")).to_be_visible()
    fits(owner)
    if scripts:
        assert violations(owner.page) == []

    admin.presses("Restore the account")
    admin.told("The account is restored.")
    owner.opens("/sponsor")
    expect(owner.page).to_have_url(f"{node.url}/sponsor")
