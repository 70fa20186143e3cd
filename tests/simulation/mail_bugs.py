"""Bugs to plant in the mail, one at a time: see `key_bugs`."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from actors.bookings import changes, notifications, schedule
from actors.bookings.records import Booking
from actors.bookings.transitions import BookingMove
from actors.bookings.unit_of_work import UnitOfWork
from actors.keys import issuing
from actors.mail import actor as sender
from actors.mail.messages import Lease, Mail, MailFailed, QueuedMessage, RetryLater
from actors.mail.state import after_refusal
from actors.quota.state import Decision as Quotas
from actors.quota.store import Decide
from actors.shared.announcements import AccountMail
from actors.shared.notices import notice
from actors.times import DAY_MS
from actors.values import BatchId, OutboxMessage
from tests.doubles import announcements
from tests.doubles.quota import MemoryQuota
from tests.doubles.tables import Memory
from tests.simulation.planting import Bugs, replaced
from tests.simulation.post import LinkedOutbox, LinkedTransport
from tests.simulation.rules import Scene

BUGS = Bugs()


@BUGS.part("outbox")
class MessageLeasedByEveryNode(LinkedOutbox):
    """Two nodes send a message at once."""

    async def lease(self, limit: int, now_ms: int, until_ms: int) -> Lease:
        lease = await super().lease(limit, now_ms, until_ms)
        for message in lease.messages:
            row = self._memory.outbox[message.id]
            if row.done_ms is None:
                self._memory.outbox[message.id] = replace(row, due_ms=now_ms)
        return lease


@BUGS.part("transport")
class LostMailTakenForSent(LinkedTransport):
    """A message whose sending failed counts as sent."""

    async def send(self, mail: Mail) -> None:
        try:
            await super().send(mail)
        except MailFailed:
            return


@BUGS.function(sender, "after_failure")
def mail_tried_once(message: QueuedMessage, error: str, now_ms: int, retries: Any) -> Any:
    """A message is given up at its first failure."""
    return after_refusal(message, error, now_ms)


@BUGS.function(sender, "after_refusal")
def refused_mail_tried_again(message: QueuedMessage, error: str, now_ms: int) -> Any:
    """A permanently refused message is retried."""
    return RetryLater(message.id, message.attempts, now_ms, error)


# Mails that are written.


@BUGS.around(changes, "_publish_move", Scene.SPONSORS)
def cancellation_mailed(right: Any, unit: UnitOfWork, booking: Booking, move: BookingMove) -> None:
    """Each cancellation is mailed."""
    right(unit, booking, move)
    if move is BookingMove.CANCEL:
        notifications.mail_owner(
            unit, booking, "webhook_off", None, since_ms=0, url="https://example.com/", error="none"
        )


@BUGS.around(changes, "_publish_move", Scene.SPONSORS)
def receipt_mailed_twice(right: Any, unit: UnitOfWork, booking: Booking, move: BookingMove) -> None:
    """Two receipts are mailed for a payment."""
    right(unit, booking, move)
    if move is BookingMove.PAY:
        notifications.mail_owner(unit, booking, "booking_receipt", None, key=f"{booking.id}_again")


@BUGS.around(announcements, "_messages", Scene.SPONSORS)
def mailed_to_another(right: Any, memory: Memory, mail: AccountMail) -> Iterator[OutboxMessage]:
    """Mails about a booking go to another account."""
    emails = sorted(account.email for account in memory.accounts.values() if account.tenant_id != mail.tenant_id)
    for message in right(memory, mail):
        yield message if mail.tenant_id is None else replace(message, recipient=emails[0])


@BUGS.around(schedule, "_report_day", Scene.SPONSORS)
def week_mailed_each_day(right: Any, unit: UnitOfWork, booking: Booking, day: int) -> None:
    """The figures of the week are mailed each day."""
    right(unit, booking, day)
    notifications.mail_last_week(unit, booking.tenant_id, (day + 1) * DAY_MS)


@BUGS.part("quota_store")
class ChargesMailed(MemoryQuota):
    """Charges of a quota are mailed."""

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: Decide) -> Quotas:
        mail = notice(f"let_{batch_id.owner}_{batch_id.seq}", "new_key", "admin@example.org", 0)
        facts = {"ends": "key", "target": tenant_ids[0], "label": "cs_user", "how": "A request was charged."}
        self._memory.messages[mail.id] = replace(mail, facts=json.dumps(facts))
        return await super().meter(batch_id, tenant_ids, decide)


BUGS.add(
    "new-key-not-mailed",
    "The owner of an account gets no mail of a new key.",
    replaced(issuing, "with_facts", lambda *about, **facts: []),
)
BUGS.add(
    "old-messages-sent",
    "A message is sent after its code has expired.",
    replaced(sender, "expire_unsent", lambda *message: None),
)
