"""The limits of one account: weeks held again and again, holds of a day, and campaigns."""

from dataclasses import replace
from typing import Any

import pytest

from actors.bookings.decision import BookingRules
from actors.bookings.messages import Message
from actors.bookings.records import BookingStatus, CampaignStatus
from actors.bookings.transitions import CampaignMove
from actors.values import Code
from tests.state.ledger import ANN, BOB, DAY, HOLD, MINUTE, MONDAY, PAIR, SECOND, Ledger, booked, furnished, refused

COOLDOWN = 60 * MINUTE


def limited(**rules: Any) -> Ledger:
    return furnished(BookingRules(**({"cooldown_ms": COOLDOWN} | rules)))


# The cool-down.


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_week_that_was_held_unpaid_is_closed_to_its_account_for_a_time(cancelled: bool) -> None:
    ledger = limited()
    ledger.act(ledger.reserve("b1"))
    if cancelled:
        ledger.pass_ms(10 * MINUTE)
        ledger.act(ledger.cancel("b1"))
    else:
        ledger.pass_ms(HOLD)
    answer = refused(ledger.one(ledger.reserve("b2")), Code.HOLD_LIMIT)
    assert answer.retry_after_seconds == COOLDOWN // SECOND
    assert "60 minutes" in answer.message
    ledger.pass_ms(COOLDOWN - 1)
    answer = refused(ledger.one(ledger.reserve("b2")), Code.HOLD_LIMIT)
    assert (answer.retry_after_seconds, "1 minute," in answer.message) == (1, True)
    ledger.pass_ms(1)
    assert booked(ledger.one(ledger.reserve("b2"))).status is BookingStatus.RESERVED


def test_the_cooldown_begins_with_the_end_of_the_hold_and_not_with_the_sweep() -> None:
    ledger = limited()
    ledger.act(ledger.reserve("b1"))
    ledger.pass_ms(HOLD + 30 * MINUTE)
    ledger.act(ledger.expire("b1"))
    assert refused(ledger.one(ledger.reserve("b2")), Code.HOLD_LIMIT).retry_after_seconds == 30 * MINUTE // SECOND


def test_the_cooldown_is_for_that_account_and_those_weeks_of_that_slot() -> None:
    ledger = limited()
    ledger.act(ledger.reserve("b1", PAIR, week=1), ledger.cancel("b1"))
    assert booked(ledger.one(ledger.reserve("b2", PAIR, week=1, owner=BOB)))
    ledger.act(ledger.cancel("b2", BOB))
    for week in (0, 1, 2):
        refused(ledger.one(ledger.reserve("b3", PAIR, week=week, key=f"k{week}")), Code.HOLD_LIMIT)
    assert booked(ledger.one(ledger.reserve("b4", PAIR, week=3)))
    assert booked(ledger.one(ledger.reserve("b5", week=1)))


def test_a_booking_that_was_paid_leaves_no_cooldown() -> None:
    ledger = limited()
    ledger.paid("b1")
    ledger.act(ledger.refund("b1"), ledger.settle("b1"))
    assert booked(ledger.one(ledger.reserve("b2")))


def test_a_repeated_request_gets_its_booking_in_spite_of_the_cooldown() -> None:
    ledger = limited()
    ledger.act(ledger.reserve("b1", key="k"), ledger.cancel("b1"))
    assert booked(ledger.one(ledger.reserve("b2", key="k"))).status is BookingStatus.CANCELLED


def test_accounts_of_a_mailbox_of_which_none_has_paid_share_their_limits() -> None:
    ledger = limited(open_holds=1, pending_campaigns=1)
    ledger.siblings = {ANN: frozenset({BOB}), BOB: frozenset({ANN})}
    having = "The accounts of this mailbox, none of which has paid yet, have"

    def is_refused(message: Message, code: Code, words: str) -> None:
        assert refused(ledger.one(message), code).message.startswith(f"{having} {words}")

    ledger.act(ledger.reserve("b1"), ledger.create_campaign("c1"))
    is_refused(ledger.create_campaign("c2", BOB), Code.CAMPAIGN_LIMIT, "1 campaigns that wait for review")
    is_refused(ledger.reserve("b2", week=1, owner=BOB), Code.HOLD_LIMIT, "1 unpaid bookings, the maximum")
    ledger.act(ledger.cancel("b1"))
    is_refused(ledger.reserve("b3", owner=BOB), Code.HOLD_LIMIT, "just held this week without paying")
    ledger.rules = replace(ledger.rules, holds_per_day=1)
    is_refused(ledger.reserve("b4", week=1, owner=BOB), Code.HOLD_LIMIT, "reserved 1 times today, the maximum")


