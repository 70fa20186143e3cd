"""Bugs to plant in the sponsorship area, one at a time: see `key_bugs`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import trio

from actors.bookings import actor as ledger_actor
from actors.bookings import campaigns, changes, disputes, reservations, settlement, transitions, unit_of_work
from actors.bookings.actor import BookingLedger
from actors.bookings.campaigns import save_sponsor_profile, store_new_campaign
from actors.bookings.invoices import Invoice, InvoiceKind, documents
from actors.bookings.messages import Answer, CreateCampaign, Message, OpenCheckout, Origin, RecordPayment, Reserve
from actors.bookings.payments import PaymentsRefused, PaymentsUnavailable
from actors.bookings.records import OPEN, Booking, BookingStatus, CampaignStatus
from actors.bookings.state import Decision, LockSet, Snapshot, decide, rows_to_lock
from actors.bookings.store import Decide, SoldPlacement
from actors.bookings.transitions import BookingMove, CampaignMove
from actors.bookings.unit_of_work import UnitOfWork, weeks_of
from actors.keys import granting as key_granting
from actors.shared.ids import fingerprint
from actors.values import BatchId, Contended, OutcomeUnknown, Refused, StorageUnavailable
from service.api import authentication, authorization
from tests.doubles.invoices import issue
from tests.doubles.ledger import MemoryLedger
from tests.simulation.faults import Link, LinkedSponsorship, SimulatedBug
from tests.simulation.office import CountedSweeper
from tests.simulation.planting import Bug, Plant, both, patched, replaced, swapped
from tests.simulation.processor import LinkedPayments
from tests.simulation.rules import Scene


def _bug(sentence: str, plant: Plant) -> Bug:
    return Bug(sentence, plant, Scene.SPONSORS)


# Weeks.


class _StaleLedger(MemoryLedger):
    """Reads before it waits for its locks, then overwrites what is there."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        found = self._snapshot(locks)
        return await super().transact(batch_id, locks, lambda locked: decide(found))

    def _write(self, before: Snapshot, decision: Decision) -> None:
        for week in decision.weeks_reserved:
            self._memory.slot_weeks.pop(week, None)
        super()._write(before, decision)


