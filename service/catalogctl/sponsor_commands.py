"""The commands of sponsors: their area, campaigns, bookings and scoped keys."""

import re
from datetime import date, timedelta
from urllib.parse import quote

from service.catalogctl.client import Reply
from service.catalogctl.command import (
    Cell,
    Command,
    argument,
    command,
    done,
    facts,
    names,
    part_of,
    print_list,
    required,
    send,
    table,
    value_of,
)
from service.catalogctl.failures import Misused
from service.catalogctl.lists import Entry, entries_of, printed_file, walk
from service.catalogctl.session import Session
from service.terminal.layout import day, moment, printable

EPOCH, DAY_MS = date(1970, 1, 1), 86_400_000
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def week_ms(text: str) -> int:
    """The field of a week: its Monday 00:00 UTC in epoch milliseconds. Takes a date, or milliseconds as they are."""
    if text.isascii() and text.isdigit() and len(text) > 8:
        return int(text)
    try:
        named = date.fromisoformat(text)
    except ValueError:
        raise Misused(f"--week must be the date of a Monday, such as 2026-12-28, not {text!r}") from None
    monday = named - timedelta(days=named.weekday())
    if named != monday:
        raise Misused(f"--week: {text} is not a Monday; its week begins on {monday}")
    return (monday - EPOCH).days * DAY_MS


def uuid(text: str) -> str:
    """The field of an idempotency key."""
    if not _UUID.fullmatch(text):
        raise Misused(f"--idempotency-key must be a UUID, not {text!r}")
    return text.lower()


# The output of the commands.


def _sale(slot: Entry) -> str:
    if slot.get("comingSoon"):
        return "coming soon"
    ends = slot.get("offerEndsAt")
    until = "" if ends is None else f" until {moment(ends)}"
    return f"available{until}" if slot.get("available") else "not available"


def _next_free(slot: Entry) -> str:
    return "coming soon" if slot.get("comingSoon") else day(value_of(slot, "nextWeeks.0.weekStart")) or "none"


def _ctr(booking: Entry) -> str:
    impressions, clicks = booking.get("impressions"), booking.get("clicks")
    counted = isinstance(impressions, int) and isinstance(clicks, int) and impressions > 0
    return f"{clicks / impressions:.2%}" if counted else ""  # type: ignore[operator]


SPONSOR_FACTS = facts(
    """Account: email; Sponsor: profile.name | none yet; Website: profile.website; Administrator: isAdmin; Demo: isDemo;
    Billing: billingMode; Scopes: scopes"""
)
PROFILE = facts("Sponsor: name; Website: website", "profile")
BILLING_DETAILS = facts(
    """Legal name: legalName; Address: address; Country: country; Tax number: taxId; Reference: reference;
    Email: email""",
    "billingDetails",
    address=lambda details: ", ".join(map(printable, str(details.get("address") or "").splitlines())),
)
SLOTS = table(
    """SLOT*: id; NAME: name; SIDE: side; PER WEEK>: weekPriceCents money; PRICE>: priceCents money; WEEKS>: durationWeeks;
    KIND: packageKind; STANDING*: sale""",
    "There are no slots.",
    "slots",
    sale=_sale,
)
RATES = table(
    """SLOT*: id; NAME: name; PER WEEK>: weekPriceCents money; WEEKS>: durationWeeks; NEXT FREE*: free;
    PRICE>: nextWeeks.0.priceCents money""",
    "No slot is for sale right now.",
    "slots",
    free=_next_free,
)
PLACEMENTS = table(
    "BOOKING*: bookingId; SPONSOR: sponsorName; SIDE: side; HEADLINE: headline; TARGET: targetUrl",
    "There are no placements now.",
    "placements",
)
CAMPAIGNS = table(
    "CAMPAIGN*: id; NAME: name; STATUS*: status; HEADLINE: headline; NOTE: reviewNote", "No campaigns yet."
)
EDITED = {"headline": "headline", "body": "body", "button": "cta", "target": "targetUrl", "logo": "logoText"}
"""The fields of an edit that waits for review beside the approved words."""


