"""The administrators' lists of campaigns, sponsors, slots and changes."""

from collections.abc import Callable, Mapping, Sequence

from service.catalogctl.administering import AREA
from service.catalogctl.files import printed_file
from service.catalogctl.paging import SPONSORSHIP, entries_of, walk
from service.catalogctl.session import Session
from service.catalogctl.sponsoring import Entry
from service.catalogctl.tables import Column
from service.catalogctl.texts import day, moment, money, shown

CAMPAIGNS = (
    Column("CAMPAIGN", whole=True),
    Column("SPONSOR"),
    Column("NAME"),
    Column("STATUS", whole=True),
    Column("HEADLINE"),
    Column("CREATED", whole=True),
)
SPONSORS = (Column("SPONSOR", whole=True), Column("NAME"), Column("WEBSITE"), Column("SINCE", whole=True))
SLOTS = (
    Column("SLOT", whole=True),
    Column("NAME"),
    Column("SIDE"),
    Column("PER WEEK", whole=True, right=True),
    Column("WEEKS", right=True),
    Column("STATE", whole=True),
)
CHANGES = (
    Column("CHANGE", whole=True),
    Column("WHEN", whole=True),
    Column("ACTION", whole=True),
    Column("TARGET", whole=True),
    Column("BY"),
)


def list_campaigns(session: Session) -> None:
    options = session.options
    query = {"status": options.status, "order": options.order}
    _list(session, "campaigns", query, CAMPAIGNS, _campaign, "No campaign matches.")


def _campaign(campaign: Entry) -> list[str]:
    named = [shown(campaign.get(name)) for name in ("id", "sponsorName", "name", "status", "headline")]
    return [*named, day(campaign.get("createdAt"))]


def list_sponsors(session: Session) -> None:
    _list(session, "sponsors", {}, SPONSORS, _sponsor, "No sponsors yet.")


def _sponsor(sponsor: Entry) -> list[str]:
    return [*(shown(sponsor.get(name)) for name in ("id", "name", "website")), day(sponsor.get("createdAt"))]


def list_audit(session: Session) -> None:
    wanted = session.options
    filters = {"targetId": wanted.target, "actorEmail": wanted.by, "to": wanted.to}
    _list(session, "audit", filters, CHANGES, _change, "No changes.")


def _change(change: Entry) -> list[str]:
    actor = change.get("actorEmail") or change.get("actorId") or change.get("actorType")
    named = [shown(change.get(name)) for name in ("action", "targetId")]
    return [shown(change.get("id")), moment(change.get("createdAt")), *named, shown(actor)]


def list_slots(session: Session) -> None:
    session.needs_key()
    path = f"{AREA}/slots"
    if not printed_file(session, path, {}):
        reply = session.client.ask("GET", path)
        session.show(
            reply, session.table(SLOTS, [_slot(each) for each in entries_of(reply, "items")], "There are no slots.")
        )


def _slot(slot: Entry) -> list[str]:
    state = "retired" if slot.get("retired") else "coming soon" if slot.get("comingSoon") else ""
    named = [shown(slot.get(name)) for name in ("id", "name", "side")]
    price = money(slot.get("weekPriceCents"))
    return [*named, price, shown(slot.get("durationWeeks")), state or ("active" if slot.get("active") else "inactive")]


def _list(
    session: Session,
    name: str,
    query: Mapping[str, str | None],
    columns: Sequence[Column],
    row: Callable[[Entry], list[str]],
    nothing: str,
) -> None:
    session.needs_key()
    path = f"{AREA}/{name}"
    if not printed_file(session, path, query):
        rows = [row(each) for each in walk(session, path, SPONSORSHIP, query)]
        session.say(*session.table(columns, rows, nothing))