def test_without_a_cooldown_a_week_is_held_again_at_once() -> None:
    ledger = limited(cooldown_ms=0)
    ledger.act(ledger.reserve("b1"), ledger.cancel("b1"))
    assert booked(ledger.one(ledger.reserve("b2")))


# Holds of a day.


def test_an_account_has_so_many_holds_a_day_whatever_becomes_of_them() -> None:
    ledger = limited(holds_per_day=2)
    ledger.paid("b1")
    ledger.act(ledger.reserve("b2", week=1), ledger.cancel("b2"))
    answer = refused(ledger.one(ledger.reserve("b3", week=2)), Code.HOLD_LIMIT)
    assert answer.retry_after_seconds == (DAY - ledger.now_ms % DAY) // SECOND
    assert booked(ledger.one(ledger.reserve("b4", week=2, owner=BOB)))
    ledger.now_ms = MONDAY + 3 * DAY
    assert booked(ledger.one(ledger.reserve("b5", week=3)))


def test_a_hold_of_midnight_counts_for_the_day_that_begins() -> None:
    ledger = limited(holds_per_day=1)
    ledger.now_ms = MONDAY + DAY
    ledger.act(ledger.reserve("b1"))
    assert refused(ledger.one(ledger.reserve("b2", week=1)), Code.HOLD_LIMIT).retry_after_seconds == DAY // SECOND


def test_the_holds_of_one_batch_count() -> None:
    ledger = limited(holds_per_day=2)
    answers = ledger.act(*(ledger.reserve(f"b{week}", week=week) for week in range(3)))
    assert refused(answers[2], Code.HOLD_LIMIT)
    assert len(ledger.bookings) == 2


# Campaigns.


def create(ledger: Ledger, count: int, owner: str = ANN) -> None:
    for _ in range(count):
        ledger.act(ledger.create_campaign(f"cmp_{ledger.made}", owner))


def test_an_account_has_so_many_campaigns_that_wait() -> None:
    ledger = limited(pending_campaigns=3)
    create(ledger, 3)
    refused(ledger.one(ledger.create_campaign("cmp_4")), Code.CAMPAIGN_LIMIT)
    refused(ledger.one(ledger.start("b1")), Code.CAMPAIGN_LIMIT)
    assert not ledger.bookings
    create(ledger, 1, BOB)
    waiting = next(row.id for row in ledger.campaigns.values() if row.status is CampaignStatus.PENDING)
    ledger.act(ledger.move(waiting, CampaignMove.APPROVE))
    assert booked(ledger.one(ledger.start("b2")))


def test_no_way_leads_around_the_limit_of_campaigns_that_wait() -> None:
    ledger = limited(pending_campaigns=2)
    create(ledger, 1)
    ledger.campaigns["cmp_draft"] = replace(ledger.campaign("cmp_draft", ANN), status=CampaignStatus.DRAFT)
    edit, submit = ledger.edit(f"cmp_{ANN}", headline="New"), ledger.move("cmp_draft", CampaignMove.SUBMIT, ANN)
    first, second = ledger.act(edit, submit)
    assert not hasattr(first, "code")
    refused(second, Code.CAMPAIGN_LIMIT)
    assert ledger.campaigns["cmp_draft"].status is CampaignStatus.DRAFT
    # A campaign that already waits may be edited, and a change of name needs no review.
    assert not hasattr(ledger.one(ledger.edit(f"cmp_{ANN}", headline="Newer")), "code")
    assert not hasattr(ledger.one(ledger.edit("cmp_draft", name="Another")), "code")


def test_an_account_has_so_many_campaigns_at_all() -> None:
    ledger = limited(campaigns=3)
    answers = ledger.act(*(ledger.create_campaign(f"cmp_{number}") for number in range(3)))
    refused(answers[2], Code.CAMPAIGN_LIMIT)
    refused(ledger.one(ledger.start("b1")), Code.CAMPAIGN_LIMIT)


def test_a_repeated_creation_is_answered_at_the_limit() -> None:
    ledger = limited(campaigns=2)
    creation = ledger.create_campaign("cmp_new")
    ledger.act(creation)
    assert not hasattr(ledger.one(creation), "code")
