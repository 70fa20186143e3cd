"""The queues of administrators by keyboard: the focus after a decision, what keys do, ready notes, and searches."""

from service.web.pages.admin import review_queue, submission_queue
from tests.api.sponsors import add_slot, administrator, sponsor
from tests.api.world import World
from tests.web.markup import Element
from tests.web.test_administration import boss, decision
from tests.web.visitors import Seen


def rows(seen: Seen) -> list[Element]:
    return [each for each in seen.elements if "data-row" in each]


async def _queue(world: World, count: int) -> list[str]:
    person = sponsor(world)
    await person.profile()
    made = []
    for number in range(count):
        made.append(await person.campaign(name=f"Ad {number}"))
        world.clock.at_ms += 1
    return made


async def test_a_decision_leads_to_the_next_row_which_has_the_focus(world: World) -> None:
    made = await _queue(world, 3)
    visitor = boss(world)
    seen = await visitor.look("/admin")
    assert [each for each in rows(seen) if "autofocus" in each] == []
    for place, do, then in ((1, "reject", made[2]), (1, "approve", made[0])):
        seen = await visitor.led("/admin", do=do, note="No.", at=str(place + 1), **decision(seen, place))
        assert [each["aria-labelledby"] for each in rows(seen) if "autofocus" in each] == [then]


async def test_the_page_says_its_keys_and_each_row_has_what_they_do(world: World) -> None:
    await _queue(world, 2)
    seen = await boss(world).look("/admin")
    assert "Keys: J next row, K previous row, A approves, R goes to the note for a rejection" in seen.text
    for row in rows(seen):
        keyed = {
            each["aria-keyshortcuts"]: each
            for each in seen.elements
            if "aria-keyshortcuts" in each and row in each.around
        }
        assert (keyed["A"]["value"], keyed["R"]["name"], keyed["R"]["list"]) == ("approve", "note", "reasons")
    [ready] = [each for each in seen.all("datalist") if each["id"] == "reasons"]
    notes = [each["value"] for each in seen.all("option") if ready in each.around]
    assert notes == list(review_queue.REASONS)


def test_ready_notes_are_notes_that_the_api_takes() -> None:
    for texts in (review_queue.REASONS, review_queue.DECLINES, submission_queue.REASONS):
        assert all(text.endswith(".") and len(text) <= 100 for text in texts)


async def test_what_waits_is_searched_and_a_decision_keeps_the_search(world: World) -> None:
    made = await _queue(world, 3)
    visitor = boss(world)
    for query, found in (("ad+1", [made[1]]), (made[2], [made[2]]), ("example+tools", made), ("nothing", [])):
        seen = await visitor.look(f"/admin?query={query}")
        assert seen.values("campaign") == found, query
        assert ("No ad matches" in seen.text) == (not found)
    seen = await visitor.look("/admin?query=ad")
    sent = await visitor.send("/admin?query=ad", do="approve", at="1", **decision(seen))
    assert sent.header("location") == "/admin?query=ad&at=1&notice=campaign_approved"
    assert (await visitor.look("/admin?status=approved&query=ad+0")).values("campaign") == made[:1]
    assert (await visitor.look("/admin?status=approved&query=ad+1")).values("campaign") == []


async def test_the_other_ads_of_a_sponsor_stand_beside_the_one_to_decide_on(world: World) -> None:
    made = await _queue(world, 2)
    other = sponsor(world, "other@example.com")
    await other.profile()
    await other.campaign(name="Of somebody else")
    path = f"/api/v1/admin/sponsorships/campaigns/{made[0]}/review"
    await administrator(world).post(path, {"decision": "reject", "note": "A dead link."})
    seen = await boss(world).look("/admin")
    [own, _] = rows(seen)
    assert "A dead link." in own.text
    assert "Of somebody else" not in own.text


async def test_long_addresses_are_short_with_the_whole_as_their_title_on_every_page_of_administrators(
    world: World,
) -> None:
    address = "https://tools.example.com/start/" + "x" * 700
    person = sponsor(world)
    await person.profile()
    campaign = await person.campaign(targetUrl=address)
    await administrator(world).post(f"/api/v1/admin/sponsorships/campaigns/{campaign}/review", {"decision": "approve"})
    world.clock.at_ms += 1
    await person.patch(f"/api/v1/sponsors/campaigns/{campaign}", {"targetUrl": f"{address}y".replace("tools", "other")})
    add_slot(world)
    booking = (await person.booking(campaign))["id"]
    visitor = boss(world)
    for path in ("/admin", "/admin?status=approved", "/admin/audit", f"/admin/bookings/{booking}"):
        seen = await visitor.look(path)
        assert ".example.com/start/xxxxxxxx…" in seen.text, path
        assert "x" * 100 not in seen.text, path
        assert "x" * 700 in "".join(each.get("title") or "" for each in seen.all("bdi")), path
