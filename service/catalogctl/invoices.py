"""Read invoices and credit notes."""

from service.catalogctl.paging import SPONSORSHIP, entries_of, walk
from service.catalogctl.session import Session
from service.catalogctl.sponsoring import ROOT, Entry, at, tabulate
from service.catalogctl.tables import Column
from service.catalogctl.texts import day, moment, money, shown

INVOICES = (
    Column("NUMBER", whole=True),
    Column("KIND", whole=True),
    Column("BOOKING", whole=True),
    Column("DATE", whole=True),
    Column("AMOUNT", whole=True, right=True),
)


def list_invoices(session: Session) -> None:
    session.needs_key()
    entries = walk(session, f"{ROOT}/invoices", SPONSORSHIP, {})
    tabulate(session, INVOICES, [_row(each) for each in entries], "No invoices yet.")


def show_invoices(session: Session) -> None:
    """Show the documents of one booking, oldest first."""
    session.needs_key()
    reply = session.client.ask("GET", at("bookings", session.options.booking, "invoice"))
    lines: list[str] = []
    for each in entries_of(reply, "invoices"):
        lines += [*([""] if lines else []), *session.facts(_facts(each))]
    session.show(reply, lines or ["The booking has no invoice."])


def _row(invoice: Entry) -> list[str]:
    named = [shown(invoice.get("number")), _kind(invoice), shown(invoice.get("bookingId"))]
    return [*named, day(invoice.get("issuedAt")), money(invoice.get("amountCents"), invoice.get("currency"))]


def _facts(invoice: Entry) -> dict[str, str]:
    return {
        "Number": shown(invoice.get("number")),
        "Kind": _kind(invoice),
        "Belongs to": shown(invoice.get("belongsTo")),
        "Date": moment(invoice.get("issuedAt")),
        "Seller": _party(invoice, "seller", "name", "address", "taxId"),
        "Buyer": _party(invoice, "buyer", "name", "website", "email"),
        "Slot": shown(invoice.get("slotName")),
        "From": day(invoice.get("weekStart")),
        "Weeks": shown(invoice.get("weeks")),
        "Amount": money(invoice.get("amountCents"), invoice.get("currency")),
        "Payment": shown(invoice.get("paymentId")),
        "Note": shown(invoice.get("note")),
    }


def _kind(invoice: Entry) -> str:
    return shown(invoice.get("kind")).replace("_", " ")


def _party(invoice: Entry, name: str, *fields: str) -> str:
    """The fields of a party on one line, which separates the lines of an address by commas."""
    party = invoice.get(name)
    lines = [str(party.get(field) or "").splitlines() for field in fields] if isinstance(party, dict) else []
    return ", ".join(filter(None, (shown(line) for each in lines for line in each)))
