"""Operations 17 to 19 and 22: reserving, checkout, payment, cancelling and reading bookings."""

from typing import Any

import pytest
import trio

from actors.bookings.records import PackageKind
from actors.clock import MINUTE_MS
from actors.shared.weeks import WEEK_MS
from actors.values import Scope
from tests.api.sponsors import (
    ADMIN,
    API,
    NEXT_WEEK,
    PROFILE,
    THIS_WEEK,
    Person,
    add_slot,
    administrator,
    changes,
    sponsor,
    tables,
    uuid,
)
from tests.api.world import NOON_MS, World, away, fails_once

START = {
    "name": "Example Rocket Tools",
    "website": "https://rockets.example.com/",
    "headline": "Rockets for everyone",
    "body": "Small rockets for small gardens.",
    "slotId": "left-top",
    "weekStart": NEXT_WEEK,
    "idempotencyKey": uuid(900),
}


async def _ready(world: World, email: str = "sponsor@example.com") -> tuple[Person, str]:
    """A sponsor with a profile and a campaign, and a slot to book."""
    if "left-top" not in world.memory.slots:
        add_slot(world)
    person = sponsor(world, email)
    await person.profile()
    return person, await person.campaign()


async def test_a_reservation_holds_a_week(world: World) -> None:
    person, campaign = await _ready(world)
    booking = await person.booking(campaign)
    assert booking == {
        "id": booking["id"],
        "campaignId": campaign,
        "campaignName": "Autumn launch",
        "slotName": "Slot left-top",
        "slotId": "left-top",
        "weekStart": NEXT_WEEK,
        "weekEnd": NEXT_WEEK + WEEK_MS,
        "amountCents": 12_000,
        "currency": "usd",
        "status": "reserved",
        "mode": "test",
        "createdAt": NOON_MS,
        "impressions": 0,
        "clicks": 0,
        "sponsorName": "Example Tools",
        "heldUntil": NOON_MS + 30 * MINUTE_MS,
        "campaignStatus": "pending",
        "nextStep": "pay",
    }
    assert await person.read(booking["id"]) == {"booking": booking, "receipt": None}
    assert (await person.get(f"{API}/bookings")).json == {"items": [booking], "cursor": None, "hasMore": False}


async def test_a_package_of_weeks_costs_and_holds_them_all(world: World) -> None:
    add_slot(world, weeks=3, package_kind=PackageKind.BUNDLE, description="Three weeks and a video")
    person, campaign = await _ready(world)
    booking = await person.booking(campaign)
    assert booking["amountCents"] == 36_000
    assert booking["weekEnd"] == NEXT_WEEK + 3 * WEEK_MS
    assert (booking["packageKind"], booking["youtubeStatus"]) == ("bundle", "planned")
    assert booking["packageDescription"] == "Three weeks and a video"
    other, theirs = await _ready(world, "other@example.com")
    for week in (-1, 0, 1, 2):
        body = other.booking_body(theirs, week=NEXT_WEEK + week * WEEK_MS)
        assert (await other.post(f"{API}/bookings", body)).words == "409 slot_unavailable"
    assert (
        await other.post(f"{API}/bookings", other.booking_body(theirs, week=NEXT_WEEK + 3 * WEEK_MS))
    ).words == "200"


async def test_the_same_key_and_body_give_the_same_booking(world: World) -> None:
    person, campaign = await _ready(world)
    body = person.booking_body(campaign)
    first = await person.post(f"{API}/bookings", body)
    before = tables(world)
    again = await person.post(f"{API}/bookings", body | {"idempotencyKey": body["idempotencyKey"].upper()})
    assert again.json == first.json
    assert tables(world) == before


async def test_the_same_key_gives_the_booking_as_it_stands_by_then(world: World) -> None:
    person, campaign = await _ready(world)
    body = person.booking_body(campaign)
    booking = (await person.post(f"{API}/bookings", body)).json["booking"]
    await person.post(f"{API}/bookings/{booking['id']}/cancel")
    world.clock.at_ms += 3 * WEEK_MS
    assert (await person.post(f"{API}/bookings", body)).json["booking"]["status"] == "cancelled"


async def test_the_same_key_with_another_body_is_refused(world: World) -> None:
    person, campaign = await _ready(world)
    body = person.booking_body(campaign)
    await person.post(f"{API}/bookings", body)
    before = tables(world)
    another = await person.post(f"{API}/bookings", body | {"weekStart": NEXT_WEEK + WEEK_MS})
    assert another.words == "409 idempotency_conflict"
    assert tables(world) == before


async def test_a_refused_request_does_not_burn_its_key(world: World) -> None:
    person, campaign = await _ready(world)
    other, theirs = await _ready(world, "other@example.com")
    held = await other.booking(theirs)
    body = person.booking_body(campaign)
    assert (await person.post(f"{API}/bookings", body)).words == "409 slot_unavailable"
    assert (await other.post(f"{API}/bookings/{held['id']}/cancel")).words == "200"
    assert (await person.post(f"{API}/bookings", body)).words == "200"


