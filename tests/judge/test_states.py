"""Promise 7: states follow their tables."""

from typing import Any

from actors.bookings.transitions import BOOKING_MOVES, CAMPAIGN_MOVES
from tests.judge import tables
from tests.judge.records import Campaign, Key, Limit, Operation, Usage
from tests.judge.small import HOLD, NOON, Case, holds, op, partial, seen
from tests.judge.states import check


def ad(at: float, status: str, kind: str = "getCampaign", **facts: Any) -> Operation:
    return op(kind, at, id="x", campaigns=(Campaign("x", status),), **facts)


def tried(kind: str, at: float, **facts: Any) -> Operation:
    return op(kind, at, id="x", **{"status": None, **facts})


def uses(at: float, caller: str = "key-1", **facts: Any) -> Operation:
    return op("listBots", at, caller=caller, metered=True, **{"limits": (Limit("day", 9, 1),), **facts})


def usage(at: float, status: str) -> Operation:
    return op("getUsage", at, caller="key-1", usage=Usage(status, 1, 9, 1))


MADE = op("createAccountKey", 0, keys=(Key("key-1", id="k1"),))
REVOKED = op("revokeAccountKey", 5, id="k1", revoked=("k1",))
MINE = seen(0, "a", "reserved", kind="createBooking", caller="key-1")
CANCELS = op("cancelBooking", 0.5, id="a", status=None)
CHECKS_OUT = op("openCheckout", 0.5, id="a", status=None)
OVER = (HOLD - NOON) / 1_000

CLEAN: dict[str, Case] = {
    "a booking that others do not find": [MINE, op("getBooking", 2, caller="key-2", id="a", status=404)],
    "a booking of an account that is being deleted": [
        *(MINE, op("deleteAccount", 1, took=9), op("getBooking", 2, caller="key-1", id="a", status=404)),
    ],
    "a booking of an account that was deleted": [
        *(MINE, op("confirmAccountDeletion", 1, status=None), op("getBooking", 2, caller="key-1", id="a", status=404)),
    ],
    "a booking to its end": [
        CHECKS_OUT,
        *(
            seen(n, "a", status)
            for n, status in enumerate(("reserved", "checkout", "paid", "refunding", "refunded"), 1)
        ),
    ],
    "paid again": [seen(0, "a", "paid"), seen(1, "a", "refunding"), seen(2, "a", "paid")],
    "paid after it expired": [seen(0, "a", "reserved"), seen(OVER + 2, "a", "expired"), seen(OVER + 3, "a", "paid")],
    "two reads at once": [CANCELS, seen(1, "a", "cancelled", took=5), seen(2, "a", "reserved", took=5)],
    "expired by a clock that is ahead": [
        seen(0, "a", "reserved"),
        seen(OVER - 0.9, "a", "expired"),
        seen(OVER, "a", "reserved"),
    ],
    "expired by a clock that is ahead, then checked out": [
        CHECKS_OUT,
        seen(OVER - 0.5, "a", "expired"),
        seen(OVER, "a", "checkout", held=2 * HOLD - NOON),
    ],
    "the end of a renewed hold": [
        *(CHECKS_OUT, seen(OVER * 2 - 0.5, "a", "expired"), seen(OVER * 2, "a", "checkout", held=2 * HOLD - NOON)),
    ],
    "a campaign": [
        *(ad(0, "pending"), ad(1, "draft", "withdrawCampaign"), ad(2, "pending", "submitCampaign")),
        *(ad(3, "approved", "reviewCampaign", decision="approve"), ad(4, "paused", "pauseCampaign"), ad(5, "paused")),
        *(ad(6, "paused", "editCampaign"), ad(7, "paused", "reviewCampaign", decision="reject")),
        ad(8, "approved", "resumeCampaign"),
    ],
    "a move without an answer": [ad(0, "pending"), tried("withdrawCampaign", 1), ad(2, "pending"), ad(9, "draft")],
    "moves by others": partial(ad(0, "pending"), ad(1, "approved")),
    "a move under way": [
        ad(0, "approved"),
        ad(1, "paused", "pauseCampaign", took=9),
        ad(3, "approved"),
        ad(4, "paused"),
    ],
    "a key until it is revoked": [MADE, uses(1), REVOKED, uses(14)],
    "a key and its successor": [
        *(MADE, op("rotateAccountKey", 1, id="k1", keys=(Key("key-2", "k2", replaces="k1", old_ends=NOON + 60_000),))),
        *(uses(59), uses(99, "key-2")),
    ],
    "an end that was moved": [
        op("rotateAccountKey", 0, keys=(Key("key-1", "k1", ends=NOON + 9_000),)),
        *(op("editAccountKey", 5, id="k1", status=None), uses(60)),
    ],
    "an anonymous key that was claimed": [
        op("mintKey", 0, keys=(Key("key-1", claim="x", ends=NOON + 9_000),)),
        *(op("completeClaim", 1, id="x", status=None), usage(2, "claimed"), usage(60, "upgraded")),
    ],
}

