"""Pages of administrators: sponsors, revenue, the audit, and delivery by website."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from actors.clock import DAY_MS
from actors.shared.dates import calendar
from service.web.pages.admin import audit_words
from service.web.pages.admin.record_changes import changes_of
from service.web.pages.parts.filters import filtered
from service.web.pages.parts.forms import Field, Form, day_ms_of, moment_text
from service.web.pages.parts.page import Audience, Page, PageRequest, Template
from service.web.pages.parts.paging import page_at
from service.web.pages.parts.words import ShortAddress, month, short_url

PERIODS = (7, 28, 91, 365)
DAY = "Write a date such as 2026-11-30."
PERIOD = "Choose a day that is not after the last one, and at most a year before it."
DAYS = Form({"from": Field("First day", DAY, right=PERIOD), "to": Field("Last day", DAY)})


SPONSORS = Form({"query": Field("Name, website or id")})


async def sponsors(request: PageRequest) -> Template:
    text = request.query.get("query") or None
    result = await request.ask("listSponsors", query={"query": text, "cursor": request.query.get("cursor")})
    listed = filtered(result, SPONSORS, request.query)
    counts = (await request.ask("countLists")).or_raise()
    paging = listed.paging(request, "query", total=None if text else counts["sponsors"])
    values = {
        "sponsors": listed.page["items"],
        "text": text,
        "total": paging.total,
        "paging": paging,
        "csv": page_at("/api/v1/admin/sponsorships/sponsors", format="csv", query=text),
    }
    return listed.with_errors(Template("admin_sponsors.html", values))


AUDITED = Form(
    {
        "actor": Field("Email of who did it", of="actorEmail"),
        "target": Field("Id of what was changed", of="targetId"),
        "to": Field("Up to"),
    }
)
"""The filters of the audit."""


async def audit(request: PageRequest) -> Template:
    filters = {name: request.query.get(name, "").strip() or None for name in AUDITED.fields}
    wanted = {field.of or name: filters[name] for name, field in AUDITED.fields.items()}
    result = await request.ask("listAudit", query={**wanted, "cursor": request.query.get("cursor")})
    listed = filtered(result, AUDITED, request.query)
    values = {
        "records": [_with_texts(record) for record in listed.page["items"]],
        "filters": filters,
        "csv": page_at("/api/v1/admin/sponsorships/audit", format="csv", **wanted),
        "paging": listed.paging(request, *filters),
    }
    return listed.with_errors(Template("admin_audit.html", values))


def _with_texts(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with its words: who did what, and the values that changed."""
    kind = record["targetType"]
    changes = [
        {
            "label": audit_words.label(change.name),
            "before": None if change.before is None else _short(audit_words.value(kind, change.name, change.before)),
            "now": _short(audit_words.value(kind, change.name, change.now)),
        }
        for change in changes_of(record["changes"])
    ]
    return {
        "record": record,
        "did": audit_words.done(record["action"]),
        "way": audit_words.way(record),
        "changes": changes,
    }


def _short(text: str) -> str | ShortAddress:
    return short_url(text) if text.startswith(("https://", "http://")) else text


MONTH = "Write a month such as 2026-01. Choose at most 60 months."
MONTHS = Form({"from": Field("First month", right=MONTH), "to": Field("Last month", right=MONTH)})


SPANS = (("This month", 1), ("3 months", 3), ("12 months", 12))
"""Numbers of months up to this one that a link shows."""
USUAL = 12
"""The months that the page shows without a choice, as the operation does."""


MOST_MONTHS = 60
"""Months of the longest table, and those to choose from."""


async def revenue(request: PageRequest) -> Template:
    query = {name: request.query.get(name) or None for name in ("from", "to")}
    if not any(query.values()):
        query = _months_to(request.now_ms, USUAL)
    table = filtered(await request.ask("getRevenue", query=query), MONTHS, request.query)
    sales = await request.ask("readSales", query={} if table.refused else query)
    months = _with_year_before(table.page["items"], await _year_before(request, query, refused=table.refused))
    values = {
        "months": months,
        "sums": [each | _named(each, sales.or_raise()["items"]) for each in _sums(months)],
        "ahead": sales.or_raise(),
        "months_shown": " to ".join(dict.fromkeys((months[-1]["name"], months[0]["name"]))) if months else "",
        "filters": query,
        "choices": _month_choices(query, request.now_ms),
        "spans": [_span(words, number, query, request.now_ms) for words, number in SPANS],
        "csv": page_at("/api/v1/admin/sponsorships/revenue", format="csv", **query),
    }
    return table.with_errors(Template("admin_revenue.html", values))


def _month_choices(query: Mapping[str, str | None], now_ms: int) -> list[tuple[str, str]]:
    """The months to choose from, newest first, and asked ones that are older. Not all browsers have a field for months."""
    newest = [_months_to(now_ms, number)["from"] for number in range(1, MOST_MONTHS + 1)]
    asked = [each for each in query.values() if each not in newest]
    return [(text, _month_words(text)) for text in (*newest, *asked) if text]


