"""Read the catalog and the key's usage."""

from typing import Any
from urllib.parse import quote

from service.catalogctl.failures import Misused
from service.catalogctl.paging import CATALOG, entries_of, walk
from service.catalogctl.session import KEY_VARIABLE, Session
from service.catalogctl.tables import Column
from service.catalogctl.texts import day, moment, shown

Entry = dict[str, Any]


def show_usecases(session: Session) -> None:
    """List or search use cases, or show one."""
    columns = (
        Column("SLUG", whole=True),
        Column("TITLE"),
        Column("WHO"),
        Column("OUTCOME"),
        Column("ADDED", whole=True),
    )
    fields = ("slug", "title", "who", "roi")
    _show(session, "/api/v1/usecases", columns, fields, _usecase)


def show_bots(session: Session) -> None:
    """List or search bot templates, or show one."""
    columns = (
        Column("SLUG", whole=True),
        Column("NAME"),
        Column("CATEGORY"),
        Column("JOB"),
        Column("ADDED", whole=True),
    )
    fields = ("slug", "name", "category", "job")
    _show(session, "/api/v1/bots", columns, fields, _bot)


def _show(session: Session, path: str, columns: tuple[Column, ...], fields: tuple[str, ...], one: Any) -> None:
    options = session.options
    if options.slug is not None:
        if options.words or options.category or options.all or options.limit or options.cursor:
            raise Misused(
                "--slug shows one entry; it cannot be combined with a query, --category, --all, --limit or --cursor"
            )
        reply = session.client.ask("GET", f"{path}/{quote(options.slug, safe='')}")
        session.show(reply, session.facts(one(reply.document)))
        return
    entries = walk(session, path, CATALOG, {"q": " ".join(options.words) or None, "category": options.category})
    rows = [[*(shown(entry.get(name)) for name in fields), day(entry.get("addedAt"))] for entry in entries]
    session.say(*session.table(columns, rows, "Nothing found."))
    if options.category and not rows:
        session.hint("catalogctl categories lists the categories.")


def show_categories(session: Session) -> None:
    """List the categories and how many entries each has."""
    reply = session.client.ask("GET", "/api/v1/categories")
    entries = entries_of(reply, CATALOG.items)
    columns = (Column("CATEGORY", whole=True), Column("USE CASES", whole=True), Column("BOTS", whole=True))
    rows = [[shown(entry.get(name)) for name in ("name", "useCases", "bots")] for entry in entries]
    session.show(reply, session.table(columns, rows, "There are no categories."))


def _usecase(entry: Entry) -> dict[str, str | list[str]]:
    facts: dict[str, str | list[str]] = {
        "Slug": shown(entry.get("slug")),
        "Title": shown(entry.get("title")),
        "Who": f"{shown(entry.get('who'))} ({shown(entry.get('handle'))})",
        "Outcome": shown(entry.get("roi")),
        "Source": shown(entry.get("sourceUrl")),
        "Added": day(entry.get("addedAt")),
    }
    guide = entry.get("guide")
    return facts | _guide(guide) if isinstance(guide, dict) else facts


def _guide(guide: Entry) -> dict[str, str | list[str]]:
    value = guide.get("value")
    steps = guide.get("steps")
    return {
        "Guide": shown(guide.get("title")),
        "Category": shown(guide.get("category")),
        "Opportunity": _text(guide.get("opportunity")),
        "Audience": shown(guide.get("audience")),
        "Platforms": shown(guide.get("platforms")),
        "Bots": shown(guide.get("botSlugs")),
        "Value": " ".join(shown(value.get(name)) for name in ("amount", "label", "basis"))
        if isinstance(value, dict)
        else "",
        "Steps": [f"{number}. {_text(step)}" for number, step in enumerate(steps, 1)]
        if isinstance(steps, list)
        else [],
        "Prompt": _text(guide.get("prompt")),
    }


def _bot(entry: Entry) -> dict[str, str | list[str]]:
    return {
        "Slug": shown(entry.get("slug")),
        "Name": shown(entry.get("name")),
        "Category": shown(entry.get("category")),
        "Who": f"{shown(entry.get('who'))} ({shown(entry.get('handle'))})",
        "Job": _text(entry.get("job")),
        "Template": shown(entry.get("templateUrl")),
        "Added": day(entry.get("addedAt")),
    }


def _text(value: object) -> str:
    """A text with its line breaks. The layout makes each line harmless."""
    return value if isinstance(value, str) else shown(value)


def mint_key(session: Session) -> None:
    """Create an anonymous key. It is not saved, because it cannot replace a login."""
    reply = session.client.ask("POST", "/api/v1/auth/agent")
    minted = reply.document
    facts = {"Key": "apiKey", "Tenant": "tenantId", "Claim token": "claimToken", "Claim it at": "claimUrl"}
    shows = {title: shown(minted.get(field)) for title, field in facts.items()}
    session.show(reply, session.facts(shows | {"Expires": moment(minted.get("expiresAt"))}))
    session.hint(f"The key and the claim token are shown only once. Set {KEY_VARIABLE} to use the key.")


def show_usage(session: Session) -> None:
    """Show the account of the key, and how much of each limit is used and left."""
    session.needs_key()
    reply = session.client.ask("GET", "/api/v1/usage")
    usage = reply.document
    anonymous = usage.get("status") == "anonymous"
    session.show(
        reply,
        session.facts(
            {
                **_who(session, usage),
                "Lifetime" if anonymous else "This month": _of(usage.get("requestsUsed"), usage.get("requestLimit")),
                "Today": _of(usage.get("dailyRequestsUsed"), usage.get("dailyRequestLimit")),
            }
        ),
    )


def show_owner(session: Session) -> None:
    """Show the account of the key."""
    session.needs_key()
    reply = session.client.ask("GET", "/api/v1/usage")
    session.show(reply, session.facts(_who(session, reply.document)))


def _who(session: Session, usage: Entry) -> dict[str, str]:
    expires = usage.get("expiresAt")
    return {
        "Service": session.base,
        "Account": shown(usage.get("email")) or "none: the key is not claimed",
        "Tenant": shown(usage.get("tenantId")),
        "Key": f"{shown(usage.get('keyPrefix'))}...",
        "Status": shown(usage.get("status")),
        "Expires": "" if expires is None else moment(expires),
    }


def _of(used: object, limit: object) -> str:
    """How much of a limit is used and left."""
    if not (isinstance(used, int) and isinstance(limit, int)):
        return f"{shown(used)} requests"
    return f"{used:,} of {limit:,} requests, {max(limit - used, 0):,} left"