async def test_two_accounts_may_use_one_key(world: World) -> None:
    person, campaign = await _ready(world)
    other, theirs = await _ready(world, "other@example.com")
    one = await person.post(f"{API}/bookings", person.booking_body(campaign))
    body = other.booking_body(theirs, week=NEXT_WEEK + WEEK_MS)
    two = await other.post(f"{API}/bookings", body | {"idempotencyKey": uuid(1)})
    assert one.json["booking"]["id"] != two.json["booking"]["id"]


async def test_clients_at_once_get_one_week_once(world: World) -> None:
    people = [await _ready(world, f"sponsor-{number}@example.com") for number in range(12)]
    answers: list[str] = []

    async def reserve(person: Person, campaign: str) -> None:
        answers.append((await person.post(f"{API}/bookings", person.booking_body(campaign))).words)

    async with trio.open_nursery() as nursery:
        for person, campaign in people:
            nursery.start_soon(reserve, person, campaign)
    assert sorted(answers) == ["200"] + ["409 slot_unavailable"] * 11


BAD_BOOKINGS = {
    "a week that is not aligned": {"weekStart": NEXT_WEEK + 1},
    "a week in 1970": {"weekStart": 4 * 86_400_000 + 1},
    "a week in 9999": {"weekStart": 253_370_764_800_000},
    "a week beyond the horizon": {"weekStart": THIS_WEEK + 27 * WEEK_MS},
    "a negative week": {"weekStart": -259_200_000},
    "a huge integer": {"weekStart": 10**30},
    "a fraction": {"weekStart": 1.5},
    "a text for a week": {"weekStart": str(NEXT_WEEK)},
    "true for a week": {"weekStart": True},
    "no UUID": {"idempotencyKey": "let-me-in"},
    "a UUID in braces": {"idempotencyKey": f"{{{uuid(1)}}}"},
    "an empty slot": {"slotId": ""},
    "a long slot": {"slotId": "s" * 101},
    "a number for a campaign": {"campaignId": 7},
    "another property": {"amountCents": 1},
    "null": {"campaignId": None},
}


@pytest.mark.parametrize("change", BAD_BOOKINGS.values(), ids=BAD_BOOKINGS)
async def test_a_booking_that_is_not_valid_is_refused_and_nothing_is_written(
    world: World, change: dict[str, object]
) -> None:
    person, campaign = await _ready(world)
    before = tables(world)
    refused = await person.post(f"{API}/bookings", person.booking_body(campaign) | change)
    assert refused.words == "400 invalid_request"
    start = START | {name: value for name, value in change.items() if name != "campaignId"}
    if start != START:
        assert (await person.post(f"{API}/bookings/start", start)).words == "400 invalid_request"
    assert tables(world) == before


async def test_a_week_that_is_over_cannot_be_booked(world: World) -> None:
    person, campaign = await _ready(world)
    body = person.booking_body(campaign, week=THIS_WEEK - WEEK_MS)
    assert (await person.post(f"{API}/bookings", body)).words == "409 slot_unavailable"


@pytest.mark.parametrize("week", [THIS_WEEK, THIS_WEEK + 26 * WEEK_MS])
async def test_this_week_and_the_last_of_the_horizon_can_be_booked(world: World, week: int) -> None:
    person, campaign = await _ready(world)
    assert (await person.booking(campaign, week=week))["weekStart"] == week


SLOTS_NOT_SOLD = {
    "inactive": {"active": False},
    "coming soon": {"coming_soon": True},
    "its offer is over": {"offer_ends_ms": NOON_MS},
}


@pytest.mark.parametrize("fields", SLOTS_NOT_SOLD.values(), ids=SLOTS_NOT_SOLD)
async def test_a_slot_that_is_not_sold_cannot_be_booked(world: World, fields: dict[str, Any]) -> None:
    add_slot(world, **fields)
    person, campaign = await _ready(world)
    assert (await person.post(f"{API}/bookings", person.booking_body(campaign))).words == "409 slot_unavailable"


@pytest.mark.parametrize(
    "change", [{"slotId": "nowhere"}, {"campaignId": "cmp_nobody"}, {"slotId": "a\0b"}, {"slotId": "é"}]
)
async def test_an_unknown_slot_or_campaign_is_not_found(world: World, change: dict[str, str]) -> None:
    person, campaign = await _ready(world)
    before = tables(world)
    assert (await person.post(f"{API}/bookings", person.booking_body(campaign) | change)).words == "404 not_found"
    assert tables(world) == before


