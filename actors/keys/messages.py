"""What is kept of keys, claims and accounts, what the key keeper is asked, and what it answers.

No message and no record holds a key, a token or a code in clear: intents hash them before they ask.
"""

from dataclasses import dataclass

from actors.codes import EmailedCode
from actors.credentials import Kind
from actors.values import AuditRecord, OutboxMessage, Refused, Scope, Tenant, Tier


@dataclass(frozen=True, slots=True)
class Key:
    """One API key at rest. `scopes` None means a full key; `expires_ms` is set for unclaimed anonymous keys only."""

    id: str
    hash: bytes
    prefix: str
    kind: Kind
    tenant_id: str
    created_ms: int
    scopes: tuple[Scope, ...] | None = None
    name: str | None = None
    expires_ms: int | None = None
    revoked_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Claim(EmailedCode):
    """The claim token of an anonymous key and the code that was last sent for it, to `email`."""

    token_hash: bytes
    key_id: str
    created_ms: int
    email: str | None = None
    completed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a key stands for, as the directory caches it. `admin`: its account is an administrator."""

    key: Key
    tier: Tier
    email: str | None
    admin: bool = False


# Messages.


@dataclass(frozen=True, slots=True)
class Mint:
    """Keep a fresh anonymous key with its tenant and claim."""

    key: Key
    claim_hash: bytes


@dataclass(frozen=True, slots=True)
class StartClaim:
    """Send a code for a claim token to an email; the letter carries the code's nonce."""

    token_hash: bytes
    email: str
    proof: bytes
    message: OutboxMessage


@dataclass(frozen=True, slots=True)
class CompleteClaim:
    """Turn an anonymous key into one of an account, if `proof` is that of the code that was sent."""

    token_hash: bytes
    email: str
    proof: bytes
    audit_id: str
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class ByKey:
    """A key of the account grants: what it holds at the commit, and nothing once it has ended."""

    key_id: str


@dataclass(frozen=True, slots=True)
class ByAccount:
    """A person who is signed in to the account grants: what a full key of it holds at the commit, or such a key."""


Granter = ByKey | ByAccount


@dataclass(frozen=True, slots=True)
class Issue:
    """Keep a fresh full or scoped key of an account.

    With `granted_by` the account has to exist, and the fresh key gets no scope that the granter does not hold. Without, an
    operator issues what he likes, and the account is made with `tenant_id` where it does not exist.
    """

    key: Key
    email: str
    audit: AuditRecord
    granted_by: Granter | None = None


@dataclass(frozen=True, slots=True)
class Revoke:
    """End a key by its id; with `owner`, a tenant's id, only a key of that tenant, and a full one only with `full`."""

    key_id: str
    audit: AuditRecord
    owner: str | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class SetTier:
    """Set an account's tier: claimed or upgraded."""

    email: str
    tier: Tier
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class GrantAdmin:
    """Make the account of an email, which need not exist yet, an administrator."""

    email: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class RevokeAdmin:
    """Make the account of an email an administrator no longer."""

    email: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class BootstrapAdmins:
    """Make these the administrators of a database that has none; one audit record for each."""

    emails: tuple[str, ...]
    audits: tuple[AuditRecord, ...]


Message = Mint | StartClaim | CompleteClaim | Issue | Revoke | SetTier | GrantAdmin | RevokeAdmin | BootstrapAdmins


# Answers.


@dataclass(frozen=True, slots=True)
class Kept:
    """Committed: the key as it is now, and the hashes of all keys whose standing changed."""

    key: Key
    changed: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeSent:
    """Committed: the letter is in the outbox."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """Committed: the key belongs to the account; with its tenant's counters."""

    key: Key
    tenant: Tenant
    email: str


@dataclass(frozen=True, slots=True)
class TierSet:
    """Committed: the account's tenant as it is now."""

    tenant: Tenant


@dataclass(frozen=True, slots=True)
class Membership:
    """Committed: the emails whose membership changed by this, and how many administrators there are now."""

    changed: tuple[str, ...]
    administrators: int


Answer = Kept | CodeSent | Claimed | TierSet | Membership | Refused
