"""The administrators' pages of accounts, bookings, the queue and the revenue: searches, filters, and what they do."""

from dataclasses import replace

from actors.bookings.records import BookingStatus
from actors.times import MINUTE_MS, day_of
from service.web.pages.admin.bookings import PAGE_SIZE
from service.web.pages.admin.review_queue import MAX_REQUESTS
from service.web.pages.parts.notices import NOTICES
from tests.api.sponsors import ADMIN, API, NEXT_WEEK, Person, add_slot, administrator, changes, sponsor
from tests.api.world import World, away
from tests.web.test_administration import BOSS, boss, decision
from tests.web.visitors import Seen

EMAIL = "sponsor@example.com"


def page_of(world: World, email: str = EMAIL) -> str:
    return f"/admin/accounts/{world.memory.accounts[email].tenant_id}"


# Accounts.


async def test_accounts_are_searched_and_lead_to_a_page_of_their_own(world: World) -> None:
    sponsor(world)
    sponsor(world, "other@example.com")
    visitor = boss(world)
    everybody = await visitor.look("/admin/accounts")
    assert "3 accounts, newest first" in everybody.text
    found = await visitor.look("/admin/accounts?query=SPONSOR%40")
    assert page_of(world) in found.links
    assert page_of(world, "other@example.com") not in found.links
    assert found.values("query") == ["SPONSOR@"]
    assert [link for link in found.links if link.startswith("/api/v1/admin/accounts?format=csv&query=SPONSOR")]
    assert "No account matches" in (await visitor.look("/admin/accounts?query=nobody&suspended=true")).text
    assert (await visitor.get("/admin/accounts?cursor=x")).status == 400
    assert (await visitor.get("/admin/accounts/ten_unknown")).status == 404


async def test_an_account_is_suspended_with_a_reason_and_restored(world: World) -> None:
    sponsor(world)
    visitor, path = boss(world), page_of(world)
    refused = await visitor.send(path, do="suspend", reason=" ")
    assert refused.status == 400
    assert "Write the reason. The owner of the account reads it." in Seen.of(refused).text
    after = await visitor.led(path, do="suspend", reason="Malware\r\nbehind the link.")
    assert "The account is suspended." in after.text
    assert "Malware behind the link." in " ".join(after.text.split())
    assert world.memory.accounts[EMAIL].suspension_reason == "Malware\nbehind the link."
    assert f"{EMAIL} No profile Suspended" in (await visitor.look("/admin/accounts?suspended=true")).text
    restored = await visitor.led(path, do="restore")
    assert "The account is restored." in restored.text
    assert world.memory.accounts[EMAIL].suspended_ms is None
    assert changes(world) == [("session", "account.suspended"), ("session", "account.restored")]


async def test_keys_of_an_account_are_revoked_one_by_one(world: World) -> None:
    person = sponsor(world)
    made = await person.post(f"{API}/keys", {"name": "Reader", "scopes": ["library:read"]})
    visitor, path = boss(world), page_of(world)
    page = await visitor.look(path)
    assert sorted(page.values("key")) == sorted([world.id_of(person.key), made.json["id"]])
    after = await visitor.led(path, do="revoke", key=made.json["id"])
    assert "The key is revoked." in after.text
    assert after.values("key") == [world.id_of(person.key)]
    assert changes(world)[-1] == ("session", "key.revoked")
    assert (await visitor.send(path, do="revoke", key="key_unknown")).status == 404


async def test_the_page_of_an_administrator_offers_no_suspension(world: World) -> None:
    administrator(world)
    visitor, path = boss(world), page_of(world, "admin@example.com")
    page = await visitor.look(path)
    assert "Administrators cannot be suspended." in page.text
    assert "python -m service revoke-admin admin@example.com" in page.text
    assert "grant-admin" not in page.text
    refused = await visitor.send(path, do="suspend", reason="No.")
    assert (refused.status, world.memory.accounts["admin@example.com"].suspended_ms) == (409, None)
    own = await visitor.send(page_of(world, BOSS), do="suspend", reason="No.")
    assert "You cannot suspend your own account." in Seen.of(own).text