def _edited(field: str) -> Cell:
    """Shows the field of an edit if it differs."""

    def show(campaign: Entry) -> str:
        edit = campaign.get("pendingRevision")
        new = printable(edit.get(field)) if isinstance(edit, dict) else ""
        return "" if new == printable(campaign.get(field)) else new

    return show


_CAMPAIGN = """Campaign: id; Name: name; Status: status; Headline: headline; Body: body; Button: cta; Target: targetUrl;
    Logo: logoText; Review: reviewNote; """ + "; ".join(f"Edited {title}: edited {title}" for title in EDITED)
_EDITS = {f"edited {title}": _edited(field) for title, field in EDITED.items()}
CAMPAIGN = facts(_CAMPAIGN, "campaign", **_EDITS)
REVIEWED = facts(f"Sponsor: sponsorName; {_CAMPAIGN}", "campaign", **_EDITS)
BOOKINGS = """BOOKING*: id; CAMPAIGN: campaignName; SLOT: slotName; FROM*: weekStart first day; TO*: weekEnd day;
    AMOUNT>: amountCents money; STATUS*: status"""
_BOOKING_FACTS = """Booking: id; Campaign: {campaignName} ({campaignId}); Slot: slotName; From: weekStart first day;
    To: {weekEnd day}, 00:00 UTC; Amount: amountCents money; Refunded: refundedCents money back; Status: status;
    Held until: heldUntil time left; Mode: mode; Impressions: impressions; Clicks: clicks; Package: packageKind;
    Video: {youtubeStatus} {youtubeUrl} {youtubeNotes}; Trouble: paymentIssue; Next step: nextStep words;
    Refund asked: refundRequestedAt moment; Declined: refundDeclinedNote; Receipt: receiptUrl"""
BOOKING, PAID_BOOKING = (
    facts(_BOOKING_FACTS, "booking"),
    facts(f"{_BOOKING_FACTS}; Paid: receipt.paidAt moment", "booking"),
)
CHECKOUT = facts("Pay at: checkoutUrl; Held until: expiresAt time left")
INVOICES = table(
    """NUMBER*: number; KIND*: kind words; BOOKING*: bookingId; DATE*: issuedAt day; NET>: netCents money;
    TAX>: taxCents money; AMOUNT>: amountCents money""",
    "No invoices yet.",
)
DELIVERY = table(
    "BOOKING*: id; CAMPAIGN: campaignName; STATUS*: status; IMPRESSIONS>: impressions; CLICKS>: clicks; CTR>: ctr",
    "No bookings yet.",
    ctr=_ctr,
)
SCOPED_KEYS = table(
    "ID*: id; NAME: name; PREFIX*: keyPrefix; SCOPES: scopes; CREATED*: createdAt day", "No scoped keys."
)
NEW_KEY = facts("Id: id; Key: apiKey; Scopes: scopes")


def _show_inventory(session: Session, reply: Reply) -> list[str]:
    inventory = reply.document
    head = f"Week of {day(inventory.get('weekStart'))}, billing mode {printable(inventory.get('billingMode'))}"
    return [head, "", *SLOTS(session, reply)]


def _show_billing_details(session: Session, reply: Reply) -> list[str]:
    return BILLING_DETAILS(session, reply) if reply.document.get("billingDetails") else ["No billing details yet."]


def _party(invoice: Entry, name: str, *fields: str) -> str:
    """The fields of a party on one line, which separates the lines of an address by commas."""
    lines = (str(value_of(invoice, f"{name}.{each}") or "").splitlines() for each in fields)
    return ", ".join(filter(None, (printable(line) for each in lines for line in each)))


INVOICE = facts(
    """Number: number; Kind: kind words; Belongs to: belongsTo; Date: issuedAt moment; Seller: seller; Buyer: buyer;
    Slot: slotName; From: weekStart first day; To: {weekEnd day}, 00:00 UTC;
    Weeks: weeks; Net: netCents money; Tax: taxCents money; Rate: rate; Amount: amountCents money;
    Reference: buyer.reference; Payment: paymentId; Note: note""",
    rate=lambda invoice: (
        f"{printable(invoice.get('taxName'))} {invoice['taxPercent']:g} %" if invoice.get("taxPercent") else ""
    ),
    seller=lambda invoice: _party(invoice, "seller", "name", "address", "taxId"),
    buyer=lambda invoice: _party(
        invoice, "buyer", "legalName", "address", "country", "taxId", "name", "website", "email"
    ),
)


