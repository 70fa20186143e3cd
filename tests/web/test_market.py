"""From the front page to a paid week, and the reports that follow it."""

import re
from dataclasses import replace
from typing import Any

import brotli
import pytest

from actors.bookings.records import CampaignStatus, Side
from actors.bookings.sharing import MOST_SHARED
from actors.clock import DAY_MS, day_of
from actors.shared.credentials import digest
from actors.values import Filtered
from service.web.pages.parts.notices import NOTICES
from service.web.pages.public.advertise import free_first, packages
from service.web.pages.sponsor.reports import LISTED
from tests.api.sponsors import CAMPAIGN, THIS_WEEK, add_slot
from tests.api.world import NOON_MS, World, open_world
from tests.snapshots.rows import booking, slot, week
from tests.web.browser import Browser

EMAIL = "new-sponsor@example.com"
FILTERED = ("8,901", "Counted already", "The visitor had been counted on the same day", "Crawlers", "23")
BRAND = {
    "name": "Example Tools",
    "website": "https://tools.example.com/",
    "headline": "Ship your first agent today",
    "body": "A prompt becomes a bot that answers your mail.",
}


def visitor(world: World) -> Browser:
    return Browser(world, None)


async def test_a_visitor_comes_from_the_front_page_to_a_paid_week_in_seven_screens(world: World) -> None:
    world.sponsorship_store.keep(add_slot(world, name="Left, top"))
    await world.settled()
    person = visitor(world)
    screens = []

    def seen() -> None:
        assert person.status == 200, person.text
        screens.append(person.at.partition("?")[0])

    await person.open("/")
    seen()
    assert "/advertise" in person.page.links
    await person.open("/advertise")
    seen()
    # The table of wide windows and the list of phones lead to the same form.
    [chosen] = {link for link in person.page.links if link.startswith("/sponsor/book?")}
    await person.open(chosen)
    seen()
    await person.press("send", email=EMAIL)
    seen()
    # Slot and week wait in the form of the code, so nobody chooses twice.
    onward = person.form_with("complete").fields["next"]
    assert onward == chosen
    person.token = world.session(EMAIL)
    await person.open(onward)
    seen()
    assert f'<option value="{week(0)}" class="part" selected>' in person.html
    await person.press("start-and-pay", **BRAND)
    seen()
    await person.press("pay")
    seen()
    assert "The booking is paid" in person.text
    assert len(screens) == 7, screens
    [made] = world.memory.bookings.values()
    assert (made.slot_id, made.week_start_ms, made.amount_cents) == ("left-top", week(0), 8_571)


async def test_the_form_of_a_booking_has_the_price_of_each_week_and_the_ads_that_need_least_first(world: World) -> None:
    world.sponsorship_store.keep(add_slot(world), add_slot(world, "left-two", name="Two weeks", weeks=2))
    await world.settled()
    person = Browser(world, world.session(EMAIL))
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={THIS_WEEK}")
    assert "Your headline" in person.text
    await person.press("start", **BRAND)
    await person.open(f"/sponsor/book?slotId=left-two&weekStart={THIS_WEEK}")
    for words in (
        "18 to 29 Nov for $205.71, 12 days",
        "23 Nov to 6 Dec for $240",
        "$205.71 for 2 weeks, the first with 5 days left",
        "$240 for 2 weeks",
        BRAND["headline"],
        "Book, pay within 30 minutes",
    ):
        assert words in person.text
    await person.open("/sponsor/campaigns/new")
    await person.press("create", **CAMPAIGN)
    newer = person.at.partition("?")[0].rpartition("/")[2]
    await person.press("withdraw")
    await person.open(f"/sponsor/book?slotId=left-two&weekStart={THIS_WEEK}")
    assert f"{CAMPAIGN['name']} (draft)" in person.text
    ads = person.form_with("reserve").options["campaignId"]
    assert (len(ads), ads[1]) == (2, newer), "the one in review is first, though it is older"


