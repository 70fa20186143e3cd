"""A booking from its checkout to a dispute, through the real application with its stores in memory, in live mode."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import partial

import pytest
import trio

from actors.bookings.payments import Checkout, RefundAttempt
from actors.bookings.records import BillingDetails, Booking
from actors.clock import DAY_MS, SECOND_MS
from tests.api.asgi import Response
from tests.api.sponsors import ADMIN, API, THIS_WEEK, Person, add_slot, administrator, sponsor
from tests.api.world import World, away, open_world
from tests.payments.bank import LIVE
from tests.payments.events import PAID, charge, disputed, dumped, event, session, signature

PLACEMENTS = "/api/v1/sponsors/placements"


@dataclass
class Counter:
    """A processor that makes a session for each request."""

    sessions: list[str] = field(default_factory=list)
    then: Callable[[], None] = lambda: None
    """Called when a session was made."""

    async def checkout(
        self, booking: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        self.then()
        self.sessions.append(f"cs_live_{len(self.sessions) + 1}")
        return Checkout(f"https://pay.example.com/{self.sessions[-1]}", booking.hold_ms, self.sessions[-1])

    async def invoice_url(self, booking: Booking) -> str | None:
        await trio.lowlevel.checkpoint()
        return None

    async def refund(self, booking: Booking) -> RefundAttempt:
        raise AssertionError("nothing here is refunded")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world(**LIVE) as opened:
        opened.services.payments = Counter()
        yield opened


async def _reserved(world: World) -> tuple[Person, str, str]:
    """A sponsor with a campaign that an administrator has approved, and a booking of this week."""
    add_slot(world)
    person = sponsor(world)
    await person.profile()
    campaign = await person.campaign()
    approved = await administrator(world).post(f"{ADMIN}/campaigns/{campaign}/review", {"decision": "approve"})
    assert approved.status == 200
    return person, campaign, (await person.booking(campaign, week=THIS_WEEK))["id"]


async def _told(world: World, told: object) -> Response:
    body = dumped(told)
    headers = {"Stripe-Signature": signature(body, world.now_ms // SECOND_MS)}
    response = await world.client.post("/api/v1/webhooks/stripe", headers=headers, body=body)
    assert response.words == "200", response.body
    return response


async def _shown(world: World) -> list[str]:
    await world.pass_seconds(1)
    await world.settled()
    return [each["bookingId"] for each in (await world.client.get(PLACEMENTS)).json["placements"]]


async def test_a_session_is_stored_before_anyone_is_sent_there(world: World) -> None:
    person, _, booking_id = await _reserved(world)
    before = world.memory.before
    world.services.payments = Counter(then=partial(setattr, world.memory, "before", away))
    assert (await person.post(f"{API}/bookings/{booking_id}/checkout")).words == "503 service_unavailable"
    assert world.memory.bookings[booking_id].sessions == ""
    world.memory.before = before
    world.services.payments = Counter(["cs_live_1"])
    assert (await person.checkout(booking_id)).endswith("cs_live_2")
    assert world.memory.bookings[booking_id].sessions == "cs_live_2"
    await _told(world, event(PAID, session(booking_id, id="cs_live_1", amount_total=8_571)))
    assert world.memory.bookings[booking_id].status == "checkout"
    await _told(world, event(PAID, session(booking_id, id="cs_live_2", amount_total=8_571)))
    assert world.memory.bookings[booking_id].status == "paid"


async def test_a_disputed_booking_is_hidden_told_and_shown_again(world: World) -> None:
    person, _, booking_id = await _reserved(world)
    await person.checkout(booking_id)
    await _told(world, event(PAID, session(booking_id, id="cs_live_1", amount_total=8_571)))
    assert await _shown(world) == [booking_id]
    await _told(world, disputed())
    assert await _shown(world) == []
    assert (await person.read(booking_id))["booking"]["paymentIssue"] == "disputed"
    [mail] = [each for each in world.postbox.mails if each.recipient == "admin@example.com"]
    assert (mail.recipient, mail.subject) == ("admin@example.com", "A payment is disputed")
    assert booking_id in mail.text
    cookie = f"__Host-session={world.session('admin@example.com', admin=True)}"
    page = await world.client.get(f"/admin/bookings/{booking_id}", headers={"Cookie": cookie})
    assert "Payment disputed</span>" in page.body.decode()
    assert b"Order the refund" not in page.body
    refused = await administrator(world).post(f"{ADMIN}/bookings/{booking_id}/refund", {})
    assert refused.words == "409 invalid_state"
    await _told(world, disputed("won", "evt_won"))
    assert await _shown(world) == [booking_id]
    assert "paymentIssue" not in (await person.read(booking_id))["booking"]
    assert [audit.action for audit in world.memory.audits][-2:] == ["booking.dispute_opened", "booking.dispute_won"]


async def _documents(world: World, person: Person, booking_id: str) -> list[tuple[str, int, str]]:
    """The kinds, amounts and currencies of a booking's documents."""
    found = (await person.get(f"{API}/bookings/{booking_id}/invoice")).json["invoices"]
    return [(each["kind"], each["amountCents"], each["currency"]) for each in found]


