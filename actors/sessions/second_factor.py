"""Records, messages and answers of passkeys, the second factor of a sign-in.

None of them contains a challenge or token in clear: intents hash them first. Signatures are verified before a message is
made, so the rules compare only what is stored.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from actors.values import AuditRecord, Done, OutboxMessage


class Purpose(StrEnum):
    """The purpose of a challenge. A signature made for one purpose serves no other."""

    REGISTER = "register"
    CONFIRM = "confirm"
    SIGN_IN = "sign_in"


@dataclass(frozen=True, slots=True)
class Passkey:
    """A WebAuthn credential of an account. `public_key` is a COSE key. `sign_count` is the authenticator's counter at the
    last use, 0 if it has none."""

    id: str
    email: str
    credential_id: bytes
    public_key: bytes
    sign_count: int
    name: str
    created_ms: int
    used_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Challenge:
    """The challenge that a session or a pending sign-in got last. Its use sets `expires_ms` to 0."""

    holder_id: str
    purpose: Purpose
    hash: bytes
    expires_ms: int


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in whose code was right and whose passkey is missing. It is no session, so it opens nothing; the session gets
    its id. Its end sets `expires_ms` to 0."""

    id: str
    token_hash: bytes
    email: str
    agent: str
    created_ms: int
    expires_ms: int

    def is_live(self, now_ms: int) -> bool:
        return now_ms < self.expires_ms


@dataclass(frozen=True, slots=True)
class Attestation:
    """A verified registration by an authenticator: its new credential, and the hash of the challenge that it signed."""

    challenge_hash: bytes
    credential_id: bytes
    public_key: bytes
    sign_count: int


@dataclass(frozen=True, slots=True)
class Assertion:
    """A verified signature of a credential over the challenge with this hash."""

    challenge_hash: bytes
    credential_id: bytes
    sign_count: int


@dataclass(slots=True)
class SecondFactorRows:
    """The rows of a batch. The same class holds the changes of a decision; `removed` are ids of passkeys.

    `passkeys` has those of all emails of the batch, and those with a credential that is to be registered.
    """

    passkeys: dict[str, Passkey] = field(default_factory=dict)
    challenges: dict[str, Challenge] = field(default_factory=dict)
    pending: dict[str, PendingSignIn] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)


# Messages.


@dataclass(frozen=True, slots=True)
class StartCeremony:
    """Store a challenge for a session or a pending sign-in of `email`, in place of an earlier one."""

    challenge: Challenge
    email: str


@dataclass(frozen=True, slots=True)
class Register:
    """Add a passkey to the account of a session."""

    session_id: str
    challenge_hash: bytes
    passkey: Passkey
    audit: AuditRecord
    message: OutboxMessage


@dataclass(frozen=True, slots=True)
class Confirm:
    """Note in a session that its browser has just shown a passkey."""

    session_id: str
    email: str
    assertion: Assertion
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class FinishSignIn:
    """Turn a pending sign-in into a session with the token of `token_hash`."""

    pending_id: str
    email: str
    token_hash: bytes
    assertion: Assertion
    audit: AuditRecord
    notice: OutboxMessage | None = None


@dataclass(frozen=True, slots=True)
class CancelSignIn:
    """End a pending sign-in."""

    pending_id: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename a passkey of the account of `email`."""

    passkey_id: str
    email: str
    name: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove a passkey of the account of a session."""

    passkey_id: str
    session_id: str
    email: str
    audit: AuditRecord
    message: OutboxMessage


@dataclass(frozen=True, slots=True)
class RemoveAll:
    """Remove all passkeys of an account, for an operator."""

    email: str
    audit: AuditRecord
    message: OutboxMessage


SecondFactorMessage = StartCeremony | Register | Confirm | FinishSignIn | CancelSignIn | Rename | Remove | RemoveAll


# Answers.


@dataclass(frozen=True, slots=True)
class PasskeyNeeded:
    """Committed: the code was right, and a passkey has to follow."""

    pending: PendingSignIn


@dataclass(frozen=True, slots=True)
class CeremonyStarted:
    """Committed: the challenge is stored. `passkeys` are those of the account."""

    passkeys: tuple[Passkey, ...]


@dataclass(frozen=True, slots=True)
class PasskeySaved:
    """Committed: the passkey as it is now."""

    passkey: Passkey


@dataclass(frozen=True, slots=True)
class PasskeysRemoved:
    """Committed: the passkeys that were removed."""

    passkeys: tuple[Passkey, ...]


SecondFactorAnswer = PasskeyNeeded | CeremonyStarted | PasskeySaved | PasskeysRemoved | Done
