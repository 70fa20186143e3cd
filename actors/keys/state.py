"""The rules of minting, claiming, issuing, renewing and revoking keys. Pure; source: ADR 0006 and 0056.

Takes a snapshot of locked rows and messages, returns changes and answers. Later messages of a batch see the changes of
earlier ones.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from actors.keys.authorizations import Authorize, EndAuthorization, ExchangeCode, RefreshText
from actors.keys.authorizing import KeyAuthorizing
from actors.keys.exposures import EndExposed
from actors.keys.locking import LockSet, rows_to_lock
from actors.keys.messages import (
    Answer,
    BootstrapAdmins,
    Claim,
    Claimed,
    CompleteClaim,
    EditKey,
    EndKeys,
    GrantAdmin,
    Issue,
    Key,
    KeySaved,
    Message,
    Mint,
    Restore,
    Revoke,
    RevokeAdmin,
    RotateKey,
    SendEndNotices,
    SetTier,
    StartClaim,
    Suspend,
    TierSet,
)
from actors.keys.suspension import restore, suspend, suspended
from actors.keys.unit_of_work import Decision, KeyRules, Snapshot, merged
from actors.shared.codes import guess, renew, send, wrong_code
from actors.shared.notices import Ending, with_facts
from actors.values import AcceptedTerms, Account, Agent, AuditRecord, Code, Done, Refused, Steps, Tenant, Tier, finished

__all__ = ["Decision", "KeyRules", "LockSet", "Snapshot", "decide", "decide_in_steps", "merged", "rows_to_lock"]


def decide(snapshot: Snapshot, messages: Sequence[Message], now_ms: int, rules: KeyRules) -> Decision:
    """Answer `messages` in order against `snapshot`, whose rows are locked until the decision is committed."""
    return finished(decide_in_steps(snapshot, messages, now_ms, rules))


def decide_in_steps(snapshot: Snapshot, messages: Sequence[Message], now_ms: int, rules: KeyRules) -> Steps[Decision]:
    """The same in steps, however many keys the messages end, change or only lock."""
    batch = _Batch(snapshot, now_ms, rules)
    yield from batch.begin()
    for message in messages:
        batch.decision.answers.append((yield from batch.handle(message)))
    return batch.decision


class _Batch(KeyAuthorizing):
    """Answers the messages of one batch."""

    def handle(self, message: Message) -> Steps[Answer]:
        yield from self._step()
        match message:
            case Mint():
                return self._mint(message)
            case StartClaim():
                return self._start_claim(message)
            case CompleteClaim():
                return self._complete_claim(message)
            case Issue():
                return self._issue(message)
            case EditKey():
                return (yield from self._edit(message))
            case RotateKey():
                return (yield from self._rotate(message))
            case SendEndNotices():
                return self._send_end_notices(message)
            case Revoke():
                return (yield from self._revoke(message))
            case EndExposed():
                return (yield from self._end_exposed(message))
            case EndKeys():
                return (yield from self._end_keys(message))
            case SetTier():
                return self._set_tier(message)
            case Suspend(email=email):
                account, admin = self._account(email), email in self._admins
                return suspend(self.decision, account, message, self._now_ms, admin=admin)
            case Restore(email=email):
                return restore(self.decision, self._account(email), message)
            case Authorize():
                return self._authorize(message)
            case ExchangeCode():
                return (yield from self._exchange(message))
            case RefreshText():
                return (yield from self._refresh(message))
            case EndAuthorization():
                return (yield from self._end_authorization(message))
            case GrantAdmin():
                return self._admins.grant(message)
            case RevokeAdmin():
                return self._admins.revoke(message)
            case BootstrapAdmins():
                return self._admins.bootstrap(message)

    def _mint(self, mint: Mint) -> Answer:
        key = mint.key
        self._save_tenant(Tenant(key.tenant_id, Tier.ANONYMOUS))
        self._save_key(key)
        self._save_claim(Claim(mint.claim_hash, key.id, key.created_ms))
        return KeySaved(key)

    def _start_claim(self, start: StartClaim) -> Answer:
        claim = self._claim(start.token_hash)
        if claim is None:
            return _unknown_token()
        if claim.completed_ms is not None:
            return Refused(Code.ALREADY_UPGRADED, "This key has already been claimed.")
        key = self._key(claim.key_id)
        if key is None or key.revoked_ms is not None:
            return _unknown_token()
        codes = self._rules.codes
        counted = send(claim, self._now_ms, "for this token", pause_ms=codes.pause_ms, per_day=codes.per_day)
        if isinstance(counted, Refused):
            return counted
        sent = self._code_mails.count(start.draft, self._now_ms, self._rules.letters, "to this email")
        if isinstance(sent, Refused):
            return sent
        self._save_claim(replace(renew(counted, sent.proof, self._now_ms, codes), email=start.email))
        # The prefix alone identifies the key to the reader: the sender of the link may have named another one.
        self.decision.outbox.append(replace(sent.message, facts=json.dumps({"label": key.prefix})))
        return Done()

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
            self._save_claim(guessed)
        if not right:
            return wrong_code()
        claim = guessed
        key = self._key(claim.key_id)
        if key is None or key.revoked_ms is not None:
            return _unknown_token()
        if claim.completed_ms is None and complete.email in self._snapshot.guarded:
            # Without a passkey, whoever reads the owner's mail must not get what acts for the account.
            words = (
                "This account has a passkey, so it takes no keys by email. Sign in, and create a key on the dashboard."
            )
            return Refused(Code.FORBIDDEN, words, hint="/dashboard")
        account = self._account(complete.email)
        if account is not None and account.suspended_ms is not None:
            return suspended()
        if claim.completed_ms is not None:
            self._save_claim(replace(claim, attempts=0))
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
            self._save_account(Account(complete.email, target.id, self._now_ms))
        else:
            if self._live_keys(account.tenant_id, scoped=False) >= self._rules.full_keys_per_account:
                return self._key_limit(self._rules.full_keys_per_account, "full")
            if refused := self._too_many_today(account.tenant_id):
                return refused
            target = merged(self._live_tenant(account.tenant_id), source, self._now_ms)
            self._save_tenant(replace(source, merged_into=target.id))
        self._save_tenant(target)
        # A claimed key never carries administration: the claim token may come from somebody else.
        key = replace(key, tenant_id=target.id, expires_ms=None, admin=False)
        self._save_key(key)
        self._claimants[target.id] = complete.email
        self._save_claim(replace(claim, completed_ms=self._now_ms, attempts=0))
        self._code_mails.recognise(complete.network_id, self._now_ms, self._rules.letters)
        self._announce(key, target)
        if self._rules.terms_version:
            self.decision.terms.append(AcceptedTerms(target.id, self._rules.terms_version, self._now_ms))
        agent, facts = Agent("key", key.id, complete.email), json.dumps({"tenantId": [source.id, target.id]})
        record_id, request_id = complete.audit_id, complete.request_id
        record = AuditRecord.by(agent, record_id, self._now_ms, "key.claimed", ("key", key.id), request_id, facts)
        self.decision.audits.append(record)
        how = "Somebody claimed it with the code that was mailed to you."
        self.decision.outbox += with_facts(complete.notice, Ending.KEY, key.id, key.prefix, how=how)
        return Claimed(key, target, complete.email)

    def _set_tier(self, order: SetTier) -> Answer:
        assert order.tier is not Tier.ANONYMOUS, "an account is claimed or upgraded"
        account = self._account(order.email)
        if account is None:
            return Refused(Code.NOT_FOUND, f"There is no account with the email {order.email}.")
        tenant = self._live_tenant(account.tenant_id)
        if tenant.tier is not order.tier:
            tenant = replace(tenant, tier=order.tier)
            self._save_tenant(tenant)
            self.decision.touched_tenants.append(tenant.id)
            self.decision.audits.append(replace(order.audit, target_id=tenant.id))
        return TierSet(tenant)

    def _announce(self, key: Key, tenant: Tenant) -> None:
        self.decision.touched_keys.append(key.hash)
        self.decision.touched_tenants.append(tenant.id)


def _unknown_token() -> Refused:
    return Refused(Code.INVALID_CLAIM, "The claim token is unknown, or the code was sent to another email.")
