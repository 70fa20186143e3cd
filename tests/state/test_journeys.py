"""After a payment: the schedule, refunds of unseen weeks, requests for refunds, and the announcements of each."""

import json
from dataclasses import replace

import pytest

from actors.bookings.decision import BookingRules
from actors.bookings.messages import DeclineRefundRequest, FollowSchedule, OrderRefund, RequestRefund
from actors.bookings.records import (
    BookingStatus,
    CampaignStatus,
    DayDelivered,
    Mode,
    PackageKind,
    PaymentState,
    YoutubeStatus,
)
from actors.bookings.schedule import REQUEST_DAYS
from actors.shared.announcements import Topic
from actors.times import WEEK_MS, day_of
from actors.values import NOT_FILTERED, Code, Filtered
from tests.state.ledger import (
    ANN,
    BOB,
    DAY,
    MINUTE,
    MONDAY,
    NOON,
    PAIR,
    PRICE,
    REST,
    SECOND,
    SLOT,
    Ledger,
    booked,
    furnished,
    refused,
)

PAID, REFUNDING, REFUNDED = BookingStatus.PAID, BookingStatus.REFUNDING, BookingStatus.REFUNDED
SETTLE = BookingRules().settle_ms
NEXT_MONDAY = MONDAY + WEEK_MS


def sold(slot: str = SLOT, week: int = 1, **rules: object) -> Ledger:
    """Ann has paid for a booking that begins next week."""
    ledger = furnished(BookingRules(mode=Mode.LIVE, **rules))  # type: ignore[arg-type]
    ledger.act(ledger.reserve("b1", slot, week), ledger.checkout("b1"), ledger.session("b1", "cs_1"))
    ledger.act(ledger.pay("b1", session="cs_1", amount=ledger.bookings["b1"].amount_cents))
    ledger.mails.clear()
    ledger.webhook_events.clear()
    ledger.audits.clear()
    return ledger


def follow(ledger: Ledger, at_ms: int) -> None:
    ledger.now_ms = at_ms
    ledger.act(FollowSchedule("b1", ledger.origin()))


def show(ledger: Ledger, week: int, impressions: int = 10, clicks: int = 1, filtered: Filtered = NOT_FILTERED) -> None:
    """Count events on the Tuesday of a week."""
    day = day_of(MONDAY + week * WEEK_MS) + 1
    ledger.days.setdefault("b1", []).append(DayDelivered(day, impressions, clicks, filtered))
    before = ledger.delivered.get("b1", (0, 0))
    ledger.delivered["b1"] = before[0] + impressions, before[1] + clicks


def ask(ledger: Ledger, reason: str = "A mistake", owner: str = ANN) -> RequestRefund:
    return RequestRefund(owner, "b1", reason, ledger.origin())


def decline(ledger: Ledger, note: str = "It was shown") -> DeclineRefundRequest:
    return DeclineRefundRequest("b1", note, ledger.origin())


# The schedule.


def test_nothing_is_due_before_the_week_begins() -> None:
    ledger = sold()
    assert ledger.bookings["b1"].next_step_ms == NEXT_MONDAY
    follow(ledger, NEXT_MONDAY - 1)
    assert (ledger.last.bookings, ledger.mails, ledger.webhook_events) == ({}, [], [])


@pytest.mark.parametrize("status", CampaignStatus)
def test_the_begin_of_a_week_is_told_once_with_whether_the_ad_is_shown(status: CampaignStatus) -> None:
    ledger = sold()
    campaign_id = ledger.bookings["b1"].campaign_id
    ledger.campaigns[campaign_id] = replace(ledger.campaigns[campaign_id], status=status)
    for _ in range(3):
        follow(ledger, NEXT_MONDAY)
    [mail] = ledger.mails
    assert (mail.template, mail.topic, mail.id) == ("week_begins", Topic.BOOKINGS, "msg_b1_begins_o")
    assert json.loads(mail.facts)["shown"] == ("yes" if status is CampaignStatus.APPROVED else status)
    assert ledger.bookings["b1"].next_step_ms == NEXT_MONDAY + DAY + SETTLE


