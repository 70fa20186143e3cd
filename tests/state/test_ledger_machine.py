"""The ledger under random histories: no week is sold twice, every move is in the tables, each key has one outcome."""

import json
from copy import copy
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from actors.bookings import campaigns, changes
from actors.bookings.decision import BookingRules
from actors.bookings.messages import (
    Answer,
    DeclineRefundRequest,
    FollowSchedule,
    LeaseRefund,
    Message,
    PostponeRefund,
    RequestRefund,
    Reserve,
)
from actors.bookings.records import Booking, BookingStatus, BookingView, Campaign, CampaignStatus, DayDelivered
from actors.bookings.transitions import BOOKING_MOVES, CAMPAIGN_MOVES, BookingMove, CampaignMove
from actors.times import WEEK_MS, day_of
from actors.values import Code, Refused
from tests.slow import shortened
from tests.state.ledger import (
    ANN,
    BOB,
    DAY,
    HOLD,
    MINUTE,
    MONDAY,
    PAIR,
    PRICE,
    SLOT,
    Ledger,
    furnished,
    holds_only_what_it_may,
    refused,
)

OPEN_HOLDS = 2
UNPAID = (BookingStatus.RESERVED, BookingStatus.CHECKOUT, BookingStatus.EXPIRED, BookingStatus.CANCELLED)
BOOKING_PAST = {f"booking.{word}": move for move, word in changes.PAST.items()}
CAMPAIGN_PAST = {f"campaign.{word}": move for move, word in campaigns.PAST.items()}

MOVES = [move for move in CampaignMove if move not in (CampaignMove.EDIT, *campaigns.OF_EDITS.values())]

owners = st.sampled_from([ANN, BOB])
slots = st.sampled_from([SLOT, PAIR, PAIR])
weeks = st.integers(0, 3)
which = st.integers(0, 7)
"""An index into the newest bookings."""
keys = st.sampled_from(["", "", "k1", "k2", "k3"])
declined = st.sampled_from([None, None, "No"])
recipes = st.one_of(
    st.tuples(st.just("reserve"), slots, weeks, owners, keys),
    st.tuples(st.just("reserve"), slots, weeks, owners, keys),
    st.tuples(st.just("start"), slots, weeks, owners, keys),
    st.tuples(st.just("checkout"), which),
    st.tuples(st.just("checkout"), which),
    st.tuples(st.just("pay"), which, st.integers(1, 40), st.integers(1, 20), st.sampled_from([0, 0, 0, 1])),
    st.tuples(st.just("pay"), which, st.integers(41, 10**6), st.integers(21, 10**6), st.just(0)),
    st.tuples(st.just("cancel"), which),
    st.tuples(st.just("cancel_by_another"), which),
    st.tuples(st.just("expire"), which),
    st.tuples(st.just("refund"), which),
    st.tuples(st.just("settle"), which, declined, st.sampled_from([None, "evt_r1", "evt_r2"])),
    st.tuples(st.just("postpone"), which),
    st.tuples(st.just("lease"), which),
    st.tuples(st.just("follow"), which),
    st.tuples(st.just("follow"), which),
    st.tuples(st.just("ask"), which),
    st.tuples(st.just("decline"), which),
    st.tuples(st.just("move"), owners, st.sampled_from(MOVES)),
    st.tuples(st.just("edit"), owners, st.integers(0, 1)),
    st.tuples(st.just("slot"), slots, st.booleans(), st.sampled_from([1, 2, 3])),
)


WITHOUT_WEEKS = ("booking.paid_too_late", "booking.refund_failed")
"""Moves that lead to a refund of a booking without weeks."""


