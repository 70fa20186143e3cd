"""Operations on invoices and credit notes. They extend the specification."""

import logging
from collections.abc import Sequence
from functools import partial

from actors.bookings.changes import unknown_booking
from actors.bookings.invoices import Invoice as InvoiceRecord
from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import Booking
from actors.bookings.reports import day_text
from actors.bookings.store import Before
from actors.times import DAY_MS, WEEK_MS, day_of, week_of
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, account_operation
from service.api.operations.admin_exports import moment
from service.api.operations.responses import list_page, with_id
from service.api.spreadsheets import Cell, Spreadsheet
from service.schemas.invoices import BookingInvoices, Invoice, InvoicePage
from service.schemas.lists import ListQuery

log = logging.getLogger(__name__)

MOST = 50
"""Most documents of a booking in one response. A booking has one invoice, and two documents for each refund that fails."""


HEADER = (
    *(
        "number",
        "kind",
        "issuedAt",
        "periodFrom",
        "periodTo",
        "netCents",
        "taxCents",
        "grossCents",
        "currency",
        "reference",
    ),
    *("taxName", "taxPercent", "slotName", "legalName", "belongsTo", "bookingId", "paymentId", "mode"),
)


async def list_invoices(services: Services, call: Call) -> Answer | Refused:
    fetch = partial(services.sponsorship.invoices, call.caller.owner)
    if call.query.format == "csv":
        file = Spreadsheet(HEADER, fetch, invoice_position, cells_of, services.config.http.answer_seconds)
        return await file.answer("invoices.csv")
    return await list_page(services, call, "invoices", fetch, invoice_position, Invoice.of, InvoicePage)


def invoice_position(invoice: InvoiceRecord) -> Before:
    return Before(invoice.issued_ms, invoice.number)


def cells_of(invoice: InvoiceRecord) -> Sequence[Cell]:
    """A document's line, in the order of `HEADER`. Amounts of a credit note are below 0: a column adds up to the money
    that was kept."""
    sign = 1 if invoice.moved_cents > 0 else -1
    end_ms = week_of(invoice.period_start_ms) + invoice.weeks * WEEK_MS
    return (
        *(invoice.number, invoice.kind.value, moment(invoice.issued_ms)),
        *(day_text(day_of(invoice.period_start_ms)), day_text(day_of(end_ms - DAY_MS))),
        *(sign * invoice.net_cents, sign * invoice.tax_cents, invoice.moved_cents, invoice.currency),
        *(invoice.buyer_reference, invoice.tax_name, invoice.tax_percent, invoice.slot_name),
        *(invoice.buyer_legal_name or invoice.buyer_name, invoice.belongs_to),
        *(invoice.booking_id, invoice.payment_id, invoice.mode.value),
    )


@with_id(unknown_booking)
async def read_invoices(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.sponsorship.booking(call.caller.owner, booking_id)
    if view is None:
        return unknown_booking()
    found = await services.sponsorship.invoices_of(call.caller.owner, booking_id, MOST)
    url = await _processors(services, view.booking)
    return Answer.of(BookingInvoices(invoices=[Invoice.of(each) for each in found], processorInvoiceUrl=url))


async def _processors(services: Services, booking: Booking) -> str | None:
    """The address of the processor's own invoice, looked up now, because such addresses expire. None if it is not found."""
    if booking.payment_id is None or booking.mode != services.config.billing.mode:
        return None
    try:
        return await services.payments.invoice_url(booking)
    except (PaymentsUnavailable, PaymentsRefused) as error:
        log.warning("no invoice of the processor for %s: %s", booking.id, error)
        return None


_invoices = partial(account_operation, method="GET", tag="Bookings", scopes=(Scope.SPONSOR_READ,))

ROWS = (
    _invoices(
        name="listInvoices",
        path="/api/v1/sponsors/invoices",
        summary="List your invoices",
        description="Returns your invoices and credit notes, newest first. Numbers have no gaps: each kind has its own "
        "series, and test mode has series of its own. As CSV, amounts of credit notes are below 0, so that columns add up.",
        handler=list_invoices,
        result=InvoicePage,
        query=ListQuery,
        spreadsheet=True,
    ),
    _invoices(
        name="getInvoices",
        path="/api/v1/sponsors/bookings/{id}/invoice",
        summary="Get the invoices of a booking",
        description="Returns the invoice of a booking and its credit notes, oldest first. There is none before the booking "
        "is paid. A refund has a credit note. If the refund does not arrive, another invoice cancels the credit note.",
        handler=read_invoices,
        result=BookingInvoices,
        codes=(Code.NOT_FOUND,),
    ),
)
