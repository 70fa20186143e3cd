"""Invoices and credit notes: which of them a change of a booking's money calls for, and their numbers.

Pure; source: ADR 0078 and 0103. Rules append documents without numbers to their decision, and the store numbers them at the
end of its transaction: a number that was taken by a transaction that fails is free again, so a series has no gaps.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from actors.bookings.records import BillingDetails, Booking, Mode, Sponsor

TEST_PREFIX = "TEST-"
"""Begins every number of test mode. The configured prefix must not begin with it."""


class InvoiceKind(StrEnum):
    """An invoice asks for money or confirms it; a credit note gives it back."""

    INVOICE = "invoice"
    CREDIT_NOTE = "credit_note"


MARKS = {InvoiceKind.INVOICE: "INV-", InvoiceKind.CREDIT_NOTE: "CN-"}
"""Precede the digits of a number, so that two series share no number under any prefix."""


OTHER = {InvoiceKind.INVOICE: InvoiceKind.CREDIT_NOTE, InvoiceKind.CREDIT_NOTE: InvoiceKind.INVOICE}
"""The kind of the documents that a document of a kind can belong to."""


@dataclass(frozen=True, slots=True)
class Seller:
    """The seller's details for invoices. `prefix` begins each number. Prices contain a tax of `tax_rate` thousandths of a
    percent of the net amount, named `tax_name`; 0: none."""

    name: str = ""
    address: str = ""
    tax_id: str = ""
    prefix: str = ""
    tax_name: str = ""
    tax_rate: int = 0


UNNAMED = Seller()
"""Of a service whose seller is not configured."""


@dataclass(frozen=True, slots=True)
class Invoice:
    """An invoice or credit note with the details of seller and buyer as they were. `amount_cents` is above 0 for both kinds.

    A credit note belongs to the invoice of its payment. An invoice that belongs to a credit note cancels it, because its
    refund did not arrive. The store sets `number`, `sequence`, `buyer_email` and `belongs_to`; until then `number` is the
    prefix. `week_start_ms` is the first day that was bought, which is in the first of its `weeks`.

    The amount contains `tax_cents`, which the store sets, too, at `tax_rate` thousandths of a percent of the net amount.
    Documents of 1.1 have no tax. Whatever belongs to another document has the rate and the buyer's details of the invoice.
    """

    number: str
    series: str
    sequence: int
    kind: InvoiceKind
    booking_id: str
    payment_id: str
    tenant_id: str
    amount_cents: int
    currency: str
    mode: Mode
    issued_ms: int
    seller_name: str
    seller_address: str
    seller_tax_id: str
    buyer_name: str
    buyer_website: str
    buyer_email: str
    slot_name: str
    week_start_ms: int
    weeks: int
    belongs_to: str | None = None
    buyer_legal_name: str = ""
    buyer_address: str = ""
    buyer_country: str = ""
    buyer_tax_id: str = ""
    buyer_reference: str = ""
    tax_name: str = ""
    tax_rate: int = 0
    tax_cents: int = 0

    @property
    def net_cents(self) -> int:
        return self.amount_cents - self.tax_cents

    @property
    def tax_percent(self) -> float:
        return self.tax_rate / PERCENT

    @property
    def moved_cents(self) -> int:
        """The amount that the document adds to what is kept: less than 0 for a credit note."""
        return self.amount_cents if self.kind is InvoiceKind.INVOICE else -self.amount_cents

    @property
    def period_start_ms(self) -> int:
        """The first day that was bought. The period ends with the last week."""
        return self.week_start_ms


PERCENT = 1_000
"""A percent as a tax rate."""

FROZEN = (
    *("buyer_legal_name", "buyer_address", "buyer_country", "buyer_tax_id", "buyer_reference", "buyer_email"),
    *("tax_name", "tax_rate"),
)
"""The fields that credit notes, and the invoices that cancel them, take from the invoice of the payment."""

UNKNOWN = ""
"""Stands in `belongs_to` until the store has found the document."""


def documents(
    before: Booking | None,
    after: Booking,
    buyer: Sponsor | None,
    seller: Seller,
    now_ms: int,
    billing: BillingDetails | None = None,
) -> list[Invoice]:
    """The documents for a change of a booking: of what it was paid, or of what was refunded. `billing` are the buyer's
    details as they are now."""
    if after.demo or after.payment_id is None:
        return []
    paid = after.received_cents - (0 if before is None else before.received_cents)
    refunded = after.refunded_cents - (0 if before is None else before.refunded_cents)
    made = []
    for kind, cents, belongs_to in (
        (InvoiceKind.INVOICE, paid, None),
        (InvoiceKind.CREDIT_NOTE, refunded, UNKNOWN),
        (InvoiceKind.INVOICE, -refunded, UNKNOWN),
    ):
        if cents > 0:
            made.append(_document(kind, cents, belongs_to, after, buyer, seller, now_ms))
    return made if billing is None else [_addressed(each, billing) for each in made]


def _addressed(invoice: Invoice, billing: BillingDetails) -> Invoice:
    return replace(
        invoice,
        buyer_legal_name=billing.legal_name,
        buyer_address=billing.address,
        buyer_country=billing.country,
        buyer_tax_id=billing.tax_id,
        buyer_reference=billing.reference,
        buyer_email=billing.email,
    )


def _document(
    kind: InvoiceKind,
    cents: int,
    belongs_to: str | None,
    booking: Booking,
    buyer: Sponsor | None,
    seller: Seller,
    now_ms: int,
) -> Invoice:
    assert booking.payment_id is not None, "a booking without a payment has no invoice"
    return Invoice(
        number=f"{TEST_PREFIX if booking.mode is Mode.TEST else ''}{seller.prefix}",
        series=f"{booking.mode} {kind}",
        sequence=0,
        kind=kind,
        booking_id=booking.id,
        payment_id=booking.payment_id,
        tenant_id=booking.tenant_id,
        amount_cents=cents,
        currency=booking.money_currency,
        mode=booking.mode,
        issued_ms=now_ms,
        seller_name=seller.name,
        seller_address=seller.address,
        seller_tax_id=seller.tax_id,
        buyer_name="" if buyer is None else buyer.name,
        buyer_website="" if buyer is None else buyer.website,
        buyer_email="",
        slot_name=booking.slot_name,
        week_start_ms=booking.period_start_ms,
        weeks=booking.weeks,
        belongs_to=belongs_to,
        tax_name=seller.tax_name if seller.tax_rate else "",
        tax_rate=seller.tax_rate,
    )


def issuable(invoices: Iterable[Invoice], known: Iterable[Invoice]) -> list[Invoice]:
    """The documents without those that belong to a document that does not exist: a payment that is older than invoices has
    none, so a refund of it has no credit note. `known` are the earlier documents of the same bookings."""
    there = {(each.booking_id, each.kind) for each in known}
    made = []
    for invoice in invoices:
        if invoice.belongs_to is None or (invoice.booking_id, OTHER[invoice.kind]) in there:
            there.add((invoice.booking_id, invoice.kind))
            made.append(invoice)
    return made


def needed(invoices: Iterable[Invoice]) -> Mapping[str, int]:
    """How many numbers of each series the documents need, sorted by series."""
    return dict(sorted(Counter(invoice.series for invoice in invoices).items()))


def numbered(
    invoices: Sequence[Invoice], last: Mapping[str, int], known: Iterable[Invoice], emails: Mapping[str, str]
) -> list[Invoice]:
    """Issuable documents with their numbers and their tax. `last` is the last number of each series, those of these documents
    included; `emails` are the addresses of accounts by tenant, for buyers who gave none."""
    following = {series: last[series] - count for series, count in needed(invoices).items()}
    issued: defaultdict[tuple[str, InvoiceKind], list[Invoice]] = defaultdict(list)
    for invoice in sorted(known, key=lambda each: each.sequence):
        issued[invoice.booking_id, invoice.kind].append(invoice)
    made = []
    for invoice in invoices:
        following[invoice.series] += 1
        sequence = following[invoice.series]
        own, others = (issued[invoice.booking_id, kind] for kind in (invoice.kind, OTHER[invoice.kind]))
        ready = replace(
            invoice,
            number=f"{invoice.number}{MARKS[invoice.kind]}{sequence:06}",
            sequence=sequence,
            buyer_email=invoice.buyer_email or emails.get(invoice.tenant_id, ""),
            belongs_to=None if invoice.belongs_to is None else _other(invoice, others, own).number,
        )
        if invoice.belongs_to is not None:
            first = issued[invoice.booking_id, InvoiceKind.INVOICE][0]
            ready = replace(ready, **{name: getattr(first, name) for name in FROZEN})
        ready = _taxed(ready, sum(each.moved_cents for each in (*own, *others)))
        issued[invoice.booking_id, invoice.kind].append(ready)
        made.append(ready)
    return made


def _taxed(invoice: Invoice, kept_cents: int) -> Invoice:
    """A document with its tax: the difference that it makes to the tax of the amount that is kept, which was `kept_cents`.
    So the taxes of a booking's invoices, less those of its credit notes, are always the tax of what is kept, to the cent."""
    before, after = (tax_of(cents, invoice.tax_rate) for cents in (kept_cents, kept_cents + invoice.moved_cents))
    return replace(invoice, tax_cents=abs(after - before))


def tax_of(gross_cents: int, rate: int) -> int:
    """The tax that an amount contains, rounded to the nearest cent. It grows with the amount, by at most as much."""
    whole = 100 * PERCENT + rate
    return (2 * gross_cents * rate + whole) // (2 * whole)


def _other(invoice: Invoice, others: Sequence[Invoice], own: Sequence[Invoice]) -> Invoice:
    """For a credit note the first invoice of the booking, which is that of the payment. For an invoice that cancels a credit
    note, the last one of which its amount is left; if refunds were reported together, the last one that contains it."""
    if invoice.kind is InvoiceKind.CREDIT_NOTE:
        return others[0]
    cancelled = Counter[str | None]()
    for each in own:
        cancelled[each.belongs_to] += each.amount_cents
    left = {each.number: each.amount_cents - cancelled[each.number] for each in others}
    same = [each for each in others if left[each.number] == invoice.amount_cents]
    larger = [each for each in others if left[each.number] > invoice.amount_cents]
    return (same or larger or others)[-1]
