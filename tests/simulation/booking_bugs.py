"""Bugs to plant in the sponsorship area, one at a time: see `key_bugs`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import trio

from actors.bookings import actor as ledger_actor
from actors.bookings import campaigns, changes, disputes, invoices, reservations, settlement, unit_of_work
from actors.bookings.actor import BookingLedger
from actors.bookings.campaigns import save_sponsor_profile, store_new_campaign
from actors.bookings.invoices import Invoice, InvoiceKind, documents, tax_of
from actors.bookings.messages import (
    Answer,
    CreateCampaign,
    Message,
    OpenCheckout,
    Origin,
    RecordPayment,
    Reserve,
    SettleDispute,
)
from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable, RefundAttempt
from actors.bookings.records import OPEN, Booking, BookingStatus, CampaignStatus, PaymentReport
from actors.bookings.state import Decision, LockSet, Snapshot, decide, rows_to_lock
from actors.bookings.store import Decide, SoldPlacement
from actors.bookings.transitions import BookingMove, CampaignMove
from actors.bookings.unit_of_work import UnitOfWork, weeks_of
from actors.keys import granting as key_granting
from actors.shared.credentials import fingerprint
from actors.values import BatchId, OutcomeUnknown, StorageUnavailable
from service.api import authentication, authorization
from tests.doubles.invoices import issue
from tests.doubles.ledger import MemoryLedger
from tests.simulation.faults import LinkedSponsorship
from tests.simulation.planting import AnswersFirst, Bugs, ReadsOutside, both, patched, replaced, swapped
from tests.simulation.rules import Scene
from tests.simulation.sponsorship import CountedSweeper
from tests.simulation.wire import LinkedPayments

BUGS = Bugs(Scene.SPONSORS)


# Weeks.


@BUGS.part("ledger_store")
class WeeksCheckedOutside(ReadsOutside, MemoryLedger):
    """Weeks are read before they are locked, and the store overwrites their owner."""

    def _write(self, before: Snapshot, decision: Decision) -> None:
        for week in decision.weeks_reserved:
            self._memory.slot_weeks.pop(week, None)
        super()._write(before, decision)


@BUGS.part("ledger_store")
class LedgerAnswersFirst(AnswersFirst, MemoryLedger):
    """The ledger answers before the commit."""


@BUGS.part("ledger")
class LedgerClockStandsStill(BookingLedger):
    """The ledger reads its clock once."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._began_ms = getattr(self, "_began_ms", 0) or self._clock.now_ms()
        decided = await self._store.transact(
            batch_id,
            rows_to_lock(messages, self.rules, now_ms),
            lambda snapshot: decide(snapshot, messages, now_ms, self.rules),
        )
        return decided.answers


@BUGS.function(settlement, "_why_too_late")
def late_payment_takes_weeks(unit: UnitOfWork, booking: Booking, payment: RecordPayment) -> None:
    """A late payment keeps weeks that were sold since."""
    return


@BUGS.around(settlement, "_refund_declined")
def declined_refund_forgets_weeks(right: Any, unit: UnitOfWork, booking: Booking, *rest: Any) -> Any:
    """A declined refund returns to paid without the weeks."""
    answer = right(unit, booking, *rest)
    unit.free_weeks(booking)
    return answer


def _one_week_only(booking: Booking) -> list[Any]:
    return weeks_of(booking)[:1]


_WEEKS_OF = both(replaced(changes, "weeks_of", _one_week_only), replaced(settlement, "weeks_of", _one_week_only))


# Idempotency.


@BUGS.function(UnitOfWork, "remember")
def key_not_remembered(unit: UnitOfWork, remembered: Any) -> None:
    """An idempotency key is never read. Writes the idempotency record, so that a missing row does not reveal the bug,
    but never reads it."""
    return


@BUGS.function(ledger_actor, "fingerprint")
def body_not_compared(*parts: Any) -> bytes:
    """An idempotency key with another body returns the first booking."""
    return b"" if isinstance(parts[-1], int) else fingerprint(*parts)


