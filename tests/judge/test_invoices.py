"""Promise 9: numbers have no gaps, documents never change, and they add up to the money."""

from typing import Any

from tests.judge.invoices import check
from tests.judge.records import Invoice, Money, Operation
from tests.judge.small import Case, history, holds, op, partial, seen


def invoice(number: int, booking: str = "a", cents: int = 100, digest: str = "d") -> Invoice:
    return Invoice(f"TEST-INV-{number:06}", "invoice", booking, cents, digest)


def note(number: int, of: int | None, booking: str = "a", cents: int = 100) -> Invoice:
    belongs = None if of is None else f"TEST-INV-{of:06}"
    return Invoice(f"TEST-CN-{number:06}", "credit_note", booking, cents, "d", belongs)


def taxed(number: int, cents: int, tax: int) -> Invoice:
    return invoice(number, cents=cents)._replace(tax=tax, rate=8_100)


def read(at: float, *documents: Invoice, booking: str = "a") -> Operation:
    return op("getInvoices", at, id=booking, invoices=documents)


def money(at: float, paid: int | None = 100, refunded: int = 0, id: str = "a", status: str = "paid") -> Operation:
    return seen(at, id, status, paid=paid, refunded=refunded)


PAID = invoice(1)._replace(payment="pi")


def told(
    at: float,
    about: str,
    cents: int | None,
    id: str | None = None,
    state: str | None = None,
    payment: str = "pi",
    **rest: Any,
) -> Operation:
    """An event of the processor, which has the time at which it is told. `made` is that of a refund."""
    made = rest.pop("made", None)
    report = Money(f"evt {about} {id} {state} {at}", about, payment, cents, id, state, int(at), made)
    return op("stripeWebhook", at, **{"id": "a", "money": report, **rest})


def disputed(at: float, refunded: int = 0, issue: str = "disputed") -> Operation:
    return seen(at, "a", "paid", paid=100, refunded=refunded, issue=issue)


def booked(status: str, refunded: int = 0, **facts: Any) -> list[Operation]:
    """The last answer about a booking is judged by the reports of the processor."""
    return [*BEGUN, read(50, PAID), seen(60, "a", status, **{"paid": 100, "refunded": refunded, **facts})]


PAYS = told(1, "paid", 100)

BEGUN = op("openCheckout", 0, id="a"), seen(0, "a", "reserved")

TWICE = seen(5, "a", "paid", issue="paid_twice")

CLEAN: dict[str, Case] = {
    "documents that were not read": [*BEGUN, money(1), op("getInvoices", 2, id="a", code="unread"), money(3)],
    "paid twice": [*BEGUN, PAYS, told(2, "paid", 100, payment="pi_2"), TWICE],
    "paid twice in test mode": [*BEGUN, TWICE, read(9)],
    "paid again after a payment that is older": [PAYS, TWICE, read(9, invoice(1))],
    "paid": [*BEGUN, money(1), read(2, invoice(1)), money(3)],
    "refunded in part": [*BEGUN, money(1, 100, 40), read(2, invoice(1), note(1, 1, cents=40)), money(3, 100, 40)],
    "refunded meanwhile": [*BEGUN, money(1), read(2, invoice(1), note(1, 1)), money(3, 100, 100, status="refunded")],
    "a refund that failed": [
        *(*BEGUN, money(1), money(9)),
        read(5, invoice(1), note(1, 1), Invoice("TEST-INV-000002", "invoice", "a", 100, "d", "TEST-CN-000001")),
    ],
    "two series of two bookings": [
        *(op("openCheckout", 0, id=id) for id in "ab"),
        *(read(1, invoice(2)), read(2, invoice(1, "b"), booking="b")),
    ],
    "a number of a booking that was not read": [op("openCheckout", 0, id="b"), *BEGUN, read(2, invoice(2))],
    "a number of a booking that was read before": [
        *(op("openCheckout", 0, id="b"), read(1, booking="b"), *BEGUN, read(2, invoice(2))),
    ],
    "numbers of others": partial(*BEGUN, read(2, invoice(7)), read(3, invoice(7))),
    "older than invoices": history([money(1), read(2), money(3)], fresh=False),
    "a dispute": [*BEGUN, money(1), read(2, invoice(1), note(1, 1)), seen(3, "a", "paid", paid=100, issue="disputed")],
    "a dispute meanwhile": [
        *(*BEGUN, disputed(1), read(2, PAID, note(1, 1)), disputed(3)),
        *(told(2, "dispute", 100, "dp", state) for state in ("lost", "won")),
    ],
    "tax": [
        *BEGUN,
        money(1, 123, 61),
        read(2, taxed(1, 123, 9), note(1, 1, cents=61)._replace(tax=4)),
        money(3, 123, 61),
    ],
}

