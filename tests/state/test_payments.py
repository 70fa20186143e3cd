"""The rules of money: payments in time and late, twice and wrong; refunds ordered, settled, declined and failed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from actors.bookings.decision import Snapshot
from actors.bookings.records import BookingStatus, BookingView
from actors.bookings.unit_of_work import UnitOfWork
from actors.times import WEEK_MS
from actors.values import Code
from tests.state.ledger import (
    ANN,
    BOB,
    DAY,
    HOLD,
    MINUTE,
    MONDAY,
    NOON,
    PAIR,
    PRICE,
    REST,
    Ledger,
    booked,
    furnished,
    holds_only_what_it_may,
    refused,
)

CHECKOUT, PAID, EXPIRED = BookingStatus.CHECKOUT, BookingStatus.PAID, BookingStatus.EXPIRED
CANCELLED, REFUNDING, REFUNDED = BookingStatus.CANCELLED, BookingStatus.REFUNDING, BookingStatus.REFUNDED


@pytest.fixture
def ledger() -> Ledger:
    """Ann has brought a booking of this week, `b1`, to checkout."""
    ledger = furnished()
    ledger.act(ledger.reserve("b1"), ledger.checkout("b1"))
    ledger.audits.clear()
    return ledger


def kept_nothing(ledger: Ledger) -> bool:
    decision = ledger.last
    rows = (decision.bookings, decision.weeks_freed, decision.weeks_reserved, decision.audits)
    return not any(rows) and not decision.visible


def goes_back(ledger: Ledger, booking_id: str, issue: str) -> None:
    """Assert that a payment was recorded and waits to be refunded."""
    booking = ledger.bookings[booking_id]
    assert (booking.status, booking.payment_issue) == (REFUNDING, issue)
    assert (booking.refund_due_ms, booking.paid_ms, booking.refunded_cents) == (ledger.now_ms, ledger.now_ms, 0)
    assert booking.payment_id is not None
    assert ledger.held(booking_id) == []
    action, changes = ledger.told()[-1]
    assert (action, changes["status"][1], changes["paymentIssue"]) == ("booking.paid_too_late", "refunding", issue)
    holds_only_what_it_may(ledger)


# Payments in time.


def test_a_payment_makes_the_week_the_sponsors(ledger: Ledger) -> None:
    ledger.pass_ms(MINUTE)
    booking = booked(ledger.one(ledger.pay("b1")))
    assert (booking.status, booking.payment_id, booking.paid_ms) == (PAID, "pay_1", NOON + MINUTE)
    assert (booking.payment_issue, booking.refund_due_ms, booking.refunded_cents) == (None, None, 0)
    assert ledger.held("b1") == [0]
    assert ledger.last.events == [("evt_1", "b1")]
    assert (ledger.last.weeks_freed, ledger.last.weeks_reserved, ledger.last.visible) == ({}, {}, True)
    assert ledger.told() == [("booking.paid", {"status": ["checkout", "paid"]})]
    assert (ledger.audits[0].actor_type, ledger.audits[0].actor_id) == ("system", "payments")


def test_the_same_event_is_handled_once(ledger: Ledger) -> None:
    first = booked(ledger.one(ledger.pay("b1")))
    assert booked(ledger.one(ledger.pay("b1"))) == first
    assert booked(ledger.one(ledger.pay("b1", payment="pay_other"))) == first
    assert kept_nothing(ledger)
    assert ledger.last.events == []


def test_another_event_of_the_same_payment_changes_nothing(ledger: Ledger) -> None:
    first = booked(ledger.one(ledger.pay("b1")))
    assert booked(ledger.one(ledger.pay("b1", event="evt_2"))) == first
    assert kept_nothing(ledger)
    assert ledger.last.events == [("evt_2", "b1")]


def test_a_second_payment_is_an_issue_for_a_person(ledger: Ledger) -> None:
    first = booked(ledger.one(ledger.pay("b1")))
    second = booked(ledger.one(ledger.pay("b1", event="evt_2", payment="pay_2")))
    assert second == replace(first, payment_issue="paid_twice")
    assert (second.status, second.payment_id, ledger.held("b1")) == (PAID, "pay_1", [0])
    facts = {"paymentId": "pay_2", "amountCents": REST, "currency": "usd"}
    assert ledger.told()[-1] == ("booking.paid_twice", facts)
    third = booked(ledger.one(ledger.pay("b1", event="evt_3", payment="pay_3")))
    assert third == second
    assert ledger.told()[-1] == ("booking.paid_twice", facts | {"paymentId": "pay_3"})


def test_a_booking_that_never_came_to_checkout_is_not_paid(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b2", week=1))
    ledger.audits.clear()
    refused(ledger.one(ledger.pay("b2")), Code.INVALID_STATE)
    assert kept_nothing(ledger)
    assert ledger.status("b2") == "reserved"


@pytest.mark.parametrize(("amount", "currency"), [(REST - 1, "usd"), (REST + 1, "usd"), (0, "usd"), (REST, "eur")])
@pytest.mark.parametrize("late", [False, True])
def test_another_amount_or_currency_goes_back(ledger: Ledger, amount: int, currency: str, late: bool) -> None:
    ledger.pass_ms(HOLD if late else 0)
    ledger.act(ledger.pay("b1", amount=amount, currency=currency))
    goes_back(ledger, "b1", "amount_mismatch")
    booking = ledger.bookings["b1"]
    assert (booking.paid_cents, booking.money_currency) == (amount, currency)


def test_mails_and_webhooks_name_the_amount_and_the_currency_that_arrived(ledger: Ledger) -> None:
    ledger.act(ledger.pay("b1", amount=9, currency="eur"), ledger.settle("b1"))
    facts = json.loads(ledger.mails[-1].facts)
    assert (facts["amount_cents"], facts["currency"]) == ("9", "eur")
    assert json.loads(ledger.webhook_events[-1].payload)["paidCurrency"] == "eur"


def test_a_booking_is_settled_without_a_name_once_its_account_is_deleted(ledger: Ledger) -> None:
    ledger.sponsors.clear()
    _, settled = ledger.act(ledger.pay("b1", amount=9), ledger.settle("b1"))
    assert isinstance(settled, BookingView)
    assert settled.sponsor_name is None
    assert json.loads(ledger.mails[-1].facts)["sponsor"] == ""


@pytest.mark.parametrize(("later", "first"), [(0, "b1"), (-1, "b2")])
def test_a_payment_of_several_bookings_belongs_to_the_first(ledger: Ledger, later: int, first: str) -> None:
    """Before 1.0, payments were not unique."""
    paid = ledger.paid("b1", week=1)
    others = {each.id: each for each in (paid, replace(paid, id="b2", paid_ms=ledger.now_ms + later))}
    unit = UnitOfWork(Snapshot(bookings=dict(reversed(others.items()))), ledger.now_ms, ledger.rules)
    assert unit.paid_with("pay_b1") == others[first]


# Late payments.


@pytest.mark.parametrize("swept", [False, True])
def test_a_late_payment_gets_weeks_that_are_still_free(ledger: Ledger, swept: bool) -> None:
    ledger.pass_ms(HOLD)
    if swept:
        ledger.act(ledger.expire("b1"))
        assert (ledger.status("b1"), ledger.held("b1")) == (EXPIRED, [])
    booking = booked(ledger.one(ledger.pay("b1")))
    assert (booking.status, booking.payment_issue, ledger.held("b1")) == (PAID, None, [0])
    assert ledger.told()[-1] == ("booking.paid", {"status": ["expired" if swept else "checkout", "paid"]})


def test_a_late_payment_goes_back_when_the_weeks_are_held(ledger: Ledger) -> None:
    ledger.pass_ms(HOLD)
    ledger.act(ledger.reserve("b2", owner=BOB))
    assert ledger.status("b1") is EXPIRED
    ledger.act(ledger.pay("b1"))
    goes_back(ledger, "b1", "paid_after_expiry")
    assert ledger.held("b2") == [0]


def test_a_late_payment_goes_back_when_the_weeks_are_sold(ledger: Ledger) -> None:
    ledger.pass_ms(HOLD)
    ledger.paid("b2", owner=BOB)
    ledger.act(ledger.pay("b1", event="evt_late"))
    goes_back(ledger, "b1", "paid_after_expiry")
    assert (ledger.status("b2"), ledger.held("b2")) == (PAID, [0])


def test_a_late_payment_takes_weeks_of_a_hold_that_ran_out_too(ledger: Ledger) -> None:
    ledger.pass_ms(HOLD)
    ledger.act(ledger.reserve("b2", owner=BOB), ledger.checkout("b2", BOB))
    ledger.pass_ms(HOLD)
    ledger.audits.clear()
    assert booked(ledger.one(ledger.pay("b1"))).status is PAID
    assert (ledger.status("b2"), ledger.held("b1"), ledger.held("b2")) == (EXPIRED, [0], [])
    assert [(record.action, record.target_id) for record in ledger.audits] == [
        ("booking.expired", "b2"),
        ("booking.paid", "b1"),
    ]
    ledger.act(ledger.pay("b2", event="evt_2", payment="pay_2"))
    goes_back(ledger, "b2", "paid_after_expiry")


def test_a_late_payment_needs_all_weeks_of_its_package(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b2", PAIR, week=1), ledger.checkout("b2"))
    ledger.pass_ms(HOLD)
    ledger.act(ledger.expire("b2"), ledger.reserve("b3", PAIR, week=2, owner=BOB))
    ledger.act(ledger.pay("b2"))
    goes_back(ledger, "b2", "paid_after_expiry")
    assert ledger.held("b3") == [2, 3]


def test_a_late_payment_of_a_package_takes_each_week_it_needs(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b2", PAIR, week=2), ledger.checkout("b2"))
    ledger.pass_ms(HOLD)
    ledger.act(ledger.reserve("b3", PAIR, week=1, owner=BOB))
    ledger.pass_ms(HOLD)
    assert booked(ledger.one(ledger.pay("b2"))).status is PAID
    assert (ledger.held("b2"), ledger.held("b3"), ledger.status("b3")) == ([2, 3], [], EXPIRED)


@pytest.mark.parametrize(("moment", "status"), [(MONDAY + WEEK_MS - 1, PAID), (MONDAY + WEEK_MS, REFUNDING)])
def test_a_late_payment_goes_back_when_the_weeks_are_over(ledger: Ledger, moment: int, status: BookingStatus) -> None:
    ledger.now_ms = moment
    assert booked(ledger.one(ledger.pay("b1"))).status is status
    if status is REFUNDING:
        goes_back(ledger, "b1", "paid_after_expiry")


def test_a_package_is_over_with_its_last_week(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b2", PAIR), ledger.checkout("b2"))
    ledger.now_ms = MONDAY + 2 * WEEK_MS - 1
    assert booked(ledger.one(ledger.pay("b2"))).status is PAID


def test_a_payment_after_cancelling_goes_back_though_the_weeks_are_free(ledger: Ledger) -> None:
    ledger.act(ledger.cancel("b1"))
    ledger.act(ledger.pay("b1"))
    goes_back(ledger, "b1", "paid_after_cancel")
    assert ledger.told()[-1][1]["status"] == ["cancelled", "refunding"]


def test_a_second_payment_while_the_first_goes_back_is_an_issue(ledger: Ledger) -> None:
    ledger.act(ledger.cancel("b1"), ledger.pay("b1"), ledger.pay("b1", event="evt_2", payment="pay_2"))
    assert (ledger.status("b1"), ledger.bookings["b1"].payment_issue) == (REFUNDING, "paid_twice")
    assert ledger.bookings["b1"].refund_due_ms == NOON


# Ordered refunds.


@pytest.mark.parametrize(("reason", "told"), [("Wrong week", {"reason": "Wrong week"}), (None, {})])
def test_a_refund_waits_for_the_processor_and_keeps_its_weeks(reason: str | None, told: dict[str, Any]) -> None:
    ledger = furnished()
    ledger.paid("b1")
    ledger.pass_ms(DAY)
    booking = booked(ledger.one(ledger.refund("b1", reason)))
    assert (booking.status, booking.refund_due_ms, booking.refunded_cents) == (REFUNDING, NOON + DAY, 0)
    assert ledger.held("b1") == [0]
    assert ledger.told()[-1] == ("booking.refund_ordered", {"status": ["paid", "refunding"], **told})


def test_a_refund_that_is_ordered_twice_is_one() -> None:
    ledger = furnished()
    ledger.paid("b1")
    ledger.act(ledger.refund("b1"))
    before = ledger.bookings["b1"]
    ledger.pass_ms(MINUTE)
    assert booked(ledger.one(ledger.refund("b1"))) == before
    assert kept_nothing(ledger)
    ledger.act(ledger.settle("b1"))
    assert booked(ledger.one(ledger.refund("b1"))).status is REFUNDED
    assert kept_nothing(ledger)


@pytest.mark.parametrize("status", ["reserved", "checkout", "expired", "cancelled"])
def test_what_is_not_paid_is_not_paid_back(status: str) -> None:
    ledger = furnished()
    ledger.act(ledger.reserve("b1"))
    if status != "reserved":
        ledger.act(ledger.checkout("b1"))
    if status == "cancelled":
        ledger.act(ledger.cancel("b1"))
    if status == "expired":
        ledger.pass_ms(HOLD)
        ledger.act(ledger.expire("b1"))
    for message in (ledger.refund("b1"), ledger.settle("b1")):
        told = refused(ledger.one(message), Code.INVALID_STATE)
        assert told.message.startswith(f"A booking that is {status} cannot be refund")
        assert kept_nothing(ledger)
    assert booked(ledger.one(ledger.settle("b1", "No such charge"))).status == status
    assert kept_nothing(ledger)


def test_a_refund_leaves_the_mark_of_a_second_payment_which_it_does_not_give_back() -> None:
    ledger = furnished()
    ledger.paid("b1")
    ledger.act(ledger.pay("b1", event="evt_2", payment="pay_2"))
    assert booked(ledger.one(ledger.refund("b1"))).payment_issue == "paid_twice"
    assert booked(ledger.one(ledger.settle("b1"))).payment_issue == "paid_twice"


# Settled refunds.


@pytest.fixture
def going_back() -> Ledger:
    """A paid package of two weeks whose refund was ordered."""
    ledger = furnished()
    ledger.paid("b1", PAIR)
    ledger.act(ledger.refund("b1"))
    ledger.audits.clear()
    return ledger


def test_a_refund_pays_all_back_and_frees_the_weeks(going_back: Ledger) -> None:
    going_back.pass_ms(MINUTE)
    booking = booked(going_back.one(going_back.settle("b1")))
    assert (booking.status, booking.refunded_cents, booking.refund_due_ms) == (REFUNDED, REST + PRICE, None)
    assert (going_back.held("b1"), going_back.last.visible) == ([], True)
    assert going_back.told() == [("booking.refunded", {"status": ["refunding", "refunded"]})]
    assert booked(going_back.one(going_back.settle("b1"))) == booking
    assert kept_nothing(going_back)


def test_an_event_of_a_refund_is_handled_once(going_back: Ledger) -> None:
    going_back.act(going_back.settle("b1", event="evt_r"))
    going_back.act(going_back.settle("b1", event="evt_r"))
    assert kept_nothing(going_back)
    assert booked(going_back.one(going_back.settle("b1", "Too late", event="evt_r"))).status is REFUNDED
    assert kept_nothing(going_back)


def test_a_refund_by_hand_at_the_processors_is_taken_as_ordered() -> None:
    ledger = furnished()
    ledger.paid("b1")
    ledger.audits.clear()
    booking = booked(ledger.one(ledger.settle("b1", event="evt_r")))
    assert (booking.status, booking.refunded_cents, ledger.held("b1")) == (REFUNDED, REST, [])
    assert ledger.told() == [
        ("booking.refund_ordered", {"status": ["paid", "refunding"]}),
        ("booking.refunded", {"status": ["refunding", "refunded"]}),
    ]
    assert booked(ledger.one(ledger.refund("b1"))) == booking


def test_a_late_payment_is_paid_back_without_touching_the_weeks(ledger: Ledger) -> None:
    ledger.pass_ms(HOLD)
    ledger.act(ledger.reserve("b2", owner=BOB))
    ledger.act(ledger.pay("b1"))
    booking = booked(ledger.one(ledger.settle("b1")))
    assert (booking.status, booking.refunded_cents) == (REFUNDED, REST)
    assert booking.payment_issue == "paid_after_expiry"
    assert (ledger.held("b2"), ledger.last.weeks_freed) == ([0], {})


# Declined refunds.


def test_a_declined_refund_leaves_the_booking_paid_with_an_issue(going_back: Ledger) -> None:
    booking = booked(going_back.one(going_back.settle("b1", "Too old")))
    assert (booking.status, booking.payment_issue, booking.refund_due_ms) == (PAID, "refund_declined", None)
    assert (booking.refunded_cents, going_back.held("b1")) == (0, [0, 1])
    changes = {"status": ["refunding", "paid"], "why": "Too old", "paymentIssue": "refund_declined"}
    assert going_back.told() == [("booking.refund_declined", changes)]
    assert booked(going_back.one(going_back.settle("b1", "Too old"))) == booking
    assert kept_nothing(going_back)
    again = booked(going_back.one(going_back.refund("b1")))
    assert (again.status, again.payment_issue) == (REFUNDING, None)


def test_a_declined_refund_without_weeks_waits_for_an_administrator(ledger: Ledger) -> None:
    ledger.act(ledger.cancel("b1"), ledger.pay("b1"))
    booking = booked(ledger.one(ledger.settle("b1", "Account closed")))
    assert (booking.status, booking.payment_issue, booking.refund_due_ms) == (REFUNDING, "refund_declined", None)
    assert ledger.told()[-1] == ("booking.refund_declined", {"why": "Account closed"})
    ledger.pass_ms(DAY)
    again = booked(ledger.one(ledger.refund("b1", "Other account")))
    assert (again.status, again.refund_due_ms) == (REFUNDING, NOON + DAY)
    assert ledger.told()[-1] == ("booking.refund_ordered", {"reason": "Other account"})
    assert booked(ledger.one(ledger.settle("b1"))).status is REFUNDED


def test_a_refund_that_fails_later_is_no_refund_and_can_be_ordered_again(going_back: Ledger) -> None:
    going_back.act(going_back.settle("b1"))
    late = booked(going_back.one(going_back.settle("b1", "No money")))
    assert (late.status, late.refunded_cents) == (REFUNDED, REST + PRICE), "another node made it meanwhile"
    assert kept_nothing(going_back)
    booking = booked(going_back.one(going_back.settle("b1", "Returned by the bank", event="evt_f")))
    assert (booking.status, booking.payment_issue, booking.refunded_cents) == (REFUNDING, "refund_failed", 0)
    assert (going_back.held("b1"), booking.refund_due_ms) == ([], None)
    facts = {"status": ["refunded", "refunding"], "why": "Returned by the bank", "paymentIssue": "refund_failed"}
    assert going_back.told()[-1] == ("booking.refund_failed", facts)
    late = booked(going_back.one(going_back.settle("b1")))
    assert (late.status, kept_nothing(going_back)) == (REFUNDING, True), "a cashier's answer from before it failed"
    assert booked(going_back.one(going_back.refund("b1"))).refund_due_ms == going_back.now_ms
    assert booked(going_back.one(going_back.settle("b1"))).status is REFUNDED


# Leases of refunds, and postponed ones.


def test_a_due_refund_is_leased_to_one_node_at_a_time(going_back: Ledger) -> None:
    leased, again = going_back.act(going_back.lease("b1", NOON + DAY), going_back.lease("b1", NOON + 2 * DAY))
    assert (booked(leased).status, booked(leased).refund_due_ms) == (REFUNDING, NOON + DAY)
    assert refused(again, Code.INVALID_STATE).message == "No refund of b1 is due now."
    going_back.now_ms = NOON + DAY - 1
    refused(going_back.one(going_back.lease("b1", NOON + 2 * DAY)), Code.INVALID_STATE)
    going_back.now_ms += 1
    assert booked(going_back.one(going_back.lease("b1", NOON + 2 * DAY))).refund_due_ms == NOON + 2 * DAY
    assert going_back.audits == []


@pytest.mark.parametrize("why", ["refunded", "declined", "disputed"])
def test_no_refund_is_leased_that_is_not_to_be_made(going_back: Ledger, why: str) -> None:
    if why == "disputed":
        going_back.bookings["b1"] = replace(going_back.bookings["b1"], disputed=True)
    else:
        going_back.act(going_back.settle("b1", None if why == "refunded" else "No"))
    refused(going_back.one(going_back.lease("b1", NOON + DAY)), Code.INVALID_STATE)
    assert kept_nothing(going_back)


def test_only_the_node_with_the_lease_puts_a_refund_off(going_back: Ledger) -> None:
    """Another node has leased it since, or what is left is due at once."""
    first = going_back.postpone("b1", NOON + 9 * DAY)
    going_back.act(going_back.lease("b1", NOON + DAY))
    assert booked(going_back.one(first)).refund_due_ms == NOON + DAY
    assert kept_nothing(going_back)


def test_a_refund_can_be_tried_later(going_back: Ledger) -> None:
    booking = booked(going_back.one(going_back.postpone("b1", NOON + DAY)))
    assert (booking.status, booking.refund_due_ms) == (REFUNDING, NOON + DAY)
    assert going_back.bookings["b1"] == booking
    assert going_back.audits == []


@pytest.mark.parametrize("settled", ["refunded", "paid", "waiting"])
def test_what_is_not_due_is_not_put_off(going_back: Ledger, settled: str) -> None:
    if settled == "waiting":
        going_back.bookings["b1"] = replace(going_back.bookings["b1"], refund_due_ms=None)
    else:
        going_back.act(going_back.settle("b1", None if settled == "refunded" else "No"))
    assert booked(going_back.one(going_back.postpone("b1", NOON + DAY))).refund_due_ms is None
    assert kept_nothing(going_back)


def test_what_was_delivered_stays_told_after_a_refund(going_back: Ledger) -> None:
    going_back.delivered["b1"] = (5, 1)
    view = going_back.one(going_back.settle("b1"))
    assert isinstance(view, BookingView)
    assert (view.impressions, view.clicks, view.booking.tenant_id) == (5, 1, ANN)


# Terms.


@pytest.mark.parametrize("late", [False, True])
def test_a_payment_accepts_the_terms_that_its_page_showed(ledger: Ledger, late: bool) -> None:
    if late:
        ledger.pass_ms(2 * HOLD)
    ledger.act(replace(ledger.pay("b1"), terms_version="2026-11"))
    booking = ledger.bookings["b1"]
    assert (booking.terms_version, booking.terms_accepted_ms) == ("2026-11", ledger.now_ms)
    ledger.act(replace(ledger.pay("b1", event="evt_2", payment="pay_2"), terms_version="2027-01"))
    assert ledger.bookings["b1"].terms_version == "2026-11", "the booking is paid already"


def test_a_payment_without_terms_accepts_none(ledger: Ledger) -> None:
    ledger.act(ledger.pay("b1"))
    assert (ledger.bookings["b1"].terms_version, ledger.bookings["b1"].terms_accepted_ms) == (None, None)