def test_the_begin_of_a_week_says_that_the_account_is_suspended() -> None:
    ledger = sold()
    ledger.suspended.add(ledger.bookings["b1"].tenant_id)
    follow(ledger, NEXT_MONDAY)
    assert [json.loads(mail.facts)["shown"] for mail in ledger.mails] == ["suspended"]


def test_each_day_is_published_once_its_counts_are_final() -> None:
    ledger = sold()
    show(ledger, 1, 10, 2, Filtered(capped=3))
    follow(ledger, NEXT_MONDAY + 2 * DAY + SETTLE - 1)
    assert ledger.published() == ["delivery.day"]
    follow(ledger, NEXT_MONDAY + 2 * DAY + SETTLE)
    data = [json.loads(each.payload) for each in ledger.webhook_events]
    assert [(each["date"], each["impressions"], each["clicks"], each["filtered"]) for each in data] == [
        ("2026-11-23", 0, 0, NOT_FILTERED._asdict()),
        ("2026-11-24", 10, 2, Filtered(capped=3)._asdict()),
    ]
    assert not ledger.last.visible


def test_a_node_that_was_away_for_weeks_does_all_steps_in_order() -> None:
    ledger = sold()
    show(ledger, 1, filtered=Filtered(5, 4, 3, 2, 1))
    follow(ledger, NEXT_MONDAY + 3 * WEEK_MS)
    facts = json.loads(ledger.mails[-1].facts)
    assert [facts[name] for name in ("filtered", *Filtered._fields)] == ["15", "5", "4", "3", "2", "1"]
    assert ledger.published() == ["delivery.day"] * 7
    assert ledger.mailed() == ["week_begins", "week_ended"]
    assert (ledger.status("b1"), ledger.bookings["b1"].next_step_ms) == (PAID, None)
    follow(ledger, NEXT_MONDAY + 4 * WEEK_MS)
    assert len(ledger.mails) == 2


def weekly(ledger: Ledger) -> list[dict[str, str]]:
    return [json.loads(mail.facts) for mail in ledger.mails if mail.template == "weekly_report"]


def test_each_week_of_a_booking_that_goes_on_is_mailed_on_its_monday_alone() -> None:
    ledger = sold(PAIR)
    weeks = ledger.bookings["b1"].weeks
    for number in range(1, weeks + 1):
        show(ledger, number, 10 * number, number)
    for hour in range(0, (weeks + 2) * 168, 5):
        follow(ledger, NEXT_MONDAY + hour * 3_600_000)
    reported = [(each["first"], each["last"], each["impressions"], each["clicks"]) for each in weekly(ledger)]
    assert (weeks, reported) == (2, [("2026-11-23", "2026-11-29", "10", "1")])
    assert ledger.mailed().count("week_ended") == 1, "the last week has a mail of its own"


@pytest.mark.parametrize(("late", "mails"), [(SETTLE, 1), (DAY - 1, 1), (DAY, 0), (2 * DAY, 0)])
def test_a_week_is_reported_on_its_monday_or_not_at_all(late: int, mails: int) -> None:
    """Only so long does the outbox know for certain that the mail was written."""
    ledger = sold(PAIR)
    follow(ledger, NEXT_MONDAY + WEEK_MS + late)
    assert [(each["impressions"], each["clicks"]) for each in weekly(ledger)] == [("0", "0")] * mails


def test_a_booking_that_is_paid_in_its_week_reports_no_day_before_its_payment() -> None:
    ledger = sold(week=0)
    follow(ledger, NOON)
    assert (ledger.mailed(), ledger.bookings["b1"].next_step_ms) == (["week_begins"], MONDAY + 3 * DAY + SETTLE)
    follow(ledger, MONDAY + WEEK_MS + SETTLE)
    assert ledger.published()[:5] == ["delivery.day"] * 5


