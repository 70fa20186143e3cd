"""The rules of payments that are not plainly ours: foreign sessions, shared payments, early reports and disputes."""

import json
from dataclasses import replace
from itertools import permutations

import pytest

from actors.bookings.decision import BookingRules
from actors.bookings.records import BookingStatus, Mode, PaymentReport, PaymentState
from actors.values import Code
from tests.state.ledger import ANN, BOB, DAY, HOLD, REST, Ledger, booked, furnished, holds_only_what_it_may, refused

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


def test_a_booking_has_at_most_twenty_sessions(ledger: Ledger) -> None:
    """Each change of the campaign's name, or of the email, makes another one."""
    ledger.act(*(ledger.session("b1", f"cs_{number}") for number in range(1, 21)))
    answer = refused(ledger.one(ledger.session("b1", "cs_21")), Code.INVALID_STATE)
    assert answer.message.startswith("This booking has 20 payment pages, the most that it can have.")
    kept = booked(ledger.one(ledger.session("b1", "cs_1"))).sessions
    assert kept == " ".join(f"cs_{number}" for number in range(1, 21))


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


@pytest.mark.parametrize("closed", [WON, LOST])
def test_a_closed_dispute_is_never_opened_again(ledger: Ledger, closed: PaymentState) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1", closed))
    mails = len(ledger.alerts)
    ledger.act(ledger.dispute("pay_1"), ledger.dispute("pay_1", closed), ledger.dispute("pay_1"))
    assert (ledger.reports["dp_1"].state, len(ledger.alerts)) == (closed, mails)
    assert not ledger.bookings["b1"].disputed
    assert ledger.status("b1") is (PAID if closed is WON else REFUNDED)


def test_an_event_of_a_dispute_is_handled_once(ledger: Ledger) -> None:
    pay(ledger)
    lost = ledger.dispute("pay_1", LOST, event_id="evt_lost")
    assert booked(ledger.one(lost)).status is REFUNDED
    ledger.act(ledger.dispute("pay_1", WON), lost)
    assert ledger.status("b1") is PAID


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


# Parts, and a bank that decides once more.

PART, LEFT = 1_000, REST - 1_000
Report = tuple[PaymentState | str, int | None, int]
"""The outcome of a dispute, its amount and when it was decided; or a refund by hand and the total after it."""


def report(ledger: Ledger, number: int, reported: Report) -> None:
    state, cents, at_ms = reported
    if isinstance(state, PaymentState):
        fields = {"amount_cents": cents, "currency": "usd", "at_ms": at_ms, "event_id": f"evt_{number}"}
        ledger.act(ledger.dispute("pay_1", state, "dp_2" if cents == LEFT else "dp_1", **fields))
    else:
        ledger.act(ledger.settle("b1", event=f"evt_{number}", payment="pay_1", total_cents=cents))