class _EagerLedger(MemoryLedger):
    """Answers from a snapshot and commits in the background."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        link, commit = self._memory, super().transact
        assert isinstance(link, Link)

        async def later() -> None:
            with suppress(StorageUnavailable, Contended, OutcomeUnknown, SimulatedBug):
                await commit(batch_id, locks, decide)

        link.node.server.start_soon(later)
        await trio.lowlevel.checkpoint()
        return decide(self._snapshot(locks))


class _TimelessLedger(BookingLedger):
    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._began_ms = getattr(self, "_began_ms", 0) or self._clock.now_ms()
        decided = await self._store.transact(
            batch_id,
            rows_to_lock(messages, self.rules.counted_from_ms(now_ms)),
            lambda snapshot: decide(snapshot, messages, now_ms, self.rules),
        )
        return decided.answers


def _never_gone(unit: UnitOfWork, booking: Booking, payment: RecordPayment) -> None:
    return None


def _weeks_forgotten(unit: UnitOfWork, booking: Booking, message: Any) -> Answer:
    answer = _declined(unit, booking, message)
    unit.free_weeks(booking)
    return answer


_declined = settlement._refund_declined


def _one_week_only(booking: Booking) -> list[Any]:
    return weeks_of(booking)[:1]


_WEEKS_OF = both(replaced(changes, "weeks_of", _one_week_only), replaced(settlement, "weeks_of", _one_week_only))


# Idempotency.


def _not_remembered(unit: UnitOfWork, remembered: Any) -> None:
    """Writes the idempotency record, so that a missing row does not reveal the bug, but never reads it."""
    return


def _same_for_all(*parts: Any) -> bytes:
    """The same for all bodies of bookings, which end with a week."""
    return b"" if isinstance(parts[-1], int) else fingerprint(*parts)


def _created_again(unit: UnitOfWork, message: CreateCampaign) -> Answer:
    if unit.audited(message.origin.audit_id) != message.campaign.id:
        return _create_campaign(unit, message)
    store_new_campaign(unit, message.campaign, message.origin)
    return unit.campaign_view(message.campaign)


_create_campaign = campaigns.create_campaign


def _always_new(*parts: Any) -> bytes:
    """A new one for each creation of a campaign."""
    return fingerprint(*parts) if isinstance(parts[-1], int) else fingerprint(*parts, str(trio.current_time()))


# Holds.


def _for_ever(booking: Booking, now_ms: int) -> bool:
    return booking.status in OPEN


def _prolonged(unit: UnitOfWork, message: OpenCheckout) -> Answer:
    booking = unit.booking(message.booking_id, message.tenant_id)
    if booking is not None and booking.status is BookingStatus.CHECKOUT and booking.is_open(unit.now_ms):
        unit.save_booking(replace(booking, hold_ms=unit.now_ms + unit.rules.hold_ms))
    return _opened(unit, message)


_opened = reservations.open_checkout


def _of_the_snapshot(unit: UnitOfWork, tenant_id: str) -> int:
    bookings = unit._snapshot.bookings.values()
    return sum(booking.tenant_id == tenant_id and booking.is_open(unit.now_ms) for booking in bookings)


def _one_more(unit: UnitOfWork, tenant_id: str) -> int:
    return _counted(unit, tenant_id) - 1


_counted = UnitOfWork.open_holds


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


class _IdleSweeper(CountedSweeper):
    async def _expire(self, booking_id: str) -> None:
        return None


def _silent(unit: UnitOfWork, booking: Booking, move: BookingMove, origin: Origin, **rest: Any) -> Booking | None:
    audits = len(unit.decision.audits)
    moved = _applied(unit, booking, move, origin, **rest)
    if move is BookingMove.RUN_OUT:
        del unit.decision.audits[audits:]
    return moved


_applied = changes.apply


# Money.


def _every_event_anew(unit: UnitOfWork, message: RecordPayment) -> Answer:
    booking = unit.booking(message.booking_id)
    if booking is not None and booking.payment_id is not None:
        return settlement._paid_twice(unit, booking, message)
    return _taken(unit, message)


_taken = settlement.record_payment


class _FreshKeys(LinkedPayments):
    def key_of(self, booking: Booking) -> str:
        self._asked = getattr(self, "_asked", 0) + 1
        return f"refund-{booking.id}-{id(self)}-{self._asked}"


class _OptimisticSweeper(CountedSweeper):
    async def _refund(self, booking: Booking) -> bool:
        try:
            return await super()._refund(booking)
        except PaymentsUnavailable:
            return True


class _ForgetfulSweeper(CountedSweeper):
    async def _pay_back(self, booking: Booking) -> None:
        try:
            if await self._refund(booking):
                await self._ledger.settle_refund(booking.id, None)
        except (PaymentsRefused, PaymentsUnavailable) as error:
            await self._ledger.settle_refund(booking.id, str(error))


def _whatever_amount(unit: UnitOfWork, message: RecordPayment) -> Answer:
    booking = unit.booking(message.booking_id)
    if booking is not None:
        message = replace(message, amount_cents=booking.amount_cents)
    return _taken(unit, message)


def _paid_with_another(unit: UnitOfWork, message: RecordPayment) -> Answer:
    """Does not look for another booking that was paid with the payment."""
    with patched(UnitOfWork, "paid_with", lambda unit, payment_id: None):
        return _taken(unit, message)


class _SharedPayments(MemoryLedger):
    """Lacks the unique index on payments."""

    def _takes_another_payment(self, decision: Decision) -> bool:
        return False


class _RepeatedInvoices(MemoryLedger):
    """Writes the invoices of a batch again when the batch is repeated."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        known = self._memory.journal.get(batch_id.owner, 0) >= batch_id.seq
        decision = await super().transact(batch_id, locks, decide)
        if known:
            issue(self._memory, decision.invoices)
        return decision


class _CountsAlone(MemoryLedger):
    """Numbers invoices by what the node has written itself."""

    def _write(self, before: Snapshot, decision: Decision) -> None:
        with patched(self._memory, "invoice_numbers", vars(self).setdefault("_numbers", {})):
            super()._write(before, decision)


