"""Records, messages and answers of the key actor. None contains a key, token or code in clear: intents hash them first."""

from collections.abc import Mapping
from dataclasses import dataclass

from actors.keys.authorizations import Authorization, AuthorizationMessage
from actors.keys.exposures import EndExposed, ExposedEnded
from actors.shared.code_mails import Draft
from actors.shared.codes import EmailedCode, Sendings
from actors.shared.credentials import Kind
from actors.values import Account, AuditRecord, Done, OutboxMessage, Refused, Scope, Tenant, Tier


@dataclass(frozen=True, slots=True)
class Key:
    """One API key at rest. `scopes` None means a full key.

    `granter_id` is the key that granted this one, which then ends no later. `admin` says whether the scopes `admin:*`
    take effect while the account is an administrator's. `successor_id` is the key that replaced this one. `origin_id` is the
    first of several keys that each rotated itself, and `generation` counts them: revoking one revokes the later ones, too.
    `end_notice_ms` is when the owner is to be mailed that the key ends, None if no mail is due. `text_expires_ms` is when the
    text ends that a client was given, unless it gets a new one for its refresh token; None: with the key.
    """

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
    granter_id: str | None = None
    admin: bool = False
    successor_id: str | None = None
    origin_id: str | None = None
    generation: int = 0
    end_notice_ms: int | None = None
    text_expires_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Claim(Sendings, EmailedCode):
    """The claim token of an anonymous key, and the code that was last sent for it to `email`."""

    token_hash: bytes
    key_id: str
    created_ms: int
    email: str | None = None
    completed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """A key with its tenant's tier and account, as the cache keeps it. `admin`: the account is an administrator.
    `suspended`: the account is suspended. `siblings` are, for an account that never paid, the tenants of the other ones of
    its mailbox, at most `MAX_SIBLINGS`: they share its quota."""

    key: Key
    tier: Tier
    email: str | None
    admin: bool = False
    suspended: bool = False
    siblings: tuple[str, ...] = ()


MAX_SIBLINGS = 50
"""Of more, those that have used most this month share the quota."""


# Messages.


@dataclass(frozen=True, slots=True)
class Mint:
    """Store a fresh anonymous key with its tenant and claim."""

    key: Key
    claim_hash: bytes


@dataclass(frozen=True, slots=True)
class StartClaim:
    """Send a code for a claim token to an email. The mail carries the code's nonce."""

    token_hash: bytes
    email: str
    draft: Draft


@dataclass(frozen=True, slots=True)
class CompleteClaim:
    """Move an anonymous key to an account, if `proof` matches the code that was sent. `network_id` is the row
    that remembers the network."""

    token_hash: bytes
    email: str
    proof: bytes
    network_id: bytes
    audit_id: str
    request_id: str = ""
    notice: OutboxMessage | None = None


@dataclass(frozen=True, slots=True)
class ByKey:
    """A key of the account grants: the scopes it holds at commit time, and none once it has ended. Only one that
    `administers` grants administrator scopes."""

    key_id: str
    administers: bool = True


@dataclass(frozen=True, slots=True)
class ByAccount:
    """A signed-in person grants: any scopes that a full key of the account holds at commit time, or a full key. Only one who
    `administers` grants administrator scopes, or an administrator's full key. A session that has ended by then grants
    nothing."""

    session_id: str
    administers: bool = True


Granter = ByKey | ByAccount


@dataclass(frozen=True, slots=True)
class Issue:
    """Store a fresh full or scoped key of an account.

    With `granted_by`, the account has to exist, and the key gets no scope that the granter lacks. Without it, an
    operator issues any key, and the account is created with `tenant_id` if it does not exist.
    """

    key: Key
    email: str
    audit: AuditRecord
    granted_by: Granter | None = None
    notice: OutboxMessage | None = None


@dataclass(frozen=True, slots=True)
class EditKey:
    """Change the name or the end of a key of an account, a full one only with `full`. A `name` of None changes no name.
    Only with `sets_end` the key ends at `expires_ms`, or never."""

    key_id: str
    email: str
    audit: AuditRecord
    by: Granter
    full: bool = False
    name: str | None = None
    sets_end: bool = False
    expires_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RotateKey:
    """Replace a key of an account, a full one only with `full`. The old key ends after `grace_ms`. `fresh` has the new key
    for each kind that it can have; `issued` is its audit record."""

    key_id: str
    email: str
    fresh: Mapping[Kind, Key]
    grace_ms: int
    audit: AuditRecord
    issued: AuditRecord
    by: Granter
    full: bool = False
    notice: OutboxMessage | None = None

    @property
    def fresh_id(self) -> str:
        return self.fresh[Kind.USER].id


