"""Granting, revoking and bootstrapping administrators, on locked rows. Pure.

Source of the rules: ADR 0005.
"""

from collections.abc import Callable, Sequence

from actors.keys.messages import BootstrapAdmins, GrantAdmin, Membership, RevokeAdmin
from actors.keys.unit_of_work import Decision, Snapshot
from actors.shared.notices import Ending, with_facts
from actors.values import Account, AuditRecord, OutboxMessage


class Administrators:
    """The administrators as this batch has left them. Changes are written into `decision`; `account` looks up an email."""

    def __init__(
        self, snapshot: Snapshot, decision: Decision, account: Callable[[str], Account | None], now_ms: int
    ) -> None:
        self._rows = snapshot.administrators
        self._count = snapshot.administrator_count
        self._decision = decision
        self._granted = decision.changed.administrators
        self._account = account
        self._now_ms = now_ms

    def __contains__(self, email: str) -> bool:
        return email in self._granted or (email in self._rows and email not in self._decision.dismissed)

    def __len__(self) -> int:
        return self._count + len(self._granted) - len(self._decision.dismissed)

    def grant(self, grant: GrantAdmin) -> Membership:
        return self._membership([grant.email] if self._appoint(grant.email, grant.audit, grant.notice) else [])

    def revoke(self, revoke: RevokeAdmin) -> Membership:
        if revoke.email not in self or revoke.granted_ms not in (None, self._granted_ms(revoke.email)):
            return self._membership([])
        self._granted.pop(revoke.email, None)
        if revoke.email in self._rows:
            self._decision.dismissed.add(revoke.email)
        self._note(revoke.email, revoke.audit)
        return self._membership([revoke.email])

    def bootstrap(self, bootstrap: BootstrapAdmins) -> Membership:
        if len(self):
            return self._membership([])
        notices = {notice.recipient: notice for notice in bootstrap.notices}
        rows = zip(bootstrap.emails, bootstrap.audits, strict=True)
        return self._membership([email for email, audit in rows if self._appoint(email, audit, notices.get(email))])

    def _appoint(self, email: str, audit: AuditRecord, notice: OutboxMessage | None) -> bool:
        if email in self:
            return False
        self._granted[email] = self._now_ms
        # The link in the mail ends this grant and no later one.
        self._decision.outbox += with_facts(notice, Ending.ADMIN, str(self._now_ms), email)
        self._note(email, audit)
        return True

    def _granted_ms(self, email: str) -> int:
        """When an administrator became one."""
        return self._granted[email] if email in self._granted else self._rows[email]

    def _note(self, email: str, audit: AuditRecord) -> None:
        """Audit a change. If the account exists, announce it so that every node drops its cached keys."""
        self._decision.audits.append(audit)
        account = self._account(email)
        if account is not None:
            self._decision.touched_tenants.append(account.tenant_id)

    def _membership(self, changed: Sequence[str]) -> Membership:
        return Membership(tuple(changed), len(self))
