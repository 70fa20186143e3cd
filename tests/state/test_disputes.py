"""The rules of payments that are not plainly ours: foreign sessions, shared payments, early reports and disputes."""

import json
from dataclasses import replace

import pytest

from actors.bookings.decision import BookingRules
from actors.bookings.records import BookingStatus, Mode, PaymentReport, PaymentState
from actors.values import Code
from tests.state.ledger import ANN, BOB, DAY, HOLD, Ledger, booked, furnished, holds_only_what_it_may, refused

PAID, REFUNDING, REFUNDED = BookingStatus.PAID, BookingStatus.REFUNDING, BookingStatus.REFUNDED
DISPUTED, WON, LOST = PaymentState.DISPUTED, PaymentState.WON, PaymentState.LOST


@pytest.fixture
def ledger() -> Ledger:
    """Ann has brought a booking to checkout in live mode, under the session `cs_1`."""
    ledger = furnished(BookingRules(mode=Mode.LIVE))
    ledger.act(ledger.reserve("b1"), ledger.checkout("b1"), ledger.session("b1", "cs_1"))
    ledger.audits.clear()
    return ledger


def pay(ledger: Ledger, session: str = "cs_1", event: str = "evt_1", payment: str = "pay_1") -> None:
    assert booked(ledger.one(ledger.pay("b1", event, payment, session=session)))


# Sessions.


def test_a_payment_counts_only_through_a_session_of_the_booking(ledger: Ledger) -> None:
    before = ledger.bookings["b1"]
    for session in ("cs_2", "cs", "", "cs_1 cs_2", None):
        refused(ledger.one(ledger.pay("b1", session=session)), Code.NOT_FOUND)
    assert (ledger.bookings["b1"], ledger.audits, ledger.last.events) == (before, [], [])
    pay(ledger)
    assert ledger.status("b1") is PAID


def test_a_session_is_stored_once_by_its_owner_and_needs_no_record(ledger: Ledger) -> None:
    ledger.act(ledger.session("b1", "cs_1"), ledger.session("b1", "cs_2"))
    assert ledger.bookings["b1"].sessions == "cs_1 cs_2"
    refused(ledger.one(ledger.session("b1", "cs_3", BOB)), Code.NOT_FOUND)
    refused(ledger.one(ledger.session("b2", "cs_3")), Code.NOT_FOUND)
    assert ledger.audits == []


def test_a_foreign_payment_of_an_ended_booking_is_not_sent_back(ledger: Ledger) -> None:
    ledger.act(ledger.cancel("b1"))
    refused(ledger.one(ledger.pay("b1", session="cs_of_others")), Code.NOT_FOUND)
    assert ledger.status("b1") is BookingStatus.CANCELLED
    pay(ledger)
    assert ledger.status("b1") is REFUNDING


def test_a_live_payment_does_not_pay_a_booking_of_test_mode(ledger: Ledger) -> None:
    ledger.bookings["b1"] = replace(ledger.bookings["b1"], mode=Mode.TEST)
    refused(ledger.one(ledger.pay("b1", session="cs_1")), Code.NOT_FOUND)
    assert booked(ledger.one(ledger.pay("b1"))).status is PAID


def test_a_booking_of_a_version_without_sessions_can_be_paid_for_a_day(ledger: Ledger) -> None:
    """Its sponsor may be at the processor's page while the service is upgraded."""
    ledger.bookings["b1"] = replace(ledger.bookings["b1"], sessions=None)
    ledger.act(ledger.session("b1", "cs_9"))
    assert ledger.bookings["b1"].sessions is None
    ledger.now_ms = ledger.bookings["b1"].hold_ms + DAY
    refused(ledger.one(ledger.pay("b1", session="cs_unknown")), Code.NOT_FOUND)
    ledger.now_ms -= 1
    pay(ledger, "cs_unknown")
    assert ledger.status("b1") is PAID