async def test_the_page_of_an_account_has_the_command_that_makes_it_an_administrator(world: World) -> None:
    sponsor(world, "o'neil@example.com")
    page = await boss(world).look(page_of(world, "o'neil@example.com"))
    assert """python -m service grant-admin 'o'"'"'neil@example.com'""" in page.text


async def test_all_weeks_of_an_account_are_refunded_in_one_act(world: World) -> None:
    person = sponsor(world)
    first, second = await person.buys(), await person.buys("right-top")
    visitor, path = boss(world), page_of(world)
    assert "2 bookings : 2 paid" in (await visitor.look(path)).text
    assert "The refunds are ordered." in (await visitor.led(path, do="refund", sure="yes")).text
    await world.settled()
    assert {world.memory.bookings[each].status for each in (first, second)} == {"refunded"}
    assert "There is nothing to refund" in (await visitor.led(path, do="refund", sure="yes")).text
    assert changes(world).count(("session", "booking.refund_ordered")) == 2


async def test_the_tier_is_set_on_the_page_of_the_account(world: World) -> None:
    person = sponsor(world)
    visitor = boss(world)
    after = await visitor.led(page_of(world), do="set_tier", email=EMAIL, tier="upgraded")
    assert "The tier is set." in after.text
    assert world.tenant_of(person.key).tier == "upgraded"


# Bookings.


async def test_every_number_of_the_bookings_is_that_of_their_rows(world: World) -> None:
    person = sponsor(world)
    bad, good = await person.buys(), await person.buys("right-top")
    row = world.memory.bookings[good]
    world.memory.bookings[bad] = replace(world.memory.bookings[bad], payment_issue="refund_declined")
    for number in range(PAGE_SIZE):
        world.memory.bookings[f"bok_{number}"] = replace(row, id=f"bok_{number}", payment_id=f"pay_{number}")
    visitor, number = boss(world), PAGE_SIZE + 2
    for query, total in (("", number), ("?status=paid", number), ("?trouble=true", 1), ("?query=example", None)):
        seen = await visitor.look(f"/admin/bookings{query}")
        rows = [each for each in seen.all("a") if "data-row" in each]
        assert len(rows) == min(PAGE_SIZE, total or number), query
        assert (f"{total} booking" in seen.text) == (total is not None)
        assert (f"1 to {PAGE_SIZE} of {number}" in seen.text) == (total == number)
        assert (f"Paid {number}" in seen.text) == (total is not None), "results of a search are not counted by state"
        last = [link for link in seen.links if "cursor=" in link]
        if last:
            ended = await visitor.look(last[0])
            assert f"{PAGE_SIZE + 1} to {number} of {number}" in ended.text
            assert f"{number} bookings" in ended.text


async def test_bookings_that_need_attention_say_so_and_lead_to_what_to_do(world: World) -> None:
    person = sponsor(world)
    bad, good = await person.buys(), await person.buys("right-top")
    world.memory.bookings[bad] = replace(world.memory.bookings[bad], payment_issue="refund_declined")
    visitor = boss(world)
    seen = await visitor.look("/admin/bookings")
    assert "Paid Refund refused" in seen.text
    assert f"/admin/bookings/{bad}#acts" in seen.links
    assert f"/admin/bookings/{good}#acts" not in seen.links
    assert [each["class"] for each in seen.all("tr") if each.get("class")] == ["warm"]
    assert "Needs attention 1" in seen.text
    only = await visitor.look("/admin/bookings?trouble=true")
    assert f"/admin/bookings/{bad}" in only.links
    assert f"/admin/bookings/{good}" not in only.links


