"""The webhook over the real application and ledger: each event is applied at most once, in any order."""

import logging
from collections.abc import AsyncIterator, Callable
from itertools import permutations, product
from typing import Any

import pytest

from actors.bookings.records import Booking, BookingStatus, Mode
from actors.clock import SECOND_MS
from actors.times import WEEK_MS
from tests.api.asgi import Response
from tests.api.world import NOON_MS, away, broken
from tests.payments.bank import LIVE, NEXT_WEEK_MS, Bank, booking, open_bank
from tests.payments.events import PAID, charge, dispute, disputed, dumped, event, paid, refund, session, signature

PATH = "/api/v1/webhooks/stripe"


@pytest.fixture
async def bank() -> AsyncIterator[Bank]:
    async with open_bank(**LIVE) as opened:
        opened.books.put(booking(mode=Mode.LIVE))
        yield opened


async def post(bank: Bank, body: bytes, header: str | None) -> Response:
    headers = {} if header is None else {"Stripe-Signature": header}
    return await bank.world.client.post(PATH, headers=headers, body=body)


async def tell(bank: Bank, sent: Any) -> Response:
    """Post an event with a current signature, as Stripe does."""
    body = dumped(sent)
    return await post(bank, body, signature(body, bank.world.now_ms // SECOND_MS))


async def heard(bank: Bank, *sent: Any) -> Booking:
    """Post events that must all be accepted. Returns the booking after them."""
    for one in sent:
        response = await tell(bank, one)
        assert (response.words, response.json) == ("200", {"received": True})
    return bank.books.tables.bookings["bok_1"]


def refunded_by_hand(event_id: str = "evt_refund", **fields: Any) -> dict[str, Any]:
    return event("charge.refunded", charge(**fields), event_id)


async def test_a_paid_session_makes_the_booking_paid(bank: Bank) -> None:
    made = await heard(bank, paid())
    assert (made.status, made.payment_id, made.paid_ms) == (BookingStatus.PAID, "pi_1", NOON_MS)


# Refunds.


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_whatever_the_order_and_number_of_deliveries_the_end_is_one(bank: Bank, order: tuple[int, ...]) -> None:
    events = [paid(), refunded_by_hand(), event("refund.updated", refund(), "evt_3")]
    await heard(bank, *(events[number] for number in order))
    made = await heard(bank, *events, *reversed(events))
    assert (made.status, made.refunded_cents, made.payment_issue) == (BookingStatus.REFUNDED, 125_000, None)
    assert bank.books.actions == ["booking.paid", "booking.refund_ordered", "booking.refunded"]


# Events of other systems, and forged ones.


@pytest.mark.parametrize(
    "events",
    [
        paid(booking_id="bok_of_nobody"),
        paid(booking_id=None),
        paid(metadata={"booking_id": "bok_2"}, client_reference_id="bok_1"),
        refunded_by_hand(booking_id="bok_of_nobody"),
        event("charge.dispute.funds_withdrawn", dispute()),
        event("refund.updated", refund("order-17")),
        None,
    ],
)
async def test_other_events_are_received_and_change_nothing(bank: Bank, events: Any) -> None:
    """Neither an unpaid booking nor, however often they come, a paid one."""
    before = bank.books.tables.bookings["bok_1"]
    assert await heard(bank, events) == before
    assert bank.books.actions == []
    made = await heard(bank, event(PAID, session(payment_intent="pi_ours"), "evt_ours"))
    assert await heard(bank, events, events) == made
    assert (bank.books.actions, bank.books.alerts) == (["booking.paid"], [])


FOREIGN = [
    lambda made: event(PAID, session(made, id="cs_of_others", payment_intent="pi_of_others")),
    lambda made: event(PAID, session(made, id="cs_of_others")),
    lambda made: event(PAID, session(made, metadata={}, payment_intent="pi_of_others")),
    lambda made: event(PAID, session(made, metadata={"booking_id": "bok_9"}, payment_intent="pi_of_others")),
    lambda made: event(PAID, session(made, payment_intent="pi_of_others")) | {"livemode": False},
    lambda made: event("checkout.session.async_payment_succeeded", session(made, id="cs_of_others")),
    lambda made: refunded_by_hand(booking_id=made, payment_intent="pi_of_others"),
    lambda made: event("refund.updated", refund(made, payment_intent="pi_of_others")),
    lambda made: event("refund.failed", refund(made, payment_intent="pi_of_others", status="failed")),
    *(
        lambda made, status=status: disputed(status, payment_intent="pi_of_others", metadata={"booking_id": made})
        for status in ("needs_response", "won", "lost")
    ),
]
"""What another system of the same account can cause, with the id of one of our bookings wherever it can set it."""


async def test_no_foreign_event_changes_a_booking_of_any_state(
    bank: Bank, record_property: Callable[[str, object], None]
) -> None:
    changed, tried = 0, 0
    for number, (status, make) in enumerate(product(BookingStatus, FOREIGN)):
        paid_once = status in (BookingStatus.PAID, BookingStatus.REFUNDING, BookingStatus.REFUNDED)
        week_ms = NEXT_WEEK_MS + 4 * WEEK_MS * (number + 1)
        made = bank.books.put(
            booking(
                f"bok_{number + 10}",
                mode=Mode.LIVE,
                status=status,
                week_start_ms=week_ms,
                payment_id=f"pi_{number + 10}" if paid_once else None,
                paid_ms=NOON_MS if paid_once else None,
                paid_cents=125_000 if paid_once else None,
            )
        )
        for _ in range(2):
            assert (await tell(bank, make(made.id) | {"id": f"evt_{number}"})).words == "200"
            tried += 1
            changed += bank.books.tables.bookings[made.id] != made
    record_property("foreign events tried", tried)
    record_property("foreign payments that changed a booking", changed)
    assert (changed, tried) == (0, 2 * len(BookingStatus) * len(FOREIGN))
    assert (bank.books.actions, bank.books.alerts) == ([], [])


async def test_a_foreign_session_is_logged_once(bank: Bank, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "service.api.operations.processor_webhook"):
        await heard(bank, paid(id="cs_of_others"))
    lines = [record.getMessage() for record in caplog.records if "evt_1" in record.getMessage()]
    assert lines == ["evt_1 ignored: The booking bok_1 has no checkout session cs_of_others."]


# Disputes.


@pytest.mark.parametrize("outcome", ["won", "lost"])
@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_in_any_order_a_dispute_ends_as_it_was_decided(bank: Bank, outcome: str, order: tuple[int, ...]) -> None:
    events = [paid(), disputed(), disputed(outcome, "evt_e")]
    made = await heard(bank, *(events[number] for number in order), *events, *reversed(events))
    lost = outcome == "lost"
    assert made.status is (BookingStatus.REFUNDED if lost else BookingStatus.PAID)
    assert (made.disputed, made.issue) == (False, "dispute_lost" if lost else None)


async def test_a_part_that_is_lost_goes_back_and_returns_when_it_is_won_after_all(bank: Bank) -> None:
    made = await heard(bank, paid(), disputed(amount=5_000), disputed("lost", "evt_l", amount=5_000))
    assert (made.status, made.disputed, made.refunded_cents) == (BookingStatus.PAID, False, 5_000)
    made = await heard(bank, *[disputed("won", "evt_w", amount=5_000), disputed("lost", "evt_l", amount=5_000)] * 2)
    assert (made.status, made.refunded_cents, made.issue) == (BookingStatus.PAID, 0, None)
    assert bank.books.actions[1:] == ["booking.dispute_opened", "booking.dispute_lost", "booking.dispute_won"]


async def test_a_body_that_is_not_signed_by_stripe_is_refused(bank: Bank) -> None:
    body, now = dumped(paid()), NOON_MS // SECOND_MS
    for header in (
        None,
        "",
        "t=1",
        "t=1," * 4_000,
        signature(body, now, "whsec_guess"),
        signature(body + b" ", now),
        "t=\xe9,v1=\xe9",
    ):
        assert (await post(bank, body, header)).words == "400 invalid_request"
    assert bank.books.status() == "checkout"


async def test_an_old_signature_is_refused_so_that_nothing_can_be_replayed(bank: Bank) -> None:
    body = dumped(paid())
    header = signature(body, NOON_MS // SECOND_MS)
    bank.world.clock.at_ms += 301 * SECOND_MS
    assert (await post(bank, body, header)).words == "400 invalid_request"
    assert bank.books.status() == "checkout"


async def test_an_event_may_be_longer_than_what_clients_send(bank: Bank) -> None:
    assert (await tell(bank, paid(metadata={"other": "x" * 100_000}))).words == "200"


async def test_an_event_that_is_too_long_is_refused(bank: Bank) -> None:
    assert (await tell(bank, paid(metadata={"other": "x" * 300_000}))).words == "413 payload_too_large"


async def test_in_test_mode_there_is_no_webhook() -> None:
    async with open_bank() as bank:
        bank.books.put(booking())
        assert (await tell(bank, paid())).words == "404 not_found"
        assert bank.books.status() == "checkout"


# Unavailable ledger.


async def test_what_the_ledger_cannot_keep_now_is_delivered_again(bank: Bank) -> None:
    before, bank.books.before = bank.books.before, away
    response = await tell(bank, paid())
    assert response.words == "503 service_unavailable"
    bank.books.before = before
    assert (await heard(bank, paid())).status == BookingStatus.PAID


async def test_a_bug_in_the_ledger_is_not_taken_for_an_answer(bank: Bank) -> None:
    before, bank.books.before = bank.books.before, broken
    assert (await tell(bank, paid())).words == "500 internal_error"
    bank.books.before = before
    await bank.world.pass_seconds(1)
    assert (await heard(bank, paid())).status == BookingStatus.PAID
