"""Operations on inventory and live placements (specification, 10 and 11), served from the snapshot in memory."""

from functools import partial

from actors.bookings.slots import sells, unknown_slot
from actors.clock import SECOND_MS
from actors.times import WEEK_MS, week_of, weeks_from
from actors.values import Code, Problem, Refused
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation, Tool
from service.api.operations.responses import cached, with_id
from service.api.policy import Access, Budget
from service.schemas.internal import ShareOfVoice, WeekShare
from service.schemas.inventory import Calendar, CalendarQuery, Inventory, InventoryQuery, PlacementList, RateCard
from service.snapshots.placements import WEEKS_BACK, Rendered
from service.snapshots.turns import share

MAX_AGE_SECONDS = 15


async def get_inventory(services: Services, call: Call) -> Answer | Refused:
    query: InventoryQuery = call.query
    now_ms = services.clock.now_ms()
    week_ms = services.placements.week_for(query.weekStart, now_ms)
    if week_ms is None:
        return _too_far(services)
    return fresh(call, services.placements.inventory(week_ms, now_ms), now_ms)


async def get_calendar(services: Services, call: Call) -> Answer | Refused:
    query: CalendarQuery = call.query
    now_ms = services.clock.now_ms()
    first_ms = services.placements.week_for(query.weekStart, now_ms)
    if first_ms is None:
        return _too_far(services)
    return fresh(call, await services.placements.calendar(first_ms, query.weeks, now_ms), now_ms)


def _too_far(services: Services) -> Refused:
    ahead = services.config.bookings.horizon_weeks
    problem = Problem("weekStart", "period", f"must be from {WEEKS_BACK} week back to {ahead} weeks ahead")
    return Refused(Code.INVALID_REQUEST, "The query is not valid", problems=(problem,))


async def list_placements(services: Services, call: Call) -> Answer | Refused:
    now_ms = services.clock.now_ms()
    return fresh(call, services.placements.placements(now_ms), now_ms)


async def list_page_ads(services: Services, call: Call) -> Answer | Refused:
    """The placements of a page view. No answer is kept: each takes a turn."""
    at_once = services.config.site.ads_per_side
    return Answer.of(services.placements.page_view(at_once, services.clock.now_ms(), services.entropy))


@with_id(unknown_slot)
async def read_share(services: Services, call: Call, slot_id: str) -> Answer | Refused:
    """The share of voice of an ad in a slot: each week has the slots on its side that are booked, and this one."""
    query, now_ms, at_once = call.query, services.clock.now_ms(), services.config.site.ads_per_side
    slots = await services.sponsorship.slots()
    own = next((slot for slot in slots if slot.id == slot_id), None)
    if own is None:
        return unknown_slot()
    weeks = weeks_from(week_of(query.weekStart), query.weeks)
    others = await services.sponsorship.ads_beside(slot_id, weeks[0], weeks[-1] + WEEK_MS, now_ms)
    ads = [1 + others.get(week_ms, 0) for week_ms in weeks]
    sold = sum(slot.side is own.side and slot.id != slot_id and sells(slot, now_ms) for slot in slots)
    most = max(1 + sold, *ads)
    shares = [
        WeekShare(weekStart=week_ms, ads=number, share=share(number, at_once))
        for week_ms, number in zip(weeks, ads, strict=True)
    ]
    return Answer.of(ShareOfVoice(side=own.side.value, slots=most, floor=share(most, at_once), weeks=shares))


async def get_rate_card(services: Services, call: Call) -> Answer | Refused:
    now_ms = services.clock.now_ms()
    return fresh(call, services.placements.rate_card(now_ms), now_ms)


def fresh(call: Call, rendered: Rendered, now_ms: int) -> Answer:
    """A response that may be cached until it changes, at most `MAX_AGE_SECONDS`."""
    left_seconds = (rendered.until_ms - now_ms) // SECOND_MS
    return cached(call, rendered.body, rendered.etag, min(MAX_AGE_SECONDS, left_seconds))


_showing = partial(
    Operation,
    method="GET",
    tag="Sponsorship",
    family=Family.SPONSORSHIP,
    access=Access.OPTIONAL,
    metered=True,
    cors=True,
    cacheable=True,
    hot=True,
)

ROWS = (
    _showing(
        name="getInventory",
        path="/api/v1/sponsors/inventory",
        summary="Get the inventory of a week",
        description="Returns the slots of a week. A slot that is `available` can be booked now, starting with this week.",
        handler=get_inventory,
        result=Inventory,
        query=InventoryQuery,
        keyless=Budget.PLACEMENTS,
    ),
    _showing(
        name="getCalendar",
        tool=Tool(
            "list_slot_weeks",
            "Use it to see in which weeks a slot is free and what it costs then.",
            {"weeks": 4},
            f"`weekStart` is at most {WEEKS_BACK} week back, by default this week.",
        ),
        path="/api/v1/sponsors/calendar",
        summary="Get the calendar of several weeks",
        description="Returns the slots of consecutive weeks with their prices, and whether each can be booked, up to the "
        "last week that can be.",
        handler=get_calendar,
        result=Calendar,
        query=CalendarQuery,
        cors=False,
        hot=False,
    ),
    _showing(
        name="listPlacements",
        path="/api/v1/sponsors/placements",
        summary="List live placements",
        description="Returns the paid and approved placements to show now.",
        handler=list_placements,
        result=PlacementList,
        keyless=Budget.PLACEMENTS,
    ),
)

RATE_CARD = (
    _showing(
        name="getRateCard",
        tool=Tool("list_slot_prices", "Use it to see what an ad costs, and which weeks are free next."),
        path="/api/v1/sponsors/rate-card",
        summary="Get the rate card",
        description="Returns the slots that are for sale, their prices and next free weeks, and what past sponsors reached.",
        handler=get_rate_card,
        result=RateCard,
        cors=False,
        hot=False,
    ),
)
