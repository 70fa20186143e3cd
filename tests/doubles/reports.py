"""Delivery reports in memory."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from actors.bookings.records import Booking, BookingLine, BookingStatus, BookingView, Mode, Slot, Sponsor
from actors.bookings.reports import (
    ALL,
    MAX_ENDED,
    BookingDelivered,
    DayCounted,
    Days,
    Only,
    Run,
    Sale,
    SlotReach,
    reach_of,
)
from actors.bookings.store import Before, MonthRevenue
from actors.times import SECOND_MS, day_of
from actors.values import NOT_FILTERED
from service.api.operations.admin_exports import moment
from tests.doubles.conditions import touches
from tests.doubles.tables import Memory


def deliveries(
    memory: Memory, tenant_id: str, days: Days, after: Before | None, limit: int, only: Only = ALL
) -> Sequence[BookingDelivered]:
    mine = [row for row in _touched(memory, tenant_id, days) if after is None or (row.created_ms, row.id) > after]
    mine = [row for row in mine if only.has(row.campaign_id, row.slot_id)]
    page = sorted(mine, key=lambda row: (row.created_ms, row.id))[:limit]
    return [
        BookingDelivered(
            row,
            memory.campaigns[row.campaign_id].name,
            tuple(each.of_day for each in counted(memory, [row.id], days)),
        )
        for row in page
    ]


def runs(memory: Memory, tenant_id: str, days: Days, most: int) -> Sequence[Run]:
    rows = sorted(_touched(memory, tenant_id, days), key=lambda row: (row.created_ms, row.id))[:most]
    return [
        Run(
            *(row.id, row.campaign_id, memory.campaigns[row.campaign_id].name, row.slot_id, row.slot_name),
            first=day_of(row.period_start_ms),
            last=day_of(row.week_end_ms) - 1,
            currency=row.money_currency,
            net_cents=row.left_cents,
            mode=row.mode,
        )
        for row in rows
    ]


def counted(memory: Memory, booking_ids: Sequence[str], days: Days | None = None) -> Sequence[DayCounted]:
    places = {*memory.delivery_days, *memory.filtered_days}
    return [
        DayCounted(*place, *memory.delivery_days.get(place, (0, 0)), memory.filtered_days.get(place, NOT_FILTERED))
        for place in sorted(places)
        if place[0] in booking_ids and (days is None or place[1] in days)
    ]


def _touched(memory: Memory, tenant_id: str, days: Days) -> list[Booking]:
    """The paid bookings of an account that can have counts on some days."""
    mine = (row for row in memory.bookings.values() if row.tenant_id == tenant_id and row.paid_ms is not None)
    return [row for row in mine if touches(days, row)]


def reach(memory: Memory, ended_ms: int, mode: str) -> Sequence[SlotReach]:
    ended = [
        row
        for row in memory.bookings.values()
        if row.status is BookingStatus.PAID
        and not row.disputed
        and not row.demo
        and row.mode == mode
        and row.week_end_ms <= ended_ms
    ]
    newest = sorted(ended, key=lambda row: (-row.week_end_ms, row.id))[:MAX_ENDED]
    sums: dict[str, tuple[int, int]] = {row.id: (0, 0) for row in newest}
    for (booking_id, _), (impressions, clicks) in memory.delivery_days.items():
        if booking_id in sums:
            before = sums[booking_id]
            sums[booking_id] = before[0] + impressions, before[1] + clicks
    return reach_of((row.slot_id, row.weeks, *sums[row.id]) for row in newest)


def line_of(view: BookingView, now_ms: int) -> BookingLine:
    """A booking as a line of a file."""
    row = view.booking
    paid = moment(row.paid_ms), row.paid_cents, row.refunded_cents
    return BookingLine(
        row.created_ms,
        row.id,
        row.status_at(now_ms),
        row.slot_name,
        view.campaign_name,
        view.sponsor_name,
        _cells(moment(row.week_start_ms), moment(row.week_end_ms), row.amount_cents),
        row.currency,
        _cells(row.mode, moment(row.created_ms), *paid),
        row.issue,
        _cells("yes" if row.demo else "no", moment(row.period_start_ms)),
        None if row.paid_cents is None else row.money_currency,
        view.impressions,
        view.clicks,
    )


def _cells(*values: str | int | None) -> str:
    """Cells without texts, as the store writes them."""
    return ",".join("" if value is None else str(value) for value in values)


def sales(tables: Memory, from_ms: int, until_ms: int, most: int) -> list[Sale]:
    """The sums of payments by slot and by account, in each currency and mode."""
    sums: defaultdict[tuple[str, str, bool], defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in tables.bookings.values():
        if from_ms <= (row.paid_ms or -1) < until_ms and not row.demo:
            paid = row.amount_cents if row.paid_cents is None else row.paid_cents
            for of_sponsors, key in ((False, row.slot_id), (True, row.tenant_id)):
                sums[row.money_currency, row.mode, of_sponsors][key] += Counter(
                    number=1, paid=paid, refunded=row.refunded_cents
                )
    made = []
    for group, parts in sorted(sums.items()):
        ranked = sorted(parts.items(), key=lambda part: (-part[1]["paid"], part[0]))
        for key, part in ranked[:most]:
            named: Sponsor | Slot | None = tables.sponsors.get(key) if group[2] else tables.slots[key]
            made.append(Sale(*group, key, None if named is None else named.name, 1, *_cents(part)))
        if others := [part for _, part in ranked[most:]]:
            made.append(Sale(*group, None, None, len(others), *_cents(sum(others, Counter()))))
    return made


def _cents(part: Counter[str]) -> tuple[int, int, int]:
    return part["number"], part["paid"], part["refunded"]


def revenue(tables: Memory, from_ms: int, until_ms: int) -> list[MonthRevenue]:
    """The sums of payments by month, currency and mode."""
    sums: defaultdict[tuple[str, str, Mode], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in tables.bookings.values():
        if row.paid_ms is not None and from_ms <= row.paid_ms < until_ms and not row.demo:
            month = f"{datetime.fromtimestamp(row.paid_ms // SECOND_MS, UTC):%Y-%m}"
            paid = row.amount_cents if row.paid_cents is None else row.paid_cents
            old = sums[month, row.money_currency, row.mode]
            sums[month, row.money_currency, row.mode] = [old[0] + 1, old[1] + paid, old[2] + row.refunded_cents]
    by_kind = sorted(sums.items(), key=lambda item: item[0][1:])
    by_month = sorted(by_kind, key=lambda item: item[0][0], reverse=True)
    return [MonthRevenue(*key, *counted) for key, counted in by_month]