BROKEN: dict[str, tuple[Case, str]] = {
    "a booking that is gone": (
        partial(MINE, op("getBooking", 2, caller="key-1", id="a", status=404)),
        "booking a is not there any more",
    ),
    "a key that is minted twice": (
        partial(op("mintKey", 0, keys=(Key("key-1"),)), op("mintKey", 1, keys=(Key("key-1"),))),
        "key-1 was minted twice",
    ),
    "reserved again": ([CANCELS, seen(1, "a", "cancelled"), seen(2, "a", "reserved")], "cancelled and later reserved"),
    "paid, then checkout": (partial(seen(1, "a", "paid"), seen(2, "a", "checkout")), "was paid and later checkout"),
    "paid after it was cancelled": (
        [CANCELS, seen(1, "a", "cancelled"), seen(2, "a", "refunding"), seen(3, "a", "expired")],
        "later expired",
    ),
    "expired long before its end": (
        [seen(0, "a", "reserved"), seen(5, "a", "expired"), seen(9, "a", "reserved")],
        "was expired",
    ),
    "checked out after it expired": (
        [
            CHECKS_OUT,
            seen(0, "a", "reserved"),
            seen(OVER + 5, "a", "expired"),
            seen(OVER + 9, "a", "checkout", held=9 * HOLD),
        ],
        "was expired and later checkout",
    ),
    "cancelled by nobody": ([seen(0, "a", "reserved"), seen(1, "a", "cancelled")], "nobody had asked for that"),
    "a wrong answer to a move": (partial(ad(0, "approved", "pauseCampaign")), "which leads to paused"),
    "approved by nobody": ([ad(0, "pending"), ad(1, "approved")], "no request between leads there"),
    "approved by a refused request": (
        [ad(0, "pending"), tried("reviewCampaign", 1, decision="approve", status=409), ad(2, "approved")],
        "no request between leads there",
    ),
    "moved by an earlier request": (
        [ad(0, "paused", "pauseCampaign"), ad(1, "approved", "resumeCampaign"), ad(2, "paused")],
        "was approved and later paused",
    ),
    "moved by another request": (
        [ad(0, "pending"), tried("pauseCampaign", 1), ad(2, "draft")],
        "was pending and later draft",
    ),
    "a revoked key works": (partial(MADE, REVOKED, uses(60)), "was revoked"),
    "a replaced key works": (
        [MADE, op("rotateAccountKey", 1, keys=(Key("key-2", "k2", replaces="k1", old_ends=NOON + 5_000),)), uses(60)],
        "was replaced",
    ),
    "an ended key works": ([op("mintKey", 0, keys=(Key("key-1", ends=NOON + 9_000),)), uses(60)], "ended at"),
    "a refused key works again": (
        [uses(0, status=401, code="invalid_api_key", limits=()), uses(60)],
        "was refused as ended",
    ),
    "anonymous again": ([usage(0, "claimed"), usage(60, "anonymous")], "anonymous again"),
}


def test_states_follow_their_tables() -> None:
    holds(check, CLEAN, BROKEN)


def test_the_tables_are_those_of_the_service() -> None:
    """The judge has its own tables, as the documentation draws them."""
    following = {str(state): {str(after) for after in moves.values()} for state, moves in BOOKING_MOVES.items()}
    assert following == tables.BOOKING_STATES
    moves = {
        str(state): {str(move).replace("_", " "): str(after) for move, after in found.items()}
        for state, found in CAMPAIGN_MOVES.items()
    }
    assert moves == tables.CAMPAIGN_MOVES
