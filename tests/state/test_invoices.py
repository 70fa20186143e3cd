"""The rules of invoices: one document for each change of a booking's money, and numbers without gaps."""

import json
from dataclasses import replace
from operator import attrgetter

import pytest

from actors.bookings.invoices import FROZEN, Invoice, InvoiceKind, Seller, documents, issuable, needed, numbered
from actors.bookings.records import Mode, PaymentState
from actors.bookings.state import BookingRules
from tests.state.ledger import ANN, DAY, MINUTE, MONDAY, NOON, PAIR, PRICE, REST, SLOT, Ledger, furnished

SELLER = Seller("Example Media", "1 Example Street\n10000 Example", "XX123", "EM-")
INVOICE, CREDIT_NOTE = InvoiceKind.INVOICE, InvoiceKind.CREDIT_NOTE


@pytest.fixture
def ledger() -> Ledger:
    """Ann has brought a booking of this week, `b1`, to checkout."""
    ledger = furnished()
    ledger.rules = BookingRules(seller=SELLER)
    ledger.act(ledger.reserve("b1"), ledger.checkout("b1"))
    return ledger


def written(ledger: Ledger) -> list[tuple[InvoiceKind, int]]:
    """The documents of the last batch: their kind and amount."""
    return [(invoice.kind, invoice.amount_cents) for invoice in ledger.last.invoices]


def test_a_payment_is_invoiced_with_seller_and_buyer_as_they_are(ledger: Ledger) -> None:
    ledger.pass_ms(MINUTE)
    ledger.act(ledger.pay("b1"))
    sponsor, booking = ledger.sponsors[ANN], ledger.bookings["b1"]
    assert ledger.last.invoices == [
        Invoice(
            number="TEST-EM-",
            series="test invoice",
            sequence=0,
            kind=INVOICE,
            booking_id="b1",
            payment_id="pay_1",
            tenant_id=ANN,
            amount_cents=REST,
            currency="usd",
            mode=Mode.TEST,
            issued_ms=NOON + MINUTE,
            seller_name="Example Media",
            seller_address="1 Example Street\n10000 Example",
            seller_tax_id="XX123",
            buyer_name=sponsor.name,
            buyer_website=sponsor.website,
            buyer_email="",
            slot_name=booking.slot_name,
            week_start_ms=MONDAY + 2 * DAY,
            weeks=1,
        )
    ]


@pytest.mark.parametrize(("slot", "week", "day"), [(SLOT, 0, 2), (PAIR, 0, 2), (SLOT, 1, 7)])
def test_documents_are_about_the_days_that_were_bought(slot: str, week: int, day: int) -> None:
    """Of a week that has begun, on its Wednesday, five are left."""
    ledger = furnished()
    ledger.paid("b1", slot, week)
    ledger.act(ledger.settle("b1", event="evt_r", payment="pay_b1", total_cents=100))
    invoices = [*ledger.last.invoices]
    assert invoices
    for each in invoices:
        assert each.period_start_ms == MONDAY + day * DAY
    facts = json.loads(ledger.mails[-1].facts)
    assert facts["period_start_ms"] == str(MONDAY + day * DAY)


def test_a_repeated_payment_and_a_second_one_are_not_invoiced_again(ledger: Ledger) -> None:
    ledger.act(ledger.pay("b1"))
    for message in (ledger.pay("b1"), ledger.pay("b1", event="evt_2"), ledger.pay("b1", event="evt_3", payment="p2")):
        ledger.act(message)
        assert written(ledger) == []


def test_a_payment_that_comes_too_late_has_an_invoice_and_its_refund_a_credit_note(ledger: Ledger) -> None:
    ledger.act(ledger.cancel("b1"))
    ledger.act(ledger.pay("b1"))
    assert written(ledger) == [(INVOICE, REST)]
    ledger.act(ledger.settle("b1"))
    assert written(ledger) == [(CREDIT_NOTE, REST)]
    assert [invoice.series for invoice in ledger.last.invoices] == ["test credit_note"]


@pytest.mark.parametrize(("amount", "currency", "cents"), [(REST - 1, "usd", REST - 1), (0, "usd", 0), (9, "eur", 9)])
def test_an_invoice_is_about_the_money_that_arrived(ledger: Ledger, amount: int, currency: str, cents: int) -> None:
    ledger.act(ledger.pay("b1", amount=amount, currency=currency))
    assert written(ledger) == [(INVOICE, cents)] * bool(cents)
    ledger.act(ledger.settle("b1"))
    assert written(ledger) == [(CREDIT_NOTE, cents)] * bool(cents)


