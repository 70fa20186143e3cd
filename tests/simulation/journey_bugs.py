"""Bugs to plant in what follows a payment or an approval, one at a time: see `key_bugs`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from actors.bookings import campaigns, notifications, refund_requests, reservations, schedule, settlement
from actors.bookings.actor import BookingLedger
from actors.bookings.messages import Answer, FollowSchedule, Message, OrderRefund, RequestRefund
from actors.bookings.records import Booking, BookingStatus, Campaign
from actors.bookings.state import Decision, LockSet, Snapshot, decide, rows_to_lock
from actors.bookings.store import Decide
from actors.bookings.unit_of_work import UnitOfWork
from actors.shared.announcements import AccountMail, WebhookEvent
from actors.times import DAY_MS
from actors.values import BatchId, OutcomeUnknown, Refused
from storage.memory import announcements, webhooks
from storage.memory import ledger as ledger_store
from storage.memory.ledger import MemoryLedger
from storage.memory.tables import Memory
from tests.simulation.planting import Bug, Plant, replaced, swapped
from tests.simulation.processor import LinkedPayments
from tests.simulation.rules import Scene


def _bug(sentence: str, plant: Plant, scene: Scene = Scene.SPONSORS) -> Bug:
    return Bug(sentence, plant, scene)


# Money.


class _AllOfIt(LinkedPayments):
    def cents_of(self, booking: Booking) -> int | None:
        return None


def _by_weeks_alone(booking: Booking, unseen_weeks: Collection[int]) -> int:
    """Counts the days before the booking was made."""
    return -(-booking.amount_cents * len(unseen_weeks) // booking.weeks)


def _not_undecided(unit: UnitOfWork, booking: Booking, ended_ms: int) -> bool:
    return False


def _ordered_in_a_dispute(unit: UnitOfWork, message: OrderRefund) -> Answer:
    booking = unit.booking(message.booking_id)
    if booking is None or not booking.disputed or booking.status is not BookingStatus.PAID:
        return _ordered(unit, message)
    unit.save_booking(replace(booking, disputed=False))
    answer = _ordered(unit, message)
    ordered = unit.booking(message.booking_id)
    assert ordered is not None, "it was just ordered"
    unit.save_booking(replace(ordered, disputed=True))
    return answer


_ordered = settlement.order_refund


def _granted_at_once(unit: UnitOfWork, message: RequestRefund) -> Answer:
    answer = _requested(unit, message)
    if isinstance(answer, Refused):
        return answer
    return settlement.order_refund(unit, OrderRefund(message.booking_id, None, message.origin))


def _requested_again(unit: UnitOfWork, message: RequestRefund) -> Answer:
    """Takes a repeated request for a new one."""
    booking = unit.booking(message.booking_id, message.tenant_id)
    if booking is not None and booking.refund_requested_ms is not None:
        unit.save_booking(replace(booking, refund_requested_ms=None))
    return _requested(unit, message)


_requested = refund_requests.request_refund


# The schedule.


class _OldSnapshots(BookingLedger):
    """Retries a lost commit of schedules under a new batch id, on the rows that the first attempt has read."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        if not all(isinstance(message, FollowSchedule) for message in messages):
            return await super().commit(batch_id, messages)
        now_ms, read = self._clock.now_ms(), list[Snapshot]()

        def on(snapshot: Snapshot) -> Decision:
            read.append(snapshot)
            return decide(read[0], messages, now_ms, self.rules)

        locks = rows_to_lock(messages, self.rules.counted_from_ms(now_ms))
        try:
            return (await self._store.transact(batch_id, locks, on)).answers
        except OutcomeUnknown:
            self._again = getattr(self, "_again", 0) + 1
            owner = f"{batch_id.owner.partition('/')[0]}/{self._again}/bookings"
            return (await self._store.transact(BatchId(owner, 1), locks, on)).answers


def _a_day_early(booking: Booking, now_ms: int) -> bool:
    return _is_due(booking, now_ms + DAY_MS)


_is_due = schedule._is_due


def _one_step_only(unit: UnitOfWork, message: FollowSchedule) -> Answer:
    """Leaves what else is due to the next round of the sweeper."""
    booking = unit.booking(message.booking_id)
    if booking is not None and schedule._is_due(booking, unit.now_ms):
        return unit.view(schedule._step(unit, booking, message.origin))
    return _followed(unit, message)


_followed = schedule.follow_schedule


# Edits.


def _shown_at_once(unit: UnitOfWork, before: Campaign, now: Campaign, origin: Any, past: str) -> Answer:
    if past == "edited" and now.edit is not None:
        now = replace(now, content=now.edit, pending=None)
    return _kept(unit, before, now, origin, past)


