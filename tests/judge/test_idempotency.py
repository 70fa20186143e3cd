"""Promise 2: an idempotency key has one outcome."""

from typing import Any

from tests.judge.finding import WEEK_MS
from tests.judge.idempotency import check
from tests.judge.records import Booking, Campaign, Key, Operation
from tests.judge.small import WEEK, Case, holds, op, partial


def book(at: float, key: str, id: str | None = "b", slot: str = "left", **facts: Any) -> Operation:
    """A request to book with a key, which made a booking, or got no answer."""
    own: dict[str, Any] = {"status": None} if id is None else {"bookings": (Booking(id, "reserved"),)}
    asked = {"caller": "key-1", "key": key, "body": slot, "slot": slot, "week": WEEK}
    return op(facts.pop("kind", "createBooking"), at, **{**asked, **own, **facts})


def conflict(at: float, key: str, slot: str = "left", **facts: Any) -> Operation:
    return book(at, key, slot=slot, status=409, code="idempotency_conflict", bookings=(), **facts)


def issued(at: float, key: str, text: str) -> Operation:
    return op("createAccountKey", at, caller="key-1", key=key, body="{}", keys=(Key(text),))


MINE = op("getUsage", 0, caller="key-1", tenant="t"), op("getUsage", 0, caller="key-2", tenant="t")


def shown(slot: str, week: int, campaign: str) -> Operation:
    """A booking that was answered to a request for the next week of the slot `left` for the campaign `x`."""
    booking, of = Booking("b", "reserved", slot, week), Campaign(campaign, "draft")
    return book(0, "k", campaign="x", bookings=(booking,), campaigns=(of,))


CLEAN: dict[str, Case] = {
    "as asked": [shown("left", WEEK, "x")],
    "repeated": [book(0, "k"), book(1, "k")],
    "repeated after no answer": [book(0, "k", None), book(1, "k"), book(0, "k", None)],
    "of two accounts": [book(0, "k", "b"), book(1, "k", "c", caller="key-2")],
    "of two operations": [book(0, "k", "b"), book(1, "k", "c", kind="startBooking")],
    "refused at first": [book(0, "k", status=409, code="slot_unavailable", bookings=()), book(1, "k", slot="right")],
    "another body": [book(0, "k"), conflict(1, "k", "right")],
    "another body that had no answer": [book(0, "k", None), conflict(0.05, "k", "right"), book(2, "k")],
    "a key that is shown once": [issued(0, "k", "key-9"), conflict(1, "k", kind="createAccountKey", body="{}")],
    "a conflict with what nobody recorded": partial(conflict(0, "k")),
    "two campaigns of two keys": [
        op("createCampaign", 0, key="a", campaigns=(Campaign("x", "pending"),)),
        op("createCampaign", 1, key="b", campaigns=(Campaign("y", "pending"),)),
    ],
}

BROKEN: dict[str, tuple[Case, str]] = {
    "two bookings": ([book(0, "k", "b"), book(1, "k", "c")], "two outcomes"),
    "two bookings of one account": ([*MINE, book(1, "k", "b"), book(2, "k", "c", caller="key-2")], "two outcomes"),
    "two bookings at once": ([book(0, "k", "b", took=5), book(1, "k", "c")], "two outcomes"),
    "two bodies": (partial(book(0, "k"), book(1, "k", slot="right")), "for two bodies"),
    "one booking of two keys": ([book(0, "k"), book(1, "l")], "have one outcome"),
    "two campaigns": (
        [
            op("createCampaign", 0, key="a", campaigns=(Campaign("x", "pending"),)),
            op("createCampaign", 1, key="a", campaigns=(Campaign("y", "pending"),)),
        ],
        "two outcomes",
    ),
    "another slot": ([shown("right", WEEK, "x")], "not asked for"),
    "another week": ([shown("left", WEEK + WEEK_MS, "x")], "not asked for"),
    "another campaign": ([shown("left", WEEK, "y")], "not asked for"),
    "two keys": ([issued(0, "k", "key-8"), issued(1, "k", "key-9")], "two outcomes"),
    "a key that is shown twice": ([issued(0, "k", "key-8"), issued(1, "k", "key-8")], "answered twice"),
    "a conflict with nothing": ([conflict(0, "k"), book(1, "k")], "but it was not"),
    "a conflict with the same body": ([book(0, "k"), conflict(1, "k")], "but it was not"),
}


def test_an_idempotency_key_has_one_outcome() -> None:
    holds(check, CLEAN, BROKEN)
