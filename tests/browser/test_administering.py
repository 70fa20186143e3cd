"""An administrator's way from the front page: approve, reject, refund, find and suspend an account, and take a list along."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.acceptance.processes import Service, until
from tests.browser.conftest import ADMIN, Meet
from tests.browser.people import PHONE, Person
from tests.browser.walking import NUMBERS, WAYS, Sponsor, fits, makes_slot, makes_slots, way_id

SCREENS = 24
"""From the front page to the restored account, with each page that a form leads back to."""


@pytest.mark.parametrize(("viewport", "scripts"), WAYS, ids=way_id)
def test_an_administrator_approves_rejects_refunds_suspends_and_takes_a_list_along(
    node: Service, meet: Meet, viewport: ViewportSize, scripts: bool, tmp_path: Path
) -> None:
    number = next(NUMBERS)
    slot = f"led-{number}"
    makes_slots(node, slot, f"{slot}-b", f"{slot}-c")
    sponsor = Sponsor(node, meet(), f"walker{number}@example.com")
    good, bad = f"Good {number}", f"Bad {number}"
    campaign = sponsor.submits(good)
    first = sponsor.pays(campaign, slot, number * 10)
    sponsor.pays(campaign, f"{slot}-b", number * 10 + 1)
    third = sponsor.pays(campaign, f"{slot}-c", number * 10 + 2)
    sponsor.submits(bad)

    admin = meet(viewport=viewport, java_script_enabled=scripts)
    admin.opens("/")
    admin.follows("Sign in")
    admin.fills(Email=ADMIN)
    admin.presses("Send the code")
    admin.fills_in_the_code(ADMIN)
    admin.presses("Sign in")
    if viewport == PHONE:
        admin.page.get_by_text("Menu", exact=True).click()
    admin.page.get_by_role("link", name=re.compile("^Admin")).filter(visible=True).first.click()
    expect(admin.page.get_by_role("heading", level=1, name=re.compile("waiting for you$"))).to_be_visible()
    review = admin.page.get_by_role("article", name=good, exact=True)
    expect(review).to_contain_text(re.compile("Begins on|Weeks running, ad not shown yet"))
    expect(review).to_contain_text("New: no ad decided on yet")
    ad = review.locator(".creative")
    assert ad.bounding_box() is not None
    assert round((ad.bounding_box() or {"width": 0})["width"]) == 224
    fits(admin)
    review.get_by_role("button", name=f"Approve {good}", exact=True).click()
    admin.told("The ad is approved")
    until(lambda: f"{good}, your ledger" in node.get("/api/v1/sponsors/placements").text, what="the placement")

    review = admin.page.get_by_role("article", name=bad, exact=True)
    review.get_by_label("Note to the sponsor").fill("Say what it does.")
    review.get_by_role("button", name=f"Reject {bad}", exact=True).click()
    admin.told("The ad is rejected.")

    reads_an_edit_beside_the_approved_words(admin, sponsor, campaign, good)
    declines_a_request_and_grants_the_next(admin, sponsor, third)

    goes_to(admin, "Bookings")
    admin.reads("Bookings")
    admin.fills(**{"Sponsor, slot, booking or payment": sponsor.brand})
    admin.presses("Filter")
    fits(admin)
    rows = taken_along(admin, tmp_path)
    assert {each["sponsor"] for each in rows} == {sponsor.brand}
    assert len(rows) == 3
    admin.page.locator(f'th a[href="/admin/bookings/{first}"]').click()
    admin.page.get_by_text("Refund this booking").click()
    admin.page.locator("#reason").fill("The week was not delivered.")
    admin.page.get_by_label(re.compile("Yes, refund")).check()
    fits(admin)
    admin.presses("Order the refund")
    admin.told("The refund is ordered.")

    goes_to(admin, "Revenue")
    admin.reads("Revenue")
    fits(admin)
    [month] = [each for each in taken_along(admin, tmp_path) if each["mode"] == "test"]
    assert int(month["payments"]) >= 3
    goes_to(admin, "Accounts")
    admin.reads("Accounts")
    fits(admin)
    assert sponsor.email in {each["email"] for each in taken_along(admin, tmp_path)}
    admin.fills(**{"Email, sponsor or account id": sponsor.email})
    admin.presses("Search")
    admin.follows(sponsor.email)
    expect(admin.page.get_by_role("heading", level=1, name=re.compile(f"^{re.escape(sponsor.email)}"))).to_be_visible()
    fits(admin)
    admin.page.get_by_text("Suspend this account").click()
    admin.page.locator("#reason").fill("The ads lead to malware.")
    admin.presses("Suspend the account")
    admin.told("The account is suspended.")
    until(
        lambda: f"{good}, your ledger" not in node.get("/api/v1/sponsors/placements").text, what="the placement to go"
    )
    admin.page.locator("summary", has_text="Refund all its weeks").click()
    admin.page.get_by_label("Yes, refund all its weeks and release them").check()
    admin.presses("Refund all its weeks")
    admin.told("The refunds are ordered.")
    fits(admin)

    owner = meet(viewport=viewport, java_script_enabled=scripts)
    owner.comes(sponsor.email, "/sponsor")
    owner.reads("This account is suspended")
    expect(owner.page.get_by_text("The ads lead to malware.")).to_be_visible()
    fits(owner)

    admin.presses("Restore the account")
    admin.told("The account is restored.")
    owner.opens("/sponsor")
    expect(owner.page).to_have_url(f"{node.url}/sponsor")
    assert len(admin.screens) == SCREENS, admin.screens


def goes_to(admin: Person, place: str) -> None:
    places = admin.page.get_by_role("navigation", name="Administration")
    places.get_by_role("link", name=re.compile(f"^{place}")).click()


def taken_along(admin: Person, place: Path) -> list[dict[str, str]]:
    """The rows of the file that the page offers."""
    with admin.page.expect_download() as download:
        admin.follows("Download CSV")
    download.value.save_as(place / "list.csv")
    with (place / "list.csv").open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def reads_an_edit_beside_the_approved_words(admin: Person, sponsor: Sponsor, campaign: str, name: str) -> None:
    """Approve an edit of a campaign that is shown; until then its approved words are."""
    sponsor.sends("PATCH", f"campaigns/{campaign}", {"headline": f"{name}, your edited ledger"})
    goes_to(admin, "Review")
    review = admin.page.get_by_role("article", name=name, exact=True)
    expect(review).to_contain_text("Edit of an approved ad")
    expect(review.locator(".creative:visible .headline")).to_have_text([f"{name}, your edited ledger"])
    expect(review.locator("ins")).to_have_text(re.compile("edited"))
    review.locator("summary", has_text="As visitors see it now").click()
    expect(review.locator(".creative:visible .headline")).to_have_text(
        [f"{name}, your edited ledger", f"{name}, your ledger"]
    )
    beside = (admin.page.viewport_size or PHONE)["width"] > PHONE["width"]
    # In one look, because a page that is still being laid out moves between two.
    tops = review.locator(".review > div").evaluate_all("all => all.map(each => each.getBoundingClientRect().top)")
    assert len(tops) == 2
    assert (tops[0] == tops[1]) is beside
    fits(admin)
    review.get_by_role("button", name=f"Approve {name}", exact=True).click()
    admin.told("The ad is approved")
    placements = "/api/v1/sponsors/placements"
    until(lambda: "your edited ledger" in sponsor.node.get(placements).text, what="the edit to be shown")


def declines_a_request_and_grants_the_next(admin: Person, sponsor: Sponsor, booking: str) -> None:
    sponsor.sends("POST", f"bookings/{booking}/refund-request", {"reason": "The week was booked by mistake."})
    goes_to(admin, "Review")
    request = admin.page.get_by_role("article", name=re.compile(f" to {sponsor.brand}$"))
    expect(request).to_contain_text("The week was booked by mistake.")
    fits(admin)
    request.get_by_label("Note to the sponsor").fill("It is shown already.")
    request.get_by_role("button", name=re.compile("^Decline")).click()
    admin.told("The request is declined.")
    assert sponsor.booking(booking)["refundDeclinedNote"] == "It is shown already."
    sponsor.sends("POST", f"bookings/{booking}/refund-request", {"reason": "It is not shown to my customers."})
    goes_to(admin, "Review")
    request.get_by_label(re.compile("Yes, refund USD")).check()
    request.get_by_role("button", name=re.compile("^Refund")).click()
    admin.told("The refund is ordered.")
    until(lambda: sponsor.booking(booking)["status"] == "refunded", what="the refund")


def test_the_bookings_fit_with_long_names_and_what_to_do_is_always_in_sight(node: Service, meet: Meet) -> None:
    number = next(NUMBERS)
    slot, name = f"long-{number}", "Left column of the pages about everything, for the whole season of " + "letters" * 4
    makes_slot(node, slot, name)
    sponsor = Sponsor(
        node, meet(), f"long{number}@example.com", "Unabbreviatedincorporatedcompany of many letters and few"
    )
    booking = sponsor.pays(sponsor.submits("Ad" + "verylong" * 4), slot, number)
    sponsor.sends("POST", f"bookings/{booking}/refund-request", {"reason": "A mistake."})
    admin = meet()
    admin.comes(ADMIN, "/admin/bookings")
    for width in (1280, 1366, 900, 660):
        admin.page.set_viewport_size({"width": width, "height": 800})
        admin.opens("/admin/bookings")
        fits(admin)
        row = admin.page.get_by_role("row").filter(has=admin.page.locator(f'a[href="/admin/bookings/{booking}"]'))
        box, table = row.get_by_role("link", name="Decide").bounding_box(), admin.page.locator(".table").bounding_box()
        assert box is not None
        assert table is not None
        assert box["x"] + box["width"] <= table["x"] + table["width"], width
        wide = admin.page.locator(".table").evaluate("each => each.scrollWidth - each.clientWidth")
        assert wide <= 0 or width < 1280, f"{wide} px beside the box at {width}"
        assert row.locator(f'bdi[title="{name}"]').count() == 1
