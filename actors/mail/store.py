"""The ports of the mail sender: the transport, and the outbox, whose two stores pass the same contract tests."""

from collections.abc import Sequence
from typing import Protocol

from actors.mail.messages import Lease, Mail, Outcome, QueuedMessage

MAX_COUNTED = 1_000
"""Most messages that `Lease.backlog` counts."""


class Outbox(Protocol):
    """Messages on their way. Methods raise `StorageUnavailable`; those that write also `Contended` or `OutcomeUnknown`."""

    async def lease(self, limit: int, now_ms: int, until_ms: int) -> Lease:
        """Lease at most `limit` due messages until `until_ms`, longest due first, in the order in which they were
        created. Counts an attempt for each. Skips messages that another node is leasing. Its `backlog` counts at most
        `MAX_COUNTED` messages."""
        ...

    async def mark(self, marks: Sequence[Outcome]) -> None:
        """Record outcomes in one transaction. Repeating it is harmless. `RetryLater` and `GivenUp` apply only while the
        message waits without a later lease. `Sent` always applies, because the mail is out."""
        ...

    async def prune(self, before_ms: int, limit: int) -> int:
        """Delete at most `limit` messages that were sent or given up before `before_ms`; returns how many."""
        ...

    async def recent(self, limit: int) -> Sequence[QueuedMessage]:
        """The newest messages, waiting or not, at most `limit`."""
        ...


class Transport(Protocol):
    """Delivers mails."""

    async def send(self, mail: Mail) -> None:
        """Return once another server has accepted the mail. Raises `MailRefused` or `MailFailed`. The text of the error
        is stored and logged: it must not contain a password."""
        ...