class _GivesUpNumbers(MemoryLedger):
    """Takes the numbers of a batch before it is sure to be written."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        try:
            return await super().transact(batch_id, locks, decide)
        except StorageUnavailable:
            last = self._memory.invoice_numbers
            last.update({series: number + 1 for series, number in last.items()})
            raise


def _never_cancelled(*change: Any) -> list[Invoice]:
    """No invoice for a refund that failed."""
    return [each for each in documents(*change) if each.kind is InvoiceKind.CREDIT_NOTE or each.belongs_to is None]


def _whole_refunds(unit: UnitOfWork, booking: Booking, total_cents: int, origin: Origin) -> Answer:
    """Takes every refund for one of the whole payment."""
    return settlement._refunded(unit, booking, origin)


class _ShowsDisputed(LinkedSponsorship):
    """Lists disputed placements."""

    def _placements(self, from_week_ms: int) -> Iterator[SoldPlacement]:
        link, right = self._memory, self._memory.bookings
        link.bookings = {key: replace(row, disputed=False) for key, row in right.items()}
        shown = list(super()._placements(from_week_ms))
        link.bookings = right
        return iter(shown)


def _not_followed(unit: UnitOfWork, booking: Booking, message: RecordPayment) -> Answer:
    return unit.view(booking)


# Commits.


class _BlindLedger(BookingLedger):
    """Retries an unknown outcome as if it were another batch."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        try:
            return await super().commit(batch_id, messages)
        except OutcomeUnknown:
            self._again = getattr(self, "_again", 0) + 1
            return await super().commit(
                BatchId(f"{batch_id.owner.partition('/')[0]}/{self._again}/bookings", 1), messages
            )


def _written_first(unit: UnitOfWork, message: Reserve) -> Answer:
    if message.sponsor is not None and message.campaign is not None:
        save_sponsor_profile(unit, message.sponsor, message.origin, message.sponsor.profile)
        known = unit.recall(message.tenant_id, message.operation, message.key)
        if known is None:
            store_new_campaign(unit, message.campaign, message.origin)
            message = replace(message, sponsor=None, campaign=None)
    return _reserved(unit, message)


_reserved = reservations.reserve


def _no_more_approved(table: Any, status: Any, move: Any) -> Any:
    edited = move is CampaignMove.EDIT and status is CampaignStatus.APPROVED
    return CampaignStatus.PENDING if edited else _after(table, status, move)


def _never_resumed(table: Any, status: Any, move: Any) -> Any:
    return None if move is CampaignMove.RESUME else _after(table, status, move)


_after = transitions.after


# Access.


async def _remembered(*arguments: Any, fresh: bool = False) -> Any:
    return await _authenticated(*arguments)


_authenticated = authentication.authenticate


def _anything(unit: Any, issue: Any, account: Any) -> None:
    return None


def _membership_only(operation: Any, caller: Any) -> Refused | None:
    return _authorized(replace(operation, scopes=()), caller)


_authorized = authorization.authorize


def _scopes_only(operation: Any, caller: Any) -> Refused | None:
    return _authorized(replace(operation, admin=False), caller)


def _any_owner(unit: UnitOfWork, booking_id: str, owner: str | None = None) -> Booking | None:
    return _found(unit, booking_id, None)


_found = UnitOfWork.booking

