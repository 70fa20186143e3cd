"""An operation on the daily impressions and clicks of a booking. It extends the specification."""

from collections.abc import Iterable

from actors.bookings.changes import unknown_booking
from actors.bookings.records import Booking
from actors.bookings.store import DayDelivered
from actors.clock import DAY_MS, day_of
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.operations.responses import with_id
from service.api.policy import Access
from service.schemas.bookings import Delivery, DeliveryDay
from service.schemas.sites import SiteCounts


@with_id(unknown_booking)
async def read_delivery(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.sponsorship.booking(call.caller.owner, booking_id)
    if view is None:
        return unknown_booking()
    counted = await services.sponsorship.delivered(booking_id)
    delivery = delivery_of(view.booking, counted, services.clock.now_ms())
    if services.config.events.count_sites:
        delivery.sites = [SiteCounts.of(each) for each in await services.sites.store.of_booking(booking_id)]
    return Answer.of(delivery)


def delivery_of(booking: Booking, counted: Iterable[DayDelivered], now_ms: int) -> Delivery:
    """Every day of the run up to today, and other days with counts: events can be counted just after the run ends."""
    days = dict.fromkeys(_run(booking, now_ms), (0, 0))
    days |= {each.day: (each.impressions, each.clicks) for each in counted}
    items = [
        DeliveryDay(day=day * DAY_MS, impressions=impressions, clicks=clicks)
        for day, (impressions, clicks) in sorted(days.items())
    ]
    impressions, clicks = sum(item.impressions for item in items), sum(item.clicks for item in items)
    ctr = clicks / impressions if impressions else None
    return Delivery(items=items, impressions=impressions, clicks=clicks, ctr=ctr)


def _run(booking: Booking, now_ms: int) -> range:
    """The days of a paid booking's weeks up to today. Empty for other bookings."""
    if booking.paid_ms is None:
        return range(0)
    return range(day_of(booking.week_start_ms), min(day_of(booking.week_end_ms), day_of(now_ms) + 1))


ROWS = (
    Operation(
        name="getDelivery",
        method="GET",
        path="/api/v1/sponsors/bookings/{id}/delivery",
        summary="Read the daily delivery of a booking",
        description="Returns the impressions and clicks of each day of a paid booking up to today, in order, including "
        "days without any.",
        tag="Bookings",
        handler=read_delivery,
        result=Delivery,
        access=Access.REQUIRED,
        family=Family.SPONSORSHIP,
        metered=True,
        scopes=(Scope.SPONSOR_READ,),
        codes=(Code.NOT_FOUND,),
    ),
)
