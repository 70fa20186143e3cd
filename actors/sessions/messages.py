"""What is kept of sign-ins and sessions, what the session keeper is asked, and what it answers.

No message and no record holds a token or a code in clear: intents hash them before they ask.
"""

from dataclasses import dataclass

from actors.codes import EmailedCode
from actors.values import AuditRecord, OutboxMessage, Refused, Tier


@dataclass(frozen=True, slots=True)
class SignIn(EmailedCode):
    """The code that was last sent to an email so that somebody may sign in with it."""

    email: str


@dataclass(frozen=True, slots=True)
class Session:
    """One browser session at rest. `agent` is the browser's own name for itself, at most 200 characters.

    It lives until `expires_ms`, which slides while it is used, unless it is revoked; then that is when it was.
    """

    id: str
    token_hash: bytes
    email: str
    agent: str
    created_ms: int
    seen_ms: int
    expires_ms: int
    revoked_ms: int | None = None

    def is_live(self, now_ms: int) -> bool:
        return self.revoked_ms is None and now_ms < self.expires_ms


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What a session's cookie stands for. `admin`: its account is an administrator."""

    session: Session
    tenant_id: str
    tier: Tier
    admin: bool = False


# Messages.


@dataclass(frozen=True, slots=True)
class StartSignIn:
    """Send a code to an email, whether it has an account or not; the letter carries the code's nonce."""

    email: str
    proof: bytes
    message: OutboxMessage


@dataclass(frozen=True, slots=True)
class CompleteSignIn:
    """Begin `session`, if `proof` is that of the code that was sent to its email.

    The account is made with `tenant_id` where it does not exist.
    """

    session: Session
    proof: bytes
    tenant_id: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class Touch:
    """A session was used: it lives on from now."""

    session_id: str


@dataclass(frozen=True, slots=True)
class EndSession:
    """Revoke a session of the account of `email`."""

    session_id: str
    email: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class ConsumeForm:
    """A form of a session was sent: it does its work once."""

    session_id: str
    form_id: str


@dataclass(frozen=True, slots=True)
class ReleaseForm:
    """A form came to nothing: it may be sent again."""

    session_id: str
    form_id: str


Message = StartSignIn | CompleteSignIn | Touch | EndSession | ConsumeForm | ReleaseForm


# Answers.


@dataclass(frozen=True, slots=True)
class CodeSent:
    """Committed: the letter is in the outbox."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Committed: the session as it is now."""

    session: Session


@dataclass(frozen=True, slots=True)
class FormConsumed:
    """Committed: whether this was the first time that the form was sent."""

    first: bool


@dataclass(frozen=True, slots=True)
class FormReleased:
    """Committed: the form is as if it had never been sent."""


Answer = CodeSent | Kept | FormConsumed | FormReleased | Refused