def _show_invoices(session: Session, reply: Reply) -> list[str]:
    """The documents of one booking, oldest first."""
    lines = [line for each in entries_of(reply, "invoices") for line in ("", *INVOICE.lines(session, each))]
    return lines[1:] or ["The booking has no invoice."]


# Commands that are more than one request and its response.


def _edit_campaign(row: Command, session: Session) -> None:
    if not row.fields(session):
        flags = ", ".join(each.flag for each in row.arguments)
        raise Misused(f"nothing to change was given: use at least one of {flags}")
    session.needs_key()
    send(row, session)


def _reserve(row: Command, session: Session) -> None:
    """Reserve weeks. Prints the idempotency key before it sends the request, because the response may be lost."""
    key = row.fields(session).get("idempotencyKey") or session.outside.new_id()
    session.printer.note(f"Idempotency key: {key}")
    repeat = f"repeat the command with --idempotency-key {key} to find out; it never books twice"
    reply = row.ask(session, f"the booking may have been made: {repeat}", idempotencyKey=key)
    row.finish(session, reply)


def _hint_at_payment(session: Session, reply: Reply) -> None:
    booking = printable(value_of(reply.document, "booking.id"))
    session.printer.hint(f"Pay before the hold runs out: catalogctl sponsor checkout {booking}")


def _open_page(session: Session, reply: Reply) -> None:
    address = reply.document.get("checkoutUrl")
    if session.option("open") and isinstance(address, str) and not session.outside.browse(address):
        session.printer.note("No browser could be opened.")


def _show_delivery(row: Command, session: Session) -> None:
    """Show the delivery of one booking, or of all bookings."""
    _, path, _ = row.request(session)
    booking = session.option("booking")
    if booking is None:
        if session.option("csv"):
            raise Misused("--csv needs a booking; catalogctl report --csv has all of them")
        print_list(row, session, walk(session, path, {}))
        return
    if any(session.option(name) for name in ("all", "limit", "cursor")):
        raise Misused("--all, --limit and --cursor cannot be combined with one booking")
    one = f"{path}/{quote(booking, safe='')}"
    if not printed_file(session, f"{one}/delivery", {}):
        reply = session.client.ask("GET", one)
        session.printer.show(reply, DELIVERY.lines(session, [part_of(reply, "booking")]))


# Rows.

