"""The badges of bookings, ads, keys and the rest."""

import re
from collections.abc import Mapping
from enum import StrEnum
from itertools import product
from typing import Any

import pytest

from actors.bookings.records import BookingStatus, CampaignStatus, YoutubeStatus
from actors.times import DAY_MS, HOUR_MS, MINUTE_MS
from actors.values import Tier
from actors.webhooks.messages import DeliveryStatus, WebhookStatus
from service.schemas.bookings import Booking
from service.web.pages.parts import badges
from service.web.pages.parts.badges import State, state_of
from tests.web.test_words import NOW_MS, at

MONDAY_MS = at("2026-11-30T00:00:00")
TONES = ("good", "warm", "bad", "cool", "")
HELD_MS = NOW_MS + 22 * MINUTE_MS


def booking(status: str, **values: Any) -> Mapping[str, Any]:
    return {
        "status": status,
        "weekStart": MONDAY_MS,
        "weekEnd": MONDAY_MS + 7 * DAY_MS,
        "campaignStatus": "approved",
    } | values


RUNNING = {"weekStart": NOW_MS - DAY_MS}
ENDED = {"weekStart": NOW_MS - 8 * DAY_MS, "weekEnd": NOW_MS}


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        (booking("reserved", heldUntil=HELD_MS), State("Held until 10:03", "warm")),
        (booking("checkout", heldUntil=HELD_MS), State("Held until 10:03", "warm")),
        (booking("reserved", heldUntil=HELD_MS + DAY_MS), State("Held until tomorrow, 10:03", "warm")),
        (booking("reserved", heldUntil=HELD_MS + 7 * DAY_MS), State("Held until 2 December, 10:03", "warm")),
        (booking("paid"), State("Paid, begins 30 Nov", "good")),
        (booking("paid", **RUNNING), State("Running", "good")),
        (booking("paid", **ENDED), State("Ended")),
        (booking("paid", campaignStatus="rejected"), State("Ad rejected", "bad")),
        (booking("paid", campaignStatus="pending"), State("Paid, in review", "cool")),
        (booking("paid", campaignStatus="draft"), State("Paid, ad not sent", "warm")),
        (booking("paid", campaignStatus="paused", **RUNNING), State("Ad paused", "warm")),
        (booking("paid", campaignStatus="paused", **ENDED), State("Ended")),
        (booking("paid", refundRequestedAt=NOW_MS, campaignStatus="rejected"), State("Refund asked", "warm")),
        (booking("paid", refundRequestedAt=NOW_MS, **ENDED), State("Refund asked", "warm")),
        (booking("paid", refundDeclinedNote="It ran.", **RUNNING), State("Running", "good")),
        (booking("paid", paymentIssue="disputed", refundRequestedAt=NOW_MS), State("Payment disputed", "bad")),
        (booking("paid", paymentIssue="refund_declined"), State("Refund refused", "bad")),
        (booking("paid", paymentIssue="paid_twice", **RUNNING), State("Running", "good")),
        (booking("expired"), State("Not paid in time")),
        (booking("cancelled", paymentIssue="paid_after_cancel"), State("Cancelled")),
        (booking("refunding"), State("Refund under way", "warm")),
        (booking("refunding", paymentIssue="refund_failed"), State("Refund failed", "bad")),
        (booking("refunded"), State("Refunded")),
        (booking("refunded", paymentIssue="not_shown"), State("Refunded, never shown")),
        (booking("refunded", paymentIssue="partly_shown"), State("Refunded in part")),
        (booking("refunded", paymentIssue="dispute_lost"), State("Taken back by the bank")),
        (booking("refunded", paymentIssue="refund_failed"), State("Refunded")),
    ],
)
def test_a_booking_says_what_matters_most_now(thing: Mapping[str, Any], shown: State) -> None:
    assert state_of(thing, "booking", NOW_MS) == shown


def test_every_booking_has_a_badge() -> None:
    campaigns = [{}, *({"campaignStatus": each} for each in CampaignStatus)]
    for status, shown, weeks, issue in product(BookingStatus, campaigns, ({}, RUNNING, ENDED), (*badges.ISSUES, None)):
        thing = {**booking(status, heldUntil=HELD_MS, paymentIssue=issue), **shown, **weeks}
        badge = state_of(thing, "booking", NOW_MS)
        assert badge.words
        assert badge.tone in TONES


