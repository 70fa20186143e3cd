"""Bugs to plant in what follows a payment or an approval, one at a time: see `key_bugs`."""

from collections.abc import Collection, Sequence
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
from tests.doubles import announcements
from tests.doubles import ledger as ledger_store
from tests.doubles.ledger import MemoryLedger
from tests.doubles.tables import Memory
from tests.simulation.planting import Bugs, replaced
from tests.simulation.processor import LinkedPayments
from tests.simulation.rules import Scene

BUGS = Bugs(Scene.SPONSORS)


# Money.


@BUGS.part("payments")
class ShareRefundedInFull(LinkedPayments):
    """All of a payment is refunded where a share is due."""

    def cents_of(self, booking: Booking) -> int | None:
        return None


@BUGS.function(schedule, "unshown_share")
def share_of_days_not_sold(booking: Booking, unseen_weeks: Collection[int]) -> int:
    """The share of a week counts days before the booking."""
    return -(-booking.amount_cents * len(unseen_weeks) // booking.weeks)


@BUGS.function(schedule, "_is_undecided")
def end_waits_for_nobody(unit: UnitOfWork, booking: Booking, ended_ms: int) -> bool:
    """Weeks end while the payer's bank decides."""
    return False


@BUGS.around(settlement, "order_refund")
def refund_in_a_dispute(right: Any, unit: UnitOfWork, message: OrderRefund) -> Any:
    """A refund is ordered while its payment is disputed."""
    booking = unit.booking(message.booking_id)
    if booking is None or not booking.disputed or booking.status is not BookingStatus.PAID:
        return right(unit, message)
    unit.save_booking(replace(booking, disputed=False))
    answer = right(unit, message)
    ordered = unit.booking(message.booking_id)
    assert ordered is not None, "it was just ordered"
    unit.save_booking(replace(ordered, disputed=True))
    return answer


@BUGS.around(refund_requests, "request_refund")
def request_granted_at_once(right: Any, unit: UnitOfWork, message: RequestRefund) -> Answer:
    """A request for a refund needs no decision."""
    answer = right(unit, message)
    if isinstance(answer, Refused):
        return answer
    return settlement.order_refund(unit, OrderRefund(message.booking_id, None, message.origin))


@BUGS.around(refund_requests, "request_refund")
def request_counted_again(right: Any, unit: UnitOfWork, message: RequestRefund) -> Any:
    """A repeated request counts and is mailed again."""
    booking = unit.booking(message.booking_id, message.tenant_id)
    if booking is not None and booking.refund_requested_ms is not None:
        unit.save_booking(replace(booking, refund_requested_ms=None))
    return right(unit, message)


# The schedule.


@BUGS.part("ledger")
class StepsOfOldSnapshot(BookingLedger):
    """A lost commit of a schedule is retried on the rows read before it."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        if not all(isinstance(message, FollowSchedule) for message in messages):
            return await super().commit(batch_id, messages)
        now_ms, read = self._clock.now_ms(), list[Snapshot]()

        def on(snapshot: Snapshot) -> Decision:
            read.append(snapshot)
            return decide(read[0], messages, now_ms, self.rules)

        locks = rows_to_lock(messages, self.rules, now_ms)
        try:
            return (await self._store.transact(batch_id, locks, on)).answers
        except OutcomeUnknown:
            self._again = getattr(self, "_again", 0) + 1
            owner = f"{batch_id.owner.partition('/')[0]}/{self._again}/bookings"
            return (await self._store.transact(BatchId(owner, 1), locks, on)).answers


@BUGS.around(schedule, "_due_step")
def steps_a_day_early(right: Any, booking: Booking, now_ms: int) -> Any:
    """Steps are done a day early."""
    return right(booking, now_ms + DAY_MS)


@BUGS.around(schedule, "follow_schedule")
def one_step_at_a_time(right: Any, unit: UnitOfWork, message: FollowSchedule) -> Any:
    """Only one of several due steps is done."""
    booking = unit.booking(message.booking_id)
    at_ms = None if booking is None else schedule._due_step(booking, unit.now_ms)
    if booking is not None and at_ms is not None:
        return unit.view(schedule._step(unit, booking, at_ms, message.origin))
    return right(unit, message)


# Edits.


@BUGS.around(campaigns, "_save_edit", Scene.WEBSITES)
def edit_shown_at_once(right: Any, unit: UnitOfWork, before: Campaign, now: Campaign, origin: Any, past: str) -> Any:
    """An edit is visible before it is approved."""
    if past == "edited" and now.edit is not None:
        now = replace(now, content=now.edit, pending=None)
    return right(unit, before, now, origin, past)


@BUGS.around(campaigns, "_save_edit", Scene.WEBSITES)
def rejected_edit_shown(right: Any, unit: UnitOfWork, before: Campaign, now: Campaign, origin: Any, past: str) -> Any:
    """A rejected edit is visible."""
    if past == "edit_rejected" and before.edit is not None:
        now = replace(now, content=before.edit)
    return right(unit, before, now, origin, past)


@BUGS.around(campaigns, "move_campaign", Scene.WEBSITES)
def newer_edit_approved(right: Any, unit: UnitOfWork, message: Any) -> Any:
    """An approval covers what was edited since it was read."""
    return right(unit, replace(message, seen=None))


# Notifications.


@BUGS.part("ledger_store")
class MailsAgainOnRetry(MemoryLedger):
    """A retried batch mails again."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide) -> Decision:
        known = self._memory.journal.get(batch_id.owner, 0) >= batch_id.seq
        decision = await super().transact(batch_id, locks, decide)
        if known:
            announcements.tell(self._memory, [replace(mail, id=f"{mail.id}_again") for mail in decision.mails])
        return decision


@BUGS.around(ledger_store, "publish")
def days_not_queued(right: Any, tables: Memory, webhook_events: Sequence[WebhookEvent]) -> None:
    """Webhooks hear of bookings only."""
    right(tables, [each for each in webhook_events if each.type.startswith("booking.")])


@BUGS.around(ledger_store, "publish")
def feed_needs_a_webhook(right: Any, tables: Memory, webhook_events: Sequence[WebhookEvent]) -> None:
    """The feed of an account without a webhook has no events."""
    right(tables, webhook_events)
    hooked = {webhook.tenant_id for webhook in tables.webhooks.values()}
    for each in webhook_events:
        if each.tenant_id not in hooked:
            tables.webhook_events.pop(each.id, None)


@BUGS.around(notifications, "mail_administrators")
def declined_refund_not_mailed(right: Any, unit: UnitOfWork, booking: Booking, template: str, **facts: object) -> None:
    """Administrators hear nothing of a declined refund."""
    if template != "refund_failed":
        right(unit, booking, template, **facts)


@BUGS.around(reservations, "cancel")
def repetition_published_again(right: Any, unit: UnitOfWork, message: Any) -> Any:
    """Cancelling again is published again."""
    booking = unit.booking(message.booking_id, message.tenant_id)
    answer = right(unit, message)
    if booking is not None and booking.status is BookingStatus.CANCELLED:
        notifications.publish_booking(unit, booking, "booking.cancelled", key=message.origin.audit_id)
    return answer


@BUGS.around(announcements, "_messages")
def choices_ignored(right: Any, memory: Memory, mail: AccountMail) -> Any:
    """Topics that were turned off are mailed."""
    return right(memory, replace(mail, topic=None))


BUGS.add(
    "unseen-weeks-not-refunded",
    "Weeks that nobody saw are not refunded.",
    replaced(schedule, "unseen_weeks", lambda unit, booking: []),
)
