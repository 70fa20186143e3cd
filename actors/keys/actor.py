"""The key actor: mints, claims, issues and revokes keys, one transaction per batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from actors.clock import Clock, Entropy
from actors.kernel.actor import ActorLimits
from actors.kernel.mailbox import request_id
from actors.keys.authorizer import ClientAuthorizer
from actors.keys.exposures import EndExposed, ExposedEnded, FoundKey
from actors.keys.messages import (
    Answer,
    BootstrapAdmins,
    Claimed,
    CompleteClaim,
    EditKey,
    EndKeys,
    EndNotice,
    EndNoticesSent,
    GrantAdmin,
    Granter,
    Issue,
    Key,
    KeySaved,
    KeysEnded,
    Membership,
    Message,
    Mint,
    Resolved,
    Restore,
    Revoke,
    RevokeAdmin,
    Rotated,
    RotateKey,
    SendEndNotices,
    SetTier,
    StartClaim,
    Suspend,
    SuspensionSet,
    TierSet,
)
from actors.keys.state import Decision, KeyRules, Snapshot, decide_in_steps, rows_to_lock
from actors.keys.store import KeyStore
from actors.keys.validity import ADMIN_SCOPES
from actors.shared.code_mails import Draft, Origin, count_id
from actors.shared.credentials import (
    CLAIM_TOKEN,
    ENTROPY_BYTES,
    Kind,
    code_proof,
    digest,
    fingerprint,
    is_key,
    new_id,
    new_key,
    prefix_of,
)
from actors.shared.notices import ENDS, NoticeLimiter
from actors.times import SECOND_MS
from actors.values import Account, Agent, BatchId, Done, Refused, Scope, Steps, Tier

TEMPLATE = "claim_code"


@dataclass(frozen=True, slots=True)
class Minted:
    """A fresh anonymous key. `api_key` and `claim_token` are available in clear only here."""

    api_key: str = field(repr=False)
    claim_token: str = field(repr=False)
    key: Key


@dataclass(frozen=True, slots=True)
class Issued:
    """A fresh full or scoped key. `api_key` is available in clear only here."""

    api_key: str = field(repr=False)
    key: Key


class KeyActor(ClientAuthorizer):
    """Owns keys, claims and accounts."""

    name = "keys"

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
        super().__init__(store, clock, entropy, secret, rules, node=node, limits=limits)
        self._notices = NoticeLimiter(rules.notices_per_hour)
        self._ends = NoticeLimiter(rules.full_keys_per_account + rules.scoped_keys_per_account, ENDS)

    # Intents.

    async def mint(self) -> Minted:
        """Create an anonymous key with its own tenant and a claim token."""
        text = new_key(Kind.ANONYMOUS, self._entropy.token(ENTROPY_BYTES))
        token = CLAIM_TOKEN.new(self._entropy.token(ENTROPY_BYTES))
        key = self._key(text, Kind.ANONYMOUS, expires_ms=self._clock.now_ms() + self.rules.anonymous_life_ms)
        answer = await self.ask(Mint(key, digest(token)))
        assert isinstance(answer, KeySaved)
        return Minted(text, token, answer.key)

    async def start_claim(self, claim_token: str, email: str, origin: Origin) -> Done | Refused:
        """Send a code to `email` (normalised) for `claim_token`. The mail is in the outbox when this returns."""
        token_hash = digest(claim_token)
        message = self._code_mail(TEMPLATE, email, self.rules.codes.life_ms)
        draft = Draft.of(self._secret, token_hash, message, origin)
        return await self.ask_for(StartClaim(token_hash, email, draft), Done, Refused)

    async def complete_claim(self, claim_token: str, email: str, code: str, origin: Origin) -> Claimed | Refused:
        """Claim the key of `claim_token` for the account of `email`, using the emailed code."""
        token_hash = digest(claim_token)
        proof = code_proof(self._secret, token_hash, email, code)
        network_id = count_id(self._secret, TEMPLATE, email, origin.network)
        mail = self._notice("new_key", email)
        message = CompleteClaim(token_hash, email, proof, network_id, self._id("aud"), request_id.get(), mail)
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
        key = self._key(text, kind, scopes=scopes, name=name, expires_ms=expires_ms)
        key = replace(key, admin=admin if scopes is None else not ADMIN_SCOPES.isdisjoint(scopes))
        if idempotency_key is not None:
            key = replace(key, id=new_id("key", fingerprint(email, kind, idempotency_key)))
        scope_names = None if scopes is None else list(scopes)
        facts = {"scopes": scope_names, "name": name, "expiresAt": expires_ms, "admin": key.admin or None}
        changes = {field: value for field, value in facts.items() if value is not None}
        audit = self._audit(agent, "key.issued", "key", key.id, changes)
        answer = await self.ask(Issue(key, email, audit, granted_by, self._notice("new_key", email)))
        assert isinstance(answer, KeySaved | Refused)
        return answer if isinstance(answer, Refused) else Issued(text, answer.key)

    async def edit(
        self,
        key_id: str,
        email: str,
        agent: Agent,
        by: Granter,
        *,
        full: bool = False,
        name: str | None = None,
        sets_end: bool = False,
        expires_ms: int | None = None,
    ) -> KeySaved | Refused:
        """Rename a live key of the account of `email`, or move its end with `sets_end`: to `expires_ms`, or to never. A key
        ends no later than the one that granted it, and the keys that it granted no later than it. A full key only with
        `full`."""
        audit = self._audit(agent, "key.changed", "key", key_id)
        message = EditKey(key_id, email, audit, by, full, name, sets_end, expires_ms)
        return await self.ask_for(message, KeySaved, Refused)

    async def rotate(
        self,
        key_id: str,
        email: str,
        agent: Agent,
        by: Granter,
        *,
        grace_seconds: int,
        full: bool = False,
        idempotency_key: str | None = None,
    ) -> tuple[str, Rotated] | Refused:
        """Replace a live key of the account of `email` by one with the same rights, name and end, and end it after
        `grace_seconds`. Returns the text of the new key, which is available in clear only here. A full key only with
        `full`. Each `idempotency_key` rotates a key once."""
        entropy = self._entropy.token(ENTROPY_BYTES)
        fresh_id = self._id("key")
        if idempotency_key is not None:
            fresh_id = new_id("key", fingerprint(email, "rotated", key_id, idempotency_key))
        texts = {kind: new_key(kind, entropy) for kind in (Kind.USER, Kind.SCOPED)}
        fresh = {kind: replace(self._key(text, kind), id=fresh_id) for kind, text in texts.items()}
        audit = self._audit(agent, "key.rotated", "key", key_id)
        issued = self._audit(agent, "key.issued", "key", fresh_id)
        mail = self._notice("new_key", email)
        message = RotateKey(key_id, email, fresh, grace_seconds * SECOND_MS, audit, issued, by, full, mail)
        answer: Rotated | Refused = await self.ask_for(message, Rotated, Refused)
        return answer if isinstance(answer, Refused) else (texts[answer.key.kind], answer)

    async def send_end_notices(self, limit: int) -> int:
        """Mail the owners of at most `limit` keys that end within `END_NOTICE_MS`, once for each end. Returns how many keys
        were due."""
        due = await self._store.ending_keys(self._clock.now_ms(), limit)
        if due:
            notices = [EndNotice(key_id, email, self._notice("key_ends", email)) for key_id, email in due]
            await self.ask_for(SendEndNotices(tuple(notices)), EndNoticesSent)
        return len(due)

    async def revoke(
        self, key_id: str, agent: Agent, *, owner: str | None = None, full: bool = False
    ) -> KeySaved | Refused:
        """Revoke a key for good, and the keys that it granted. Revoking it again changes nothing. With `owner`, only a
        key of that tenant, and a full one only with `full`."""
        return await self.ask_for(
            Revoke(key_id, self._audit(agent, "key.revoked", "key", key_id), owner, full), KeySaved, Refused
        )

    async def end_exposed(self, found: Mapping[str, str], agent: Agent, *, mail_places: bool) -> ExposedEnded:
        """Revoke the keys among texts that were found in public, and mail their owners. `found` maps each text to the address
        where it was found, which goes into the audit, and with `mail_places` into the mail. Repeating it changes nothing.

        A text with the wrong format or checksum costs no lookup.
        """
        keys = tuple(
            FoundKey(
                digest(text),
                self._audit(agent, "key.exposed", "key", "", {"url": url} if url else None),
                self._notice("key_exposed", ""),
                url if mail_places else "",
            )
            for text, url in found.items()
            if is_key(text)
        )
        return await self.ask_for(EndExposed(keys), ExposedEnded) if keys else ExposedEnded(frozenset(), ())

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
        mail = self._notice("account_suspended", account.email)
        message = Suspend(account.email, account.tenant_id, reason, audit, mail)
        return await self.ask_for(message, SuspensionSet, Refused)

    async def restore(self, account: Account, agent: Agent) -> SuspensionSet | Refused:
        """End the suspension of an account. The owner gets a mail."""
        audit = self._audit(agent, "account.restored", "account", account.tenant_id)
        mail = self._notice("account_restored", account.email)
        return await self.ask_for(Restore(account.email, account.tenant_id, audit, mail), SuspensionSet, Refused)

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
        """The keys of an account's tenant, full and scoped, newest first. Those that were revoked, or rotated and have
        ended, are left out. Raises `StorageUnavailable`."""
        return await self._store.live_keys(owner, self._clock.now_ms())

    async def scoped_keys(self, owner: str) -> Sequence[Key]:
        """The scoped keys of `live_keys`. Raises `StorageUnavailable`."""
        return [key for key in await self.live_keys(owner) if key.scopes is not None]

    async def find(self, text: str) -> Sequence[Resolved]:
        """The key with this text, or the keys with this displayed prefix, at most 10. Raises `StorageUnavailable`."""
        if is_key(text):
            return list((await self._store.resolve([digest(text)])).values())
        return await self._store.resolve_prefix(text)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> Steps[Decision]:
            decision = yield from decide_in_steps(snapshot, messages, now_ms, self.rules)
            decision.outbox = self._notices.within(batch_id, decision.outbox, now_ms)
            decision.outbox = self._ends.within(batch_id, decision.outbox, now_ms)
            return decision

        return (await self._store.transact(batch_id, rows_to_lock(messages), on, now_ms)).answers

    # Making records.

    def _key(
        self,
        text: str,
        kind: Kind,
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
            created_ms=self._clock.now_ms(),
            expires_ms=expires_ms,
            scopes=scopes,
            name=name,
        )