def test_every_problem_of_a_payment_has_words() -> None:
    named = re.findall(r"[a-z]+(?:_[a-z]+)+|disputed", Booking.model_fields["paymentIssue"].description or "")
    assert set(named) == set(badges.ISSUES)
    assert state_of(booking("paid", paymentIssue="paid_twice"), "issue", NOW_MS) == State("Paid twice", "bad")


@pytest.mark.parametrize(
    ("table", "statuses"),
    [
        (badges.NOT_DISPLAYED, set(CampaignStatus) - {CampaignStatus.APPROVED}),
        (badges.CAMPAIGNS, set(CampaignStatus)),
        (badges.VIDEOS, set(YoutubeStatus)),
        (badges.TIERS, set(Tier)),
        (badges.WEBHOOKS, set(WebhookStatus)),
        (badges.DELIVERIES, set(DeliveryStatus)),
        (badges.LISTED, set(BookingStatus)),
    ],
)
def test_no_status_is_missing(table: Mapping[StrEnum, object], statuses: set[StrEnum]) -> None:
    assert set(table) == statuses


@pytest.mark.parametrize(
    ("kind", "thing", "shown"),
    [
        ("campaign", {"status": "pending"}, State("In review", "cool")),
        ("campaign", {"status": "approved"}, State("Approved", "good")),
        ("campaign", {"status": "approved", "pendingRevision": {}}, State("Approved, edit in review", "good")),
        ("video", {"youtubeStatus": "published"}, State("Published", "good")),
        ("slot", {"active": True}, State("For sale", "good")),
        ("slot", {"active": False}, State("Not for sale")),
        ("slot", {"active": True, "comingSoon": True}, State("Coming soon", "cool")),
        ("slot", {"active": True, "comingSoon": False, "offerEndsAt": NOW_MS}, State("Offer ended")),
        ("slot", {"active": True, "offerEndsAt": NOW_MS + 1}, State("For sale", "good")),
        ("slot", {"active": False, "retired": True}, State("Retired")),
        ("key", {}, State("Works", "good")),
        ("key", {"expiresAt": NOW_MS}, State("Expired")),
        ("key", {"expiresAt": NOW_MS + 6 * DAY_MS}, State("Expires in 6 days", "warm")),
        ("key", {"expiresAt": NOW_MS + 7 * DAY_MS + 1}, State("Works", "good")),
        ("key", {"expiresAt": NOW_MS + HOUR_MS, "replacedBy": "key_1"}, State("Replaced, expires in 1 hour", "warm")),
        ("account", {}, State("Active", "good")),
        ("account", {"suspendedAt": NOW_MS, "deletesAt": NOW_MS}, State("Suspended", "bad")),
        ("account", {"deletesAt": MONDAY_MS}, State("Deleted from 30 Nov on", "warm")),
        ("tier", {"tier": "claimed"}, State("Free", dot=False)),
        ("webhook", {"status": "enabled"}, State("On", "good")),
        ("webhook", {"status": "enabled", "failingSince": NOW_MS}, State("Failing", "warm")),
        ("webhook", {"status": "disabled", "failingSince": NOW_MS}, State("Turned off", "bad")),
        ("delivery", {"status": "waiting"}, State("On its way", "cool")),
        ("delivery", {"status": "waiting", "nextAttemptAt": HELD_MS}, State("Next try today, 10:03", "warm")),
        ("delivery", {"status": "failed"}, State("Given up", "bad")),
    ],
)
def test_other_things_say_how_they_are(kind: str, thing: Mapping[str, Any], shown: State) -> None:
    assert state_of(thing, kind, NOW_MS) == shown


def test_a_badge_is_its_words_with_a_tone_and_a_dot() -> None:
    assert State("Running", "good").__html__() == '<span class="badge state good">Running</span>'
    assert State("Ended").__html__() == '<span class="badge state">Ended</span>'
    assert State("This browser", "cool", dot=False).__html__() == '<span class="badge cool">This browser</span>'
    assert str(State("Running", "good")) == "Running"