@BUGS.around(campaigns, "create_campaign")
def campaign_created_again(right: Any, unit: UnitOfWork, message: CreateCampaign) -> Any:
    """A repeated creation overwrites the campaign."""
    if unit.audited(message.origin.audit_id) != message.campaign.id:
        return right(unit, message)
    store_new_campaign(unit, message.campaign, message.origin)
    return unit.campaign_view(message.campaign)


@BUGS.function(ledger_actor, "fingerprint")
def campaign_id_not_derived(*parts: Any) -> bytes:
    """A new campaign does not depend on its idempotency key."""
    return fingerprint(*parts) if isinstance(parts[-1], int) else fingerprint(*parts, str(trio.current_time()))


# Holds.


@BUGS.function(Booking, "is_open")
def hold_without_end(booking: Booking, now_ms: int) -> bool:
    """A hold never expires."""
    return booking.status in OPEN


@BUGS.around(reservations, "open_checkout")
def hold_prolonged(right: Any, unit: UnitOfWork, message: OpenCheckout) -> Any:
    """Each checkout restarts the hold."""
    booking = unit.booking(message.booking_id, message.tenant_id)
    if booking is not None and booking.status is BookingStatus.CHECKOUT and booking.is_open(unit.now_ms):
        unit.save_booking(replace(booking, hold_ms=unit.now_ms + unit.rules.hold_ms))
    return right(unit, message)


@BUGS.function(UnitOfWork, "open_holds")
def holds_of_the_batch_not_counted(unit: UnitOfWork, tenant_id: str) -> int:
    """Holds of the same batch do not count towards the limit."""
    bookings = unit._snapshot.bookings.values()
    return sum(booking.tenant_id == tenant_id and booking.is_open(unit.now_ms) for booking in bookings)


@BUGS.around(UnitOfWork, "open_holds")
def holds_one_too_many(right: Any, unit: UnitOfWork, tenant_id: str) -> Any:
    """An account may have one hold too many."""
    return right(unit, tenant_id) - 1


@BUGS.function(UnitOfWork, "_mailbox_of")
def limits_by_account(unit: UnitOfWork, tenant_id: str) -> frozenset[str]:
    """Holds and reviews are counted by account, so that tags of one address multiply them."""
    return frozenset({tenant_id})


def _as_it_was(unit: UnitOfWork, message: Any) -> Answer:
    """Expire every hold that the sweeper listed, whatever has happened to its booking since."""
    booking = unit.booking(message.booking_id)
    if booking is None or booking.status in (BookingStatus.EXPIRED, BookingStatus.CANCELLED):
        return _expired(unit, message)
    unit.free_weeks(booking)
    ended = replace(booking, status=BookingStatus.EXPIRED)
    unit.save_booking(ended)
    facts = {"status": [booking.status, BookingStatus.EXPIRED]}
    unit.audit(message.origin, "booking.expired", "booking", booking.id, facts)
    return unit.view(ended)


_expired = reservations.expire_hold


class _SlowSweeper(CountedSweeper):
    async def _expire(self, booking_id: str) -> None:
        await trio.sleep(0.8)
        await super()._expire(booking_id)


@BUGS.part("sweeper")
class SweeperIdle(CountedSweeper):
    """The sweeper does not expire holds."""

    async def _expire(self, booking_id: str) -> None:
        return None


@BUGS.around(changes, "apply")
def expiry_not_audited(
    right: Any, unit: UnitOfWork, booking: Booking, move: BookingMove, origin: Origin, **rest: Any
) -> Any:
    """The expiry of a hold is not audited."""
    audits = len(unit.decision.audits)
    moved = right(unit, booking, move, origin, **rest)
    if move is BookingMove.RUN_OUT:
        del unit.decision.audits[audits:]
    return moved


# Money.


@BUGS.function(settlement, "record_payment")
def event_handled_again(unit: UnitOfWork, message: RecordPayment) -> Answer:
    """A repeated event is handled again."""
    booking = unit.booking(message.booking_id)
    if booking is not None and booking.payment_id is not None:
        return settlement._paid_twice(unit, booking, message)
    return _take_payment(unit, message)


