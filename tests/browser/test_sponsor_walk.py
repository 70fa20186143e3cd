"""A sponsor's way from the front page to the report of a week, and from a rejected campaign to the money."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.acceptance.processes import Service, until
from tests.browser.acting import pays
from tests.browser.conftest import ADMIN, Meet
from tests.browser.people import Person
from tests.browser.test_sponsoring import id_of, is_placed
from tests.browser.walking import (
    NUMBERS,
    WAYS,
    Sponsor,
    counts,
    decides,
    ends,
    fits,
    link_in_mail,
    makes_slots,
    reports,
    way_id,
)
from tests.slow import smoke

SCREENS_TO_PAY = 7
"""Front page, prices, email, code, booking, checkout, paid."""

walks = pytest.mark.parametrize(("viewport", "scripts"), WAYS, ids=way_id)


def status_of(person: Person, path: str, words: str) -> None:
    """Open a booking, which says this."""
    person.opens(path)
    expect(person.page.get_by_role("main")).to_contain_text(words)


def heads(person: Person, path: str, state: str) -> None:
    """Open a booking, which has this badge."""
    person.opens(path)
    expect(person.page.get_by_role("heading", level=1)).to_contain_text(state)


@walks
def test_a_sponsor_goes_from_the_front_page_to_the_report_of_a_week(
    node: Service, meet: Meet, viewport: ViewportSize, scripts: bool, tmp_path: Path
) -> None:
    number = next(NUMBERS)
    slot, email, headline = f"walked-{number}", f"walked{number}@example.com", f"Ledgers, number {number}"
    makes_slots(node, slot)
    admin, sponsor = meet(), meet(viewport=viewport, java_script_enabled=scripts)
    admin.comes(ADMIN, "/admin")

    pays(sponsor, slot, email, headline)
    assert len(sponsor.screens) == SCREENS_TO_PAY, sponsor.screens
    sponsor.follows("Back to the booking")
    expect(sponsor.page.get_by_role("main")).to_contain_text("shown once an administrator has approved")
    booking = sponsor.page.url.removeprefix(node.url).partition("?")[0]
    fits(sponsor)

    campaign = str(sponsor.page.locator("dd a[href^='/sponsor/campaigns/']").get_attribute("href"))
    reviewed = f"campaigns/{id_of(campaign)}/review"
    decides(admin, reviewed, decision="reject", note="Name the product.")
    sponsor.opens("/sponsor")
    waiting = sponsor.page.get_by_role("region", name="Waiting for you")
    waiting.get_by_role("link", name=re.compile("^See what you can do")).click()
    expect(sponsor.page.get_by_text("Name the product.")).to_be_visible()
    fits(sponsor)
    sponsor.follows("Edit the ad")
    expect(sponsor.page.get_by_text("Name the product.")).to_be_visible()
    fits(sponsor)
    sponsor.fills(Headline=f"{headline}, edited")
    sponsor.presses("Save and send for review")
    sponsor.told("Your ad is sent")
    decides(admin, reviewed, decision="approve")
    until(lambda: is_placed(node, f"{headline}, edited"), what="the placement")

    known = id_of(booking)
    reports(admin, known, "impression")
    reports(admin, known, "click")
    until(lambda: counts(node, known) == (1, 1), what="the events to be counted")
    heads(sponsor, booking, "Running")
    reads_the_report(sponsor, booking, tmp_path)
    prints_the_invoice(sponsor, slot)

    ends(node, known)
    until(lambda: "Times shown: 1\n" in mails_to(node, email), what="the mail of the end")
    heads(sponsor, booking, "Ended")
    fits(sponsor)


def reads_the_report(sponsor: Person, booking: str, place: Path) -> None:
    sponsor.follows("Report to print")
    expect(sponsor.page.get_by_role("heading", level=1)).to_contain_text("Report")
    fits(sponsor)
    with sponsor.page.expect_download() as download:
        sponsor.follows("Download CSV")
    download.value.save_as(place / "delivery.csv")
    with (place / "delivery.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert (rows[-1]["impressions"], rows[-1]["clicks"]) == ("1", "1")
    goes_up(sponsor)
    expect(sponsor.page).to_have_url(f"{sponsor.node.url}{booking}")


def prints_the_invoice(sponsor: Person, slot: str) -> None:
    """The invoice fills one sheet of paper, without the navigation."""
    sponsor.page.get_by_role("link", name=re.compile("^Invoice TEST-INV-")).click()
    expect(sponsor.page.get_by_role("article")).to_contain_text(slot)
    fits(sponsor)
    sheets = sponsor.page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", sheets)) == 1
    sponsor.page.emulate_media(media="print")
    expect(sponsor.page.get_by_role("navigation")).to_have_count(0)
    sponsor.page.emulate_media(media="screen")
    button = sponsor.page.get_by_role("button", name="Print", exact=True)
    expect(button).to_be_visible(visible=sponsor.scripts)
    if sponsor.scripts:
        sponsor.page.evaluate("window.print = () => (document.title = 'printed')")
        button.click()
        assert sponsor.page.title() == "printed"
    goes_up(sponsor)


def goes_up(person: Person) -> None:
    """Follow the last crumb, to the page above this one."""
    person.page.get_by_role("navigation", name="You are here").get_by_role("link").last.click()


def mails_to(node: Service, email: str) -> str:
    """The mails to an email."""
    return " ".join(re.findall(rf"<dt>To</dt>\s*<dd>{email}</dd>.*?</pre>", node.get("/dev/outbox").text, re.DOTALL))


@walks
def test_a_sponsor_of_a_rejected_campaign_asks_for_the_money_is_declined_and_gets_it(
    node: Service, meet: Meet, viewport: ViewportSize, scripts: bool
) -> None:
    number = next(NUMBERS)
    slot, unseen = f"asked-{number}", f"unseen-{number}"
    makes_slots(node, slot, unseen)
    admin, owner = meet(), meet(viewport=viewport, java_script_enabled=scripts)
    admin.comes(ADMIN, "/admin")
    sponsor = Sponsor(node, meet(), f"asking{number}@example.com")
    campaign = sponsor.submits(f"Asked {number}")
    asked = sponsor.pays(campaign, slot, number * 10)
    never = sponsor.pays(campaign, unseen, number * 10 + 1)
    decides(admin, f"campaigns/{campaign}/review", decision="reject", note="Not here.")

    owner.comes(sponsor.email, f"/sponsor/bookings/{asked}")
    expect(owner.page.get_by_text("Not here.")).to_be_visible()
    asks(owner, "It cannot be changed.")
    fits(owner)
    decides(admin, f"bookings/{asked}/refund-decline", note="Name the product, and it can run.")
    owner.opens(f"/sponsor/bookings/{asked}")
    expect(owner.page.get_by_text("Name the product, and it can run.")).to_be_visible()
    fits(owner)
    asks(owner, "It still cannot.")
    decides(admin, f"bookings/{asked}/refund")
    until(lambda: sponsor.booking(asked)["status"] == "refunded", what="the refund")
    status_of(owner, f"/sponsor/bookings/{asked}", "was refunded")
    fits(owner)
    owner.page.get_by_role("link", name=re.compile("^Invoice TEST-INV-")).click()
    owner.page.get_by_role("region", name="Other documents of this booking").get_by_role("link").click()
    expect(owner.page.get_by_role("heading", level=1)).to_contain_text("Credit note")
    fits(owner)

    ends(node, never)
    until(lambda: sponsor.booking(never)["status"] == "refunded", what="the refund of what nobody saw")
    status_of(owner, f"/sponsor/bookings/{never}", "Nobody saw the ad")
    owner.follows("Choose another week")
    owner.reads("Choose your week")


def asks(owner: Person, reason: str) -> None:
    owner.fills(**{"Why?": reason})
    owner.page.get_by_role("button", name=re.compile(r"^Ask for a refund of \$")).click()
    owner.told("Your request is sent.")
    expect(owner.page.get_by_text(reason)).to_be_visible()


@walks
@smoke
def test_a_sponsor_adds_a_webhook_chooses_mails_and_turns_them_off_from_a_mail(
    node: Service, meet: Meet, viewport: ViewportSize, scripts: bool
) -> None:
    number = next(NUMBERS)
    slot, email = f"told-{number}", f"told{number}@example.com"
    makes_slots(node, slot)
    sponsor = Sponsor(node, meet(), email)
    sponsor.pays(sponsor.submits(f"Told {number}"), slot, number * 10)
    owner = meet(viewport=viewport, java_script_enabled=scripts)
    owner.comes(email, "/sponsor")

    owner.page.get_by_role("navigation", name="Sponsor").get_by_role("link", name="Webhooks").click()
    owner.reads("Webhooks")
    owner.fills(Address="https://tools.example.com/hook")
    owner.page.get_by_label(re.compile("booking.paid")).check()
    owner.presses("Create the webhook")
    owner.reads("Your new webhook")
    expect(owner.page.get_by_role("region", name="The secret")).to_contain_text("whsec_")
    fits(owner)
    owner.follows("I copied it, go on to the webhook")
    owner.presses("Send a test")
    owner.told("A test is on its way.")
    expect(owner.page.get_by_role("rowheader")).not_to_have_count(0)
    fits(owner)
    owner.page.locator("summary", has_text="Delete the webhook").click()
    owner.presses("Delete it for good")
    owner.told("The webhook is deleted.")

    reader = meet(viewport=viewport, java_script_enabled=scripts)
    until(lambda: "unsubscribe" in mails_to(node, email), what="a mail that can be turned off")
    reader.opens(link_in_mail(node, email, "unsubscribe"))
    reader.reads("Turn mails off")
    fits(reader)
    reader.presses("Turn these mails off")
    reader.reads("These mails are turned off")
    fits(reader)
    owner.opens("/dashboard/settings")
    choices = owner.page.get_by_role("region", name="Mails", exact=True)
    off = choices.get_by_role("checkbox", checked=False)
    expect(off).to_have_count(1)
    off.check()
    choices.get_by_role("button", name="Save", exact=True).click()
    owner.told("Your choice of mails is saved.")
    expect(choices.get_by_role("checkbox", checked=False)).to_have_count(0)
