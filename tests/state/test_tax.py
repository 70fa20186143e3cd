"""The tax of invoices and credit notes, for any amounts, parts, failures, rates and currencies: nothing is lost."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.bookings.invoices import Invoice, InvoiceKind, Seller, documents, needed, numbered, tax_of
from actors.bookings.records import Booking, BookingStatus
from actors.shared.money import money
from tests.stores.books import NOW, booking

RATES = st.one_of(
    st.sampled_from([0, 1, 2_500, 8_100, 8_875, 19_000, 20_000, 27_000, 100_000]), st.integers(0, 100_000)
)
CURRENCIES = st.sampled_from(["usd", "jpy", "kwd"])
"""With two decimal places, none and three."""
CENTS = st.one_of(st.integers(1, 40), st.integers(1, 10_000_000_00))


@pytest.mark.parametrize(
    ("gross", "rate", "tax"),
    [
        (12_000, 20_000, 2_000),
        (10_000, 8_100, 749),
        (10_810, 8_100, 810),
        (1, 100_000, 1),
        (1, 99_999, 0),
        (9_999, 0, 0),
    ],
)
def test_the_tax_that_a_price_contains_is_rounded_to_the_nearest_cent(gross: int, rate: int, tax: int) -> None:
    assert tax_of(gross, rate) == tax


class Papers:
    """The documents of a booking, each batch numbered by itself, as by a store."""

    def __init__(self, rate: int, paid_cents: int, currency: str) -> None:
        self.made: list[Invoice] = []
        self.seller = Seller("Example Media", tax_name="VAT", tax_rate=rate)
        self.booking = booking(paid_currency=currency)
        self.move(replace(self.booking, status=BookingStatus.PAID, payment_id="pay_1", paid_cents=paid_cents))

    def move(self, *later: Booking) -> None:
        decided = []
        for after in later:
            decided += documents(self.booking, after, None, self.seller, NOW)
            self.booking = after
        last = {series: sum(each.series == series for each in (*self.made, *decided)) for series in needed(decided)}
        self.made += numbered(decided, last, self.made, {})

    def refunded(self, *totals: int) -> None:
        """What was refunded in all, after each change of a batch."""
        self.move(*(replace(self.booking, refunded_cents=total) for total in totals))

    def sum_of(self, field: str) -> int:
        """The sum over invoices, less that over credit notes."""
        signs = {InvoiceKind.INVOICE: 1, InvoiceKind.CREDIT_NOTE: -1}
        return sum(signs[each.kind] * getattr(each, field) for each in self.made)


def amount_in(words: str) -> Decimal:
    return Decimal(words.split()[1].replace(",", ""))


@given(CENTS, RATES, CURRENCIES, st.lists(st.lists(st.floats(0, 1.5), min_size=1, max_size=3), max_size=6), RATES)
def test_the_documents_of_a_booking_add_up_to_what_moved(
    paid: int, rate: int, currency: str, parts: list[list[float]], later_rate: int
) -> None:
    """Refunds of parts, some of which fail afterwards, some in one batch, and some beyond what was paid."""
    papers = Papers(rate, paid, currency)
    papers.seller = replace(papers.seller, tax_rate=later_rate)
    for batch in parts:
        papers.refunded(*(round(paid * part) for part in batch))
        kept = paid - papers.booking.refunded_cents
        assert papers.sum_of("amount_cents") == kept
        assert papers.sum_of("tax_cents") == tax_of(kept, rate)
    papers.refunded(paid)
    for field in ("amount_cents", "net_cents", "tax_cents"):
        assert papers.sum_of(field) == 0, "once all is back, credit notes are the invoice, split alike"
    for each in papers.made:
        assert 0 <= each.tax_cents <= each.amount_cents
        assert (each.tax_rate, each.currency) == (rate, currency)
        split = [amount_in(money(cents, currency)) for cents in (each.net_cents, each.tax_cents, each.amount_cents)]
        assert split[0] + split[1] == split[2], "also as printed"


def test_an_invoice_that_cancels_the_last_credit_note_has_its_split() -> None:
    papers = Papers(19_000, 10_000, "usd")
    papers.refunded(3_333)
    papers.refunded(0)
    assert [(each.net_cents, each.tax_cents) for each in papers.made] == [(8_403, 1_597), (2_800, 533), (2_800, 533)]


def test_a_payment_before_the_tax_was_set_is_credited_without_one() -> None:
    papers = Papers(0, 10_000, "usd")
    papers.seller = replace(papers.seller, tax_rate=20_000)
    papers.refunded(5_000)
    assert [(each.tax_name, each.tax_percent, each.tax_cents) for each in papers.made] == [("", 0.0, 0)] * 2


def test_an_amount_has_the_places_of_its_currency() -> None:
    amounts = {
        (125_050, "usd"): "USD 1,250.50",
        (-5, "EUR"): "EUR -0.05",
        (1_250, "jpy"): "JPY 1,250",
        (7, "kwd"): "KWD 0.007",
    }
    for (cents, currency), words in amounts.items():
        assert money(cents, currency) == words
