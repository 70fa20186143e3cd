"""The delivery of one booking by day, and of all bookings of an account. It extends the specification."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import add
from typing import Any, TypeVar

import trio

from actors.bookings.changes import unknown_booking
from actors.bookings.records import DayDelivered
from actors.bookings.reports import (
    ALL,
    BookingDelivered,
    DayCounted,
    Days,
    Only,
    Run,
    costs_of,
    counted_runs,
    day_text,
    days_of,
)
from actors.bookings.store import Before
from actors.clock import DAY_MS, day_of
from actors.values import Code, Filtered, Problem, Refused, Scope
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, Tool, account_operation
from service.api.operations.responses import newest_first, with_id
from service.api.spreadsheets import Cell, Spreadsheet, csv_answer
from service.schemas.bookings import Delivery, DeliveryDay
from service.schemas.reports import (
    MAX_DAYS,
    MAX_ROWS,
    USUAL_DAYS,
    CampaignDelivered,
    DeliveryCost,
    DeliveryQuery,
    DeliveryReport,
    FilteredEvents,
    ReportQuery,
    ReportRow,
    SiteCounts,
    SlotDelivered,
    rate,
    rounded,
)

OF_DAY = ("date", "impressions", "clicks", "ctr")
FILTERED = tuple(f"filtered{reason.title()}" for reason in Filtered._fields)
DAY_HEADER = (*OF_DAY, *FILTERED)
OF_BOOKING = ("bookingId", "campaign", "slot", *OF_DAY)
HEADER = (*OF_BOOKING, *FILTERED)
PAGE_BOOKINGS = 50
"""Bookings of one read of a file. Each has at most 366 days, so a page is made in some milliseconds."""

READ_BOOKINGS = 500
"""Bookings of one read of a report, whose rows are bounded."""

SLICE_ROWS = 250
"""Rows of a report that are made at a time: about three milliseconds."""

R = TypeVar("R")
D = TypeVar("D", CampaignDelivered, SlotDelivered)


class ReportSheet(Spreadsheet[BookingDelivered, Before]):
    """The report as CSV: bookings oldest first, each with its days."""

    page_rows = PAGE_BOOKINGS

    def __init__(self, services: Services, tenant_id: str, days: Days, only: Only) -> None:
        async def fetch(after: Before | None, limit: int) -> Sequence[BookingDelivered]:
            return await services.sponsorship.deliveries(tenant_id, days, after, limit, only)

        super().__init__(HEADER, fetch, _position, lambda _: (), services.config.http.answer_seconds)
        self._days = days
        self._now_ms = services.clock.now_ms()

    def lines(self, rows: Sequence[BookingDelivered]) -> Iterable[Sequence[Cell]]:
        return cells_of(rows, self._now_ms, self._days)


async def list_deliveries(services: Services, call: Call) -> Answer | Refused:
    days = days_asked(call, services.clock.now_ms())
    if isinstance(days, Refused):
        return days
    only = only_asked(call)
    if call.query.format == "csv":
        sheet = ReportSheet(services, call.caller.owner, days, only)
        return await sheet.answer(f"delivery-{day_text(days.first)}-to-{day_text(days.last)}.csv")
    return await _report(services, call.caller.owner, days, only)


def only_asked(call: Call) -> Only:
    """The bookings that a query filters."""
    return Only(call.query.campaignId or None, call.query.slotId or None)


def days_asked(call: Call, now_ms: int) -> Days | Refused:
    """The days of a query, by default the last `USUAL_DAYS`."""
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


async def _report(services: Services, tenant_id: str, days: Days, only: Only) -> Answer | Refused:
    """The report as JSON, or a refusal if it is too long for one response."""
    now_ms = services.clock.now_ms()
    runs = await runs_of(services, tenant_id, days, only)
    if runs is None:
        return too_long()
    found: list[BookingDelivered] = []
    rows: list[ReportRow] = []
    after: Before | None = None
    while True:
        page = await services.sponsorship.deliveries(tenant_id, days, after, READ_BOOKINGS, only)
        found += page
        rows += await in_slices(map(_row, cells_of(page, now_ms, days)))
        if len(rows) > MAX_ROWS or len(found) > MAX_ROWS:
            return too_long()
        if len(page) < READ_BOOKINGS:
            break
        after = _position(page[-1])
    booked = {each.booking.id: each for each in found}
    campaigns = _sums(rows, booked, lambda each: (each.booking.campaign_id, each.campaign_name), _campaign)
    await trio.lowlevel.checkpoint()
    slots = _sums(rows, booked, lambda each: (each.booking.slot_id, each.booking.slot_name), _slot)
    await trio.lowlevel.checkpoint()
    costs = list(_costs(runs, found, days, day_of(now_ms)))
    await trio.lowlevel.checkpoint()
    period = {"from": day_text(days.first), "to": day_text(days.last)}
    report = DeliveryReport(**period, items=rows, campaigns=campaigns, slots=slots, costs=costs, **_added(rows))
    await trio.lowlevel.checkpoint()
    return Answer.of(report)


async def in_slices(rows: Iterable[R]) -> list[R]:
    """The rows, of which some are made at a time. Between them, other requests go on."""
    made: list[R] = []
    waiting = iter(rows)
    while some := list(islice(waiting, SLICE_ROWS)):
        made += some
        await trio.lowlevel.checkpoint()
    return made


def _costs(runs: Sequence[Run], found: Iterable[BookingDelivered], days: Days, today: int) -> Iterator[DeliveryCost]:
    counted = [
        DayCounted(each.booking.id, day.day, day.impressions, day.clicks) for each in found for day in each.counted
    ]
    listed, _ = counted_runs(runs, counted, days, today)
    for cost in costs_of(runs, listed, days, today):
        yield DeliveryCost(
            currency=cost.currency,
            costCents=cost.cents,
            impressions=cost.impressions,
            clicks=cost.clicks,
            clickCents=rounded(cost.cents, cost.clicks),
            thousandCents=rounded(1_000 * cost.cents, cost.impressions),
        )


async def runs_of(services: Services, tenant_id: str, days: Days, only: Only = ALL) -> Sequence[Run] | None:
    """The bookings of a report; None if their days have more rows than it may have."""
    runs = await services.sponsorship.runs(tenant_id, days, MAX_ROWS + 1)
    wanted = [run for run in runs if only.has(run.campaign_id, run.slot_id)]
    today = day_of(services.clock.now_ms())
    bought = sum(len(run.bought(days, today)) for run in wanted)
    return None if max(len(runs), bought) > MAX_ROWS else wanted


def too_long() -> Refused:
    """The refusal of a report that one response cannot hold."""
    words = f"This report has more than {MAX_ROWS:,} rows. Choose fewer days, or download it as CSV."
    return Refused(Code.INVALID_REQUEST, words)


def cells_of(page: Iterable[BookingDelivered], now_ms: int, days: Days) -> Iterator[tuple[Cell, ...]]:
    """The values of each day of each booking, in the order of `HEADER`."""
    for each in page:
        booking_id, campaign, slot = each.booking.id, each.campaign_name, each.booking.slot_name
        for day in days_of(each, now_ms, days):
            yield booking_id, campaign, slot, *_cells_of_day(day)


def _cells_of_day(day: DayDelivered) -> tuple[Cell, ...]:
    """The values of a day, in the order of `DAY_HEADER`."""
    return day_text(day.day), day.impressions, day.clicks, rate(day.impressions, day.clicks), *day.filtered


def _row(cells: Sequence[Cell]) -> ReportRow:
    """The values of a day of a booking as JSON."""
    counted = dict(zip(OF_BOOKING, cells, strict=False))
    return ReportRow.model_construct(None, **counted, filtered=FilteredEvents.of(cells[len(OF_BOOKING) :]))


def _added(rows: Iterable[Any]) -> dict[str, Any]:
    """The counts of some days together, by the names of `Delivered`."""
    impressions = clicks = 0
    filtered = [0] * len(Filtered._fields)
    for row in rows:
        impressions += row.impressions
        clicks += row.clicks
        filtered = list(map(add, filtered, vars(row.filtered).values()))
    ctr = rate(impressions, clicks)
    return {"impressions": impressions, "clicks": clicks, "ctr": ctr, "filtered": FilteredEvents.of(filtered)}


def _sums(
    rows: Iterable[ReportRow],
    booked: dict[str, BookingDelivered],
    group_of: Callable[[BookingDelivered], tuple[str, str]],
    made: Callable[[str, str, dict[str, Any]], D],
) -> list[D]:
    """The rows added up by group, most impressions first. The newest name of a group counts."""
    names: dict[str, str] = {}
    members: dict[str, list[ReportRow]] = {}
    for row in rows:
        group, names[group] = group_of(booked[row.bookingId])
        members.setdefault(group, []).append(row)
    sums = {group: _added(some) for group, some in members.items()}
    ranked = sorted(sums, key=lambda group: (-sums[group]["impressions"], names[group], group))
    return [made(group, names[group], sums[group]) for group in ranked]


def _campaign(group: str, name: str, counted: dict[str, Any]) -> CampaignDelivered:
    return CampaignDelivered(campaignId=group, campaign=name, **counted)


def _slot(_: str, name: str, counted: dict[str, Any]) -> SlotDelivered:
    return SlotDelivered(slot=name, **counted)


def _position(each: BookingDelivered) -> Before:
    return newest_first(each.booking)


@with_id(unknown_booking)
async def read_delivery(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.sponsorship.booking(call.caller.owner, booking_id)
    if view is None:
        return unknown_booking()
    counted = await services.sponsorship.delivered(booking_id)
    delivered = BookingDelivered(view.booking, view.campaign_name, tuple(counted))
    now_ms = services.clock.now_ms()
    if call.query.format == "csv":
        rows = [_cells_of_day(day) for day in days_of(delivered, now_ms)]
        return csv_answer(f"delivery-{booking_id}.csv", DAY_HEADER, rows)
    delivery = delivery_of(delivered, now_ms)
    if services.config.events.count_sites:
        delivery.sites = SiteCounts.all_of(await services.sites.store.of_booking(booking_id))
    return Answer.of(delivery)


def delivery_of(delivered: BookingDelivered, now_ms: int) -> Delivery:
    """Every day that was bought up to today, and other days on which something was counted, as just after the run ends, or
    filtered."""
    items = [
        DeliveryDay(
            day=day.day * DAY_MS,
            impressions=day.impressions,
            clicks=day.clicks,
            filtered=FilteredEvents.of(day.filtered),
        )
        for day in days_of(delivered, now_ms)
    ]
    counted = _added(items)
    impressions, clicks = counted["impressions"], counted["clicks"]
    return Delivery(items=items, **counted | {"ctr": clicks / impressions if impressions else None})


_reporting = partial(
    account_operation, method="GET", tag="Bookings", spreadsheet=True, third_party=True, scopes=(Scope.SPONSOR_READ,)
)

ROWS = (
    _reporting(
        name="getDelivery",
        tool=Tool(
            "get_booking_delivery",
            "Use it to see what a booking delivered, by day and by website.",
            {"id": "bok_1B2c3D4e5F6g7H8i9J0kLm"},
        ),
        path="/api/v1/sponsors/bookings/{id}/delivery",
        summary="Get the daily delivery of a booking",
        description="Returns the impressions and clicks of each day of a paid booking up to today, in order, including "
        "days without any. `filtered` has the events that were reported and not counted, by reason.",
        handler=read_delivery,
        result=Delivery,
        query=DeliveryQuery,
        codes=(Code.NOT_FOUND,),
    ),
    _reporting(
        name="listDeliveries",
        tool=Tool(
            "get_delivery_report",
            "Use it to compare bookings, campaigns or slots over a period.",
            {"from": "2026-11-01", "to": "2026-11-30"},
            f"`from` and `to` are UTC days, at most {MAX_DAYS} days in all and by default the last {USUAL_DAYS}; a report "
            f"has at most {MAX_ROWS:,} rows.",
        ),
        path="/api/v1/sponsors/delivery",
        summary="List the deliveries of all your bookings",
        description="Returns the impressions and clicks of each booking and day, bookings oldest first, and sums by campaign "
        "and slot, each with the events that were filtered. "
        f"A report has at most {MAX_DAYS} days, and as JSON at most {MAX_ROWS} rows.",
        handler=list_deliveries,
        result=DeliveryReport,
        query=ReportQuery,
    ),
)
