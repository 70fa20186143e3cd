"""Promise 8: the feed of an account has the events of its bookings."""

from typing import Any

from tests.judge.feeds import check
from tests.judge.finding import DAY_MS, Verdict
from tests.judge.records import Answer, Booking, History, Operation, Record
from tests.judge.small import Case, holds, op, partial, seen
from tests.judge.wire import event_record

DAY = DAY_MS / 1_000
KNOWN = op("getUsage", 0, caller="key-1", tenant="t")
BOOKED = op("createBooking", 1, caller="key-1", bookings=(Booking("b", "reserved"),))
CANCELLED = seen(2, "b", "cancelled")


def feed(at: float, *types: str, more: bool = False, **facts: Any) -> Operation:
    records = tuple(event_record(each, each, "b", each) for each in types)
    return op("listWebhookEvents", at, records=records, more=more, **{"caller": "key-1", "gives": "end", **facts})


CLEAN: dict[str, Case] = {
    "all events": [KNOWN, BOOKED, CANCELLED, feed(3, "booking.reserved", "booking.cancelled", "delivery.day")],
    "on two pages": [
        *(KNOWN, BOOKED, CANCELLED, feed(3, "booking.reserved", more=True, gives="x")),
        feed(4, "booking.cancelled", cursor="x"),
    ],
    "a part of the feed": [KNOWN, BOOKED, feed(3, cursor="x"), feed(4, more=True, gives="y"), feed(5, query="later")],
    "at the same time": [KNOWN, BOOKED._replace(ended=BOOKED.ended + 9_000), feed(3)],
    "expired by a clock that is ahead": [KNOWN, BOOKED, seen(2, "b", "expired"), feed(3, "booking.reserved")],
    "of another account": [KNOWN, BOOKED, op("getUsage", 2, caller="key-2", tenant="u"), feed(3, caller="key-2")],
    "of nobody that is known": partial(BOOKED, feed(3)),
    "of an older recorder": [
        *(KNOWN, BOOKED, feed(3)._replace(answer=Answer(200, records=(Record("e", 0, "d"),), cursor="end"))),
    ],
    "without its facts": [KNOWN, BOOKED, feed(3, gives=None)],
    "too old": [KNOWN, BOOKED, feed(40 * DAY)],
}

BROKEN: dict[str, tuple[Case, str]] = {
    "no event": ([KNOWN, BOOKED, feed(3)], "has no event booking.reserved b"),
    "no event of a move": ([KNOWN, BOOKED, CANCELLED, feed(3, "booking.reserved")], "no event booking.cancelled b"),
    "no event of a payment": (
        [KNOWN, BOOKED, seen(2, "b", "paid"), feed(3, "booking.reserved", "booking.expired")],
        "no event booking.paid b",
    ),
    "no event of a refund": (
        partial(KNOWN, BOOKED, seen(2, "b", "refunded"), feed(3, "booking.reserved")),
        "refunded b",
    ),
    "none on two pages": (
        [KNOWN, BOOKED, feed(3, "delivery.day", more=True, gives="x"), feed(4, cursor="x")],
        "has no event booking.reserved b",
    ),
}


def test_a_feed_has_an_event_for_each_state_of_a_booking() -> None:
    def judged(history: History) -> Verdict:
        return check(history, Verdict(judged=1))

    holds(judged, CLEAN, BROKEN)
