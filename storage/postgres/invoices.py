"""Invoices and credit notes over Postgres."""

from collections.abc import Sequence

from actors.bookings.invoices import Invoice, issuable, needed, numbered
from storage.connection.pool import Connection
from storage.rows.columns import record_of
from storage.rows.statements import statements
from storage.rows.tables import INVOICES

SQL = statements("invoices")


async def issue(connection: Connection, decided: Sequence[Invoice]) -> None:
    """Number documents and insert them. The rows of their series stay locked until the transaction ends, so this comes after
    all else but the revision."""
    if not decided:
        return
    booking_ids = sorted({invoice.booking_id for invoice in decided})
    known = [record_of(Invoice, row) for row in await connection.fetch(SQL.known, booking_ids)]
    invoices = issuable(decided, known)
    series = needed(invoices)
    if not series:
        return
    tenant_ids = sorted({invoice.tenant_id for invoice in invoices})
    emails = {row["tenant_id"]: row["email"] for row in await connection.fetch(SQL.emails, tenant_ids)}
    numbers = await connection.fetch(SQL.advance_series, list(series), list(series.values()))
    last = {row["series"]: row["last"] for row in numbers}
    await INVOICES.insert(connection, numbered(invoices, last, known, emails))
