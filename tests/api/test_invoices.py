"""Operations on invoices: what a payment and a refund are documented with, for the owner alone."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from actors.bookings.payments import Checkout, PaymentsRefused, PaymentsUnavailable, RefundAttempt
from actors.bookings.records import BillingDetails, Booking
from actors.clock import DAY_MS
from actors.values import Scope
from service.schemas.problems import problems_of
from service.schemas.sponsors import BillingDetailsBody
from tests.api.sponsors import API, NEXT_WEEK, Person, add_slot, sponsor
from tests.api.test_oversight import rows_of
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
                "netCents": 12_000,
                "taxCents": 0,
                "taxPercent": 0.0,
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


DETAILS = {
    "legalName": "Example Tools Ltd",
    "address": "1 Example Street\n8000 Zurich",
    "country": "CH",
    "taxId": "CHE-123",
    "reference": "PO 7",
    "email": "books@example.com",
}
BILLING = f"{API}/billing-details"
FILE = f"{API}/invoices?format=csv"


async def test_billing_details_are_on_the_next_invoice_with_its_tax_and_change_no_earlier_one() -> None:
    async with open_world(**SELLER, BILLING__TAX_PERCENT="8.1", BILLING__TAX_NAME="VAT") as world:
        person = sponsor(world)
        assert (await person.get(BILLING)).json == {"billingDetails": None}
        assert (await person.put(BILLING, DETAILS)).json == {"billingDetails": DETAILS}
        [invoice] = await invoices_of(person, booking_id := await person.buys())
        assert invoice["buyer"] == {**DETAILS, "name": "Example Tools", "website": "https://tools.example.com/"}
        split = ("amountCents", "netCents", "taxCents", "taxPercent", "taxName")
        assert [invoice[name] for name in split] == [12_000, 11_101, 899, 8.1, "VAT"]
        least = {name: DETAILS[name] for name in ("legalName", "address", "country")}
        assert (await person.put(BILLING, least)).json == {"billingDetails": least}
        assert (await person.get(BILLING)).json == {"billingDetails": least}
        await world.services.ledger.settle_refund(booking_id, None)
        first, note = await invoices_of(person, booking_id)
        assert first == invoice
        assert [note[name] for name in ("buyer", *split)] == [first[name] for name in ("buyer", *split)]


async def test_all_documents_are_a_file_whose_columns_add_up_to_the_money_that_was_kept() -> None:
    async with open_world(**SELLER, BILLING__TAX_PERCENT="8.1", BILLING__TAX_NAME="VAT") as world:
        person = sponsor(world)
        assert rows_of(await person.get(FILE), "invoices.csv") == []
        await person.put(BILLING, DETAILS | {"reference": "=1+1"})
        kept, returned = await person.buys(), await person.buys("left-low")
        await world.services.ledger.settle_refund(returned, None)
        # A week that had begun is the days that were bought, and files have all pages.
        bought = world.memory.invoices["TEST-EM-INV-000001"]
        world.memory.invoices[bought.number] = replace(bought, week_start_ms=NEXT_WEEK + 5 * DAY_MS, weeks=2)
        rows = {each["number"]: each for each in rows_of(await person.get(f"{FILE}&limit=1"), "invoices.csv")}
        assert len(rows) == 3
        first = rows["TEST-EM-INV-000001"]
        assert [first[name] for name in ("issuedAt", "periodFrom", "periodTo", "kind", "bookingId", "reference")] == [
            *("2026-11-18T12:00:00Z", "2026-11-28", "2026-12-06", "invoice", kept, "'=1+1")
        ]
        money = ("netCents", "taxCents", "grossCents", "currency")
        assert [first[name] for name in money] == ["11101", "899", "12000", "usd"]
        note = rows["TEST-EM-CN-000001"]
        assert [note[name] for name in (*money, "belongsTo")] == [
            "-11101",
            "-899",
            "-12000",
            "usd",
            "TEST-EM-INV-000002",
        ]
        assert sum(int(each["grossCents"]) for each in rows.values()) == 12_000
        assert rows_of(await sponsor(world, "stranger@example.com").get(FILE), "invoices.csv") == []


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("legalName", "", "must have at least 1 character"),
        ("legalName", "x" * 201, "must have at most 200 characters"),
        ("legalName", "Example\x07Ltd", "must not contain control characters"),
        ("legalName", "\u202eExample", "must not contain control characters"),
        ("legalName", "Example\nLtd", "must be on one line"),
        ("legalName", "https://tools.example.com", "must not contain a web address"),
        ("address", "x" * 700, "must have at most 500 characters"),
        ("address", "x" * 101, "must have lines of at most 100 characters"),
        ("address", "1\n" * 8 + "9", "must have at most 8 lines"),
        ("address", "1\n\n2", "must have no empty lines"),
        ("address", "1\r\n2", "must not contain control characters"),
        ("address", "See http://example.com", "must not contain a web address"),
        ("country", "UK", "must be the code of a country in ISO 3166-1, two capital letters such as CH"),
        ("country", "ch", "must be the code of a country in ISO 3166-1, two capital letters such as CH"),
        ("taxId", "1" * 51, "must have at most 50 characters"),
        ("reference", None, "must be a string"),
        ("email", "nobody", "must be an email address, such as you@example.com"),
        ("vat", "1", "is not a known property"),
    ],
)
def test_a_wrong_detail_is_told_at_its_field(field: str, value: object, message: str) -> None:
    with pytest.raises(ValidationError) as raised:
        BillingDetailsBody.model_validate_json(json.dumps({**DETAILS, field: value}))
    assert [(each.field, each.message) for each in problems_of(raised.value)] == [(field, message)]


async def test_refused_details_change_nothing_and_names_in_any_script_come_back_as_they_were(world: World) -> None:
    person = sponsor(world)
    for name in (
        "Ötzi Æther GmbH",
        "شركة المثال",
        "דוגמה",
        "株式会社サンプル",
        "Пример Example 例 ตัวอย่าง مثال",
        "می‌خواهم",
    ):
        sent = {"legalName": name, "address": f"{name} 1\n{name}", "country": "EG"}
        assert (await person.put(BILLING, sent)).json == {"billingDetails": sent}
        assert (await person.put(BILLING, DETAILS | {"address": "x" * 700})).words == "400 invalid_request"
        assert (await person.get(BILLING)).json == {"billingDetails": sent}


# Live mode.


class Stripe:
    """A processor with a session and an invoice for each booking, which may fail."""

    def __init__(self) -> None:
        self.emails: list[str | None] = []
        self.details: list[BillingDetails | None] = []
        self.fails: Exception | None = None

    async def checkout(
        self, booking: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        self.emails.append(email)
        self.details.append(billing)
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
        await person.put(BILLING, DETAILS)
        await person.checkout(booking_id)
        assert stripe.emails == ["sponsor@example.com", "books@example.com"]
        details = await world.services.sponsorship.billing_details(world.memory.bookings[booking_id].tenant_id)
        assert stripe.details == [None, details]
        await world.services.ledger.record_payment("evt_1", booking_id, "pi_1", 12_000, "usd", "cs_1")
        stripe.fails = fails
        found = (await person.get(path)).json
        assert found.get("processorInvoiceUrl") == (None if fails else "https://invoice.example.com/pi_1")
        [invoice] = found["invoices"]
        assert (invoice["number"], invoice["mode"], invoice.get("note")) == ("EM-INV-000001", "live", None)
