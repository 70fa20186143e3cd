"""Wire models of invoices and credit notes."""

from typing import Literal

from pydantic import BaseModel, Field

from actors.bookings.invoices import Invoice as InvoiceRecord
from actors.bookings.records import Mode
from actors.times import week_of
from service.schemas.bookings import cut_start
from service.schemas.fields import BillingMode, Cents, Count, Milliseconds, Ratio, optional
from service.schemas.lists import Page
from service.schemas.rows import filled

NO_MONEY = "Test mode: no money moved."


class Seller(BaseModel):
    """The seller when the document was issued. Empty texts: not configured."""

    name: str = Field(description="Name of the seller")
    address: str = Field(description="Lines are separated by line feeds")
    taxId: str = Field(description="Tax number of the seller")


class Buyer(BaseModel):
    """The sponsor when the invoice was issued."""

    name: str = Field(description="Name of the brand")
    website: str = Field(description="Website of the brand")
    email: str = Field(description="Email address of the account, or that of the billing details")
    legalName: str | None = optional("Legal name. Absent, like the following, if there were no billing details")
    address: str | None = optional("Postal address. Lines are separated by line feeds")
    country: str | None = optional("A code of ISO 3166-1 alpha-2")
    taxId: str | None = optional("Tax number of the buyer")
    reference: str | None = optional("Reference of the buyer")


def _buyer(invoice: InvoiceRecord) -> Buyer:
    return Buyer(
        name=invoice.buyer_name,
        website=invoice.buyer_website,
        email=invoice.buyer_email,
        legalName=invoice.buyer_legal_name or None,
        address=invoice.buyer_address or None,
        country=invoice.buyer_country or None,
        taxId=invoice.buyer_tax_id or None,
        reference=invoice.buyer_reference or None,
    )


class Invoice(BaseModel):
    """An invoice for a payment, or a credit note for a refund."""

    number: str = Field(description="Number of the document, without gaps for each kind and mode")
    kind: Literal["invoice", "credit_note"] = Field(description="Kind of document")
    bookingId: str = Field(description="Id of the booking")
    paymentId: str = Field(description="Id of the payment at the payment processor")
    amountCents: Cents = Field(description="Amount in cents, above 0 for both kinds")
    netCents: Cents = Field(description="Amount without tax, in cents: `amountCents` less `taxCents`")
    taxCents: Cents = Field(description="Tax that the amount contains, in cents")
    taxPercent: Ratio = Field(description="Rate of the tax in percent of the net amount; 0: no tax")
    taxName: str | None = optional("Name of the tax, if there is one")
    currency: str = Field(description="ISO 4217, in lower case")
    mode: BillingMode = Field(description="Whether money moves (`live`) or not (`test`)")
    issuedAt: Milliseconds
    seller: Seller = Field(description="The seller")
    buyer: Buyer = Field(description="The sponsor")
    slotName: str = Field(description="Name of the slot")
    weekStart: Milliseconds
    weeks: Count = Field(description="Consecutive weeks of the booking")
    periodStart: Milliseconds | None = optional(
        "First day that was bought, in epoch milliseconds, if the first week had begun; otherwise it is `weekStart`"
    )
    belongsTo: str | None = optional(
        "Of a credit note: the number of its invoice. Of an invoice: the number of the credit note that it cancels, because "
        "the refund did not arrive"
    )
    note: str | None = optional("In test mode: that no money moved")

    @classmethod
    def of(cls, invoice: InvoiceRecord) -> "Invoice":
        return filled(
            cls,
            invoice,
            weekStart=week_of(invoice.period_start_ms),
            periodStart=cut_start(invoice.period_start_ms, week_of(invoice.period_start_ms)),
            seller=Seller(name=invoice.seller_name, address=invoice.seller_address, taxId=invoice.seller_tax_id),
            buyer=_buyer(invoice),
            taxName=invoice.tax_name or None,
            note=NO_MONEY if invoice.mode is Mode.TEST else None,
        )


class InvoicePage(Page):
    """Invoices and credit notes, newest first."""

    items: list[Invoice] = Field(description="Documents of this page")


class BookingInvoices(BaseModel):
    """The documents of one booking, oldest first; none before it is paid."""

    invoices: list[Invoice] = Field(description="The documents")
    processorInvoiceUrl: str | None = optional(
        "The payment processor's own invoice, in live mode, if it can be found now"
    )
