"""Invoices and credit notes in memory."""

from collections.abc import Sequence

from actors.bookings.invoices import Invoice, issuable, needed, numbered
from actors.bookings.store import Before
from tests.doubles.tables import Memory


def issue(tables: Memory, decided: Sequence[Invoice]) -> None:
    """Number documents and insert them."""
    booking_ids = {invoice.booking_id for invoice in decided}
    known = [row for row in tables.invoices.values() if row.booking_id in booking_ids]
    invoices = issuable(decided, known)
    for series, count in needed(invoices).items():
        tables.invoice_numbers[series] = tables.invoice_numbers.get(series, 0) + count
    emails = {account.tenant_id: account.email for account in tables.accounts.values()}
    tables.invoices.update((row.number, row) for row in numbered(invoices, tables.invoice_numbers, known, emails))


def of_booking(tables: Memory, tenant_id: str, booking_id: str, limit: int) -> Sequence[Invoice]:
    own = [row for row in tables.invoices.values() if (row.tenant_id, row.booking_id) == (tenant_id, booking_id)]
    # Of one moment, the invoice of the payment comes first.
    return sorted(own, key=lambda row: (row.issued_ms, row.belongs_to is not None, row.sequence, row.number))[:limit]


def of_tenant(tables: Memory, tenant_id: str, before: Before | None, limit: int) -> Sequence[Invoice]:
    own = [row for row in tables.invoices.values() if row.tenant_id == tenant_id]
    rest = [row for row in own if before is None or _place(row) < before]
    return sorted(rest, key=_place, reverse=True)[:limit]


def _place(row: Invoice) -> tuple[int, str]:
    return row.issued_ms, row.number