async def test_somebody_elses_campaign_cannot_be_booked(world: World) -> None:
    _, campaign = await _ready(world)
    other, _ = await _ready(world, "other@example.com")
    assert (await other.post(f"{API}/bookings", other.booking_body(campaign))).words == "404 not_found"


async def test_without_a_profile_nothing_can_be_booked(world: World) -> None:
    add_slot(world)
    person = sponsor(world)
    body = person.booking_body(await person.campaign())
    assert (await person.post(f"{API}/bookings", body)).words == "409 profile_required"


async def test_a_rejected_campaign_cannot_be_booked(world: World) -> None:
    person, campaign = await _ready(world)
    review = {"decision": "reject", "note": "No."}
    await administrator(world).post(f"{ADMIN}/campaigns/{campaign}/review", review)
    body = person.booking_body(campaign)
    assert (await person.post(f"{API}/bookings", body)).words == "409 campaign_not_bookable"


async def test_an_account_holds_three_unpaid_bookings_at_most(world: World) -> None:
    person, campaign = await _ready(world)
    held = [await person.booking(campaign, week=NEXT_WEEK + week * WEEK_MS) for week in range(3)]
    fourth = person.booking_body(campaign, week=NEXT_WEEK + 3 * WEEK_MS)
    assert (await person.post(f"{API}/bookings", fourth)).words == "409 hold_limit"
    await person.pay(held[0]["id"])
    assert (await person.post(f"{API}/bookings", fourth)).words == "200"


async def test_a_hold_that_ran_out_is_expired_at_once_and_makes_way(world: World) -> None:
    person, campaign = await _ready(world)
    other, theirs = await _ready(world, "other@example.com")
    booking = await person.booking(campaign)
    world.clock.at_ms += 30 * MINUTE_MS - 1
    assert (await other.post(f"{API}/bookings", other.booking_body(theirs))).words == "409 slot_unavailable"
    world.clock.at_ms += 1
    assert (await person.read(booking["id"]))["booking"]["status"] == "expired"
    assert (await other.booking(theirs))["status"] == "reserved"
    assert (await person.post(f"{API}/bookings/{booking['id']}/checkout")).words == "409 invalid_state"


async def test_the_sweeper_ends_holds_by_itself(world: World) -> None:
    person, campaign = await _ready(world)
    booking = await person.booking(campaign)
    world.clock.at_ms += 30 * MINUTE_MS
    world.services.sweeper.wake()
    await world.settled()
    assert world.memory.slot_weeks == {}
    assert world.memory.bookings[booking["id"]].status.value == "expired"
    assert changes(world)[-1] == ("system", "booking.expired")


async def test_checkout_begins_the_hold_anew_once(world: World) -> None:
    person, campaign = await _ready(world)
    booking = await person.booking(campaign)
    world.clock.at_ms += 20 * MINUTE_MS
    opened = (await person.post(f"{API}/bookings/{booking['id']}/checkout")).json
    assert opened["expiresAt"] == world.now_ms + 30 * MINUTE_MS
    assert (await person.read(booking["id"]))["booking"]["status"] == "checkout"
    world.clock.at_ms += 20 * MINUTE_MS
    assert (await person.post(f"{API}/bookings/{booking['id']}/checkout")).json == opened


async def test_a_paid_booking_has_a_receipt(world: World) -> None:
    person, campaign = await _ready(world)
    booking = await person.booking(campaign)
    world.clock.at_ms += MINUTE_MS
    await person.pay(booking["id"])
    paid = await person.read(booking["id"])
    assert paid["booking"]["status"] == "paid"
    assert paid["receipt"] == {
        "url": paid["booking"]["receiptUrl"],
        "amountCents": 12_000,
        "currency": "usd",
        "paidAt": NOON_MS + MINUTE_MS,
        "refundedCents": 0,
    }
    path = paid["receipt"]["url"].removeprefix(world.services.base_url)
    assert (await world.client.get(path)).status == 200


async def test_a_cancelled_booking_frees_its_week_at_once(world: World) -> None:
    person, campaign = await _ready(world)
    booking = await person.booking(campaign)
    for _ in range(2):
        cancelled = await person.post(f"{API}/bookings/{booking['id']}/cancel")
        assert cancelled.json["booking"]["status"] == "cancelled"
    other, theirs = await _ready(world, "other@example.com")
    assert (await other.booking(theirs))["status"] == "reserved"


async def test_a_paid_booking_cannot_be_cancelled(world: World) -> None:
    person, campaign = await _ready(world)
    booking = await person.booking(campaign)
    await person.pay(booking["id"])
    assert (await person.post(f"{API}/bookings/{booking['id']}/cancel")).words == "409 invalid_state"
    assert (await person.post(f"{API}/bookings/{booking['id']}/checkout")).words == "409 invalid_state"


