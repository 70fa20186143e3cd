"""The commands of administrators."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from service.catalogctl.catalog_commands import BOT_FACTS, SUBMISSION, USECASE_FACTS
from service.catalogctl.client import Reply, text_of
from service.catalogctl.command import CSV, ROOT, Command, argument, command, done, facts, required, table
from service.catalogctl.failures import Exit, Misused, Refused
from service.catalogctl.lists import PAGES, SPONSORSHIP, Entry, entries_of
from service.catalogctl.session import Session
from service.catalogctl.sponsor_commands import BOOKING, BOOKINGS, REVIEWED, week_ms
from service.terminal.layout import money, printable

STATES = ("reserved", "checkout", "paid", "expired", "cancelled", "refunding", "refunded")
CAMPAIGN_STATES = ("draft", "pending", "approved", "rejected", "paused")
MAX_REQUESTS = 100
"""Requests of one refund of all weeks: more than an account can have paid bookings ahead."""


def _account_state(account: Entry) -> str:
    return "suspended" if account.get("suspendedAt") else "administrator" if account.get("isAdmin") else "active"


def _slot_state(slot: Entry) -> str:
    state = "retired" if slot.get("retired") else "coming soon" if slot.get("comingSoon") else ""
    return state or ("active" if slot.get("active") else "inactive")


def _bookings(account: Entry) -> str:
    """The number of an account's bookings in each state."""
    numbers = account.get("bookings")
    states = numbers.items() if isinstance(numbers, dict) else ()
    return ", ".join(f"{number} {state}" for state, number in states if number) or "none"


ACCOUNTS = table(
    "ACCOUNT*: id; EMAIL*: email; TIER*: tier; STATE*: state; SPONSOR: sponsorName; SINCE*: createdAt day",
    "No account matches.",
    state=_account_state,
)
_STATUS = """Account: id; Email: email; Tier: tier; Administrator: isAdmin; Sponsor: sponsorName; Since: createdAt moment;
    Suspended: suspendedAt moment; Reason: suspensionReason"""
STATUS = facts(_STATUS, "account")
ACCOUNT = facts(
    f"""{_STATUS}; Requests: {{usage.requestsUsed}} of {{usage.requestLimit}} this month; Keys: keys;
    Sessions: sessions; Campaigns: campaigns; Bookings: bookings; Deleted: deletesAt moment""",
    "account",
    bookings=_bookings,
)
ALL_BOOKINGS = table(f"{BOOKINGS}; SPONSOR: sponsorName; NEXT STEP: nextStep words", "No booking matches.")
REVIEWS = table(
    """CAMPAIGN*: campaign.id; BEGINS*: beginsAt day | not booked; PAID*: paid; SPONSOR: campaign.sponsorName; EMAIL: email;
    HEADLINE: campaign.pendingRevision.headline/campaign.headline""",
    "Nothing waits for review.",
)
CAMPAIGN = facts("Campaign: id; Sponsor: sponsorName; Headline: headline; Status: status; Note: reviewNote", "campaign")
REVENUE = table(
    """MONTH*: month; MODE*: mode; PAYMENTS>: payments; PAID>: paidCents money; REFUNDED>: refundedCents money;
    NET>: netCents money""",
    "Nothing was paid in these months.",
)
CAMPAIGNS = table(
    "CAMPAIGN*: id; SPONSOR: sponsorName; NAME: name; STATUS*: status; HEADLINE: headline; CREATED*: createdAt day",
    "No campaign matches.",
)
SPONSORS = table("SPONSOR*: id; NAME: name; WEBSITE: website; SINCE*: createdAt day", "No sponsors yet.")
SLOTS = table(
    "SLOT*: id; NAME: name; SIDE: side; PER WEEK>: weekPriceCents money; WEEKS>: durationWeeks; STATE*: state",
    "There are no slots.",
    state=_slot_state,
)
SUBMISSIONS = table(
    """SUBMISSION*: id; VERSION*: version; KIND: kind; SLUG: slug; EDIT: edit; STATUS*: status; OUTDATED: outdated | no;
    EMAIL: email""",
    "No submission matches.",
)
CHANGES = table(
    """CHANGE*: id; WHEN*: createdAt moment; ACTION*: action; TARGET*: targetId; BY: actorEmail/actorId/actorType""",
    "No changes.",
)
_STORED = "Updated: updatedAt moment; Retired: retiredAt moment"
USECASE = facts(f"{USECASE_FACTS}; {_STORED}", "useCase")
BOT = facts(f"{BOT_FACTS}; {_STORED}", "bot")
SITES = table(
    "WEBSITE*: site; IMPRESSIONS>: impressions; SHARE %>: sharePercent; CLICKS>: clicks",
    "Nothing was counted by website on these days.",
)