_take_payment = settlement.record_payment


@BUGS.part("payments")
class RefundUnderFreshKeys(LinkedPayments):
    """Each refund attempt has a new idempotency key, and no attempt looks for the one before it."""

    def _keyed(self, key: str, call: Any, *rest: Any) -> Any:
        self._asked = getattr(self, "_asked", 0) + 1
        return super()._keyed(f"{key}-{self._node.name}-{self._asked}", call, *rest)

    def _made(self, payment_id: str) -> list[Any]:
        return []


@BUGS.part("sweeper")
class LostAnswerTakenForDone(CountedSweeper):
    """A refund whose answer was lost counts as made."""

    async def _refund(self, booking: Booking) -> RefundAttempt:
        try:
            return await super()._refund(booking)
        except PaymentsUnavailable:
            return RefundAttempt(done=True)


@BUGS.part("sweeper")
class LostAnswerTakenForDeclined(CountedSweeper):
    """A refund whose answer was lost counts as declined."""

    async def _pay_back(self, booking: Booking) -> None:
        try:
            if (await self._refund(booking)).done:
                await self._ledger.settle_refund(booking.id, None)
        except (PaymentsRefused, PaymentsUnavailable) as error:
            await self._ledger.settle_refund(booking.id, str(error))


@BUGS.function(settlement, "_another_is_made")
def failure_taken_for_that_of_a_later_refund(*_: Any) -> bool:
    """The failure of a refund takes back a later one, which was made."""
    return False


@BUGS.function(settlement, "_is_news")
def success_after_a_failure_counts(*_: Any) -> bool:
    """A refund that has failed counts as made if that is reported late."""
    return True


@BUGS.around(settlement, "_told_so_far")
def total_from_before_a_failure_counts(right: Any, unit: UnitOfWork, booking: Booking, message: Any) -> Any:
    """A total that is reported late counts a refund that has failed since."""
    return right(unit, booking, replace(message, at_ms=None))


@BUGS.function(settlement, "record_payment")
def amount_not_compared(unit: UnitOfWork, message: RecordPayment) -> Answer:
    """Any amount pays a booking."""
    booking = unit.booking(message.booking_id)
    if booking is not None:
        message = replace(message, amount_cents=booking.amount_cents)
    return _take_payment(unit, message)


def _paid_with_another(unit: UnitOfWork, message: RecordPayment) -> Answer:
    """Does not look for another booking that was paid with the payment."""
    with patched(UnitOfWork, "paid_with", lambda unit, payment_id: None):
        return _take_payment(unit, message)


class _SharedPayments(MemoryLedger):
    """Lacks the unique index on payments."""

    def _takes_another_payment(self, decision: Decision) -> bool:
        return False


@BUGS.part("ledger_store")
class InvoicesRepeated(MemoryLedger):
    """A repeated batch writes its invoices again."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        known = self._memory.journal.get(batch_id.owner, 0) >= batch_id.seq
        decision = await super().transact(batch_id, locks, decide)
        if known:
            issue(self._memory, decision.invoices)
        return decision


@BUGS.part("ledger_store")
class InvoicesCountedByEachNode(MemoryLedger):
    """Each node numbers its own invoices."""

    def _write(self, before: Snapshot, decision: Decision) -> None:
        with patched(self._memory, "invoice_numbers", vars(self).setdefault("_numbers", {})):
            super()._write(before, decision)


@BUGS.part("ledger_store")
class NumbersGivenUp(MemoryLedger):
    """A batch that fails has taken the next number."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        try:
            return await super().transact(batch_id, locks, decide)
        except StorageUnavailable:
            last = self._memory.invoice_numbers
            last.update({series: number + 1 for series, number in last.items()})
            raise


@BUGS.function(invoices, "_taxed")
def each_document_taxed_alone(invoice: Invoice, kept_cents: int) -> Invoice:
    """The tax of a credit note is rounded by itself."""
    return replace(invoice, tax_cents=tax_of(invoice.amount_cents, invoice.tax_rate))