async def test_a_booking_of_another_account_does_not_exist(world: World) -> None:
    person, campaign = await _ready(world)
    booking = (await person.booking(campaign))["id"]
    other = sponsor(world, "other@example.com")
    before = tables(world)
    assert (await other.get(f"{API}/bookings/{booking}")).words == "404 not_found"
    for move in ("checkout", "cancel"):
        assert (await other.post(f"{API}/bookings/{booking}/{move}")).words == "404 not_found"
    assert (await other.get(f"{API}/bookings")).json["items"] == []
    assert tables(world) == before


@pytest.mark.parametrize("name", ["bok_unknown", "%00", "a" * 101, "%F0%9F%98%80"])
async def test_a_booking_that_does_not_exist_is_not_found(world: World, name: str) -> None:
    person = sponsor(world)
    assert (await person.get(f"{API}/bookings/{name}")).status == 404
    for move in ("checkout", "cancel"):
        assert (await person.post(f"{API}/bookings/{name}/{move}")).status == 404


# Profile, campaign and booking in one.


async def test_a_start_saves_the_brand_and_reserves_in_one_go(world: World) -> None:
    add_slot(world)
    person = sponsor(world)
    booking = (await person.post(f"{API}/bookings/start", START)).json["booking"]
    assert (booking["status"], booking["campaignName"]) == ("reserved", "Example Rocket Tools")
    identity = (await person.get(f"{API}/me")).json
    assert identity["profile"] == {"name": START["name"], "website": START["website"]}
    [campaign] = (await person.get(f"{API}/campaigns")).json["items"]
    assert campaign["id"] == booking["campaignId"]
    shown = {"cta": "Learn more", "targetUrl": START["website"], "logoText": "ERT", "status": "pending"}
    assert campaign.items() >= shown.items()
    assert changes(world) == [("key", "profile.saved"), ("key", "campaign.created"), ("key", "booking.reserved")]


async def test_a_start_that_is_refused_leaves_nothing_behind(world: World) -> None:
    add_slot(world, active=False)
    person = sponsor(world)
    before = tables(world)
    assert (await person.post(f"{API}/bookings/start", START)).words == "409 slot_unavailable"
    assert tables(world) == before


async def test_a_start_is_repeated_safely(world: World) -> None:
    add_slot(world)
    person = sponsor(world)
    first = await person.post(f"{API}/bookings/start", START)
    before = tables(world)
    assert (await person.post(f"{API}/bookings/start", START)).json == first.json
    other = await person.post(f"{API}/bookings/start", START | {"headline": "Rockets for nobody"})
    assert other.words == "409 idempotency_conflict"
    assert tables(world) == before


async def test_a_start_needs_both_scopes(world: World) -> None:
    add_slot(world)
    for number, scopes in enumerate([(Scope.SPONSOR_WRITE,), (Scope.BILLING_WRITE,)]):
        holder = sponsor(world, f"holder-{number}@example.com", scopes)
        assert (await holder.post(f"{API}/bookings/start", START)).words == "403 insufficient_scope"
    holder = sponsor(world, scopes=(Scope.SPONSOR_WRITE, Scope.BILLING_WRITE))
    assert (await holder.post(f"{API}/bookings/start", START)).words == "200"


async def test_a_start_of_a_sponsor_with_a_profile_changes_it(world: World) -> None:
    person, _ = await _ready(world)
    await person.post(f"{API}/bookings/start", START)
    assert (await person.get(f"{API}/me")).json["profile"]["name"] == START["name"] != PROFILE["name"]


@pytest.mark.parametrize("limit", [1, 2, 50])
async def test_a_walk_over_the_list_meets_each_booking_once(world: World, limit: int) -> None:
    person, campaign = await _ready(world)
    made = []
    for week in range(5):
        booking = await person.booking(campaign, week=NEXT_WEEK + week * WEEK_MS)
        await person.pay(booking["id"])
        made.append(booking["id"])
    walked = [item["id"] for item in await person.walk(f"{API}/bookings", limit)]
    assert sorted(walked) == sorted(made)


async def test_what_was_delivered_is_counted_in_the_answer(world: World) -> None:
    person, campaign = await _ready(world)
    booking = (await person.booking(campaign))["id"]
    world.memory.delivery_days.update({(booking, 20_000): (70, 3), (booking, 20_001): (30, 1)})
    shown = (await person.read(booking))["booking"]
    assert (shown["impressions"], shown["clicks"]) == (100, 4)


async def test_an_answer_that_was_lost_is_given_again(world: World) -> None:
    person, campaign = await _ready(world)
    body = person.booking_body(campaign)
    fails_once(world.memory, away)
    assert (await person.post(f"{API}/bookings", body)).words == "503 service_unavailable"
    first = await person.post(f"{API}/bookings", body)
    assert (await person.post(f"{API}/bookings", body)).json == first.json
    assert len(world.memory.bookings) == 1
