"""The list of invoices and credit notes, and the documents of a booking, each on one sheet of paper."""

from service.web.pages.parts.page import Audience, Page, PageRequest, Template, nothing_here
from service.web.pages.parts.paging import paged


async def invoices(request: PageRequest) -> Template:
    cursor = request.query.get("cursor")
    listed = (await request.ask("listInvoices", query={"cursor": cursor})).or_raise()
    return Template("sponsor_invoices.html", {"invoices": listed, "paging": paged(request, listed)})


async def invoice(request: PageRequest) -> Template:
    """One document of a booking: the one with the number in the address, otherwise the first invoice."""
    read = (await request.ask("getInvoices", path=request.path_values)).or_raise()
    documents, number = read["invoices"], request.query.get("number")
    shown = next((each for each in documents if number in (None, "", each["number"])), None)
    if shown is None and number:
        raise nothing_here()
    values = {
        "booking_id": request.path_values["id"],
        "invoice": shown,
        "others": [each for each in documents if each is not shown],
        "processor_url": read.get("processorInvoiceUrl"),
    }
    return Template("sponsor_invoice.html", values)


PAGES = (
    Page("/sponsor/invoices", invoices, who=Audience.ACCOUNT),
    Page("/sponsor/bookings/{id}/invoice", invoice, who=Audience.ACCOUNT),
)