@BUGS.part("ledger_store")
class InvoicesRewritten(MemoryLedger):
    """A credit note changes the invoice that it credits."""

    def _write(self, before: Snapshot, decision: Decision) -> None:
        super()._write(before, decision)
        rows = self._memory.invoices
        for note in [each for each in rows.values() if each.kind is InvoiceKind.CREDIT_NOTE]:
            first = rows[note.belongs_to or ""]
            if any(each.booking_id == note.booking_id for each in decision.invoices):
                rows[first.number] = replace(first, issued_ms=note.issued_ms)


@BUGS.around(unit_of_work, "documents")
def excess_not_credited(right: Any, before: Booking | None, after: Booking, *arguments: Any) -> Any:
    """What a refund and a dispute that cross take beyond the payment has no document."""
    most = [
        each and replace(each, refunded_cents=min(each.refunded_cents, each.paid_cents or 0))
        for each in (before, after)
    ]
    return right(*most, *arguments)


@BUGS.function(unit_of_work, "documents")
def failed_refund_stays_credited(*change: Any) -> list[Invoice]:
    """A refund that failed leaves its credit note."""
    return [each for each in documents(*change) if each.kind is InvoiceKind.CREDIT_NOTE or each.belongs_to is None]


@BUGS.function(settlement, "_refunded_so_far")
def part_taken_for_all(unit: UnitOfWork, booking: Booking, total_cents: int, origin: Origin) -> Answer:
    """A refund of a part counts as one of the whole payment."""
    return settlement._refunded(unit, booking, origin, booking.paid_cents or 0)


@BUGS.function(disputes, "settle_dispute")
def disputed_amount_ignored(unit: UnitOfWork, message: SettleDispute) -> Answer:
    """A lost dispute takes the whole payment, whatever its amount."""
    return _settled(unit, replace(message, amount_cents=None))


@BUGS.function(disputes, "_is_newer")
def win_after_a_loss_ignored(report: PaymentReport, known: PaymentReport) -> bool:
    """A dispute that is closed stays as it was decided first."""
    return known.state not in disputes.CLOSED and _newer(report, known)


@BUGS.function(disputes, "_is_newer")
def older_outcome_counts(report: PaymentReport, known: PaymentReport) -> bool:
    """The outcome of a dispute that arrives last counts, though the bank has decided again since."""
    return report.state in disputes.CLOSED


@BUGS.function(disputes, "_has_free_weeks")
def won_weeks_taken_from_their_buyer(unit: UnitOfWork, booking: Booking) -> bool:
    """A dispute that is won after it was lost takes weeks back that were sold since."""
    return True


@BUGS.part("payments")
class LossRefundedToo(LinkedPayments):
    """A refund of the rest is of what the processor has left, which lost disputes do not lower."""

    def _refund(self, booking: Booking, payment_id: str) -> RefundAttempt:
        return super()._refund(replace(booking, lost_cents=0), payment_id)


_settled, _newer = disputes.settle_dispute, disputes._is_newer


@BUGS.part("sponsorship", Scene.WEBSITES)
class DisputedAndShown(LinkedSponsorship):
    """A disputed placement stays visible."""

    def _placements(self, from_week_ms: int) -> Iterator[SoldPlacement]:
        link, right = self._memory, self._memory.bookings
        link.bookings = {key: replace(row, disputed=False) for key, row in right.items()}
        placements = list(super()._placements(from_week_ms))
        link.bookings = right
        return iter(placements)


@BUGS.function(settlement, "_followed")
def early_reports_forgotten(unit: UnitOfWork, booking: Booking, message: RecordPayment) -> Answer:
    """What was reported before its payment is forgotten."""
    return unit.view(booking)


# Commits.


