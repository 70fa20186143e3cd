"""Operations 17 to 19 and 22: reserving, checkout, payment, cancelling and reading bookings."""

import pytest

from actors.clock import MINUTE_MS
from actors.times import WEEK_MS
from tests.api.sponsors import API, NEXT_WEEK, THIS_WEEK, Person, add_slot, changes, sponsor, tables, uuid
from tests.api.world import NOON_MS, World

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
