"""An operation on the daily impressions and clicks of a booking. It extends the specification."""

from actors.bookings.changes import unknown_booking
from actors.bookings.reports import BookingDelivered, day_text, days_of
from actors.clock import DAY_MS
from actors.values import Code, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.operations.responses import with_id
from service.api.policy import Access
from service.api.spreadsheets import csv_answer
from service.schemas.bookings import Delivery, DeliveryDay
from service.schemas.reports import DeliveryQuery, SiteCounts, rate

HEADER = ("date", "impressions", "clicks", "ctr")


@with_id(unknown_booking)
async def read_delivery(services: Services, call: Call, booking_id: str) -> Answer | Refused:
    view = await services.sponsorship.booking(call.caller.owner, booking_id)
    if view is None:
        return unknown_booking()
    counted = await services.sponsorship.delivered(booking_id)
    delivered = BookingDelivered(view.booking, view.campaign_name, tuple(counted))
    now_ms = services.clock.now_ms()
    if call.query.format == "csv":
        rows = [
            (day_text(day.day), day.impressions, day.clicks, rate(day.impressions, day.clicks))
            for day in days_of(delivered, now_ms)
        ]
        return csv_answer(f"delivery-{booking_id}.csv", HEADER, rows)
    delivery = delivery_of(delivered, now_ms)
    if services.config.events.count_sites:
        delivery.sites = [SiteCounts.of(each) for each in await services.sites.store.of_booking(booking_id)]
    return Answer.of(delivery)


def delivery_of(delivered: BookingDelivered, now_ms: int) -> Delivery:
    """Every day of the run up to today, and other days with counts: events can be counted just after the run ends."""
    items = [
        DeliveryDay(day=day.day * DAY_MS, impressions=day.impressions, clicks=day.clicks)
        for day in days_of(delivered, now_ms)
    ]
    impressions, clicks = sum(item.impressions for item in items), sum(item.clicks for item in items)
    ctr = clicks / impressions if impressions else None
    return Delivery(items=items, impressions=impressions, clicks=clicks, ctr=ctr)


ROWS = (
    Operation(
        name="getDelivery",
        method="GET",
        path="/api/v1/sponsors/bookings/{id}/delivery",
        summary="Get the daily delivery of a booking",
        description="Returns the impressions and clicks of each day of a paid booking up to today, in order, including "
        "days without any.",
        tag="Bookings",
        handler=read_delivery,
        result=Delivery,
        query=DeliveryQuery,
        access=Access.REQUIRED,
        family=Family.SPONSORSHIP,
        metered=True,
        spreadsheet=True,
        scopes=(Scope.SPONSOR_READ,),
        codes=(Code.NOT_FOUND,),
    ),
)