def _show_sites(session: Session, reply: Reply) -> list[str]:
    lines = SITES(session, reply)
    counts = reply.document.get("counting") or entries_of(reply, "items")
    return lines if counts else ["events.count_sites is off."]


def _show_refunds(session: Session, reply: Reply) -> list[str]:
    lines = [
        f"refunds ordered: {printable(each.get('bookings'))}, {money(each.get('amountCents'), each.get('currency'))} "
        f"in {printable(each.get('mode'))} mode"
        for each in entries_of(reply, "sums")
    ]
    return lines or ["There is nothing to refund."]


def _refund_account(row: Command, session: Session) -> None:
    """Order refunds, request by request, until there is nothing left to order."""
    for _ in range(MAX_REQUESTS):
        reply = row.ask(session)
        row.finish(session, reply)
        if not reply.document.get("hasMore"):
            return


# Decisions on campaigns.

SEEN = ("headline", "body", "cta", "targetUrl", "logoText")
"""The content that a decision is about. If it has changed, the service refuses the decision."""

DECIDED_IN: Mapping[str, tuple[str, ...]] = {"approve": (), "reject": ("approved", "paused")}
"""The states besides those that wait for review in which a campaign can be decided on."""


def seen_content(text: str) -> Entry:
    """The field of the content that somebody has read: of a campaign as `reviews --json` has it, or of its edit if there is
    one. Raises `Misused`."""
    try:
        campaign = json.loads(text)
    except ValueError:
        campaign = None
    content = _content(campaign) if isinstance(campaign, dict) else {}
    if missing := [name for name in SEEN if name not in content]:
        raise Misused(f"--seen must be the JSON of the campaign that you read; it has no {', '.join(missing)}")
    return content


def _content(campaign: Entry) -> Entry:
    edit = campaign.get("pendingRevision")
    newest = {**campaign, **edit} if isinstance(edit, dict) else campaign
    return {name: newest[name] for name in (*SEEN, "sponsorName") if newest.get(name) is not None}


def _decide(row: Command, session: Session) -> None:
    """Decide on what `--seen` has, or on what is shown and confirmed."""
    if session.option("seen") is None:
        campaign = _waiting(row, session)
        session.printer.note(*REVIEWED.lines(session, campaign), "")
        _confirm(row, session)
        reply = row.ask(session, seen=_content(campaign))
    else:
        reply = row.ask(session)
    row.finish(session, reply)


def _confirm(row: Command, session: Session) -> None:
    if session.option("yes"):
        return
    confirmed = session.outside.confirm(f"{row.name.capitalize()} it as it is shown? [y/N] ")
    if confirmed is None:
        raise Misused(
            "nobody can be asked here: add --yes to decide on what is shown, or --seen with what you have read"
        )
    if not confirmed:
        raise Misused("nothing was decided")


def _waiting(row: Command, session: Session) -> Entry:
    """The campaign of the command. Raises `Refused` if it cannot be decided on, or `Unreachable`."""
    wanted = session.option("campaign")
    found = (item.get("campaign") for item in _entries(session, "reviews"))
    campaign = next((each for each in found if isinstance(each, dict) and each.get("id") == wanted), None)
    for status in DECIDED_IN[row.name]:
        if campaign is None:
            others = _entries(session, "campaigns", status=status)
            campaign = next((each for each in others if each.get("id") == wanted), None)
    if campaign is None:
        words = f"there is no campaign {printable(wanted)} to {row.name}; catalogctl admin reviews lists what waits"
        raise Refused(words, "not_found", Exit.NOT_FOUND)
    return campaign


