"""The administrators' lists as CSV files. Times are ISO 8601 in UTC, amounts are cents."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar

from actors.accounts.store import AccountFilter, AccountLine, AccountPosition
from actors.bookings.records import BookingView, CampaignView, Slot, Sponsor
from actors.bookings.store import Before, MonthRevenue
from actors.clock import SECOND_MS
from actors.values import AuditRecord
from service.api.context import Services
from service.api.messages import Answer
from service.api.operations.bookings import booking_position
from service.api.operations.responses import newest_first
from service.api.operations.sponsors import campaign_position
from service.api.spreadsheets import Cell, Spreadsheet, csv_answer
from service.schemas.rows import value_of
from service.schemas.sponsors import Profile

T = TypeVar("T")
Fetch = Callable[[Before | None, int], Awaitable[Sequence[T]]]


def moment(at_ms: int | None) -> str:
    """A time as text; empty for None."""
    return "" if at_ms is None else f"{datetime.fromtimestamp(at_ms // SECOND_MS, UTC):%Y-%m-%dT%H:%M:%SZ}"


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


async def bookings_file(services: Services, fetch: Fetch[BookingView]) -> Answer:
    def cells(view: BookingView) -> Sequence[Cell]:
        booking = view.booking
        return cells_of(
            BOOKING,
            booking,
            view,
            status=booking.status_at(services.clock.now_ms()).value,
            slot=booking.slot_name,
            campaign=view.campaign_name,
            sponsor=view.sponsor_name,
            paymentIssue=booking.issue,
            paidCurrency=None if booking.paid_cents is None else booking.money_currency,
        )

    return await _file(services, "bookings.csv", BOOKING, fetch, booking_position, cells)


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
    return [_cell(*(("", given[name]) if name in given else value_of(name, rows))) for name in header]


def _cell(name: str, value: Any) -> Cell:
    if name.endswith("_ms"):
        return moment(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    cell: Cell = value.value if isinstance(value, Enum) else value
    return cell