@pytest.mark.parametrize(
    ("story", "status", "back", "excess"),
    [
        pytest.param([(LOST, PART, 2)], PAID, PART, 0, id="a part is lost"),
        pytest.param([(DISPUTED, PART, 1), (LOST, PART, 2)], PAID, PART, 0, id="a part is opened and lost"),
        pytest.param([(DISPUTED, PART, 1), (WON, PART, 2)], PAID, 0, 0, id="a part is won"),
        pytest.param([(LOST, PART, 2), (WON, PART, 3)], PAID, 0, 0, id="a part is won after it was lost"),
        pytest.param([(WON, PART, 2), (LOST, PART, 3)], PAID, PART, 0, id="a part is lost after it was won"),
        pytest.param([(LOST, REST, 2), (WON, REST, 3)], PAID, 0, 0, id="all is won after it was lost"),
        pytest.param([(LOST, PART, 2), (WON, PART, 3), (LOST, PART, 4)], PAID, PART, 0, id="lost, won and lost"),
        pytest.param([(LOST, None, 2), (WON, None, 3)], PAID, 0, 0, id="all, without an amount"),
        pytest.param([(LOST, PART, 2), (LOST, LEFT, 3)], REFUNDED, REST, 0, id="two parts are all"),
        pytest.param([(LOST, PART, 2), (LOST, LEFT, 3), (WON, PART, 4)], PAID, LEFT, 0, id="one of two comes back"),
        pytest.param([(LOST, REST + 9, 2)], REFUNDED, REST + 9, 9, id="more than was paid"),
        pytest.param(
            [("refund", 200, 0), (LOST, REST, 2)], REFUNDED, REST + 200, 200, id="more than a refund has left"
        ),
        pytest.param(
            [("refund", REST, 0), (LOST, REST, 2)], REFUNDED, 2 * REST, REST, id="a refund and a loss of all cross"
        ),
        pytest.param(
            [("refund", REST, 0), (LOST, REST, 2), (WON, REST, 3)], REFUNDED, REST, 0, id="all, crossed and won"
        ),
        pytest.param(
            [("refund", 200, 0), (LOST, REST, 2), (WON, REST, 3)], PAID, 200, 0, id="a refund stays after a win"
        ),
        pytest.param([("refund", LEFT, 0), (LOST, PART, 2)], REFUNDED, REST, 0, id="a refund and a loss are all"),
        pytest.param([("refund", PART, 0), (LOST, PART, 2)], PAID, 2 * PART, 0, id="a refund and a loss are a part"),
    ],
)
def test_money_agrees_whatever_the_order_and_number_of_reports(
    story: list[Report], status: BookingStatus, back: int, excess: int
) -> None:
    for order in permutations(enumerate(story)):
        ledger = furnished(BookingRules(mode=Mode.LIVE))
        ledger.act(ledger.reserve("b1"), ledger.checkout("b1"), ledger.session("b1", "cs_1"))
        pay(ledger, event="evt_paid")
        for number, reported in (*order, *order):
            report(ledger, number, reported)
        booking = ledger.bookings["b1"]
        assert (booking.status, booking.refunded_cents, booking.excess_cents) == (status, back, excess), order
        assert ledger.credited == back, order
        assert ledger.held("b1") == ([0] if status is PAID else []), order
        holds_only_what_it_may(ledger)


def test_a_part_that_is_lost_is_credited_and_leaves_the_ad_on_the_air(ledger: Ledger) -> None:
    pay(ledger)
    booking = booked(ledger.one(ledger.dispute("pay_1", LOST, amount_cents=50, currency="usd")))
    assert (booking.status, booking.issue, booking.refunded_cents) == (PAID, "dispute_lost", 50)
    assert [(each.kind, each.amount_cents) for each in ledger.last.invoices] == [("credit_note", 50)]
    facts = json.loads(ledger.alerts[-1].facts)
    assert {name: facts[name] for name in ("lost_cents", "amount_cents", "status")} == {
        "lost_cents": "50",
        "amount_cents": str(REST),
        "status": "paid",
    }


@pytest.mark.parametrize(
    ("loss", "status", "issue", "back", "excess"),
    [(REST, REFUNDED, "dispute_lost", REST, 0), (LEFT, REFUNDING, "refund_failed", LEFT, 0)],
    ids=["nothing is left", "a part is left"],
)
def test_a_refund_that_comes_back_after_a_loss_is_owed_as_far_as_something_is_left(
    ledger: Ledger, loss: int, status: BookingStatus, issue: str, back: int, excess: int
) -> None:
    pay(ledger)
    ledger.act(ledger.refund("b1"), ledger.dispute("pay_1", LOST, amount_cents=loss))
    ledger.act(ledger.settle("b1", None, "evt_r", "pay_1", PART, refund="re_1"))
    booking = booked(ledger.one(ledger.settle("b1", "closed", "evt_f", "pay_1", PART, refund="re_1")))
    assert (booking.status, booking.issue, booking.refunded_cents, booking.excess_cents) == (
        status,
        issue,
        back,
        excess,
    )
    assert ledger.credited == back


