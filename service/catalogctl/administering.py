"""Commands of administrators about accounts, the bookings of all sponsors, the review queue, the revenue and websites."""

from urllib.parse import quote

from service.catalogctl.files import printed_file
from service.catalogctl.paging import SPONSORSHIP, entries_of, part_of, walk
from service.catalogctl.session import Session
from service.catalogctl.sponsoring import BOOKINGS, Entry, booking_row, week_ms
from service.catalogctl.tables import Column
from service.catalogctl.texts import day, moment, money, shown

ROOT, AREA = "/api/v1/admin", "/api/v1/admin/sponsorships"

ACCOUNTS = (
    Column("ACCOUNT", whole=True),
    Column("EMAIL", whole=True),
    Column("TIER", whole=True),
    Column("STATE", whole=True),
    Column("SPONSOR"),
    Column("SINCE", whole=True),
)
ALL_BOOKINGS = (*BOOKINGS, Column("SPONSOR"), Column("NEXT STEP"))
REVIEWS = (
    Column("CAMPAIGN", whole=True),
    Column("BEGINS", whole=True),
    Column("PAID", whole=True),
    Column("SPONSOR"),
    Column("EMAIL"),
    Column("HEADLINE"),
)
SITES = (
    Column("WEBSITE", whole=True),
    Column("IMPRESSIONS", whole=True, right=True),
    Column("CLICKS", whole=True, right=True),
)
REVENUE = (
    Column("MONTH", whole=True),
    Column("MODE", whole=True),
    Column("PAYMENTS", whole=True, right=True),
    Column("PAID", whole=True, right=True),
    Column("REFUNDED", whole=True, right=True),
    Column("NET", whole=True, right=True),
)


def list_accounts(session: Session) -> None:
    session.needs_key()
    options = session.options
    query = {"query": options.query, "tier": options.tier, "suspended": "true" if options.suspended else None}
    if printed_file(session, f"{ROOT}/accounts", query):
        return
    rows = [_account(each) for each in walk(session, f"{ROOT}/accounts", SPONSORSHIP, query)]
    session.say(*session.table(ACCOUNTS, rows, "No account matches."))


def _account(account: Entry) -> list[str]:
    state = "suspended" if account.get("suspendedAt") else "administrator" if account.get("isAdmin") else "active"
    named = [shown(account.get(name)) for name in ("id", "email", "tier")]
    return [*named, state, shown(account.get("sponsorName")), day(account.get("createdAt"))]


def show_account(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("GET", _at(session))
    account = part_of(reply, "account")
    usage = account.get("usage") if isinstance(account.get("usage"), dict) else {}
    bookings = account.get("bookings") if isinstance(account.get("bookings"), dict) else {}
    assert isinstance(usage, dict)
    assert isinstance(bookings, dict)
    more = {
        "Requests": f"{shown(usage.get('requestsUsed'))} of {shown(usage.get('requestLimit'))} this month",
        "Keys": shown(account.get("keys")),
        "Sessions": shown(account.get("sessions")),
        "Campaigns": shown(account.get("campaigns")),
        "Bookings": ", ".join(f"{number} {state}" for state, number in bookings.items() if number) or "none",
        "Deleted": moment(account.get("deletesAt")),
    }
    session.show(reply, session.facts(_facts(account) | more))


def _facts(account: Entry) -> dict[str, str]:
    return {
        "Account": shown(account.get("id")),
        "Email": shown(account.get("email")),
        "Tier": shown(account.get("tier")),
        "Administrator": shown(account.get("isAdmin")),
        "Sponsor": shown(account.get("sponsorName")),
        "Since": moment(account.get("createdAt")),
        "Suspended": moment(account.get("suspendedAt")),
        "Reason": shown(account.get("suspensionReason")),
    }


def suspend_account(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("POST", _at(session, "/suspend"), body={"reason": session.options.reason})
    session.show(reply, session.facts(_facts(part_of(reply, "account"))))


def restore_account(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("POST", _at(session, "/unsuspend"))
    session.show(reply, session.facts(_facts(part_of(reply, "account"))))


def refund_account(session: Session) -> None:
    """Order refunds, request by request, until there is nothing left to order."""
    session.needs_key()
    reason = session.options.reason
    for _ in range(MOST_REQUESTS):
        reply = session.client.ask("POST", _at(session, "/refund"), body={} if reason is None else {"reason": reason})
        sums = entries_of(reply, "sums")
        words = [
            f"refunds ordered: {shown(each.get('bookings'))}, {money(each.get('amountCents'), each.get('currency'))} "
            f"in {shown(each.get('mode'))} mode"
            for each in sums
        ]
        session.show(reply, words or ["There is nothing to refund."])
        if not reply.document.get("hasMore"):
            return


MOST_REQUESTS = 100
"""Requests of one refund of all weeks: more than an account can have paid bookings ahead."""


def list_bookings(session: Session) -> None:
    session.needs_key()
    options = session.options
    query: dict[str, str | int | None] = {
        name: getattr(options, name) for name in ("status", "sponsor", "slot", "query")
    }
    query["week"] = None if options.week is None else week_ms(options.week)
    query["trouble"] = "true" if options.trouble else None
    if printed_file(session, f"{AREA}/bookings", query):
        return
    rows = [
        [*booking_row(each), shown(each.get("sponsorName")), shown(each.get("nextStep")).replace("_", " ")]
        for each in walk(session, f"{AREA}/bookings", SPONSORSHIP, query)
    ]
    session.say(*session.table(ALL_BOOKINGS, rows, "No booking matches."))


def list_reviews(session: Session) -> None:
    session.needs_key()
    rows = [_review(each) for each in walk(session, f"{AREA}/reviews", SPONSORSHIP, {})]
    session.say(*session.table(REVIEWS, rows, "Nothing waits for review."))


def _review(item: Entry) -> list[str]:
    campaign = item.get("campaign")
    assert isinstance(campaign, dict) or campaign is None
    campaign = campaign or {}
    return [
        shown(campaign.get("id")),
        day(item.get("beginsAt")) or "not booked",
        shown(item.get("paid")),
        shown(campaign.get("sponsorName")),
        shown(item.get("email")),
        shown((campaign.get("pendingRevision") or campaign).get("headline")),
    ]


def show_revenue(session: Session) -> None:
    session.needs_key()
    options = session.options
    months = {"from": options.first, "to": options.last}
    if printed_file(session, f"{AREA}/revenue", months):
        return
    reply = session.client.ask("GET", f"{AREA}/revenue", months)
    rows = [
        [
            shown(each.get("month")),
            shown(each.get("mode")),
            shown(each.get("payments")),
            *(money(each.get(name), each.get("currency")) for name in ("paidCents", "refundedCents", "netCents")),
        ]
        for each in entries_of(reply, "items")
    ]
    session.show(reply, session.table(REVENUE, rows, "Nothing was paid in these months."))


def list_sites(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("GET", f"{AREA}/sites", {"from": session.options.first, "to": session.options.last})
    names = ("site", "impressions", "clicks")
    rows = [[shown(each.get(name)) for name in names] for each in entries_of(reply, "items")]
    counting = reply.document.get("counting")
    nothing = "Nothing was counted by website on these days." if counting else "events.count_sites is off."
    session.show(reply, session.table(SITES, rows, nothing))


def _at(session: Session, act: str = "") -> str:
    return f"{ROOT}/accounts/{quote(session.options.account, safe='')}{act}"
