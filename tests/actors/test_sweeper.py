"""The cashier over stores in memory: holds end by themselves, refunds are made once and retried."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import pytest
import trio

from actors.bookings.actor import BookingLedger
from actors.bookings.payments import Checkout, PaymentsRefused, PaymentsUnavailable, RefundAttempt
from actors.bookings.records import (
    BillingDetails,
    Booking,
    BookingStatus,
    Campaign,
    CampaignStatus,
    Content,
    Mode,
    PaymentState,
    Side,
    Slot,
    Sponsor,
)
from actors.bookings.state import BookingRules
from actors.bookings.sweeper import HoldAndRefundSweeper, SweeperLimits
from actors.clock import MINUTE_MS
from actors.kernel.actor import ActorLimits
from actors.kernel.supervision import running
from actors.times import WEEK_MS, week_of
from actors.values import Account, StorageUnavailable
from tests.doubles.ledger import MemoryLedger
from tests.doubles.sponsorship import MemorySponsorship
from tests.doubles.tables import Memory
from tests.fakes import SeededEntropy, TrioClock

BASE_MS = 20_000 * 86_400_000
WEEK = week_of(BASE_MS) + WEEK_MS
SWEEP, RETRY = 5.0, 60.0


@dataclass
class Processor:
    """A payment processor that follows its script: True, False or an error; True after the last step."""

    script: list[RefundAttempt | bool | Exception] = field(default_factory=list)
    refunds: list[str] = field(default_factory=list)

    async def checkout(
        self, booking: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        raise AssertionError("the cashier opens no checkout")

    async def invoice_url(self, booking: Booking) -> str | None:
        raise AssertionError("the cashier looks up no invoice")

    async def refund(self, booking: Booking) -> RefundAttempt:
        await trio.lowlevel.checkpoint()
        self.refunds.append(booking.id)
        step = self.script.pop(0) if self.script else True
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, RefundAttempt) else RefundAttempt(step)


class Silent(Processor):
    """A processor that never answers."""

    async def refund(self, booking: Booking) -> RefundAttempt:
        self.refunds.append(booking.id)
        await trio.sleep_forever()
        raise AssertionError("it sleeps for ever")


def _booking(name: str, status: BookingStatus, **fields: object) -> Booking:
    booking = Booking(
        id=name,
        tenant_id="t1",
        campaign_id="c1",
        slot_id="s1",
        slot_name="Slot",
        week_start_ms=WEEK,
        weeks=1,
        amount_cents=1_000,
        currency="usd",
        status=status,
        mode=Mode.TEST,
        created_ms=BASE_MS,
        hold_ms=BASE_MS + MINUTE_MS,
    )
    return replace(booking, **fields)  # type: ignore[arg-type]


def _memory(*bookings: Booking) -> Memory:
    memory = Memory()
    memory.sponsors["t1"] = Sponsor("t1", "spo_1", "Example Tools", "https://example.com/", BASE_MS)
    memory.slots["s1"] = Slot("s1", "Slot", Side.LEFT, 1_000, BASE_MS)
    content = Content("A headline", "A body", "Go", "https://example.com/", "ET")
    memory.campaigns["c1"] = Campaign("c1", "t1", "Campaign", content, CampaignStatus.APPROVED, BASE_MS)
    for number, booking in enumerate(bookings):
        booking = replace(booking, week_start_ms=WEEK + number * WEEK_MS)
        memory.bookings[booking.id] = booking
        memory.slot_weeks["s1", booking.week_start_ms] = booking.id
    return memory


@asynccontextmanager
async def _sweeping(
    memory: Memory, processor: Processor, mode: Mode = Mode.TEST, node: str = "one", *, sweep_seconds: float = SWEEP
) -> AsyncIterator[HoldAndRefundSweeper]:
    clock = TrioClock(BASE_MS)
    rules = BookingRules(mode=mode)
    ledger = BookingLedger(MemoryLedger(memory), clock, SeededEntropy(), rules, node=node, limits=ActorLimits())
    limits = SweeperLimits(sweep_seconds=sweep_seconds, refund_retry_seconds=RETRY)
    cashier = HoldAndRefundSweeper(MemorySponsorship(memory), ledger, processor, clock, limits)
    async with running([ledger, cashier]):
        yield cashier


def _paid_back(name: str = "b1", **fields: object) -> Booking:
    return _booking(
        name,
        BookingStatus.REFUNDING,
        payment_id=f"pay_{name}",
        paid_ms=BASE_MS,
        paid_cents=1_000,
        refund_due_ms=BASE_MS,
        **fields,
    )


@pytest.mark.parametrize("status", [BookingStatus.RESERVED, BookingStatus.CHECKOUT])
async def test_a_hold_ends_within_a_sweep_of_its_time(status: BookingStatus) -> None:
    memory = _memory(_booking("b1", status))
    async with _sweeping(memory, Processor()):
        await trio.sleep(59)
        assert memory.bookings["b1"].status is status
        await trio.sleep(1 + SWEEP)
        assert memory.bookings["b1"].status is BookingStatus.EXPIRED
        assert memory.slot_weeks == {}


async def test_many_holds_end_in_one_batch() -> None:
    memory = _memory(*(_booking(f"b{number}", BookingStatus.RESERVED) for number in range(50)))
    async with _sweeping(memory, Processor()):
        await trio.sleep(60 + SWEEP)
        assert memory.slot_weeks == {}
        assert memory.journal["one/bookings"] <= 2


async def test_a_refund_that_a_node_is_making_is_left_to_it_until_its_lease_ends() -> None:
    memory, silent, other = _memory(_paid_back()), Silent(), Processor()
    async with _sweeping(memory, silent):
        await trio.sleep(1)
        async with _sweeping(memory, other, node="two"):
            await trio.sleep(SweeperLimits(SWEEP, RETRY).lease_seconds - 2)
            assert (silent.refunds, other.refunds) == (["b1"], [])
            await trio.sleep(2 + SWEEP)
            assert other.refunds == ["b1"]
    assert memory.bookings["b1"].status is BookingStatus.REFUNDED


async def test_a_due_refund_is_made_once() -> None:
    memory, processor = _memory(_paid_back()), Processor()
    async with _sweeping(memory, processor):
        await trio.sleep(3 * RETRY)
    booking = memory.bookings["b1"]
    assert (booking.status, booking.refunded_cents) == (BookingStatus.REFUNDED, 1_000)
    assert processor.refunds == ["b1"]
    assert memory.slot_weeks == {}


@pytest.mark.parametrize("failed", [False, True])
async def test_an_answer_is_recorded_under_the_refund_that_it_names(failed: bool) -> None:
    attempt = RefundAttempt(not failed, "re_1", 1_000)
    memory = _memory(_paid_back())
    async with _sweeping(memory, Processor([PaymentsRefused("It failed", attempt) if failed else attempt])):
        await trio.sleep(RETRY)
    state = PaymentState.REFUND_FAILED if failed else PaymentState.REFUNDED
    [report] = memory.payment_reports.values()
    assert (report.id, report.payment_id, report.state, report.refunded_cents) == ("re_1", "pay_b1", state, 1_000)


async def test_a_wake_makes_a_refund_at_once() -> None:
    memory, processor = _memory(), Processor()
    async with _sweeping(memory, processor) as cashier:
        await trio.sleep(0.1)
        memory.bookings["b1"] = _paid_back()
        cashier.wake()
        await trio.sleep(0.1)
        assert processor.refunds == ["b1"]


async def test_a_processor_that_is_away_is_asked_again() -> None:
    memory, processor = (
        _memory(_paid_back()),
        Processor([PaymentsUnavailable("no answer"), PaymentsUnavailable("none")]),
    )
    async with _sweeping(memory, processor):
        await trio.sleep(RETRY - 1)
        assert processor.refunds == ["b1"]
        await trio.sleep(2 * RETRY)
    assert len(processor.refunds) == 3
    assert memory.bookings["b1"].status is BookingStatus.REFUNDED


async def test_the_sweeper_tells_how_many_refunds_wait() -> None:
    memory, processor = _memory(_paid_back()), Processor([PaymentsUnavailable("no answer")])
    async with _sweeping(memory, processor) as cashier:
        await trio.sleep(RETRY / 2)
        assert cashier.refunds_waiting == 1, "it is postponed"
        await trio.sleep(RETRY)
        assert cashier.refunds_waiting == 0


async def test_a_refund_that_is_under_way_is_not_asked_for_soon_again() -> None:
    memory, processor = _memory(_paid_back()), Processor([False])
    async with _sweeping(memory, processor):
        await trio.sleep(50 * RETRY)
        assert processor.refunds == ["b1"]
        assert memory.bookings["b1"].status == BookingStatus.REFUNDING
        await trio.sleep(15 * RETRY)
    refunded = memory.bookings["b1"]
    assert refunded.status is BookingStatus.REFUNDED


async def test_a_declined_refund_is_told_to_the_ledger_and_not_tried_again() -> None:
    memory, processor = _memory(_paid_back()), Processor([PaymentsRefused("the card is closed")])
    async with _sweeping(memory, processor):
        await trio.sleep(100 * RETRY)
    booking = memory.bookings["b1"]
    assert (booking.status, booking.payment_issue) == (BookingStatus.PAID, "refund_declined")
    assert processor.refunds == ["b1"]


async def test_one_refund_that_fails_does_not_hold_up_the_others() -> None:
    memory = _memory(*(_paid_back(f"b{number}") for number in range(3)))
    async with _sweeping(memory, Processor([PaymentsUnavailable("no answer")])):
        await trio.sleep(1)
        refunded = [each.id for each in memory.bookings.values() if each.status is BookingStatus.REFUNDED]
        assert len(refunded) == 2


async def test_money_of_another_mode_is_left_to_whom_it_belongs() -> None:
    """A test payment moved no money and needs no processor; a live one needs the live processor."""
    memory, processor = _memory(_paid_back("test"), _paid_back("live", mode=Mode.LIVE)), Processor()
    async with _sweeping(memory, processor, Mode.LIVE):
        await trio.sleep(1)
        assert processor.refunds == ["live"]
        assert memory.bookings["test"].status is BookingStatus.REFUNDED
    memory, processor = _memory(_paid_back("live", mode=Mode.LIVE)), Processor()
    async with _sweeping(memory, processor, Mode.TEST):
        await trio.sleep(3 * RETRY)
        assert processor.refunds == []
        assert memory.bookings["live"].status is BookingStatus.REFUNDING


async def test_a_store_that_is_away_does_not_end_the_cashier() -> None:
    memory, processor = _memory(_paid_back()), Processor()
    right = memory.before

    async def away() -> None:
        raise StorageUnavailable("away")

    memory.before = away
    async with _sweeping(memory, processor):
        await trio.sleep(10 * SWEEP)
        memory.before = right
        await trio.sleep(RETRY + SWEEP)
    assert memory.bookings["b1"].status is BookingStatus.REFUNDED


async def test_a_paid_booking_is_followed_from_its_first_day_to_its_refund() -> None:
    paid = _booking("b1", BookingStatus.PAID, payment_id="pay_1", paid_ms=BASE_MS, paid_cents=1_000, next_step_ms=WEEK)
    memory, processor = _memory(paid), Processor()
    memory.accounts["owner@example.com"] = Account("owner@example.com", "t1", BASE_MS)
    sweeping = partial(_sweeping, memory, processor, sweep_seconds=300.0)
    async with sweeping(), sweeping(node="two"):
        await trio.sleep((WEEK - BASE_MS) / 1_000 + 300)
        assert [message.template for message in memory.messages.values()] == ["week_begins"]
        await trio.sleep(WEEK_MS / 1_000 + 1_200)
    booking = memory.bookings["b1"]
    assert (booking.status, booking.refunded_cents) == (BookingStatus.REFUNDED, 1_000)
    assert set(processor.refunds) == {"b1"}
    assert [message.template for message in memory.messages.values()] == ["week_begins", "week_ended", "refund_made"]


async def test_a_submission_is_mailed_to_administrators_within_a_sweep() -> None:
    memory = _memory()
    memory.administrators["admin@example.com"] = BASE_MS
    async with _sweeping(memory, Processor()):
        await trio.sleep(SWEEP)
        assert memory.messages == {}
        pending = replace(memory.campaigns["c1"], status=CampaignStatus.PENDING, submitted_ms=BASE_MS + 1)
        memory.campaigns["c1"] = pending
        await trio.sleep(2 * SWEEP)
        [digest] = memory.messages.values()
        assert (digest.template, digest.recipient) == ("review_digest", "admin@example.com")
        await trio.sleep(7_200)
        assert len(memory.messages) == 1