def _approved_anyway(unit: UnitOfWork, before: Campaign, now: Campaign, origin: Any, past: str) -> Answer:
    if past == "edit_rejected" and before.edit is not None:
        now = replace(now, content=before.edit)
    return _kept(unit, before, now, origin, past)


_kept = campaigns._save_edit


def _whatever_was_read(unit: UnitOfWork, message: Any) -> Answer:
    return _moved(unit, replace(message, seen=None))


_moved = campaigns.move_campaign


# What is told.


class _TellsAgain(MemoryLedger):
    """Writes the mails of a batch again, under new ids, when it finds the batch in the journal."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        known = self._memory.journal.get(batch_id.owner, 0) >= batch_id.seq
        decision = await super().transact(batch_id, locks, decide)
        if known:
            announcements.tell(self._memory, [replace(mail, id=f"{mail.id}_again") for mail in decision.mails])
        return decision


def _of_bookings_only(tables: Memory, webhook_events: Sequence[WebhookEvent]) -> None:
    _published(tables, [each for each in webhook_events if each.type.startswith("booking.")])


_published = webhooks.publish


def _alone(unit: UnitOfWork, booking: Booking, template: str, **facts: object) -> None:
    if template != "refund_failed":
        _told(unit, booking, template, **facts)


_told = notifications.mail_administrators


def _cancelled_again(unit: UnitOfWork, message: Any) -> Answer:
    booking = unit.booking(message.booking_id, message.tenant_id)
    answer = _cancelled(unit, message)
    if booking is not None and booking.status is BookingStatus.CANCELLED:
        notifications.publish_booking(unit, booking, "booking.cancelled", key=message.origin.audit_id)
    return answer


_cancelled = reservations.cancel


def _to_everybody(memory: Memory, mail: AccountMail) -> Any:
    return _messages(memory, replace(mail, topic=None))


_messages = announcements._messages


BUGS: Mapping[str, Bug] = {
    "share-refunded-in-full": _bug("All of a payment is refunded where a share is due.", swapped(payments=_AllOfIt)),
    "share-of-days-not-sold": _bug(
        "The share of a week counts days before the booking.", replaced(schedule, "unshown_share", _by_weeks_alone)
    ),
    "unseen-weeks-kept": _bug(
        "Weeks that nobody saw are not refunded.", replaced(schedule, "unseen_weeks", lambda unit, booking: [])
    ),
    "end-waits-for-nobody": _bug(
        "Weeks end while the payer's bank decides.", replaced(schedule, "_is_undecided", _not_undecided)
    ),
    "refund-in-a-dispute": _bug(
        "A refund is ordered while its payment is disputed.",
        replaced(settlement, "order_refund", _ordered_in_a_dispute),
    ),
    "request-granted-at-once": _bug(
        "A request for a refund needs no decision.", replaced(refund_requests, "request_refund", _granted_at_once)
    ),
    "request-counted-again": _bug(
        "A repeated request counts and is told again.", replaced(refund_requests, "request_refund", _requested_again)
    ),
    "steps-of-old-snapshot": _bug(
        "A lost commit of a schedule is retried on the rows read before it.", swapped(ledger=_OldSnapshots)
    ),
    "steps-a-day-early": _bug("Steps are done a day early.", replaced(schedule, "_is_due", _a_day_early)),
    "one-step-at-a-time": _bug(
        "Only one of several due steps is done.", replaced(schedule, "follow_schedule", _one_step_only)
    ),
    "edit-shown-at-once": _bug(
        "An edit is shown before it is approved.", replaced(campaigns, "_save_edit", _shown_at_once), Scene.WEBSITES
    ),
    "rejected-edit-shown": _bug(
        "A rejected edit is shown.", replaced(campaigns, "_save_edit", _approved_anyway), Scene.WEBSITES
    ),
    "newer-edit-approved": _bug(
        "An approval covers what was edited since it was read.",
        replaced(campaigns, "move_campaign", _whatever_was_read),
        Scene.WEBSITES,
    ),
    "mails-again-on-retry": _bug("A retried batch mails again.", swapped(ledger_store=_TellsAgain)),
    "days-not-queued": _bug("Webhooks hear of bookings only.", replaced(ledger_store, "publish", _of_bookings_only)),
    "declined-refund-untold": _bug(
        "Administrators hear nothing of a declined refund.", replaced(notifications, "mail_administrators", _alone)
    ),
    "repetition-told-again": _bug(
        "Cancelling again is told again.", replaced(reservations, "cancel", _cancelled_again)
    ),
    "choices-ignored": _bug(
        "Topics that were turned off are mailed.", replaced(announcements, "_messages", _to_everybody)
    ),
}