async def test_a_part_that_is_lost_and_won_later_is_on_the_documents_and_in_the_revenue(world: World) -> None:
    person, _, booking_id = await _reserved(world)
    await person.checkout(booking_id)
    await _told(world, event(PAID, session(booking_id, id="cs_live_1", amount_total=8_571)))
    await _told(world, disputed("lost", "evt_lost", amount=50))
    booking = (await person.read(booking_id))["booking"]
    assert (booking["status"], booking["refundedCents"], booking["paymentIssue"]) == ("paid", 50, "dispute_lost")
    assert await _shown(world) == [booking_id]
    [month] = (await administrator(world).get(f"{ADMIN}/revenue")).json["items"]
    assert (month["paidCents"], month["refundedCents"], month["netCents"]) == (8_571, 50, 8_521)
    [mail] = [each for each in world.postbox.mails if each.subject == "A dispute was lost"]
    assert "Lost: USD 0.50 of USD 85.71" in mail.text
    assert "stays paid" in mail.text
    await _told(world, disputed("won", "evt_won", amount=50))
    assert "refundedCents" not in (await person.read(booking_id))["booking"]
    documents = [("invoice", 8_571, "usd"), ("credit_note", 50, "usd"), ("invoice", 50, "usd")]
    assert await _documents(world, person, booking_id) == documents


async def test_money_in_another_currency_is_stated_in_it(world: World) -> None:
    """Stripe can convert a price for the payer. Its amount then goes back."""
    person, _, booking_id = await _reserved(world)
    await person.checkout(booking_id)
    await _told(world, event(PAID, session(booking_id, id="cs_live_1", amount_total=1_001, currency="jpy")))
    await _told(world, event("charge.refunded", charge(booking_id, currency="jpy", amount_refunded=1_001), "evt_r"))
    read = await person.read(booking_id)
    assert (read["booking"]["currency"], read["booking"]["paidCurrency"]) == ("usd", "jpy")
    assert read["booking"]["refundedCents"] == 1_001
    documents = [("invoice", 1_001, "jpy"), ("credit_note", 1_001, "jpy")]
    assert await _documents(world, person, booking_id) == documents
    [month] = (await administrator(world).get(f"{ADMIN}/revenue")).json["items"]
    assert (month["currency"], month["paidCents"], month["netCents"]) == ("jpy", 1_001, 0)
    await world.pass_seconds(1)
    [mail] = [each for each in world.postbox.mails if each.subject.startswith("Refunded")]
    assert mail.subject.startswith("Refunded: JPY 1,001 for ")
    assert "USD" not in mail.text
    file = (await administrator(world).get(f"{ADMIN}/bookings?format=csv")).body.decode()
    assert file.splitlines()[1].endswith(",jpy")
    for path in (f"/sponsor/bookings/{booking_id}", f"/sponsor/bookings/{booking_id}/invoice"):
        page = await world.client.get(
            path, headers={"Cookie": f"__Host-session={world.session('sponsor@example.com')}"}
        )
        assert "JPY 1,001" in page.body.decode(), path


async def test_the_days_that_were_bought_are_stated_alike_everywhere(world: World) -> None:
    """On a Wednesday, five days of the week are left."""
    person, _, booking_id = await _reserved(world)
    await person.checkout(booking_id)
    await _told(world, event(PAID, session(booking_id, id="cs_live_1", amount_total=8_571)))
    booking = (await person.read(booking_id))["booking"]
    first_ms = THIS_WEEK + 2 * DAY_MS
    assert (booking["weekStart"], booking["periodStart"]) == (THIS_WEEK, first_ms)
    [invoice] = (await person.get(f"{API}/bookings/{booking_id}/invoice")).json["invoices"]
    assert [invoice[name] for name in ("weekStart", "periodStart")] == [THIS_WEEK, first_ms]
    await world.pass_seconds(1)
    [mail] = [each for each in world.postbox.mails if each.subject.startswith("Receipt: ")]
    assert "18 to 22 November" in mail.text
    headers = {"Cookie": f"__Host-session={world.session('sponsor@example.com')}"}
    pages = {
        f"/sponsor/bookings/{booking_id}": "18 to 22 November, 5 days.",
        f"/sponsor/bookings/{booking_id}/invoice": "5 days, 18 Nov 2026 to 22 Nov 2026",
        "/sponsor/invoices": "18 to 22 November",
        "/sponsor/bookings": "18 to 22 November",
        booking["receiptUrl"].partition("/receipt/")[1] + booking["receiptUrl"].partition("/receipt/")[2]: "5 days",
    }
    for path, words in pages.items():
        page = (await world.client.get(path, headers=headers)).body.decode()
        assert words in page, path
        assert "16 to 22 Nov" not in page, path
    paid_page = (await world.client.get([*pages][-1], headers=headers)).body.decode()
    assert "Wednesday, 18 November 2026 to Sunday, 22 November 2026" in paid_page


async def test_a_refusal_to_hold_a_week_again_says_when_to_try_again(world: World) -> None:
    person, campaign, booking_id = await _reserved(world)
    assert (await person.post(f"{API}/bookings/{booking_id}/cancel")).status == 200
    refused = await person.post(f"{API}/bookings", person.booking_body(campaign, week=THIS_WEEK))
    assert refused.words == "409 hold_limit"
    assert (refused.header("retry-after"), json.loads(refused.body)["retryAfter"]) == ("3600", 3_600)
    world.clock.at_ms += 3_600 * SECOND_MS
    assert (await person.booking(campaign, week=THIS_WEEK))["status"] == "reserved"