def test_one_payment_pays_one_booking(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b2", week=1), ledger.checkout("b2"), ledger.session("b2", "cs_2"))
    pay(ledger)
    refused(ledger.one(ledger.pay("b2", "evt_2", session="cs_2")), Code.INVALID_STATE)
    assert ledger.bookings["b2"].payment_id is None


def test_of_two_bookings_in_one_batch_the_first_has_the_payment(ledger: Ledger) -> None:
    ledger.act(ledger.reserve("b2", week=1), ledger.checkout("b2"), ledger.session("b2", "cs_2"))
    one, other = ledger.act(ledger.pay("b1", session="cs_1"), ledger.pay("b2", "evt_2", session="cs_2"))
    assert booked(one).status is PAID
    refused(other, Code.INVALID_STATE)


# Refunds.


def test_the_refund_of_another_payment_leaves_the_booking(ledger: Ledger) -> None:
    pay(ledger)
    for declined in (None, "no money"):
        refused(ledger.one(ledger.settle("b1", declined, f"evt_{declined}", "pay_other")), Code.INVALID_STATE)
    assert ledger.status("b1") is PAID


def test_a_refund_that_is_reported_before_its_payment_is_made_after_it(ledger: Ledger) -> None:
    refused(ledger.one(ledger.settle("b1", None, "evt_r", "pay_1")), Code.INVALID_STATE)
    pay(ledger)
    assert (ledger.status("b1"), ledger.bookings["b1"].refunded_cents) == (REFUNDED, ledger.bookings["b1"].amount_cents)
    holds_only_what_it_may(ledger)


def test_a_refund_that_failed_before_its_payment_is_known_is_none(ledger: Ledger) -> None:
    ledger.act(ledger.settle("b1", None, "evt_r", "pay_1"), ledger.settle("b1", "failed", "evt_f", "pay_1"))
    pay(ledger)
    assert ledger.status("b1") is PAID


# Disputes.


def test_a_dispute_is_told_once_to_all_administrators(ledger: Ledger) -> None:
    pay(ledger)
    for _ in range(3):
        assert booked(ledger.one(ledger.dispute("pay_1"))).disputed
    assert [(mail.tenant_id, mail.template, mail.topic) for mail in ledger.alerts] == [(None, "dispute_opened", None)]
    assert [action for action, _ in ledger.told()] == ["booking.paid", "booking.dispute_opened"]
    assert ledger.held("b1") == [0]


def test_a_mail_about_a_dispute_tells_which_booking_and_waits_a_week(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1"))
    record = ledger.audits[-1].id
    [mail] = ledger.alerts
    assert mail.id == record.replace("aud", "msg") + "_a"
    facts = json.loads(mail.facts)
    assert {name: facts[name] for name in ("booking", "slot", "payment")} == {
        "booking": "b1",
        "slot": "A slot",
        "payment": "pay_1",
    }
    assert (mail.created_ms, mail.expires_ms) == (ledger.now_ms, ledger.now_ms + 7 * DAY)
    assert json.loads(ledger.audits[-1].changes) == {"paymentId": "pay_1"}


def test_a_won_dispute_leaves_an_earlier_issue_and_each_mail_of_a_batch_is_kept(ledger: Ledger) -> None:
    pay(ledger)
    pay(ledger, event="evt_2", payment="pay_2")
    opened, won = ledger.act(ledger.dispute("pay_1"), ledger.dispute("pay_1", WON))
    assert [booked(answer).issue for answer in (opened, won)] == ["disputed", "paid_twice"]
    assert [mail.template for mail in ledger.alerts] == ["dispute_opened", "dispute_won"]


def test_reports_tell_what_was_reported_about_which_payment_and_when(ledger: Ledger) -> None:
    ledger.act(ledger.dispute("pay_9"), ledger.settle("b1", None, "evt_r", "pay_8"))
    assert ledger.reports == {
        "dp_1": PaymentReport("dp_1", "pay_9", DISPUTED, ledger.now_ms),
        "pay_8": PaymentReport("pay_8", "pay_8", PaymentState.REFUNDED, ledger.now_ms),
    }


def test_only_the_first_report_of_a_state_is_kept(ledger: Ledger) -> None:
    ledger.act(ledger.dispute("pay_1"))
    ledger.pass_ms(1)
    ledger.act(ledger.dispute("pay_1"))
    assert ledger.last.reports == {}


@pytest.mark.parametrize("late", [DISPUTED, WON, LOST])
@pytest.mark.parametrize("closed", [WON, LOST])
def test_a_closed_dispute_stays_closed(ledger: Ledger, closed: PaymentState, late: PaymentState) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1", closed))
    mails = len(ledger.alerts)
    ledger.act(ledger.dispute("pay_1", late))
    assert (ledger.reports["dp_1"].state, len(ledger.alerts)) == (closed, mails)
    assert ledger.status("b1") is (PAID if closed is WON else REFUNDED)


@pytest.mark.parametrize("closed", [WON, LOST])
def test_a_closed_dispute_is_never_opened_again(ledger: Ledger, closed: PaymentState) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1", closed), ledger.dispute("pay_1"), ledger.dispute("pay_1", WON))
    assert not ledger.bookings["b1"].disputed
    assert ledger.status("b1") is (PAID if closed is WON else REFUNDED)


def test_a_booking_returns_when_its_last_dispute_was_won(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1"), ledger.dispute("pay_1", dispute="dp_2"))
    assert booked(ledger.one(ledger.dispute("pay_1", WON))).disputed
    assert not booked(ledger.one(ledger.dispute("pay_1", WON, "dp_2"))).disputed
    assert [mail.template for mail in ledger.alerts] == ["dispute_opened", "dispute_won"]


def test_a_lost_dispute_ends_the_booking_and_orders_no_refund(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1"))
    booking = booked(ledger.one(ledger.dispute("pay_1", LOST)))
    assert (booking.status, booking.issue, booking.refund_due_ms) == (REFUNDED, "dispute_lost", None)
    assert booking.refunded_cents == booking.paid_cents
    assert ledger.held("b1") == []
    assert [mail.template for mail in ledger.alerts] == ["dispute_opened", "dispute_lost"]
    action, changes = ledger.told()[-1]
    assert (action, changes["status"]) == ("booking.dispute_lost", ["paid", "refunded"])


def test_a_dispute_that_is_lost_while_a_refund_is_due_ends_the_refund(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(ledger.refund("b1"))
    ledger.act(ledger.dispute("pay_1"))
    booking = booked(ledger.one(ledger.dispute("pay_1", LOST)))
    assert (booking.status, booking.refund_due_ms, booking.disputed) == (REFUNDED, None, False)


def test_a_refund_of_a_booking_that_was_lost_cannot_fail(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1", LOST))
    pay(ledger, event="evt_2", payment="pay_2")
    assert ledger.bookings["b1"].issue == "paid_twice"
    assert booked(ledger.one(ledger.settle("b1", "closed", "evt_f", "pay_1"))).status is REFUNDED


def test_a_dispute_after_a_refund_that_is_lost_is_noted(ledger: Ledger) -> None:
    """The money is gone twice, so an administrator has to see it."""
    pay(ledger)
    ledger.act(ledger.refund("b1"), ledger.settle("b1"), ledger.dispute("pay_1"))
    booking = booked(ledger.one(ledger.dispute("pay_1", LOST)))
    assert (booking.status, booking.issue, booking.disputed) == (REFUNDED, "dispute_lost", False)
    assert [mail.template for mail in ledger.alerts] == ["dispute_opened", "dispute_lost"]


@pytest.mark.parametrize(("state", "status"), [(DISPUTED, PAID), (WON, PAID), (LOST, REFUNDED)])
def test_a_dispute_that_is_reported_before_its_payment_counts_after_it(
    ledger: Ledger, state: PaymentState, status: BookingStatus
) -> None:
    refused(ledger.one(ledger.dispute("pay_1", state)), Code.NOT_FOUND)
    assert (ledger.last.bookings, ledger.alerts) == ({}, [])
    pay(ledger)
    assert (ledger.status("b1"), ledger.bookings["b1"].disputed) == (status, state is DISPUTED)
    assert len(ledger.alerts) == (0 if state is WON else 1)


def test_a_disputed_booking_is_not_refunded(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1"))
    refused(ledger.one(ledger.refund("b1")), Code.INVALID_STATE)
    ledger.act(ledger.dispute("pay_1", WON))
    assert booked(ledger.one(ledger.refund("b1"))).status is REFUNDING


def test_a_dispute_of_a_second_payment_leaves_the_booking_shown(ledger: Ledger) -> None:
    pay(ledger)
    pay(ledger, event="evt_2", payment="pay_2")
    refused(ledger.one(ledger.dispute("pay_2")), Code.NOT_FOUND)
    assert not ledger.bookings["b1"].disputed


def test_a_dispute_of_a_late_payment_stops_its_refund_when_lost(ledger: Ledger) -> None:
    ledger.pass_ms(HOLD)
    ledger.act(ledger.reserve("b2", owner=BOB))
    pay(ledger)
    assert ledger.status("b1") is REFUNDING
    ledger.act(ledger.dispute("pay_1", LOST))
    assert (ledger.status("b1"), ledger.bookings["b1"].refund_due_ms) == (REFUNDED, None)
    assert ledger.held("b2") == [0]
    assert ledger.bookings["b1"].tenant_id == ANN
