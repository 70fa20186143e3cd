"""Live payments against a stand-in for Stripe on loopback: the requests sent, and the handling of each response."""

import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.bookings.payments import Checkout, PaymentsRefused, PaymentsUnavailable, RefundAttempt
from actors.bookings.records import BillingDetails, Booking, BookingStatus, Mode
from actors.clock import HOUR_MS, MINUTE_MS, SECOND_MS
from service.config.loading import load
from service.payments.gateway import PaymentSucceeded
from service.payments.stripe_endpoint import check_endpoint, needed_events
from service.payments.stripe_gateway import StripePayments, product_name
from service.payments.stripe_webhook import EVENTS, event_of
from service.tokens.links import Links
from tests.api.world import NOON_MS
from tests.payments.bank import HOLD_MS, booking
from tests.payments.processor import SECRET_KEY, SESSION_FIELDS, Payment, Processor, error, running_processor

NOON = NOON_MS // SECOND_MS
LINKS = Links("https://catalog.test", b"a secret of the server, 32 bytes")
MADE = booking(mode=Mode.LIVE)
PAID = replace(MADE, status=BookingStatus.REFUNDING, payment_id="pi_1", paid_ms=NOON_MS, paid_cents=125_000)
MARGIN_MS = 2 * MINUTE_MS


@pytest.fixture
def stripe() -> Iterator[Processor]:
    with running_processor(NOON) as processor:
        processor.payments["pi_1"] = Payment(125_000)
        yield processor


def payments(stripe: Processor, key: str = SECRET_KEY, **options: Any) -> StripePayments:
    return StripePayments(key, LINKS, url=stripe.url, **({"seconds": 5.0, "hold_ms": HOLD_MS} | options))


async def checkout(stripe: Processor, made: Booking = MADE, **options: Any) -> Checkout:
    return await payments(stripe, **options).checkout(made, "Autumn")


async def refund(stripe: Processor, made: Booking = PAID) -> bool:
    return (await payments(stripe).refund(made)).done


# Checkout.