ONCE = "The key is shown only once."
_CONTENT = {
    "name": "only shown to you",
    "headline": "up to 55 characters",
    "body": "up to 140 characters",
    "cta": "the button, up to 24 characters",
    "target-url": "the page that it leads to",
    "logo-text": "up to 3 characters",
}
_BRAND = required(name="the brand", website="its address")
_BUYER = {
    "legal-name": "the company or person",
    "address": "the postal address; a line feed ends a line",
    "country": "a code of ISO 3166-1, such as CH",
}
_WEEK = (
    argument("--slot=", "the slot's id", "slotId", required=True),
    argument("--week=", "the first week's Monday, such as 2026-12-28", "weekStart", read=week_ms, required=True),
    argument("--idempotency-key UUID", "the key of a command whose response was lost", read=uuid),
)
_CAMPAIGN, _BOOKING = "sponsors/campaigns/{campaign}", "sponsors/bookings/{booking}"
# fmt: off
SPONSOR = (
    command("me", "GET sponsors/me", "Show the sponsor, and what the key may do.", SPONSOR_FACTS),
    command("profile", "PATCH sponsors/profile", "Save the name that visitors see, and the website.", PROFILE, *_BRAND),
    command("billing", "GET sponsors/billing-details", "Show what your next invoices name as their buyer.",
            _show_billing_details),
    command("set-billing", "PUT sponsors/billing-details", "Replace what your next invoices name as their buyer.",
            BILLING_DETAILS, *required(**_BUYER),
            argument("--tax-id=", "the tax number, such as that of VAT", "taxId"),
            argument("--reference=", "your reference, such as the number of a purchase order"),
            argument("--email=", "the email address to print; default: that of the account")),
    command("inventory", "GET sponsors/inventory", "Show the slots, and which of them can be booked for a week.",
            _show_inventory,
            argument("--week MONDAY", "first day of the week, such as 2026-12-28; default: the current week", "weekStart",
                     read=week_ms),
            keyless=True),
    command("rates", "GET sponsors/rate-card", "Show what slots cost, and their next free weeks.", RATES, keyless=True),
    command("placements", "GET sponsors/placements", "Show the placements that are live now.", PLACEMENTS,
            keyless=True),
    command("campaigns", "GET sponsors/campaigns", "List your campaigns, newest first.", CAMPAIGNS, paged=True),
    command("create-campaign", "POST sponsors/campaigns", "Create a campaign, which waits for review.", CAMPAIGN,
            *required(**_CONTENT)),
    command("edit-campaign", f"PATCH {_CAMPAIGN}", "Change a campaign; new content is reviewed.", CAMPAIGN,
            *(argument(f"--{name}=", words) for name, words in _CONTENT.items()),
            keyless=True, run=_edit_campaign),
    command("submit", f"POST {_CAMPAIGN}/submit", "Submit a draft or rejected campaign for review.", CAMPAIGN),
    command("withdraw", f"POST {_CAMPAIGN}/withdraw", "Withdraw a campaign from review.", CAMPAIGN),
    command("pause", f"POST {_CAMPAIGN}/pause", "Stop showing a campaign until it is resumed.", CAMPAIGN),
    command("resume", f"POST {_CAMPAIGN}/resume", "Show a paused campaign again.", CAMPAIGN),
    command("bookings", "GET sponsors/bookings", "List your bookings, newest first.",
            table(BOOKINGS, "No bookings yet."), paged=True),
    command("booking", f"GET {_BOOKING}", "Show one booking and its receipt.", PAID_BOOKING),
    command("book", "POST sponsors/bookings", "Reserve a slot's weeks for a campaign; pay before the hold runs out.",
            BOOKING, argument("--campaign=", "the campaign's id", "campaignId", required=True), *_WEEK,
            then=_hint_at_payment, run=_reserve),
    command("start", "POST sponsors/bookings/start",
            "Save the brand, create its campaign and reserve a slot's weeks, in one request.", BOOKING, *_BRAND,
            *required(headline="up to 55 characters", body="up to 140 characters"), *_WEEK, then=_hint_at_payment,
            run=_reserve),
    command("checkout", f"POST {_BOOKING}/checkout", "Show the page where a reserved booking is paid.", CHECKOUT,
            argument("--open", "open the page in the browser", ""), then=_open_page),
    command("cancel", f"POST {_BOOKING}/cancel", "Cancel a booking that is not paid.", BOOKING),
    command("invoice", f"GET {_BOOKING}/invoice", "Show the invoice of a booking and its credit notes.",
            _show_invoices),
    command("request-refund", f"POST {_BOOKING}/refund-request", "Ask for the refund of a paid booking.", BOOKING,
            *required(reason="why; an administrator reads it")),
    command("invoices", "GET sponsors/invoices", "List your invoices and credit notes, newest first.", INVOICES,
            paged=True, csv="print every document as CSV"),
    command("delivery", "GET sponsors/bookings", "Show impressions, clicks and their ratio.", DELIVERY,
            argument("[BOOKING]", "its id; default: all bookings", ""), paged=True,
            csv="print the days of one booking as CSV", run=_show_delivery),
    command("keys", "GET sponsors/keys", "List the scoped keys of the account.", SCOPED_KEYS),
    command("create-key", "POST sponsors/keys", "Create a scoped key; it is shown only once.", NEW_KEY,
            *required(name="what the key is for"),
            argument("--scopes=", "scopes, separated by commas, such as sponsor:read", type=names, required=True),
            then=ONCE),
    command("revoke-key", "DELETE sponsors/keys/{id}", "Revoke a scoped key permanently.", done("id", "is revoked")),
)
# fmt: on
