"""The administrators' pages: who sees them, the queue, slots, bookings, the audit, tiers."""

import pytest

from actors.bookings.records import PackageKind
from actors.clock import DAY_MS
from actors.events.servers import ServerReport
from service.version import VERSION
from service.web.pages.ops.status import MAX_REASONS, MAX_RECENT
from service.web.pages.parts.notices import NOTICES
from service.web.static_files import static_url
from tests.api.sponsors import CAMPAIGN, Person, add_slot, administrator, changes, sponsor
from tests.api.world import NOON_MS, World, away
from tests.web.visitors import Seen, Visitor

BOSS = "boss@example.com"
"""The id of a page that has one in its path."""
HOSTILE = "</p><script>alert(1)</script><b>&amp;"


def boss(world: World) -> Visitor:
    return Visitor(world, world.session(BOSS, admin=True))


# Who sees them.


async def test_an_administrator_whose_role_ended_a_moment_ago_is_refused(world: World) -> None:
    visitor = boss(world)
    await visitor.look("/admin")
    del world.memory.administrators[BOSS]
    refused = await visitor.get("/admin")
    assert refused.status == 403
    assert "Only administrators may see this page." in Seen.of(refused).text


# Reviewing.


async def _waiting(world: World, person: Person, count: int) -> list[str]:
    await person.profile()
    made = []
    for number in range(count):
        made.append(await person.campaign(name=f"Campaign {number}"))
        world.clock.at_ms += 1
    return made


def decision(seen: Seen, place: int = 0) -> dict[str, str]:
    """The hidden fields of the review form at a position of the queue."""
    names = ("campaign", "headline", "body", "cta", "targetUrl", "logoText", "sponsorName")
    return {name: seen.values(name)[place] for name in names}


async def test_a_reviewer_is_warned_of_words_that_mix_alphabets(world: World) -> None:
    person = sponsor(world)
    await person.profile()
    await person.campaign(name="Ex\u0430mple <b>")
    seen = await boss(world).look("/admin")
    assert "This word mixes letters of several alphabets that look alike: Ex\u0430mple" in seen.text
    await person.campaign(headline="t\u043eday and t\u043emorrow")
    seen = await boss(world).look("/admin")
    assert "These words mix letters of several alphabets that look alike: t\u043eday, t\u043emorrow" in seen.text


async def test_the_queue_shows_what_waits_the_oldest_first_page_by_page(world: World) -> None:
    made = await _waiting(world, sponsor(world), 12)
    visitor = boss(world)
    first = await visitor.look("/admin")
    [older] = [link for link in first.links if "cursor=" in link]
    second = await visitor.look(older)
    assert first.values("campaign") + second.values("campaign") == made
    assert not [link for link in second.links if "cursor=" in link]
    for words in (CAMPAIGN["headline"], CAMPAIGN["body"], CAMPAIGN["cta"], "tools.example.com/start", "Example Tools"):
        assert words in first.text
    assert "first version" in first.text
    assert "12 waiting for you" in first.text


async def test_an_approval_is_made_in_the_session_and_the_audit_says_so(world: World) -> None:
    [campaign] = await _waiting(world, sponsor(world), 1)
    visitor = boss(world)
    after = await visitor.led("/admin", do="approve", **decision(await visitor.look("/admin")))
    assert "The ad is approved" in after.text
    assert "Nothing waits for review" in after.text
    assert world.memory.campaigns[campaign].status == "approved"
    record = world.memory.audits[-1]
    assert (record.action, record.actor_type, record.actor_email) == ("campaign.approved", "session", BOSS)
    assert record.actor_id.startswith("ses_")
    shown = await visitor.look("/admin/audit")
    assert f"Approved the ad Status: In review Approved Shown as: Example Tools {BOSS} In a browser" in shown.text
    assert "Status: In review Approved" in shown.text


async def test_a_page_that_is_stale_approves_nothing_and_says_why(world: World) -> None:
    person = sponsor(world)
    [campaign] = await _waiting(world, person, 1)
    visitor = boss(world)
    read = decision(await visitor.look("/admin"))
    await person.patch(f"/api/v1/sponsors/campaigns/{campaign}", {"headline": "Something else"})
    refused = await visitor.send("/admin", do="approve", note="Fine", **read)
    shown = Seen.of(refused)
    assert refused.status == 409
    assert "This ad was edited after you opened this page" in shown.text
    assert "Something else" in shown.text
    assert shown.values("note") == ["Fine"], "what was typed is not lost"
    assert world.memory.campaigns[campaign].status == "pending"
    await visitor.led("/admin", do="approve", **decision(shown))
    assert world.memory.campaigns[campaign].status == "approved"
    again = await visitor.send("/admin", do="approve", **decision(shown))
    assert "This ad is approved now, so it cannot be approved." in Seen.of(again).text