async def test_the_share_of_page_views_that_is_said_before_paying_when_paying_and_in_the_report_is_the_one_of_pages(
    world: World,
) -> None:
    others = [booking(f"b{number}", f"left-{number}", start=1, paid_ms=NOON_MS) for number in range(4)]
    slots = [slot(f"left-{number}") for number in range(4)]
    world.sponsorship_store.keep(*slots, *others, add_slot(world), slot("right-1", side=Side.RIGHT))
    await world.settled()
    said = "on about 60 % of page views"
    person = Browser(world, world.session(EMAIL))
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={week(1)}")
    assert f"23 November : one of 5 ads on the left, {said}, as of now." in person.text
    assert (
        "23 to 29 Nov for $120, on 60 % of page views 30 Nov to 6 Dec for $120, on 100 % of page views" in person.text
    )
    await person.press("start", **BRAND)
    assert f"One of 5 ads on the left, {said}." in person.text
    await person.press("checkout")
    assert f"One of 5 ads on the left, {said}" in person.text
    await person.press("pay")
    own = max(world.memory.bookings)
    campaign = world.memory.campaigns[world.memory.bookings[own].campaign_id]
    world.memory.campaigns[campaign.id] = replace(campaign, status=CampaignStatus.APPROVED)
    await world.pass_seconds(7 * DAY_MS // 1_000)
    world.sponsorship_store.keep()
    await world.settled()
    reader, shown = visitor(world), 0
    for _ in range(10):
        await reader.open("/usecases")
        shown += f'data-placement-booking="{own}"' in reader.html
    assert shown == 6
    person.token = world.session(EMAIL)
    await person.open(f"/sponsor/bookings/{own}/report")
    assert f"One of 5 ads on the left, {said}" in person.text


async def test_an_ad_is_saved_and_sent_at_once_and_stays_saved_if_it_cannot_be_sent(world: World) -> None:
    person = Browser(world, world.session(EMAIL))
    await person.open("/sponsor/campaigns/new")
    await person.press("create", **CAMPAIGN)
    await person.press("withdraw")
    stale = person.form_with("save-and-submit")
    await person.send(stale, "save-and-submit", headline="Ledgers that balance themselves")
    assert NOTICES["campaign_submit"] in person.text
    [kept] = world.memory.campaigns.values()
    assert (kept.status, kept.content.headline) == (CampaignStatus.PENDING, "Ledgers that balance themselves")
    await person.send(stale, "save-and-submit", headline="Sent from an older page")
    assert person.status == 409
    [kept] = world.memory.campaigns.values()
    assert (kept.status, kept.content.headline) == (CampaignStatus.PENDING, "Sent from an older page")


async def test_leaving_a_checkout_shows_what_is_held_until_when_and_how_to_pay(world: World) -> None:
    world.sponsorship_store.keep(add_slot(world))
    await world.settled()
    person = Browser(world, world.session(EMAIL))
    await person.open("/checkout-cancelled")
    assert "Nothing is held for you now" in person.text
    await person.open(f"/sponsor/book?slotId=left-top&weekStart={week(1)}")
    await person.press("start", **BRAND)
    await person.open("/checkout-cancelled")
    assert "Slot left-top , 23 to 29 November" in person.text
    assert "Held for you until 12:30 today, 30 minutes from now." in person.text
    await person.press("checkout")
    assert person.at.startswith("/checkout/")
    stranger = visitor(world)
    await stranger.open("/checkout-cancelled")
    assert (stranger.status, "Slot left-top" in stranger.text) == (200, False)


async def test_weeks_that_are_taken_say_until_when_if_the_calendar_shows_their_end(world: World) -> None:
    rows = [
        booking("a", "left-1", start=1, weeks=2, paid_ms=NOON_MS),
        booking("b", "left-2", start=6, weeks=4, paid_ms=1),
    ]
    world.sponsorship_store.keep(slot("left-1"), slot("left-2"), *rows)
    await world.settled()
    person = Browser(world, world.session(EMAIL))
    await person.open("/sponsor/inventory")
    assert "from 23 Nov Taken until 6 December" in person.text
    assert "from 28 Dec Taken Share" in person.text


async def test_the_calendar_says_the_share_of_voice_that_a_free_week_has_on_its_side() -> None:
    async with open_world(SITE__ADS_PER_SIDE="1") as world:
        world.sponsorship_store.keep(
            *(slot("left-1"), slot("left-2"), slot("left-3"), slot("right-1", side=Side.RIGHT)),
            booking("a", "left-1", start=1, paid_ms=NOON_MS),
            booking("b", "left-2", start=1, paid_ms=1),
            booking("c", "right-1", weeks=8, paid_ms=1),
        )
        await world.settled()
        person = Browser(world, world.session(EMAIL))
        await person.open("/sponsor/inventory")
        shares = "16 Nov 100 % 23 Nov 33.3 % 30 Nov 100 %"
        told = "Share of an ad on the left of page views, as of now; 33.3 % if all 3 slots are booked"
        assert f"{told} {shares}" in person.text
        assert "Share of an ad on the right" not in person.text, "no week of it is free"


async def test_the_page_for_sponsors_names_prices_free_weeks_and_no_reach_of_a_few(world: World) -> None:
    world.sponsorship_store.keep(
        slot("left-1", name="Left, top"), slot("left-2", name="Soon", coming_soon=True), slot("left-3", weeks=4)
    )
    await world.settled()
    person = visitor(world)
    await person.open("/advertise")
    for words in (
        "$250",
        "Soon On the left $250 Coming soon",
        "How often an ad is seen and clicked in a week stands here once five bookings have ended.",
        "Share of voice 100 % Up to 3 at a time on a side; more take turns",
        "18 Nov to 13 Dec $928.57 for the days left",
        "18 to 22 Nov $178.57 for the days left",
        "for 30 minutes",
    ):
        assert words in person.text
    assert "Too new to say" not in person.text
    assert "Packages" not in person.text
    rows = [booking(f"b{number}", "left-1", start=-9 - number, paid_ms=1) for number in range(5)]
    world.sponsorship_store.keep(*rows)
    for row in rows:
        world.memory.delivery_days[row.id, day_of(row.week_start_ms)] = (1_000, 10)
    await world.pass_seconds(DAY_MS // 1_000)
    world.sponsorship_store.keep(slot("left-1", name="Left, first"))
    await world.settled()
    await person.open("/advertise")
    for words in ("1,000 of an ad, on average of 5 bookings that ended", "1,000 1.00 % clicked", "Too new to say"):
        assert words in person.text


def offered(slot_id: str, start: int | None = 0, *, cents: int = 9_900, **fields: Any) -> dict[str, Any]:
    weeks = [] if start is None else [{"weekStart": start}]
    return {"id": slot_id, "side": "left", "weekPriceCents": cents, "comingSoon": False, "nextWeeks": weeks} | fields


def test_slots_are_listed_free_ones_first_then_those_that_are_taken_and_those_to_come() -> None:
    slots = [offered("soon", comingSoon=True), offered("taken", None), offered("later", 3), offered("b"), offered("a")]
    assert [slot["id"] for slot in free_first(slots)] == ["b", "a", "later", "taken", "soon"]
    assert free_first([]) == []


def test_one_package_is_recommended_by_what_past_bookings_reached_for_its_price_or_as_the_cheapest() -> None:
    def made(*slots: dict[str, Any]) -> list[tuple[str, str, int, bool]]:
        return [(each.title, each.slot["id"], each.number, bool(each.why)) for each in packages(slots, {}, 3)]

    plain, dear = offered("plain"), offered("dear", cents=12_000)
    video = offered("video", cents=20_000, packageKind="youtube")
    both = offered("both", cents=8_000, packageKind="bundle")
    assert made(plain, dear) == made() == [], "there is nothing to compare"
    assert made(dear, plain, video, both) == [
        ("An ad", "plain", 2, False),
        ("An ad and a video", "both", 1, True),
        ("A video", "video", 1, False),
    ]
    reached = {"bookings": 5, "weeks": 5, "clicks": 1}
    dear = dear | {"reach": {**reached, "impressions": 9_000}}
    video = video | {"reach": {**reached, "impressions": 10_000}}
    assert made(dear, plain, video, both)[0] == ("An ad", "dear", 2, True)
    assert made(plain, video, offered("gone", None, packageKind="bundle"))[-1] == ("A video", "video", 1, True)


async def test_the_sample_report_is_the_page_of_real_ones_with_figures_that_are_said_to_be_samples(
    world: World,
) -> None:
    person = visitor(world)
    await person.open("/advertise")
    assert "/advertise/sample-report" in person.page.links
    await person.open("/advertise/sample-report")
    for words in (
        "These are sample figures",
        "One of 4 ads on the left, on about 75 % of page views",
        "Reported, but not",
    ):
        assert words in person.text
    assert "Download CSV" not in person.text
    assert [link for link in person.page.links if link.startswith(("/sponsor/", "/api/"))] == []


@pytest.mark.parametrize("audience", ["", "Operators of <b>bots</b>.\n\nThey buy tools, too."])
async def test_the_page_has_the_audience_that_its_operator_describes(audience: str) -> None:
    async with open_world(ADVERTISE__AUDIENCE=audience) as world:
        person = visitor(world)
        await person.open("/advertise")
        assert ("Who reads it" in person.text) == bool(audience)
        assert all(part in person.text for part in audience.split("\n\n"))
        assert person.html.count('<p dir="auto">') == 2 * bool(audience)


async def test_without_slots_the_page_offers_no_button(world: World) -> None:
    person = visitor(world)
    await person.open("/advertise")
    assert "No slot is for sale right now" in person.text
    assert "/sponsor/inventory" not in person.page.links


async def test_reports_sum_up_the_asked_days_and_lead_to_files(world: World) -> None:
    token = world.session(EMAIL)
    tenant = world.memory.accounts[EMAIL].tenant_id
    world.sponsorship_store.keep(
        slot("left-1", name="Left, top"), booking("a", start=0, tenant_id=tenant, paid_ms=NOON_MS)
    )
    world.memory.delivery_days["a", day_of(NOON_MS)] = (12_345, 67)
    world.memory.filtered_days["a", day_of(NOON_MS)] = Filtered(duplicate=8_901, crawler=23)
    await world.settled()
    person = Browser(world, token)
    await person.open("/sponsor/reports")
    for words in ("12,345", "67", "0.54 %", "By booking", "By ad", "By slot", "Slot left-1", *FILTERED):
        assert words in person.text
    [file] = [link for link in person.page.links if "format=csv" in link]
    assert "from=2026-10-20&to=2026-11-18" in file
    await person.open("/sponsor/reports?from=2026-11-01&to=2026-11-17")
    assert "12,345" not in person.text
    await person.open("/sponsor/reports?from=2026-11-20&to=2026-11-17")
    assert "Choose a day that is not after the last one" in person.text
    assert person.status == 400
    await person.open("/sponsor/bookings/a/report")
    for words in (
        "Report: Slot left-1",
        "12,345",
        "Cost per click",
        "$1.60",
        "$107.14 of $250 used",
        "Download CSV",
        *FILTERED,
    ):
        assert words in person.text
    assert "Not live" not in person.text
    world.memory.filtered_days.clear()
    await person.open("/sponsor/bookings/a/report")
    assert "Every reported view and click was counted." in person.text
    assert "Crawlers" not in person.text
    stranger = Browser(world, world.session("other@example.com"))
    await stranger.open("/sponsor/bookings/a/report")
    assert stranger.status == 404


async def test_a_report_compares_filters_and_tells_what_it_cost(world: World) -> None:
    token = world.session(EMAIL)
    tenant = world.memory.accounts[EMAIL].tenant_id
    paid: dict[str, Any] = {"tenant_id": tenant, "paid_ms": 1, "paid_cents": 7_000, "created_ms": 0}
    rows = [
        booking("a", "left-1", start=0, **paid),
        booking("b", "left-2", start=0, campaign_id="other-ad", **paid | {"refunded_cents": 3_500}),
        booking("z", "left-1", start=-1, **paid),
    ]
    world.sponsorship_store.keep(slot("left-1"), slot("left-2"), *rows)
    today = day_of(NOON_MS)
    for place, counts in {("a", today): (2_000, 10), ("b", today): (1_000, 0), ("z", today - 3): (1_000, 20)}.items():
        world.memory.delivery_days[place] = counts
    await world.settled()
    person = Browser(world, token)
    week = "/sponsor/reports?from=2026-11-16&to=2026-11-18"
    for query, words in (
        (
            "",
            (
                "200 % more than 1,000 before",
                "50 % fewer than 20 before",
                "83 % lower than 2.00 % before",
                "$45",
                "$4.50",
                "$15",
            ),
        ),
        ("&slotId=left-1", ("100 % more than 1,000 before", "$30", "$3", "Chosen bookings")),
        ("&slotId=left-2", ("No figures before: none of these bookings ran", "Not enough clicks", "$15")),
        ("&campaignId=gone", ("None of your bookings ran on these days", "Without figures on these days")),
    ):
        await person.open(f"{week}{query}")
        for each in (*words, "All slots"):
            assert each in person.text, (query, each)
        assert all(query in link for link in person.page.links if "days" in link or "format=csv" in link)
    assert "Compared with as many days before, 13 to 15 November. The last day is not over yet." not in person.text
    await person.open(week)
    assert "Compared with as many days before, 13 to 15 November. The last day is not over yet." in person.text
    await person.open(f"{week}&slotId=a/b")
    assert (person.status, "Choose one of these." in person.text) == (400, True)


async def test_a_report_is_shared_by_a_link_until_it_is_ended(world: World) -> None:
    token = world.session(EMAIL)
    tenant = world.memory.accounts[EMAIL].tenant_id
    rows = [booking("a", start=0, tenant_id=tenant, paid_ms=1, paid_cents=7_000, created_ms=0)]
    world.sponsorship_store.keep(slot("left-1"), slot("left-2"), *rows, booking("b", "left-2", start=0, paid_ms=1))
    world.memory.delivery_days["a", day_of(NOON_MS)] = (2_000, 10)
    world.memory.delivery_days["b", day_of(NOON_MS)] = (7_777, 10)
    await world.settled()
    person, client = Browser(world, token), visitor(world)
    links = []
    for costs in (False, True):
        await person.open("/sponsor/reports?from=2026-11-16&to=2026-11-18&slotId=left-1")
        form = person.form_with("share")
        assert {name: form.fields[name] for name in ("from", "to", "slotId")} == {
            "from": "2026-11-16",
            "to": "2026-11-18",
            "slotId": "left-1",
        }
        if not costs:
            del form.fields["costs"]
        await person.send(form, "share")
        [link] = re.findall(r"/shared/rpt_[0-9A-Za-z]{43}", person.html.replace("<wbr>", ""))
        links.append(link)
        answer = await world.client.get(link)
        assert (answer.status, answer.header("cache-control")) == (200, "no-store")
        assert answer.header("referrer-policy") == "no-referrer"
        await client.open(link)
        for words in ("2,000", "0.50 %", "16 to 18 November", 'content="noindex"'):
            assert words in client.html
        assert ("$3" in client.text) == costs
        for secret in (EMAIL, tenant, "7,777", "/sponsor/bookings/", "/sponsor/campaigns/"):
            assert secret not in client.html
        assert digest(link.rpartition("/")[2]) in {each.token_hash for each in world.memory.shared_reports.values()}
    assert "rpt_" not in repr(world.memory.shared_reports)
    await person.open("/sponsor/reports")
    await person.send([each for each in person.page.forms if "end" in each.buttons][1], "end")
    assert "The link is ended." in person.text
    for link, status in zip((*links, links[1][:-1], f"{links[1][:-1]}!"), (404, 200, 404, 404), strict=True):
        await client.open(link)
        assert client.status == status
    assert (await world.client.get(links[0])).body == (await world.client.get(f"{links[1][:-4]}0000")).body
    [kept] = world.memory.shared_reports
    for number in range(MOST_SHARED):
        copy = replace(world.memory.shared_reports[kept], id=f"shr_{number}", token_hash=bytes([number]) * 32)
        world.memory.shared_reports[copy.id] = copy
    await person.send(form, "share")
    assert (person.status, "the maximum. End one of the links." in person.text) == (409, True)


async def test_a_report_of_much_lists_the_most_seen_and_leads_to_the_rest(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No row is made for each booking and day.
    monkeypatch.setattr(world.sponsorship_store, "deliveries", None)
    token = world.session(EMAIL)
    tenant = world.memory.accounts[EMAIL].tenant_id
    rows = [
        booking(f"b{number:03}", start=0, tenant_id=tenant, paid_ms=NOON_MS, campaign_id=f"ad-{number % 200}")
        for number in range(400)
    ]
    world.sponsorship_store.keep(slot("left-1"), *rows)
    for number, row in enumerate(rows):
        world.memory.delivery_days[row.id, day_of(NOON_MS)] = (1_000 + number, 7)
    await world.settled()
    person = Browser(world, token)
    await person.open("/sponsor/reports")
    tables = person.html.partition('id="by-booking"')[2]
    assert tables.count("<tr>") == 3 + 2 * LISTED + 1, "three heads, bookings and ads, and the slot"
    assert "1,399" in person.text
    assert len(brotli.compress(person.html.encode())) < 10_000
    [whole] = [link for link in person.page.links if "by=booking" in link]
    await person.open(whole)
    listed = []
    for words in ("1 to 100 of 400", "101 to 200 of 400", "201 to 300 of 400", "301 to 400 of 400"):
        assert words in person.text
        assert len(brotli.compress(person.html.encode())) < 20_000
        listed += [link.rpartition("/")[2] for link in person.page.links if link.startswith("/sponsor/bookings/")]
        following = [link for link in person.page.links if "by=booking" in link][-1]
        await person.open(following)
    assert listed == sorted((row.id for row in rows), reverse=True)
    for page, words in (("0", "1 to 100"), ("x", "1 to 100"), ("5", "301 to 400"), ("99999", "301 to 400")):
        await person.open(f"{whole}&page={page}")
        assert f"{words} of 400" in person.text
    await person.open("/sponsor/reports?by=campaign")
    assert "Figures by ad" in person.text
    assert "1 to 100 of 200" in person.text
    await person.open("/sponsor/reports?by=nothing")
    assert "By booking" in person.text


@pytest.mark.parametrize("refunds", [False, True])
async def test_weeks_that_nobody_saw_are_promised_back_only_if_they_are_refunded(*, refunds: bool) -> None:
    async with open_world(BOOKINGS__REFUND_UNSHOWN=str(refunds).lower()) as world:
        person = visitor(world)
        await person.open("/advertise")
        assert ("You get back what you paid" in person.text) == refunds
        assert ("a person decides." in person.text) != refunds