async def test_a_booking_has_one_word_for_its_state_on_its_page_in_the_list_and_as_a_filter(world: World) -> None:
    person = sponsor(world)
    booking, visitor = await person.buys(), boss(world)
    row, now_ms = world.memory.bookings[booking], world.clock.at_ms
    for status, changed, word, detail in (
        ("reserved", {"hold_ms": now_ms + 60_000}, "Held", "Until"),
        ("checkout", {"hold_ms": now_ms + 60_000}, "In checkout", "Until"),
        ("paid", {}, "Paid", "In review"),
        ("refunding", {"payment_issue": "refund_failed"}, "Refund under way", "Refund failed"),
        ("refunded", {"payment_issue": "not_shown"}, "Refunded", "Refunded, never shown"),
        ("cancelled", {}, "Cancelled", ""),
    ):
        world.memory.bookings[booking] = replace(row, status=BookingStatus(status), **changed)
        await world.pass_for_memory(5)
        for path in (f"/admin/bookings?status={status}", f"/admin/bookings/{booking}"):
            seen = await visitor.look(path)
            badges = [each.text for each in seen.elements if "state" in (each.get("class") or "").split()]
            assert badges[0] == word, path
            assert detail in seen.text
        assert f"{word} 1" in (await visitor.look(f"/admin/bookings?status={status}")).text


async def test_the_page_of_a_booking_has_who_what_money_documents_counts_and_history(world: World) -> None:
    person = sponsor(world)
    booking = await person.buys()
    row = world.memory.bookings[booking]
    world.memory.delivery_days[booking, day_of(NEXT_WEEK)] = (1_234, 5)
    seen = await boss(world).look(f"/admin/bookings/{booking}")
    for words in (
        *("Sponsor Example Tools , account", "Weeks 23 to 29 November, 1 week", "tools.example.com/start"),
        *(f"Payment {row.payment_id}", "Paid USD 120.00, today, 12:00", "Refunded Nothing", "Invoice ", "1,234"),
        *("Booked the weeks", "Paid the booking"),
    ):
        assert words in seen.text, words
    world.memory.audits.clear()
    forgotten = (await boss(world).look(f"/admin/bookings/{booking}")).text
    assert "Paid the booking Today, 12:00 Booked the weeks Today, 12:00" in forgotten
    for link in (page_of(world), "/admin/slots/left-top", f"/admin/audit?target={booking}"):
        assert link in seen.links


async def test_bookings_are_filtered_and_exported_as_filtered(world: World) -> None:
    person = sponsor(world)
    first, second = await person.buys(), await person.buys("right-top")
    visitor = boss(world)
    for query, shown in (
        ("slot=left-top", [first]),
        ("week=2026-11-23", [first, second]),
        ("week=2026-12-07", []),
        ("query=slot+LEFT", [first]),
        ("query=example+tools&status=paid", [first, second]),
        ("status=refunded", []),
        (f"sponsor={world.memory.accounts[EMAIL].tenant_id}", [first, second]),
    ):
        seen = await visitor.look(f"/admin/bookings?{query}")
        assert [each for each in (first, second) if f"/admin/bookings/{each}" in seen.links] == shown, query
    seen = await visitor.look("/admin/bookings?slot=left-top&week=2026-11-23")
    assert any(f"format=csv&week={NEXT_WEEK}&slot=left-top" in link for link in seen.links)


# The queue.


async def test_the_queue_is_also_at_its_own_address_and_says_what_is_paid_and_whose(world: World) -> None:
    person, other = sponsor(world), sponsor(world, "other@example.com")
    await other.profile()
    await other.campaign(name="Unbooked")
    await person.buys()
    visitor = boss(world)
    seen = await visitor.look("/admin/reviews")
    assert seen.text.index("Begins on Monday, 23 November") < seen.text.index("Unbooked")
    assert "Nothing booked" in seen.text
    assert "New: no ad decided on yet" in seen.text
    assert page_of(world) in seen.links
    assert [each.get("class") for each in seen.all("article")] == ["panel", "creative"] * 2
    assert [each["class"] for each in seen.all("button") if each.get("value") == "approve"] == ["main", "main"]


