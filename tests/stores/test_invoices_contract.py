"""The contract of invoices, over Postgres and in memory: numbers, references, pages, and what an erased account keeps."""

from dataclasses import astuple, replace
from itertools import pairwise
from operator import attrgetter

import pytest

from actors.bookings.invoices import FROZEN, Invoice, Seller, documents
from actors.bookings.records import BillingDetails, Booking, BookingStatus, Mode
from actors.bookings.state import Decision, LockSet
from actors.bookings.store import Before
from actors.values import Contended
from tests.stores.books import NOW, Books, a_world, booking, slot, sponsor, week
from tests.stores.conftest import Stores

SELLER = Seller("Example Media", "1 Example Street\n10000 «Example»", "XX123", "EM-")
MOST = 100


@pytest.fixture
async def books(stores: Stores) -> Books:
    """Two accounts, and three bookings of the first that nobody has paid."""
    books = Books(stores)
    await a_world(books)
    await books.lay_out(
        *(booking(number, week_start_ms=week(number)) for number in (1, 2, 3)), booking(4, 2), weeks=False
    )
    return books


def paid(number: int = 1, tenant: int = 1, **changes: object) -> Booking:
    made = booking(number, tenant, week_start_ms=week(number), status=BookingStatus.PAID, payment_id=f"pay_{number}")
    return replace(made, paid_cents=5_000, paid_ms=NOW, **changes)  # type: ignore[arg-type]


def change(before: Booking | None, after: Booking, now_ms: int = NOW) -> Decision:
    """The decision on a payment or a refund, with its documents."""
    made = documents(before, after, sponsor(1), SELLER, now_ms)
    assert made, "the change calls for a document"
    return Decision(bookings={after.id: after}, invoices=made)


async def all_of(books: Books, tenant_id: str = "ten_1") -> list[Invoice]:
    """Oldest first."""
    return list(await books.stores.sponsorship.invoices(tenant_id, None, MOST))[::-1]


async def test_each_mode_and_kind_has_a_series_of_its_own(books: Books) -> None:
    for number, mode in ((1, Mode.TEST), (2, Mode.LIVE), (3, Mode.TEST)):
        before = booking(number, week_start_ms=week(number), mode=mode)
        after = replace(paid(number), mode=mode)
        await books.keep(change(before, after, NOW + number))
        await books.keep(change(after, replace(after, refunded_cents=5_000), NOW + number))
    assert {invoice.number for invoice in await all_of(books)} == {
        "TEST-EM-INV-000001",
        "TEST-EM-CN-000001",
        "EM-INV-000001",
        "EM-CN-000001",
        "TEST-EM-INV-000002",
        "TEST-EM-CN-000002",
    }


async def test_a_batch_that_fails_takes_no_number(books: Books) -> None:
    await books.lay_out(slot("right-9"))
    stale = change(None, paid(1))
    stale.slots["right-9"] = slot("right-9")
    with pytest.raises(Contended):
        await books.keep(stale)
    assert await all_of(books) == []
    await books.keep(change(None, paid(2)))
    assert [invoice.number for invoice in await all_of(books)] == ["TEST-EM-INV-000001"]


async def test_a_batch_that_is_repeated_writes_nothing_again(books: Books) -> None:
    batch_id = books.next_batch_id()
    for _ in range(3):
        await books.keep(change(None, paid(1)), batch_id=batch_id)
    assert [invoice.number for invoice in await all_of(books)] == ["TEST-EM-INV-000001"]


async def test_documents_of_one_batch_and_of_later_ones_name_each_other(books: Books) -> None:
    full = paid(1, refunded_cents=5_000)
    both = change(None, paid(1))
    both.invoices += change(paid(1), full).invoices
    await books.keep(both)
    await books.keep(change(full, paid(1), NOW + 1))
    await books.keep(change(paid(1), paid(1, refunded_cents=100), NOW + 2))
    assert [
        (invoice.number, invoice.belongs_to) for invoice in sorted(await all_of(books), key=lambda i: i.issued_ms)
    ] == [
        ("TEST-EM-CN-000001", "TEST-EM-INV-000001"),
        ("TEST-EM-INV-000001", None),
        ("TEST-EM-INV-000002", "TEST-EM-CN-000001"),
        ("TEST-EM-CN-000002", "TEST-EM-INV-000001"),
    ]


