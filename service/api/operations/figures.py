"""The report of an account as its pages show it: sums in place of a row for each booking and day."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.bookings.reports import DayCounted, Days, Only, Run, costs_of, counted_runs, day_text, ranked
from actors.clock import DAY_MS, day_of
from actors.values import Refused, together
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call
from service.api.operations.reports import days_asked, only_asked, runs_of, too_long
from service.schemas.internal import DeliveryFigures, Figure, FiguresBefore, FigureTable
from service.schemas.reports import FilteredEvents, rate


@dataclass(frozen=True, slots=True)
class Wanted:
    """A report: the account, days and bookings, and the rows of its tables: of one table or of all, and so many on a page."""

    tenant_id: str
    days: Days
    only: Only
    by: str = ""
    page: int = 1
    rows: int = 10
    compared: bool = True
    """Whether the days before are summed as well."""


async def read_figures(services: Services, call: Call) -> Answer | Refused:
    days, query = days_asked(call, services.clock.now_ms()), call.query
    if isinstance(days, Refused):
        return days
    wanted = Wanted(call.caller.owner, days, only_asked(call), query.by, query.page, query.rows, query.compared == 1)
    figures = await figures_of(services, wanted)
    return too_long() if figures is None else Answer.of(figures)


async def figures_of(services: Services, wanted: Wanted) -> DeliveryFigures | None:
    """The figures of a report; None if it has too many rows."""
    days, today = wanted.days, day_of(services.clock.now_ms())
    everything = await runs_of(services, wanted.tenant_id, days)
    if everything is None:
        return None
    runs = [run for run in everything if wanted.only.has(run.campaign_id, run.slot_id)]
    counted = await _counted(services, runs, days)
    listed, by_day = counted_runs(runs, counted, days, today)
    impressions, clicks = sum(day.impressions for day in by_day), sum(day.clicks for day in by_day)
    groups = [wanted.by] if wanted.by else GROUPS
    return DeliveryFigures(
        first=day_text(days.first),
        last=day_text(days.last),
        impressions=impressions,
        clicks=clicks,
        ctr=rate(impressions, clicks),
        filtered=FilteredEvents.of(together(each.filtered for each in counted)),
        days=[(day.day * DAY_MS, day.impressions, day.clicks) for day in by_day],
        tables={group: _table(ranked(listed, GROUPS[group]), wanted) for group in groups},
        before=await _before(services, wanted) if wanted.compared else None,
        costs=costs_of(runs, listed, days, today),
        campaigns={run.campaign_id: run.campaign for run in everything},
        slots={run.slot_id: run.slot for run in everything},
    )


async def _before(services: Services, wanted: Wanted) -> FiguresBefore | None:
    """The figures of as many days directly before; None if there are too many rows."""
    days = Days(2 * wanted.days.first - wanted.days.last - 1, wanted.days.first - 1)
    runs = await runs_of(services, wanted.tenant_id, days, wanted.only)
    if runs is None:
        return None
    counted = await _counted(services, runs, days)
    listed, _ = counted_runs(runs, counted, days, day_of(services.clock.now_ms()))
    impressions, clicks = sum(run.impressions for run in listed), sum(run.clicks for run in listed)
    return FiguresBefore(
        first=day_text(days.first), last=day_text(days.last), ran=bool(listed), impressions=impressions, clicks=clicks
    )


async def _counted(services: Services, runs: Sequence[Run], days: Days) -> Sequence[DayCounted]:
    return await services.sponsorship.counted([run.booking_id for run in runs], days)


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
