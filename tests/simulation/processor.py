"""The payment processor of the simulated world: pages, payments, refunds and their events.

It keeps its own books, which the oracle compares with the ledger. Like real processors it promises one refund per key,
until that has failed, and events at least once and in any order.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import trio

from actors.bookings.payments import Checkout, PaymentsRefused, PaymentsUnavailable, RefundAttempt
from actors.bookings.records import BillingDetails, Booking, PaymentState
from actors.clock import SECOND_MS
from tests.simulation.history import Nothing, Unknown
from tests.simulation.rules import PAGE_MS

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World


class MoreThanLeft(Exception):
    """A refund is larger than what is left of its payment."""


@dataclass(frozen=True, slots=True)
class PaymentSucceeded:
    """A booking was paid."""

    event_id: str
    booking_id: str
    payment_id: str
    amount_cents: int
    currency: str
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class RefundUpdated:
    """The outcome of a refund: its amount, or what was refunded so far if that is a part, or neither if it is all. `at_ms` is
    the whole second of the event."""

    event_id: str
    booking_id: str
    payment_id: str
    declined: str | None = None
    cents: int | None = None
    total_cents: int | None = None
    refund_id: str | None = None
    at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DisputeUpdated:
    """What a dispute has come to, and when."""

    event_id: str
    dispute_id: str
    payment_id: str
    state: PaymentState
    amount_cents: int
    at_ms: int
    currency: str = "usd"


ProcessorEvent = PaymentSucceeded | RefundUpdated | DisputeUpdated


@dataclass(slots=True, eq=False)
class Page:
    booking_id: str
    amount_cents: int
    currency: str
    expires_ms: int
    sessions: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    """The sessions that a node has sent someone to."""


@dataclass(slots=True, eq=False)
class Dispute:
    """A dispute about a part of a payment, or about all of it."""

    cents: int
    state: PaymentState = PaymentState.DISPUTED


@dataclass(slots=True, eq=False)
class Payment:
    """A payment, with the amounts refunded from it. `too_much` are refunds beyond what was left of it, losses included."""

    event: PaymentSucceeded
    back: list[int] = field(default_factory=list)
    busy: bool = False
    """A refund, or an event about one, is in flight."""
    pending_cents: int = 0
    """The amount of the refund that is not decided yet."""
    by_hand: bool = False
    """All of it was refunded by hand."""
    hand_cents: int = 0
    failed: bool = False
    """The refund was sent back by the bank."""
    disputes: dict[str, Dispute] = field(default_factory=dict)
    most_lost_cents: int = 0
    too_much: list[int] = field(default_factory=list)

    @property
    def left_cents(self) -> int:
        """What can be refunded. The processor does not subtract losses."""
        return self.event.amount_cents - sum(self.back) - self.pending_cents

    @property
    def disputed(self) -> bool:
        return any(each.state is PaymentState.DISPUTED for each in self.disputes.values())

    @property
    def lost_cents(self) -> int:
        return sum(each.cents for each in self.disputes.values() if each.state is PaymentState.LOST)

    @property
    def back_cents(self) -> int:
        """What documents credit: refunds and losses, also those beyond what was paid."""
        return sum(self.back) + self.lost_cents

    @property
    def frozen(self) -> bool:
        """Whether the bank decides on the money, or has taken all of it back."""
        return self.disputed or self.lost_cents >= self.event.amount_cents


class Processor:
    """The processor of a world."""

    def __init__(self, world: "World") -> None:
        self.pages: dict[str, Page] = {}
        self.payments: dict[str, Payment] = {}
        self.unanswered = 0
        self.declined: dict[str, int] = {}
        """How often a refund of each booking was declined or failed later."""
        self._world = world
        self._faults = world.faults
        self._random = world.faults.stream("processor")
        self._of_disputes = world.faults.stream("disputes")
        self._all_answered = trio.Event()
        self._made: dict[str, RefundAttempt] = {}
        self._pending: dict[str, RefundAttempt] = {}
        self._refunds = 0
        self._events = 0

    # Requests of nodes.

    def page(self, booking: Booking) -> Checkout:
        """Return the page of a booking: always the same one, and at times under a new session."""
        page = self.pages.setdefault(
            booking.id, Page(booking.id, booking.amount_cents, booking.currency, booking.hold_ms + PAGE_MS)
        )
        if not page.sessions or self._faults.strikes("checkout_anew"):
            page.sessions.append(f"cs_{booking.id}_{len(page.sessions)}")
        return Checkout(f"https://pay.example.com/{booking.id}", page.expires_ms, page.sessions[-1])

    def show(self, booking_id: str, session_id: str) -> None:
        """A node sends someone to this session, which can be paid from now on."""
        self.pages[booking_id].opened.append(session_id)

    def refund(self, key: str, payment_id: str, cents: int | None, known_lost_cents: int = 0) -> RefundAttempt:
        """Refund a part of a payment, or the rest of it, once per key. A refund that was declined later can be tried again.
        The node that asks knows of `known_lost_cents`."""
        payment = self.payments[payment_id]
        if payment.failed or payment.frozen:
            self._decline(payment)
            raise PaymentsRefused("simulated: it came back before, or it is disputed")
        if key in self._pending or key in self._made:
            return self._pending.get(key) or self._made[key]
        if not payment.left_cents:
            return RefundAttempt(done=True)
        cents = payment.left_cents if cents is None else cents
        if cents > payment.left_cents:
            raise MoreThanLeft
        if cents > payment.left_cents - known_lost_cents:
            payment.too_much.append(cents)
        if self._faults.strikes("refund_declined"):
            self._decline(payment)
            raise PaymentsRefused("simulated: no money to pay it back from")
        self._refunds += 1
        refund_id = f"rf_{self._refunds}"
        if self._faults.strikes("refund_pending"):
            payment.busy, payment.pending_cents = True, cents
            attempt = self._pending[key] = RefundAttempt(False, refund_id, cents)
            self._start(self._decide, key, payment, cents, refund_id)
            return attempt
        return self._pay_back(key, payment, cents, refund_id)

    def has(self, key: str) -> bool:
        """Whether a refund was made or is undecided under a key."""
        return key in self._pending or key in self._made

    async def _decide(self, key: str, payment: Payment, cents: int, refund_id: str) -> None:
        await trio.sleep(self._random.uniform(0.1, 2.0))
        payment.pending_cents = 0
        del self._pending[key]
        if self._faults.strikes("refund_declined_later"):
            self._decline(payment)
            await self._send(self._refunded(payment, "simulated: declined later", cents, refund_id))
            payment.busy = False
        else:
            self._pay_back(key, payment, cents, refund_id)

    def _pay_back(self, key: str, payment: Payment, cents: int, refund_id: str) -> RefundAttempt:
        payment.busy = True
        payment.back.append(cents)
        attempt = self._made[key] = RefundAttempt(True, refund_id, cents)
        self._start(self._report_refund, payment, refund_id, cents, self._faults.strikes("refund_failed"))
        return attempt

    async def _report_refund(self, payment: Payment, refund_id: str, cents: int, fails: bool) -> None:
        """Report a refund, and what was refunded in all. If it `fails`, the bank sends the money back some time later. All
        events are under way at once, so any can come first."""
        for event in self._refunded(payment, None, cents, refund_id), self._refunded_so_far(payment):
            self._start(self._send, event)
        if not fails:
            return
        await trio.sleep(self._random.uniform(0.1, 1.0))
        payment.back.remove(cents)
        payment.failed = True
        self._decline(payment)
        await self._send(self._refunded(payment, "simulated: account closed", cents, refund_id))

    def _decline(self, payment: Payment) -> None:
        booking_id = payment.event.booking_id
        self.declined[booking_id] = self.declined.get(booking_id, 0) + 1

    # Actions of people.

    def pay(self, booking_id: str, seconds: float = 0.0) -> bool:
        """Pay after a delay in seconds. Returns False if there is no page or it is closed."""
        page = self.pages.get(booking_id)
        if page is None or not page.opened or self._now_ms() >= page.expires_ms:
            self._world.count("page closed")
            return False
        self._start(self._take, page, seconds)
        return True

    async def _take(self, page: Page, seconds: float) -> None:
        await trio.sleep(seconds)
        amount_cents = page.amount_cents - (1 if self._faults.strikes("other_amount") else 0)
        payment_id = f"pi_{len(self.payments)}"
        session_id = self._random.choice(page.opened)
        event = PaymentSucceeded(
            self._event("evt"), page.booking_id, payment_id, amount_cents, page.currency, session_id
        )
        payment = self.payments[payment_id] = Payment(event)
        if self._faults.strikes("refunded_by_hand"):
            self._start(self._refund_by_hand, payment)
        if self._faults.strikes("disputed"):
            self._start(self._dispute, payment)
        await self._send(event)
        if self._faults.strikes("payment_named_again"):
            await self._name_again(payment)

    async def _refund_by_hand(self, payment: Payment) -> None:
        await trio.sleep(self._random.uniform(0.0, 3.0))
        if payment.busy or payment.back or payment.frozen:
            return
        payment.by_hand = not self._faults.strikes("refunded_in_part_by_hand")
        payment.busy = payment.by_hand
        payment.hand_cents = payment.event.amount_cents if payment.by_hand else payment.event.amount_cents // 4
        payment.back.append(payment.hand_cents)
        await self._send(self._refunded_so_far(payment))

    def _refunded(self, payment: Payment, declined: str | None, cents: int, refund_id: str) -> RefundUpdated:
        event = RefundUpdated(self._event("re"), payment.event.booking_id, payment.event.payment_id, declined, cents)
        return replace(event, refund_id=refund_id, at_ms=self._second_ms())

    def _refunded_so_far(self, payment: Payment) -> RefundUpdated:
        total = sum(payment.back) if payment.left_cents else None
        event = RefundUpdated(self._event("re"), payment.event.booking_id, payment.event.payment_id, total_cents=total)
        return replace(event, at_ms=self._second_ms())

    async def _dispute(self, payment: Payment) -> None:
        """Dispute a payment that we have not begun to refund, at times before it was reported; then decide, at times twice.
        All events are under way at once, so any can come first. A bank may take back what was refunded by hand."""
        await trio.sleep(self._random.uniform(0.0, 1.5))
        if payment.busy or sum(payment.back) > payment.hand_cents or payment.by_hand or payment.failed:
            return
        cents = self._part(payment.event.amount_cents) if self._faults.strikes("disputed_in_part") else None
        dispute_id, dispute = self._event("dp"), Dispute(payment.event.amount_cents if cents is None else cents)
        payment.disputes[dispute_id] = dispute
        self._tell(payment, dispute_id)
        if cents is not None and self._faults.strikes("disputed_again"):
            other_id, other = self._event("dp"), Dispute(payment.event.amount_cents - cents)
            payment.disputes[other_id] = other
            self._tell(payment, other_id)
            self._start(self._close, payment, other_id)
        await trio.sleep(self._random.uniform(0.1, 4.0))
        if not self._faults.strikes("dispute_stays_open"):
            await self._close(payment, dispute_id)

    def _part(self, cents: int) -> int:
        """A part of an amount: from one cent to all but one."""
        return self._of_disputes.choice((1, cents // 5, cents // 2, cents - cents // 5, cents - 1))

    async def _close(self, payment: Payment, dispute_id: str) -> None:
        """Decide on a dispute, and perhaps decide the opposite seconds later: events have whole seconds."""
        await trio.sleep(self._of_disputes.uniform(0.0, 0.5))
        self._decide_dispute(payment, dispute_id, self._random.choice((PaymentState.WON, PaymentState.LOST)))
        if self._faults.strikes("dispute_decided_again"):
            await trio.sleep(self._of_disputes.uniform(1.1, 4.0))
            lost = payment.disputes[dispute_id].state is PaymentState.LOST
            self._decide_dispute(payment, dispute_id, PaymentState.WON if lost else PaymentState.LOST)

    def _decide_dispute(self, payment: Payment, dispute_id: str, state: PaymentState) -> None:
        payment.disputes[dispute_id].state = state
        payment.most_lost_cents = max(payment.most_lost_cents, payment.lost_cents)
        self._tell(payment, dispute_id)

    def _tell(self, payment: Payment, dispute_id: str) -> None:
        dispute, at_ms = payment.disputes[dispute_id], self._second_ms()
        self._start(
            self._send,
            DisputeUpdated(
                self._event("evt"), dispute_id, payment.event.payment_id, dispute.state, dispute.cents, at_ms
            ),
        )

    # Events that are not about our money.

    async def _name_again(self, payment: Payment) -> None:
        """Report that a payment which has paid its booking has paid another one, too."""
        bookings, event = self._world.memory.bookings, payment.event
        others = [page for page in self.pages.values() if page.booking_id != event.booking_id and page.opened]
        if others and bookings[event.booking_id].payment_id == event.payment_id:
            page = self._random.choice(others[-3:])
            self._world.count("payment named for another booking")
            await self._send(
                replace(event, event_id=self._event("evt"), booking_id=page.booking_id, session_id=page.opened[-1])
            )

    async def meddle(self) -> None:
        """Report what another system of the same account does, under the id of one of our bookings."""
        booking = self._random.choice([*self._world.memory.bookings.values()][-6:])
        payment_id, amount = f"px_{self._event('other')}", booking.amount_cents
        event: ProcessorEvent
        match self._random.randrange(4):
            case 0:
                event = RefundUpdated(self._event("re"), booking.id, payment_id)
            case 1:
                state = self._random.choice((PaymentState.DISPUTED, PaymentState.LOST))
                event = DisputeUpdated(self._event("evt"), self._event("dp"), payment_id, state, amount, self._now_ms())
            case _:
                session_id = self._event("cs_other")
                event = PaymentSucceeded(
                    self._event("evt"), booking.id, payment_id, amount, booking.currency, session_id
                )
        self._world.count("foreign event")
        await self._send(event)

    # Events: each goes to some node until one has answered it, and sometimes again.

    async def _send(self, event: ProcessorEvent) -> None:
        self.unanswered += 1
        if self._faults.strikes("event_late"):
            await trio.sleep(self._random.uniform(0.5, 4.0))
        while not self._world.ended:
            if await self._answered(event):
                break
            await trio.sleep(self._random.uniform(0.1, 0.6))
        self.unanswered -= 1
        self._all_answered.set()
        self._all_answered = trio.Event()
        if self._faults.strikes("event_repeated"):
            self._start(self._repeat, event)

    async def all_answered(self) -> None:
        """Wait until every event was answered."""
        while self.unanswered:
            await self._all_answered.wait()

    async def _repeat(self, event: ProcessorEvent) -> None:
        await trio.sleep(self._random.uniform(0.0, 3.0))
        if not self._world.ended:
            await self._answered(event)

    async def _answered(self, event: ProcessorEvent) -> bool:
        node = self._random.choice(self._world.nodes)
        send = partial(self._world.request, node, lambda node: node.sponsorship.hear(event))
        answer = await self._world.history.request("processor", node.name, "event", send)
        return not isinstance(answer, Unknown | Nothing)

    def _event(self, prefix: str) -> str:
        self._events += 1
        return f"{prefix}_{self._events}"

    def _now_ms(self) -> int:
        return self._world.base_ms + int(trio.current_time() * SECOND_MS)

    def _second_ms(self) -> int:
        return self._now_ms() // SECOND_MS * SECOND_MS

    def _start(self, work: Callable[..., Awaitable[object]], *arguments: object) -> None:
        self._world.start_soon(work, *arguments)


class LinkedPayments:
    """A node's link to the processor: the port `Payments`. Calls may fail and answers may be lost."""

    def __init__(self, node: "Node") -> None:
        self.processor = node.world.processor
        self._faults = node.world.faults

    async def checkout(
        self, booking: Booking, campaign_name: str, email: str | None = None, billing: BillingDetails | None = None
    ) -> Checkout:
        await self._travel()
        if self._faults.strikes("checkout_unavailable"):
            raise PaymentsUnavailable("simulated: no answer")
        return self.processor.page(booking)

    async def refund(self, booking: Booking) -> RefundAttempt:
        await self._travel()
        if self._faults.strikes("refund_unavailable"):
            raise PaymentsUnavailable("simulated: no connection")
        assert booking.payment_id is not None, "only what was paid is paid back"
        done = self._refund(booking, booking.payment_id)
        if self._faults.strikes("refund_answer_lost"):
            raise PaymentsUnavailable("simulated: the answer was lost")
        await self._travel()
        return done

    def _refund(self, booking: Booking, payment_id: str) -> RefundAttempt:
        """Refund what was ordered or, if less is left because a part was refunded by hand, the rest."""
        try:
            cents = self.cents_of(booking)
            if cents is not None and booking.lost_cents and not self.processor.has(self.key_of(booking)):
                # A part that was refunded by hand may not be reported yet.
                cents = min(cents, self.processor.payments[payment_id].left_cents - booking.lost_cents)
                if cents <= 0:
                    return RefundAttempt(done=True)
            return self.processor.refund(self.key_of(booking), payment_id, cents, booking.lost_cents)
        except MoreThanLeft:
            return self._refund(replace(booking, refund_cents=None), payment_id)

    async def invoice_url(self, booking: Booking) -> None:
        await self._travel()

    def key_of(self, booking: Booking) -> str:
        """One key for each amount: a retry moves the money once, and a new order is a new refund."""
        return f"refund-{booking.id}-{self.cents_of(booking)}"

    def cents_of(self, booking: Booking) -> int | None:
        whole = booking.refund_cents is None and not booking.lost_cents
        return None if whole else booking.refund_left_cents

    async def _travel(self) -> None:
        slow = self._faults.strikes("processor_slow")
        await trio.sleep(self._faults.stream("travel").uniform(0.005, 1.0 if slow else 0.08))
