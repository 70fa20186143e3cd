"""Records, messages and answers of the session keeper.

None of them contains a token or code in clear: intents hash them first.
"""

from dataclasses import dataclass

from actors.codes import EmailedCode
from actors.sessions.second_factor import SecondFactorAnswer, SecondFactorMessage
from actors.values import AuditRecord, OutboxMessage, Refused, Tier


@dataclass(frozen=True, slots=True)
class SignIn(EmailedCode):
    """The sign-in code that was last sent to an email."""

    email: str


@dataclass(frozen=True, slots=True)
class Session:
    """One browser session at rest. `agent` is the browser's User-Agent, at most 200 characters. Use extends
    `expires_ms`. Revoking a session sets `expires_ms` to that moment. `passkey_ms` is when it last showed a passkey."""

    id: str
    token_hash: bytes
    email: str
    agent: str
    created_ms: int
    seen_ms: int
    expires_ms: int
    revoked_ms: int | None = None
    passkey_ms: int | None = None

    def is_live(self, now_ms: int) -> bool:
        return self.revoked_ms is None and now_ms < self.expires_ms


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session with its account's tenant. `admin`: the account is an administrator."""

    session: Session
    tenant_id: str
    tier: Tier
    admin: bool = False


# Messages.


@dataclass(frozen=True, slots=True)
class StartSignIn:
    """Send a code to an email, whether or not it has an account. The mail carries the code's nonce."""

    email: str
    proof: bytes
    message: OutboxMessage


@dataclass(frozen=True, slots=True)
class CompleteSignIn:
    """Start `session`, if `proof` matches the code that was sent to its email. The account is created with `tenant_id`
    if it does not exist. If it has passkeys, the session has to wait for one of them."""

    session: Session
    proof: bytes
    tenant_id: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class Touch:
    """Extend a session that was used."""

    session_id: str


@dataclass(frozen=True, slots=True)
class EndSession:
    """Revoke a session of the account of `email`."""

    session_id: str
    email: str
    audit: AuditRecord


Message = StartSignIn | CompleteSignIn | Touch | EndSession | SecondFactorMessage


# Answers.


@dataclass(frozen=True, slots=True)
class CodeSent:
    """Committed: the mail is in the outbox."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Committed: the session as it is now."""

    session: Session


Answer = CodeSent | Kept | SecondFactorAnswer | Refused
