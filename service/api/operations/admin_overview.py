"""Lists of administrators: the review queue, counts, revenue, the audit log (specification, 26) and sites."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from actors.bookings.store import Before, Waiting
from actors.clock import DAY_MS, SECOND_MS, day_of
from actors.times import WEEK_MS, month_of, week_of
from actors.values import AuditRecord, Code, Problem, Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call, admin_read
from service.api.operations import admin_exports as files
from service.api.operations.responses import list_page, newest_first, searched
from service.schemas.admin_overview import (
    MAX_MONTHS,
    Counts,
    Revenue,
    RevenueQuery,
    RevenueTable,
    ReviewItem,
    ReviewPage,
)
from service.schemas.audit import Audit, AuditPage, AuditQuery
from service.schemas.internal import Sales
from service.schemas.lists import ReviewsQuery
from service.schemas.reports import MAX_SITE_DAYS as MAX_DAYS
from service.schemas.reports import USUAL_SITE_DAYS as USUAL_DAYS
from service.schemas.reports import PeriodQuery, SiteCounts, SiteList

DEFAULT_MONTHS = 12


async def list_reviews(services: Services, call: Call) -> Answer | Refused:
    query: ReviewsQuery = call.query
    fetch = partial(services.sponsorship.review_queue, services.clock.now_ms(), text=query.query)
    name = searched("reviews", query.query)
    return await list_page(services, call, name, fetch, _urgency, ReviewItem.of, ReviewPage)


def _urgency(review: Waiting) -> Before:
    return Before(*review.urgency)


async def count_lists(services: Services, call: Call) -> Answer | Refused:
    return Answer.of(Counts.of(await services.counts.read()))


async def read_revenue(services: Services, call: Call) -> Answer | Refused:
    query: RevenueQuery = call.query
    period = _period(services, query)
    if isinstance(period, Refused):
        return period
    rows = await services.sponsorship.revenue(*period)
    if query.format == "csv":
        return files.revenue_file(rows)
    return Answer.of(RevenueTable(items=[Revenue.of(row) for row in rows]))


MOST_NAMED = 10
"""The slots, and the sponsors, that are named in each currency and mode. The others are summed."""

WEEKS_AHEAD = 8


async def read_sales(services: Services, call: Call) -> Answer | Refused:
    period = _period(services, call.query)
    if isinstance(period, Refused):
        return period
    now_ms = services.clock.now_ms()
    sales = await services.sponsorship.sales(*period, MOST_NAMED)
    ahead = services.placements.snapshot.outlook(week_of(now_ms) + WEEK_MS, WEEKS_AHEAD, now_ms)
    return Answer.of(
        Sales(
            items=list(sales),
            weeksAhead=WEEKS_AHEAD,
            weeks=ahead.weeks,
            sold=ahead.sold,
            held=ahead.held,
            openCents=ahead.open_cents,
        )
    )


def _period(services: Services, query: RevenueQuery) -> tuple[int, int] | Refused:
    """The start of the first month, and the end of the last one."""
    last = month_of(services.clock.now_ms()) if query.last is None else _number(query.last)
    first = last - DEFAULT_MONTHS + 1 if query.first is None else _number(query.first)
    if not 0 <= last - first < MAX_MONTHS:
        words = f"`from` must be before `to`, by at most {MAX_MONTHS - 1} months."
        problem = Problem("from", "period", f"must be before `to`, by at most {MAX_MONTHS - 1} months")
        return Refused(Code.INVALID_REQUEST, words, problems=(problem,))
    return _start_ms(first), _start_ms(last + 1)


def _number(month: str) -> int:
    """A month as `month_of` counts it."""
    return int(month[:4]) * 12 + int(month[5:]) - 1


def _start_ms(number: int) -> int:
    """The first millisecond of a month, as `month_of` counts it."""
    year, month = divmod(number, 12)
    return int(datetime(year, month + 1, 1, tzinfo=UTC).timestamp()) * SECOND_MS


async def list_audit(services: Services, call: Call) -> Answer | Refused:
    query: AuditQuery = call.query
    email = None if query.actorEmail is None else query.actorEmail.strip().lower()
    # The day after the last one: every record of that day is before it.
    newest = None if query.to is None else Before((query.to + 1) * DAY_MS, "")

    async def fetch(before: Before | None, limit: int) -> Sequence[AuditRecord]:
        return await services.sponsorship.audit(before or newest, limit, query.targetId, email)

    if query.format == "csv":
        return await files.audit_file(services, fetch)
    # A cursor is valid only for the same filters.
    others = [f"{name} {value}" for name, value in (("by", email), ("to", query.to)) if value is not None]
    name = " ".join([f"audit {query.targetId}", *others])
    return await list_page(services, call, name, fetch, newest_first, Audit.of, AuditPage)


async def list_sites(services: Services, call: Call) -> Answer | Refused:
    asked = call.query.model_dump()
    last = day_of(services.clock.now_ms()) if asked["to"] is None else asked["to"]
    first = max(last - USUAL_DAYS + 1, 0) if asked["from"] is None else asked["from"]
    if not 0 <= last - first < MAX_DAYS:
        problem = Problem("from", "period", f"must be at most {MAX_DAYS} days before `to`, and not after it")
        return Refused(Code.INVALID_REQUEST, "The query is not valid", problems=(problem,))
    items = SiteCounts.all_of(await services.sites.store.between(first, last))
    counting = services.config.events.count_sites
    return Answer.of(SiteList(**{"items": items, "counting": counting, "from": first * DAY_MS, "to": last * DAY_MS}))


ROWS = (
    admin_read(
        name="listReviews",
        path="/api/v1/admin/sponsorships/reviews",
        summary="List what waits for review",
        description="Returns the campaigns that wait for review, each with its sponsor's record: paid ones by their first "
        "week, then held ones, then the others, oldest first.",
        handler=list_reviews,
        result=ReviewPage,
        query=ReviewsQuery,
    ),
    admin_read(
        name="countLists",
        path="/api/v1/admin/sponsorships/counts",
        summary="Count the rows of the lists",
        description="Returns how many bookings and campaigns are in each state, and how many bookings need attention. "
        "Numbers may be some seconds old.",
        handler=count_lists,
        result=Counts,
    ),
    admin_read(
        name="getRevenue",
        path="/api/v1/admin/sponsorships/revenue",
        summary="Get the revenue by month",
        description="Returns what was paid and what of it was refunded, by month of the payment (UTC), currency and mode. "
        f"Samples are never counted. At most {MAX_MONTHS} months, and by default the last {DEFAULT_MONTHS}.",
        handler=read_revenue,
        result=RevenueTable,
        query=RevenueQuery,
        spreadsheet=True,
    ),
)

AUDIT = (
    admin_read(
        name="listAudit",
        path="/api/v1/admin/sponsorships/audit",
        summary="List the audit log",
        description="Returns every change and who made it, newest first. For the history of one resource, use `targetId`; "
        "for what one account did, `actorEmail`.",
        handler=list_audit,
        result=AuditPage,
        query=AuditQuery,
        spreadsheet=True,
    ),
)

SITES = (
    admin_read(
        name="listSites",
        path="/api/v1/admin/sponsorships/sites",
        summary="List sites and what they deliver",
        description="Returns the impressions and clicks of each website in a period of at most "
        f"{MAX_DAYS} UTC days, samples excepted. Events are counted by website only while the setting "
        "`events.count_sites` is on. `other` is what came from websites without a place of their own, and from relays.",
        handler=list_sites,
        result=SiteList,
        query=PeriodQuery,
    ),
)