BUGS: Mapping[str, Bug] = {
    "weeks-not-checked": _bug("A taken week is sold again.", replaced(changes, "are_free", lambda unit, weeks: True)),
    "weeks-checked-outside": _bug(
        "Weeks are read before they are locked, and the store overwrites their owner.",
        swapped(ledger_store=_StaleLedger),
    ),
    "only-first-week-taken": _bug(
        "Only the first week of a package is held.",
        _WEEKS_OF,
    ),
    "late-payment-takes-weeks": _bug(
        "A late payment keeps weeks that were sold since.",
        replaced(settlement, "_why_too_late", _never_gone),
    ),
    "declined-refund-forgets-weeks": _bug(
        "A declined refund returns to paid without the weeks.",
        replaced(settlement, "_refund_declined", _weeks_forgotten),
    ),
    "declined-refund-without-weeks": _bug(
        "A declined refund returns to paid even if the weeks were sold.",
        replaced(UnitOfWork, "holds_its_weeks", lambda unit, booking: True),
    ),
    "key-not-remembered": _bug("An idempotency key is never read.", replaced(UnitOfWork, "remember", _not_remembered)),
    "campaign-id-not-derived": _bug(
        "A new campaign does not depend on its idempotency key.", replaced(ledger_actor, "fingerprint", _always_new)
    ),
    "campaign-created-again": _bug(
        "A repeated creation overwrites the campaign.", replaced(campaigns, "create_campaign", _created_again)
    ),
    "body-not-compared": _bug(
        "An idempotency key with another body returns the first booking.",
        replaced(ledger_actor, "fingerprint", _same_for_all),
    ),
    "hold-without-end": _bug("A hold never expires.", replaced(Booking, "is_open", _for_ever)),
    "hold-prolonged": _bug("Each checkout restarts the hold.", replaced(reservations, "open_checkout", _prolonged)),
    "holds-of-the-batch-not-counted": _bug(
        "Holds of the same batch do not count towards the limit.",
        replaced(UnitOfWork, "open_holds", _of_the_snapshot),
    ),
    "holds-one-too-many": _bug("An account may have one hold too many.", replaced(UnitOfWork, "open_holds", _one_more)),
    "sweeper-knows-better": _bug(
        "The sweeper expires a listed hold although it was paid since.",
        both(swapped(sweeper=_SlowSweeper), replaced(reservations, "expire_hold", _as_it_was)),
    ),
    "sweeper-idle": _bug("The sweeper does not expire holds.", swapped(sweeper=_IdleSweeper)),
    "expiry-not-audited": _bug("The expiry of a hold is not audited.", replaced(changes, "apply", _silent)),
    "event-handled-again": _bug(
        "A repeated event is handled again.", replaced(settlement, "record_payment", _every_event_anew)
    ),
    "foreign-session-pays": _bug(
        "Any session that names a booking pays it.", replaced(settlement, "_is_ours", lambda *arguments: True)
    ),
    "payment-pays-two-bookings": _bug(
        "One payment pays every booking that an event names.",
        both(swapped(ledger_store=_SharedPayments), replaced(settlement, "record_payment", _paid_with_another)),
    ),
    "disputed-and-shown": Bug("A disputed placement stays shown.", swapped(sponsorship=_ShowsDisputed), Scene.WEBSITES),
    "closed-dispute-opened-again": _bug("An old event opens a closed dispute.", replaced(disputes, "CLOSED", ())),
    "early-reports-forgotten": _bug(
        "What was reported before its payment is forgotten.", replaced(settlement, "_followed", _not_followed)
    ),
    "week-held-again-at-once": _bug(
        "An account may hold a week again at once.", replaced(reservations, "_held_too_often", lambda *arguments: None)
    ),
    "invoices-repeated": _bug("A repeated batch writes its invoices again.", swapped(ledger_store=_RepeatedInvoices)),
    "invoices-counted-by-each-node": _bug("Each node numbers its own invoices.", swapped(ledger_store=_CountsAlone)),
    "numbers-given-up": _bug("A batch that fails has taken the next number.", swapped(ledger_store=_GivesUpNumbers)),
    "failed-refund-stays-credited": _bug(
        "A refund that failed leaves its credit note.", replaced(unit_of_work, "documents", _never_cancelled)
    ),
    "part-taken-for-all": _bug(
        "A refund of a part counts as one of the whole payment.",
        replaced(settlement, "_refunded_so_far", _whole_refunds),
    ),
    "amount-not-compared": _bug("Any amount pays a booking.", replaced(settlement, "record_payment", _whatever_amount)),
    "refund-under-fresh-keys": _bug("Each refund attempt has a new idempotency key.", swapped(payments=_FreshKeys)),
    "lost-answer-taken-for-done": _bug(
        "A refund whose answer was lost counts as made.", swapped(sweeper=_OptimisticSweeper)
    ),
    "lost-answer-taken-for-declined": _bug(
        "A refund whose answer was lost counts as declined.", swapped(sweeper=_ForgetfulSweeper)
    ),
    "ledger-answers-first": _bug("The ledger answers before the commit.", swapped(ledger_store=_EagerLedger)),
    "ledger-clock-stands-still": _bug("The ledger reads its clock once.", swapped(ledger=_TimelessLedger)),
    "retried-blindly": _bug(
        "A batch with an unknown outcome is retried under a new batch id.", swapped(ledger=_BlindLedger)
    ),
    "start-in-two-steps": _bug(
        "Profile and campaign are stored although the booking failed.",
        replaced(reservations, "reserve", _written_first),
    ),
    "edited-and-no-more-approved": _bug(
        "An edit takes an approved campaign off the air.", replaced(campaigns, "after", _no_more_approved)
    ),
    "paused-for-ever": _bug("A paused campaign cannot be resumed.", replaced(campaigns, "after", _never_resumed)),
    "administrator-remembered": _bug(
        "Administratorship is cached.", replaced(authentication, "authenticate", _remembered)
    ),
    "administrator-not-asked": _bug(
        "A scope is enough for administration.", replaced(authorization, "authorize", _scopes_only)
    ),
    "scopes-not-asked": _bug("A scoped key may do anything.", replaced(authorization, "authorize", _membership_only)),
    "owner-not-asked": _bug("Any account may use any booking.", replaced(UnitOfWork, "booking", _any_owner)),
    "scopes-out-of-nothing": _bug(
        "A key may grant scopes that it lacks.", replaced(key_granting, "_lacking", _anything)
    ),
}