async def test_an_approval_is_not_for_another_name_than_was_read(world: World) -> None:
    person = sponsor(world)
    [campaign] = await _waiting(world, person, 1)
    visitor = boss(world)
    read = decision(await visitor.look("/admin"))
    renamed = {"name": "Somebody famous", "website": "https://tools.example.com/"}
    await person.patch("/api/v1/sponsors/profile", renamed)
    refused = await visitor.send("/admin", do="approve", **read)
    assert refused.status == 409
    assert "The sponsor was renamed after you opened this page" in Seen.of(refused).text
    assert world.memory.campaigns[campaign].status == "pending"


async def test_what_is_new_since_the_last_approval_is_shown(world: World) -> None:
    person = sponsor(world)
    [campaign] = await _waiting(world, person, 1)
    visitor = boss(world)
    await visitor.led("/admin", do="approve", **decision(await visitor.look("/admin")))
    path = f"/api/v1/sponsors/campaigns/{campaign}"
    for edit in ({"headline": "First try"}, {"headline": "Second try", "cta": "Look"}, {"cta": CAMPAIGN["cta"]}):
        world.clock.at_ms += 1
        await person.patch(path, edit)
    await person.patch("/api/v1/sponsors/profile", {"name": "New name", "website": "https://tools.example.com/"})
    text = (await visitor.look("/admin")).text
    assert ", approved today, 12:00" in text
    assert f"Headline {CAMPAIGN['headline']} Second try" in text
    assert "Sponsor name Example Tools New name" in text
    assert "First try" not in text
    assert "Call to action" not in text


async def test_an_approved_campaign_can_be_paused_and_a_paused_one_resumed(world: World) -> None:
    [campaign] = await _waiting(world, sponsor(world), 1)
    visitor = boss(world)
    await visitor.led("/admin", do="approve", **decision(await visitor.look("/admin")))
    for move, state, then in (("pause", "approved", "paused"), ("resume", "paused", "approved")):
        await visitor.led(f"/admin?status={state}", do=move, **decision(await visitor.look(f"/admin?status={state}")))
        assert world.memory.campaigns[campaign].status == then


async def test_what_people_wrote_is_text_everywhere(world: World) -> None:
    person = sponsor(world)
    await person.patch("/api/v1/sponsors/profile", {"name": HOSTILE, "website": "https://tools.example.com/"})
    fields = {"name": HOSTILE, "headline": HOSTILE, "body": HOSTILE, "cta": HOSTILE[:24], "logoText": "<b>"}
    await person.campaign(**fields)
    visitor = boss(world)
    form = decision(await visitor.look("/admin"))
    assert form["headline"] == form["sponsorName"] == HOSTILE
    stale = await visitor.send("/admin", do="approve", note=HOSTILE, **(form | {"body": "other"}))
    assert stale.status == 409
    await visitor.led("/admin", do="reject", note=HOSTILE, **form)
    await visitor.led("/admin/slots/new", do="create", **(SLOT | {"name": HOSTILE, "description": HOSTILE}))
    typed = await visitor.send("/admin/slots/new", do="create", **(SLOT | {"name": HOSTILE, "description": HOSTILE}))
    paths = ("/admin?status=rejected", "/admin/sponsors", "/admin/slots", "/admin/slots/right-top", "/admin/audit")
    pages = [await visitor.get(path) for path in paths]
    for response in (*pages, stale, typed):
        assert HOSTILE in Seen.of(response).text or HOSTILE in Seen.of(response).values("name")
        assert HOSTILE.encode() not in response.body
        assert "alert(1)" not in [each.get("src") for each in Seen.of(response).all("script")]
        assert len(Seen.of(response).all("script")) == 2, "the scripts of every page of administrators"


# Slots.

SLOT = {"id": "right-top", "name": "Right, top", "side": "right", "weekPrice": "1,250.5", "durationWeeks": "2"}
SLOT |= {"active": "yes", "offerEndsAt": "2026-11-20T12:30", "packageKind": "youtube", "description": "A video"}


def _forms_of(seen: Seen) -> tuple[dict[str, str], dict[str, str]]:
    """The hidden fields of a slot's form, which are what it was shown with, and the same as its visible fields."""
    hidden = [each for each in seen.all("input") if (each.get("name") or "").startswith("was_")]
    was = {str(each["name"]): each.get("value") or "" for each in hidden}
    return was, {name.removeprefix("was_"): value for name, value in was.items() if value}


