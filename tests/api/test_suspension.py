"""Suspending, restoring and refunding accounts over HTTP (ADR 0077)."""

import json
from dataclasses import replace

import pytest

from actors.shared.credentials import Kind
from actors.values import Scope, Tier
from service.api.operations import OPERATIONS
from tests.api.asgi import Response
from tests.api.callers import OUR_PAGE, cookie
from tests.api.devices import decided, polled, started
from tests.api.sponsors import ADMIN, API, THIS_WEEK, Person, add_slot, administrator, changes, sponsor
from tests.api.world import World, open_world
from tests.contract import CACHED, CONTRACT, PERSON, Row
from tests.web.visitors import Seen, Visitor

ACCOUNTS = "/api/v1/admin/accounts"
EMAIL, BOSS = "sponsor@example.com", "admin@example.com"
REASON = "The ads lead to a page that installs software."
ALLOWED = {name for name, row in CONTRACT.items() if row.while_suspended}
"""The operations that a suspended person may still use, in a session."""


def id_of(world: World, email: str = EMAIL) -> str:
    return world.memory.accounts[email].tenant_id


async def suspend(world: World, admin: Person, email: str = EMAIL) -> Response:
    return await admin.post(f"{ACCOUNTS}/{id_of(world, email)}/suspend", {"reason": REASON})


async def restore(world: World, admin: Person, email: str = EMAIL) -> Response:
    return await admin.post(f"{ACCOUNTS}/{id_of(world, email)}/unsuspend")


async def _call(world: World, row: Row, key: str | None, headers: dict[str, str] | None = None) -> Response:
    return await world.client.request(row.method, row.target, key, headers=headers or {}, json=row.body)


def test_these_are_open_to_the_session_of_a_suspended_account() -> None:
    assert {operation.name for operation in OPERATIONS if operation.while_suspended} == ALLOWED


async def test_every_key_of_a_suspended_account_is_refused_on_every_operation() -> None:
    async with open_world(TIERS__CLAIMED__PER_MINUTE=4 * len(CONTRACT)) as world:
        await _refuses_every_key(world)


async def _refuses_every_key(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    keys = [person.key, *(world.key_of(EMAIL, scopes) for scopes in (None, (Scope.SPONSOR_READ,), tuple(Scope)))]
    assert (await suspend(world, admin)).words == "200"
    for number, (name, row) in enumerate(CONTRACT.items()):
        if number % 50 == 0:
            await world.pass_seconds(60)  # Four keys use up the minute of their account.
        if row.policy.column not in (None, PERSON.column):
            for key in keys:
                answer = await _call(world, row, key)
                assert answer.words == "403 forbidden", name
                assert answer.json["message"].startswith("This account is suspended.")
                assert REASON not in answer.json["message"], "a key tells no reason"
    assert world.tenant_of(person.key).month_used == 0, "refused requests do not count"
    assert (await restore(world, admin)).words == "200"
    await world.pass_seconds(60)  # Each operation used the minute of the keys.
    assert [(await world.client.get(f"{API}/me", key)).status for key in keys] == [200, 200, 200, 200]


async def test_a_session_of_a_suspended_account_exports_deletes_and_ends_and_does_nothing_else(world: World) -> None:
    admin = administrator(world)
    session = cookie(world.session(EMAIL)) | OUR_PAGE
    await suspend(world, admin)
    for name, row in CONTRACT.items():
        if row.policy.column is not None and row.policy not in CACHED:
            answer = await _call(world, row, None, session)
            refused = answer.status == 403 and answer.json["message"].startswith("This account is suspended.")
            assert refused == (name not in ALLOWED), (name, answer.words)
            assert not refused or REASON in answer.json["message"]
        elif row.policy in CACHED:
            answer = await _call(world, row, None, session)
            assert answer.status != 403, "a visitor's request, whoever's cookie comes with it"


async def test_another_node_refuses_a_key_that_it_knows_from_the_next_request_on() -> None:
    async with open_world() as here, open_world(here.memory, 2, here.clock) as there:
        admin, person = administrator(here), sponsor(here)
        assert (await there.client.get(f"{API}/me", person.key)).status == 200
        await suspend(here, admin)
        assert (await there.client.get(f"{API}/me", person.key)).words == "403 forbidden"
        await restore(here, admin)
        assert (await there.client.get(f"{API}/me", person.key)).status == 200


async def test_placements_stop_and_their_events_are_inactive_until_the_account_is_restored(world: World) -> None:
    admin = administrator(world)
    booking = await sponsor(world).buys(week=THIS_WEEK)
    campaign = world.memory.bookings[booking].campaign_id
    await admin.post(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "approve"})
    await world.settled()

    async def placements() -> list[str]:
        listed = (await world.client.get(f"{API}/placements")).json["placements"]
        return [each["bookingId"] for each in listed]

    async def event(number: int) -> Response:
        body = {"bookingId": booking, "kind": "click", "visitorId": f"00000000-0000-4000-8000-{number:012d}"}
        return await world.client.post(f"{API}/events", json=body)

    assert await placements() == [booking]
    assert (await event(1)).json == {"recorded": True}
    await suspend(world, admin)
    await world.settled()
    assert await placements() == []
    dropped = await event(2)
    assert (dropped.json, dropped.header("x-event-dropped")) == ({"recorded": False}, "inactive")
    await restore(world, admin)
    await world.settled()
    assert await placements() == [booking]
    assert (await event(2)).json == {"recorded": True}


