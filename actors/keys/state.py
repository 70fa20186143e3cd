"""The rules of minting, claiming, issuing and revoking keys. Pure; source: ADR 0004, 0006 and 0056.

Takes a snapshot of locked rows and messages, returns changes and answers. Later messages of a batch see the changes of
earlier ones.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from actors.codes import guess, renew, send, wrong_code
from actors.keys.administrators import Administrators
from actors.keys.granting import may_revoke, refused_grant
from actors.keys.messages import (
    Answer,
    BootstrapAdmins,
    ByKey,
    Claim,
    Claimed,
    CodeSent,
    CompleteClaim,
    GrantAdmin,
    Issue,
    Kept,
    Key,
    Message,
    Mint,
    Revoke,
    RevokeAdmin,
    SetTier,
    StartClaim,
    TierSet,
)
from actors.keys.unit_of_work import Decision, KeyRules, Snapshot, UnitOfWork, merged
from actors.values import Account, AuditRecord, Code, Refused, Tenant, Tier

__all__ = ["Decision", "KeyRules", "LockSet", "Snapshot", "decide", "merged", "rows_to_lock"]


@dataclass(frozen=True, slots=True)
class LockSet:
    """The rows that a batch needs. The store follows claims to keys, and keys and accounts to tenants.

    `admin_emails` are the emails whose membership is read. `membership` means that the batch changes administrators,
    which only one batch may do at a time.
    """

    token_hashes: tuple[bytes, ...]
    key_ids: tuple[str, ...]
    emails: tuple[str, ...]
    admin_emails: tuple[str, ...] = ()
    membership: bool = False
    letter_ids: tuple[bytes, ...] = ()


def rows_to_lock(messages: Iterable[Message]) -> LockSet:
    """The rows to lock for a batch, sorted, so that two nodes lock them in the same order."""
    token_hashes: set[bytes] = set()
    key_ids: set[str] = set()
    emails: set[str] = set()
    admin_emails: set[str] = set()
    letter_ids: set[bytes] = set()
    membership = False
    for message in messages:
        match message:
            case StartClaim(token_hash=token_hash, draft=draft):
                token_hashes.add(token_hash)
                letter_ids.update(draft.count_ids)
            case CompleteClaim(token_hash=token_hash, email=email, network_id=network_id):
                token_hashes.add(token_hash)
                letter_ids.add(network_id)
                emails.add(email)
            case Issue(key=key, email=email, granted_by=granter):
                emails.add(email)
                key_ids.add(key.id)
                if granter is not None:
                    admin_emails.add(email)
                if isinstance(granter, ByKey):
                    key_ids.add(granter.key_id)
            case SetTier(email=email):
                emails.add(email)
            case Revoke(key_id=key_id):
                key_ids.add(key_id)
            case GrantAdmin(email=email) | RevokeAdmin(email=email):
                emails.add(email)
                admin_emails.add(email)
                membership = True
            case BootstrapAdmins(emails=several):
                emails.update(several)
                admin_emails.update(several)
                membership = True
            case Mint():
                pass
    return LockSet(
        tuple(sorted(token_hashes)),
        tuple(sorted(key_ids)),
        tuple(sorted(emails)),
        tuple(sorted(admin_emails)),
        membership,
        tuple(sorted(letter_ids)),
    )


def decide(snapshot: Snapshot, messages: Sequence[Message], now_ms: int, rules: KeyRules) -> Decision:
    """Answer `messages` in order against `snapshot`, whose rows are locked until the decision is committed."""
    batch = _Batch(snapshot, now_ms, rules)
    for message in messages:
        batch.decision.answers.append(batch.handle(message))
    return batch.decision


class _Batch(UnitOfWork):
    """Answers the messages of one batch."""

    def __init__(self, snapshot: Snapshot, now_ms: int, rules: KeyRules) -> None:
        super().__init__(snapshot, now_ms, rules)
        self._admins = Administrators(snapshot, self.decision, self._account, now_ms)

    def handle(self, message: Message) -> Answer:
        match message:
            case Mint():
                return self._mint(message)
            case StartClaim():
                return self._start_claim(message)
            case CompleteClaim():
                return self._complete_claim(message)
            case Issue():
                return self._issue(message)
            case Revoke():
                return self._revoke(message)
            case SetTier():
                return self._set_tier(message)
            case GrantAdmin():
                return self._admins.grant(message)
            case RevokeAdmin():
                return self._admins.revoke(message)
            case BootstrapAdmins():
                return self._admins.bootstrap(message)

    def _mint(self, mint: Mint) -> Answer:
        key = mint.key
        self._keep_tenant(Tenant(key.tenant_id, Tier.ANONYMOUS))
        self._keep_key(key)
        self._keep_claim(Claim(mint.claim_hash, key.id, key.created_ms))
        return Kept(key)

    def _start_claim(self, start: StartClaim) -> Answer:
        claim = self._claim(start.token_hash)
        if claim is None:
            return _unknown_token()
        if claim.completed_ms is not None:
            return Refused(Code.ALREADY_UPGRADED, "This key has already been claimed.")
        if self._is_revoked(claim.key_id):
            return _unknown_token()
        codes = self._rules.codes
        counted = send(claim, self._now_ms, "for this token", pause_ms=codes.pause_ms, per_day=codes.per_day)
        if isinstance(counted, Refused):
            return counted
        sent = self._letters.post(start.draft, self._now_ms, self._rules.letters, "to this email")
        if isinstance(sent, Refused):
            return sent
        self._keep_claim(replace(renew(counted, sent.proof, self._now_ms, codes), email=start.email))
        self.decision.outbox.append(sent.message)
        return CodeSent()

    def _complete_claim(self, complete: CompleteClaim) -> Answer:
        claim = self._claim(complete.token_hash)
        if claim is None or claim.email is None or claim.proof is None:
            return _unknown_token()
        if claim.email != complete.email:
            if claim.completed_ms is not None:
                return Refused(Code.ALREADY_UPGRADED, "This key has been claimed with another email.")
            return _unknown_token()
        guessed, right = guess(claim, complete.proof, self._rules.codes, valid=self._code_is_valid(claim))
        if guessed is not claim:
            self._keep_claim(guessed)
        if not right:
            return wrong_code()
        claim = guessed
        key = self._key(claim.key_id)
        if key is None or key.revoked_ms is not None:
            return _unknown_token()
        if claim.completed_ms is not None:
            self._keep_claim(replace(claim, attempts=0))
            return Claimed(key, self._live_tenant(key.tenant_id), complete.email)
        return self._claim_key(claim, key, complete)

    def _code_is_valid(self, claim: Claim) -> bool:
        """Whether the code still counts. After success the same code gives the same answer for `repeat_ms`, for lost
        responses."""
        if claim.completed_ms is not None:
            return self._now_ms <= claim.completed_ms + self._rules.repeat_ms
        return self._now_ms < claim.code_expires_ms

    def _claim_key(self, claim: Claim, key: Key, complete: CompleteClaim) -> Answer:
        account = self._account(complete.email)
        source = self._live_tenant(key.tenant_id)
        if account is None:
            target = replace(source, tier=Tier.CLAIMED)
            self._keep_account(Account(complete.email, target.id, self._now_ms))
        else:
            if self._live_keys(account.tenant_id, scoped=False) >= self._rules.full_keys_per_account:
                return self._key_limit(self._rules.full_keys_per_account, "full")
            target = merged(self._live_tenant(account.tenant_id), source, self._now_ms)
            self._keep_tenant(replace(source, merged_into=target.id))
        self._keep_tenant(target)
        key = replace(key, tenant_id=target.id, expires_ms=None)
        self._keep_key(key)
        self._keep_claim(replace(claim, completed_ms=self._now_ms, attempts=0))
        self._letters.recognise(complete.network_id, self._now_ms, self._rules.letters)
        self._announce(key, target)
        self.decision.audits.append(
            AuditRecord(
                id=complete.audit_id,
                created_ms=self._now_ms,
                actor_type="key",
                actor_id=key.id,
                actor_email=complete.email,
                action="key.claimed",
                target_type="key",
                target_id=key.id,
                request_id=complete.request_id,
                changes=json.dumps({"tenantId": [source.id, target.id]}),
            )
        )
        return Claimed(key, target, complete.email)

    def _issue(self, issue: Issue) -> Answer:
        account = self._account(issue.email)
        refused = self._refused_grant(issue, account)
        if refused is not None:
            return refused
        if account is None:
            account = Account(issue.email, issue.key.tenant_id, self._now_ms)
            self._keep_account(account)
            self._keep_tenant(Tenant(account.tenant_id, Tier.CLAIMED))
        if self._key(issue.key.id) is not None:
            return Refused(
                Code.IDEMPOTENCY_CONFLICT,
                "A key was already created with this Idempotency-Key. Its text is shown only once; create another key if "
                "you did not save it.",
            )
        scoped = issue.key.scopes is not None
        most = self._rules.scoped_keys_per_account if scoped else self._rules.full_keys_per_account
        if self._live_keys(account.tenant_id, scoped=scoped) >= most:
            return self._key_limit(most, "scoped" if scoped else "full")
        key = replace(issue.key, tenant_id=account.tenant_id)
        self._keep_key(key)
        self.decision.audits.append(issue.audit)
        return Kept(key)

    def _refused_grant(self, issue: Issue, account: Account | None) -> Refused | None:
        giver = self._key(issue.granted_by.key_id) if isinstance(issue.granted_by, ByKey) else None
        admin = issue.email in self._admins
        return refused_grant(issue, account, giver, admin=admin, now_ms=self._now_ms)

    def _revoke(self, revoke: Revoke) -> Answer:
        key = self._key(revoke.key_id)
        if key is None or not may_revoke(revoke, key):
            return Refused(Code.NOT_FOUND, "There is no such key.")
        if key.revoked_ms is None:
            key = replace(key, revoked_ms=self._now_ms)
            self._keep_key(key)
            self.decision.touched_keys.append(key.hash)
            self.decision.audits.append(revoke.audit)
        return Kept(key, changed=(key.hash,))

    def _set_tier(self, order: SetTier) -> Answer:
        assert order.tier is not Tier.ANONYMOUS, "an account is claimed or upgraded"
        account = self._account(order.email)
        if account is None:
            return Refused(Code.NOT_FOUND, f"There is no account with the email {order.email}.")
        tenant = self._live_tenant(account.tenant_id)
        if tenant.tier is not order.tier:
            tenant = replace(tenant, tier=order.tier)
            self._keep_tenant(tenant)
            self.decision.touched_tenants.append(tenant.id)
            self.decision.audits.append(replace(order.audit, target_id=tenant.id))
        return TierSet(tenant)

    def _key_limit(self, most: int, what: str) -> Refused:
        return Refused(Code.KEY_LIMIT, f"This account has {most} live {what} keys, the maximum. Revoke one first.")

    def _announce(self, key: Key, tenant: Tenant) -> None:
        self.decision.touched_keys.append(key.hash)
        self.decision.touched_tenants.append(tenant.id)


def _unknown_token() -> Refused:
    return Refused(Code.INVALID_CLAIM, "The claim token is unknown, or the code was sent to another email.")
