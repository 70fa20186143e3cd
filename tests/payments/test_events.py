"""Parsing events: their meaning for the ledger, and robustness against any body."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.bookings.records import PaymentState
from actors.values import Refused
from service.payments.gateway import DisputeUpdated, PaymentSucceeded, RefundUpdated
from service.payments.stripe_webhook import StripeWebhook, event_of
from tests.fakes import HandClock
from tests.payments.bank import WEBHOOK_SECRET
from tests.payments.events import charge, dispute, disputed, dumped, event, paid, refund, session, signature
from tests.slow import shortened

MADE_MS, REFUND_MS = 1_795_003_200_000, 1_795_003_100_000
PAYMENT = PaymentSucceeded("evt_1", "bok_1", "cs_test_1", "pi_1", 125_000, "usd")
REFUNDED = RefundUpdated(
    "re_1.succeeded",
    "bok_1",
    "pi_1",
    cents=125_000,
    currency="usd",
    refund_id="re_1",
    at_ms=MADE_MS,
    made_ms=REFUND_MS,
)

TOLD = {
    "a paid session": (paid(), PAYMENT),
    "a session that was paid later": (event("checkout.session.async_payment_succeeded", session()), PAYMENT),
    "a session without our reference": (paid(client_reference_id=None), PAYMENT),
    "a session that showed terms": (
        paid(metadata={"booking_id": "bok_1", "terms_version": "2026-11"}),
        replace(PAYMENT, terms_version="2026-11"),
    ),
    "a session whose terms have no version that we wrote": (
        paid(metadata={"booking_id": "bok_1", "terms_version": "x" * 41}),
        PAYMENT,
    ),
    "a charge that was paid back": (
        event("charge.refunded", charge()),
        RefundUpdated("evt_1", "bok_1", "pi_1", at_ms=MADE_MS),
    ),
    "a refund that succeeded": (
        event("refund.updated", refund()),
        REFUNDED,
    ),
    "the same by its older name": (
        event("charge.refund.updated", refund()),
        REFUNDED,
    ),
    "a refund that failed": (
        event("refund.failed", refund(status="failed", failure_reason="lost_or_stolen_card")),
        RefundUpdated(
            "re_1.failed",
            "bok_1",
            "pi_1",
            "failed at the processor: lost_or_stolen_card",
            cents=125_000,
            currency="usd",
            refund_id="re_1",
            at_ms=MADE_MS,
            made_ms=REFUND_MS,
        ),
    ),
    "the same, told as an update": (
        event("refund.updated", refund(status="failed"), "evt_2"),
        RefundUpdated(
            "re_1.failed",
            "bok_1",
            "pi_1",
            "failed at the processor: no reason given",
            cents=125_000,
            currency="usd",
            refund_id="re_1",
            at_ms=MADE_MS,
            made_ms=REFUND_MS,
        ),
    ),
    "a refund that was cancelled": (
        event("refund.updated", refund(status="canceled")),
        RefundUpdated(
            "re_1.canceled",
            "bok_1",
            "pi_1",
            "canceled at the processor: no reason given",
            cents=125_000,
            currency="usd",
            refund_id="re_1",
            at_ms=MADE_MS,
            made_ms=REFUND_MS,
        ),
    ),
    "a charge that was refunded in part": (
        event("charge.refunded", charge(refunded=False, amount_refunded=100)),
        RefundUpdated("evt_1", "bok_1", "pi_1", total_cents=100, currency="usd", at_ms=MADE_MS),
    ),
    "a dispute": (disputed(), DisputeUpdated("evt_d", "dp_1", "pi_1", PaymentState.DISPUTED, 125_000, "usd", MADE_MS)),
    "a dispute that is reviewed": (
        event("charge.dispute.updated", dispute(status="under_review")),
        DisputeUpdated("evt_1", "dp_1", "pi_1", PaymentState.DISPUTED, 125_000, "usd", MADE_MS),
    ),
    "a dispute that was won": (
        disputed("won"),
        DisputeUpdated("evt_d", "dp_1", "pi_1", PaymentState.WON, 125_000, "usd", MADE_MS),
    ),
    "a dispute that was lost": (
        disputed("lost"),
        DisputeUpdated("evt_d", "dp_1", "pi_1", PaymentState.LOST, 125_000, "usd", MADE_MS),
    ),
}
TOLD["a dispute of a part"] = (
    disputed("lost", amount=50),
    DisputeUpdated("evt_d", "dp_1", "pi_1", PaymentState.LOST, 50, "usd", MADE_MS),
)
BACK = [{"amount": -50, "currency": "usd"}, {"amount": 20, "currency": "usd"}]
"""Balance transactions of a dispute: withdrawn and reinstated."""
TOLD |= {
    f"a lost dispute of which {what}": (
        event(
            "charge.dispute.funds_reinstated", dispute(status="lost", amount=50, balance_transactions=moves), "evt_d"
        ),
        DisputeUpdated("evt_d", "dp_1", "pi_1", state, amount, "usd", MADE_MS),
    )
    for what, moves, state, amount in (
        ("a part came back", BACK, PaymentState.LOST, 30),
        ("all came back", [BACK[0], {"amount": 50, "currency": "usd"}], PaymentState.WON, 50),
        ("an amount in another currency came back", [{"amount": 20, "currency": "eur"}], PaymentState.LOST, 50),
        ("something odd came back", [None, "txn_1", {"amount": "20", "currency": "usd"}], PaymentState.LOST, 50),
        ("only ids are told", "txn_1", PaymentState.LOST, 50),
    )
}
TOLD["a dispute whose money came back"] = (
    event("charge.dispute.funds_reinstated", dispute(status="won"), "evt_d"),
    DisputeUpdated("evt_d", "dp_1", "pi_1", PaymentState.WON, 125_000, "usd", MADE_MS),
)
TOLD["a dispute without amount, currency and time"] = (
    disputed("lost", amount=None, currency=None) | {"created": None},
    DisputeUpdated("evt_d", "dp_1", "pi_1", PaymentState.LOST),
)
IGNORED: dict[str, Any] = {
    "a session that is not paid yet": paid(payment_status="unpaid"),
    "a session that needed no payment": paid(payment_status="no_payment_required", payment_intent=None),
    "a session of another system": paid(booking_id=None),
    "a session with our booking as its reference alone": paid(metadata={}),
    "a session without metadata": paid(metadata=None),
    "a session without an id": paid(id=None),
    "an event of test mode": paid() | {"livemode": False},
    "an event without a mode": {name: value for name, value in paid().items() if name != "livemode"},
    "an event whose mode is a text": paid() | {"livemode": "true"},
    "a refund without a payment": event("refund.updated", refund(payment_intent=None)),
    "a dispute of a charge without a payment intent": event("charge.dispute.created", dispute(payment_intent=None)),
    "an inquiry": event("charge.dispute.created", dispute(status="warning_needs_response")),
    "an inquiry that was closed": event("charge.dispute.closed", dispute(status="warning_closed")),
    "money of a dispute that was withdrawn": event("charge.dispute.funds_withdrawn", dispute()),
    **{f"a dispute of {amount!r} cents": disputed("lost", amount=amount) for amount in (0, -5, "50", 5.0, True, 2**60)},
    "a session without a payment": paid(payment_intent=None),
    "an expanded payment": paid(payment_intent={"id": "pi_1"}),
    "an amount as a text": paid(amount_total="125000"),
    "an amount as a fraction": paid(amount_total=125_000.0),
    "an amount that is true": paid(amount_total=True),
    "an amount below nothing": paid(amount_total=-1),
    "an amount beyond a number": paid(amount_total=2**53 + 1),
    "an amount of 4,000 digits": paid(amount_total=10**4_000),
    "no amount": paid(amount_total=None),
    "another currency's form": paid(currency="USD"),
    "no currency": paid(currency=None),
    "a booking that is no text": paid(client_reference_id=7, metadata={"booking_id": ["bok_1"]}),
    "a booking with a NUL": paid(client_reference_id="bok_\0", metadata={"booking_id": "bok_\0"}),
    "half a surrogate pair": paid(client_reference_id="\ud800", metadata={"booking_id": "\ud800"}),
    "a booking with a line break": paid(client_reference_id="bok_1\n", metadata={"booking_id": "bok_1\n"}),
    "a long booking": paid(client_reference_id="b" * 101, metadata={"booking_id": "b" * 101}),
    "metadata that is a list": paid(metadata=["booking_id"], client_reference_id=None),
    "an event without an id": paid() | {"id": None},
    "an event with a long id": paid() | {"id": "e" * 256},
    "an event without a kind": paid() | {"type": None},
    "an event whose kind is a list": paid() | {"type": ["checkout.session.completed"]},
    "an event without data": paid() | {"data": None},
    "an event whose data is a list": paid() | {"data": [session()]},
    "an event whose object is a text": paid() | {"data": {"object": "cs_test_1"}},
    "a charge with nothing refunded": event("charge.refunded", charge(refunded=False, amount_refunded=0)),
    "a part without an amount": event("charge.refunded", charge(refunded=False, amount_refunded=None)),
    "a refund without an amount": event("refund.updated", refund(amount=None)),
    "a charge that says yes in words": event("charge.refunded", charge(refunded="true")),
    "a charge of another system": event("charge.refunded", charge(booking_id=None)),
    "a charge without a payment": event("charge.refunded", charge(payment_intent=None)),
    "a refund made by hand": event("refund.updated", refund(booking_id=None)),
    "a refund under way": event("refund.updated", refund(status="pending")),
    "a refund of an unknown state": event("refund.updated", refund(status=None)),
    "a refund without an id": event("refund.failed", refund(id=None, status="failed")),
    "another kind of event": event("payment_intent.succeeded", {"id": "pi_1", "metadata": {"booking_id": "bok_1"}}),
    "a session that ran out": event("checkout.session.expired", session(payment_status="unpaid")),
    "a payment that failed later": event("checkout.session.async_payment_failed", session(payment_status="unpaid")),
    "null": None,
    "a list": [],
    "a number": 1,
    "an empty object": {},
}


@pytest.mark.parametrize("what", TOLD)
def test_an_event_tells_the_ledger(what: str) -> None:
    body, told = TOLD[what]
    assert event_of(body) == told


@pytest.mark.parametrize("what", IGNORED)
def test_an_event_tells_nothing(what: str) -> None:
    assert event_of(IGNORED[what]) is None


def _places(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*place, name)
            yield from _places(inner, (*place, name))


WHOLE = {what: body for what, (body, _) in TOLD.items()}
ODD: list[Any] = [None, True, 0, -1, 10**400, 1.5, "", "\0", "\ud800", [], [{}], {}, {"id": {}}]


@pytest.mark.parametrize("what", WHOLE)
def test_with_any_field_missing_or_of_another_type_an_event_still_reads(what: str) -> None:
    for place in _places(WHOLE[what]):
        for odd in [*ODD, "missing"]:
            changed = copy.deepcopy(WHOLE[what])
            inner = changed
            for name in place[:-1]:
                inner = inner[name]
            if odd == "missing":
                del inner[place[-1]]
            else:
                inner[place[-1]] = odd
            told = event_of(changed)
            assert told is None or isinstance(told, PaymentSucceeded | RefundUpdated | DisputeUpdated)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "type", "data", "object", "metadata", "booking_id"]), inner)
    ),
)


@settings(max_examples=shortened(100), derandomize=True, database=None, deadline=None)
@given(JSON)
def test_no_json_breaks_the_reader(value: Any) -> None:
    assert event_of(value) is None


# The signature.

NOW = 1_795_003_200
CLOCK = HandClock(NOW * 1_000)
WEBHOOK = StripeWebhook(WEBHOOK_SECRET, CLOCK)
BODY = dumped(paid())


def test_a_signed_event_is_opened() -> None:
    assert WEBHOOK.read(BODY, signature(BODY, NOW)) == PAYMENT


@pytest.mark.parametrize("age", [0, 299, 300, -60, -86_400])
def test_a_signature_is_good_for_5_minutes_by_the_clock_that_was_passed_in(age: int) -> None:
    """A signature from a clock ahead of ours is accepted too."""
    assert WEBHOOK.read(BODY, signature(BODY, NOW - age)) == PAYMENT


@pytest.mark.parametrize("age", [301, 3_600, NOW, NOW + 1])
def test_an_older_signature_is_refused(age: int) -> None:
    refused = WEBHOOK.read(BODY, signature(BODY, NOW - age))
    assert isinstance(refused, Refused)
    assert "older than 300 s" in refused.message


def test_one_good_signature_of_several_is_enough() -> None:
    """While an endpoint's secret is rotated, Stripe signs with both."""
    t, good = signature(BODY, NOW).split(",")
    assert WEBHOOK.read(BODY, f"{t},v1=00ff,{good},v0=abc") == PAYMENT