async def test_a_slot_is_created_with_all_that_was_typed(world: World) -> None:
    after = await boss(world).led("/admin/slots/new", do="create", **SLOT)
    assert "The slot is created." in after.text
    assert "$1,250.50" in after.text
    slot = world.memory.slots["right-top"]
    assert (slot.week_price_cents, slot.weeks, slot.active, slot.coming_soon) == (125_050, 2, True, False)
    assert slot.offer_ends_ms == NOON_MS + 2 * DAY_MS + 30 * 60_000
    assert (slot.package_kind, slot.description, slot.side) == (PackageKind.YOUTUBE, "A video", "right")


async def test_slots_are_in_the_order_of_their_names(world: World) -> None:
    for slot_id, name in (("one", "Zebra"), ("two", "apple"), ("three", "Mango")):
        add_slot(world, slot_id, name=name)
    listed = (await boss(world).look("/admin/slots")).text
    assert listed.index("apple") < listed.index("Mango") < listed.index("Zebra")
    choices = (await boss(world).look("/admin/bookings")).text
    assert choices.index("apple") < choices.index("Mango") < choices.index("Zebra")


async def test_a_slot_whose_id_is_new_has_its_page_beside_the_form_for_a_new_slot(world: World) -> None:
    add_slot(world, "new", name="The newest")
    visitor = boss(world)
    assert "/admin/slots/~new" in (await visitor.look("/admin/slots")).links
    page = await visitor.look("/admin/slots/~new")
    assert page.values("name") == ["The newest"]
    was, shown = _forms_of(page)
    await visitor.led("/admin/slots/~new", do="save", **was, **(shown | {"name": "The oldest"}))
    assert world.memory.slots["new"].name == "The oldest"
    await visitor.led("/admin/slots/~new", do="retire")
    assert world.memory.slots["new"].retired_ms is not None


async def test_a_slot_form_sent_twice_makes_one_slot(world: World) -> None:
    visitor = boss(world)
    unnamed = {name: value for name, value in SLOT.items() if name != "id"}
    [form_id] = (await visitor.look("/admin/slots/new")).values("form_id")
    after = await visitor.led("/admin/slots/new", do="create", form_id=form_id, **unnamed)
    assert NOTICES["slot_created"] in after.text
    again = await visitor.send("/admin/slots/new", do="create", form_id=form_id, **unnamed)
    assert again.status == 409
    page = Seen.of(again)
    assert "This form has created its slot already." in page.text
    assert [each["id"] for each in page.elements if "autofocus" in each] == ["problem"]
    assert len(world.memory.slots) == 1


async def test_a_slot_that_is_booked_says_at_its_side_why_it_cannot_move(world: World) -> None:
    await sponsor(world).buys()
    visitor, path = boss(world), "/admin/slots/left-top"
    was, shown = _forms_of(await visitor.look(path))
    refused = await visitor.send(path, do="save", **was, **(shown | {"side": "right", "name": "Typed"}))
    page = Seen.of(refused)
    assert (refused.status, page.values("name")) == (409, ["Typed"])
    [words] = [each.text for each in page.elements if each.get("id") == "side-error"]
    assert "the left side is booked for 23 to 29 November" in words
    assert world.memory.slots["left-top"].side == "left"


async def test_an_edit_changes_what_was_changed_and_leaves_alone_what_somebody_else_has(world: World) -> None:
    add_slot(world, offer_ends_ms=NOON_MS - 1)
    visitor = boss(world)
    was, shown = _forms_of(await visitor.look("/admin/slots/left-top"))
    assert shown["weekPrice"] == "120.00"
    key = administrator(world)
    await key.patch("/api/v1/admin/sponsorships/slots/left-top", {"weekPriceCents": 20_000})
    after = await visitor.led("/admin/slots/left-top", do="save", **was, **(shown | {"name": "A better name"}))
    assert "The slot is saved." in after.text
    slot = world.memory.slots["left-top"]
    assert (slot.name, slot.week_price_cents, slot.offer_ends_ms) == ("A better name", 20_000, NOON_MS - 1)
    untouched = await visitor.send("/admin/slots/left-top", do="save", **was, **shown)
    assert "Nothing was changed." in Seen.of(untouched).text


async def test_an_edit_that_is_refused_keeps_what_was_typed(world: World) -> None:
    add_slot(world)
    visitor = boss(world)
    was, shown = _forms_of(await visitor.look("/admin/slots/left-top"))
    refused = await visitor.send("/admin/slots/left-top", do="save", **was, **(shown | {"weekPrice": "12 or so"}))
    again = Seen.of(refused)
    assert refused.status == 400
    assert again.values("weekPrice") == ["12 or so"]
    assert _forms_of(again)[0] == was


