"""The values of the mail sender: messages as the outbox stores them, mails as a transport takes them, and outcomes.

Knows nothing of the wording of a mail or of how it travels.
"""

from dataclasses import dataclass, field


class MailRefused(Exception):
    """This mail will never be accepted; do not send it again."""


class MailFailed(Exception):
    """The mail was not accepted; sending it again may help."""


@dataclass(frozen=True, slots=True)
class About:
    """The operator of the service: its name, the address of its terms, and the label and address of each link about it.
    Empty texts stand for what it has not."""

    name: str = ""
    terms_url: str = ""
    links: tuple[tuple[str, str], ...] = ()


NOBODY = About()


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A row of the outbox. It waits until `sent_ms` or `failed_ms` is set. `attempts` counts leases. While one is held,
    `due_ms` is when it ends. `facts` is a JSON object of strings, the values of the template's placeholders."""

    id: str
    recipient: str
    template: str
    nonce: bytes = field(repr=False)
    created_ms: int
    expires_ms: int
    due_ms: int
    facts: str = "{}"
    attempts: int = 0
    sent_ms: int | None = None
    failed_ms: int | None = None
    last_error: str | None = None

    @property
    def done_ms(self) -> int | None:
        """The moment at which it was sent or given up; None while it waits."""
        return self.failed_ms if self.sent_ms is None else self.sent_ms


@dataclass(frozen=True, slots=True)
class Mail:
    """A rendered message. `text` and `html` say the same and may contain a code, so they are not in the `repr`. A retry has
    the same `message_id`. `stop_url` turns mails of this kind off; empty if they are always sent."""

    message_id: str
    sender: str
    recipient: str
    subject: str
    text: str = field(repr=False)
    created_ms: int
    html: str = field(repr=False)
    stop_url: str = ""


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many messages wait, leased ones included, and when the oldest was created; None if none waits. Looks at the
    longest due messages only, of which there may be more."""

    waiting: int = 0
    oldest_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """Messages leased to this node until their `due_ms`, when the next one is due (None if none waits), and what waits."""

    messages: tuple[QueuedMessage, ...]
    next_due_ms: int | None
    backlog: Backlog = Backlog()


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    """A message of the outbox to display; `mail` is None if this node cannot render it."""

    message: QueuedMessage
    mail: Mail | None


# Outcomes of sending a message. `attempt` is the message's `attempts` under the lease.


@dataclass(frozen=True, slots=True)
class Sent:
    """The transport accepted it."""

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
    """It was refused for good, or has expired."""

    message_id: str
    attempt: int
    failed_ms: int
    error: str


Outcome = Sent | RetryLater | GivenUp
