"""The rules of refunds of a part: ordered by the service, made by hand, failed, and followed by a lost dispute."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from actors.bookings.invoices import InvoiceKind
from actors.bookings.messages import OrderRefund, RequestRefund, SettleDispute, SettleRefund
from actors.bookings.records import BookingStatus, PaymentState
from tests.slow import repeats
from tests.state.ledger import ANN, HOUR, Ledger, booked, furnished
from tests.state.test_payments import kept_nothing

PAID, REFUNDING, REFUNDED = BookingStatus.PAID, BookingStatus.REFUNDING, BookingStatus.REFUNDED
FULL, PRICE, PART = 10_000, 7_142, 3_000
"""The prices of a week, and of the one that has begun; and a part of them."""
PAYMENT = "pay_b1"


@pytest.fixture
def ledger() -> Ledger:
    """A paid booking of one week, `b1`."""
    ledger = furnished()
    ledger.paid("b1")
    return ledger


@pytest.fixture
def ordered(ledger: Ledger) -> Ledger:
    """A refund of 30 % of it is ordered."""
    ledger.act(ledger.refund("b1"))
    ledger.bookings["b1"] = replace(ledger.bookings["b1"], refund_cents=PART)
    return ledger


def state(ledger: Ledger) -> tuple[BookingStatus, int]:
    return ledger.bookings["b1"].status, ledger.bookings["b1"].refunded_cents


def written(ledger: Ledger) -> list[tuple[InvoiceKind, int]]:
    return [(each.kind, each.amount_cents) for each in ledger.last.invoices]


def by_hand(ledger: Ledger, total: int, event: str) -> None:
    """An event of the processor: so much was refunded in all."""
    ledger.act(ledger.settle("b1", event=event, payment=PAYMENT, total_cents=total))


def ours(ledger: Ledger, event: str = "re_1", declined: str | None = None, cents: int = PART) -> None:
    """An event about a refund of ours."""
    ledger.act(ledger.settle("b1", declined, event, PAYMENT, cents=cents))


def test_the_ordered_part_is_refunded_and_credited(ordered: Ledger) -> None:
    ordered.act(ordered.settle("b1"))
    assert state(ordered) == (REFUNDED, PART)
    assert written(ordered) == [(InvoiceKind.CREDIT_NOTE, PART)]
    assert ordered.held("b1") == []


@pytest.mark.parametrize("first", ["sweeper", "refund", "charge"])
def test_the_reports_of_one_refund_count_once_in_any_order(ordered: Ledger, first: str) -> None:
    reports: dict[str, Callable[[], object]] = {
        "sweeper": lambda: ordered.act(ordered.settle("b1")),
        "refund": lambda: ours(ordered),
        "charge": lambda: by_hand(ordered, PART, "evt_c"),
    }
    reports.pop(first)()
    assert state(ordered) == (REFUNDED, PART)
    for report in reports.values():
        report()
        assert kept_nothing(ordered)
        assert written(ordered) == []


def test_a_part_by_hand_leaves_the_booking_on_the_air(ledger: Ledger) -> None:
    by_hand(ledger, PART, "evt_1")
    assert (state(ledger), ledger.held("b1")) == ((PAID, PART), [0])
    assert ledger.told()[-1] == ("booking.refunded_in_part", {"refundedCents": [0, PART], "currency": "usd"})
    assert written(ledger) == [(InvoiceKind.CREDIT_NOTE, PART)]
    by_hand(ledger, PART, "evt_2")
    assert kept_nothing(ledger)
    by_hand(ledger, PART - 1, "evt_3")
    assert kept_nothing(ledger)
    by_hand(ledger, PART + 1, "evt_4")
    assert written(ledger) == [(InvoiceKind.CREDIT_NOTE, 1)]


def test_the_rest_is_refunded_after_a_part_by_hand(ledger: Ledger) -> None:
    by_hand(ledger, PART, "evt_1")
    booking = booked(ledger.one(ledger.refund("b1")))
    assert booking.refund_left_cents == PRICE - PART
    ledger.act(ledger.settle("b1"))
    assert state(ledger) == (REFUNDED, PRICE)
    assert written(ledger) == [(InvoiceKind.CREDIT_NOTE, PRICE - PART)]


def test_a_smaller_part_by_hand_is_not_the_ordered_refund(ordered: Ledger) -> None:
    by_hand(ordered, 1_000, "evt_1")
    assert state(ordered) == (REFUNDING, 1_000)
    ours(ordered)
    assert state(ordered) == (REFUNDED, 1_000 + PART)
    assert written(ordered) == [(InvoiceKind.CREDIT_NOTE, PART)]


def test_all_by_hand_is_all_whatever_was_ordered(ordered: Ledger) -> None:
    ordered.act(ordered.settle("b1", event="evt_all", payment=PAYMENT))
    assert state(ordered) == (REFUNDED, PRICE)
    ordered.act(ordered.settle("b1"))
    assert kept_nothing(ordered)


def test_the_rest_by_hand_after_the_ordered_part_is_credited_too(ordered: Ledger) -> None:
    ordered.act(ordered.settle("b1"))
    by_hand(ordered, PART + 5, "evt_1")
    assert state(ordered) == (REFUNDED, PART + 5)
    ordered.act(ordered.settle("b1", event="evt_all", payment=PAYMENT))
    assert state(ordered) == (REFUNDED, PRICE)
    assert written(ordered) == [(InvoiceKind.CREDIT_NOTE, PRICE - PART - 5)]


def test_never_more_is_refunded_than_was_paid(ledger: Ledger) -> None:
    by_hand(ledger, PRICE - 1, "evt_1")
    ledger.act(ledger.refund("b1"))
    ledger.bookings["b1"] = replace(ledger.bookings["b1"], refund_cents=PART)
    assert ledger.bookings["b1"].refund_left_cents == 1
    ledger.act(ledger.settle("b1"))
    assert state(ledger) == (REFUNDED, PRICE)


def test_only_the_part_that_failed_comes_back(ordered: Ledger) -> None:
    by_hand(ordered, 1_000, "evt_1")
    ours(ordered)
    ours(ordered, "re_1_failed", "Returned by the bank")
    assert state(ordered) == (REFUNDING, 1_000)
    assert written(ordered) == [(InvoiceKind.INVOICE, PART)]
    ordered.act(ordered.refund("b1"), ordered.settle("b1"))
    assert state(ordered) == (REFUNDED, 1_000 + PART)


OLD, NEW = "re_old", "re_new"
"""Two attempts at a refund: the first one fails, then the other one is made."""
AGO = 1_000

REPORTS: dict[str, Callable[[Ledger, str], SettleRefund | OrderRefund]] = {
    "made": lambda ledger, refund: told(ledger, refund),
    "failed": lambda ledger, refund: told(ledger, refund, "Returned by the bank"),
    "answered": lambda ledger, refund: ledger.settle("b1", payment=PAYMENT, cents=PART, refund=refund),
    "returned": lambda ledger, refund: ledger.settle("b1", "Returned", payment=PAYMENT, cents=PART, refund=refund),
    "ordered": lambda ledger, refund: ledger.refund("b1"),
    "declined": lambda ledger, refund: ledger.settle("b1", "Not now"),
    "counted": lambda ledger, refund: ledger.settle("b1", event=f"{refund}.total", payment=PAYMENT, total_cents=PART),
    "another": lambda ledger, refund: ledger.settle(
        "b1", event=f"{refund}.total", payment=PAYMENT, total_cents=PART + 1
    ),
}


def told(ledger: Ledger, refund: str, declined: str | None = None) -> SettleRefund:
    """An event about an attempt."""
    event = f"{refund}.{'made' if declined is None else 'failed'}"
    return ledger.settle("b1", declined, event, PAYMENT, PART, refund=refund, at_ms=ledger.now_ms)


@pytest.mark.parametrize(
    ("reports", "status", "refunded"),
    [
        # The failure of an attempt says nothing of a later one that was made.
        (["made NEW", "failed OLD"], REFUNDED, PART),
        (["answered NEW", "failed OLD"], REFUNDED, PART),
        (["made OLD", "answered NEW", "failed OLD"], REFUNDED, PART),
        (["made NEW", "failed OLD", "failed NEW"], REFUNDING, 0),
        (["failed NEW", "failed OLD"], PAID, 0),
        (["made NEW", "counted NEW", "failed OLD"], REFUNDED, PART),
        # A failure is final, whatever is reported after it.
        (["made OLD", "failed OLD", "made OLD"], REFUNDING, 0),
        (["made OLD", "failed OLD", "answered OLD"], REFUNDING, 0),
        (["failed OLD", "made OLD"], PAID, 0),
        (["made OLD", "returned OLD", "failed OLD"], REFUNDING, 0),
        (["made OLD", "failed OLD", "ordered", "answered OLD"], REFUNDING, 0),
        (["failed OLD", "ordered", "failed OLD"], REFUNDING, 0),
        # The next attempt counts, also if nobody has ordered it again.
        (["made OLD", "failed OLD", "answered NEW"], REFUNDED, PART),
        (["made OLD", "failed OLD", "ordered", "made NEW", "answered NEW", "failed OLD"], REFUNDED, PART),
        (["failed OLD", "answered NEW"], REFUNDED, PART),
        # An order that was declined to one node was carried out by another, or by hand.
        (["declined OLD", "counted NEW"], REFUNDED, PART),
        (["declined OLD", "counted NEW", "failed NEW"], REFUNDING, 0),
        (["declined OLD", "another NEW"], PAID, PART + 1),
    ],
)
def test_an_outcome_is_that_of_the_attempt_it_names(
    ordered: Ledger, reports: list[str], status: BookingStatus, refunded: int
) -> None:
    for number, each in enumerate(reports):
        kind, _, name = each.partition(" ")
        report = REPORTS[kind](ordered, OLD if name == "OLD" else NEW)
        # The processor may give a report again, and repeats it under the id of another event.
        again = replace(report, event_id=f"again_{number}") if isinstance(report, SettleRefund) else report
        ordered.act(report, again)
    assert (*state(ordered), ordered.credited) == (status, refunded, refunded)


LOSS, REST = PRICE - PART, PART
"""What a dispute takes while all is to be refunded, and what the processor refunds then."""


def crossing(ledger: Ledger, kind: str, hand: int = 0) -> SettleRefund | SettleDispute:
    """A report about a payment of which a dispute took a part, the rest was refunded, and then the dispute was won."""
    total = ledger.settle("b1", event=f"evt.{kind}", payment=PAYMENT, at_ms=ledger.now_ms + 4)
    match kind:
        case "opened" | "lost" | "won":
            states = {"opened": PaymentState.DISPUTED, "lost": PaymentState.LOST, "won": PaymentState.WON}
            at_ms = ledger.now_ms + list(states).index(kind)
            fields: dict[str, Any] = {
                "amount_cents": LOSS - hand,
                "currency": "usd",
                "at_ms": at_ms,
                "event_id": f"evt.{kind}",
            }
            return ledger.dispute(PAYMENT, states[kind], **fields)
        case "hand":
            return replace(total, total_cents=hand, at_ms=ledger.now_ms + 3)
        case "total":
            return replace(total, total_cents=hand + REST)
        case "made" | "failed":
            report = told(ledger, OLD, None if kind == "made" else "Returned")
            return replace(report, at_ms=ledger.now_ms + 5, made_ms=ledger.now_ms + 4)
        case "the rest":
            return replace(told(ledger, NEW), cents=LOSS - hand)
        case _:
            return total


def each_order(ledger: Ledger, *kinds: str, hand: int = 0) -> Iterator[tuple[Ledger, tuple[str, ...]]]:
    """A copy of the ledger after the reports in each order, twice, and the order."""
    for order in permutations(kinds):
        after = deepcopy(ledger)
        for kind in (*order, *order):
            after.act(crossing(after, kind, hand))
        assert after.credited == after.bookings["b1"].refunded_cents, order
        yield after, order


BY_HAND = repeats("the case without a part by hand")


@pytest.mark.parametrize("hand", [0, pytest.param(500, marks=BY_HAND), pytest.param(REST, marks=BY_HAND)])
def test_an_order_of_all_goes_on_for_what_a_won_dispute_returns(ledger: Ledger, hand: int) -> None:
    """Whatever the order and number of reports. Each refund counts once, and a part is not taken for one by hand."""
    ledger.act(ledger.refund("b1"))
    others = ["hand", "opened"] if hand else []
    for number, (after, order) in enumerate(each_order(ledger, "lost", "won", "made", "total", *others, hand=hand)):
        assert state(after) == (REFUNDING, hand + REST), order
        assert after.bookings["b1"].refund_due_ms == after.now_ms, order
        for kind in (*(("the rest", "all"), ("all", "the rest"))[number % 2], *order):
            after.act(crossing(after, kind, hand))
        assert (*state(after), after.credited) == (REFUNDED, PRICE, PRICE), order


def test_a_refund_that_fails_after_a_won_dispute_is_taken_back_once_in_any_order(ledger: Ledger) -> None:
    """An administrator orders it again, as after any failure."""
    ledger.act(ledger.refund("b1"))
    for after, order in each_order(ledger, "lost", "won", "made", "total", "failed"):
        booking = after.bookings["b1"]
        assert (booking.refunded_cents, booking.refund_due_ms, booking.disputed) == (0, None, False), order
        assert booking.payment_issue in ("refund_failed", "refund_declined"), order


@pytest.mark.parametrize("hand", [500, pytest.param(REST, marks=repeats("a part by hand of another amount"))])
def test_a_failed_refund_that_only_a_total_told_is_taken_back_beside_a_part_by_hand(ledger: Ledger, hand: int) -> None:
    """The total has it by the times of both. One from before it was made does not, however large."""
    ledger.act(ledger.refund("b1"))
    for after, order in each_order(ledger, "hand", "lost", "won", "total", "failed", hand=hand):
        assert after.bookings["b1"].refunded_cents == hand, order
    for after, order in each_order(ledger, "hand", "lost", "won", "failed", hand=hand):
        assert after.bookings["b1"].refunded_cents == hand, order


def test_a_declined_order_of_all_that_was_made_in_part_counts_once_and_ends_no_booking(ledger: Ledger) -> None:
    """What is left is due if the refund was all that was left when it was reported. Otherwise an administrator decides."""
    ledger.act(ledger.refund("b1"), ledger.settle("b1", "Not now"))
    for after, order in each_order(ledger, "lost", "won", "made", "total"):
        booking = after.bookings["b1"]
        assert (booking.refunded_cents, booking.status in (PAID, REFUNDING)) == (REST, True), order
        assert booking.refund_due_ms == (after.now_ms if booking.status is REFUNDING else None), order
        after.act(crossing(after, "failed"))
        assert (after.bookings["b1"].payment_issue, after.credited) == ("refund_failed", 0), order
        assert after.told()[-1] == ("booking.refund_failed", {"why": "Returned"}), order


def test_a_failure_declines_nothing_once_no_refund_is_under_way(ordered: Ledger) -> None:
    ordered.act(told(ordered, NEW), told(ordered, NEW, "Returned by the bank"))
    ordered.act(told(ordered, OLD, "Returned by the bank"))
    assert kept_nothing(ordered)
    assert ordered.last.mails == []


def test_a_refund_that_was_answered_without_its_id_can_fail(ordered: Ledger) -> None:
    """A dispute about the payment is no other refund."""
    ordered.act(ordered.dispute(PAYMENT, PaymentState.WON), ordered.settle("b1"))
    ordered.act(told(ordered, OLD, "Returned by the bank"))
    assert state(ordered) == (REFUNDING, 0)


def test_a_failure_that_does_not_say_when_its_refund_was_made_keeps_the_time_that_is_known(ordered: Ledger) -> None:
    ordered.act(replace(told(ordered, OLD), made_ms=AGO), told(ordered, OLD, "Returned by the bank"))
    assert (ordered.reports[OLD].state, ordered.reports[OLD].made_ms) == (PaymentState.REFUND_FAILED, AGO)


def test_what_a_refund_of_a_part_leaves_of_an_order_of_all_is_due_before_its_lease_ends(ledger: Ledger) -> None:
    ledger.act(ledger.refund("b1"), ledger.lease("b1", ledger.now_ms + HOUR), told(ledger, OLD))
    assert (*state(ledger), ledger.bookings["b1"].refund_due_ms) == (REFUNDING, PART, ledger.now_ms)


@pytest.mark.parametrize(
    ("cents", "older"), [(PRICE - PART, PaymentState.REFUNDED), (PRICE - PART + 1, PaymentState.REFUND_FAILED)]
)
def test_a_refund_was_made_after_another_had_failed_if_both_are_more_than_was_paid(
    ledger: Ledger, cents: int, older: PaymentState
) -> None:
    ledger.act(ledger.refund("b1"), told(ledger, OLD), replace(told(ledger, NEW), cents=cents))
    assert ledger.reports[OLD].state is older


@pytest.mark.parametrize(
    ("cents", "made_ms", "failed_ms", "left"),
    [
        (PART, 0, 0, 0),
        (1, 0, 0, PART - 1),
        (PART + 1, 0, 0, PART),
        (PART, 1, 1, PART),
        (PART, 0, -1, PART),
        (None, 0, 0, PART),
    ],
)
def test_a_total_counts_a_refund_that_failed_if_its_time_and_amount_allow_it(
    ledger: Ledger, cents: int | None, made_ms: int, failed_ms: int, left: int
) -> None:
    ledger.act(ledger.refund("b1"))
    by_hand(ledger, PART, "evt_t")
    failed = replace(told(ledger, OLD, "Returned by the bank"), cents=cents)
    ledger.act(replace(failed, made_ms=ledger.now_ms + made_ms, at_ms=ledger.now_ms + failed_ms))
    assert ledger.bookings["b1"].refunded_cents == left


def test_all_by_hand_after_a_declined_part_is_all_that_was_asked_for(ordered: Ledger) -> None:
    ordered.act(ordered.settle("b1", "Not now"), RequestRefund(ANN, "b1", "It was not shown.", ordered.origin()))
    by_hand(ordered, PRICE, "evt_1")
    booking = ordered.bookings["b1"]
    assert (*state(ordered), booking.refund_cents, booking.refund_requested_ms) == (REFUNDED, PRICE, None, None)


def test_a_refund_that_the_total_may_contain_counts_with_the_next_total(ordered: Ledger) -> None:
    by_hand(ordered, PART - 1, "evt_1")
    ordered.act(replace(told(ordered, OLD), cents=9))
    assert state(ordered) == (REFUNDED, PART - 1)
    by_hand(ordered, PRICE, "evt_2")
    assert state(ordered) == (REFUNDED, PRICE)


def test_refunds_of_a_payment_that_a_dispute_has_taken_count_together(ordered: Ledger) -> None:
    ordered.act(ordered.dispute(PAYMENT, PaymentState.LOST), replace(told(ordered, OLD), cents=9), told(ordered, NEW))
    assert ordered.bookings["b1"].by_refunds_cents == PART + 9


def test_a_refund_that_nobody_ordered_here_counts_with_its_own_amount(ledger: Ledger) -> None:
    ours(ledger, cents=9)
    assert state(ledger) == (PAID, 9)


def test_a_refund_without_an_amount_is_one_of_all(ledger: Ledger) -> None:
    ledger.act(ledger.refund("b1"), ledger.settle("b1", refund=NEW), ledger.settle("b1", event="e", payment=PAYMENT))
    ledger.act(told(ledger, OLD, "Returned by the bank"))
    assert state(ledger) == (REFUNDED, PRICE)
    ledger.act(told(ledger, "re_other"))
    assert ledger.reports[NEW].state is PaymentState.REFUND_FAILED


def test_a_failure_without_an_amount_is_one_of_all(ledger: Ledger) -> None:
    ledger.act(replace(told(ledger, OLD, "Returned by the bank"), cents=None))
    ledger.act(ledger.settle("b1", event="evt_t", payment=PAYMENT, at_ms=ledger.now_ms))
    assert state(ledger) == (PAID, 0)


@pytest.mark.parametrize(
    ("total", "at_ms", "counts"), [(PART, AGO, True), (PART, -AGO, False), (PART + 1, -AGO, True), (1, AGO, False)]
)
def test_the_total_that_counts_is_the_newest_of_the_largest(
    ledger: Ledger, total: int, at_ms: int, counts: bool
) -> None:
    for cents, when_ms in ((PART, ledger.now_ms), (total, ledger.now_ms + at_ms)):
        ledger.act(ledger.settle("b1", event=f"evt_{when_ms}", payment=PAYMENT, total_cents=cents, at_ms=when_ms))
    assert ledger.reports[PAYMENT].reported_ms == ledger.now_ms + (at_ms if counts else 0)


def test_a_refund_that_was_made_while_a_loss_had_ended_the_booking_counts_once_the_dispute_is_won(
    ordered: Ledger,
) -> None:
    ordered.act(ordered.dispute(PAYMENT, PaymentState.LOST), told(ordered, NEW))
    assert (*state(ordered), ordered.credited) == (REFUNDED, PRICE + PART, PRICE + PART)
    ordered.act(ordered.dispute(PAYMENT, PaymentState.WON), REPORTS["answered"](ordered, NEW))
    assert (*state(ordered), ordered.credited) == (REFUNDED, PART, PART)


@pytest.mark.parametrize(("at_ms", "refunded"), [(-AGO, 0), (AGO, PART), (None, PART)])
def test_a_total_from_before_a_failure_does_not_count_what_failed(
    ordered: Ledger, at_ms: int | None, refunded: int
) -> None:
    ordered.act(told(ordered, OLD), told(ordered, OLD, "Returned by the bank"))
    when_ms = None if at_ms is None else ordered.now_ms + at_ms
    ordered.act(ordered.settle("b1", event="evt_t", payment=PAYMENT, total_cents=PART, at_ms=when_ms))
    assert state(ordered) == (REFUNDED if refunded else REFUNDING, refunded)


def test_a_total_from_before_a_failure_counts_the_part_by_hand(ordered: Ledger) -> None:
    ordered.act(told(ordered, OLD), told(ordered, OLD, "Returned by the bank"))
    ordered.act(ordered.settle("b1", event="evt_t", payment=PAYMENT, total_cents=PART + 1_000, at_ms=ordered.now_ms))
    assert state(ordered) == (REFUNDING, 1_000)


def test_a_declined_part_that_is_made_after_all_counts_once(ordered: Ledger) -> None:
    ordered.act(ordered.settle("b1", "Try later"))
    assert state(ordered) == (PAID, 0)
    by_hand(ordered, PART, "evt_c")
    ours(ordered)
    assert state(ordered) == (REFUNDED, PART)


def test_a_dispute_lost_after_a_part_takes_the_rest(ordered: Ledger) -> None:
    ordered.act(ordered.settle("b1"))
    rest = ordered.dispute(PAYMENT, PaymentState.LOST, amount_cents=PRICE - PART, currency="usd")
    ordered.act(rest)
    assert state(ordered) == (REFUNDED, PRICE)
    assert written(ordered) == [(InvoiceKind.CREDIT_NOTE, PRICE - PART)]
    assert ordered.told()[-1][0] == "booking.dispute_lost"
    ordered.act(rest)
    assert kept_nothing(ordered)


@pytest.mark.parametrize(
    ("totals", "refunded"),
    [
        ([PART], PART),
        ([PART, PART + 1], PART + 1),
        ([PART + 1, PART], PART + 1),
        ([PART, None], FULL),
        ([None, PART], FULL),
    ],
)
def test_parts_that_are_told_before_their_payment_count(
    ledger: Ledger, totals: list[int | None], refunded: int
) -> None:
    ledger.act(ledger.reserve("b2", week=1), ledger.checkout("b2"))
    for number, total in enumerate(totals):
        ledger.act(ledger.settle("b2", event=f"evt_early_{number}", payment="pay_2", total_cents=total))
    ledger.act(ledger.pay("b2", "evt_b2", "pay_2"))
    booking = ledger.bookings["b2"]
    assert (booking.status, booking.refunded_cents) == (REFUNDED if refunded == FULL else PAID, refunded)
    assert written(ledger) == [(InvoiceKind.INVOICE, FULL), (InvoiceKind.CREDIT_NOTE, refunded)]


def test_a_refund_and_a_loss_that_are_told_before_their_payment_count_both(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b2", week=1), ledger.checkout("b2"))
    ledger.act(ledger.settle("b2", event="evt_early", payment="pay_2", total_cents=PART))
    ledger.act(ledger.dispute("pay_2", PaymentState.LOST, amount_cents=9), ledger.pay("b2", "evt_b2", "pay_2"))
    assert (ledger.bookings["b2"].by_refunds_cents, ledger.bookings["b2"].lost_cents) == (PART, 9)
