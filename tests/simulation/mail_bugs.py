"""Bugs to plant in the mail, one at a time: see `key_bugs`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from actors.mail import actor as sender
from actors.mail.messages import Lease, Mail, MailFailed, QueuedMessage, RetryLater
from actors.mail.state import after_refusal
from tests.simulation.planting import Bug, replaced, swapped
from tests.simulation.post import LinkedOutbox, LinkedTransport


class _GenerousOutbox(LinkedOutbox):
    """Leases a message to every node, and counts the attempt."""

    async def lease(self, limit: int, now_ms: int, until_ms: int) -> Lease:
        lease = await super().lease(limit, now_ms, until_ms)
        for message in lease.messages:
            row = self._memory.outbox[message.id]
            if row.done_ms is None:
                self._memory.outbox[message.id] = replace(row, due_ms=now_ms)
        return lease


class _OptimisticTransport(LinkedTransport):
    async def send(self, mail: Mail) -> None:
        try:
            await super().send(mail)
        except MailFailed:
            return


def _never_again(message: QueuedMessage, error: str, now_ms: int, retries: Any) -> Any:
    return after_refusal(message, error, now_ms)


def _once_more(message: QueuedMessage, error: str, now_ms: int) -> Any:
    return RetryLater(message.id, message.attempts, now_ms, error)


BUGS: Mapping[str, Bug] = {
    "message-leased-by-every-node": Bug("Two nodes send a message at once.", swapped(outbox=_GenerousOutbox)),
    "lost-mail-taken-for-sent": Bug(
        "A message whose sending failed counts as sent.", swapped(transport=_OptimisticTransport)
    ),
    "mail-tried-once": Bug(
        "A message is given up at its first failure.", replaced(sender, "after_failure", _never_again)
    ),
    "refused-mail-tried-again": Bug(
        "A permanently refused message is retried.", replaced(sender, "after_refusal", _once_more)
    ),
    "old-messages-sent": Bug(
        "A message is sent after its code has expired.",
        replaced(sender, "give_up_unsent", lambda *message: None),
    ),
}