async def test_a_payment_under_way_is_kept_and_can_be_refunded(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    add_slot(world)
    await person.profile()
    booking = (await person.booking(await person.campaign()))["id"]
    page = (await person.checkout(booking)).removeprefix(world.services.base_url)
    await suspend(world, admin)
    form = {"content-type": "application/x-www-form-urlencoded"}
    paid = await world.client.post(page, headers=form, body=b"do=pay")
    assert paid.status == 200
    assert world.memory.bookings[booking].status == "paid"
    refunds = await admin.post(f"{ACCOUNTS}/{id_of(world)}/refund", {"reason": "Suspended."})
    sums = [{"currency": "usd", "mode": "test", "bookings": 1, "amountCents": 12_000}]
    assert refunds.json == {"ordered": 1, "sums": sums, "hasMore": False}
    await world.settled()
    assert world.memory.bookings[booking].status == "refunded"


async def test_suspending_and_restoring_are_audited_mailed_and_done_once(world: World) -> None:
    admin = administrator(world)
    sponsor(world)
    answers = [await suspend(world, admin) for _ in range(2)]
    assert answers[0].json == answers[1].json
    account = answers[0].json["account"]
    assert (account["suspensionReason"], account["email"]) == (REASON, EMAIL)
    assert account["suspendedAt"] == world.now_ms
    again = [await restore(world, admin) for _ in range(2)]
    assert [set(each.json["account"]) & {"suspendedAt", "suspensionReason"} for each in again] == [set(), set()]
    assert changes(world) == [("key", "account.suspended"), ("key", "account.restored")]
    [suspended, restored] = world.memory.audits
    assert suspended.target_id == restored.target_id == id_of(world)
    assert (suspended.actor_email, json.loads(suspended.changes)) == (BOSS, {"reason": REASON})
    world.services.mail.wake()
    await world.settled()
    mails = [mail for mail in world.postbox.mails if mail.recipient == EMAIL]
    assert [mail.subject for mail in mails] == ["Your account is suspended", "Your account is no longer suspended"]
    assert REASON in mails[0].text


@pytest.mark.parametrize(
    "body", [None, {}, {"reason": ""}, {"reason": " "}, {"reason": "x" * 501}, {"reason": "a", "b": 1}]
)
async def test_a_suspension_needs_a_reason(world: World, body: object) -> None:
    admin = administrator(world)
    sponsor(world)
    assert (await admin.post(f"{ACCOUNTS}/{id_of(world)}/suspend", body)).words == "400 invalid_request"
    assert world.memory.accounts[EMAIL].suspended_ms is None


async def test_a_suspended_account_claims_no_key_and_approves_no_device(world: World) -> None:
    admin = administrator(world)
    browser = world.session(EMAIL)
    minted = (await world.client.post("/api/v1/auth/agent")).json
    claim = {"claimToken": minted["claimToken"], "email": EMAIL}
    await world.client.post("/api/v1/auth/claim", json=claim)
    code = await world.emailed_code(EMAIL)
    await suspend(world, admin)
    completed = await world.client.post("/api/v1/auth/claim/complete", json=claim | {"code": code})
    assert completed.words == "403 forbidden"
    device = await started(world)
    assert (await decided(world, browser, device["user_code"])).words == "403 forbidden"
    assert (await polled(world, device["device_code"])).words == "400 authorization_pending"


async def test_a_suspended_person_signs_in_reads_why_and_is_led_nowhere_else(world: World) -> None:
    admin = administrator(world)
    world.key(kind=Kind.USER, tier=Tier.CLAIMED, email=EMAIL)
    await suspend(world, admin)
    visitor = Visitor(world, world.session(EMAIL))
    for path in ("/dashboard", "/sponsor", "/sponsor/campaigns", "/device", "/admin"):
        sent = await visitor.get(path)
        assert (sent.status, sent.header("location")) == (303, "/account/suspended"), path
    assert REASON in (await visitor.look("/account/suspended")).text
    assert (await visitor.get("/account/delete")).status == 200
    assert (await visitor.get("/usecases")).status == 200
    posted = await visitor.send("/dashboard", do="create-key", kind="full", name="x")
    assert (posted.status, posted.header("location")) == (303, "/account/suspended")
    await restore(world, admin)
    assert (await visitor.get("/account/suspended")).header("location") == "/dashboard"
    assert "Keys" in Seen.of(await visitor.get("/dashboard")).text


async def test_all_weeks_of_an_account_are_refunded_in_bounded_steps_and_once(world: World) -> None:
    admin, person = administrator(world), sponsor(world)
    await person.profile()
    campaign = await person.campaign()
    bookings = []
    for number in range(27):
        world.clock.at_ms += 24 * 3_600_000 if number == 15 else 0
        bookings.append(await person.buys(f"left-{number}", campaign=campaign))
    for ordered, more in ((25, True), (2, False), (0, False)):
        answer = (await admin.post(f"{ACCOUNTS}/{id_of(world)}/refund")).json
        assert (answer["ordered"], answer["hasMore"]) == (ordered, more)
        assert [each["amountCents"] for each in answer["sums"]] == [ordered * 12_000] * bool(ordered)
    await world.settled()
    assert {world.memory.bookings[booking].status for booking in bookings} == {"refunded"}
    assert changes(world).count(("key", "booking.refund_ordered")) == 27
    unknown = await admin.post(f"{ACCOUNTS}/ten_unknown/refund")
    assert unknown.words == "404 not_found"


async def test_what_was_refunded_by_hand_is_not_summed_up_again(world: World) -> None:
    admin = administrator(world)
    booking = await sponsor(world).buys()
    world.memory.bookings[booking] = replace(world.memory.bookings[booking], refunded_cents=5_000)
    answer = await admin.post(f"{ACCOUNTS}/{id_of(world)}/refund")
    assert answer.json["sums"] == [{"currency": "usd", "mode": "test", "bookings": 1, "amountCents": 7_000}]
