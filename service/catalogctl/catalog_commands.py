"""The commands without a group: logins, the catalog, the key's account, mails and the report."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from service.catalogctl.client import Reply
from service.catalogctl.command import Command, argument, command, facts, print_list, table
from service.catalogctl.failures import Misused
from service.catalogctl.lists import CATALOG as LISTED
from service.catalogctl.lists import Entry, entries_of, walk
from service.catalogctl.session import KEY_VARIABLE, Session
from service.terminal.layout import printable

TOPICS = {
    "reviews": "reviews of your ads; for administrators also ads that wait for review",
    "bookings": "held and beginning weeks",
    "reports": "the figures of weeks that ended",
}
"""The topics of mails, and what these are about."""

CHOICES = {"on": True, "off": False}
USECASES = table("SLUG*: slug; TITLE: title; WHO: who; OUTCOME: roi; ADDED*: addedAt day", "Nothing found.", "data")
BOTS = table("SLUG*: slug; NAME: name; CATEGORY: category; JOB: job; ADDED*: addedAt day", "Nothing found.", "data")
USECASE_FACTS = """Slug: slug; Title: title; Who: {who} ({handle}); Outcome: roi; Source: sourceUrl; Added: addedAt day;
    Guide: guide.title; Category: guide.category; Opportunity: guide.opportunity lines; Audience: guide.audience;
    Platforms: guide.platforms; Bots: guide.botSlugs; Value: {guide.value.amount} {guide.value.label} {guide.value.basis};
    Steps: guide.steps steps; Prompt: guide.prompt lines"""
BOT_FACTS = """Slug: slug; Name: name; Category: category; Who: {who} ({handle}); Job: job lines; Template: templateUrl;
    Added: addedAt day"""
USECASE, BOT = facts(USECASE_FACTS), facts(BOT_FACTS)
ONE = {"usecases": USECASE, "bots": BOT}
CATEGORIES = table("CATEGORY*: name; USE CASES*: useCases; BOTS*: bots", "There are no categories.", "data")
MINTED = facts(
    "Key: apiKey; Tenant: tenantId; Claim token: claimToken; Claim it at: claimUrl; Expires: expiresAt moment"
)
OWNER = """Service: service; Account: email | none: the key is not claimed; Tenant: tenantId; Key: {keyPrefix}...;
    Status: status; Expires: expiresAt moment"""
SUBMISSIONS = table(
    "SUBMISSION*: id; KIND: kind; SLUG: slug; STATUS*: status; SENT*: createdAt day; NOTE: note",
    "Nothing was submitted.",
)
SUBMISSION = facts("Submission: id; Kind: kind; Slug: slug; Edit: edit; Status: status; Note: note", "submission")
MAILS = facts("; ".join(f"{topic.capitalize()}: {topic} switch | off" for topic in TOPICS))


def _show_owner(session: Session, reply: Reply) -> list[str]:
    """The account of the key."""
    return facts(OWNER, service=lambda _: session.base)(session, reply)


def _show_usage(session: Session, reply: Reply) -> list[str]:
    """The account of the key, and how much of each limit is used and left."""
    month = "Lifetime" if reply.document.get("status") == "anonymous" else "This month"
    return facts(
        f"{OWNER}; {month}: month; Today: today",
        service=lambda _: session.base,
        month=lambda usage: _left(usage.get("requestsUsed"), usage.get("requestLimit")),
        today=lambda usage: _left(usage.get("dailyRequestsUsed"), usage.get("dailyRequestLimit")),
    )(session, reply)


def _left(used: object, limit: object) -> str:
    if not (isinstance(used, int) and isinstance(limit, int)):
        return f"{printable(used)} requests"
    return f"{used:,} of {limit:,} requests, {max(limit - used, 0):,} left"


def _read_entries(row: Command, session: Session) -> None:
    """List or search entries, or show one."""
    _, path, query = row.request(session)
    slug = query.pop("slug", None)
    if slug is not None:
        if query or any(session.option(name) for name in ("all", "limit", "cursor")):
            raise Misused(
                "--slug shows one entry; it cannot be combined with a query, --category, --all, --limit or --cursor"
            )
        reply = session.client.ask("GET", f"{path}/{quote(slug, safe='')}")
        session.printer.show(reply, ONE[row.name](session, reply))
        return
    query["q"] = " ".join(query.get("q", [])) or None
    entries = walk(session, path, query, LISTED)
    print_list(row, session, entries)
    if query.get("category") and not entries:
        session.printer.hint("catalogctl categories lists the categories.")


def _choose_mails(row: Command, session: Session) -> None:
    """Change the topics that were given, if any, and show all."""
    method, path, _ = row.request(session)
    changes = {topic: CHOICES[choice] for topic, choice in row.fields(session).items()}
    reply = session.client.ask(method if changes else "GET", path, body=changes or None)
    on = [topic for topic in TOPICS if reply.document.get(topic)]
    session.printer.show(reply, MAILS(session, reply), on)


def entry_json(text: str) -> Entry:
    """The field of an entry: a JSON object, or `@` and the name of a file that has it. Raises `Misused`."""
    try:
        entry = json.loads(Path(text[1:]).read_bytes() if text.startswith("@") else text)
    except OSError as error:
        raise Misused(f"--entry: {printable(text[1:])} cannot be read: {error.strerror}") from None
    except ValueError:
        entry = None
    if not isinstance(entry, dict):
        raise Misused("--entry must be a JSON object, or @ and the name of a file that has one")
    return entry


def _ctr(sums: Entry) -> str:
    ctr = sums.get("ctr")
    return f"{ctr:.2%}" if isinstance(ctr, int | float) and not isinstance(ctr, bool) else ""


SUMS = table("NAME: title; IMPRESSIONS>: impressions; CLICKS>: clicks; CTR>: ctr", "", ctr=_ctr)


def _show_report(session: Session, reply: Reply) -> list[str]:
    """The sums by campaign and by slot, and what was filtered."""
    report = reply.document
    lines = [f"{printable(report.get('from'))} to {printable(report.get('to'))}, UTC"]
    for title, name in (("campaigns", "campaign"), ("slots", "slot")):
        entries: list[Entry] = [{**each, "title": each.get(name)} for each in entries_of(reply, title)]
        if entries:
            lines += ["", f"By {name}:", *SUMS.lines(session, [*entries, {**report, "title": "all"}])]
    if len(lines) == 1:
        return [*lines, "", "None of your bookings ran on these days."]
    filtered = report.get("filtered")
    counts = filtered.items() if isinstance(filtered, dict) else ()
    told = ", ".join(f"{count:,} {printable(reason)}" for reason, count in counts if isinstance(count, int) and count)
    return [*lines, "", f"Reported, but not counted: {told}"] if told else lines


def _log_in(_: Command, session: Session) -> None:
    from service.catalogctl.login import log_in

    log_in(session)


def _log_out(_: Command, session: Session) -> None:
    from service.catalogctl.login import log_out

    log_out(session)


_ENTRIES = (
    argument("WORD", "words to search for; best matches first", "q", nargs="*"),
    argument("--category NAME", "only entries of this category"),
    argument("--slug=", "show this entry in full"),
)
_LISTED: dict[str, Any] = {"paged": True, "keyless": True, "run": _read_entries}
# fmt: off
CATALOG = (
    command("login", "", "Log in: approve in a browser, and the key is saved.", None,
            argument("--no-browser", "show the address and the code only"), keyless=True,
            run=_log_in),
    command("logout", "", "Delete the saved key; it stays valid until it is revoked in the dashboard.", None,
            argument("--all", "delete the keys of all services"), keyless=True,
            run=_log_out),
    command("mint", "POST auth/agent", "Create an anonymous key, without signing up; it is shown only once.", MINTED,
            keyless=True, then=f"The key and the claim token are shown only once. Set {KEY_VARIABLE} to use the key."),
    command("whoami", "GET usage", "Show the account of the key.", _show_owner),
    command("usage", "GET usage", "Show how much of the key's limits is used and left.", _show_usage),
    command("notifications", "PATCH account/notifications", "Show which mails the account gets, or choose them.", MAILS,
            *(argument(f"--{topic}=", f"mails about {words}", choices=CHOICES) for topic, words in TOPICS.items()),
            run=_choose_mails),
    command("usecases", "GET usecases", "List or search use cases, or show one.", USECASES, *_ENTRIES, **_LISTED),
    command("bots", "GET bots", "List or search bot templates, or show one.", BOTS, *_ENTRIES, **_LISTED),
    command("categories", "GET categories", "List the categories and how many entries each has.", CATEGORIES,
            keyless=True),
    command("submit", "POST catalog/submissions", "Propose an entry for the catalog, or an edit of one.", SUBMISSION,
            argument("KIND", "the list of the catalog", choices=("usecases", "bots")),
            argument("--entry JSON", "the whole entry as a JSON object; @FILE reads a file", read=entry_json, required=True),
            argument("--slug=", "propose an edit of this entry")),
    command("submissions", "GET catalog/submissions", "List what you have proposed for the catalog.", SUBMISSIONS,
            paged=True),
    command("report", "GET sponsors/delivery", "Report what your bookings delivered, by campaign and slot.",
            _show_report, argument("--from DATE", "first day (UTC); default: 29 days before the last"),
            argument("--to DATE", "last day (UTC), such as 2026-11-18; default: today"),
            argument("--campaign ID", "only bookings of this campaign", "campaignId"),
            argument("--slot ID", "only bookings of this slot", "slotId"),
            csv="print every booking and day as CSV"),
)
# fmt: on