async def test_what_a_slot_need_not_have_is_taken_away_by_emptying_it(world: World) -> None:
    visitor = boss(world)
    await visitor.led("/admin/slots/new", do="create", **SLOT)
    was, shown = _forms_of(await visitor.look("/admin/slots/right-top"))
    emptied = shown | {"offerEndsAt": "", "packageKind": "", "description": ""}
    del emptied["active"]
    await visitor.led("/admin/slots/right-top", do="save", **was, **emptied)
    slot = world.memory.slots["right-top"]
    assert (slot.offer_ends_ms, slot.package_kind, slot.description, slot.active) == (None, None, None, False)


async def test_a_slot_is_retired_and_brought_back(world: World) -> None:
    add_slot(world)
    visitor = boss(world)
    after = await visitor.led("/admin/slots/left-top", do="retire")
    assert "The slot is retired" in after.text
    page = await visitor.look("/admin/slots/left-top")
    assert "To bring it back, make it active." in page.text
    was, shown = _forms_of(page)
    await visitor.led("/admin/slots/left-top", do="save", **was, **shown, active="yes")
    assert world.memory.slots["left-top"].retired_ms is None


async def test_a_slot_that_does_not_exist_has_no_page(world: World) -> None:
    visitor = boss(world)
    assert (await visitor.get("/admin/slots/nowhere")).status == 404
    assert (await visitor.send("/admin/slots/nowhere", do="save", name="x")).status == 404


# Bookings.


async def test_a_refund_is_ordered_after_a_confirmation_and_only_once(world: World) -> None:
    booking = await sponsor(world).buys()
    visitor, path = boss(world), f"/admin/bookings/{booking}"
    assert "Yes, refund USD 120.00" in (await visitor.look(path)).text
    unsure = await visitor.send(path, do="refund", reason="Not delivered.")
    assert unsure.status == 400
    assert "Tick the box" in Seen.of(unsure).text
    assert Seen.of(unsure).values("reason") == ["Not delivered."]
    assert world.memory.bookings[booking].status == "paid"
    for _ in range(2):
        after = await visitor.led(path, do="refund", reason="Not delivered.", sure="yes")
        assert "The refund is ordered." in after.text
        await world.settled()
    assert world.memory.bookings[booking].status == "refunded"
    assert changes(world).count(("session", "booking.refund_ordered")) == 1
    assert changes(world).count(("system", "booking.refunded")) == 1
    seen = await visitor.look(path)
    assert "Order the refund" not in seen.text
    assert f"Ordered the refund today, 12:00, {BOSS}" in seen.text.replace("Today", "today")
    assert "USD 120.00" in seen.text


async def test_the_video_of_a_package_is_described(world: World) -> None:
    add_slot(world, package_kind=PackageKind.YOUTUBE)
    path = f"/admin/bookings/{await sponsor(world).buys()}"
    visitor = boss(world)
    form = {"youtubeStatus": "published", "youtubeNotes": "Recorded", "youtubeUrl": ""}
    refused = await visitor.send(path, do="describe", **form)
    assert refused.status == 400
    assert "Write the address of the published video." in Seen.of(refused).text
    assert "Recorded" in Seen.of(refused).text
    address = "https://video.example.com/watch/1"
    after = await visitor.led(path, do="describe", **(form | {"youtubeUrl": address}))
    assert "Video Published" in after.text
    assert address in after.links
    assert world.memory.bookings[path.rpartition("/")[2]].youtube_url == address


@pytest.mark.parametrize("booking", ["bok_unknown", "%00", "a" * 200])
async def test_a_booking_that_does_not_exist_has_no_page(world: World, booking: str) -> None:
    visitor = boss(world)
    answers = [await visitor.get(f"/admin/bookings/{booking}")]
    for form in ({"do": "refund", "sure": "yes"}, {"do": "describe", "youtubeStatus": "planned"}):
        answers.append(await visitor.send(f"/admin/bookings/{booking}", **form))
    assert [answer.status for answer in answers] == [404] * 3


# Sponsors, the audit, accounts.


async def test_the_audit_is_read_page_by_page_and_by_target(world: World) -> None:
    person = sponsor(world)
    made = await _waiting(world, person, 25)
    visitor = boss(world)
    first = await visitor.look("/admin/audit")
    [older] = [link for link in first.links if "cursor=" in link]
    second = await visitor.look(older)
    assert first.text.count("Created the ad ") == 20
    assert second.text.count("Created the ad ") == 5
    one = await visitor.look(f"/admin/audit?target={made[3]}")
    assert one.text.count("Created the ad ") == 1
    assert "Headline: Ship your first agent today" in one.text
    assert one.values("target") == [made[3]]
    assert "No change matches" in (await visitor.look("/admin/audit?target=nothing")).text