async def test_the_refund_of_a_payment_without_an_invoice_has_no_credit_note(books: Books) -> None:
    await books.lay_out(paid(1), weeks=False)
    await books.keep(change(paid(1), paid(1, refunded_cents=5_000)))
    assert await all_of(books) == []
    await books.keep(change(None, paid(2)))
    assert [invoice.sequence for invoice in await all_of(books)] == [1]


async def test_a_document_keeps_the_buyer_and_the_tax_of_its_payment(books: Books) -> None:
    """The second part is in a transaction of its own: its tax follows from the documents that are stored."""
    details = BillingDetails(
        "ten_1", "Example Ltd", "1 Example Street\n«Example»", "CH", "CHE-1", "PO 7", "books@example.com"
    )
    await books.keep(Decision(billing={"ten_1": details}))
    seen = (await books.see(LockSet(booking_ids=("bok_1",)))).billing
    assert seen == {"ten_1": details}, "a payment reads the details of its owner"
    taxed = replace(SELLER, tax_name="VAT", tax_rate=8_100)
    steps = [paid(1), *(paid(1, refunded_cents=cents) for cents in (1_001, 2_002, 5_000))]
    await books.keep(
        Decision(bookings={"bok_1": paid(1)}, invoices=documents(None, paid(1), None, taxed, NOW, details))
    )
    later = replace(details, legal_name="Another Ltd", tax_id="", email="")
    await books.keep(Decision(billing={"ten_1": later}))
    assert await books.stores.sponsorship.billing_details("ten_1") == later
    for number, (before, after) in enumerate(pairwise(steps), 1):
        made = documents(before, after, None, replace(taxed, tax_rate=20_000), NOW + number, later)
        await books.keep(Decision(bookings={"bok_1": after}, invoices=made))
    found = await books.stores.sponsorship.invoices_of("ten_1", "bok_1", MOST)
    assert [(each.net_cents, each.tax_cents, each.tax_rate) for each in found] == [
        (4_625, 375, 8_100),
        (926, 75, 8_100),
        (926, 75, 8_100),
        (2_773, 225, 8_100),
    ]
    assert {attrgetter(*FROZEN)(each) for each in found} == {(*astuple(details)[1:], "VAT", 8_100)}


async def test_pages_are_newest_first_and_an_accounts_own(books: Books) -> None:
    for number in (1, 2, 3):
        await books.keep(change(None, paid(number), NOW + number // 2))
    await books.keep(change(None, paid(4, 2)))
    reads = books.stores.sponsorship
    first = await reads.invoices("ten_1", None, 2)
    assert [invoice.number for invoice in first] == ["TEST-EM-INV-000003", "TEST-EM-INV-000002"]
    rest = await reads.invoices("ten_1", Before(first[-1].issued_ms, first[-1].number), 2)
    assert [invoice.number for invoice in rest] == ["TEST-EM-INV-000001"]
    assert [invoice.booking_id for invoice in await reads.invoices("ten_2", None, MOST)] == ["bok_4"]
    assert await reads.invoices("ten_3", None, MOST) == []
    assert [await reads.count_invoices("ten_1", most) for most in (MOST, 2)] == [len([*first, *rest]), 2]


async def test_the_documents_of_a_booking_are_for_its_owner_alone(books: Books) -> None:
    await books.keep(change(None, paid(1)))
    await books.keep(change(paid(1), paid(1, refunded_cents=2), NOW + 1))
    await books.keep(change(paid(1, refunded_cents=2), paid(1, refunded_cents=3), NOW + 2))
    reads = books.stores.sponsorship
    assert [invoice.amount_cents for invoice in await reads.invoices_of("ten_1", "bok_1", MOST)] == [5_000, 2, 1]
    assert [invoice.amount_cents for invoice in await reads.invoices_of("ten_1", "bok_1", 2)] == [5_000, 2]
    assert await reads.invoices_of("ten_2", "bok_1", MOST) == []
    assert await reads.invoices_of("ten_1", "bok_2", MOST) == []
