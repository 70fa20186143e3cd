"""The payment processor of the simulated world: pages, payments, refunds and their events.

It keeps its own books, which the oracle compares with the ledger. Like real processors it promises events at least once and
in any order. Requests reach it through `wire`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import trio

from actors.bookings.records import PaymentState
from actors.clock import SECOND_MS
from service.payments.stripe_webhook import BOOKING
from tests.simulation.history import Nothing, Unknown
from tests.simulation.rules import LONGEST_PAGE_MS, SHORTEST_PAGE_MS
from tests.simulation.wire import ApiError, Asked

if TYPE_CHECKING:
    from tests.simulation.world import World


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
    the whole second of the event, and `made_ms` that of the refund."""

    event_id: str
    booking_id: str
    payment_id: str
    declined: str | None = None
    cents: int | None = None
    total_cents: int | None = None
    refund_id: str | None = None
    at_ms: int | None = None
    made_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DisputeUpdated:
    """The state of a dispute, and since when. `status` is the processor's word for it; empty if it follows from the state. Of
    its amount, `returned_cents` were returned after it was lost."""

    event_id: str
    dispute_id: str
    payment_id: str
    state: PaymentState
    amount_cents: int
    at_ms: int
    currency: str = "usd"
    status: str = ""
    returned_cents: int = 0


ProcessorEvent = PaymentSucceeded | RefundUpdated | DisputeUpdated


@dataclass(slots=True, eq=False)
class Session:
    """A page that takes money until it expires. `opened` once a node has sent someone to it."""

    id: str
    booking_id: str
    amount_cents: int
    currency: str
    expires_ms: int
    opened: bool = False


@dataclass(slots=True, eq=False)
class Dispute:
    """A dispute about a part of a payment, or about all of it. `cents` is what it may take, without what was returned."""

    cents: int
    state: PaymentState = PaymentState.DISPUTED
    returned_cents: int = 0


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


@dataclass(slots=True, eq=False)
class Refund:
    """A refund as the API shows it. `booking_id` is its metadata: None if it was made by hand."""

    id: str
    payment: Payment
    cents: int
    booking_id: str | None
    made_ms: int
    status: str = "succeeded"

    @property
    def row(self) -> dict[str, Any]:
        event = self.payment.event
        return {
            "id": self.id,
            "object": "refund",
            "amount": self.cents,
            "created": self.made_ms // SECOND_MS,
            "currency": event.currency,
            "failure_reason": "expired_or_canceled_card" if self.status == "failed" else None,
            "metadata": {} if self.booking_id is None else {BOOKING: self.booking_id},
            "payment_intent": event.payment_id,
            "status": self.status,
        }


