"""Messages and answers of the key keeper about administrators and suspensions."""

from dataclasses import dataclass

from actors.values import Account, AuditRecord, OutboxMessage


@dataclass(frozen=True, slots=True)
class Suspend:
    """Suspend an account for a reason. `notice` tells its owner."""

    email: str
    tenant_id: str
    reason: str
    audit: AuditRecord
    notice: OutboxMessage


@dataclass(frozen=True, slots=True)
class Restore:
    """End the suspension of an account. `notice` tells its owner."""

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
