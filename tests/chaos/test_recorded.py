"""Faults that the chaos run once found in the database, and the judge finds in answers: each is planted in a small history,
whose end is that of a run (tests/chaos/auditor.py)."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.judge.judging import CHECKS, judge
from tests.judge.records import Booking, Campaign, Invoice, Key, Limit, Operation, Usage
from tests.judge.small import WEEK, event, history, op, seen

WEEKS, KEYS, _, CHARGES, ONCE, COUNTS, STATES, _, DOCUMENTS = CHECKS
"""The promises, in their order."""

MINTED = op("mintKey", 0, keys=(Key("key-a", tenant="t"),))


def spent(at: float, left: int) -> Operation:
    """A charged request of the minted key, whose cap is 100."""
    return op("listBots", at, caller="key-a", metered=True, limits=(Limit("lifetime", 100, left),))


def used(requests: int) -> Operation:
    """The use of the minted key, as the auditor reads it."""
    return op(
        "getUsage", 90, by="auditor", caller="key-a", tenant="t", usage=Usage("anonymous", requests, 100, requests)
    )


def booked(at: float, id: str, *, key: str = "k", slot: str = "left", shown: str = "", by: str = "c") -> Operation:
    """A booking of a slot and the next week, answered to a wish under an idempotency key."""
    booking, campaign = Booking(id, "reserved", shown or slot, WEEK), Campaign("x", "draft")
    asked: dict[str, Any] = {"key": key, "body": slot, "slot": slot, "week": WEEK, "campaign": "x"}
    return op("createBooking", at, by=by, bookings=(booking,), campaigns=(campaign,), **asked)


def paid(at: float, **facts: object) -> Operation:
    return seen(at, "a", "paid", paid=100, by="auditor", **facts)


def documents(at: float, *numbers: int) -> Operation:
    shown = [Invoice(f"TEST-INV-{number:06}", "invoice", "a", 100, "d") for number in numbers]
    return op("getInvoices", at, id="a", invoices=shown)


CHECKED_OUT = seen(0, "a", "reserved"), op("openCheckout", 1, id="a")

FOUND: dict[str, tuple[str, Sequence[Operation]]] = {
    "a charge is lost": (CHARGES, [MINTED, spent(1, 99), spent(2, 98), used(1)]),
    "a charge counts twice": (CHARGES, [MINTED, spent(1, 99), used(2)]),
    "a charge without a request": (CHARGES, [MINTED, used(1)]),
    "a booking is of another slot": (KEYS, [booked(1, "a", shown="right")]),
    "a booking was cancelled, and is held": (
        STATES,
        [op("cancelBooking", 1, id="a"), seen(2, "a", "cancelled"), seen(90, "a", "reserved", by="auditor")],
    ),
    "a payment that an answer showed is lost": (STATES, [*CHECKED_OUT, paid(2), seen(90, "a", "checkout")]),
    "a week is sold twice": (WEEKS, [seen(90, "a", "paid", kind="listAllBookings"), *(seen(90, "b", "paid"),)]),
    "an idempotency key has two outcomes": (KEYS, [booked(1, "a"), booked(2, "b")]),
    "an idempotency key has one for each body": (KEYS, [booked(1, "a"), booked(2, "b", slot="right")]),
    "an idempotency key is forgotten": (KEYS, [booked(1, "a"), booked(90, "b", by="auditor")]),
    "a number is left out": (DOCUMENTS, [*CHECKED_OUT, paid(90), documents(91, 2), documents(93, 2), paid(95)]),
    "a payment has no invoice": (DOCUMENTS, [*CHECKED_OUT, paid(90), documents(91), paid(95)]),
    "a recorded event is lost": (ONCE, [event(1, "v"), event(2, "w", None), event(90, "v", by="auditor")]),
    "a recorded event is not counted": (COUNTS, [event(1, "v"), seen(90, "b", "paid", impressions=0, clicks=0)]),
    "an event counts twice": (COUNTS, [event(1, "v"), seen(90, "b", "paid", impressions=2, clicks=0)]),
    "an event is recorded twice": (ONCE, [event(1, "v"), event(2, "v")]),
    "a duplicate of nothing": (ONCE, [event(1, "v", "duplicate"), event(2, "v")]),
}


@pytest.mark.parametrize("name", FOUND)
def test_the_judge_finds_from_answers_what_the_rows_showed(name: str) -> None:
    promise, operations = FOUND[name]
    verdicts = judge(history(operations))
    assert [each for each, verdict in verdicts.items() if verdict.broken] == [promise]
