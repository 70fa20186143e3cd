"""The rate card, and what the bookings of an account delivered: sums as tables, or every booking and day as CSV."""

from service.catalogctl.files import printed_file
from service.catalogctl.paging import entries_of
from service.catalogctl.session import Session
from service.catalogctl.sponsoring import ROOT, Entry
from service.catalogctl.tables import Column
from service.catalogctl.texts import day, money, shown

SUMS = (
    Column("NAME"),
    Column("IMPRESSIONS", whole=True, right=True),
    Column("CLICKS", whole=True, right=True),
    Column("CTR", whole=True, right=True),
)
RATES = (
    Column("SLOT", whole=True),
    Column("NAME"),
    Column("PER WEEK", whole=True, right=True),
    Column("WEEKS", right=True),
    Column("NEXT FREE", whole=True),
    Column("PRICE", whole=True, right=True),
)


def show_rates(session: Session) -> None:
    """Print the slots that are for sale, each with its next free week."""
    reply = session.client.ask("GET", f"{ROOT}/rate-card")
    rows = [_rates(slot, reply.document.get("currency")) for slot in entries_of(reply, "slots")]
    session.show(reply, session.table(RATES, rows, "No slot is for sale right now."))


def _rates(slot: Entry, currency: object) -> list[str]:
    weeks = slot.get("nextWeeks")
    free = weeks[0] if isinstance(weeks, list) and weeks and isinstance(weeks[0], dict) else {}
    standing = "coming soon" if slot.get("comingSoon") else day(free.get("weekStart")) if free else "none"
    prices = [money(slot.get("weekPriceCents"), currency), shown(slot.get("durationWeeks"))]
    price = money(free.get("priceCents"), currency) if free else ""
    return [shown(slot.get("id")), shown(slot.get("name")), *prices, standing, price]


def show_report(session: Session) -> None:
    """Print the sums by campaign and by slot, or with `--csv` the file of the service."""
    options = session.options
    session.needs_key()
    days = {"from": options.first, "to": options.last}
    if printed_file(session, f"{ROOT}/delivery", days):
        return
    reply = session.client.ask("GET", f"{ROOT}/delivery", days)
    report = reply.document
    lines = [f"{shown(report.get('from'))} to {shown(report.get('to'))}, UTC"]
    for title, name in (("campaigns", "campaign"), ("slots", "slot")):
        rows = [_sum(each, shown(each.get(name))) for each in entries_of(reply, title)]
        if rows:
            lines += ["", f"By {name}:", *session.table(SUMS, [*rows, _sum(report, "all")], "")]
    session.show(reply, lines if len(lines) > 1 else [*lines, "", "None of your bookings ran on these days."])


def _sum(delivered: Entry, name: str) -> list[str]:
    ctr = delivered.get("ctr")
    rate = f"{ctr:.2%}" if isinstance(ctr, int | float) and not isinstance(ctr, bool) else ""
    return [name, shown(delivered.get("impressions")), shown(delivered.get("clicks")), rate]