@dataclass(frozen=True, slots=True)
class EndNotice:
    """A mail to `email`, the owner of a key, that says when it ends."""

    key_id: str
    email: str
    notice: OutboxMessage


@dataclass(frozen=True, slots=True)
class SendEndNotices:
    """Mail the owners of keys that end soon, as far as a mail is still due for each."""

    notices: tuple[EndNotice, ...]


@dataclass(frozen=True, slots=True)
class Revoke:
    """Revoke a key by its id, and all keys that it granted, directly or through others. With `owner`, a tenant's id, only
    a key of that tenant, and a full one only with `full`."""

    key_id: str
    audit: AuditRecord
    owner: str | None = None
    full: bool = False


@dataclass(frozen=True, slots=True)
class EndKeys:
    """Revoke all keys of an account."""

    email: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class SetTier:
    """Set an account's tier: claimed or upgraded."""

    email: str
    tier: Tier
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class Suspend:
    """Suspend an account for a reason. `notice` is the mail to its owner."""

    email: str
    tenant_id: str
    reason: str
    audit: AuditRecord
    notice: OutboxMessage


@dataclass(frozen=True, slots=True)
class Restore:
    """End the suspension of an account. `notice` is the mail to its owner."""

    email: str
    tenant_id: str
    audit: AuditRecord
    notice: OutboxMessage


@dataclass(frozen=True, slots=True)
class GrantAdmin:
    """Make an email an administrator, whether or not its account exists yet."""

    email: str
    audit: AuditRecord
    notice: OutboxMessage | None = None


@dataclass(frozen=True, slots=True)
class RevokeAdmin:
    """Remove an email from the administrators. With `granted_ms`, only if it became one at that time."""

    email: str
    audit: AuditRecord
    granted_ms: int | None = None


@dataclass(frozen=True, slots=True)
class BootstrapAdmins:
    """Make these emails the administrators if there are none; one audit record and at most one notice for
    each."""

    emails: tuple[str, ...]
    audits: tuple[AuditRecord, ...]
    notices: tuple[OutboxMessage, ...] = ()


Message = (
    Mint
    | StartClaim
    | CompleteClaim
    | Issue
    | EditKey
    | RotateKey
    | SendEndNotices
    | Revoke
    | EndExposed
    | EndKeys
    | SetTier
    | Suspend
    | Restore
    | GrantAdmin
    | RevokeAdmin
    | BootstrapAdmins
    | AuthorizationMessage
)


# Answers.


@dataclass(frozen=True, slots=True)
class KeySaved:
    """Committed: the key as it is now, the hashes of all keys that changed, and the ids of those revoked with it."""

    key: Key
    changed: tuple[bytes, ...] = ()
    ended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Authorized:
    """Committed: the authorization, and its key once the code was exchanged."""

    authorization: Authorization
    key: Key | None = None


@dataclass(frozen=True, slots=True)
class Rotated:
    """Committed: the new key, the old one, and the hashes of all keys that changed. `ends_ms` is when the old one ends."""

    key: Key
    old: Key
    ends_ms: int
    changed: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class EndNoticesSent:
    """Committed: the keys whose owners are mailed."""

    key_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeysEnded:
    """Committed: the keys that this message revoked, or the one that it names, if that was revoked before."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Claimed:
    """Committed: the key belongs to the account. Includes its tenant's counters."""

    key: Key
    tenant: Tenant
    email: str


@dataclass(frozen=True, slots=True)
class TierSet:
    """Committed: the account's tenant as it is now."""

    tenant: Tenant


@dataclass(frozen=True, slots=True)
class SuspensionSet:
    """Committed: the account as it is now. `changed` is false if it was suspended, or was not, before."""

    account: Account
    changed: bool


@dataclass(frozen=True, slots=True)
class Membership:
    """Committed: the emails that changed, and the number of administrators now."""

    changed: tuple[str, ...]
    administrators: int


Answer = (
    KeySaved
    | Rotated
    | Authorized
    | EndNoticesSent
    | KeysEnded
    | ExposedEnded
    | Done
    | Claimed
    | TierSet
    | SuspensionSet
    | Membership
    | Refused
)
