"""Sponsors, administrators and visitors at the pages of the service, each in a browser of their own."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from service.web.pages.parts.miniature import BETWEEN, CARDS_BEFORE, PHONE, WINDOW, miniature
from tests.acceptance.processes import Service, until
from tests.browser.conftest import ADMIN, Meet
from tests.browser.people import Person
from tests.browser.visitors import PLACEMENTS
from tests.browser.walking import counts
from tests.slow import smoke

PLAIN = {
    "Name of the ad": "Spring",
    "Headline": "Ledgers that balance themselves",
    "Text": "Every evening, before anybody asks.",
    "Call to action": "See how",
    "Target address": "https://ledgers.example.com/spring",
    "Logo letters": "LE",
}
"""Elements that only appear if hostile text became markup."""


@pytest.fixture
def admin(meet: Meet) -> Person:
    """An administrator at the review."""
    person = meet()
    person.comes(ADMIN, "/admin")
    return person


# What each does.


def makes_a_slot(admin: Person, name: str) -> None:
    admin.opens("/admin/slots")
    admin.follows("New slot")
    admin.fills(
        **{"Name": name, "Price per week (USD)": "12.00", "Weeks of one booking": "1", "Description (optional)": name}
    )
    admin.page.get_by_label("Side", exact=True).select_option("Right")
    admin.page.get_by_label("Active: the slot is sold").check()
    admin.presses("Create the slot")
    admin.told("The slot is created.")


def saves_a_profile(sponsor: Person, brand: str, website: str) -> None:
    sponsor.page.get_by_role("navigation", name="Sponsor").get_by_role("link", name="Profile").click()
    sponsor.fills(Brand=brand, Website=website)
    sponsor.presses("Save the profile")
    sponsor.told("Your profile is saved.")


def makes_a_campaign(sponsor: Person, creative: dict[str, str]) -> str:
    """Returns its path."""
    sponsor.follows("Write an ad first")
    counter = sponsor.page.locator("[data-count-of=headline]")
    for letters, told in ((41, ""), (42, "13 left."), (56, "1 too many.")):
        sponsor.fills(Headline="x" * letters)
        expect(counter).to_have_text(told)
    sponsor.fills(**creative)
    preview = sponsor.page.get_by_role("region", name="Preview", exact=True)
    for part in ("Headline", "Text", "Call to action", "Logo letters"):
        expect(preview).to_contain_text(creative[part])
    sponsor.presses("Send for review")
    sponsor.told("Your ad is created")
    return sponsor.page.url.removeprefix(sponsor.node.url).partition("?")[0]


def books(sponsor: Person, slot: str) -> None:
    """Open the form for the first free week of a slot from the calendar."""
    sponsor.opens("/sponsor/inventory")
    weeks = sponsor.page.get_by_role("row").filter(has_text=slot)
    weeks.get_by_role("link", name=", book ").first.click()
    sponsor.reads(f"Book {slot}")


def pays(sponsor: Person) -> str:
    """Reserve, go to checkout and pay there, whatever the week costs; returns the path of the booking."""
    price = sponsor.page.locator(".price").filter(visible=True).inner_text().partition(" ")[0]
    sponsor.presses("Book, pay within 30 minutes")
    sponsor.told("The week is held for you.")
    expect(sponsor.page.get_by_role("timer")).to_have_text(re.compile(r"^(30|29) minutes$"))
    path = sponsor.page.url.removeprefix(sponsor.node.url).partition("?")[0]
    sponsor.presses(f"Pay {price}")
    sponsor.reads("Checkout")
    sponsor.presses(f"Pay {price}")
    sponsor.reads("Paid")
    sponsor.follows("Back to the booking")
    expect(sponsor.page.get_by_role("main")).to_contain_text("You have paid")
    return path


def approves(admin: Person, campaign: str) -> None:
    admin.opens("/admin")
    review = admin.page.get_by_role("article", name=campaign, exact=True)
    review.get_by_role("button", name=f"Approve {campaign}", exact=True).click()
    admin.told("The ad is approved")


def id_of(path: str) -> str:
    """The id of a booking or a campaign, from the path of its page."""
    return path.rpartition("/")[2]


def is_placed(node: Service, headline: str) -> bool:
    return any(each["headline"] == headline for each in node.get(PLACEMENTS).json()["placements"])


def moves(sponsor: Person, campaign: str, button: str, headline: str, *, shown: bool) -> None:
    """Press a button of a campaign, and wait until its placement follows."""
    sponsor.opens(campaign)
    sponsor.presses(button)
    until(lambda: is_placed(sponsor.node, headline) == shown, what="the placements to follow")


@contextmanager
def placed(sponsor: Person, admin: Person, campaign: str, creative: dict[str, str]) -> Iterator[None]:
    """Approve a paid campaign so that it is shown; pause it at the end to restore the placements."""
    headline = creative["Headline"]
    approves(admin, creative["Name of the ad"])
    until(lambda: is_placed(sponsor.node, headline), what="the placement to be shown")
    try:
        yield
    finally:
        moves(sponsor, campaign, "Pause", headline, shown=False)


# What they do together.


@smoke
def test_a_sponsor_books_and_pays_an_administrator_approves_and_what_visitors_see_is_counted(
    node: Service, meet: Meet, admin: Person
) -> None:
    slot, headline, target = "Reading room", PLAIN["Headline"], PLAIN["Target address"]
    makes_a_slot(admin, slot)
    sponsor, visitor = meet(), meet()
    sponsor.comes("ledgers@example.com", "/sponsor")
    saves_a_profile(sponsor, "Ledgers", "https://ledgers.example.com")
    campaign = makes_a_campaign(sponsor, PLAIN)
    books(sponsor, slot)
    weeks = sponsor.page.get_by_label("Week", exact=True)
    weeks.select_option(index=1)
    expect(sponsor.page.locator(".price").filter(visible=True)).to_have_text("$12 for 1 week")
    weeks.select_option(index=0)
    booking = pays(sponsor)
    assert not is_placed(node, headline)

    with placed(sponsor, admin, campaign, PLAIN):
        link = visitor.page.get_by_role("link", name=headline, exact=True)
        visitor.opens("/")
        expect(visitor.page.get_by_role("complementary", name="Sponsored, right")).to_be_visible()
        link.scroll_into_view_if_needed()
        until(lambda: counts(node, id_of(booking)) == (1, 0), what="the impression to be counted")
        visitor.context.route(target, lambda route: route.fulfill(body="a sponsor's page"))
        link.click()
        visitor.page.wait_for_url(target)
        visitor.leaves(target)
        until(lambda: counts(node, id_of(booking)) == (1, 1), what="the click to be counted")

        sponsor.opens(booking)
        # On the first day of the run this is a sentence, later it is the title of a bar.
        expect(sponsor.page.locator(".plot")).to_contain_text("Today: 1 time shown, 1 click, 100.00 %")

        moves(sponsor, campaign, "Pause", headline, shown=False)
        visitor.opens("/")
        expect(link).to_have_count(0)
        moves(sponsor, campaign, "Resume", headline, shown=True)
        visitor.opens("/")
        expect(link).to_be_visible()


def test_ads_stand_where_the_page_in_small_shows_them(meet: Meet) -> None:
    page = (reader := meet()).page
    picture = miniature({"left": 2, "right": 3}, ("left",), 3)
    drawn = {(box.x, box.width) for box in picture.boxes}
    placed = "(all) => all.filter((each) => each.offsetWidth).map((each) => [each.offsetLeft, each.offsetWidth])"
    page.set_viewport_size({"width": WINDOW, "height": 900})
    reader.opens("/usecases")
    for seen in ("aside .creative", ".cards > .card"):
        stand = {(x, width) for x, width in page.locator(seen).evaluate_all(placed)}
        assert stand <= drawn, f"{seen} at {stand - drawn}"
        assert len(stand) == 2, "a rail on each side, and two columns of cards"
    page.set_viewport_size({"width": WINDOW - 1, "height": 900})
    assert page.locator("aside .creative").evaluate_all(placed) == []
    page.set_viewport_size({"width": PHONE, "height": 900})
    column = {(x + WINDOW + BETWEEN, width) for x, width in page.locator(".cards > li").evaluate_all(placed)}
    assert column <= drawn
    order = page.locator(".cards > li").evaluate_all("(all) => all.slice(0, 5).map((each) => each.className)")
    assert order == ["card"] * CARDS_BEFORE + ["creative", "card"]
