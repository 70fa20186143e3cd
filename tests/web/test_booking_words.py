"""The words of a booking about its own state."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.bookings.next_steps import NextStep
from actors.clock import DAY_MS, HOUR_MS, MINUTE_MS
from actors.times import WEEK_MS
from service.snapshots.turns import share
from service.web.pages.parts.booking_words import (
    ISSUES,
    daily,
    days_left,
    floor_words,
    notice_of,
    run_of,
    share_words,
    used_cents,
)
from service.web.pages.parts.words import percent
from service.web.pages.sponsor.booking_history import MAX_AD_STEPS, history
from tests.api.world import NOON_MS
from tests.snapshots.rows import week

BOOKING: dict[str, Any] = {
    "weekStart": week(0),
    "weekEnd": week(1),
    "amountCents": 7_000,
    "currency": "usd",
    "status": "paid",
    "createdAt": week(0) - 2 * DAY_MS,
    "nextStep": "watch_delivery",
}
PAID_MS = week(0) - DAY_MS


def said(now_ms: int = NOON_MS, **changes: Any) -> str:
    """The whole notice, and its tone."""
    found = notice_of(BOOKING | changes, now_ms, refund_unshown=True)
    return "" if found is None else f"{found.tone}: {found.first} {found.rest}".strip()


@pytest.mark.parametrize("step", NextStep)
def test_each_next_step_has_a_notice_unless_the_figures_say_it_all(step: NextStep) -> None:
    silent = {NextStep.PAY, NextStep.WATCH_DELIVERY, NextStep.READ_REPORT}
    assert (said(nextStep=step.value, status="refunded") == "") == (step in silent)


def test_an_ended_booking_that_nobody_saw_says_so() -> None:
    assert said(nextStep="read_report", impressions=0) == ": Nobody saw the ad in the booked week."
    assert said(nextStep="read_report", impressions=1) == ""


def test_a_notice_speaks_of_a_week_or_of_weeks() -> None:
    assert said(nextStep="edit_campaign").endswith("The week stays yours.")
    assert said(nextStep="edit_campaign", weekEnd=week(2)).endswith("The weeks stay yours.")


def test_what_came_to_nothing_says_what_it_cost() -> None:
    def over(**changes: Any) -> str:
        return said(nextStep="book_again", **changes)

    assert over(status="expired").endswith("you paid nothing. The week may still be free.")
    assert over(status="cancelled") == ": You cancelled the booking and paid nothing."
    assert over(status="refunded", refundedCents=7_000) == ": USD 70.00 was refunded."
    assert over(status="refunded", refundedCents=1_000) == ": USD 10.00 of USD 70.00 was refunded."


@pytest.mark.parametrize("issue", ISSUES)
def test_a_problem_with_the_payment_is_told_in_each_state(issue: str) -> None:
    for step, status in (("watch_delivery", "paid"), ("wait_for_refund", "refunding"), ("book_again", "refunded")):
        assert ISSUES[issue] in said(nextStep=step, status=status, paymentIssue=issue)


def test_the_run_of_a_booking_says_how_far_it_is() -> None:
    assert run_of(BOOKING, NOON_MS) == "16 to 22 November, 1 week. Day 3 of 7."
    assert run_of(BOOKING, week(0)) == "16 to 22 November, 1 week. Day 1 of 7."
    assert run_of(BOOKING, week(0) - 1) == "16 to 22 November, 1 week. Begins in less than a minute."
    assert run_of(BOOKING, week(0) - 3 * DAY_MS) == "16 to 22 November, 1 week. Begins in 3 days."
    assert run_of(BOOKING, week(1)) == "16 to 22 November, 1 week."
    assert run_of(BOOKING | {"status": "reserved"}, NOON_MS) == "16 to 22 November, 1 week."
    assert run_of(BOOKING | {"weekEnd": week(2)}, week(0)).endswith("2 weeks. Day 1 of 14.")


def test_the_amount_is_used_day_by_day_from_the_payment_on() -> None:
    assert used_cents(BOOKING, PAID_MS, week(0) - 1) == 0
    assert used_cents(BOOKING, PAID_MS, week(0)) == 1_000
    assert used_cents(BOOKING, PAID_MS, week(1) - 1) == 7_000
    assert used_cents(BOOKING, PAID_MS, week(3)) == 7_000
    # Paid on the third day: the rest of the week costs the amount.
    assert used_cents(BOOKING, week(0) + 2 * DAY_MS + HOUR_MS, week(0) + 2 * DAY_MS + HOUR_MS) == 1_400
    assert used_cents(BOOKING | {"refundedCents": 4_000}, PAID_MS, week(1)) == 3_000


@given(
    amount=st.integers(0, 10**9),
    weeks=st.integers(1, 52),
    paid=st.integers(-40 * DAY_MS, 400 * DAY_MS),
    now=st.integers(-40 * DAY_MS, 400 * DAY_MS),
)
def test_no_more_than_the_amount_is_used(amount: int, weeks: int, paid: int, now: int) -> None:
    booking = BOOKING | {"amountCents": amount, "weekEnd": week(0) + weeks * WEEK_MS}
    assert 0 <= used_cents(booking, week(0) + paid, week(0) + now) <= amount


def test_the_history_is_newest_first_with_its_moments() -> None:
    def steps(now_ms: int = NOON_MS, paid_ms: int | None = PAID_MS, **changes: Any) -> list[tuple[str, str, bool]]:
        return [(words, str(moment), now) for words, moment, now in history(BOOKING | changes, {}, paid_ms, now_ms)]

    reserved = ("Booked", "14 November, 00:00", False)
    paid = ("Paid, USD 70.00", "15 November, 00:00", False)
    assert steps() == [("Running", "16 November, 00:00", True), paid, reserved]
    assert steps(now_ms=week(0) - MINUTE_MS)[0] == ("Paid, USD 70.00", "Today, 00:00", True)
    assert steps(nextStep="edit_campaign")[0] == ("The week began", "16 November, 00:00", True)
    ended = [words for words, _, _ in steps(now_ms=week(1) + DAY_MS, nextStep="read_report")]
    assert ended == ["The week ended", "The week began", "Paid, USD 70.00", "Booked"]
    assert steps(status="refunded", nextStep="book_again") == [("Refunded", "", True), paid, reserved]
    assert steps(paid_ms=None, status="expired", nextStep="book_again") == [("Not paid in time", "", True), reserved]
    asked = steps(refundRequestedAt=NOON_MS, nextStep="wait_for_decision")
    assert asked[0] == ("You asked for a refund", "Today, 12:00", True)
    sent = history(BOOKING, {"submittedAt": NOON_MS - HOUR_MS}, PAID_MS, NOON_MS)
    assert [words for words, _, _ in sent][:2] == ["Ad sent for review", "Running"]


def test_the_history_has_what_the_audit_knows() -> None:
    def steps(*happened: tuple[str, int], now_ms: int = NOON_MS, **changes: Any) -> list[tuple[str, str]]:
        known = [{"action": action, "at": at_ms} for action, at_ms in happened]
        return [(said, str(at)) for said, at, _ in history(BOOKING | changes, {}, PAID_MS, now_ms, known)]

    bought = [("Paid, USD 70.00", "15 November, 00:00"), ("Booked", "14 November, 00:00")]
    rejected = steps(("campaign.rejected", NOON_MS - HOUR_MS), nextStep="edit_campaign")
    assert rejected == [("Ad not approved", "Today, 11:00"), ("The week began", "16 November, 00:00"), *bought]
    back: dict[str, Any] = {"status": "refunded", "nextStep": "book_again", "now_ms": week(2)}
    refunded = steps(("booking.refund_ordered", week(1)), ("booking.refunded", week(1)), **back)
    at_the_end = "23 November, 00:00"
    assert refunded[:3] == [("Refunded", at_the_end), ("Refund ordered", at_the_end), ("The week ended", at_the_end)]
    early = steps(("booking.refunded", week(0) - HOUR_MS), **back)
    assert early == [("Refunded", "15 November, 23:00"), *bought], "the week never began for the sponsor"
    late = steps(("campaign.approved", NOON_MS - HOUR_MS))
    assert late[:2] == [("Running", "Today, 11:00"), ("Ad approved", "Today, 11:00")]
    afterwards = steps(("campaign.rejected", week(1) + 1), now_ms=week(2), nextStep="read_report")
    assert afterwards[0][0] == "The week ended"
    # A step that only the booking tells is not notice_of twice.
    asked: dict[str, Any] = {"refundRequestedAt": NOON_MS, "nextStep": "wait_for_decision"}
    assert steps(("booking.refund_requested", NOON_MS), **asked) == steps(**asked)
    often = [(f"campaign.{move}", NOON_MS - at) for at in range(20, 0, -2) for move in ("submitted", "approved")]
    told_of_ad = [said for said, _ in steps(*often) if said.startswith("Ad ")]
    assert len(told_of_ad) == MAX_AD_STEPS


def test_averages_and_rests_are_said_where_they_tell_something() -> None:
    assert daily(17_556, 19) == "924 a day on average"
    assert (daily(500, 1), daily(1, 14), daily(0, 0)) == ("", "", "")
    assert days_left(week(1), week(1) - 1) == 1
    assert days_left(week(1), week(0)) == 7
    assert days_left(week(0), week(1)) == 0


@pytest.mark.parametrize(
    ("ads", "slots", "words", "later"),
    [
        ([1], 2, "the only ad on the left, on 100 % of page views", ""),
        ([3, 3], 3, "one of 3 ads on the left, on 100 % of page views", ""),
        (
            [2],
            7,
            "one of 2 ads on the left, on 100 % of page views",
            "If all 7 slots there are booked, on about 42.9 %.",
        ),
        ([5], 5, "one of 5 ads on the left, on about 60 % of page views", ""),
        ([1, 4, 5], 5, "one of 1 to 5 ads on the left, on about 60 % to 100 % of page views", ""),
        (
            [11],
            40,
            "one of 11 ads on the left, on about 27.3 % of page views",
            "If all 40 slots there are booked, on about 7.5 %.",
        ),
    ],
)
def test_a_share_of_voice_is_said_in_numbers_and_what_becomes_of_it(
    ads: list[int], slots: int, words: str, later: str
) -> None:
    weeks = [{"weekStart": number, "ads": each, "share": share(each, 3)} for number, each in enumerate(ads)]
    voice = {"side": "left", "slots": slots, "floor": share(slots, 3), "weeks": weeks}
    assert (share_words(voice), floor_words(voice)) == (words, later)


def test_a_share_in_words_is_within_two_percent_of_the_share() -> None:
    for ads, at_once in product(range(1, 201), range(1, 7)):
        said = float(percent(share(ads, at_once)).removesuffix(" %")) / 100
        assert said == pytest.approx(share(ads, at_once), rel=0.02)
