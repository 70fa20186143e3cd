"""The sweeper: ends expired holds, follows the schedules of paid bookings, makes due refunds and has the digest of reviews
written. Any number of nodes may run one.

It finds work in the store and changes nothing itself: the ledger decides, and leases each due refund to one node at a time.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import trio

from actors.bookings.actor import BookingLedger
from actors.bookings.payments import Payments, PaymentsRefused, PaymentsUnavailable, RefundAttempt
from actors.bookings.records import Booking, BookingView, Mode
from actors.bookings.store import SponsorshipStore
from actors.clock import Clock
from actors.kernel.periodic import PeriodicTask
from actors.times import SECOND_MS
from actors.values import CallFailed, Refused

HOLDS, REFUNDS, STEPS = 200, 20, 200
"""The most holds, refunds and steps of schedules per round. The next round finds the rest."""

MAX_COUNTED = 1_000
"""Most waiting refunds that are counted."""

PENDING_ROUNDS = 60
"""After how many retry pauses the processor is asked again about a refund in progress."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SweeperLimits:
    """How often to sweep, how long to wait before a refund is tried again, and how long a call to the processor takes."""

    sweep_seconds: float = 5.0
    refund_retry_seconds: float = 60.0
    timeout_seconds: float = 8.0

    @property
    def lease_seconds(self) -> float:
        """How long a node has a refund for itself. A call that was given up may have one more request under way."""
        return self.refund_retry_seconds + 2 * self.timeout_seconds


class HoldAndRefundSweeper(PeriodicTask):
    """Sweeps at every interval, and at once when woken."""

    name = "cashier"
    tolerated = (CallFailed,)

    def __init__(
        self,
        store: SponsorshipStore,
        ledger: BookingLedger,
        payments: Payments,
        clock: Clock,
        limits: SweeperLimits | None = None,
    ) -> None:
        self._limits = limits or SweeperLimits()
        super().__init__(self._limits.sweep_seconds)
        self.refunds_waiting = 0
        """Refunds to make, now or later, as of the last round."""
        self._store = store
        self._ledger = ledger
        self._payments = payments
        self._clock = clock

    async def _round(self) -> None:
        now_ms = self._clock.now_ms()
        await _for_each(await self._store.due_holds(now_ms, HOLDS), self._expire)
        await _for_each(await self._store.due_steps(now_ms, STEPS), self._ledger.follow_schedule)
        if await self._store.digest_is_due(now_ms - self._ledger.rules.digest_ms):
            await self._ledger.send_digest()
        self.refunds_waiting = await self._store.waiting_refunds(MAX_COUNTED)
        await _for_each(await self._store.due_refunds(now_ms, REFUNDS), self._pay_back)

    async def _expire(self, booking_id: str) -> None:
        await self._ledger.expire_hold(booking_id)

    async def _pay_back(self, due: Booking) -> None:
        """Ask the processor for a refund that no other node asks for, and report its answer to the ledger."""
        pause_ms = int(self._limits.refund_retry_seconds * SECOND_MS)
        leased = await self._lease(due)
        if isinstance(leased, Refused):
            return
        booking = leased.booking
        try:
            attempt = await self._refund(booking)
        except PaymentsRefused as error:
            self._log.error("refund of %s declined: %s", booking.id, error)
            await self._settle(booking, str(error), error.attempt)
        except PaymentsUnavailable as error:
            self._log.warning("refund of %s postponed: %s", booking.id, error)
            await self._postpone(booking, pause_ms)
        else:
            if attempt.done:
                await self._settle(booking, None, attempt)
            else:
                await self._postpone(booking, PENDING_ROUNDS * pause_ms)

    async def _lease(self, due: Booking) -> BookingView | Refused:
        until_ms = self._clock.now_ms() + int(self._limits.lease_seconds * SECOND_MS)
        return await self._ledger.lease_refund(due.id, until_ms)

    async def _postpone(self, booking: Booking, pause_ms: int) -> None:
        await self._ledger.postpone_refund(booking.id, booking.refund_due_ms, self._clock.now_ms() + pause_ms)

    async def _settle(self, booking: Booking, declined: str | None, attempt: RefundAttempt | None) -> None:
        refund = attempt or RefundAttempt(done=False)
        await self._ledger.settle_refund(
            booking.id,
            declined,
            payment_id=booking.payment_id,
            cents=refund.cents,
            refund_id=refund.id,
            made_ms=refund.made_ms,
        )

    async def _refund(self, booking: Booking) -> RefundAttempt:
        if booking.mode is self._ledger.rules.mode:
            return await self._payments.refund(booking)
        if booking.mode is Mode.TEST:
            return RefundAttempt(done=True)
        raise PaymentsUnavailable("it was paid in live mode, and this service runs in test mode")


async def _for_each(items: Sequence[T], work: Callable[[T], Awaitable[object]]) -> None:
    """Work on all items at once, so that the ledger takes them as one batch. A failing item does not stop the others."""
    failures: list[Exception] = []

    async def one(item: T) -> None:
        try:
            await work(item)
        except CallFailed as error:
            failures.append(error)

    async with trio.open_nursery() as nursery:
        for item in items:
            nursery.start_soon(one, item)
    if failures:
        raise failures[0]
