"""Read the sponsorship area: identity, slots, placements, campaigns, bookings, delivery and keys."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote

from service.catalogctl.client import Reply
from service.catalogctl.failures import Misused
from service.catalogctl.files import printed_file
from service.catalogctl.paging import SPONSORSHIP, entries_of, part_of, walk
from service.catalogctl.session import Session
from service.catalogctl.tables import Column
from service.catalogctl.texts import day, moment, money, shown, time_left

ROOT = "/api/v1/sponsors"
Entry = dict[str, Any]
EPOCH, DAY_MS = date(1970, 1, 1), 86_400_000

SLOTS = (
    Column("SLOT", whole=True),
    Column("NAME"),
    Column("SIDE"),
    Column("PER WEEK", whole=True, right=True),
    Column("PRICE", whole=True, right=True),
    Column("WEEKS", right=True),
    Column("KIND"),
    Column("STANDING", whole=True),
)
CAMPAIGNS = (
    Column("CAMPAIGN", whole=True),
    Column("NAME"),
    Column("STATUS", whole=True),
    Column("HEADLINE"),
    Column("NOTE"),
)
BOOKINGS = (
    Column("BOOKING", whole=True),
    Column("CAMPAIGN"),
    Column("SLOT"),
    Column("FROM", whole=True),
    Column("TO", whole=True),
    Column("AMOUNT", whole=True, right=True),
    Column("STATUS", whole=True),
)
DELIVERY = (
    Column("BOOKING", whole=True),
    Column("CAMPAIGN"),
    Column("STATUS", whole=True),
    Column("IMPRESSIONS", whole=True, right=True),
    Column("CLICKS", whole=True, right=True),
    Column("CTR", whole=True, right=True),
)
PLACEMENTS = (Column("BOOKING", whole=True), Column("SPONSOR"), Column("SIDE"), Column("HEADLINE"), Column("TARGET"))
KEYS = (
    Column("ID", whole=True),
    Column("NAME"),
    Column("PREFIX", whole=True),
    Column("SCOPES"),
    Column("CREATED", whole=True),
)


def week_ms(text: str) -> int:
    """A week for the API: its Monday 00:00 UTC in epoch milliseconds. Takes a date, or milliseconds as they are."""
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


def at(kind: str, name: str, move: str = "") -> str:
    """The path of a campaign, booking or key, or of an action on it."""
    return f"{ROOT}/{kind}/{quote(name, safe='')}{f'/{move}' if move else ''}"


def show_identity(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("GET", f"{ROOT}/me")
    me = reply.document
    profile = me.get("profile")
    name, website = (profile.get("name"), profile.get("website")) if isinstance(profile, dict) else ("none yet", None)
    session.show(
        reply,
        session.facts(
            {
                "Account": shown(me.get("email")),
                "Sponsor": shown(name),
                "Website": shown(website),
                "Administrator": shown(me.get("isAdmin")),
                "Demo": shown(me.get("isDemo")),
                "Billing": shown(me.get("billingMode")),
                "Scopes": shown(me.get("scopes")),
            }
        ),
    )


def show_inventory(session: Session) -> None:
    week = session.options.week
    reply = session.client.ask("GET", f"{ROOT}/inventory", {"weekStart": None if week is None else week_ms(week)})
    inventory = reply.document
    rows = [_slot(slot) for slot in entries_of(reply, "slots")]
    head = f"Week of {day(inventory.get('weekStart'))}, billing mode {shown(inventory.get('billingMode'))}"
    session.show(reply, [head, "", *session.table(SLOTS, rows, "There are no slots.")])


def _slot(slot: Entry) -> list[str]:
    if slot.get("comingSoon"):
        standing = "coming soon"
    elif slot.get("available"):
        ends = slot.get("offerEndsAt")
        standing = "available" if ends is None else f"available until {moment(ends)}"
    else:
        standing = "not available"
    fields = [shown(slot.get(name)) for name in ("id", "name", "side")]
    prices = [money(slot.get(name)) for name in ("weekPriceCents", "priceCents")]
    return [*fields, *prices, shown(slot.get("durationWeeks")), shown(slot.get("packageKind")), standing]


def show_placements(session: Session) -> None:
    reply = session.client.ask("GET", f"{ROOT}/placements")
    fields = ("bookingId", "sponsorName", "side", "headline", "targetUrl")
    rows = [[shown(each.get(name)) for name in fields] for each in entries_of(reply, "placements")]
    session.show(reply, session.table(PLACEMENTS, rows, "There are no placements now."))


def list_campaigns(session: Session) -> None:
    session.needs_key()
    fields = ("id", "name", "status", "headline", "reviewNote")
    entries = walk(session, f"{ROOT}/campaigns", SPONSORSHIP, {})
    tabulate(session, CAMPAIGNS, [[shown(each.get(name)) for name in fields] for each in entries], "No campaigns yet.")


def list_bookings(session: Session) -> None:
    session.needs_key()
    entries = walk(session, f"{ROOT}/bookings", SPONSORSHIP, {})
    tabulate(session, BOOKINGS, [booking_row(each) for each in entries], "No bookings yet.")


def booking_row(booking: Entry) -> list[str]:
    start, end = day(booking.get("weekStart")), day(booking.get("weekEnd"))
    named = [shown(booking.get(name)) for name in ("id", "campaignName", "slotName")]
    return [
        *named,
        start,
        end,
        money(booking.get("amountCents"), booking.get("currency")),
        shown(booking.get("status")),
    ]


def show_booking(session: Session) -> None:
    """Show one booking and its receipt."""
    session.needs_key()
    reply = session.client.ask("GET", at("bookings", session.options.booking))
    booking, receipt = part_of(reply, "booking"), reply.document.get("receipt")
    paid = {"Paid": moment(receipt.get("paidAt"))} if isinstance(receipt, dict) else {}
    session.show(reply, session.facts(booking_facts(reply, booking) | paid))


def booking_facts(reply: Reply, booking: Entry) -> dict[str, str]:
    """The facts of a booking in a response."""
    refunded = booking.get("refundedCents")
    return {
        "Booking": shown(booking.get("id")),
        "Campaign": f"{shown(booking.get('campaignName'))} ({shown(booking.get('campaignId'))})",
        "Slot": shown(booking.get("slotName")),
        "From": day(booking.get("weekStart")),
        "To": f"{day(booking.get('weekEnd'))}, 00:00 UTC",
        "Amount": money(booking.get("amountCents"), booking.get("currency")),
        "Refunded": money(refunded, booking.get("currency")) if refunded else "",
        "Status": shown(booking.get("status")),
        "Held until": time_left(booking.get("heldUntil"), reply.headers.get("date")),
        "Mode": shown(booking.get("mode")),
        "Impressions": shown(booking.get("impressions")),
        "Clicks": shown(booking.get("clicks")),
        "Package": shown(booking.get("packageKind")),
        "Video": " ".join(shown(booking.get(name)) for name in ("youtubeStatus", "youtubeUrl", "youtubeNotes")).strip(),
        "Trouble": shown(booking.get("paymentIssue")),
        "Next step": shown(booking.get("nextStep")).replace("_", " "),
        "Refund asked": moment(booking.get("refundRequestedAt")),
        "Declined": shown(booking.get("refundDeclinedNote")),
        "Receipt": shown(booking.get("receiptUrl")),
    }


def show_delivery(session: Session) -> None:
    """Show the delivery of one booking, or of all bookings."""
    session.needs_key()
    if session.options.booking is None:
        if session.options.csv:
            raise Misused("--csv needs a booking; catalogctl report --csv has all of them")
        rows = [_delivery(each) for each in walk(session, f"{ROOT}/bookings", SPONSORSHIP, {})]
        tabulate(session, DELIVERY, rows, "No bookings yet.")
        return
    if session.options.all or session.options.limit or session.options.cursor:
        raise Misused("--all, --limit and --cursor cannot be combined with one booking")
    if printed_file(session, at("bookings", session.options.booking, "delivery"), {}):
        return
    reply = session.client.ask("GET", at("bookings", session.options.booking))
    session.show(reply, session.table(DELIVERY, [_delivery(part_of(reply, "booking"))], ""))


def _delivery(booking: Entry) -> list[str]:
    impressions, clicks = booking.get("impressions"), booking.get("clicks")
    counted = isinstance(impressions, int) and isinstance(clicks, int) and impressions > 0
    rate = f"{clicks / impressions:.2%}" if counted else ""  # type: ignore[operator]
    named = [shown(booking.get(name)) for name in ("id", "campaignName", "status")]
    return [*named, shown(impressions), shown(clicks), rate]


def list_keys(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("GET", f"{ROOT}/keys")
    rows = [
        [*(shown(key.get(name)) for name in ("id", "name", "keyPrefix", "scopes")), day(key.get("createdAt"))]
        for key in entries_of(reply, "items")
    ]
    session.show(reply, session.table(KEYS, rows, "No scoped keys."))


def tabulate(session: Session, columns: Sequence[Column], rows: Sequence[Sequence[str]], nothing: str) -> None:
    """Print a list as a table. With `--json`, `walk` has already printed its pages."""
    session.say(*session.table(columns, rows, nothing))
