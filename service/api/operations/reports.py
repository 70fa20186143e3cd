"""The delivery of one booking by day, and of all bookings of an account. It extends the specification."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from actors.bookings.changes import unknown_booking
from actors.bookings.reports import BookingDelivered, Days, Run, counted_runs, day_text, days_of, ranked
from actors.bookings.store import Before
from actors.clock import DAY_MS, day_of
from actors.values import Code, Problem, Refused, Scope
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, account_operation
from service.api.operations.responses import newest_first, with_id
from service.api.spreadsheets import Cell, Spreadsheet, csv_answer
from service.schemas.bookings import Delivery, DeliveryDay
from service.schemas.internal import DeliveryFigures, Figure, FigureTable
from service.schemas.reports import (
    MAX_DAYS,
    MAX_ROWS,
    USUAL_DAYS,
    CampaignDelivered,
    DeliveryQuery,
    DeliveryReport,
    ReportQuery,
    ReportRow,
    SiteCounts,
    SlotDelivered,
    rate,
)

HEADER = ("bookingId", "campaign", "slot", "date", "impressions", "clicks", "ctr")
PAGE_BOOKINGS = 50
"""Bookings of one read of a file. Each has at most 366 days, so a page is made in some milliseconds."""

READ_BOOKINGS = 500
"""Bookings of one read of a report, whose rows are bounded."""

D = TypeVar("D", CampaignDelivered, SlotDelivered)


class ReportSheet(Spreadsheet[BookingDelivered, Before]):
    """The report as CSV: bookings oldest first, each with its days."""

    page_rows = PAGE_BOOKINGS

    def __init__(self, services: Services, tenant_id: str, days: Days) -> None:
        async def fetch(after: Before | None, limit: int) -> Sequence[BookingDelivered]:
            return await services.sponsorship.deliveries(tenant_id, days, after, limit)

        super().__init__(HEADER, fetch, _position, lambda _: (), services.config.http.answer_seconds)
        self._days = days
        self._now_ms = services.clock.now_ms()

    def lines(self, rows: Sequence[BookingDelivered]) -> Iterable[Sequence[Cell]]:
        return cells_of(rows, self._now_ms, self._days)


async def list_deliveries(services: Services, call: Call) -> Answer | Refused:
    days = _days_asked(call, services.clock.now_ms())
    if isinstance(days, Refused):
        return days
    if call.query.format == "csv":
        sheet = ReportSheet(services, call.caller.owner, days)
        return await sheet.answer(f"delivery-{day_text(days.first)}-to-{day_text(days.last)}.csv")
    return await _report(services, call.caller.owner, days)


def _days_asked(call: Call, now_ms: int) -> Days | Refused:
    first, last = getattr(call.query, "from"), call.query.to
    if last is None:
        last = day_of(now_ms) if first is None else max(first, day_of(now_ms))
    if first is None:
        first = max(0, last - USUAL_DAYS + 1)
    if first > last:
        problem = Problem("from", "period", "must not be after `to`")
        words = "The query is not valid: `from` must not be after `to`."
        return Refused(Code.INVALID_REQUEST, words, problems=(problem,))
    if last - first >= MAX_DAYS:
        words = (
            f"The query is not valid: a report has at most {MAX_DAYS} days. Choose a later `from` or an earlier `to`."
        )
        problem = Problem("from", "period", f"must be less than {MAX_DAYS} days before `to`")
        return Refused(Code.INVALID_REQUEST, words, problems=(problem,))
    return Days(first, last)


async def _report(services: Services, tenant_id: str, days: Days) -> Answer | Refused:
    """The report as JSON, or a refusal if it is too long for one response."""
    now_ms = services.clock.now_ms()
    runs = await _runs(services, tenant_id, days)
    if isinstance(runs, Refused):
        return runs
    found: list[BookingDelivered] = []
    rows: list[ReportRow] = []
    after: Before | None = None
    while True:
        page = await services.sponsorship.deliveries(tenant_id, days, after, READ_BOOKINGS)
        found += page
        cells = cells_of(page, now_ms, days)
        rows += (ReportRow.model_construct(None, **dict(zip(HEADER, each, strict=True))) for each in cells)
        if len(rows) > MAX_ROWS or len(found) > MAX_ROWS:
            return _too_long()
        if len(page) < READ_BOOKINGS:
            break
        after = _position(page[-1])
    booked = {each.booking.id: each for each in found}
    impressions, clicks = sum(row.impressions for row in rows), sum(row.clicks for row in rows)
    report = DeliveryReport(
        **{"from": day_text(days.first), "to": day_text(days.last)},
        items=rows,
        campaigns=_sums(rows, booked, lambda each: (each.booking.campaign_id, each.campaign_name), _campaign),
        slots=_sums(rows, booked, lambda each: (each.booking.slot_id, each.booking.slot_name), _slot),
        impressions=impressions,
        clicks=clicks,
        ctr=rate(impressions, clicks),
    )
    return Answer.of(report)


async def _runs(services: Services, tenant_id: str, days: Days) -> Sequence[Run] | Refused:
    """The bookings of a report, or a refusal if their days have more rows than it may have."""
    runs = await services.sponsorship.runs(tenant_id, days, MAX_ROWS + 1)
    today = day_of(services.clock.now_ms())
    bought = sum(len(run.bought(days, today)) for run in runs)
    return _too_long() if max(len(runs), bought) > MAX_ROWS else runs


async def read_figures(services: Services, call: Call) -> Answer | Refused:
    """The report as a page shows it: no row for each booking and day, but sums."""
    days = _days_asked(call, services.clock.now_ms())
    if isinstance(days, Refused):
        return days
    runs = await _runs(services, call.caller.owner, days)
    if isinstance(runs, Refused):
        return runs
    counted = await services.sponsorship.counted([run.booking_id for run in runs], days)
    listed, by_day = counted_runs(runs, counted, days, day_of(services.clock.now_ms()))
    impressions, clicks = sum(day.impressions for day in by_day), sum(day.clicks for day in by_day)
    groups = [call.query.by] if call.query.by else GROUPS
    figures = DeliveryFigures(
        first=day_text(days.first),
        last=day_text(days.last),
        impressions=impressions,
        clicks=clicks,
        ctr=rate(impressions, clicks),
        days=[(day.day * DAY_MS, day.impressions, day.clicks) for day in by_day],
        tables={group: _table(ranked(listed, GROUPS[group]), call.query) for group in groups},
    )
    return Answer.of(figures)


GROUPS: Mapping[str, Callable[[Run], tuple[str, str]]] = {
    "booking": lambda run: (run.booking_id, ""),
    "campaign": lambda run: (run.campaign_id, run.campaign),
    "slot": lambda run: (run.slot_id, run.slot),
}


def _table(rows: Sequence[Run], query: Any) -> FigureTable:
    """A page of the rows, the last one if there is none of the asked number."""
    page = max(1, min(query.page, -(-len(rows) // query.rows)))
    return FigureTable(
        total=len(rows), page=page, items=[_figure(run) for run in rows[(page - 1) * query.rows :][: query.rows]]
    )


def _figure(run: Run) -> Figure:
    return Figure(
        bookingId=run.booking_id,
        campaignId=run.campaign_id,
        campaign=run.campaign,
        slot=run.slot,
        firstMs=run.first * DAY_MS,
        lastMs=run.last * DAY_MS,
        impressions=run.impressions,
        clicks=run.clicks,
    )


def _too_long() -> Refused:
    words = f"This report has more than {MAX_ROWS:,} rows. Choose fewer days, or download it as CSV."
    return Refused(Code.INVALID_REQUEST, words)


def cells_of(page: Iterable[BookingDelivered], now_ms: int, days: Days) -> Iterator[tuple[Cell, ...]]:
    """The values of each day of each booking, in the order of `HEADER`."""
    for each in page:
        booking_id, campaign, slot = each.booking.id, each.campaign_name, each.booking.slot_name
        for day in days_of(each, now_ms, days):
            counted = day.impressions, day.clicks
            yield booking_id, campaign, slot, day_text(day.day), *counted, rate(*counted)


def _sums(
    rows: Iterable[ReportRow],
    booked: dict[str, BookingDelivered],
    group_of: Callable[[BookingDelivered], tuple[str, str]],
    made: Callable[[str, str, int, int], D],
) -> list[D]:
    """The rows added up by group, most impressions first. The newest name of a group counts."""
    names: dict[str, str] = {}
    sums: dict[str, list[int]] = {}
    for row in rows:
        group, names[group] = group_of(booked[row.bookingId])
        kept = sums.setdefault(group, [0, 0])
        kept[0] += row.impressions
        kept[1] += row.clicks
    ranked = sorted(sums.items(), key=lambda item: (-item[1][0], names[item[0]], item[0]))
    return [made(group, names[group], *counted) for group, counted in ranked]


def _campaign(group: str, name: str, impressions: int, clicks: int) -> CampaignDelivered:
    return CampaignDelivered(
        campaignId=group, campaign=name, impressions=impressions, clicks=clicks, ctr=rate(impressions, clicks)
    )


def _slot(_: str, name: str, impressions: int, clicks: int) -> SlotDelivered:
    return SlotDelivered(slot=name, impressions=impressions, clicks=clicks, ctr=rate(impressions, clicks))


def _position(each: BookingDelivered) -> Before:
    return newest_first(each.booking)


DAY_HEADER = ("date", "impressions", "clicks", "ctr")


@with_id(unknown_booking)
async def read_delivery(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.sponsorship.booking(call.caller.owner, booking_id)
    if view is None:
        return unknown_booking()
    counted = await services.sponsorship.delivered(booking_id)
    delivered = BookingDelivered(view.booking, view.campaign_name, tuple(counted))
    now_ms = services.clock.now_ms()
    if call.query.format == "csv":
        rows = [
            (day_text(day.day), day.impressions, day.clicks, rate(day.impressions, day.clicks))
            for day in days_of(delivered, now_ms)
        ]
        return csv_answer(f"delivery-{booking_id}.csv", DAY_HEADER, rows)
    delivery = delivery_of(delivered, now_ms)
    if services.config.events.count_sites:
        delivery.sites = SiteCounts.all_of(await services.sites.store.of_booking(booking_id))
    return Answer.of(delivery)


def delivery_of(delivered: BookingDelivered, now_ms: int) -> Delivery:
    """Every day that was bought up to today, and other days with counts: events can be counted just after the run ends."""
    items = [
        DeliveryDay(day=day.day * DAY_MS, impressions=day.impressions, clicks=day.clicks)
        for day in days_of(delivered, now_ms)
    ]
    impressions, clicks = sum(item.impressions for item in items), sum(item.clicks for item in items)
    return Delivery(
        items=items, impressions=impressions, clicks=clicks, ctr=clicks / impressions if impressions else None
    )


_reporting = partial(account_operation, method="GET", tag="Bookings", spreadsheet=True, scopes=(Scope.SPONSOR_READ,))

ROWS = (
    _reporting(
        name="getDelivery",
        path="/api/v1/sponsors/bookings/{id}/delivery",
        summary="Get the daily delivery of a booking",
        description="Returns the impressions and clicks of each day of a paid booking up to today, in order, including "
        "days without any.",
        handler=read_delivery,
        result=Delivery,
        query=DeliveryQuery,
        codes=(Code.NOT_FOUND,),
    ),
    _reporting(
        name="listDeliveries",
        path="/api/v1/sponsors/delivery",
        summary="List the deliveries of all your bookings",
        description="Returns the impressions and clicks of each booking and day, bookings oldest first, and sums by campaign "
        f"and slot. A report has at most {MAX_DAYS} days, and as JSON at most {MAX_ROWS} rows.",
        handler=list_deliveries,
        result=DeliveryReport,
        query=ReportQuery,
    ),
)