def test_a_payment_and_its_refund_in_one_batch_have_both_documents(ledger: Ledger) -> None:
    ledger.act(ledger.pay("b1"), ledger.refund("b1"), ledger.settle("b1"))
    assert written(ledger) == [(INVOICE, REST), (CREDIT_NOTE, REST)]


def test_orders_declined_refunds_and_repeated_reports_write_nothing(ledger: Ledger) -> None:
    ledger.act(ledger.pay("b1"))
    ledger.act(ledger.refund("b1"), ledger.settle("b1", "Too old"), ledger.refund("b1"))
    assert written(ledger) == []
    ledger.act(ledger.settle("b1"), ledger.settle("b1"))
    assert written(ledger) == [(CREDIT_NOTE, REST)]


def test_a_refund_that_failed_is_invoiced_again_and_its_next_attempt_credited() -> None:
    ledger = furnished()
    ledger.paid("b1", PAIR)
    ledger.act(ledger.refund("b1"), ledger.settle("b1"))
    ledger.act(ledger.settle("b1", "Returned by the bank", event="evt_f"))
    assert written(ledger) == [(INVOICE, REST + PRICE)]
    assert ledger.last.invoices[0].belongs_to is not None
    ledger.act(ledger.refund("b1"), ledger.settle("b1"))
    assert written(ledger) == [(CREDIT_NOTE, REST + PRICE)]


def test_a_lost_dispute_is_credited(ledger: Ledger) -> None:
    ledger.act(ledger.pay("b1"))
    ledger.act(ledger.dispute("pay_1", PaymentState.DISPUTED))
    assert written(ledger) == []
    ledger.act(ledger.dispute("pay_1", PaymentState.LOST))
    assert written(ledger) == [(CREDIT_NOTE, REST)]


def test_a_booking_of_the_demo_has_no_invoice(ledger: Ledger) -> None:
    ledger.bookings["b1"] = replace(ledger.bookings["b1"], demo=True)
    ledger.act(ledger.pay("b1"))
    assert ledger.status("b1") == "paid"
    assert written(ledger) == []


def test_an_invoice_names_the_details_of_its_moment_and_its_credit_notes_name_them_too(ledger: Ledger) -> None:
    ledger.act(ledger.save_billing(tax_id="CHE-1", reference="PO 7", email="books@example.com"))
    assert ledger.told()[-1] == (
        "account.billing_details_saved",
        {"changed": "legal name, address, country, tax id, reference, email"},
    )
    ledger.act(ledger.save_billing(tax_id="CHE-1", reference="PO 7", email="books@example.com"))
    assert len(ledger.told()) == len(ledger.audits), "saving them unchanged has no effect"
    ledger.act(ledger.pay("b1"))
    [invoice] = numbered(ledger.last.invoices, {"test invoice": 1}, [], {ANN: "ann@example.com"})
    named = ("Example Ltd", "1 Example Street\n10000 Example", "CH", "CHE-1", "PO 7", "books@example.com")
    assert attrgetter(*FROZEN[:6])(invoice) == named
    ledger.rules = BookingRules(seller=replace(SELLER, tax_name="VAT", tax_rate=20_000))
    ledger.act(ledger.save_billing(legal_name="Another Ltd"))
    assert ledger.told()[-1][1]["changed"] == "legal name, tax id, reference, email"
    ledger.act(ledger.refund("b1"), ledger.settle("b1"))
    [note] = numbered(ledger.last.invoices, {"test credit_note": 1}, [invoice], {ANN: "ann@example.com"})
    assert attrgetter(*FROZEN)(note) == (*named, "", 0)
    ledger.act(ledger.reserve("b2", week=1), ledger.checkout("b2"), ledger.pay("b2", event="evt_2", payment="p2"))
    [second] = ledger.last.invoices
    assert (second.buyer_legal_name, second.tax_name, second.tax_rate) == ("Another Ltd", "VAT", 20_000)


# Numbers.


def documents_of(ledger: Ledger) -> list[Invoice]:
    """A payment, its refund, the failure of the refund, and another refund."""
    made: list[Invoice] = []
    for message in (
        ledger.pay("b1"),
        ledger.refund("b1"),
        ledger.settle("b1"),
        ledger.settle("b1", "Returned", event="evt_f"),
        ledger.refund("b1"),
        ledger.settle("b1"),
    ):
        ledger.act(message)
        made += ledger.last.invoices
    return made