async def test_a_session_is_asked_for_as_stripe_documents_it(stripe: Processor) -> None:
    opened = await checkout(stripe)
    [asked] = stripe.asked
    assert (asked.method, asked.path) == ("POST", "/v1/checkout/sessions")
    assert asked.headers["authorization"] == f"Bearer {SECRET_KEY}"
    assert asked.headers["idempotency-key"].startswith("checkout-bok_1-")
    assert asked.form == {
        "mode": "payment",
        "client_reference_id": "bok_1",
        "metadata[booking_id]": "bok_1",
        "payment_intent_data[metadata][booking_id]": "bok_1",
        "invoice_creation[enabled]": "true",
        "invoice_creation[invoice_data][metadata][booking_id]": "bok_1",
        "line_items[0][quantity]": "1",
        "line_items[0][price_data][currency]": "usd",
        "line_items[0][price_data][unit_amount]": "125000",
        "line_items[0][price_data][product_data][name]": "Left column, 2 weeks from 23 November 2026",
        "line_items[0][price_data][product_data][description]": "Campaign: Autumn",
        "expires_at": str((MADE.hold_ms + MARGIN_MS) // SECOND_MS),
        "success_url": LINKS.result_url(MADE),
        "cancel_url": "https://catalog.test/checkout-cancelled",
    }
    assert opened == Checkout("https://checkout.example.com/c/pay/cs_test_1", MADE.hold_ms + MARGIN_MS, "cs_test_1")


async def test_the_event_of_a_payment_names_the_session_that_was_made(stripe: Processor) -> None:
    opened = await checkout(stripe)
    assert opened.session_id is not None
    told = event_of(stripe.pay(opened.session_id))
    assert told == PaymentSucceeded("evt_of_cs_test_1", MADE.id, opened.session_id, "pi_of_cs_test_1", 125_000, "usd")


async def test_stripes_own_invoice_names_the_buyer(stripe: Processor) -> None:
    least = BillingDetails("ten_1", "Example Ltd", "1 Example Street\n8000 Zurich", "CH")
    most = BillingDetails("ten_1", "L" * 200, "\n".join(["A" * 61] * 8), "CH", "T" * 50, "R" * 100)
    opened = await payments(stripe).checkout(MADE, "Autumn", None, least)
    form, data = stripe.asked[-1].form, "invoice_creation[invoice_data]"
    assert form.keys() - SESSION_FIELDS == {f"{data}[description]"}
    assert form[f"{data}[description]"] == "Billed to:\nExample Ltd\n1 Example Street\n8000 Zurich\nCH"
    await payments(stripe).checkout(MADE, "Autumn", None, most)
    form = stripe.asked[-1].form
    for number, (name, value) in enumerate((("Tax number", most.tax_id), ("Reference", most.reference))):
        place = f"{data}[custom_fields][{number}]"
        assert (form[f"{place}[name]"], form[f"{place}[value]"]) == (name, value)
    for number in range(5):
        await payments(stripe).checkout(MADE, "Autumn", None, replace(least, reference=f"PO {number}"))
    assert len(stripe.sessions) == 7, "Stripe repeats no session with other details, and refuses none"
    assert await payments(stripe).checkout(MADE, "Autumn", None, least) == opened


async def test_the_page_shows_the_terms_and_the_event_of_its_payment_names_their_version(stripe: Processor) -> None:
    first = await checkout(stripe, terms=("https://example.com/terms(1)", "2026-11"))
    words = "By paying you accept the [terms](https://example.com/terms(1%29)."
    assert stripe.asked[-1].form["custom_text[submit][message]"] == words
    assert first.session_id is not None
    told = event_of(stripe.pay(first.session_id))
    assert isinstance(told, PaymentSucceeded)
    assert told.terms_version == "2026-11"
    other = await checkout(stripe, terms=("https://example.com/terms", "2027-01"))
    assert other.session_id != first.session_id, "terms that have changed need another page"


async def test_the_payers_email_is_filled_in(stripe: Processor) -> None:
    opened = await payments(stripe).checkout(MADE, "Autumn", "owner@example.com")
    assert stripe.asked[-1].form["customer_email"] == "owner@example.com"
    assert await payments(stripe).checkout(MADE, "Autumn", "owner@example.com") == opened


async def test_an_email_that_stripe_does_not_know_is_left_out(stripe: Processor) -> None:
    opened = await payments(stripe).checkout(MADE, "Autumn", "bücher@example.com")
    assert "customer_email" not in stripe.asked[-1].form
    assert await payments(stripe).checkout(MADE, "Autumn", "bücher@example.com") == opened
    assert len(stripe.sessions) == 1


async def test_the_invoice_of_a_payment_is_found_through_its_session(stripe: Processor) -> None:
    opened = await checkout(stripe)
    assert opened.session_id is not None
    stripe.pay(opened.session_id)
    paid = replace(PAID, payment_id=f"pi_of_{opened.session_id}")
    assert await payments(stripe).invoice_url(paid) == f"https://invoice.example.com/i/{opened.session_id}"
    assert await payments(stripe).invoice_url(PAID) is None, "no session was paid with this payment"
    assert await payments(stripe).invoice_url(MADE) is None, "nobody has paid"
    stripe.invoices[opened.session_id]["hosted_invoice_url"] = None
    assert await payments(stripe).invoice_url(paid) is None, "the invoice is a draft"
    del stripe.invoices[opened.session_id]
    assert await payments(stripe).invoice_url(paid) is None, "the session is older than invoices"


async def test_a_slow_look_up_of_an_invoice_is_given_up(stripe: Processor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.payments.stripe_gateway.LOOKUP_SECONDS", 0.2)
    stripe.script.append("hang")
    with pytest.raises(PaymentsUnavailable, match=r"within 0\.2 s"):
        await payments(stripe).invoice_url(PAID)


async def test_asked_again_by_any_node_at_any_time_of_the_hold_the_page_is_the_same(stripe: Processor) -> None:
    opened = await checkout(stripe)
    for minutes in (1, 5, 29):
        stripe.now = NOON + 60 * minutes
        assert await checkout(stripe) == opened
    assert len(stripe.sessions) == 1


async def test_a_session_that_is_first_asked_for_late_ends_half_an_hour_after_the_hold(stripe: Processor) -> None:
    """Stripe's sessions last at least 30 minutes. The ledger decides on payments after the hold."""
    stripe.now = NOON + 20 * 60
    opened = await checkout(stripe)
    assert opened.expires_ms == MADE.hold_ms + 30 * MINUTE_MS + MARGIN_MS
    stripe.now = NOON + 29 * 60
    assert await checkout(stripe) == opened
    assert len(stripe.sessions) == 1


@pytest.mark.parametrize(
    ("hold_ms", "asked_seconds", "expires_ms"),
    [
        (2 * HOUR_MS, 0, 2 * HOUR_MS),
        (MINUTE_MS, 0, 32 * MINUTE_MS),
        (24 * HOUR_MS, 60, 24 * HOUR_MS),
    ],
    ids=["a long hold", "a short hold gets the shortest session", "the longest hold is within Stripe's day"],
)
async def test_a_session_ends_with_its_hold_within_stripes_bounds(
    stripe: Processor, hold_ms: int, asked_seconds: int, expires_ms: int
) -> None:
    stripe.now = NOON + asked_seconds
    made = replace(MADE, hold_ms=NOON_MS + hold_ms)
    assert (await checkout(stripe, made, hold_ms=hold_ms)).expires_ms == NOON_MS + expires_ms


async def test_a_campaign_that_is_renamed_gets_a_page_with_its_new_name_each_time(stripe: Processor) -> None:
    names = [f"Autumn {number}" for number in range(5)]
    opened = [await payments(stripe).checkout(MADE, name) for name in (*names, names[0])]
    assert [each.session_id for each in opened] == [f"cs_test_{number}" for number in (1, 2, 3, 4, 5, 1)]


async def test_two_bookings_have_two_sessions(stripe: Processor) -> None:
    first, second = await checkout(stripe), await checkout(stripe, replace(MADE, id="bok_2"))
    assert first.url != second.url


async def test_an_answer_that_was_lost_is_found_again(stripe: Processor) -> None:
    stripe.script = ["lose"]
    with pytest.raises(PaymentsUnavailable):
        await checkout(stripe)
    await checkout(stripe)
    assert len(stripe.sessions) == 1


async def test_a_failure_that_stripe_only_repeats_is_no_answer(stripe: Processor) -> None:
    """Stripe repeats its own 500 under the same key for a day, which would make the booking unpayable."""
    stripe.script = [[error(500, "api_error", "Something went wrong on Stripe's end.")]]
    with pytest.raises(PaymentsUnavailable):
        await checkout(stripe)
    opened = await checkout(stripe)
    assert [asked.headers["idempotency-key"].count("-2") for asked in stripe.asked[-2:]] == [0, 1]
    assert await checkout(stripe) == opened
    assert len(stripe.sessions) == 1


async def test_a_failure_that_is_repeated_under_every_key_is_unavailable(stripe: Processor) -> None:
    failure = error(500, "api_error", "Something went wrong on Stripe's end.")
    stripe.script = [[failure], [failure], [failure]]
    for asked in (1, 2, 3, 3):
        stripe.asked.clear()
        with pytest.raises(PaymentsUnavailable):
            await checkout(stripe)
        assert len(stripe.asked) == asked


async def test_a_version_that_asks_otherwise_gets_a_session_of_its_own(stripe: Processor) -> None:
    await checkout(stripe)
    moved = StripePayments(
        SECRET_KEY, Links("https://moved.test", bytes(32)), seconds=5.0, hold_ms=HOLD_MS, url=stripe.url
    )
    assert (await moved.checkout(MADE, "Autumn")).url.endswith("cs_test_2")


UNAVAILABLE = {
    "a failure of Stripe": error(500, "api_error", "Oops."),
    "a failure that is no JSON": (502, b"<html>Bad Gateway</html>"),
    "overload": (503, {"error": {"message": "overloaded"}}),
    "too many requests": error(429, "invalid_request_error", "Too many requests", code="rate_limit"),
    "the same key at this moment": error(409, "idempotency_error", "There is another request in progress."),
    "a key that is not accepted": error(401, "invalid_request_error", "Invalid API Key provided: sk_test_***"),
    "a key that may not": error(403, "invalid_request_error", "The key rk_live_abc lacks the permission"),
    "no JSON": (200, b"hello"),
    "half of it": (200, b'{"id": "cs_test_1", "obj'),
    "nothing": (200, b""),
    "bytes": (200, b"\xff\xfe\x00"),
    "null": (200, None),
    "a list": (200, [1, 2]),
    "a text": (200, "cs_test_1"),
    "an object without anything": (200, {}),
    "an address that is none": (200, {"object": "checkout.session", "url": 7, "expires_at": 1}),
    "no end": (200, {"object": "checkout.session", "url": "https://checkout.example.com", "expires_at": None}),
    "an error of another shape": (400, {"error": ["no"]}),
    "an error without an object": (400, [{}]),
    "a moved address": (302, {}),
    "the connection is dropped": "drop",
    "the answer is lost": "lose",
}


@pytest.mark.parametrize("what", UNAVAILABLE)
async def test_what_is_no_answer_means_ask_again(stripe: Processor, what: str) -> None:
    stripe.script = [UNAVAILABLE[what]]
    with pytest.raises(PaymentsUnavailable) as caught:
        await checkout(stripe)
    assert len(stripe.asked) == 1, "who asks again is the caller"
    _check_words(str(caught.value))
    assert (await checkout(stripe)).url.startswith("https://checkout.example.com/")
    stripe.script = [UNAVAILABLE[what]]
    with pytest.raises(PaymentsUnavailable):
        await refund(stripe)
    assert await refund(stripe) is True
    assert stripe.payments["pi_1"].refunded == 125_000


REFUSED = {
    "a parameter": error(400, "invalid_request_error", "Amount must convert to at least 50 cents.", param="line_items"),
    "a card": error(402, "card_error", "Your card was declined.", code="card_declined"),
    "a thing that is missing": error(404, "invalid_request_error", "No such price", code="resource_missing"),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_stripe_will_not_do_is_refused_with_its_words(stripe: Processor, what: str) -> None:
    for ask in (checkout, refund):
        stripe.script = [REFUSED[what]]
        with pytest.raises(PaymentsRefused) as caught:
            await ask(stripe)
        assert REFUSED[what][1]["error"]["message"] in str(caught.value)
        _check_words(str(caught.value))


async def test_no_word_of_a_key_is_said(stripe: Processor) -> None:
    with pytest.raises(PaymentsUnavailable) as caught:
        await checkout(stripe, key="sk_live_a_real_one_of_another_account")
    assert "Invalid API Key provided: ***" in str(caught.value)
    _check_words(str(caught.value))


def _check_words(words: str) -> None:
    assert words.isprintable()
    assert len(words) < 400
    for secret in (SECRET_KEY, "sk_", "rk_", "a_real_one", "lnk_"):
        assert secret not in words


async def test_where_nobody_listens_payments_are_unavailable() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(PaymentsUnavailable):
            await StripePayments(SECRET_KEY, LINKS, url=url, seconds=5.0, hold_ms=HOLD_MS).checkout(MADE, "Autumn")


# Limits.


@pytest.mark.parametrize("mishap", ["hang", "drip"])
async def test_a_processor_that_does_not_answer_is_given_up_in_time(stripe: Processor, mishap: str) -> None:
    stripe.script = [mishap]
    began = trio.current_time()
    with pytest.raises(PaymentsUnavailable):
        await checkout(stripe, seconds=0.2)
    assert trio.current_time() - began < 2


async def test_more_calls_than_may_be_under_way_are_refused_at_once(stripe: Processor) -> None:
    stripe.script = ["hang"]
    bounded = payments(stripe, calls=1, waiting=0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_unavailable, bounded)
        assert await trio.to_thread.run_sync(stripe.hanging.wait, 10)
        began = trio.current_time()
        await _unavailable(bounded)
        assert trio.current_time() - began < 1
        stripe.released.set()
    assert len(stripe.asked) == 1
    assert (await bounded.checkout(MADE, "Autumn")).url, "the place is free again"


async def test_calls_wait_for_a_place_within_their_time(stripe: Processor) -> None:
    bounded = payments(stripe, calls=1, waiting=20)
    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(bounded.checkout, replace(MADE, id=f"bok_{number}"), "Autumn")
    assert len(stripe.sessions) == 10


async def _unavailable(bounded: StripePayments) -> None:
    with pytest.raises(PaymentsUnavailable):
        await bounded.checkout(MADE, "Autumn")


# Refunds.


async def test_a_refund_pays_all_back_once_however_often_it_is_asked(stripe: Processor) -> None:
    assert [await refund(stripe) for _ in range(3)] == [True, True, True]
    assert stripe.payments["pi_1"].refunded == 125_000
    assert len(stripe.refunds) == 1
    asked = stripe.asked[0]
    assert asked.form == {"payment_intent": "pi_1", "metadata[booking_id]": "bok_1"}
    assert asked.headers["idempotency-key"] == "refund-bok_1"


async def test_what_was_paid_back_by_hand_is_paid_back(stripe: Processor) -> None:
    stripe.payments["pi_1"].refunded = 125_000
    stripe.refunds["re_hand"] = {"object": "refund", "id": "re_hand", "payment_intent": "pi_1", "status": "succeeded"}
    assert await refund(stripe) is True
    stripe.refunds["re_hand"]["status"] = "failed"
    assert await refund(stripe) is False, "it failed in between, which an event reports"
    assert list(stripe.refunds) == ["re_hand"]


async def test_of_what_was_paid_back_in_part_the_rest_is(stripe: Processor) -> None:
    stripe.payments["pi_1"].refunded = 25_000
    assert await refund(stripe) is True
    assert stripe.refunds["re_1"]["amount"] == 100_000


@pytest.mark.parametrize("status", ["pending", "requires_action"])
async def test_a_refund_under_way_is_not_done(stripe: Processor, status: str) -> None:
    stripe.refund_status = status
    assert await refund(stripe) is False


async def test_a_refund_that_was_under_way_is_asked_about_anew(stripe: Processor) -> None:
    """Stripe repeats the first response, so the current state must be loaded."""
    stripe.refund_status = "pending"
    assert await refund(stripe) is False
    assert await refund(stripe) is False
    stripe.refunds["re_1"]["status"] = "succeeded"
    assert await refund(stripe) is True
    assert len(stripe.refunds) == 1


@pytest.mark.parametrize("status", ["failed", "canceled"])
async def test_a_refund_that_fails_is_refused_and_made_anew_when_it_is_ordered_anew(
    stripe: Processor, status: str
) -> None:
    stripe.refund_status = status
    with pytest.raises(PaymentsRefused, match=status) as refused:
        await refund(stripe)
    assert refused.value.attempt == RefundAttempt(False, "re_1", 125_000, NOON_MS)
    stripe.refund_status = "succeeded"
    assert await payments(stripe).refund(PAID) == RefundAttempt(True, "re_2", 125_000, NOON_MS)
    assert stripe.payments["pi_1"].refunded == 125_000
    assert len(stripe.refunds) == 2


async def test_a_refund_that_failed_after_it_succeeded_is_made_anew(stripe: Processor) -> None:
    await refund(stripe)
    stripe.refunds["re_1"]["status"], stripe.payments["pi_1"].refunded = "failed", 0
    assert await refund(stripe) is True
    assert stripe.payments["pi_1"].refunded == 125_000


async def test_a_refund_under_way_is_not_done_though_stripe_has_forgotten_the_key(stripe: Processor) -> None:
    """Stripe says that nothing is left to refund, which is not yet refunded."""
    stripe.refund_status = "pending"
    for done, status in ((False, "pending"), (False, "pending"), (True, "succeeded")):
        if stripe.refunds:
            stripe.refunds["re_1"]["status"] = status
        assert await refund(stripe) is done
        stripe.kept.clear()
    assert len(stripe.refunds) == 1


async def test_a_refund_that_failed_under_every_key_is_made_ten_minutes_later(stripe: Processor) -> None:
    """An order that Stripe has not tried is not declined."""
    stripe.refund_status, due = "failed", replace(PAID, refund_due_ms=NOON_MS)
    for _ in range(3):
        with pytest.raises(PaymentsRefused):
            await refund(stripe, due)
    stripe.refund_status = "succeeded"
    with pytest.raises(PaymentsUnavailable, match="only repeats earlier answers: the refund re_3 has failed"):
        await refund(stripe, due)
    assert await refund(stripe, replace(due, refund_due_ms=NOON_MS + 10 * MINUTE_MS)) is True
    assert len(stripe.refunds) == 4


@pytest.mark.parametrize("part", [None, 30_000])
async def test_failures_of_stripes_own_put_a_refund_off_by_minutes_and_not_by_a_day(
    stripe: Processor, part: int | None
) -> None:
    """Stripe keeps its own failure under each key for a day."""
    stripe.script = [[error(500, "api_error", "Something went wrong on Stripe's end.")] for _ in range(3)]
    for minute in (*range(10), 10):
        due = replace(PAID, refund_cents=part, refund_due_ms=NOON_MS + minute * MINUTE_MS)
        if minute == 10:
            assert await refund(stripe, due) is True
        else:
            with pytest.raises(PaymentsUnavailable):
                await refund(stripe, due)
    assert [each["amount"] for each in stripe.refunds.values()] == [part or 125_000]


async def test_a_call_that_was_given_up_asks_for_no_refund(stripe: Processor) -> None:
    """Another node may ask for it by now."""
    asker = payments(stripe)
    stripe.script = ["wait"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(asker.refund, PART)
        await trio.to_thread.run_sync(stripe.hanging.wait)
        nursery.cancel_scope.cancel()
    stripe.released.set()
    await trio.testing.wait_all_threads_completed()
    assert [asked.method for asked in stripe.asked] == ["GET"]


async def test_a_refusal_that_stripe_only_repeats_does_not_stop_the_next_order(stripe: Processor) -> None:
    stripe.script = [[error(402, "card_error", "Insufficient funds", code="insufficient_funds")]]
    with pytest.raises(PaymentsRefused):
        await refund(stripe)
    assert await refund(stripe) is True


async def test_a_refund_in_a_state_that_nobody_knows_is_asked_about_later(stripe: Processor) -> None:
    stripe.refund_status = "dancing"
    with pytest.raises(PaymentsUnavailable):
        await refund(stripe)


PART = replace(PAID, refund_cents=30_000)


async def test_a_part_is_refunded_once_however_often_it_is_asked(stripe: Processor) -> None:
    assert [await refund(stripe, PART) for _ in range(3)] == [True, True, True]
    assert stripe.payments["pi_1"].refunded == 30_000
    assert [asked.form.get("amount") for asked in stripe.asked if asked.method == "POST"] == ["30000"]


async def test_a_part_that_stripe_refunded_before_its_own_failure_is_not_refunded_again(
    stripe: Processor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes look for the refund before either has asked for it. Stripe refunds it and keeps a 500 under its key, which it
    repeats to the other."""
    asker, made = payments(stripe), StripePayments._made
    first: Iterator[list[Any]] = iter([[], []])
    monkeypatch.setattr(StripePayments, "_made", lambda self, payment: next(first, None) or made(self, payment))
    await asker.refund(PART)
    [(key, (form, _))] = stripe.kept.items()
    stripe.kept[key] = form, error(500, "api_error", "Something went wrong on Stripe's end.")
    assert await payments(stripe).refund(PART) == RefundAttempt(True, "re_1", 30_000, NOON_MS)
    assert stripe.payments["pi_1"].refunded == 30_000


async def test_a_part_is_refunded_once_though_stripe_has_forgotten_the_key(stripe: Processor) -> None:
    """Stripe forgets keys after a day, and some refunds are under way for longer."""
    stripe.refund_status = "pending"
    for done, status in ((False, "pending"), (True, "succeeded")):
        if stripe.refunds:
            stripe.refunds["re_1"]["status"] = status
        assert await refund(stripe, PART) is done
        stripe.kept.clear()
    assert (stripe.payments["pi_1"].refunded, len(stripe.refunds)) == (30_000, 1)


async def test_parts_of_different_amounts_and_the_rest_have_different_keys(stripe: Processor) -> None:
    for made in (PART, replace(PART, refund_cents=20_000), PAID):
        assert await refund(stripe, made) is True
    assert [each["amount"] for each in stripe.refunds.values()] == [30_000, 20_000, 75_000]
    keys = [asked.headers["idempotency-key"] for asked in stripe.asked if asked.method == "POST"]
    assert keys == ["refund-bok_1-30000", "refund-bok_1-20000", "refund-bok_1"]


async def test_no_more_is_refunded_than_what_is_left(stripe: Processor) -> None:
    stripe.payments["pi_1"].refunded = 110_000
    assert await refund(stripe, replace(PART, refunded_cents=110_000)) is True
    assert stripe.refunds["re_1"]["amount"] == 15_000


async def test_the_rest_is_refunded_if_a_part_was_refunded_by_hand_and_is_not_reported_yet(stripe: Processor) -> None:
    stripe.payments["pi_1"].refunded = 110_000
    assert [await refund(stripe, PART) for _ in range(2)] == [True, True]
    assert [each["amount"] for each in stripe.refunds.values()] == [15_000]


async def test_what_a_lost_dispute_has_taken_is_not_refunded(stripe: Processor) -> None:
    """Stripe would refund it: it is no refund, so it is a part of the rest."""
    lost = replace(PAID, refunded_cents=50_000, lost_cents=50_000)
    assert [await refund(stripe, each) for each in (lost, lost, replace(lost, refund_cents=90_000))] == [True] * 3
    assert [each["amount"] for each in stripe.refunds.values()] == [75_000]


async def test_an_order_of_all_goes_on_after_a_refund_of_as_much(stripe: Processor) -> None:
    """A bank returns a part of what a dispute took, and then the rest. Each is refunded once."""
    for refunds, lost in ((0, 100_000), (25_000, 75_000), (50_000, 0)):
        booked = replace(PAID, refunded_cents=refunds + lost, lost_cents=lost)
        assert [await refund(stripe, booked) for _ in range(2)] == [True, True]
    assert [each["amount"] for each in stripe.refunds.values()] == [25_000, 25_000, 75_000]


async def test_a_part_by_hand_that_is_not_reported_yet_is_not_refunded_after_a_lost_dispute(stripe: Processor) -> None:
    await refund(stripe, PART)
    stripe.refunds["re_1"]["metadata"] = {}
    assert await refund(stripe, replace(PAID, refunded_cents=50_000, lost_cents=50_000)) is True
    assert [each["amount"] for each in stripe.refunds.values()] == [30_000, 45_000]


async def test_the_rest_of_a_payment_that_disputes_have_partly_taken_is_done_when_it_has_succeeded(
    stripe: Processor,
) -> None:
    await refund(stripe, PART)
    stripe.refunds["re_1"]["metadata"] = {}
    stripe.refund_status = "pending"
    lost = replace(PAID, refunded_cents=50_000, lost_cents=50_000)
    assert [await refund(stripe, lost) for _ in range(3)] == [False] * 3
    stripe.refunds["re_2"]["status"] = "succeeded"
    assert await refund(stripe, lost) is True
    assert [each["amount"] for each in stripe.refunds.values()] == [30_000, 45_000]


async def test_a_part_that_failed_is_made_anew(stripe: Processor) -> None:
    await refund(stripe, PART)
    stripe.refunds["re_1"]["status"], stripe.payments["pi_1"].refunded = "failed", 0
    assert await refund(stripe, PART) is True
    assert stripe.payments["pi_1"].refunded == 30_000


async def test_a_refund_of_a_payment_that_is_not_there_is_refused(stripe: Processor) -> None:
    with pytest.raises(PaymentsRefused, match="No such payment_intent"):
        await refund(stripe, replace(PAID, payment_id="pi_gone"))
    with pytest.raises(PaymentsRefused, match="no payment"):
        await refund(stripe, MADE)


async def test_refunds_at_once_on_two_nodes_move_money_once(stripe: Processor) -> None:
    done: list[bool] = []

    async def one() -> None:
        done.append(await refund(stripe))

    async with trio.open_nursery() as nursery:
        for _ in range(6):
            nursery.start_soon(one)
    assert done == [True] * 6
    assert stripe.payments["pi_1"].refunded == 125_000


def test_one_week_is_not_weeks() -> None:
    assert product_name(booking(weeks=1)) == "Left column, 1 week from 23 November 2026"


# The endpoint.

ADDRESS = "https://catalog.example.com/api/v1/webhooks/stripe"


def endpoint(*missing: str, **fields: Any) -> dict[str, Any]:
    sent = [kind for kind in EVENTS if kind not in missing]
    return {"object": "webhook_endpoint", "url": ADDRESS, "status": "enabled", "enabled_events": sent} | fields


@pytest.mark.parametrize(
    ("endpoints", "line", "problem"),
    [
        ([endpoint()], "ok: the webhook endpoint at Stripe sends all 10 kinds of events", ""),
        ([endpoint(url=ADDRESS + "/")], "ok: ", ""),
        ([endpoint(enabled_events=["*"])], "ok: ", ""),
        ([endpoint("refund.failed"), endpoint(enabled_events=["refund.failed"])], "ok: ", ""),
        (
            [endpoint("charge.refunded", "refund.failed")],
            "",
            "does not send charge.refunded, refund.failed: enable them",
        ),
        ([endpoint(), endpoint("refund.failed", url="https://other.example.com")], "ok: ", ""),
        (
            [endpoint(status="disabled")],
            "",
            f"no enabled webhook endpoint at Stripe sends to {ADDRESS}: add one with checkout",
        ),
        ([], "", "no enabled webhook endpoint"),
        (None, "note: billing.stripe_secret_key may not read webhook endpoints", ""),
    ],
)
async def test_the_doctor_reads_which_events_the_endpoint_sends(
    stripe: Processor, endpoints: list[dict[str, Any]] | None, line: str, problem: str
) -> None:
    stripe.endpoints = endpoints
    settings = {
        "CATALOG__SERVER__BASE_URL": "https://catalog.example.com",
        "CATALOG__MAIL__SMTP_URL": "smtp://127.0.0.1:9",
    }
    found = await check_endpoint(payments(stripe), load(None, settings))
    assert [bool(each) for each in found] == [bool(line), bool(problem)]
    assert found[0].startswith(line)
    assert problem in found[1]


async def test_an_endpoint_that_cannot_be_asked_for_is_a_note(stripe: Processor) -> None:
    line, problem = await check_endpoint(payments(stripe, "sk_live_revoked"), load(None, {}))
    assert line.startswith("note: the webhook endpoint at Stripe was not checked: ")
    assert problem == ""


def test_the_document_lists_the_events_that_are_read() -> None:
    document = (Path(__file__).parents[2] / "docs/operations.md").read_text()
    listed = re.findall(
        r"^\| `([a-z._]+)` \|", document.partition("**Stripe.**")[2].partition("**Mails")[0], re.MULTILINE
    )
    assert listed == list(EVENTS)
    assert ", ".join(EVENTS) in needed_events("https://catalog.example.com")
