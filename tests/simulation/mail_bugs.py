"""Bugs to plant in the mail, one at a time: see `key_bugs`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from actors.mail import actor as sender
from actors.mail.messages import Lease, Mail, MailFailed, QueuedMessage, RetryLater
from tests.simulation.planting import Bug, replaced, swapped
from tests.simulation.post import LinkedOutbox, LinkedTransport


class _GenerousOutbox(LinkedOutbox):
    """Gives a letter to whoever asks, and counts the attempt."""

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
    return sender.after_refusal(message, error, now_ms)


def _once_more(message: QueuedMessage, error: str, now_ms: int) -> Any:
    return RetryLater(message.id, message.attempts, now_ms, error)


BUGS: Mapping[str, Bug] = {
    "letter-leased-by-everybody": Bug("Two nodes send a letter at once.", swapped(outbox=_GenerousOutbox)),
    "lost-mail-taken-for-sent": Bug(
        "A mail that was not taken counts as sent.", swapped(transport=_OptimisticTransport)
    ),
    "mail-tried-once": Bug(
        "A letter is given up at its first failure.", replaced(sender, "after_failure", _never_again)
    ),
    "refused-mail-tried-again": Bug(
        "What was refused for good is tried again.", replaced(sender, "after_refusal", _once_more)
    ),
    "old-letters-sent": Bug(
        "A letter is sent when its code is of no use any more.",
        replaced(sender, "give_up_unsent", lambda *message: None),
    ),
}