GOOD = signature(BODY, NOW)
BAD = {
    "none": None,
    "an empty one": "",
    "a word": "signature",
    "no time": GOOD.partition(",")[2],
    "no signature": GOOD.partition(",")[0],
    "another scheme": GOOD.replace("v1=", "v0="),
    "another time": GOOD.replace(f"t={NOW}", f"t={NOW + 1}"),
    "a time before it": f"t={NOW + 1},{GOOD}",
    "no number for a time": GOOD.replace(f"t={NOW}", "t=now"),
    "a time without end": GOOD.replace(f"t={NOW}", f"t={'9' * 5_000}"),
    "two equals signs": GOOD.replace(f"t={NOW}", "t==5"),
    "no equals sign": GOOD.replace(f"t={NOW}", "t"),
    "a cut one": GOOD[:-1],
    "upper case": GOOD.upper(),
    "not ASCII": GOOD.replace("v1=", "v1=\xe9"),
    "another secret's": signature(BODY, NOW, "whsec_of_somebody_else"),
    "another body's": signature(BODY + b" ", NOW),
}


@pytest.mark.parametrize("what", BAD)
def test_without_stripes_own_signature_nothing_is_opened(what: str) -> None:
    assert isinstance(WEBHOOK.read(BODY, BAD[what]), Refused)


def test_a_time_with_more_behind_it_is_read_as_it_was_verified() -> None:
    assert WEBHOOK.read(BODY, GOOD.replace(f"t={NOW}", f"t={NOW}=5")) == PAYMENT


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"evt_1", b"\xff\xfe", b"[" * 16_000, b'{"id": ' + b"9" * 5_000 + b"}", b"{} {}"],
)
def test_a_signed_body_that_is_no_json_is_refused(body: bytes) -> None:
    assert isinstance(WEBHOOK.read(body, signature(body, NOW)), Refused)


@given(st.binary(max_size=200), st.text(max_size=100))
def test_no_body_and_no_header_break_the_check(body: bytes, header: str) -> None:
    assert isinstance(WEBHOOK.read(body, header), Refused)
    told = WEBHOOK.read(body, signature(body, NOW))
    assert told is None or isinstance(told, Refused)


def test_numbers_that_json_does_not_know_are_ignored() -> None:
    body = json.dumps(paid(amount_total=float("nan"))).encode()
    assert WEBHOOK.read(body, signature(body, NOW)) is None