def test_a_payment_of_a_version_without_schedules_is_followed_from_its_next_step() -> None:
    ledger = sold()
    ledger.bookings["b1"] = replace(ledger.bookings["b1"], next_step_ms=0)
    follow(ledger, NOON + SECOND)
    assert (ledger.bookings["b1"].next_step_ms, ledger.mails) == (NEXT_MONDAY, [])


@pytest.mark.parametrize("field", ["demo", "status"])
def test_demo_bookings_and_those_that_are_not_paid_have_no_schedule(field: str) -> None:
    ledger = sold()
    value = True if field == "demo" else REFUNDING
    ledger.bookings["b1"] = replace(ledger.bookings["b1"], **{field: value})  # type: ignore[arg-type]
    follow(ledger, NEXT_MONDAY + 2 * WEEK_MS)
    assert (ledger.last.bookings, ledger.mails) == ({}, [])


# Refunds of weeks that nobody saw.


def test_weeks_that_nobody_saw_are_refunded_when_they_end() -> None:
    ledger = sold()
    follow(ledger, NEXT_MONDAY + WEEK_MS + SETTLE - 1)
    assert ledger.status("b1") is PAID
    follow(ledger, NEXT_MONDAY + WEEK_MS + SETTLE)
    booking = ledger.bookings["b1"]
    assert (booking.status, booking.payment_issue, booking.refund_cents) == (REFUNDING, "not_shown", PRICE)
    assert booking.refund_due_ms == ledger.now_ms
    facts = json.loads(ledger.mails[-1].facts)
    assert (facts["refund_cents"], facts["unshown_weeks"], facts["impressions"]) == (str(PRICE), "1", "0")
    ledger.act(ledger.settle("b1"))
    assert (ledger.status("b1"), ledger.bookings["b1"].refunded_cents) == (REFUNDED, PRICE)
    assert (ledger.mailed()[-1], ledger.published()[-1]) == ("refund_made", "booking.refunded")