async def edited(world: World, changed: str, **fields: str) -> tuple[Person, str]:
    """A sponsor whose approved ad has a new headline that waits for review, and the path of the ad in the API."""
    person = sponsor(world)
    await person.profile()
    campaign = await person.campaign(**fields)
    await administrator(world).post(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "approve"})
    world.clock.at_ms += 1
    path = f"{API}/campaigns/{campaign}"
    await person.patch(path, {"headline": changed})
    return person, path


async def test_the_words_that_differ_since_the_approval_are_marked(world: World) -> None:
    await edited(world, "Ship your last agent <b>", headline="Ship your first agent <b>")
    html = (await boss(world).get("/admin")).body.decode()
    assert "Ship your <del>first</del><ins>last</ins> agent &lt;b&gt;" in html


async def test_the_tabs_say_how_much_work_waits(world: World) -> None:
    person = sponsor(world)
    bad = await person.buys()
    visitor = boss(world)
    assert "Review 1 waiting" in (await visitor.look("/admin/slots")).text
    world.memory.bookings[bad] = replace(world.memory.bookings[bad], payment_issue="refund_failed")
    await world.pass_for_memory(5)
    text = (await visitor.look("/admin/audit")).text
    assert "Review 1 waiting" in text
    assert "Bookings 1 waiting" in text
    assert "waiting" not in (await visitor.look("/dashboard")).text


# Searches.


async def test_sponsors_and_slots_are_searched_without_scripts_and_exported_as_found(world: World) -> None:
    add_slot(world)
    add_slot(world, "right-top")
    ann, other = sponsor(world), sponsor(world, "other@example.com")
    await ann.profile()
    await other.patch(f"{API}/profile", {"name": "Ledger", "website": "https://ledger.example.org/about/us/and/more"})
    visitor = boss(world)
    for path, one, words, another in (
        ("/admin/sponsors", "LEDGER", "1 sponsor found", "Example Tools"),
        ("/admin/slots", "RIGHT", "1 slot of 2", "Slot left-top"),
    ):
        every = await visitor.look(path)
        found = await visitor.look(f"{path}?query={one}")
        assert another in every.text
        assert words in found.text
        assert another not in found.text
        assert found.values("query") == [one]
        assert len([each for each in found.all("a") if "data-row" in each]) == 1
        assert " matches" in (await visitor.look(f"{path}?query=nothing")).text
    found = await visitor.look("/admin/sponsors?query=ledger.example")
    assert "/api/v1/admin/sponsorships/sponsors?format=csv&query=ledger.example" in found.links
    [website] = [each for each in found.all("bdi") if each.text == "ledger.example.org/about/us/and/m…"]
    assert website["title"] == "https://ledger.example.org/about/us/and/more"


async def _asked(world: World) -> str:
    """A paid booking whose sponsor asks for a refund."""
    person = sponsor(world)
    booking = await person.buys()
    asked = await person.post(f"/api/v1/sponsors/bookings/{booking}/refund-request", {"reason": "The <b>wrong week."})
    assert asked.status == 200
    return booking


async def test_requests_for_refunds_stand_before_the_queue_and_are_declined_with_a_note(world: World) -> None:
    booking = await _asked(world)
    visitor = boss(world)
    seen = await visitor.look("/admin")
    assert seen.text.index("$120 to Example Tools") < seen.text.index("Begins on")
    assert "The <b>wrong week." in seen.text
    assert "2 waiting for you" in seen.text
    assert "Review 2 waiting" in seen.text
    unsaid = await visitor.send("/admin", do="decline", booking=booking, note=" ")
    assert (unsaid.status, "Write why you decline the refund." in Seen.of(unsaid).text) == (400, True)
    assert f'id="decline-{booking}-error"' in unsaid.body.decode()
    after = await visitor.led("/admin", do="decline", booking=booking, note="It was shown as booked.")
    assert "The request is declined." in after.text
    assert "Refund asked" not in after.text
    seen = await visitor.look(f"/admin/bookings/{booking}")
    assert "The refund was declined. It was shown as booked." in seen.text
    assert world.memory.bookings[booking].refund_note == "It was shown as booked."


