"""Operations on invoices: what a payment and a refund are documented with, for the owner alone."""

from typing import Any

import pytest

from actors.bookings.payments import Checkout, PaymentsRefused, PaymentsUnavailable, RefundAttempt
from actors.bookings.records import Booking
from actors.values import Scope
from tests.api.sponsors import API, NEXT_WEEK, Person, add_slot, sponsor
from tests.api.world import NOON_MS, World, open_world
from tests.payments.bank import LIVE

SELLER = {
    "BILLING__SELLER_NAME": "Example Media",
    "BILLING__SELLER_ADDRESS": "1 Example Street\n10000 Example",
    "BILLING__SELLER_TAX_ID": "XX123",
    "BILLING__INVOICE_PREFIX": "EM-",
}


async def invoices_of(person: Person, booking_id: str) -> list[dict[str, Any]]:
    answer = await person.get(f"{API}/bookings/{booking_id}/invoice")
    assert answer.words == "200", answer.body
    assert answer.json.keys() == {"invoices"}
    found: list[dict[str, Any]] = answer.json["invoices"]
    return found


async def test_a_payment_has_an_invoice() -> None:
    async with open_world(**SELLER) as world:
        person = sponsor(world)
        booking_id = await person.buys()
        assert await invoices_of(person, booking_id) == [
            {
                "number": "TEST-EM-INV-000001",
                "kind": "invoice",
                "bookingId": booking_id,
                "paymentId": f"test_{booking_id}",
                "amountCents": 12_000,
                "currency": "usd",
                "mode": "test",
                "issuedAt": NOON_MS,
                "seller": {"name": "Example Media", "address": "1 Example Street\n10000 Example", "taxId": "XX123"},
                "buyer": {
                    "name": "Example Tools",
                    "website": "https://tools.example.com/",
                    "email": "sponsor@example.com",
                },
                "slotName": "Slot left-top",
                "weekStart": NEXT_WEEK,
                "weeks": 1,
                "note": "Test mode: no money moved.",
            }
        ]


async def test_a_refund_has_a_credit_note(world: World) -> None:
    person = sponsor(world)
    booking_id = await person.buys()
    [invoice] = await invoices_of(person, booking_id)
    await world.services.ledger.settle_refund(booking_id, None)
    note = (await invoices_of(person, booking_id))[1]
    assert note == invoice | {"kind": "credit_note", "number": "TEST-CN-000001", "belongsTo": "TEST-INV-000001"}
    assert (await person.read(booking_id))["receipt"]["refundedCents"] == 12_000


async def test_a_booking_that_is_not_paid_has_no_invoice_and_others_see_none(world: World) -> None:
    person = sponsor(world)
    booking_id = await person.buys()
    stranger = sponsor(world, "stranger@example.com")
    assert (await stranger.get(f"{API}/bookings/{booking_id}/invoice")).words == "404 not_found"
    assert (await stranger.get(f"{API}/invoices")).json == {"items": [], "cursor": None, "hasMore": False}
    add_slot(world, "left-low")
    held = (await person.booking(await person.campaign(), "left-low"))["id"]
    assert await invoices_of(person, held) == []
    assert (await person.get(f"{API}/bookings/bok_unknown/invoice")).words == "404 not_found"


async def test_reading_invoices_needs_the_scope_of_reading(world: World) -> None:
    booking_id = await sponsor(world).buys()
    for scope, words in ((Scope.SPONSOR_READ, "200"), (Scope.BILLING_WRITE, "403 insufficient_scope")):
        key = Person(world, world.key_of("sponsor@example.com", (scope,)))
        assert (await key.get(f"{API}/invoices")).words == words
        assert (await key.get(f"{API}/bookings/{booking_id}/invoice")).words == words


# Live mode.


class Stripe:
    """A processor with a session and an invoice for each booking, which may fail."""

    def __init__(self) -> None:
        self.emails: list[str | None] = []
        self.fails: Exception | None = None

    async def checkout(self, booking: Booking, campaign_name: str, email: str | None = None) -> Checkout:
        self.emails.append(email)
        return Checkout("https://pay.example.com/1", booking.hold_ms, "cs_1")

    async def refund(self, booking: Booking) -> RefundAttempt:
        return RefundAttempt(done=True)

    async def invoice_url(self, booking: Booking) -> str | None:
        if self.fails is not None:
            raise self.fails
        return f"https://invoice.example.com/{booking.payment_id}"


@pytest.mark.parametrize("fails", [None, PaymentsUnavailable("no answer"), PaymentsRefused("no such session")])
async def test_in_live_mode_the_processors_invoice_is_linked_if_it_can_be_found(fails: Exception | None) -> None:
    async with open_world(**LIVE, **SELLER) as world:
        stripe = world.services.payments = Stripe()
        add_slot(world)
        person = sponsor(world)
        await person.profile()
        booking_id = (await person.booking(await person.campaign()))["id"]
        path = f"{API}/bookings/{booking_id}/invoice"
        assert (await person.get(path)).json == {"invoices": []}
        await person.checkout(booking_id)
        assert stripe.emails == ["sponsor@example.com"]
        await world.services.ledger.record_payment("evt_1", booking_id, "pi_1", 12_000, "usd", "cs_1")
        stripe.fails = fails
        found = (await person.get(path)).json
        assert found.get("processorInvoiceUrl") == (None if fails else "https://invoice.example.com/pi_1")
        [invoice] = found["invoices"]
        assert (invoice["number"], invoice["mode"], invoice.get("note")) == ("EM-INV-000001", "live", None)
