"""The key keeper: mints, claims, issues and revokes keys, one transaction per batch."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from actors.actor import Actor, ActorLimits
from actors.clock import Clock, Entropy
from actors.credentials import (
    ENTROPY_BYTES,
    Kind,
    code_proof,
    digest,
    is_key,
    new_claim_token,
    new_key,
    prefix_of,
)
from actors.ids import ID_BYTES, fingerprint, new_id
from actors.keys.messages import (
    Answer,
    BootstrapAdmins,
    Claimed,
    CodeSent,
    CompleteClaim,
    EndKeys,
    GrantAdmin,
    Granter,
    Issue,
    Kept,
    Key,
    KeysEnded,
    Membership,
    Message,
    Mint,
    Resolved,
    Restore,
    Revoke,
    RevokeAdmin,
    SetTier,
    StartClaim,
    Suspend,
    SuspensionSet,
    TierSet,
)
from actors.keys.standing import ADMIN_SCOPES
from actors.keys.state import Decision, KeyRules, Snapshot, decide, rows_to_lock
from actors.keys.store import KeyStore
from actors.letters import Draft, Origin, count_id
from actors.mailbox import request_id
from actors.notices import NoticeLimiter, notice
from actors.values import Account, Agent, AuditRecord, BatchId, OutboxMessage, Refused, Scope, Tier

TEMPLATE = "claim_code"


@dataclass(frozen=True, slots=True)
class Minted:
    """A fresh anonymous key. `api_key` and `claim_token` are available in clear only here."""

    api_key: str
    claim_token: str
    key: Key

    def __repr__(self) -> str:
        return f"<Minted {self.key.prefix}>"


@dataclass(frozen=True, slots=True)
class Issued:
    """A fresh full or scoped key. `api_key` is available in clear only here."""

    api_key: str
    key: Key

    def __repr__(self) -> str:
        return f"<Issued {self.key.prefix}>"


class KeyKeeper(Actor[Message, Answer]):
    """Owns keys, claims and accounts."""

    def __init__(
        self,
        store: KeyStore,
        clock: Clock,
        entropy: Entropy,
        secret: bytes,
        rules: KeyRules,
        *,
        node: str,
        limits: ActorLimits,
    ) -> None:
        super().__init__("keys", node, limits)
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self._secret = secret
        self.rules = rules
        self._notices = NoticeLimiter(rules.notices_per_hour)

    # Intents.

    async def mint(self) -> Minted:
        """Create an anonymous key with its own tenant and a claim token."""
        now_ms = self._clock.now_ms()
        text = new_key(Kind.ANONYMOUS, self._entropy.token(ENTROPY_BYTES))
        token = new_claim_token(self._entropy.token(ENTROPY_BYTES))
        key = self._key(text, Kind.ANONYMOUS, now_ms, expires_ms=now_ms + self.rules.anonymous_life_ms)
        answer = await self.ask(Mint(key, digest(token)))
        assert isinstance(answer, Kept)
        return Minted(text, token, answer.key)

    async def start_claim(self, claim_token: str, email: str, origin: Origin) -> CodeSent | Refused:
        """Send a code to `email` (normalised) for `claim_token`. The mail is in the outbox when this returns."""
        now_ms = self._clock.now_ms()
        token_hash = digest(claim_token)
        message = OutboxMessage(
            id=self._id("let"),
            recipient=email,
            template=TEMPLATE,
            nonce=self._entropy.token(16),
            created_ms=now_ms,
            expires_ms=now_ms + self.rules.codes.life_ms,
        )
        draft = Draft.of(self._secret, token_hash, message, origin)
        return await self.ask_for(StartClaim(token_hash, email, draft), CodeSent, Refused)

    async def complete_claim(self, claim_token: str, email: str, code: str, origin: Origin) -> Claimed | Refused:
        """Claim the key of `claim_token` for the account of `email`, using the emailed code."""
        token_hash = digest(claim_token)
        proof = code_proof(self._secret, token_hash, email, code)
        network_id = count_id(self._secret, TEMPLATE, email, origin.network)
        told = self._notice("new_key", email)
        message = CompleteClaim(token_hash, email, proof, network_id, self._id("aud"), request_id.get(), told)
        return await self.ask_for(message, Claimed, Refused)

    async def issue(
        self,
        email: str,
        agent: Agent,
        *,
        scopes: tuple[Scope, ...] | None = None,
        name: str | None = None,
        granted_by: Granter | None = None,
        idempotency_key: str | None = None,
        expires_ms: int | None = None,
        admin: bool = False,
    ) -> Issued | Refused:
        """Create a key for the account of `email`: full, or limited to `scopes`. `granted_by` can grant only scopes
        that it holds at commit time. Without it, the account is created if it does not exist.

        A full key carries administration only with `admin`, a scoped one with its scopes `admin:*`. A key ends at
        `expires_ms`, and no later than the key that granted it.

        Each `idempotency_key` creates one full and one scoped key of an account, because their ids derive from it.
        """
        kind = Kind.USER if scopes is None else Kind.SCOPED
        text = new_key(kind, self._entropy.token(ENTROPY_BYTES))
        key = self._key(text, kind, self._clock.now_ms(), scopes=scopes, name=name, expires_ms=expires_ms)
        key = replace(key, admin=admin if scopes is None else not ADMIN_SCOPES.isdisjoint(scopes))
        if idempotency_key is not None:
            key = replace(key, id=new_id("key", fingerprint(email, kind, idempotency_key)))
        scope_names = None if scopes is None else list(scopes)
        facts = {"scopes": scope_names, "name": name, "expiresAt": expires_ms, "admin": key.admin or None}
        changes = {field: value for field, value in facts.items() if value is not None}
        audit = self._audit(agent, "key.issued", "key", key.id, changes)
        answer = await self.ask(Issue(key, email, audit, granted_by, self._notice("new_key", email)))
        assert isinstance(answer, Kept | Refused)
        return answer if isinstance(answer, Refused) else Issued(text, answer.key)

    async def revoke(
        self, key_id: str, agent: Agent, *, owner: str | None = None, full: bool = False
    ) -> Kept | Refused:
        """Revoke a key for good, and the keys that it granted. Revoking it again changes nothing. With `owner`, only a
        key of that tenant, and a full one only with `full`."""
        return await self.ask_for(
            Revoke(key_id, self._audit(agent, "key.revoked", "key", key_id), owner, full), Kept, Refused
        )

    async def end_keys(self, email: str, agent: Agent) -> KeysEnded:
        """Revoke all keys of the account of `email`."""
        return await self.ask_for(EndKeys(email, self._audit(agent, "keys.ended", "account", email)), KeysEnded)

    async def set_tier(self, email: str, tier: Tier, agent: Agent) -> TierSet | Refused:
        """Set the tier of the account of `email`: claimed or upgraded."""
        assert tier is not Tier.ANONYMOUS, "an account is claimed or upgraded"
        return await self.ask_for(
            SetTier(email, tier, self._audit(agent, f"tier.{tier}", "tenant", "")), TierSet, Refused
        )

    async def suspend(self, account: Account, reason: str, agent: Agent) -> SuspensionSet | Refused:
        """Suspend an account: nothing of it is shown, and its keys and sessions are refused. The owner gets a mail."""
        audit = self._audit(agent, "account.suspended", "account", account.tenant_id)
        told = self._notice("account_suspended", account.email)
        message = Suspend(account.email, account.tenant_id, reason, audit, told)
        return await self.ask_for(message, SuspensionSet, Refused)

    async def restore(self, account: Account, agent: Agent) -> SuspensionSet | Refused:
        """End the suspension of an account. The owner gets a mail."""
        audit = self._audit(agent, "account.restored", "account", account.tenant_id)
        told = self._notice("account_restored", account.email)
        return await self.ask_for(Restore(account.email, account.tenant_id, audit, told), SuspensionSet, Refused)

    async def grant_admin(self, email: str, agent: Agent) -> Membership:
        """Make the account of `email` (normalised) an administrator, now or once it exists."""
        audit = self._audit(agent, "admin.granted", "account", email)
        return await self.ask_for(GrantAdmin(email, audit, self._notice("new_administrator", email)), Membership)

    async def revoke_admin(self, email: str, agent: Agent, *, granted_ms: int | None = None) -> Membership:
        """Remove `email` from the administrators. Changes nothing if it is not one, or not the one of `granted_ms`."""
        audit = self._audit(agent, "admin.revoked", "account", email)
        return await self.ask_for(RevokeAdmin(email, audit, granted_ms), Membership)

    async def bootstrap_admins(self, emails: Sequence[str], agent: Agent) -> Membership:
        """Make `emails` the administrators if there are none yet. Only the first node of a database does so."""
        several = tuple(dict.fromkeys(emails))
        audits = tuple(self._audit(agent, "admin.granted", "account", email) for email in several)
        notices = tuple(self._notice("new_administrator", email) for email in several)
        return await self.ask_for(BootstrapAdmins(several, audits, notices), Membership)

    async def live_keys(self, owner: str) -> Sequence[Key]:
        """The live keys of an account's tenant, full and scoped, newest first. Raises `StorageUnavailable`."""
        return await self._store.live_keys(owner)

    async def scoped_keys(self, owner: str) -> Sequence[Key]:
        """The live scoped keys of an account's tenant, newest first. Raises `StorageUnavailable`."""
        return [key for key in await self._store.live_keys(owner) if key.scopes is not None]

    async def find(self, text: str) -> Sequence[Resolved]:
        """The key with this text, or the keys with this displayed prefix, at most 10. Raises `StorageUnavailable`."""
        if is_key(text):
            return list((await self._store.resolve([digest(text)])).values())
        return await self._store.resolve_prefix(text)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Decision:
            decision = decide(snapshot, messages, now_ms, self.rules)
            decision.outbox = self._notices.within(batch_id, decision.outbox, now_ms)
            return decision

        return (await self._store.transact(batch_id, rows_to_lock(messages), on, now_ms)).answers

    # Making records.

    def _id(self, prefix: str) -> str:
        return new_id(prefix, self._entropy.token(ID_BYTES))

    def _key(
        self,
        text: str,
        kind: Kind,
        now_ms: int,
        *,
        expires_ms: int | None = None,
        scopes: tuple[Scope, ...] | None = None,
        name: str | None = None,
    ) -> Key:
        return Key(
            id=self._id("key"),
            hash=digest(text),
            prefix=prefix_of(text),
            kind=kind,
            tenant_id=self._id("ten"),
            created_ms=now_ms,
            expires_ms=expires_ms,
            scopes=scopes,
            name=name,
        )

    def _notice(self, template: str, email: str) -> OutboxMessage:
        return notice(self._id("let"), template, email, self._clock.now_ms())

    def _audit(
        self, agent: Agent, action: str, target_type: str, target_id: str, changes: Mapping[str, Any] | None = None
    ) -> AuditRecord:
        return AuditRecord(
            id=self._id("aud"),
            created_ms=self._clock.now_ms(),
            actor_type=agent.type,
            actor_id=agent.id,
            actor_email=agent.email,
            action=action,
            target_type=target_type,
            target_id=target_id,
            request_id=request_id.get(),
            changes=json.dumps(changes or {}),
        )