def _month_words(text: str) -> str:
    """`January 2026` of `2026-01`; other text as it is."""
    start_ms = day_ms_of(f"{text}-01")
    return text if start_ms is None else month(start_ms)


async def _year_before(request: PageRequest, query: Mapping[str, str | None], *, refused: bool) -> Sequence[Any]:
    """The revenue of the same months a year before."""
    if refused:
        return []
    wanted = dict(query) | {"to": query["to"] or _months_to(request.now_ms, 1)["to"]}
    asked = {name: None if each is None else _years_on(each, -1) for name, each in wanted.items()}
    result = await request.ask("getRevenue", query=asked)
    return [] if result.refused is not None else result.json["items"]


def _years_on(month_text: str, years: int) -> str:
    return f"{int(month_text[:4]) + years:04}{month_text[4:]}"


def _with_year_before(months: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The months, newest first, with what was left in the same month a year before in the same currency and mode. A month
    without payments is listed if that one had some."""
    nothing = {"payments": 0, "paidCents": 0, "refundedCents": 0, "netCents": 0}
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for each in months:
        rows[each["month"], each["currency"], each["mode"]] = {**each, "beforeCents": None}
    for each in before:
        key = (_years_on(each["month"], 1), each["currency"], each["mode"])
        row = rows.setdefault(key, dict(zip(("month", "currency", "mode"), key, strict=True)) | nothing)
        row["beforeCents"] = each["netCents"]
    newest = sorted(rows.values(), key=lambda row: (row["currency"], row["mode"]))
    newest.sort(key=lambda row: row["month"], reverse=True)
    return [{**row, "name": _month_words(row["month"])} for row in newest]


def _named(sums: Mapping[str, Any], sales: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The slots and the sponsors of the sums of one currency and mode, those that paid most first, with their links."""
    own = [each for each in sales if (each["currency"], each["mode"]) == (sums["currency"], sums["mode"])]
    kinds = (("slots", False, "/admin/bookings?slot="), ("sponsors", True, "/admin/bookings?sponsor="))
    return {
        kind: [{**each, "link": link + quote(each["id"] or "")} for each in own if each["of_sponsors"] is of_sponsors]
        for kind, of_sponsors, link in kinds
    }


def _months_to(now_ms: int, number: int) -> dict[str, str | None]:
    """The first and the last of so many months up to this one."""
    today = calendar(now_ms)
    year, month_before = divmod(today.year * 12 + today.month - number, 12)
    return {"from": f"{year:04}-{month_before + 1:02}", "to": f"{today:%Y-%m}"}


def _span(words: str, number: int, query: Mapping[str, str | None], now_ms: int) -> tuple[str, str, None, bool]:
    """The chip of so many months."""
    months = _months_to(now_ms, number)
    return page_at("/admin/revenue", **months), words, None, query == months


def _sums(months: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The months by mode and currency, each with its sums: live payments first, then test mode."""
    kinds = dict.fromkeys((each["mode"], each["currency"]) for each in months)
    sums = []
    for mode, currency in sorted(kinds):
        rows = [each for each in months if (each["mode"], each["currency"]) == (mode, currency)]
        paid, refunded = (sum(each[name] for each in rows) for name in ("paidCents", "refundedCents"))
        sums.append(
            {
                "mode": mode,
                "currency": currency,
                "months": rows,
                "payments": sum(each["payments"] for each in rows),
                "paid": paid,
                "refunded": refunded,
                "net": sum(each["netCents"] for each in rows),
                "part": refunded / paid if paid else None,
            }
        )
    return sums


async def sites(request: PageRequest) -> Template:
    typed = {name: request.query.get(name) for name in ("from", "to")}
    listed = filtered(await request.ask("listSites", query=typed), DAYS, request.query)
    if listed.refused:
        return listed.with_errors(Template("admin_sites.html", {"shown": None, "days": typed}))
    shown = listed.page
    values = {
        "shown": shown,
        "days": {name: moment_text(shown[name])[: len("2026-11-30")] for name in typed},
        "periods": [_period(days, shown) for days in PERIODS],
    }
    return Template("admin_sites.html", values)


def _period(days: int, shown: Mapping[str, int]) -> tuple[str, str, None, bool]:
    """The chip of so many days up to the last one."""
    first = shown["to"] - (days - 1) * DAY_MS
    here = page_at("/admin/sites", **{"from": str(first), "to": str(shown["to"])})
    return here, f"{days} days", None, first == shown["from"]


PAGES = (
    Page("/admin/sponsors", sponsors, who=Audience.ADMIN),
    Page("/admin/revenue", revenue, who=Audience.ADMIN),
    Page("/admin/audit", audit, who=Audience.ADMIN),
    Page("/admin/sites", sites, who=Audience.ADMIN),
)
