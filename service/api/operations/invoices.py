"""Operations on invoices and credit notes. They extend the specification."""

import logging
from functools import partial

from actors.bookings.changes import unknown_booking
from actors.bookings.invoices import Invoice as InvoiceRecord
from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import Booking
from actors.bookings.store import Before
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, account_operation
from service.api.operations.responses import list_page, with_id
from service.schemas.invoices import BookingInvoices, Invoice, InvoicePage
from service.schemas.lists import SponsorshipQuery

log = logging.getLogger(__name__)

MOST = 50
"""Most documents of a booking in one response. A booking has one invoice, and two documents for each refund that fails."""


async def list_invoices(services: Services, call: Call) -> Answer | Refused:
    fetch = partial(services.sponsorship.invoices, call.caller.owner)
    return await list_page(services, call, "invoices", fetch, invoice_position, Invoice.of, InvoicePage)


def invoice_position(invoice: InvoiceRecord) -> Before:
    return Before(invoice.issued_ms, invoice.number)


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
        "series, and test mode has series of its own.",
        handler=list_invoices,
        result=InvoicePage,
        query=SponsorshipQuery,
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
