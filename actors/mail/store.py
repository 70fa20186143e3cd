"""The ports of the mail sender: the outbox, of which two stores pass one contract, and the transport."""

from collections.abc import Sequence
from typing import Protocol

from actors.mail.messages import Lease, Mail, Mark, QueuedMessage


class Outbox(Protocol):
    """Letters on their way. All methods raise `StorageUnavailable`, and those that write `Contended` or
    `OutcomeUnknown`."""

    async def lease(self, limit: int, now_ms: int, until_ms: int) -> Lease:
        """Take at most `limit` letters that are due, the longest due first: nobody else gets them before `until_ms`.

        Counts an attempt for each, and returns them in the order in which they were made. Letters that another node
        takes at this moment are passed over.
        """
        ...

    async def mark(self, marks: Sequence[Mark]) -> None:
        """Keep how attempts ended, in one transaction; harmless when repeated.

        `Again` and `GivenUp` hold only while no later lease was given and the letter waits; `Sent` holds always, since
        the mail is out.
        """
        ...

    async def prune(self, before_ms: int, limit: int) -> int:
        """Delete at most `limit` letters that were done before `before_ms`; returns how many."""
        ...

    async def recent(self, limit: int) -> Sequence[QueuedMessage]:
        """The newest letters, done or not, at most `limit`."""
        ...


class Transport(Protocol):
    """What carries a mail away."""

    async def send(self, mail: Mail) -> None:
        """Return once somebody else has answered for the mail; raises `MailRefused` or `MailFailed`.

        The text of the error is kept and logged: it must not hold a password.
        """
        ...