class Processor:
    """The processor of a world."""

    def __init__(self, world: "World") -> None:
        self.sessions: dict[str, Session] = {}
        self.refunds: dict[str, Refund] = {}
        self.payments: dict[str, Payment] = {}
        self.unanswered = 0
        self.declined: dict[str, int] = {}
        """How often a refund of each booking was declined or failed later."""
        self._world = world
        self._faults = world.faults
        self._random = world.faults.stream("processor")
        self._of_disputes = world.faults.stream("disputes")
        self._contrary = world.faults.stream("contrary banks")
        self.contrary = self._contrary.random() < 0.5
        """In every second world most payments are disputed, banks mostly decide again, and what they told comes late."""
        self._all_answered = trio.Event()
        self._events = 0

    # Requests of nodes.

    def create_session(self, asked: Asked) -> dict[str, Any]:
        """Open a page for a booking. It ends within the processor's bounds."""
        form, now_ms = asked.form, self._now_ms()
        expires_ms = int(form["expires_at"]) * SECOND_MS
        if not now_ms + SHORTEST_PAGE_MS <= expires_ms <= now_ms + LONGEST_PAGE_MS:
            raise ApiError(400, "The page would end too early or too late", code="page_bounds", param="expires_at")
        if self._faults.strikes("checkout_refused"):
            raise ApiError(400, "This account cannot take payments at present", executed=True, code="account_invalid")
        price, session_id = "line_items[0][price_data]", f"cs_{len(self.sessions)}"
        session = Session(
            session_id,
            form["client_reference_id"],
            int(form[f"{price}[unit_amount]"]),
            form[f"{price}[currency]"],
            expires_ms,
        )
        self.sessions[session_id] = session
        return {
            "id": session_id,
            "object": "checkout.session",
            "url": f"https://pay.example.com/{session_id}",
            "expires_at": expires_ms // SECOND_MS,
        }

    def show(self, session_id: str) -> None:
        """A node sends someone to this session, which can be paid from now on."""
        self.sessions[session_id].opened = True

    def create_refund(self, asked: Asked) -> dict[str, Any]:
        """Refund a part of a payment, or the rest of it. The node that asks knows of `lost_cents`."""
        form = asked.form
        payment = self.payments.get(form["payment_intent"])
        if payment is None:
            raise ApiError(404, "No such payment", code="resource_missing", param="payment_intent")
        if payment.frozen:
            self.note_declined(payment)
            raise ApiError(400, "The charge has been charged back", code="charge_disputed")
        if not payment.left_cents:
            raise ApiError(400, "The charge was refunded before", executed=True, code="charge_already_refunded")
        cents = int(form["amount"]) if "amount" in form else payment.left_cents
        if not 0 < cents <= payment.left_cents:
            raise ApiError(400, "The refund is greater than what is left", code="more_than_left", param="amount")
        if payment.failed or self._faults.strikes("refund_declined"):
            self.note_declined(payment)
            raise ApiError(402, "No money to refund it from", executed=True, kind="card_error", code="no_funds")
        if cents > payment.left_cents - asked.lost_cents:
            payment.too_much.append(cents)
        refund = self._made(payment, cents, form.get(f"metadata[{BOOKING}]"))
        if self._faults.strikes("refund_pending"):
            refund.status = "pending"
            payment.busy, payment.pending_cents = True, cents
            self._start(self._decide, refund)
        else:
            self._pay_back(refund)
        return refund.row

    def _made(self, payment: Payment, cents: int, booking_id: str | None) -> Refund:
        refund = Refund(f"rf_{len(self.refunds) + 1}", payment, cents, booking_id, self._second_ms())
        self.refunds[refund.id] = refund
        return refund

    async def _decide(self, refund: Refund) -> None:
        await trio.sleep(self._random.uniform(0.1, 2.0))
        payment = refund.payment
        payment.pending_cents = 0
        if self._faults.strikes("refund_declined_later"):
            refund.status = "failed"
            self.note_declined(payment)
            event = self._refunded(payment, "simulated: declined later", refund.cents, refund.id)
            # Whoever asks knows it before the event comes.
            await trio.sleep(self._random.uniform(0.0, 3.0))
            await self._send(event)
            payment.busy = False
        else:
            self._pay_back(refund)

    def _pay_back(self, refund: Refund) -> None:
        refund.status = "succeeded"
        refund.payment.busy = True
        refund.payment.back.append(refund.cents)
        self._start(self._report_refund, refund, self._faults.strikes("refund_failed"))

    async def _report_refund(self, refund: Refund, fails: bool) -> None:
        """Report a refund, and what was refunded in all. If it `fails`, the bank sends the money back some time later. All
        events are under way at once, so any can come first."""
        payment = refund.payment
        for event in self._refunded(payment, None, refund.cents, refund.id), self._refunded_so_far(payment):
            self._start(self._send, event)
        if not fails:
            if self._faults.strikes("disputed_after_a_part"):
                await self._dispute_the_rest(payment)
            return
        await trio.sleep(self._random.uniform(0.1, 1.0))
        payment.back.remove(refund.cents)
        payment.failed = True
        refund.status = "failed"
        self.note_declined(payment)
        await self._send(self._refunded(payment, "simulated: account closed", refund.cents, refund.id))

    def note_declined(self, payment: Payment) -> None:
        booking_id = payment.event.booking_id
        self.declined[booking_id] = self.declined.get(booking_id, 0) + 1

    # Actions of people.

    def pay(self, booking_id: str, seconds: float = 0.0) -> bool:
        """Pay after a delay in seconds. Returns False if there is no page or it is closed."""
        if not self._open(booking_id):
            self._world.count("page closed")
            return False
        self._start(self._take, booking_id, seconds)
        return True

    def _open(self, booking_id: str) -> list[Session]:
        """The sessions of a booking that take money now."""
        found = (each for each in self.sessions.values() if each.booking_id == booking_id and each.opened)
        return [each for each in found if self._now_ms() < each.expires_ms]

    async def _take(self, booking_id: str, seconds: float) -> None:
        await trio.sleep(seconds)
        pages = self._open(booking_id)
        if not pages:
            self._world.count("a session expired before its payment")
            return
        page = self._random.choice(pages)
        amount_cents = page.amount_cents - (1 if self._faults.strikes("other_amount") else 0)
        payment_id = f"pi_{len(self.payments)}"
        event = PaymentSucceeded(self._event("evt"), booking_id, payment_id, amount_cents, page.currency, page.id)
        payment = self.payments[payment_id] = Payment(event)
        if self._faults.strikes("refunded_by_hand"):
            self._start(self._refund_by_hand, payment)
        if self._faults.strikes("disputed") or (self._is_contrary() and self._contrary.random() < 0.6):
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
        self._made(payment, payment.hand_cents, None)
        await self._send(self._refunded_so_far(payment))

    def _refunded(self, payment: Payment, declined: str | None, cents: int, refund_id: str) -> RefundUpdated:
        event = RefundUpdated(self._event("re"), payment.event.booking_id, payment.event.payment_id, declined, cents)
        made_ms = self.refunds[refund_id].made_ms
        return replace(event, refund_id=refund_id, at_ms=self._second_ms(), made_ms=made_ms)

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
        dispute_id = await self._open_dispute(payment, payment.event.amount_cents if cents is None else cents)
        if cents is not None and self._faults.strikes("disputed_again"):
            other_id = await self._open_dispute(payment, payment.event.amount_cents - cents)
            self._start(self._close, payment, other_id)
        await self._decide_later(payment, dispute_id)

    async def _dispute_the_rest(self, payment: Payment) -> None:
        """Dispute what a refund of a part has left, or a part of that."""
        await trio.sleep(self._of_disputes.uniform(0.0, 1.5))
        if payment.disputes or payment.failed or payment.pending_cents or not payment.left_cents:
            return
        payment.busy = True
        self._world.count("dispute after a refund of a part")
        rest = payment.left_cents
        cents = self._part(rest) if self._faults.strikes("disputed_in_part") else rest
        await self._decide_later(payment, await self._open_dispute(payment, cents))

    async def _open_dispute(self, payment: Payment, cents: int) -> str:
        """Open a dispute, at times after an inquiry of the bank, which moves no money."""
        dispute_id = self._event("dp")
        if self._faults.strikes("inquiry_first"):
            self._tell(payment, dispute_id, Dispute(cents), "warning_needs_response")
            await trio.sleep(self._of_disputes.uniform(0.0, 1.0))
        payment.disputes[dispute_id] = Dispute(cents)
        self._tell(payment, dispute_id)
        return dispute_id

    def _part(self, cents: int) -> int:
        """A part of an amount: from one cent to all but one."""
        return max(1, self._of_disputes.choice((1, cents // 5, cents // 2, cents - cents // 5, cents - 1)))

    async def _decide_later(self, payment: Payment, dispute_id: str) -> None:
        await trio.sleep(self._random.uniform(0.1, 4.0))
        if not self._faults.strikes("dispute_stays_open"):
            await self._close(payment, dispute_id)

    async def _close(self, payment: Payment, dispute_id: str) -> None:
        """Decide on a dispute, and perhaps decide the opposite or return a part of a loss seconds later: events have whole
        seconds. A dispute that the payer withdraws is won."""
        await trio.sleep(self._of_disputes.uniform(0.0, 0.5))
        if self._faults.strikes("dispute_withdrawn"):
            self._decide_dispute(payment, dispute_id, PaymentState.WON, "prevented")
            return
        self._decide_dispute(payment, dispute_id, self._random.choice((PaymentState.WON, PaymentState.LOST)))
        dispute = payment.disputes[dispute_id]
        if dispute.state is PaymentState.LOST and dispute.cents > 1 and self._faults.strikes("loss_returned_in_part"):
            await trio.sleep(self._of_disputes.uniform(1.1, 3.0))
            dispute.returned_cents = self._part(dispute.cents - 1)
            dispute.cents -= dispute.returned_cents
            self._tell(payment, dispute_id)
        again = self._faults.strikes("dispute_decided_again")
        if again or (self._is_contrary() and self._contrary.random() < 0.6):
            await trio.sleep(self._of_disputes.uniform(1.1, 4.0))
            lost = dispute.state is PaymentState.LOST
            self._decide_dispute(payment, dispute_id, PaymentState.WON if lost else PaymentState.LOST)

    def _decide_dispute(self, payment: Payment, dispute_id: str, state: PaymentState, status: str = "") -> None:
        payment.disputes[dispute_id].state = state
        payment.most_lost_cents = max(payment.most_lost_cents, payment.lost_cents)
        self._tell(payment, dispute_id, status=status)

    def _tell(self, payment: Payment, dispute_id: str, dispute: Dispute | None = None, status: str = "") -> None:
        dispute, event_id = dispute or payment.disputes[dispute_id], self._event("evt")
        payment_id, at_ms = payment.event.payment_id, self._second_ms()
        cents, returned_cents = dispute.cents + dispute.returned_cents, dispute.returned_cents
        event = DisputeUpdated(event_id, dispute_id, payment_id, dispute.state, cents, at_ms, status=status)
        event = replace(event, returned_cents=returned_cents)
        late = self._is_contrary() and self._contrary.random() < 0.3
        self._start(self._send_late if late else self._send, event)

    def _is_contrary(self) -> bool:
        return self.contrary and not self._faults.healed

    # Events that are not about our money.

    async def _name_again(self, payment: Payment) -> None:
        """Report that a payment which has paid its booking has paid another one, too."""
        bookings, event = self._world.memory.bookings, payment.event
        others = [page for page in self.sessions.values() if page.booking_id != event.booking_id and page.opened]
        if others and bookings[event.booking_id].payment_id == event.payment_id:
            page = self._random.choice(others[-3:])
            self._world.count("payment named for another booking")
            await self._send(
                replace(event, event_id=self._event("evt"), booking_id=page.booking_id, session_id=page.id)
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

    async def _send_late(self, event: ProcessorEvent) -> None:
        """Send an event after those that follow it."""
        self.unanswered += 1
        await trio.sleep(self._contrary.uniform(2.0, 5.0))
        self.unanswered -= 1
        await self._send(event)

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