def _entries(session: Session, path: str, **query: str) -> Iterator[Entry]:
    """The entries of a list, page by page."""
    cursor: str | None = None
    for _ in range(PAGES):
        asked: dict[str, str | int | None] = {**query, "limit": SPONSORSHIP.largest, "cursor": cursor}
        reply = session.client.ask("GET", f"{ROOT}{_AREA}/{path}", asked)
        yield from entries_of(reply, SPONSORSHIP.items)
        cursor = text_of(reply.document, SPONSORSHIP.cursor) or None
        if cursor is None:
            return


# Entries of the catalog.


def _entry_of(text: str) -> Entry:
    """An entry as JSON, or in the file after `@`. Raises `Misused`."""
    try:
        read = Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
        entry = json.loads(read)
    except OSError as error:
        raise Misused(f"cannot read {printable(text[1:])}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Misused(f"the entry is not JSON: {printable(str(error))}") from None
    if not isinstance(entry, dict):
        raise Misused("the entry must be a JSON object")
    return entry


usecase_of: Callable[[str], Entry] = partial(_entry_of)
bot_of: Callable[[str], Entry] = partial(_entry_of)


def _put(row: Command, session: Session) -> None:
    """Put an entry. One that says when it was updated must still be the version that was read."""
    method, path, _ = row.request(session)
    entry = row.fields(session)["entry"]
    seen, if_match = entry.get("updatedAt"), None
    if seen is not None:
        stored = session.client.ask("GET", path)
        current = next((each for each in stored.document.values() if isinstance(each, dict)), {})
        if stored.document.get("retiredAt") is None and current.get("updatedAt") == seen:
            if_match = stored.headers.get("etag")
        if if_match is None:
            words = "the entry has changed since you read it; read it again, or leave out updatedAt to replace it"
            raise Refused(words, "precondition_failed")
    row.finish(session, session.client.ask(method, path, {}, entry, if_match))


_ENTRY = "the entry as JSON, or @FILE; with updatedAt it must not have changed since"
_AREA = "admin/sponsorships"
_SUBMISSIONS = "admin/catalog/submissions"
_READ = required(seen="the version of the submission that you read, as submissions has it")
_REASON = argument("--reason=", "stored in the audit")
_NOTE = required(note="why; the sponsor reads it")
_DECIDED = (
    argument("--yes", "decide on what is shown without a question", ""),
    argument(
        "--seen JSON", "decide on this content alone: the campaign as reviews --json has it", "seen", seen_content
    ),
)
# fmt: off
ADMIN = (
    command("accounts", "GET admin/accounts", "List or search accounts, newest first.", ACCOUNTS,
            argument("[QUERY]", "a part of the email or sponsor's name, or an id"),
            argument("--tier=", "only accounts of this tier", choices=("claimed", "upgraded")),
            argument("--suspended", "only suspended accounts"), paged=True, csv=CSV),
    command("account", "GET admin/accounts/{account}", "Show one account and what it has.", ACCOUNT),
    command("suspend", "POST admin/accounts/{account}/suspend", "Suspend an account: nothing of it is shown or works.",
            STATUS, *required(reason="the owner reads it")),
    command("unsuspend", "POST admin/accounts/{account}/unsuspend", "Restore a suspended account.", STATUS),
    command("revoke-key", "DELETE admin/keys/{id}", "Revoke a key of any account permanently.", done("id", "is revoked")),
    command("refund-account", "POST admin/accounts/{account}/refund",
            "Refund all paid weeks of an account that are not over.", _show_refunds, _REASON, run=_refund_account),
    command("bookings", f"GET {_AREA}/bookings", "List and filter the bookings of all sponsors.", ALL_BOOKINGS,
            argument("[QUERY]", "a booking, a payment, or a part of a sponsor's name"),
            argument("--status=", "only bookings in this state", choices=STATES),
            argument("--week MONDAY", "only bookings of this week, such as 2026-12-28", read=week_ms),
            argument("--sponsor ID", "only bookings of this sponsor or account"),
            argument("--slot ID", "only bookings of this slot"),
            argument("--trouble", "only bookings whose payment needs attention"), paged=True, csv=CSV),
    command("reviews", f"GET {_AREA}/reviews", "List what waits for review, most urgent first.", REVIEWS, paged=True),
    command("approve", f"POST {_AREA}/campaigns/{{campaign}}/review", "Approve a campaign, or its edit if one waits.",
            CAMPAIGN, *_DECIDED, body={"decision": "approve"}, run=_decide),
    command("reject", f"POST {_AREA}/campaigns/{{campaign}}/review", "Reject a campaign, or its edit if one waits.",
            CAMPAIGN, *_NOTE, *_DECIDED, body={"decision": "reject"}, run=_decide),
    command("submissions", f"GET {_SUBMISSIONS}", "List what accounts propose for the catalog; --json has the entries.",
            SUBMISSIONS, argument("--status=", "only submissions in this state", choices=("pending", "accepted", "declined")),
            argument("--order=", "default: newest", choices=("newest", "oldest")), paged=True),
    command("accept", f"POST {_SUBMISSIONS}/{{submission}}/review", "Accept a submission: its entry is published.",
            SUBMISSION, *_READ, argument("--note=", "the account reads it"), body={"decision": "accept"}),
    command("decline", f"POST {_SUBMISSIONS}/{{submission}}/review", "Decline a submission.", SUBMISSION, *_READ,
            *required(note="why; the account reads it"), body={"decision": "decline"}),
    command("refund", f"POST {_AREA}/bookings/{{booking}}/refund", "Refund a paid booking.", BOOKING, _REASON),
    command("decline-refund", f"POST {_AREA}/bookings/{{booking}}/refund-decline",
            "Decline the refund that a sponsor asks for.", BOOKING, *_NOTE),
    command("revenue", f"GET {_AREA}/revenue", "Show what was paid and refunded, by month.", REVENUE,
            argument("--from MONTH", "the first month, such as 2026-01"),
            argument("--to MONTH", "the last month; default: this one"), csv=CSV),
    command("campaigns", f"GET {_AREA}/campaigns", "List the campaigns of all sponsors, newest first.", CAMPAIGNS,
            argument("--status=", "only campaigns in this state", choices=CAMPAIGN_STATES),
            argument("--order=", "default: newest", choices=("newest", "oldest")), paged=True, csv=CSV),
    command("sponsors", f"GET {_AREA}/sponsors", "List the accounts with a sponsor profile, newest first.", SPONSORS,
            paged=True, csv=CSV),
    command("usecase", "GET admin/catalog/usecases/{slug}", "Show a use case as stored, also a retired one.", USECASE),
    command("put-usecase", "PUT admin/catalog/usecases/{slug}", "Create, replace or restore a use case.", USECASE,
            argument("ENTRY", _ENTRY, "entry", usecase_of), run=_put),
    command("retire-usecase", "DELETE admin/catalog/usecases/{slug}", "Retire a use case; putting it restores it.",
            done("slug", "is retired")),
    command("bot", "GET admin/catalog/bots/{slug}", "Show a bot template as stored, also a retired one.", BOT),
    command("put-bot", "PUT admin/catalog/bots/{slug}", "Create, replace or restore a bot template.", BOT,
            argument("ENTRY", _ENTRY, "entry", bot_of), run=_put),
    command("retire-bot", "DELETE admin/catalog/bots/{slug}", "Retire a bot template; putting it restores it.",
            done("slug", "is retired")),
    command("slots", f"GET {_AREA}/slots", "List all slots, retired ones too.", SLOTS, csv=CSV),
    command("audit", f"GET {_AREA}/audit", "Show what was changed, and who did it, newest first.", CHANGES,
            argument("[ID]", "only changes of this account, campaign, booking, slot, key or submission", "targetId"),
            argument("--by EMAIL", "only changes that this account made", "actorEmail"),
            argument("--to DAY", "only changes up to this day, such as 2026-11-18"), paged=True, csv=CSV),
    command("sites", f"GET {_AREA}/sites", "Show what was counted by website.", _show_sites,
            argument("--from DATE", "first day (UTC); default: 27 days before the last"),
            argument("--to DATE", "last day (UTC), such as 2026-11-18; default: today")),
)
# fmt: on
