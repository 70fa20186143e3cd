"""The administrators' lists as CSV files. Times are ISO 8601 in UTC, amounts are cents."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, TypeVar

from actors.accounts.store import AccountFilter, AccountLine, AccountPosition
from actors.bookings.records import BookingLine, CampaignView, Slot, Sponsor
from actors.bookings.reports import day_text
from actors.bookings.store import Before, BookingFilter, MonthRevenue
from actors.clock import DAY_MS, SECOND_MS, day_of
from actors.values import AuditRecord
from service.api.context import Services
from service.api.messages import Answer
from service.api.operations.responses import newest_first
from service.api.operations.sponsors import campaign_position
from service.api.spreadsheets import Cell, LinesSheet, Spreadsheet, csv_answer, written
from service.schemas.rows import source_of
from service.schemas.sponsors import Profile

T = TypeVar("T")
Fetch = Callable[[Before | None, int], Awaitable[Sequence[T]]]


def moment(at_ms: int | None) -> str:
    """A time as text; empty for None."""
    if at_ms is None:
        return ""
    minutes, seconds = divmod(at_ms % DAY_MS // SECOND_MS, 60)
    return f"{day_text(day_of(at_ms))}T{MINUTES[minutes]}:{seconds:02}Z"


MINUTES = [f"{minutes // 60:02}:{minutes % 60:02}" for minutes in range(24 * 60)]
"""The minutes of a day as text."""


async def accounts_file(services: Services, wanted: AccountFilter) -> Answer:
    async def fetch(after: AccountPosition | None, limit: int) -> Sequence[AccountLine]:
        """A whole page: one search reads a bounded number of accounts, and may find fewer."""
        lines: list[AccountLine] = []
        while len(lines) < limit:
            found = await services.accounts.page_of(wanted, after, limit - len(lines))
            lines += found.lines
            if found.after is None:
                break
            after = found.after
        return lines

    header = ("id", "email", "tier", "administrator", "createdAt", "sponsor", "suspendedAt", "suspensionReason")

    def cells(line: AccountLine) -> Sequence[Cell]:
        account = line.account
        return cells_of(
            header, line, account, id=account.tenant_id, administrator=line.admin, sponsor=line.sponsor_name
        )

    file = Spreadsheet(header, fetch, lambda line: line.spot, cells, services.config.http.answer_seconds)
    return await file.answer("accounts.csv")


BOOKING = (
    *("id", "status", "slot", "campaign", "sponsor", "weekStart", "weekEnd", "amountCents", "currency", "mode"),
    *("createdAt", "paidAt", "paidCents", "refundedCents", "paymentIssue", "impressions", "clicks", "demo"),
    *("periodStart", "paidCurrency"),
)


async def bookings_file(services: Services, wanted: BookingFilter) -> Answer:
    fetch = partial(services.sponsorship.booking_lines, wanted, services.clock.now_ms())
    file = LinesSheet(BOOKING, fetch, newest_first, booking_line, services.config.http.answer_seconds)
    return await file.answer("bookings.csv")


def booking_line(line: BookingLine) -> str:
    """A line of the file, in the order of `BOOKING`."""
    _, booking_id, status, slot, campaign, sponsor, weeks, currency, paid, issue, demo, paid_in, views, clicks = line
    names = f"{written(slot)},{written(campaign)},{written(sponsor)}"
    money = f"{weeks},{written(currency)},{paid},{written(issue)}"
    return f"{booking_id},{status},{names},{money},{views},{clicks},{demo},{written(paid_in)}\r\n"


CAMPAIGN = (
    *("id", "name", "status", "sponsor", "headline", "body", "cta", "targetUrl", "logoText"),
    *("createdAt", "reviewNote"),
)


async def campaigns_file(services: Services, fetch: Fetch[CampaignView]) -> Answer:
    def cells(view: CampaignView) -> Sequence[Cell]:
        return cells_of(CAMPAIGN, view.campaign, view.campaign.content, sponsor=view.sponsor_name)

    return await _file(services, "campaigns.csv", CAMPAIGN, fetch, campaign_position, cells)


async def sponsors_file(services: Services, fetch: Fetch[Sponsor]) -> Answer:
    def cells(sponsor: Sponsor) -> Sequence[Cell]:
        return sponsor.id, sponsor.tenant_id, *sponsor.profile.values(), moment(sponsor.created_ms)

    header = ("id", "accountId", *Profile.model_fields, "createdAt")
    return await _file(services, "sponsors.csv", header, fetch, newest_first, cells)


AUDIT = (
    *("id", "createdAt", "actorType", "actorId", "actorEmail", "action", "targetType", "targetId", "requestId"),
    "changes",
)


async def audit_file(services: Services, fetch: Fetch[AuditRecord]) -> Answer:
    return await _file(services, "audit.csv", AUDIT, fetch, newest_first, lambda record: cells_of(AUDIT, record))


SLOT = (
    *("id", "name", "side", "weekPriceCents", "durationWeeks", "active", "comingSoon", "offerEndsAt", "packageKind"),
    *("description", "createdAt", "retiredAt"),
)


def slots_file(slots: Sequence[Slot]) -> Answer:
    return csv_answer("slots.csv", SLOT, [cells_of(SLOT, slot, durationWeeks=slot.weeks) for slot in slots])


REVENUE = ("month", "currency", "mode", "payments", "paidCents", "refundedCents", "netCents")


def revenue_file(months: Sequence[MonthRevenue]) -> Answer:
    rows = [cells_of(REVENUE, each, netCents=each.paid_cents - each.refunded_cents) for each in months]
    return csv_answer("revenue.csv", REVENUE, rows)


async def _file(
    services: Services,
    name: str,
    header: Sequence[str],
    fetch: Fetch[T],
    position: Callable[[T], Before],
    cells: Callable[[T], Sequence[Cell]],
) -> Answer:
    return await Spreadsheet(header, fetch, position, cells, services.config.http.answer_seconds).answer(name)


def cells_of(header: Sequence[str], *rows: object, **given: Any) -> Sequence[Cell]:
    """The cells of a line: those that are `given`, and all others from the first row that has them."""
    source = _source(header, tuple(map(type, rows)), tuple(given))
    values = list(given.values())
    for read, row in zip(source.reads, rows, strict=True):
        values += read(row)
    cells: list[Any] = [value if type(value) in CELLS else _text(value) for value in source.ordered(values)]
    for place in source.moments:
        cells[place] = moment(cells[place])
    return cells


CELLS = (str, int, NoneType, float)
"""Types of values that are written as they are. The others are enums and truth values."""


def _text(value: Any) -> Cell:
    if isinstance(value, bool):
        return "yes" if value else "no"
    cell: Cell = value.value
    return cell


@dataclass(frozen=True, slots=True)
class _Source:
    """The sources of the cells of a line: `reads` takes the values of each row, `ordered` the cells of all values, given ones
    first, and `moments` are the places of times."""

    reads: Sequence[Callable[[Any], Iterable[Any]]]
    ordered: Callable[[Sequence[Any]], Iterable[Any]]
    moments: Sequence[int]


@cache
def _source(header: Sequence[str], kinds: tuple[type, ...], given: Sequence[str]) -> _Source:
    found = {name: source_of(name, kinds) for name in header if name not in given}
    fields: list[list[str]] = [[] for _ in kinds]
    for place, field in found.values():
        fields[place].append(field)
    places = [*given, *(name for row in range(len(kinds)) for name in found if found[name][0] == row)]
    order = [places.index(name) for name in header]
    moments = [place for place, name in enumerate(header) if name in found and found[name][1].endswith("_ms")]
    return _Source([_values(each) for each in fields], _values(order, itemgetter), moments)


def _values(names: Sequence[Any], getter: Callable[..., Callable[[Any], Any]] = attrgetter) -> Callable[[Any], Any]:
    """A function that returns the values with some names."""
    if len(names) > 1:
        return getter(*names)
    return lambda row: [getter(name)(row) for name in names]
