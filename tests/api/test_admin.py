"""Operations 23 to 26 and other administration: review, slots, refunds, videos, the audit log."""

import pytest

from actors.clock import DAY_MS
from tests.api.sponsors import ADMIN, API, CAMPAIGN, add_slot, administrator, changes, sponsor, tables
from tests.api.world import NOON_MS, World

SLOT = {"id": "right-top", "name": "Right, top", "side": "right", "weekPriceCents": 15_000}


# Lists.


async def test_the_queue_of_a_review_is_what_waits_the_oldest_first(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    await person.profile()
    made = []
    for _ in range(5):
        made.append(await person.campaign())
        world.clock.at_ms += 1
    await admin.post(f"{ADMIN}/campaigns/{made[1]}/review", {"decision": "approve"})
    waiting = [made[0], *made[2:]]
    assert [item["id"] for item in await admin.walk(f"{ADMIN}/campaigns?status=pending&order=oldest", 2)] == waiting
    assert [item["id"] for item in await admin.walk(f"{ADMIN}/campaigns?status=pending", 3)] == waiting[::-1]
    assert [item["id"] for item in await admin.walk(f"{ADMIN}/campaigns?status=approved", 3)] == [made[1]]
    assert [item["id"] for item in await admin.walk(f"{ADMIN}/campaigns?status=&order=", 2)] == made[::-1]


@pytest.mark.parametrize("query", ["status=live", "status=PENDING", "order=best", "status=pending&status=draft"])
async def test_a_filter_that_is_none_is_refused(world: World, query: str) -> None:
    assert (await administrator(world).get(f"{ADMIN}/campaigns?{query}")).words == "400 invalid_request"


async def test_a_cursor_belongs_to_its_filter_and_order(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    for _ in range(3):
        await person.campaign()
    cursor = (await admin.get(f"{ADMIN}/campaigns?status=pending&limit=1")).json["cursor"]
    for query in ("", "status=draft&", "status=pending&order=oldest&"):
        answer = await admin.get(f"{ADMIN}/campaigns?{query}cursor={cursor}")
        assert answer.words == "400 invalid_request", query


async def test_administrators_see_which_words_mix_alphabets_and_sponsors_do_not(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    await person.patch(f"{API}/profile", {"name": "Ex\u0430mple Tools", "website": "https://example.com"})
    await person.campaign(name="Plain", headline="Кофе and coffee", body="Get it t\u043eday, Ex\u0430mple.")
    world.clock.at_ms += 1
    await person.campaign(name="Plain")
    plain, mixed = (await admin.get(f"{ADMIN}/campaigns")).json["items"]
    assert mixed["mixedWords"] == ["Ex\u0430mple", "t\u043eday"]
    assert plain["mixedWords"] == ["Ex\u0430mple"], "the sponsor's name"
    rejected = await admin.post(f"{ADMIN}/campaigns/{plain['id']}/review", {"decision": "reject", "note": "Who?"})
    assert rejected.json["campaign"]["mixedWords"] == ["Ex\u0430mple"]
    assert not [item for item in (await person.get(f"{API}/campaigns")).json["items"] if "mixedWords" in item]


@pytest.mark.parametrize("sign", [*"\u00ad\u034f\u115f\u180b\u200c\u2063\ufe0f\uffa0\U000e0041"], ids=ascii)
async def test_no_name_has_an_invisible_character(world: World, sign: str) -> None:
    admin, person, name = administrator(world), sponsor(world), f"Example{sign}Tools"
    answers = [
        await person.patch(f"{API}/profile", {"name": name, "website": "https://example.com"}),
        await person.post(f"{API}/campaigns", CAMPAIGN | {"name": name}),
        await person.post(f"{API}/campaigns", CAMPAIGN | {"headline": name}),
        await person.post(f"{API}/keys", {"name": name, "scopes": ["sponsor:read"]}),
        await admin.post(f"{ADMIN}/slots", SLOT | {"name": name}),
    ]
    for answer in answers:
        assert answer.words == "400 invalid_request"
        assert answer.json["message"].endswith("must not contain invisible characters")


# Slots.


async def test_a_slot_is_created_and_sold(world: World) -> None:
    admin = administrator(world)
    created = await admin.post(f"{ADMIN}/slots", SLOT)
    shown = SLOT | {"active": True, "comingSoon": False, "durationWeeks": 1}
    assert created.json == {"slot": shown}
    assert (await admin.get(f"{ADMIN}/slots")).json == {"items": [shown]}
    await world.settled()
    [listed] = (await world.client.get(f"{API}/inventory")).json["slots"]
    assert listed == shown | {"available": True, "priceCents": 10_714}  # five days of seven


async def test_a_slot_without_an_id_gets_one(world: World) -> None:
    body = {name: value for name, value in SLOT.items() if name != "id"}
    created = await administrator(world).post(f"{ADMIN}/slots", body)
    assert created.json["slot"]["id"].startswith("slt_")


async def test_every_field_of_a_slot_can_be_changed_and_some_cleared(world: World) -> None:
    admin = administrator(world)
    await admin.post(f"{ADMIN}/slots", SLOT)
    full = {
        "name": "Left, below",
        "side": "left",
        "weekPriceCents": 9_900,
        "active": False,
        "durationWeeks": 4,
        "comingSoon": True,
        "offerEndsAt": NOON_MS + DAY_MS,
        "packageKind": "youtube",
        "description": "A video and four weeks",
    }
    edited = await admin.patch(f"{ADMIN}/slots/right-top", full)
    assert edited.json["slot"] == full | {"id": "right-top"}
    cleared = {"offerEndsAt": None, "packageKind": None, "description": None}
    left = (await admin.patch(f"{ADMIN}/slots/right-top", cleared)).json["slot"]
    assert left == {name: value for name, value in full.items() if name not in cleared} | {"id": "right-top"}


BAD_SLOTS = {
    "another property": {"colour": "red"},
    "another side": {"side": "top"},
    "no price": {"weekPriceCents": 0},
    "a price as a text": {"weekPriceCents": "100"},
    "a huge price": {"weekPriceCents": 10**30},
    "no weeks": {"durationWeeks": 0},
    "a hundred weeks": {"durationWeeks": 100},
    "an offer that is over": {"offerEndsAt": NOON_MS},
    "another package": {"packageKind": "tiktok"},
    "a blank name": {"name": " "},
    "a name with two spaces": {"name": "Left  top"},
    "an id with a space": {"id": "left top"},
    "yes for active": {"active": "yes"},
}


@pytest.mark.parametrize("change", BAD_SLOTS.values(), ids=BAD_SLOTS)
async def test_a_slot_that_is_not_valid_is_refused(world: World, change: dict[str, object]) -> None:
    admin = administrator(world)
    add_slot(world)
    before = tables(world)
    assert (await admin.post(f"{ADMIN}/slots", SLOT | change)).words == "400 invalid_request"
    assert (await admin.patch(f"{ADMIN}/slots/left-top", change)).words == "400 invalid_request"
    assert tables(world) == before


# Refunds.


async def test_a_refund_gives_all_back_and_frees_the_week(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    booking = await person.buys()
    ordered = await admin.post(f"{ADMIN}/bookings/{booking}/refund", {"reason": "Not delivered."})
    assert ordered.json["booking"]["status"] == "refunding"
    await world.settled()
    read = await person.read(booking)
    assert (read["booking"]["status"], read["booking"]["refundedCents"]) == ("refunded", 12_000)
    assert read["receipt"]["refundedCents"] == 12_000
    assert world.memory.slot_weeks == {}
    assert changes(world)[-2:] == [("key", "booking.refund_ordered"), ("system", "booking.refunded")]
    again = await admin.post(f"{ADMIN}/bookings/{booking}/refund")
    assert again.json["booking"]["status"] == "refunded"


@pytest.mark.parametrize("body", [{"amount": 1}, {"reason": ""}, {"reason": 7}, {"reason": "x" * 501}, []])
async def test_a_refund_that_is_not_valid_is_refused(world: World, body: object) -> None:
    admin, person = administrator(world), sponsor(world)
    booking = await person.buys()
    before = tables(world)
    assert (await admin.post(f"{ADMIN}/bookings/{booking}/refund", body)).words == "400 invalid_request"
    assert tables(world) == before


# The audit.


async def test_the_audit_tells_who_did_what(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    booking = await person.buys()
    await admin.post(f"{ADMIN}/bookings/{booking}/refund", {"reason": "Not delivered."})
    await world.settled()
    items = await admin.walk(f"{ADMIN}/audit", 3)
    assert len(items) == len(world.memory.audits) == 7
    assert len({item["id"] for item in items}) == 7
    [ordered] = [item for item in items if item["action"] == "booking.refund_ordered"]
    assert ordered["actorType"] == "key"
    assert ordered["actorEmail"] == "admin@example.com"
    assert (ordered["targetType"], ordered["targetId"]) == ("booking", booking)
    assert ordered["changes"] == {"status": ["paid", "refunding"], "reason": "Not delivered."}
    [paid] = [item for item in items if item["action"] == "booking.paid"]
    assert (paid["actorType"], paid["actorId"]) == ("system", "payments")


async def test_the_audit_of_an_account_and_up_to_a_day(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    await person.profile()
    campaign, today = await person.campaign(), world.now_ms - world.now_ms % DAY_MS
    await admin.post(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "approve"})

    async def actions(query: str) -> list[str]:
        return [record["action"] for record in await admin.walk(f"{ADMIN}/audit?{query}", 1)]

    assert await actions("actorEmail=ADMIN@example.com") == ["campaign.approved"]
    assert await actions(f"actorEmail=admin@example.com&targetId={campaign}") == ["campaign.approved"]
    assert await actions("actorEmail=nobody@example.com") == []
    assert len(await actions(f"targetId={campaign}&to={today}")) == 2
    assert await actions(f"to={today - 1}") == []
    cursor = (await admin.get(f"{ADMIN}/audit?to={today}&limit=1")).json["cursor"]
    assert (await admin.get(f"{ADMIN}/audit?cursor={cursor}")).words == "400 invalid_request"
    for wrong in ("actorEmail=%00", "to=2026-02-30"):
        assert (await admin.get(f"{ADMIN}/audit?{wrong}")).words == "400 invalid_request"