def test_a_loss_is_an_issue_until_all_of_it_is_won_back(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(*(ledger.dispute("pay_1", LOST, dispute, amount_cents=PART) for dispute in ("dp_1", "dp_2")))
    won = ledger.act(*(ledger.dispute("pay_1", WON, dispute) for dispute in ("dp_1", "dp_2")))
    assert [booked(answer).issue for answer in won] == ["dispute_lost", None]
    assert [mail.template for mail in ledger.alerts[-2:]] == ["dispute_won", "dispute_won"]


def test_an_order_after_a_lost_part_refunds_what_is_left(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1", LOST, amount_cents=PART), ledger.refund("b1"))
    assert ledger.bookings["b1"].refund_left_cents == LEFT
    ledger.act(ledger.settle("b1"))
    booking = ledger.bookings["b1"]
    assert (booking.status, booking.by_refunds_cents, booking.left_cents) == (REFUNDED, LEFT, 0)
    assert ledger.mails[-1].template == "refund_made"
    assert json.loads(ledger.mails[-1].facts)["refund_cents"] == str(LEFT)


def test_a_booking_that_returns_takes_weeks_of_a_hold_that_ran_out(ledger: Ledger) -> None:
    pay(ledger)
    ledger.act(ledger.dispute("pay_1", LOST), ledger.reserve("b2", owner=BOB))
    ledger.pass_ms(HOLD)
    ledger.act(ledger.dispute("pay_1", WON))
    assert (ledger.held("b1"), ledger.status("b2")) == ([0], BookingStatus.EXPIRED)


@pytest.mark.parametrize(("payments", "issue"), [(1, "dispute_won"), (2, "paid_twice")])
def test_weeks_that_were_sold_meanwhile_are_not_taken_from_their_buyer(
    ledger: Ledger, payments: int, issue: str
) -> None:
    """An administrator decides whether the money goes back."""
    for number in range(1, payments + 1):
        pay(ledger, event=f"evt_{number}", payment=f"pay_{number}")
    ledger.act(ledger.dispute("pay_1", LOST), ledger.reserve("b2", owner=BOB))
    booking = booked(ledger.one(ledger.dispute("pay_1", WON)))
    assert (booking.status, booking.issue, booking.refund_due_ms) == (REFUNDING, issue, None)
    assert json.loads(ledger.alerts[-1].facts)["decide"] == ("yes" if issue == "dispute_won" else "")
    assert (booking.refunded_cents, ledger.held("b2"), ledger.credited) == (0, [0], 0)
    assert booked(ledger.one(ledger.refund("b1"))).refund_due_ms == ledger.now_ms


@pytest.mark.parametrize(("made", "status"), [(False, REFUNDING), (True, REFUNDED)])
def test_a_refund_that_was_due_before_the_loss_is_due_again(ledger: Ledger, made: bool, status: BookingStatus) -> None:
    """Unless it had been made, and its event was late."""
    pay(ledger)
    ledger.act(ledger.refund("b1"), ledger.dispute("pay_1", LOST))
    ledger.act(*[ledger.settle("b1", event="evt_r", payment="pay_1")] * made)
    booking = booked(ledger.one(ledger.dispute("pay_1", WON)))
    assert (booking.status, booking.issue) == (status, None)
    assert booking.refund_due_ms == (None if made else ledger.now_ms)


def test_a_loss_that_1_1_recorded_is_taken_back(ledger: Ledger) -> None:
    """It stored no amount, and the whole payment as refunded."""
    pay(ledger)
    ledger.act(ledger.dispute("pay_1", LOST))
    ledger.bookings["b1"] = replace(ledger.bookings["b1"], lost_cents=0, lost_from=None)
    booking = booked(ledger.one(ledger.dispute("pay_1", WON, amount_cents=50)))
    assert (booking.status, booking.refunded_cents, ledger.held("b1")) == (PAID, 0, [0])


def test_an_amount_in_another_currency_counts_as_the_whole_payment(ledger: Ledger) -> None:
    pay(ledger)
    assert booked(ledger.one(ledger.dispute("pay_1", LOST, amount_cents=50, currency="eur"))).status is REFUNDED


def test_a_refund_in_another_currency_than_the_payment_is_not_counted(ledger: Ledger) -> None:
    pay(ledger)
    late = replace(ledger.settle("b1", event="evt_r", payment="pay_1", total_cents=50), currency="eur")
    answer = refused(ledger.one(late), Code.INVALID_STATE)
    assert answer.message == "The booking b1 was paid in usd, and the refund is in eur."
    assert ledger.bookings["b1"].refunded_cents == 0
