"""Promise 9: numbers have no gaps, documents never change, and they add up to the money."""

from tests.judge.invoices import check
from tests.judge.records import Invoice, Operation
from tests.judge.small import Case, history, holds, op, partial, seen


def invoice(number: int, booking: str = "a", cents: int = 100, digest: str = "d") -> Invoice:
    return Invoice(f"TEST-INV-{number:06}", "invoice", booking, cents, digest)


def note(number: int, of: int | None, booking: str = "a", cents: int = 100) -> Invoice:
    belongs = None if of is None else f"TEST-INV-{of:06}"
    return Invoice(f"TEST-CN-{number:06}", "credit_note", booking, cents, "d", belongs)


def read(at: float, *documents: Invoice, booking: str = "a") -> Operation:
    return op("getInvoices", at, id=booking, invoices=documents)


def money(at: float, paid: int | None = 100, refunded: int = 0, id: str = "a", status: str = "paid") -> Operation:
    return seen(at, id, status, paid=paid, refunded=refunded)


BEGUN = op("openCheckout", 0, id="a"), seen(0, "a", "reserved")

CLEAN: dict[str, Case] = {
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
}

BROKEN: dict[str, tuple[Case, str]] = {
    "a gap": ([*BEGUN, read(1, invoice(1), invoice(3)), read(2, invoice(1), invoice(3))], "TEST-INV-000002 is missing"),
    "a gap at the beginning": ([*BEGUN, read(1, invoice(2)), read(2, invoice(2))], "TEST-INV-000001 is missing"),
    "a number twice": (partial(read(1, invoice(1)), read(2, invoice(1, "b"), booking="b")), "not what it was"),
    "a document that changed": ([read(1, invoice(1)), read(2, invoice(1, digest="e"))], "not what it was"),
    "too much": ([*BEGUN, money(1), read(2, invoice(1), invoice(2)), money(3)], "add up to 200"),
    "no credit note": (partial(money(1, 100, 40), read(2, invoice(1)), money(3, 100, 40)), "40 refunded"),
    "no invoice": ([*BEGUN, money(1), read(2), money(3)], "has no invoice"),
    "a note of nothing": ([read(1, note(1, None))], "belongs to no invoice"),
    "a note of another booking": (
        [read(1, invoice(1, "b"), booking="b"), read(2, note(1, 1))],
        "belongs to TEST-INV-000001",
    ),
}


def test_documents_have_no_gaps_and_add_up() -> None:
    holds(check, CLEAN, BROKEN)