@BUGS.part("ledger")
class RetriedBlindly(BookingLedger):
    """A batch with an unknown outcome is retried under a new batch id."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        try:
            return await super().commit(batch_id, messages)
        except OutcomeUnknown:
            self._again = getattr(self, "_again", 0) + 1
            return await super().commit(
                BatchId(f"{batch_id.owner.partition('/')[0]}/{self._again}/bookings", 1), messages
            )


@BUGS.around(reservations, "reserve")
def start_in_two_steps(right: Any, unit: UnitOfWork, message: Reserve) -> Any:
    """Profile and campaign are stored although the booking failed."""
    if message.sponsor is not None and message.campaign is not None:
        save_sponsor_profile(unit, message.sponsor, message.origin, message.sponsor.profile)
        known = unit.recall(message.tenant_id, message.operation, message.key)
        if known is None:
            store_new_campaign(unit, message.campaign, message.origin)
            message = replace(message, sponsor=None, campaign=None)
    return right(unit, message)


@BUGS.around(campaigns, "after")
def edited_and_no_more_approved(right: Any, table: Any, status: Any, move: Any) -> Any:
    """An edit takes an approved campaign off the air."""
    edited = move is CampaignMove.EDIT and status is CampaignStatus.APPROVED
    return CampaignStatus.PENDING if edited else right(table, status, move)


@BUGS.around(campaigns, "after")
def paused_for_ever(right: Any, table: Any, status: Any, move: Any) -> Any:
    """A paused campaign cannot be resumed."""
    return None if move is CampaignMove.RESUME else right(table, status, move)


# Access.


@BUGS.around(authentication, "authenticate")
async def administrator_remembered(right: Any, *arguments: Any, fresh: bool = False) -> Any:
    """Administratorship is cached."""
    return await right(*arguments)


@BUGS.function(key_granting, "_lacking")
def scopes_out_of_nothing(unit: Any, issue: Any, account: Any) -> None:
    """A key may grant scopes that it lacks."""
    return


@BUGS.around(authorization, "authorize")
def scopes_not_asked(right: Any, operation: Any, caller: Any) -> Any:
    """A scoped key may do anything."""
    return right(replace(operation, scopes=()), caller)


@BUGS.around(authorization, "authorize")
def administrator_not_asked(right: Any, operation: Any, caller: Any) -> Any:
    """A scope is enough for administration."""
    return right(replace(operation, admin=False), caller)


@BUGS.around(UnitOfWork, "booking")
def owner_not_asked(right: Any, unit: UnitOfWork, booking_id: str, owner: str | None = None) -> Any:
    """Any account may use any booking."""
    return right(unit, booking_id, None)


BUGS.add("weeks-not-checked", "A taken week is sold again.", replaced(changes, "are_free", lambda unit, weeks: True))
BUGS.add("only-first-week-taken", "Only the first week of a package is held.", _WEEKS_OF)
BUGS.add(
    "declined-refund-without-weeks",
    "A declined refund returns to paid even if the weeks were sold.",
    replaced(UnitOfWork, "holds_its_weeks", lambda unit, booking: True),
)
BUGS.add(
    "sweeper-knows-better",
    "The sweeper expires a listed hold although it was paid since.",
    both(swapped(sweeper=_SlowSweeper), replaced(reservations, "expire_hold", _as_it_was)),
)
BUGS.add(
    "foreign-session-pays",
    "Any session that names a booking pays it.",
    replaced(settlement, "_is_ours", lambda *arguments: True),
)
BUGS.add(
    "payment-pays-two-bookings",
    "One payment pays every booking that an event names.",
    both(swapped(ledger_store=_SharedPayments), replaced(settlement, "record_payment", _paid_with_another)),
)
BUGS.add(
    "loss-taken-for-refund",
    "A total of refunds is compared with what went back by refunds and losses.",
    replaced(Booking, "by_refunds_cents", property(lambda booking: booking.refunded_cents)),
)
BUGS.add("closed-dispute-opened-again", "An old event opens a closed dispute.", replaced(disputes, "CLOSED", ()))
BUGS.add(
    "week-held-again-at-once",
    "An account may hold a week again at once.",
    replaced(reservations, "_held_too_often", lambda *arguments: None),
)