async def test_the_queue_is_whole_or_refused_whichever_read_of_it_fails(world: World) -> None:
    await _asked(world)
    visitor, reads = boss(world), 0
    for failing in range(40):
        reads = 0

        async def before(failing: int = failing) -> None:
            nonlocal reads
            reads += 1
            world.clock.at_ms += MINUTE_MS  # past what is cached
            if reads == failing:
                await away()

        world.memory.before = before
        assert (await visitor.get("/admin")).status in (200, 503)
    assert 0 < reads < 40


async def test_a_request_for_a_refund_is_accepted_after_a_confirmation(world: World) -> None:
    booking = await _asked(world)
    visitor = boss(world)
    listed = (await visitor.look("/admin/bookings?trouble=requested")).text
    assert "Refund asked" in listed
    assert "The <b>wrong week." in (await visitor.look(f"/admin/bookings/{booking}")).text
    unsure = await visitor.send("/admin", do="refund", booking=booking)
    assert (unsure.status, "Tick the box" in Seen.of(unsure).text) == (400, True)
    after = await visitor.led("/admin", do="refund", booking=booking, sure="yes")
    assert "The refund is ordered." in after.text
    await world.settled()
    assert world.memory.bookings[booking].status == "refunded"
    assert "Refund asked" not in (await visitor.look("/admin")).text


async def test_many_requests_for_refunds_are_shown_in_part_with_a_link_to_all(world: World) -> None:
    row = world.memory.bookings[await _asked(world)]
    for number in range(MAX_REQUESTS):
        world.memory.bookings[f"bok_{number}"] = replace(row, id=f"bok_{number}", payment_id=f"pay_{number}")
    visitor = boss(world)
    seen = await visitor.look("/admin")
    assert seen.text.count("The <b>wrong week.") == MAX_REQUESTS
    assert "See all 9 refund requests" in seen.text
    listed = await visitor.look("/admin/bookings?trouble=requested")
    assert "9 bookings found" in listed.text


async def test_an_edit_of_an_approved_ad_is_shown_beside_what_visitors_see_now(world: World) -> None:
    _, path = await edited(world, "Ship your second agent today")
    visitor = boss(world)
    seen = await visitor.look("/admin")
    assert "Edit of an approved ad, nothing booked" in seen.text
    later, now = seen.text.index("Ship your second agent today"), seen.text.index("As visitors see it now")
    assert later < now < seen.text.index("Ship your first agent today"), "the approved words are folded"
    assert "Headline Ship your first second agent today" in seen.text
    assert seen.values("headline") == ["Ship your second agent today"]
    await visitor.led("/admin", do="approve", **decision(seen))
    assert world.memory.campaigns[path.rpartition("/")[2]].content.headline == "Ship your second agent today"


async def test_a_decision_on_an_edit_says_what_becomes_of_the_approved_words(world: World) -> None:
    person, path = await edited(world, "Ship your second agent today")
    visitor = boss(world)
    seen = decision(await visitor.look("/admin"))
    rejected = await visitor.led("/admin", do="reject", note="Say it in other words.", **seen)
    assert NOTICES["edit_rejected"] in rejected.text
    await person.post(f"{path}/pause")
    await person.patch(path, {"headline": "Ship your third agent today"})
    approved = await visitor.led("/admin", do="approve", **seen | {"headline": "Ship your third agent today"})
    assert NOTICES["edit_approved"] in approved.text
