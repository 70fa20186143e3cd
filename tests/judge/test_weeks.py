"""Promise 1: a week has one owner at a time, as far as answers prove it."""

from tests.judge.finding import WEEK_MS
from tests.judge.small import HOLD, WEEK, Case, holds, op, partial, seen
from tests.judge.weeks import check

CLEAN: dict[str, Case] = {
    "two slots": [seen(0, "a", "reserved"), seen(1, "b", "reserved", slot="right")],
    "two weeks": [seen(0, "a", "reserved"), seen(1, "b", "reserved", week=WEEK + WEEK_MS, end=WEEK + 2 * WEEK_MS)],
    "cancelled before": [
        seen(0, "a", "reserved"),
        seen(1, "a", "cancelled", kind="cancelBooking"),
        seen(2, "b", "reserved"),
    ],
    "cancelled without an answer": [
        seen(0, "a", "reserved"),
        op("cancelBooking", 1, status=None, id="a"),
        seen(2, "b", "reserved"),
    ],
    "cancelled long after the request began": [
        seen(0, "a", "reserved"),
        seen(0.5, "a", "cancelled", kind="cancelBooking", took=9),
        seen(5, "b", "reserved"),
    ],
    "the hold ran out by the clock of another node": [seen(0, "a", "reserved"), seen(1_799.5, "b", "reserved")],
    "a checkout renewed the hold of an expired booking": [
        seen(0, "a", "reserved"),
        seen(1_801, "b", "reserved", held=HOLD * 2),
        op("cancelBooking", 1_810, status=None, id="b"),
        seen(2_000, "a", "paid"),
    ],
    "a checkout renews the hold": [seen(0, "a", "reserved"), seen(1, "a", "checkout", held=HOLD + 1)],
    "a checkout by a clock that is behind ends sooner": [
        *(seen(0, "a", "reserved"), op("openCheckout", 0.1, status=None, id="a"), seen(1_797.5, "b", "reserved")),
    ],
    "a checkout ends sooner, as another clock tells": [
        *(seen(0, "a", "reserved"), seen(1, "a", "checkout", held=HOLD - 1_900), seen(1_797.3, "a", "expired")),
    ],
    "expired by the clock of another node": [
        *(seen(0, "a", "reserved"), seen(1_799.1, "a", "expired"), seen(1_799.2, "a", "checkout", held=2 * HOLD)),
    ],
    "open by the clock of another node": [seen(0, "a", "reserved"), seen(1_800.9, "a", "reserved")],
    "seen by others only": partial(seen(0, "a", "reserved"), seen(9, "b", "reserved")),
    "paid and refunded between two reads": partial(
        seen(0, "a", "paid"), seen(5, "b", "paid"), seen(9, "a", "paid"), seen(10, "a", "refunded", refunded=5)
    ),
    "refunding may be too late for its weeks": [
        seen(0, "a", "refunding"),
        seen(1, "b", "paid"),
        seen(2, "a", "refunding"),
    ],
    "an account was deleted": [seen(0, "a", "paid"), op("deleteAccount", 1, status=None), seen(2, "b", "reserved")],
}

BROKEN: dict[str, tuple[Case, str]] = {
    "reserved twice": ([seen(0, "a", "reserved"), seen(1, "b", "reserved")], "held by booking a and by booking b"),
    "paid and reserved": ([seen(0, "a", "paid"), seen(9_999, "b", "reserved")], "held by booking a and by booking b"),
    "between two reads": (
        partial(seen(0, "a", "reserved"), seen(5, "b", "paid"), seen(9, "a", "reserved")),
        "held by booking a and by booking b",
    ),
    "between two reads of both": (
        partial(
            *(seen(0, "a", "reserved"), seen(5, "b", "reserved", took=5)),
            *(seen(9, "a", "checkout", took=3), seen(20, "b", "reserved"), seen(30, "a", "paid")),
        ),
        "held by booking a and by booking b",
    ),
    "the second week of a package": (
        [
            seen(0, "a", "paid", end=WEEK + 2 * WEEK_MS),
            seen(1, "b", "reserved", week=WEEK + WEEK_MS, end=WEEK + 2 * WEEK_MS),
        ],
        "2026-11-30",
    ),
    "a cancellation that was refused": (
        [seen(0, "a", "reserved"), op("cancelBooking", 1, status=409, id="a"), seen(2, "b", "reserved")],
        "at the same time",
    ),
    "a hold without end": ([seen(0, "a", "reserved"), seen(1_802, "a", "reserved")], "is reserved after its hold"),
    "a hold that is cut off": (
        partial(seen(0, "a", "reserved"), seen(9, "a", "expired")),
        "expired before its hold is over",
    ),
    "a hold that is prolonged": (
        partial(seen(0, "a", "checkout"), seen(1, "a", "checkout", held=HOLD + 1)),
        "the hold of booking a in checkout ends at",
    ),
    "a checkout that is cut off": (
        partial(seen(0, "a", "checkout"), seen(1_798.5, "a", "expired")),
        "expired before its hold is over",
    ),
    "another slot than before": (
        partial(seen(0, "a", "paid"), seen(1, "a", "paid", slot="right")),
        "has two values of its slot: left and right",
    ),
    "another price than before": (
        partial(seen(0, "a", "paid", price=5), seen(1, "a", "paid", price=6)),
        "has two values of its price: 5 and 6",
    ),
    "behind others that end sooner": (
        partial(
            *(seen(0, "a", "paid"), seen(1, "b", "reserved"), seen(2, "b", "cancelled")),
            *(seen(3, "c", "reserved"), seen(9, "a", "paid")),
        ),
        "held by booking a and by booking c",
    ),
}


def test_a_week_has_one_owner_at_a_time() -> None:
    holds(check, CLEAN, BROKEN)
