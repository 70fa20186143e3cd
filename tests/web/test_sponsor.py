"""The sponsor's pages, used by links and forms without scripts."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from actors.bookings.payments import Checkout, PaymentsRefused, RefundAttempt
from actors.bookings.records import BillingDetails, Booking, CampaignStatus, PackageKind, Side
from actors.bookings.transitions import CampaignMove
from actors.clock import DAY_MS, MINUTE_MS, SECOND_MS, day_of
from actors.times import WEEK_MS
from actors.values import Agent
from service.web.pages.parts.notices import NOTICES
from service.web.pages.parts.words import date
from service.web.pages.sponsor.bookings import GONE, WEEKS, new_uuid
from service.web.pages.sponsor.calendar import Cell, cell_of
from tests.api.sponsors import ADMIN, CAMPAIGN, NEXT_WEEK, PROFILE, THIS_WEEK, add_slot, administrator
from tests.api.world import NOON_MS, World, open_world
from tests.fakes import SeededEntropy
from tests.snapshots.rows import hold, slot, week
from tests.web.browser import Browser
from tests.web.visitors import FORM, Visitor

SPONSOR = "sponsor@example.com"
AGENT = Agent("session", "ses_admin", ADMIN)
BRAND = {name: CAMPAIGN[name] for name in ("headline", "body")} | PROFILE


def browser(world: World, email: str = SPONSOR) -> Browser:
    return Browser(world, world.session(email))


async def stock(world: World, slot_id: str = "left-top", **fields: Any) -> None:
    """A slot in the calendar."""
    world.sponsorship_store.keep(add_slot(world, slot_id, **fields))
    await world.settled()


async def with_campaign(world: World, email: str = SPONSOR) -> tuple[Browser, str]:
    """A sponsor with a profile and a campaign, and the path of its page."""
    person = browser(world, email)
    await person.open("/sponsor/profile")
    await person.press("save", **PROFILE)
    await person.open("/sponsor/campaigns/new")
    await person.press("create", **CAMPAIGN)
    return person, person.at.partition("?")[0]


async def booked(world: World, at: int = NEXT_WEEK) -> tuple[Browser, str]:
    """A sponsor with a held booking, and the path of its page."""
    if "left-top" not in world.memory.slots:
        await stock(world)
    person, _ = await with_campaign(world)
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={at}")
    await person.press("reserve")
    assert person.status == 200, person.text
    return person, person.at.partition("?")[0]


async def test_forms_are_paced_per_account_from_all_addresses_and_use_no_quota() -> None:
    async with open_world(TIERS__CLAIMED__PER_MINUTE=3) as world:
        people = [browser(world), browser(world)]
        headers = [{"cookie": f"__Host-session={each.token}", "sec-fetch-site": "same-origin"} for each in people]

        async def save(number: int) -> int:
            body = urlencode({"do": "save"} | PROFILE | {"name": f"Name {number}"}).encode()
            address = f"2001:db8:0:{number}::1"
            sent = {**headers[number % 2], "content-type": FORM}
            return (await world.client.post("/sponsor/profile", headers=sent, body=body, address=address)).status

        assert [await save(number) for number in range(5)] == [303, 303, 303, 429, 429]
        [profile] = world.memory.sponsors.values()
        assert profile.name == "Name 2"
        limited = await world.client.request(
            "PATCH", "/api/v1/sponsors/profile", headers=headers[0], json=PROFILE, address="192.0.2.9"
        )
        assert limited.words == "429 rate_limited", "the sessions of an account have one limit"
        for _ in range(5):
            await people[0].open("/sponsor/profile")
            assert people[0].status == 200, "what pages show is limited per address"
        await people[0].press("save", **PROFILE)
        assert people[0].status == 429
        assert "That was too fast." in people[0].text
        assert await Browser(world, world.session("other@example.com")).open("/sponsor/profile")
        assert all(tenant.month_used == 0 for tenant in world.memory.tenants.values())
        world.clock.at_ms += MINUTE_MS
        assert await save(6) == 303


async def approve(world: World, campaign_path: str) -> None:
    campaign_id = campaign_path.rpartition("/")[2]
    told = await administrator(world).post(f"{ADMIN}/campaigns/{campaign_id}/review", {"decision": "approve"})
    assert told.words == "200"
    await world.settled()


async def test_a_pause_takes_the_ad_from_the_readers_until_it_is_resumed(world: World) -> None:
    person, booking = await booked(world, THIS_WEEK)
    await person.press("checkout")
    await person.press("pay")
    [campaign] = {link for link in (await person.open(booking)).links if link.startswith("/sponsor/campaigns/cmp_")}
    await approve(world, campaign)
    for move, shown in (("pause", []), ("resume", [CAMPAIGN["headline"]])):
        await person.open(campaign)
        await person.press(move)
        assert NOTICES[f"campaign_{move}"] in person.text
        await world.settled()
        placements = (await world.client.get("/api/v1/sponsors/placements")).json["placements"]
        assert [each["headline"] for each in placements] == shown


class Elsewhere:
    """A processor with pages of its own."""

    async def checkout(
        self, booking: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        return Checkout(f"https://pay.example.com/{booking.id}?a=1&b=2", booking.hold_ms)

    async def invoice_url(self, booking: Booking) -> str | None:
        raise PaymentsRefused("nothing was paid")

    async def refund(self, booking: Booking) -> RefundAttempt:
        raise PaymentsRefused("nothing was paid")


async def test_to_a_page_of_a_processor_leads_a_link_since_forms_stay_here(world: World) -> None:
    person, booking = await booked(world)
    world.services.payments = Elsewhere()
    await person.press("checkout")
    assert person.status == 200
    assert f"https://pay.example.com/{booking.rpartition('/')[2]}?a=1&b=2" in person.page.links
    assert booking in person.page.links


# What comes to nothing.


async def test_a_campaign_form_sent_twice_creates_one_campaign_and_takes_no_other_text(world: World) -> None:
    person = browser(world)
    await person.open("/sponsor/campaigns/new")
    form = person.form_with("create")
    await person.send(form, "create", **CAMPAIGN)
    first = person.at
    await person.send(form, "create", **CAMPAIGN)
    assert person.at == first
    await person.send(form, "create", **{**CAMPAIGN, "headline": "Another headline"})
    assert "This form was sent before with other values." in person.text
    assert person.form_with("create").fields["form_id"] != form.fields["form_id"]
    assert len(world.memory.campaigns) == 1


async def test_a_form_sent_twice_reserves_once_and_says_so_for_another_week(world: World) -> None:
    await stock(world)
    person, _ = await with_campaign(world)
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}")
    form = person.form_with("reserve")
    await person.send(form, "reserve")
    first = person.at
    await person.send(form, "reserve")
    assert (person.at, len(world.memory.bookings)) == (first, 1)
    await person.send(form, "reserve", weekStart=str(NEXT_WEEK + WEEK_MS))
    assert person.status == 409
    assert "This form has made another booking already, so nothing was booked now." in person.text
    assert person.form_with("reserve").fields["idempotencyKey"] != form.fields["idempotencyKey"]
    await person.press("reserve")
    assert len(world.memory.bookings) == 2


async def test_a_week_that_was_taken_meanwhile_is_said_and_what_was_typed_is_kept(world: World) -> None:
    await stock(world)
    person = browser(world)
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}")
    form = person.form_with("start")
    world.sponsorship_store.keep(hold("other", NOON_MS + 30 * MINUTE_MS, "left-top", start=1))
    await world.settled()
    await person.send(form, "start", **BRAND)
    assert person.status == 409
    again = person.form_with("start")
    assert {name: again.fields[name] for name in BRAND} == BRAND
    assert str(NEXT_WEEK) not in again.options["weekStart"]
    await person.press("start", weekStart=str(NEXT_WEEK + WEEK_MS))
    assert NOTICES["reserved"] in person.text


async def test_a_stale_campaign_page_says_why_and_shows_how_it_stands(world: World) -> None:
    person, campaign = await with_campaign(world)
    withdraw = person.form_with("withdraw")
    await approve(world, campaign)
    await person.send(withdraw, "withdraw")
    assert person.status == 409
    assert "This ad is approved now, so it cannot be withdrawn." in person.text
    assert person.form_with("pause").buttons == ["pause"]


async def test_a_stale_booking_page_says_why_and_shows_how_it_stands(world: World) -> None:
    person, booking = await booked(world)
    cancel, checkout = person.form_with("cancel"), person.form_with("checkout")
    await person.send(cancel, "cancel")
    assert NOTICES["booking_cancelled"] in person.text
    await person.send(checkout, "checkout")
    assert person.status == 409
    assert "You cancelled the booking and paid nothing." in person.text
    assert (await person.open(booking)).forms == person.page.forms


@pytest.mark.parametrize("what", ["campaign", "booking"])
async def test_what_is_anothers_is_not_found_and_stays_as_it_is(world: World, what: str) -> None:
    person, booking = await booked(world)
    [campaign] = {link for link in person.page.links if link.startswith("/sponsor/campaigns/cmp_")}
    path, button = {"campaign": (campaign, "withdraw"), "booking": (booking, "cancel")}[what]
    await person.open(path)
    form = person.form_with(button)
    other = browser(world, "other@example.com")
    before = repr((world.memory.campaigns, world.memory.bookings))
    await other.open(path)
    assert other.status == 404
    await other.send(form, button)
    assert other.status == 404
    assert person.text != other.text
    assert repr((world.memory.campaigns, world.memory.bookings)) == before


async def test_a_form_for_a_slot_that_is_retired_in_the_meantime_keeps_what_was_typed_and_leads_to_the_calendar(
    world: World,
) -> None:
    await stock(world)
    person = browser(world)
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}")
    form = person.form_with("start")
    await Visitor(world, world.session("admin@example.com", admin=True)).send("/admin/slots/left-top", do="retire")
    for _ in range(2):
        await person.press("start", **BRAND)
        assert (person.status, person.form_with("start").fields["headline"]) == (400, BRAND["headline"])
        assert f"{GONE} Nothing was booked now. Choose another one in the calendar." in person.text
        assert "/sponsor/inventory" in person.page.links
    for name, bad in (("side", "up"), ("durationWeeks", "9" * 15), ("weekPriceCents", "much"), ("name", "")):
        await person.send(form, "start", **{f"seen-{name}": bad})
        assert (person.status, f"{GONE} Nothing was booked." in person.text) == (404, True)
    assert not world.memory.bookings


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "Left <b>"}, "it is now called Left <b>."),
        ({"side": Side.RIGHT}, "it is now on the right of the page."),
        ({"week_price_cents": 13_000}, "a week now costs $130."),
        ({"weeks": 2}, "it is now sold by 2 weeks."),
        ({"package_kind": PackageKind.BUNDLE, "name": "Both"}, "it is now called Both, it now has a video."),
        ({"description": "Anew"}, "its description is now: Anew."),
    ],
)
async def test_a_slot_that_changes_while_it_is_booked_is_told_at_its_week_and_nothing_is_lost(
    world: World, change: dict[str, Any], words: str
) -> None:
    await stock(world)
    person = browser(world)
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}")
    changed = replace(world.memory.slots["left-top"], **change)
    world.sponsorship_store.keep(changed)
    await world.settled()
    await person.press("start", **BRAND)
    assert person.status == 400
    assert f"The slot has changed: {words} Nothing was booked now. Send the form again to book it." in person.text
    form = person.form_with("start")
    assert {name: form.fields[name] for name in BRAND} == BRAND
    assert not world.memory.bookings
    await person.send(form, "start")
    [made] = world.memory.bookings.values()
    assert (made.slot_name, made.weeks) == (changed.name, changed.weeks)


@pytest.mark.parametrize(
    "change",
    [{"name": "Other"}, {"side": Side.RIGHT}, {"week_price_cents": 1}, {"weeks": 2}, {"description": "Anew"}, {}],
)
async def test_a_slot_that_changes_while_the_form_is_sent_leads_to_the_booking_and_not_to_the_checkout(
    world: World, change: dict[str, Any]
) -> None:
    """The ledger has the change, and the snapshot of the node does not have it yet."""
    await stock(world)
    person = browser(world)
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}")
    world.memory.slots["left-top"] = replace(world.memory.slots["left-top"], **change)
    await person.press("start-and-pay", **BRAND)
    [made] = world.memory.bookings.values()
    assert (made.status, NOTICES["slot_changed"] in person.text) == (
        ("reserved", True) if change else ("checkout", False)
    )


async def test_signs_are_counted_as_the_api_counts_them_and_not_cut_by_the_page(world: World) -> None:
    person = browser(world)
    await person.open("/sponsor/campaigns/new")
    assert "maxlength" not in person.html
    await person.press("create", **CAMPAIGN | {"headline": "\U0001f680" * 55})
    assert NOTICES["campaign_created"] in person.text


# What people write is text.

HTML = {
    "name": "<script>alert(1)</script>",
    "headline": "</title><img src=x onerror=alert(2)>",
    "body": "\"'><svg onload=alert(3)>{{ 7 * 7 }}",
    "cta": "<b>Click</b>",
    "targetUrl": "https://example.com/?a=<b>&c=d",
    "logoText": "<i>",
}
SHOWN = {name: text for name, text in HTML.items() if name != "targetUrl"}


async def test_html_and_script_in_every_field_are_text_everywhere(world: World) -> None:
    await stock(world, name="<h1>Slot</h1>", description="<script>alert(4)</script>")
    person = browser(world)
    await person.open("/sponsor/profile")
    await person.press("save", name="<u>Brand</u>", website="https://example.com/?q=<u>")
    await person.open("/sponsor/campaigns/new")
    await person.press("create", **HTML | {"logoText": "<i>too long"})
    assert_text(person, *HTML.values())
    await person.press("create", **HTML)
    campaign = person.at.partition("?")[0]
    assert_text(person, *SHOWN.values(), "<u>Brand</u>")
    note = {"decision": "reject", "note": "<script>alert(5)</script>"}
    await administrator(world).post(f"{ADMIN}/campaigns/{campaign.rpartition('/')[2]}/review", note)
    await person.open(campaign)
    assert_text(person, *SHOWN.values(), note["note"])
    await person.press("save-and-submit")
    assert NOTICES["campaign_submit"] in person.text
    await person.open("/sponsor/inventory")
    assert_text(person, "<h1>Slot</h1>")
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={THIS_WEEK}")
    assert_text(person, "<h1>Slot</h1>", "<script>alert(4)</script>", HTML["name"])
    await person.press("reserve")
    assert_text(person, "<h1>Slot</h1>", HTML["name"])
    await person.press("checkout")
    assert_text(person, "<u>Brand</u>", HTML["name"])
    await person.press("pay")
    lists = {
        "/sponsor": "<u>Brand</u>",
        "/sponsor/campaigns": HTML["headline"],
        "/sponsor/bookings": "<h1>Slot</h1>",
        "/sponsor/profile": "<u>Brand</u>",
    }
    for path, words in lists.items():
        await person.open(path)
        assert_text(person, words)


def assert_text(person: Browser, *words: str) -> None:
    """The typed words are text or field values of the page, never markup."""
    fields = [value for form in person.page.forms for value in form.fields.values()]
    for each in words:
        assert each in person.text or each in fields, each
    assert person.page.all("b", "i", "u") == []
    assert [each.tag for each in person.page.all("h1", "img")] == ["img", "h1"], "the picture on top, and the heading"
    for script in person.html.split("<script")[1:]:
        assert script.startswith(' src="/static/')


# The calendar.


async def test_the_calendar_shows_how_each_week_of_each_slot_stands(world: World) -> None:
    rows = [
        slot("left-1", name="Sold"),
        slot("left-2", name="Soon", coming_soon=True),
        slot("left-3", name="Closed", active=False),
        slot("left-4", name="Ended", offer_ends_ms=NOON_MS),
        slot("left-5", name="Package", weeks=2, description="Two weeks and a video"),
    ]
    world.sponsorship_store.keep(*rows, hold("a", NOON_MS + MINUTE_MS, "left-1", start=1))
    await world.settled()
    person = browser(world)
    await person.open("/sponsor/inventory")
    sold = (
        "$178.57",
        "5 days left",
        "$250",
        "Held",
        "until 12:01",
        "$250 a week, sold by 2 weeks",
        "$428.57",
        "12 days",
    )
    for words in sold:
        assert words in person.text
    unsold = "Not for sale in these weeks: Soon (coming soon), Closed (not sold), Ended (offer ended)."
    assert unsold in " ".join(person.text.split())
    free = [link for link in person.page.links if link.startswith("/sponsor/book?")]
    assert len(free) == 15
    assert not [link for link in free if "left-1" in link and str(week(1)) in link]


async def test_the_calendar_goes_on_to_the_horizon_and_back(world: World) -> None:
    await stock(world)
    person = browser(world)
    await person.open("/sponsor/inventory")
    starts, path = [], person.at
    while path:
        await person.open(path)
        starts += [link.rpartition("=")[2] for link in person.page.links if link.startswith("/sponsor/book?")]
        path = _turn(person, "Later weeks")
    assert starts == [str(week(number)) for number in range(27)]
    back = 0
    while path := _turn(person, "Earlier weeks"):
        await person.open(path)
        back += 1
    assert back == 3
    assert any(str(THIS_WEEK) in link for link in person.page.links)


def _turn(person: Browser, words: str) -> str:
    """The target of the link to other weeks, or an empty string."""
    links = [link for link in person.page.links if link.startswith("/sponsor/inventory?")]
    if words not in person.text:
        return ""
    return links[0] if words == "Earlier weeks" else links[-1]


async def test_without_slots_the_calendar_says_so(world: World) -> None:
    person = browser(world)
    await person.open("/sponsor/inventory")
    assert "There are no slots yet" in person.text


async def test_the_calendar_marks_the_weeks_of_the_visitor_and_joins_those_of_one_booking(world: World) -> None:
    person, path = await booked(world)
    await stock(world, "right-top", name="Season", weeks=3)
    await person.open(f"/sponsor/book?slotId=right-top&weekStart={week(1)}")
    await person.press("reserve")
    season = person.at.partition("?")[0]
    await person.press("checkout")
    await person.press("pay")
    await person.open("/sponsor/inventory")
    assert path in person.page.links
    assert "Held for you until 12:30" in person.text
    assert f"Yours until {date(week(4) - 1, NOON_MS)}" in person.text
    assert person.page.links.count(season) == 1
    other = browser(world, "other@example.com")
    await other.open("/sponsor/inventory")
    assert "Yours until" not in other.text
    assert f"Taken until {date(week(4) - 1, NOON_MS)}" in other.text
    assert season not in other.page.links


def test_a_cell_says_why_a_week_cannot_be_booked() -> None:
    shown = {"active": True, "comingSoon": False, "available": False}
    assert cell_of(shown, NOON_MS) is Cell.TAKEN
    assert cell_of(shown | {"available": True}, NOON_MS) is Cell.FREE
    assert cell_of(shown | {"heldUntil": NOON_MS + 1}, NOON_MS) is Cell.HELD
    assert cell_of(shown | {"comingSoon": True, "active": False}, NOON_MS) is Cell.SOON
    assert cell_of(shown | {"active": False}, NOON_MS) is Cell.CLOSED
    assert cell_of(shown | {"offerEndsAt": NOON_MS}, NOON_MS) is Cell.OVER
    assert cell_of(shown | {"offerEndsAt": NOON_MS + 1}, NOON_MS) is Cell.TAKEN


async def test_a_week_that_cannot_be_booked_is_said_and_others_are_offered(world: World) -> None:
    await stock(world)
    world.sponsorship_store.keep(hold("a", NOON_MS + MINUTE_MS, "left-top", start=1))
    await world.settled()
    person = browser(world)
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}")
    assert "The week of 23 November is not free." in person.text
    offered = person.form_with("start").options["weekStart"]
    assert offered == ["", *(str(week(number)) for number in range(2, WEEKS + 1))]


# Who is there, and what next.


async def test_ads_are_drawn_searched_filtered_and_duplicated(world: World) -> None:
    person, _ = await with_campaign(world)
    [row] = world.memory.campaigns.values()
    for number in range(25):
        status = CampaignStatus.DRAFT if number % 2 else CampaignStatus.PENDING
        content = replace(row.content, headline=f"Headline {number}", target_url=f"https://example.com/{'x' * 700}")
        copy = replace(row, id=f"cmp_{number}", name=f"Number {number}", content=content, status=status)
        world.memory.campaigns[copy.id] = copy
    seen: set[str] = set()
    path = "/sponsor/campaigns"
    for words in ("1 to 12 of 26", "13 to 24 of 26", "25 to 26 of 26"):
        await person.open(path)
        assert words in person.text
        assert "x" * 100 not in person.text, "a long address is shown in short"
        seen |= {link for link in person.page.links if "/cmp_" in link}
        path = [link for link in person.page.links if "page=" in link][-1]
    assert len(seen) == 26
    for query, shown in (
        ("q=headline+7", {"cmp_7"}),
        ("q=NUMBER+1&state=draft", {"cmp_1", "cmp_11", "cmp_13", "cmp_15", "cmp_17", "cmp_19"}),
        ("q=nothing", set()),
        ("state=approved", set()),
    ):
        await person.open(f"/sponsor/campaigns?{query}")
        assert {link.rpartition("/")[2] for link in person.page.links if "/cmp_" in link} == shown, query
        assert ("No ad matches" in person.text) == (not shown)
    await person.open("/sponsor/campaigns?state=live")
    assert (person.status, "There is no such state." in person.text) == (400, True)
    await person.open("/sponsor/campaigns/new?from=cmp_7")
    form = person.form_with("create")
    assert (form.fields["name"], form.fields["headline"]) == ("Copy of Number 7", "Headline 7")
    await person.press("create", headline="Another one")
    assert person.at.startswith("/sponsor/campaigns/cmp_")
    assert "Another one" in person.html
    await person.open("/sponsor/campaigns/new?from=cmp_of_another")
    assert person.status == 404


async def test_a_paid_booking_whose_ad_was_rejected_leads_to_an_edit_or_a_refund(world: World) -> None:
    person, booking = await booked(world)
    await person.press("checkout")
    await person.press("pay")
    row = world.memory.bookings[booking.rpartition("/")[2]]
    await world.services.ledger.move_campaign(None, row.campaign_id, CampaignMove.REJECT, AGENT, "The link is dead")
    await person.open(booking)
    assert "Your ad was not approved, so it cannot be shown yet. The week stays yours." in person.text
    assert "The link is dead" in person.text
    assert f"/sponsor/campaigns/{row.campaign_id}" in person.page.links
    await person.press("request_refund", reason="We do not sell it any more")
    assert NOTICES["refund_requested"] in person.text
    assert "We do not sell it any more" in person.text
    assert "request_refund" not in [button for form in person.page.forms for button in form.buttons]
    await world.services.ledger.decline_refund_request(row.id, "Mend the link instead", AGENT)
    await person.open(booking)
    assert "Mend the link instead" in person.text


async def test_an_edit_of_an_approved_ad_shows_what_readers_see_until_it_is_approved(world: World) -> None:
    person, booking = await booked(world)
    row = world.memory.bookings[booking.rpartition("/")[2]]
    await world.services.ledger.move_campaign(None, row.campaign_id, CampaignMove.APPROVE, AGENT)
    page = f"/sponsor/campaigns/{row.campaign_id}"
    await person.open(page)
    await person.press("save", headline="A newer headline")
    assert NOTICES["edit_saved"] in person.text
    assert "What visitors see now" in person.text
    assert world.memory.campaigns[row.campaign_id].content.headline != "A newer headline"
    await person.open(page)
    await person.press("withdraw")
    assert NOTICES["edit_withdrawn"] in person.text
    assert "What visitors see now" not in person.text
    assert world.memory.campaigns[row.campaign_id].pending is None


async def test_delivery_is_plotted_from_the_first_day_on(world: World) -> None:
    person, booking = await booked(world)
    await person.press("checkout")
    await person.press("pay")
    await person.open(booking)
    assert 'class="plot"' not in person.html
    assert "23 to 29 November, 1 week. Begins in 4 days." in person.text
    world.clock.at_ms = NEXT_WEEK + 3 * DAY_MS + SECOND_MS
    person.token = world.session(SPONSOR)
    world.memory.delivery_days[booking.rpartition("/")[2], day_of(NEXT_WEEK)] = (40, 1)
    world.memory.delivery_days[booking.rpartition("/")[2], day_of(NEXT_WEEK) + 2] = (100, 1)
    await person.open(booking)
    assert 'svg class="wide-only"' in person.html
    assert "25 Nov: 100 times shown, 1 click, 1.00 %" in person.text
    assert "Today 0 0 No rate" in person.text
    assert "The days from 27 to 29 November are still to come." in person.text


def test_a_new_uuid_is_one_of_version_4() -> None:
    made = new_uuid(SeededEntropy(3))
    assert (len(made), made[14]) == (36, "4")
    assert made[19] in "89ab"
    assert made != new_uuid(SeededEntropy(4))


async def test_in_live_mode_nothing_says_that_it_is_a_test() -> None:
    settings = {
        "BILLING__MODE": "live",
        "BILLING__STRIPE_SECRET_KEY": "sk_live_1",
        "BILLING__STRIPE_WEBHOOK_SECRET": "wh_1",
    }
    async with open_world(**settings) as world:
        person = browser(world)
        for path in ("/sponsor", "/sponsor/inventory"):
            await person.open(path)
            assert (person.status, "Test mode" in person.text) == (200, False)


async def test_a_package_with_a_video_says_who_makes_it_from_what_and_takes_the_material(world: World) -> None:
    await stock(world, package_kind=PackageKind.BUNDLE)
    person, _ = await with_campaign(world)
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={NEXT_WEEK}")
    assert "We make the video from what you send on the page of the booking" in person.text
    await person.press("reserve")
    assert "Send it before 23 November : the video is planned for the booked weeks." in person.text
    await person.press("send_material", material="x" * 501)
    assert (person.status, person.form_with("send_material").fields["material"]) == (400, "x" * 501)
    assert "Shorten it by 1." in person.text
    await person.press("send_material", material=" https://example.com/press <b>\nOur logo ")
    [made] = world.memory.bookings.values()
    assert made.video_material == "https://example.com/press <b>\nOur logo"
    assert "https://example.com/press <b>" in person.form_with("send_material").fields["material"]
    await person.press("send_material", material=" ")
    assert world.memory.bookings[made.id].video_material is None
    await stock(world, "left-2")
    await person.open(f"/sponsor/book?slotId=left-2&weekStart={NEXT_WEEK}")
    assert "video" not in person.text
    await person.press("reserve")
    assert "send_material" not in person.html
