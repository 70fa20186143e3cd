"""Operations of administrators that look over the sponsorship area: the review queue, counts and revenue."""

from datetime import UTC, datetime
from functools import partial

from actors.clock import SECOND_MS
from actors.times import month_of
from actors.values import Code, Problem, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.operations.admin_exports import revenue_file
from service.api.operations.responses import invalid_cursor, linked
from service.api.policy import Access
from service.schemas.admin_overview import (
    MOST_MONTHS,
    Counts,
    Revenue,
    RevenueQuery,
    RevenueTable,
    ReviewItem,
    ReviewPage,
)
from service.schemas.lists import DEFAULT_LIMIT, SponsorshipQuery
from service.tokens.cursors import BadCursor

DEFAULT_MONTHS = 12


async def list_reviews(services: Services, call: Call) -> Answer | Refused:
    query: SponsorshipQuery = call.query
    purpose = f"reviews {call.caller.owner}"
    try:
        place = None if query.cursor is None else services.cursors.decode(purpose, query.cursor)
    except BadCursor:
        return invalid_cursor()
    limit = query.limit or DEFAULT_LIMIT
    after = None if place is None else (int(place[0]), str(place[1]))
    found = await services.sponsorship.review_queue(services.clock.now_ms(), after, limit + 1)
    more = len(found) > limit
    cursor = services.cursors.encode(purpose, found[limit - 1].urgency) if more else None
    items = [ReviewItem.of(each) for each in found[:limit]]
    return linked(services, call, Answer.of(ReviewPage(items=items, cursor=cursor, hasMore=more)), cursor)


async def count_lists(services: Services, call: Call) -> Answer | Refused:
    return Answer.of(Counts.of(await services.counts.read()))


async def read_revenue(services: Services, call: Call) -> Answer | Refused:
    query: RevenueQuery = call.query
    last = month_of(services.clock.now_ms()) if query.last is None else _number(query.last)
    first = last - DEFAULT_MONTHS + 1 if query.first is None else _number(query.first)
    if not 0 <= last - first < MOST_MONTHS:
        words = f"`from` must be before `to`, by at most {MOST_MONTHS - 1} months."
        problem = Problem("from", "period", f"must be before `to`, by at most {MOST_MONTHS - 1} months")
        return Refused(Code.INVALID_REQUEST, words, problems=(problem,))
    rows = await services.sponsorship.revenue(_start_ms(first), _start_ms(last + 1))
    if query.format == "csv":
        return revenue_file(rows)
    return Answer.of(RevenueTable(items=[Revenue.of(row) for row in rows]))


def _number(month: str) -> int:
    """A month as `month_of` counts it."""
    return int(month[:4]) * 12 + int(month[5:]) - 1


def _start_ms(number: int) -> int:
    """The first millisecond of a month, as `month_of` counts it."""
    year, month = divmod(number, 12)
    return int(datetime(year, month + 1, 1, tzinfo=UTC).timestamp()) * SECOND_MS


_reading = partial(
    Operation,
    method="GET",
    tag="Administration",
    family=Family.SPONSORSHIP,
    access=Access.REQUIRED,
    scopes=(Scope.ADMIN_READ,),
    admin=True,
    metered=True,
)

ROWS = (
    _reading(
        name="listReviews",
        path="/api/v1/admin/sponsorships/reviews",
        summary="List what waits for review",
        description="Returns the campaigns that wait for review, each with its sponsor's record: paid ones by their first "
        "week, then held ones, then the others, oldest first.",
        handler=list_reviews,
        result=ReviewPage,
        query=SponsorshipQuery,
    ),
    _reading(
        name="countLists",
        path="/api/v1/admin/sponsorships/counts",
        summary="Count the rows of the lists",
        description="Returns how many bookings and campaigns are in each state, and how many bookings need attention. "
        "Numbers may be some seconds old.",
        handler=count_lists,
        result=Counts,
    ),
    _reading(
        name="getRevenue",
        path="/api/v1/admin/sponsorships/revenue",
        summary="Get the revenue by month",
        description="Returns what was paid and what of it was refunded, by month of the payment (UTC), currency and mode. "
        f"Samples are never counted. At most {MOST_MONTHS} months, and by default the last {DEFAULT_MONTHS}.",
        handler=read_revenue,
        result=RevenueTable,
        query=RevenueQuery,
        spreadsheet=True,
    ),
)
