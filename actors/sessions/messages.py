"""Records, messages and answers of the session actor.

None of them contains a token or code in clear: intents hash them first.
"""

from dataclasses import dataclass

from actors.sessions.second_factor import SecondFactorAnswer, SecondFactorMessage
from actors.shared.code_mails import Draft
from actors.shared.codes import EmailedCode
from actors.values import AuditRecord, Done, OutboxMessage, Refused, Tier


@dataclass(frozen=True, slots=True)
class SignIn(EmailedCode):
    """The sign-in code that was last sent to an email for one browser, named by the hash of its cookie."""

    email: str
    browser: bytes

    @property
    def key(self) -> tuple[str, bytes]:
        return self.email, self.browser


@dataclass(frozen=True, slots=True)
class SignInLink:
    """An operator's link that signs in one browser as `email`, once."""

    token_hash: bytes
    email: str
    created_ms: int
    expires_ms: int
    used_ms: int | None = None


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
    """A session with its account's tenant. `admin`: the account is an administrator. `suspension`: why the account is
    suspended, if it is."""

    session: Session
    tenant_id: str
    tier: Tier
    admin: bool = False
    suspension: str | None = None


# Messages.


@dataclass(frozen=True, slots=True)
class StartSignIn:
    """Send a code to an email for one browser, whether or not it has an account. The mail carries the code's nonce."""

    email: str
    browser: bytes
    draft: Draft


@dataclass(frozen=True, slots=True)
class CompleteSignIn:
    """Start `session`, if `proof` matches the code that was sent to its email for `browser`. The account
    is created with `tenant_id` if it does not exist. `network_id` is the row that remembers the network."""

    session: Session
    browser: bytes
    proof: bytes
    network_id: bytes
    tenant_id: str
    audit: AuditRecord
    notice: OutboxMessage | None = None


@dataclass(frozen=True, slots=True)
class IssueLink:
    """Store an operator's sign-in link."""

    link: SignInLink
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class UseLink:
    """Start `session` for the email of a sign-in link. The email of `session`, `audit` and `notice` is not known before."""

    token_hash: bytes
    session: Session
    tenant_id: str
    audit: AuditRecord
    notice: OutboxMessage | None = None


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


@dataclass(frozen=True, slots=True)
class EndSessions:
    """Revoke all sessions of the account of `email`, except `except_id`."""

    email: str
    except_id: str | None
    audit: AuditRecord


Message = StartSignIn | CompleteSignIn | IssueLink | UseLink | Touch | EndSession | EndSessions | SecondFactorMessage


# Answers.


@dataclass(frozen=True, slots=True)
class SessionSaved:
    """Committed: the session as it is now."""

    session: Session


@dataclass(frozen=True, slots=True)
class SessionsEnded:
    """Committed: the ids of the sessions that this message revoked."""

    session_ids: tuple[str, ...]


Answer = Done | SessionSaved | SessionsEnded | SecondFactorAnswer | Refused
