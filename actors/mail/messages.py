"""What the mail sender handles: letters as the outbox keeps them, mails as a transport takes them, and how each ended.

Knows nothing of what a letter says or of how a mail travels.
"""

from dataclasses import dataclass, field


class MailRefused(Exception):
    """This mail will never be taken; sending it again is no use."""


class MailFailed(Exception):
    """The mail was not taken now; sending it again may help."""


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A row of the outbox. `attempts` counts leases; while one is held, `due_ms` is when it ends.

    A letter waits until `sent_ms` or `failed_ms` is set.
    """

    id: str
    recipient: str
    template: str
    nonce: bytes = field(repr=False)
    created_ms: int
    expires_ms: int
    due_ms: int
    attempts: int = 0
    sent_ms: int | None = None
    failed_ms: int | None = None
    last_error: str | None = None

    @property
    def done_ms(self) -> int | None:
        """When it was sent or given up; None while it waits."""
        return self.failed_ms if self.sent_ms is None else self.sent_ms


@dataclass(frozen=True, slots=True)
class Mail:
    """A letter in words. `text` may hold a code, so it stays out of the `repr`. `message_id` is the same at a repeat."""

    message_id: str
    sender: str
    recipient: str
    subject: str
    text: str = field(repr=False)
    created_ms: int


@dataclass(frozen=True, slots=True)
class Lease:
    """Letters that are this node's to send until their `due_ms`, and when the next one is due; None when none waits."""

    messages: tuple[QueuedMessage, ...]
    next_due_ms: int | None


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    """A letter of the outbox for a person to look at; `mail` is None where this node cannot write it."""

    message: QueuedMessage
    mail: Mail | None


# How the attempt to send a letter ended. `attempt` is the letter's `attempts` under the lease that was held.


@dataclass(frozen=True, slots=True)
class Sent:
    """The transport took it."""

    message_id: str
    sent_ms: int


@dataclass(frozen=True, slots=True)
class RetryLater:
    """It failed and is due again at `due_ms`."""

    message_id: str
    attempt: int
    due_ms: int
    error: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    """It was refused for good, or is of no use any more."""

    message_id: str
    attempt: int
    failed_ms: int
    error: str


Mark = Sent | RetryLater | GivenUp
