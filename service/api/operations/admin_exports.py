"""The administrators' lists as CSV files. Times are ISO 8601 in UTC, amounts are cents."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from actors.accounts.store import AccountFilter, AccountLine, AccountPosition
from actors.bookings.records import BookingView, CampaignView, Slot, Sponsor
from actors.bookings.store import Before, MonthRevenue
from actors.clock import SECOND_MS
from actors.values import AuditRecord
from service.api.context import Services
from service.api.messages import Answer
from service.api.spreadsheets import Cell, Spreadsheet, csv_answer
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
    file = Spreadsheet(header, fetch, lambda line: line.spot, _account, services.config.http.answer_seconds)
    return await file.answer("accounts.csv")


def _account(line: AccountLine) -> Sequence[Cell]:
    account = line.account
    return (
        account.tenant_id,
        account.email,
        line.tier.value,
        _yes(line.admin),
        moment(account.created_ms),
        line.sponsor_name,
        moment(account.suspended_ms),
        account.suspension_reason,
    )


BOOKING = (
    *(
        "id",
        "status",
        "slot",
        "campaign",
        "sponsor",
        "weekStart",
        "weekEnd",
        "amountCents",
        "currency",
        "mode",
        "createdAt",
    ),
    *("paidAt", "paidCents", "refundedCents", "paymentIssue", "impressions", "clicks", "demo"),
)


async def bookings_file(services: Services, fetch: Fetch[BookingView]) -> Answer:
    def cells(view: BookingView) -> Sequence[Cell]:
        booking = view.booking
        return (
            *(booking.id, booking.status_at(services.clock.now_ms()).value, booking.slot_name, view.campaign_name),
            *(view.sponsor_name, moment(booking.week_start_ms), moment(booking.week_end_ms)),
            *(booking.amount_cents, booking.currency, booking.mode.value, moment(booking.created_ms)),
            *(moment(booking.paid_ms), booking.paid_cents, booking.refunded_cents, booking.issue),
            *(view.impressions, view.clicks, _yes(booking.demo)),
        )

    def position(view: BookingView) -> Before:
        return Before(view.booking.created_ms, view.booking.id)

    return await _file(services, "bookings.csv", BOOKING, fetch, position, cells)


CAMPAIGN = (
    *("id", "name", "status", "sponsor", "headline", "body", "cta", "targetUrl", "logoText"),
    *("createdAt", "reviewNote"),
)


async def campaigns_file(services: Services, fetch: Fetch[CampaignView]) -> Answer:
    def cells(view: CampaignView) -> Sequence[Cell]:
        campaign, content = view.campaign, view.campaign.content
        return (
            *(campaign.id, campaign.name, campaign.status.value, view.sponsor_name, content.headline, content.body),
            *(content.cta, content.target_url, content.logo_text, moment(campaign.created_ms), campaign.review_note),
        )

    def position(view: CampaignView) -> Before:
        return Before(view.campaign.created_ms, view.campaign.id)

    return await _file(services, "campaigns.csv", CAMPAIGN, fetch, position, cells)


async def sponsors_file(services: Services, fetch: Fetch[Sponsor]) -> Answer:
    def cells(sponsor: Sponsor) -> Sequence[Cell]:
        return sponsor.id, sponsor.tenant_id, *sponsor.profile.values(), moment(sponsor.created_ms)

    header = ("id", "accountId", *Profile.model_fields, "createdAt")
    return await _file(services, "sponsors.csv", header, fetch, lambda each: Before(each.created_ms, each.id), cells)


AUDIT = (
    *("id", "createdAt", "actorType", "actorId", "actorEmail", "action", "targetType", "targetId", "requestId"),
    "changes",
)


async def audit_file(services: Services, fetch: Fetch[AuditRecord]) -> Answer:
    def cells(record: AuditRecord) -> Sequence[Cell]:
        return (
            *(record.id, moment(record.created_ms), record.actor_type, record.actor_id, record.actor_email),
            *(record.action, record.target_type, record.target_id, record.request_id, record.changes),
        )

    return await _file(services, "audit.csv", AUDIT, fetch, lambda each: Before(each.created_ms, each.id), cells)


SLOT = (
    *("id", "name", "side", "weekPriceCents", "durationWeeks", "active", "comingSoon", "offerEndsAt", "packageKind"),
    *("description", "createdAt", "retiredAt"),
)


def slots_file(slots: Sequence[Slot]) -> Answer:
    rows = [
        (
            *(slot.id, slot.name, slot.side.value, slot.week_price_cents, slot.weeks, _yes(slot.active)),
            *(_yes(slot.coming_soon), moment(slot.offer_ends_ms), slot.package_kind and slot.package_kind.value),
            *(slot.description, moment(slot.created_ms), moment(slot.retired_ms)),
        )
        for slot in slots
    ]
    return csv_answer("slots.csv", SLOT, rows)


def revenue_file(months: Sequence[MonthRevenue]) -> Answer:
    rows = [
        (
            *(each.month, each.currency, each.mode.value, each.payments),
            *(each.paid_cents, each.refunded_cents, each.paid_cents - each.refunded_cents),
        )
        for each in months
    ]
    header = ("month", "currency", "mode", "payments", "paidCents", "refundedCents", "netCents")
    return csv_answer("revenue.csv", header, rows)


async def _file(
    services: Services,
    name: str,
    header: Sequence[str],
    fetch: Fetch[T],
    position: Callable[[T], Before],
    cells: Callable[[T], Sequence[Cell]],
) -> Answer:
    return await Spreadsheet(header, fetch, position, cells, services.config.http.answer_seconds).answer(name)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
