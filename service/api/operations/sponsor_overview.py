"""The bookings of an account for the overview of its sponsor: those that matter now, and sums. Only pages call it."""

from collections.abc import Sequence

from actors.bookings.records import OPEN, BookingStatus, BookingView
from actors.bookings.store import Before
from actors.values import Refused
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call
from service.api.operations.bookings import booking_of, booking_position
from service.schemas.internal import Spent, SponsorOverview

PAGE_BOOKINGS = 200
MOST_READ = 1_000
"""The newest bookings of an account that the sums are over."""

MOST_PRESENT = 50
MOST_PAST = 6


async def read_overview(services: Services, call: Call) -> Answer | Refused:
    views: list[BookingView] = []
    before: Before | None = None
    more = True
    while more and len(views) < MOST_READ:
        page = await services.sponsorship.bookings(call.caller.owner, before, PAGE_BOOKINGS)
        views += page
        more = len(page) == PAGE_BOOKINGS
        if more:
            before = booking_position(page[-1])
    now_ms = services.clock.now_ms()
    present = sorted((each for each in views if is_present(each, now_ms)), key=_first_week)
    past = sorted((each for each in views if is_past(each, now_ms)), key=_first_week, reverse=True)
    paid = [each.booking.paid_ms for each in views if each.booking.paid_ms is not None]
    overview = SponsorOverview(
        present=[booking_of(services, each) for each in present[:MOST_PRESENT]],
        past=[booking_of(services, each) for each in past[:MOST_PAST]],
        bookings=len(views),
        more=more,
        sinceMs=min(paid, default=None),
        impressions=sum(each.impressions for each in views),
        clicks=sum(each.clicks for each in views),
        spent=spent_of(views),
    )
    return Answer.of(overview)


def is_present(view: BookingView, now_ms: int) -> bool:
    """Whether a booking is held, or paid with weeks that are not over."""
    status = view.booking.status_at(now_ms)
    return status in OPEN or (status is BookingStatus.PAID and now_ms < view.booking.week_end_ms)


def is_past(view: BookingView, now_ms: int) -> bool:
    """Whether a booking was paid, and is over or was refunded. Those that were never paid are only in the whole list."""
    return view.booking.paid_ms is not None and not is_present(view, now_ms)


def _first_week(view: BookingView) -> tuple[int, int, str]:
    return view.booking.week_start_ms, view.booking.created_ms, view.booking.id


def spent_of(views: Sequence[BookingView]) -> list[Spent]:
    """The sums paid and refunded, by currency."""
    sums: dict[str, Spent] = {}
    for booking in (each.booking for each in views if each.booking.paid_ms is not None):
        spent = sums.setdefault(booking.currency, Spent(currency=booking.currency))
        spent.paidCents += booking.amount_cents
        spent.refundedCents += booking.refunded_cents
        spent.refunds += booking.refunded_cents > 0
    return [sums[currency] for currency in sorted(sums)]