def test_numbers_follow_the_last_of_their_series_and_name_what_they_belong_to(ledger: Ledger) -> None:
    made = documents_of(ledger)
    assert needed(made) == {"test credit_note": 2, "test invoice": 2}
    ready = numbered(made, {"test invoice": 7, "test credit_note": 2}, [], {ANN: "ann@example.com"})
    assert [(each.number, each.belongs_to) for each in ready] == [
        ("TEST-EM-INV-000006", None),
        ("TEST-EM-CN-000001", "TEST-EM-INV-000006"),
        ("TEST-EM-INV-000007", "TEST-EM-CN-000001"),
        ("TEST-EM-CN-000002", "TEST-EM-INV-000006"),
    ]
    assert [each.sequence for each in ready] == [6, 1, 7, 2]
    assert {each.buyer_email for each in ready} == {"ann@example.com"}


def test_documents_of_an_earlier_transaction_are_found(ledger: Ledger) -> None:
    made = documents_of(ledger)
    last = {"test invoice": 2, "test credit_note": 2}
    whole = numbered(made, last, [], {})
    for cut in range(1, 4):
        later = numbered(made[cut:], last, whole[:cut][::-1], {})
        assert [each.belongs_to for each in later] == [each.belongs_to for each in whole[cut:]]


def test_an_invoice_cancels_the_credit_note_of_its_amount_or_one_that_contains_it(ledger: Ledger) -> None:
    invoice, note, cancel, _ = documents_of(ledger)
    for amounts, named in (((30, 9), 1), ((30, 30), 2), ((9, 39), 2), ((39, 9), 1), ((9, 8), 2)):
        made = [invoice, *(replace(note, amount_cents=cents) for cents in amounts), replace(cancel, amount_cents=30)]
        last = {"test invoice": 2, "test credit_note": 2}
        assert numbered(made, last, [], {})[-1].belongs_to == f"TEST-EM-CN-{named:06}"


def test_an_invoice_cancels_what_is_left_of_a_credit_note_after_others_have(ledger: Ledger) -> None:
    invoice, note, cancel, _ = documents_of(ledger)
    notes = [replace(note, amount_cents=cents) for cents in (35, 1)]
    made = [invoice, *notes, *(replace(cancel, amount_cents=cents) for cents in (10, 10, 25))]
    ready = numbered(made, {"test invoice": 4, "test credit_note": 2}, [], {})
    assert [each.belongs_to for each in ready[3:]] == [f"TEST-EM-CN-{named:06}" for named in (1, 1, 2)]


def test_a_booking_that_is_known_paid_and_refunded_in_part_has_both_documents_from_the_start(ledger: Ledger) -> None:
    ledger.act(ledger.pay("b1"))
    known = replace(ledger.bookings["b1"], mode=Mode.LIVE, refunded_cents=5)
    made = documents(None, known, None, Seller(prefix="EM-", tax_name="VAT"), NOON)
    assert [(each.kind, each.amount_cents) for each in made] == [(INVOICE, REST), (CREDIT_NOTE, 5)]
    assert {(each.number, each.buyer_name, each.buyer_website, each.tax_name) for each in made} == {("EM-", "", "", "")}
    assert numbered(made[:1], {"live invoice": 1}, [], {})[0].buyer_email == ""


def test_a_payment_that_is_older_than_invoices_has_no_credit_note(ledger: Ledger) -> None:
    made = documents_of(ledger)
    assert issuable(made, []) == made
    assert issuable(made[1:], []) == [], "no credit note without an invoice, and nothing to cancel"
    assert issuable(made[1:], made[:1]) == made[1:]


def test_no_two_series_share_a_number_under_any_prefix(ledger: Ledger) -> None:
    numbers = set()
    for prefix in ("", "CN-", "INV-", "INV-CN-", "A"):
        for mode in Mode:
            ledger = furnished()
            ledger.rules = BookingRules(seller=replace(SELLER, prefix=prefix))
            ledger.act(ledger.reserve("b1"), ledger.checkout("b1"))
            made = [
                replace(each, number=each.number.removeprefix("TEST-"), series=f"{mode} {each.kind}")
                for each in documents_of(ledger)
            ]
            made = [replace(each, number=f"TEST-{each.number}") if mode is Mode.TEST else each for each in made]
            numbers |= {each.number for each in numbered(made, dict.fromkeys(needed(made), 2), [], {})}
    assert len(numbers) == 5 * 2 * 4
