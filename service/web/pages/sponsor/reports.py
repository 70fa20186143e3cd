"""A sponsor's reports: all bookings of some days, and one booking on a page that prints well."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from actors.clock import DAY_MS, SECOND_MS
from actors.shared import dates
from service.api.messages import NO_STORE
from service.web.pages.admin.administration import DAYS
from service.web.pages.parts.booking_words import run_of
from service.web.pages.parts.charts import delivery_chart
from service.web.pages.parts.filters import filtered
from service.web.pages.parts.forms import Field, Form
from service.web.pages.parts.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.parts.paging import number_of, numbered, page_at
from service.web.pages.sponsor.booking import figures_of, voice_of

PATH = "/sponsor/reports"
SPANS = (7, 30, 90, 365)
"""Numbers of days up to today that a link shows."""

LISTED = 10
"""The rows of each table of a report. The others are on pages of their own."""

PAGE_ROWS = 100

GROUPS = {"booking": ("By booking", "Slot and ad"), "campaign": ("By ad", "Ad"), "slot": ("By slot", "Slot")}
"""By what a report adds up, as `by` of an address names it: the title of the table, and the heading of its first column."""

NO_SUCH = "Choose one of these."
FILTERS = Form(
    {**DAYS.fields, "campaignId": Field("Ad", right=NO_SUCH), "slotId": Field("Slot", right=NO_SUCH)},
)

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """The figures of a report by booking, ad or slot. `whole` is the address of all `total` rows, None if they are here."""

    name: str
    rows: Sequence[Json]
    total: int
    whole: str | None

    @property
    def title(self) -> str:
        return GROUPS[self.name][0]

    @property
    def first(self) -> str:
        return GROUPS[self.name][1]


async def report(request: PageRequest) -> Template:
    """The figures of the asked days and bookings. Those that cannot be reported are refused at their fields."""
    asked = asked_of(request.form if request.problem else request.query)
    by = request.query.get("by", "")
    wanted: dict[str, Any] = {"rows": LISTED}
    if by in GROUPS:
        wanted = {"by": by, "page": number_of(request.query.get("page", "")), "rows": PAGE_ROWS}
    listed = filtered(await request.ask("readFigures", query=asked | wanted), FILTERS, request.query)
    shown = None if listed.refused else listed.page
    days = asked | {"from": shown["first"], "to": shown["last"]} if shown else asked
    csv = page_at("/api/v1/sponsors/delivery", **days, format="csv")
    run = "" if shown is None else dates.days(_ms(shown["first"]), _ms(shown["last"]) + DAY_MS, request.now_ms)
    values: dict[str, Any] = {"days": days, "run": run, "csv": csv}
    links = (await request.ask("listShared")).or_raise()
    tables = shown["tables"] if shown is not None and shown["impressions"] else {}
    if by in tables:
        return Template("sponsor_report_by.html", values | _part(by, tables[by], days))
    values |= {
        "report": shown,
        "too_long": listed.too_much,
        "before": before_words(shown, request.now_ms) if shown is not None else "",
        "chosen": {name: chosen(shown and shown[of], asked[name]) for name, of in CHOICES.items()},
        "chart": delivery_chart(shown["days"], request.now_ms) if shown is not None and tables else None,
        "tables": {name: _table(name, each, days) for name, each in tables.items()},
        "spans": _spans(days, request.now_ms),
        "shared": [_shared(each, shown, request.now_ms) for each in links["items"]],
        "can_share": len(links["items"]) < links["most"],
    }
    return listed.with_errors(Template("sponsor_reports.html", values))


CHOICE_WORDS = {"campaignId": "ad", "slotId": "slot"}
CHOICES = {"campaignId": "campaigns", "slotId": "slots"}
"""The filters that choose an ad or a slot, and where the figures have what there is to choose from."""


def chosen(names: Mapping[str, str] | None, asked: str | None) -> list[tuple[str, str]]:
    """The options of a filter by name, one that did not run on these days included."""
    options = dict(names or {})
    if asked:
        options.setdefault(asked, "Without figures on these days")
    return sorted(options.items(), key=lambda each: (each[1], each[0]))


def before_words(shown: Json, now_ms: int) -> str:
    """Which days the figures are compared with, or why with none."""
    before = shown["before"]
    if before is None:
        return "The days before have too many figures to compare. Choose fewer days."
    first, last = _ms(before["first"]), _ms(before["last"]) + DAY_MS
    run = dates.days(first, last, now_ms)
    if not before["ran"]:
        return f"No figures before: none of these bookings ran in the days before, {run}."
    today = " The last day is not over yet." if _ms(shown["last"]) <= now_ms < _ms(shown["last"]) + DAY_MS else ""
    return f"Compared with as many days before, {run}.{today}"


def _table(name: str, table: Json, days: Mapping[str, str | None]) -> Table:
    whole = page_at(PATH, **days, by=name) if table["total"] > len(table["items"]) else None
    return Table(name, table["items"], table["total"], whole)


def _part(by: str, table: Json, days: Mapping[str, str | None]) -> dict[str, Any]:
    """The values of a page of all rows."""

    def address(page: int) -> str:
        return page_at(PATH, **days, by=by, page=str(page) if page > 1 else None)

    page = numbered(range(table["total"]), PAGE_ROWS, str(table["page"]), address)
    listed = Table(by, table["items"], table["total"], None)
    return {"table": listed, "paging": page.paging, "all_figures": page_at(PATH, **days)}


def _ms(day: str) -> int:
    return int(datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC).timestamp()) * SECOND_MS


def _spans(days: Mapping[str, str | None], now_ms: int) -> list[tuple[str, str, None, bool]]:
    """Links to the last days, as the chips show them, of the chosen bookings."""
    today = datetime.fromtimestamp(now_ms // SECOND_MS, UTC).date()
    links = []
    for span in SPANS:
        first = (today - timedelta(days=span - 1)).isoformat()
        chosen = days["from"] == first and days["to"] == today.isoformat()
        links.append((page_at(PATH, **{**days, "from": first, "to": today.isoformat()}), f"{span} days", None, chosen))
    return links


def asked_of(typed: Mapping[str, str]) -> dict[str, str | None]:
    """The days and bookings that an address or a form names."""
    return {name: typed.get(name) or None for name in FILTERS.fields}


async def share(request: PageRequest) -> Template | FormError:
    """Share the report of the form. Its address is shown once, because its token is not stored."""
    body = {"costs": "costs" in request.form}
    made = await request.ask("shareReport", query=asked_of(request.form), body=body)
    if made.refused is not None:
        return FormError(made.refused)
    return Template("sponsor_report_shared.html", made.json)


async def end(request: PageRequest) -> SeeOther | FormError:
    ended = await request.ask("endShared", path={"id": request.form.get("report", "")})
    return ended.see_other(PATH, "shared_report_ended")


NOT_KEPT = (*NO_STORE, ("referrer-policy", "no-referrer"))
"""Headers of a page whose address is the permission: no cache keeps it, and no link tells the address to anybody."""


async def shared_report(request: PageRequest) -> Template:
    """A shared report, as whoever has its link sees it. It has no form and no link to anything of the account."""
    read = (await request.ask("viewShared", path=request.path_values)).or_raise()
    shown, now_ms = read["figures"], request.now_ms
    chosen_ids = dict(zip(CHOICES, read["only"], strict=True))
    values = {
        "sponsor": read["sponsor"],
        "costs": read["costs"],
        "report": shown,
        "run": dates.days(_ms(shown["first"]), _ms(shown["last"]) + DAY_MS, now_ms),
        "only": _chosen_names(chosen_ids, shown),
        "before": before_words(shown, now_ms),
        "chart": delivery_chart(shown["days"], now_ms) if shown["impressions"] else None,
        "tables": [Table(name, each["items"], each["total"], None) for name, each in shown["tables"].items()],
    }
    return Template("shared_report.html", values, headers=[*NOT_KEPT])


async def booking_report(request: PageRequest) -> Template:
    read = (await request.ask("getBooking", path=request.path_values)).or_raise()
    delivery = (await request.ask("getDelivery", path=request.path_values)).or_raise()
    me = (await request.ask("getSponsor")).or_raise()
    shown, receipt = read["booking"], read["receipt"]
    values = {
        "booking": shown,
        "receipt": receipt,
        "sponsor": me["profile"]["name"] if me["profile"] else None,
        "voice": await voice_of(request, shown) if receipt else None,
        "run": run_of(shown, request.now_ms),
        "now_ms": request.now_ms,
    }
    return Template("sponsor_report.html", values | await figures_of(request, shown, receipt, delivery))


def _shared(link: Json, shown: Json | None, now_ms: int) -> dict[str, Any]:
    """A link in words: its days, and the ad and slot that it is about."""
    run = dates.days(_ms(link["first"]), _ms(link["last"]) + DAY_MS, now_ms)
    return {**link, "run": run, "names": _chosen_names(link, shown)}


def _chosen_names(ids: Mapping[str, str | None], shown: Json | None) -> list[str]:
    """The ad and the slot that a report is about, by their names in the figures, if these have them."""
    known = {name: (shown or {}).get(of, {}) for name, of in CHOICES.items()}
    return [known[name].get(ids[name]) or f"one {CHOICE_WORDS[name]}" for name in CHOICES if ids[name]]


PAGES = (
    Page(PATH, report, {"share": share, "end": end}, Audience.ACCOUNT),
    Page("/shared/{token}", shared_report, capability=True),
    Page("/sponsor/bookings/{id}/report", booking_report, who=Audience.ACCOUNT),
)