def test_the_share_of_unseen_weeks_of_a_longer_booking_is_refunded() -> None:
    ledger = sold(PAIR)
    amount = ledger.bookings["b1"].amount_cents
    show(ledger, 2)
    follow(ledger, NEXT_MONDAY + 2 * WEEK_MS + SETTLE)
    booking = ledger.bookings["b1"]
    assert (booking.status, booking.payment_issue, booking.refund_cents) == (REFUNDING, "partly_shown", amount // 2)
    ledger.act(ledger.settle("b1"))
    assert ledger.bookings["b1"].refunded_cents == amount // 2
    assert json.loads(ledger.mails[-1].facts)["refund_cents"] == str(amount // 2)


def test_the_mail_of_the_end_names_what_is_left_to_refund_after_a_part_by_hand() -> None:
    ledger = sold()
    ledger.act(ledger.settle("b1", event="evt_part", payment=ledger.bookings["b1"].payment_id, total_cents=1_000))
    follow(ledger, NEXT_MONDAY + WEEK_MS + SETTLE)
    assert ledger.bookings["b1"].refund_left_cents == PRICE - 1_000
    assert json.loads(ledger.mails[-1].facts)["refund_cents"] == str(PRICE - 1_000)
    ledger.act(ledger.settle("b1"))
    assert (ledger.status("b1"), ledger.bookings["b1"].refunded_cents) == (REFUNDED, PRICE)


def test_what_was_seen_is_not_refunded() -> None:
    ledger = sold()
    show(ledger, 1, 0, 1)
    follow(ledger, NEXT_MONDAY + WEEK_MS + SETTLE)
    assert ledger.status("b1") is PAID
    facts = json.loads(ledger.mails[-1].facts)
    assert (facts["clicks"], facts["refund_cents"], facts["unshown_weeks"]) == ("1", "0", "0")


def test_the_automatic_refund_can_be_turned_off() -> None:
    ledger = sold(refund_unshown=False)
    follow(ledger, NEXT_MONDAY + WEEK_MS + SETTLE)
    assert (ledger.status("b1"), ledger.mailed()[-1]) == (PAID, "week_ended")


@pytest.mark.parametrize("kind", [PackageKind.YOUTUBE, PackageKind.BUNDLE])
def test_a_published_video_was_seen(kind: PackageKind) -> None:
    ledger = sold()
    published = replace(ledger.bookings["b1"], package_kind=kind, youtube_status=YoutubeStatus.PUBLISHED)
    ledger.bookings["b1"] = published
    follow(ledger, NEXT_MONDAY + WEEK_MS + SETTLE)
    assert ledger.status("b1") is PAID


def test_a_declined_automatic_refund_is_not_ordered_again_but_told_to_administrators() -> None:
    ledger = sold()
    follow(ledger, NEXT_MONDAY + WEEK_MS + SETTLE)
    ledger.act(ledger.settle("b1", "no such card"))
    assert (ledger.status("b1"), ledger.bookings["b1"].payment_issue) == (PAID, "refund_declined")
    assert [mail.template for mail in ledger.alerts] == ["refund_failed"]
    follow(ledger, NEXT_MONDAY + 2 * WEEK_MS)
    assert ledger.status("b1") is PAID
    ledger.act(ledger.refund("b1"))
    assert (ledger.status("b1"), ledger.bookings["b1"].refund_cents) == (REFUNDING, None)


def test_a_share_that_was_declined_to_one_node_and_made_by_another_is_refunded_as_a_share() -> None:
    ledger = sold(PAIR)
    share = ledger.bookings["b1"].amount_cents // 2
    show(ledger, 1)
    follow(ledger, NEXT_MONDAY + 2 * WEEK_MS + SETTLE)
    ledger.act(ledger.settle("b1", "try again"), ledger.settle("b1"))
    booking = ledger.bookings["b1"]
    assert (booking.status, booking.refunded_cents, booking.refund_cents) == (REFUNDED, share, share)
    assert json.loads(ledger.mails[-1].facts)["refund_cents"] == str(share)


def test_a_disputed_booking_ends_once_its_dispute_is_closed() -> None:
    ledger = sold()
    ledger.act(ledger.dispute("pay_1"))
    follow(ledger, NEXT_MONDAY + WEEK_MS + SETTLE)
    assert (ledger.status("b1"), "week_ended" in ledger.mailed()) == (PAID, False)
    days = ledger.published().count("delivery.day")
    ledger.act(ledger.dispute("pay_1", PaymentState.WON))
    follow(ledger, NEXT_MONDAY + WEEK_MS + DAY + SETTLE)
    assert (ledger.status("b1"), ledger.published().count("delivery.day")) == (REFUNDING, days)


# Requests for refunds.


def test_a_requested_refund_is_told_to_both_sides() -> None:
    ledger = sold()
    booking = booked(ledger.one(ask(ledger)))
    assert (booking.refund_requested_ms, booking.refund_reason, booking.refund_requests) == (NOON, "A mistake", 1)
    assert (ledger.mailed(), [mail.template for mail in ledger.alerts]) == (["refund_requested"], ["refund_to_decide"])
    assert {mail.topic for mail in ledger.mails} == {None}
    assert ledger.told() == [("booking.refund_requested", {})]


def test_a_request_is_refused_with_the_state_of_the_booking_and_changes_nothing() -> None:
    ledger = sold()
    refused(ledger.one(ask(ledger, owner=BOB)), Code.NOT_FOUND)
    ledger.act(ask(ledger))
    assert "already requested" in refused(ledger.one(ask(ledger)), Code.INVALID_STATE).message
    ledger.act(ledger.refund("b1"))
    assert "refunding" in refused(ledger.one(ask(ledger)), Code.INVALID_STATE).message
    ledger.act(ledger.settle("b1"))
    assert "refunded" in refused(ledger.one(ask(ledger)), Code.INVALID_STATE).message
    assert ledger.mailed() == ["refund_requested", "refund_made"]


def test_a_booking_whose_weeks_are_over_takes_no_request() -> None:
    ledger = sold()
    ledger.now_ms = NEXT_MONDAY + WEEK_MS
    assert "over" in refused(ledger.one(ask(ledger)), Code.INVALID_STATE).message


def test_a_disputed_payment_takes_no_request() -> None:
    ledger = sold()
    ledger.act(ledger.dispute("pay_1"))
    assert "bank" in refused(ledger.one(ask(ledger)), Code.INVALID_STATE).message


def test_a_declined_request_says_why_and_can_be_made_again_twice() -> None:
    ledger = sold()
    for _ in range(3):
        ledger.act(ask(ledger))
        booking = booked(ledger.one(decline(ledger)))
        assert (booking.refund_requested_ms, booking.refund_note, booking.status) == (None, "It was shown", PAID)
        assert json.loads(ledger.mails[-1].facts)["note"] == "It was shown"
    assert "3 times" in refused(ledger.one(ask(ledger)), Code.INVALID_STATE).message


def test_only_an_open_request_is_declined() -> None:
    ledger = sold()
    refused(ledger.one(decline(ledger)), Code.INVALID_STATE)
    ledger.act(ask(ledger), ledger.refund("b1"))
    refused(ledger.one(decline(ledger)), Code.INVALID_STATE)
    refused(ledger.one(DeclineRefundRequest("b9", "No", ledger.origin())), Code.NOT_FOUND)


def test_an_accepted_request_refunds_everything() -> None:
    ledger = sold()
    ledger.act(ask(ledger))
    booking = booked(ledger.one(OrderRefund("b1", None, ledger.origin())))
    assert (booking.status, booking.refund_requested_ms, booking.refund_reason) == (REFUNDING, None, "A mistake")


def test_a_lost_dispute_answers_an_open_request() -> None:
    ledger = sold()
    ledger.act(ask(ledger), ledger.dispute("pay_1"))
    assert ledger.bookings["b1"].refund_requested_ms == NOON
    ledger.act(ledger.dispute("pay_1", PaymentState.LOST))
    booking = ledger.bookings["b1"]
    assert (booking.status, booking.refund_requested_ms, booking.refund_reason) == (REFUNDED, None, "A mistake")
    refused(ledger.one(decline(ledger)), Code.INVALID_STATE)


@pytest.mark.parametrize("seen", [(), (1,), (1, 2)])
def test_the_end_waits_a_while_for_a_decision_unless_nothing_was_shown(seen: tuple[int, ...]) -> None:
    ledger = sold(PAIR)
    for week in seen:
        show(ledger, week)
    ledger.act(ask(ledger))
    end_ms = NEXT_MONDAY + 2 * WEEK_MS + SETTLE
    follow(ledger, end_ms + REQUEST_DAYS * DAY - 1)
    assert ledger.status("b1") is (PAID if seen else REFUNDING)
    follow(ledger, end_ms + REQUEST_DAYS * DAY)
    assert ledger.status("b1") is (PAID if len(seen) == 2 else REFUNDING)
    assert ledger.mailed()[-1] == "week_ended"
    assert (ledger.bookings["b1"].refund_requested_ms is None) == (len(seen) < 2)


# What is told of other moves.


def test_each_move_of_a_booking_is_told_once() -> None:
    ledger = furnished()
    ledger.act(ledger.reserve("b1"), ledger.reserve("b1"), ledger.checkout("b1"))
    assert (ledger.mailed(), ledger.published()) == (["booking_reserved"], ["booking.reserved"])
    ledger.act(ledger.pay("b1"), ledger.pay("b1"))
    assert (ledger.mailed()[1:], ledger.published()[1:]) == (["booking_receipt"], ["booking.paid"])
    ledger.act(ledger.reserve("b2", week=2), ledger.cancel("b2"), ledger.cancel("b2"))
    ledger.act(ledger.reserve("b3", week=3))
    ledger.pass_ms(60 * MINUTE)
    ledger.act(ledger.expire("b3"), ledger.expire("b3"))
    kinds = ["booking.reserved", "booking.cancelled", "booking.reserved", "booking.expired"]
    assert ledger.published()[2:] == kinds
    data = json.loads(ledger.webhook_events[1].payload)
    assert (data["bookingId"], data["status"], data["amountCents"]) == ("b1", "paid", REST)