async def test_the_audit_is_read_by_who_did_it_and_up_to_a_day(world: World) -> None:
    person = sponsor(world)
    await _waiting(world, person, 21)
    visitor = boss(world)
    email = world.memory.audits[-1].actor_email
    first = await visitor.look(f"/admin/audit?actor=%20{str(email).upper()}&to=2026-11-18")
    assert first.text.count("Created the ad ") == 20
    assert first.values("to") == ["2026-11-18"]
    [older] = [link for link in first.links if "cursor=" in link]
    assert (await visitor.look(older)).text.count("Created the ad ") == 1
    for query in ("actor=nobody@example.com", f"actor={email}&to=2026-11-17"):
        assert "No change matches" in (await visitor.look(f"/admin/audit?{query}")).text


async def test_sponsors_are_listed_with_their_history(world: World) -> None:
    await sponsor(world).profile()
    page = await boss(world).look("/admin/sponsors")
    [row] = world.memory.sponsors.values()
    assert "Example Tools" in page.text
    assert f"/admin/audit?target={row.id}" in page.links


# Operations.


async def test_operations_show_how_the_node_is(world: World) -> None:
    visitor = Visitor(world, world.session(BOSS, admin=True, expires_in_ms=2 * DAY_MS))
    await world.client.get("/api/v1/bots/nothing")
    await world.pass_seconds(93_784)
    await world.client.get("/api/v1/bots/nothing")
    page = await visitor.look("/ops")
    for words in (
        "Ready. Every part works, as of",
        f"Version {VERSION}, up for 26 h 3 min.",
        "This process, n1 .",
        "Parts of this process, those in trouble first",
        "quota Counts the requests of keys Running 0 of",
        "Good Refused 1 Requests that were refused in the last hour",
        "getBot not_found 1",
        "Copy of the catalog",
    ):
        assert words in page.text
    assert [each["src"] for each in page.all("script")] == [static_url("page.js"), static_url("live.js")]


async def test_operations_list_live_nodes_and_mark_the_one_that_answers(world: World) -> None:
    visitor = boss(world)
    await world.meet("n2")
    page = await visitor.look("/ops")
    listed = page.text.partition("2 processes as columns, oldest first")[2].partition("Parts of this process")[0]
    for words in (
        "Process n1 This one n2 Listens at http://192.0.2.1:8080 http://192.0.2.2:8080",
        "Host host-1 host-2",
    ):
        assert words in listed
    assert [cell["aria-current"] for cell in page.all("th") if "aria-current" in cell] == ["true"]


async def test_operations_show_the_most_frequent_refusals_and_stay_short_whatever_is_refused(world: World) -> None:
    visitor = boss(world)
    await world.settled()
    for number in range(300):
        for _ in range(1 + (number == 299)):
            world.services.refusal_log.refused(f"operation{number}", "not_found", 404)
    page = await visitor.look("/ops")
    refusals = page.text.partition("Refused in the last hour")[2]
    assert "operation299 not_found 2 operation0 not_found 1" in refusals
    assert "And 280 requests for other reasons." in refusals
    assert refusals.count(" not_found") == MAX_REASONS + MAX_RECENT
    assert "301 Requests that were refused in the last hour" in page.text


async def test_operations_show_the_servers_of_events_and_what_to_mend(world: World) -> None:
    visitor = boss(world)
    assert "Servers of events" not in (await visitor.look("/ops")).text
    away = ServerReport(2, "worker two:5432", 100, error="connection refused")
    world.services.event_servers.reports = [ServerReport(1, "worker one:5432", 156, prepared_seconds=7.0), away]
    text = (await visitor.look("/ops")).text
    assert "worker one:5432 Answers 156 7.0 s Nothing" in text
    assert f"worker two:5432 Away 100 None {away.problems()[0]}" in text
    assert f"The event server worker two:5432 is in trouble. {away.problems()[0]}" in text


async def test_operations_are_shown_when_the_database_goes_away_after_the_sign_in(world: World) -> None:
    visitor = boss(world)
    before, asked = world.memory.before, 0
    await world.pass_seconds(1)
    await world.settled()

    async def away_after_the_sign_in() -> None:
        nonlocal asked
        asked += 1
        await (before() if asked == 1 else away())

    world.memory.before = away_after_the_sign_in
    page = await visitor.look("/ops")
    world.memory.before = before
    assert "The database is not available. This process answers /readyz with 503" in page.text
    assert "Every part works" not in page.text