class Bookings(RuleBasedStateMachine):
    """Batches of random messages against a ledger with tight limits; every batch is also decided one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = furnished(BookingRules(open_holds=OPEN_HOLDS, horizon_weeks=3))
        self.made = 0
        self.outcomes: dict[tuple[str, str, str], tuple[bytes, str]] = {}
        self.moves: dict[str, BookingStatus | CampaignStatus] = {
            campaign.id: campaign.status for campaign in self.ledger.campaigns.values()
        }
        self.followed = 0

    @rule(span_ms=st.sampled_from([MINUTE, HOLD - 1, HOLD, DAY, 7 * DAY, -MINUTE]))
    def pass_time(self, span_ms: int) -> None:
        """Another node's clock may be behind, so time goes back a little too."""
        self.ledger.pass_ms(span_ms)

    @precondition(lambda self: self.ledger.bookings)
    @rule(number=which)
    def show(self, number: int) -> None:
        """Somebody sees a paid booking in its weeks."""
        ledger, newest = self.ledger, sorted(self.ledger.bookings, reverse=True)
        booking = ledger.bookings[newest[number % len(newest)]]
        if booking.status is BookingStatus.PAID and booking.week_start_ms <= ledger.now_ms < booking.week_end_ms:
            counts = DayDelivered(day_of(ledger.now_ms), 1, 0)
            ledger.days[booking.id] = [*ledger.days.get(booking.id, []), counts]

    @rule(recipe=st.lists(recipes, min_size=1, max_size=6))
    def batch(self, recipe: list[tuple]) -> None:  # type: ignore[type-arg]
        self.decide([self.message(*each) for each in recipe])

    @precondition(lambda self: self.ledger.bookings)
    @rule(number=which, back=st.booleans())
    def go_all_the_way(self, number: int, back: bool) -> None:
        messages = [self.message("checkout", number), self.message("pay", number, 10**6 + self.made, self.made, 0)]
        self.decide(
            [*messages, self.message("refund", number), self.message("settle", number, None, None)]
            if back
            else messages
        )

    def decide(self, messages: list[Message]) -> None:
        singly = Ledger(**{name: copy(value) for name, value in vars(self.ledger).items()})
        answers = self.ledger.act(*messages)
        assert answers == [self.decide_one(singly, message) for message in messages]
        assert singly == replace(self.ledger, last=singly.last)

    def decide_one(self, ledger: Ledger, message: Message) -> Answer:
        """Decide one message alone, and check what holds for each."""
        known, records = {**ledger.bookings}, len(ledger.audits)
        answer = ledger.one(message)
        told = {record.target_id for record in ledger.audits[records:] if record.target_type == "booking"}
        changed = {each for each, booking in ledger.bookings.items() if known.get(each) != booking}
        assert changed <= told or isinstance(message, LeaseRefund | PostponeRefund | FollowSchedule)
        assert not (isinstance(answer, Refused) and ledger.last.weeks_reserved)
        if isinstance(message, Reserve):
            self.note(ledger, message, answer, new=bool(changed - set(known)))
        return answer

    def note(self, ledger: Ledger, message: Reserve, answer: Answer, new: bool) -> None:
        key = message.tenant_id, message.operation, message.key
        fingerprint, booking_id = self.outcomes.get(key, (message.fingerprint, message.booking_id))
        if fingerprint != message.fingerprint:
            refused(answer, Code.IDEMPOTENCY_CONFLICT)
        elif key in self.outcomes:
            assert isinstance(answer, BookingView)
            assert (answer.booking.id, new) == (booking_id, False)
        elif isinstance(answer, BookingView):
            assert (answer.booking.id, new) == (message.booking_id, True)
            self.outcomes[key] = message.fingerprint, message.booking_id
        if new:
            held = [each for each in ledger.bookings.values() if each.is_open(ledger.now_ms)]
            assert sum(booking.tenant_id == message.tenant_id for booking in held) <= OPEN_HOLDS

    def message(self, kind: str, *rest: object) -> Message:
        ledger = self.ledger
        self.made += 1
        if isinstance(rest[0], int):
            newest = sorted(ledger.bookings, reverse=True)
            rest = (newest[rest[0] % len(newest)] if newest else "b_none", *rest[1:])
        match kind, *rest:
            case "reserve", str(slot_id), int(week), str(owner), str(key):
                return ledger.reserve(f"b{self.made:05}", slot_id, self.this_week() + week, owner, key)
            case "start", str(slot_id), int(week), str(owner), str(key):
                return ledger.start(f"b{self.made:05}", slot_id, self.this_week() + week, owner, key, f"Brand {week}")
            case "checkout", str(booking_id):
                return ledger.checkout(booking_id, self.owner(booking_id))
            case "pay", str(booking_id), int(event), int(payment), int(off):
                booking = ledger.bookings.get(booking_id)
                amount = off + (booking.amount_cents if booking else PRICE)
                return ledger.pay(booking_id, f"evt_{event}", f"pay_{payment}", amount)
            case "cancel", str(booking_id):
                return ledger.cancel(booking_id, self.owner(booking_id))
            case "cancel_by_another", str(booking_id):
                return ledger.cancel(booking_id, "ten_other")
            case "expire", str(booking_id):
                return ledger.expire(booking_id)
            case "refund", str(booking_id):
                return ledger.refund(booking_id)
            case "settle", str(booking_id), (str() | None) as why, (str() | None) as event:
                return ledger.settle(booking_id, why, event and f"{event}_{booking_id}")
            case "postpone", str(booking_id):
                return ledger.postpone(booking_id, ledger.now_ms + DAY)
            case "lease", str(booking_id):
                return ledger.lease(booking_id, ledger.now_ms + DAY)
            case "follow", str(booking_id):
                return FollowSchedule(booking_id, ledger.origin())
            case "ask", str(booking_id):
                return RequestRefund(self.owner(booking_id), booking_id, "A mistake", ledger.origin())
            case "decline", str(booking_id):
                return DeclineRefundRequest(booking_id, "It was shown", ledger.origin())
            case "move", str(owner), CampaignMove() as move:
                return ledger.move(f"cmp_{owner}", move)
            case "edit", str(owner), int(number):
                return ledger.edit(f"cmp_{owner}", owner, headline=f"Headline {number}")
            case "slot", str(slot_id), bool(active), int(weeks):
                return (
                    ledger.edit_slot(slot_id, active=active or None, weeks=weeks) if active else ledger.retire(slot_id)
                )
        raise AssertionError(kind)

    def this_week(self) -> int:
        return (self.ledger.now_ms - MONDAY) // WEEK_MS

    def owner(self, booking_id: str) -> str:
        booking = self.ledger.bookings.get(booking_id)
        return booking.tenant_id if booking else ANN

    @invariant()
    def weeks_are_held_by_those_who_may_and_wholly(self) -> None:
        holds_only_what_it_may(self.ledger)

    @invariant()
    def what_is_paid_back_keeps_its_weeks_unless_it_had_none_or_was_paid_back_before(self) -> None:
        holding = set(self.ledger.weeks.values())
        without = {record.target_id for record in self.ledger.audits if record.action in WITHOUT_WEEKS}
        for booking in self.ledger.bookings.values():
            if booking.status is BookingStatus.REFUNDING:
                assert (booking.id in holding) == (booking.id not in without)

    @invariant()
    def every_move_is_one_of_the_tables(self) -> None:
        """The audit reports every move; together they lead from nothing to the current state."""
        for record in self.ledger.audits[self.followed :]:
            changes = json.loads(record.changes)
            if record.action in ("booking.reserved", "campaign.created"):
                start: BookingStatus | CampaignStatus = (
                    BookingStatus.RESERVED if record.target_type == "booking" else CampaignStatus.PENDING
                )
                assert self.moves.setdefault(record.target_id, start) is start
            elif "status" in changes and record.target_type in ("booking", "campaign"):
                before, now = changes["status"]
                assert self.moves[record.target_id] == before
                assert now == self.follow(record.action, before)
                self.moves[record.target_id] = now
        self.followed = len(self.ledger.audits)
        rows: list[Booking | Campaign] = [*self.ledger.bookings.values(), *self.ledger.campaigns.values()]
        assert all(self.moves[row.id] == row.status for row in rows)

    def follow(self, action: str, before: str) -> BookingStatus | CampaignStatus:
        if action in BOOKING_PAST:
            move: BookingMove = BOOKING_PAST[action]
            return BOOKING_MOVES[BookingStatus(before)][move]
        return CAMPAIGN_MOVES[CampaignStatus(before)][CAMPAIGN_PAST[action]]

    @invariant()
    def money_is_either_kept_or_on_its_way_back(self) -> None:
        for booking in self.ledger.bookings.values():
            assert (booking.payment_id is None) == (booking.status in UNPAID)
            assert booking.refunded_cents in (0, booking.paid_cents, booking.refund_cents)
            assert booking.refunded_cents == 0 or booking.status is BookingStatus.REFUNDED
            assert booking.refund_due_ms is None or booking.status is BookingStatus.REFUNDING
            if booking.status is BookingStatus.REFUNDING and booking.refund_due_ms is None:
                assert booking.payment_issue is not None, "somebody has to know"

    @invariant()
    def nobody_pays_for_weeks_that_nobody_saw(self) -> None:
        """Once the schedule of a booking is over, the money for unseen weeks is back, on its way, or an open issue.

        A second payment takes the place of a refund that was declined: a person has to see to both.
        """
        for booking in self.ledger.bookings.values():
            if booking.payment_id is None or booking.next_step_ms is not None:
                continue
            seen = {(each.day - MONDAY // DAY) // 7 for each in self.ledger.days.get(booking.id, [])}
            first = (booking.week_start_ms - MONDAY) // WEEK_MS
            unseen = [week for week in range(first, first + booking.weeks) if week not in seen]
            declined = booking.refund_cents is not None and booking.payment_issue in ("refund_declined", "paid_twice")
            assert not unseen or booking.status is not BookingStatus.PAID or declined, booking
            assert not (booking.refund_cents or 0) > booking.amount_cents

    @invariant()
    def each_key_has_one_outcome(self) -> None:
        kept = {key: (row.fingerprint, row.booking_id) for key, row in self.ledger.remembered.items()}
        assert kept == self.outcomes
        assert sorted(row.booking_id for row in self.ledger.remembered.values()) == sorted(self.ledger.bookings)


Bookings.TestCase.settings = settings(
    max_examples=shortened(130), stateful_step_count=40, derandomize=True, database=None, deadline=None
)
TestBookings = Bookings.TestCase
