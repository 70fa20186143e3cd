"""The audit in words: each kind of change has its sentence, and names of values are made of their parts."""

import re

from actors.bookings.campaigns import PAST as CAMPAIGN_PAST
from actors.bookings.changes import PAST as BOOKING_PAST
from service.web.pages.admin.audit_words import DONE, done, label, value, way
from tests.architecture import modules

KINDS = "account|admin|booking|campaign|demo|device|keys?|passkey|profile|sessions?|slot|webhook"
NO_AUDIT = {"webhook.test"}
"""Kinds of events of webhooks, which look like changes."""


def test_each_kind_of_change_has_words() -> None:
    found = {
        action
        for path in modules("actors")
        for action in re.findall(rf'"((?:{KINDS})\.[a-z_]+)"', path.read_text(encoding="utf-8"))
    }
    made = {f"campaign.{past}" for past in CAMPAIGN_PAST.values()} | {
        f"booking.{past}" for past in BOOKING_PAST.values()
    }
    assert len(found) > 40
    assert (found | made) - NO_AUDIT <= set(DONE)


def test_a_change_of_another_release_is_still_said() -> None:
    assert done("slot.moved_away") == "Slot moved away"


def test_names_of_values_are_words_and_units_are_left_out() -> None:
    assert label("weekPriceCents") == "Week price"
    assert label("refunded_cents") == "Refunded"
    assert label("offerEndsMs") == "Offer ends"
    assert label("targetUrl") == "Link"
    assert label("ms") == "Ms"
    assert label("-") == "-"
    assert [label(name) for name in ("pendingHeadline", "pendingTargetUrl", "pending")] == [
        "New headline",
        "New link",
        "Pending",
    ]


def test_a_status_is_said_as_on_the_pages_of_its_kind() -> None:
    assert value("booking", "status", "reserved") == "Held"
    assert value("campaign", "status", "pending") == "In review"
    assert value("campaign", "headline", "pending") == "pending"
    assert value("booking", "payment_issue", "disputed") == "Payment disputed"
    assert value("booking", "payment_issue", "nothing") == "nothing"
    assert value("device", "status", "approved") == "approved"


def test_an_actor_is_a_person_with_a_way_or_a_part_of_the_service() -> None:
    assert way({"actorType": "session", "actorId": "ses_1"}) == "In a browser"
    assert way({"actorType": "system", "actorId": "payments"}) == "The payment processor"
    assert way({"actorType": "system", "actorId": "cashier"}) == "The service, when time was up"
    assert way({"actorType": "system", "actorId": "ledger"}) == "The service"