BROKEN: dict[str, tuple[Case, str]] = {
    "a document of another booking": (partial(read(0, invoice(1, "b"))), "of booking b is shown as one of another"),
    "a negative rate": ([*BEGUN, money(1), read(2, invoice(1)._replace(rate=-100_000)), money(3)], "a negative rate"),
    "a number with other digits": (partial(read(0, invoice(1)._replace(number="INV-\u00b2"))), "is no number"),
    "paid twice by one payment": ([*BEGUN, PAYS, told(2, "paid", 100), TWICE], "the processor told of one payment"),
    "a gap": ([*BEGUN, read(1, invoice(1), invoice(3)), read(2, invoice(1), invoice(3))], "TEST-INV-000002 is missing"),
    "a gap at the beginning": ([*BEGUN, read(1, invoice(2)), read(2, invoice(2))], "TEST-INV-000001 is missing"),
    "a number twice": (partial(read(1, invoice(1)), read(2, invoice(1, "b"), booking="b")), "not what it was"),
    "a document that changed": ([read(1, invoice(1)), read(2, invoice(1, digest="e"))], "not what it was"),
    "too much": ([*BEGUN, money(1), read(2, invoice(1), invoice(2)), money(3)], "add up to 200"),
    "no credit note": (partial(money(1, 100, 40), read(2, invoice(1)), money(3, 100, 40)), "40 refunded"),
    "no invoice": ([*BEGUN, money(1), read(2), money(3)], "has no invoice"),
    "a lost dispute without a note": (
        [*BEGUN, told(0.5, "dispute", 40, "dp", "lost"), disputed(1, 40), read(2, PAID), disputed(3, 40)],
        "add up to 100",
    ),
    "too much tax": (
        [*BEGUN, money(1, 123), read(2, taxed(1, 123, 10)), money(3, 123)],
        "the tax of booking a adds up to 10",
    ),
    "a note of nothing": ([read(1, note(1, None))], "belongs to no invoice"),
    "a note of another booking": (
        [read(1, invoice(1, "b"), booking="b"), read(2, note(1, 1))],
        "belongs to TEST-INV-000001",
    ),
}


def test_documents_have_no_gaps_and_add_up() -> None:
    holds(check, CLEAN, BROKEN)


MADE = told(2, "refund", 40, "rf_1", "succeeded")
OPENED, LOST, WON = (
    told(at, "dispute", 40, "dp", state) for at, state in ((3, "needs_response"), (4, "lost"), (5, "won"))
)

TOLD: dict[str, Case] = {
    "paid": [PAYS, *booked("paid", price=100)],
    "refunded in part": [PAYS, MADE, told(3, "total", 40), *booked("paid", 40)],
    "refunded by hand, too": [PAYS, MADE, told(3, "total", 65), *booked("paid", 65)],
    "refunded in all": [PAYS, told(3, "total", None), *booked("refunded", 100)],
    "a refund that failed": [
        PAYS,
        told(2, "total", 40),
        MADE,
        told(9, "refund", 40, "rf_1", "failed"),
        *booked("paid"),
    ],
    "refunded by hand before a refund that failed": [
        *(PAYS, told(2, "total", 25), told(9, "refund", 40, "rf_1", "failed", made=5), *booked("paid", 25)),
    ],
    "disputed": [PAYS, OPENED, *booked("paid", issue="disputed")],
    "an inquiry": [PAYS, told(3, "dispute", 40, "dp", "warning_needs_response"), *booked("paid")],
    "lost, then won, then told of the loss": [PAYS, OPENED, WON, LOST, *booked("paid")],
    "lost": [PAYS, OPENED, LOST, *booked("paid", 40, issue="dispute_lost")],
    "refunded by hand in the second before a refund that failed": [
        *(PAYS, told(5, "total", 25), told(9, "refund", 40, "rf_1", "failed", made=5), *booked("paid", 25)),
    ],
    "another price, which is paid back": [PAYS, *booked("refunding", issue="amount_mismatch", price=99)],
    "an event under way": [PAYS, MADE._replace(answer=None), *booked("paid")],
    "an event that was forged": [PAYS, told(2, "total", None, status=400), *booked("paid")],
    "an event of another payment": [PAYS, MADE._replace(asked=MADE.asked._replace(money=None)), *booked("paid")],
}

UNTOLD: dict[str, tuple[Case, str]] = {
    "another amount": ([told(1, "paid", 99), *booked("paid")], "was paid 99 and shows 100"),
    "another price": ([PAYS, *booked("paid", price=120)], "costs 120 and was paid 100"),
    "not disputed": ([PAYS, OPENED, *booked("paid")], "is not disputed"),
    "disputed for ever": ([PAYS, OPENED, WON, *booked("paid", issue="disputed")], "is disputed, unlike"),
    "a loss that is forgotten": ([PAYS, LOST, *booked("paid")], "shows 0 refunded of 100, and the processor told 40"),
    "a loss that was won": (
        [PAYS, LOST, WON, *booked("paid", 40)],
        "shows 40 refunded of 100, and the processor told 0",
    ),
    "a refund that was not made": ([PAYS, *booked("refunded", 100)], "shows 100 refunded"),
    "a refund that failed": ([PAYS, MADE, told(9, "refund", 40, "rf_1", "failed"), *booked("paid", 40)], "shows 40"),
    "a refund that failed, in a total": (
        [PAYS, told(6, "total", 65), told(9, "refund", 40, "rf_1", "failed", made=5), *booked("paid", 65)],
        "shows 65 refunded of 100, and the processor told 0 or 25",
    ),
    "a refund that failed, of all there was": (
        [PAYS, told(5, "total", None), told(9, "refund", 100, "rf_1", "failed", made=5), *booked("refunded", 100)],
        "shows 100 refunded of 100, and the processor told 0",
    ),
    "a refund of a booking without documents": (
        [*BEGUN, PAYS, told(3, "total", 25), seen(60, "a", "paid", paid=100, refunded=40)],
        "shows 40 refunded of 100, and the processor told 25",
    ),
    "nothing left": ([PAYS, told(3, "total", None), *booked("paid", 100)], "is paid, and 100 of 100 were refunded"),
    "an end with money left": ([PAYS, LOST, *booked("refunded", 40)], "is refunded, and 40 of 100 were"),
    "one payment for two": (
        [
            *(PAYS, *booked("paid"), op("openCheckout", 0, id="b"), money(70, id="b")),
            read(71, PAID._replace(number="TEST-INV-000002", booking="b"), booking="b"),
        ],
        "one payment paid the bookings a and b",
    ),
}


def test_a_booking_shows_what_the_processor_told_of_its_money() -> None:
    holds(check, TOLD, UNTOLD)
