"""Rows of keys, claims and accounts in memory, with decisions applied to them: a store without I/O."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from actors.clock import day_of, month_of
from actors.keys.authorizations import Authorization
from actors.keys.messages import (
    Answer,
    BootstrapAdmins,
    ByAccount,
    ByKey,
    Claim,
    Claimed,
    CompleteClaim,
    GrantAdmin,
    Issue,
    Key,
    Message,
    Mint,
    Revoke,
    RevokeAdmin,
    SetTier,
    StartClaim,
)
from actors.keys.state import Decision, KeyRules, Snapshot, decide, rows_to_lock
from actors.keys.validity import is_live
from actors.shared.code_mails import CodeMailCount, Draft
from actors.shared.credentials import Kind
from actors.values import Account, AuditRecord, OutboxMessage, Scope, Tenant, Tier
from tests.doubles.conditions import count_in_grace, count_live
from tests.state.manners import well_said

NOON = 20_000 * 86_400_000 + 12 * 3_600_000
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
ANN, BOB = "ann@example.org", "bob@example.org"
SESSION = "ses_1"
"""The session of a person who grants, which has not ended."""
RIGHT, LONG, WRONG = b"right", b"long", b"wrong"


@dataclass
class Registry:
    """All rows. `act` decides on exactly the rows that a batch locks, and applies the decision."""

    rules: KeyRules = field(default_factory=KeyRules)
    now_ms: int = NOON
    keys: dict[str, Key] = field(default_factory=dict)
    claims: dict[bytes, Claim] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    administrators: dict[str, int] = field(default_factory=dict)
    letters: dict[bytes, CodeMailCount] = field(default_factory=dict)
    authorizations: dict[str, Authorization] = field(default_factory=dict)
    guarded: set[str] = field(default_factory=set)
    """The emails of accounts with a passkey."""
    outbox: list[OutboxMessage] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    last: Decision = field(default_factory=Decision)

    def act(self, *messages: Message) -> list[Answer]:
        """Decide one batch, apply it, and return its answers."""
        self.last = decision = decide(self.snapshot(messages), messages, self.now_ms, self.rules)
        self.keys |= decision.changed.keys
        self.claims |= decision.changed.claims
        self.letters |= decision.changed.letters
        self.authorizations |= decision.changed.authorizations
        self.accounts |= decision.changed.accounts | decision.suspensions
        self.tenants |= decision.changed.tenants
        for email in decision.dismissed:
            del self.administrators[email]
        assert not self.administrators.keys() & decision.changed.administrators.keys(), "a row that is there is added"
        self.administrators |= decision.changed.administrators
        self.outbox += decision.outbox
        self.audits += decision.audits
        well_said(decision.answers)
        return decision.answers

    def one(self, message: Message) -> Answer:
        [answer] = self.act(message)
        return answer

    def snapshot(self, messages: Sequence[Message]) -> Snapshot:
        """The rows of the store's contract: claims lead to keys, keys and accounts to tenants."""
        rows = rows_to_lock(messages)
        authorized = {
            each.id: each
            for each in self.authorizations.values()
            if {each.code_hash, each.refresh_hash, each.key_id, each.id}
            & {*rows.code_hashes, *rows.refresh_hashes, *rows.authorized_keys, *rows.authorization_ids}
        }
        rows = rows.following(authorized.values())
        claims = {each: self.claims[each] for each in rows.token_hashes if each in self.claims}
        accounts = {each: self.accounts[each] for each in rows.emails if each in self.accounts}
        hashes = {key.hash: key.id for key in self.keys.values() if key.hash in rows.hashes}
        found = {self.keys[each].tenant_id for each in hashes.values()}
        families_of = [*rows.families, *hashes.values()]
        key_ids = {*rows.key_ids, *families_of, *(claim.key_id for claim in claims.values())}
        keys = {each: self.keys[each] for each in key_ids if each in self.keys}
        whole = {accounts[each].tenant_id for each in rows.owners if each in accounts}
        families = {keys[each].tenant_id for each in families_of if each in keys}
        for key in self.keys.values():
            if is_live(key, self.now_ms) and key.tenant_id in families | whole:
                keys[key.id] = key
        owners = {*(a.tenant_id for a in accounts.values()), *(key.tenant_id for key in keys.values())}
        tenants = {each: self.tenants[each] for each in owners}
        own = [key for key in self.keys.values() if key.tenant_id in owners]
        live, in_grace = dict(count_live(own, self.now_ms)), dict(count_in_grace(own, self.now_ms))
        members = self.administrators
        admins = {each: members[each] for each in rows.admin_emails if each in members}
        count = len(members) if rows.membership else 0
        letters = {each: self.letters[each] for each in rows.code_mail_ids if each in self.letters}
        sessions = frozenset(rows.session_ids) & {SESSION}
        waiting = (row for row in self.authorizations.values() if row.key_id is None and row.expires_ms > self.now_ms)
        opened = Counter(row.email for row in waiting if row.email in rows.code_emails)
        made = Counter(key.tenant_id for key in own if day_of(key.created_ms) >= day_of(self.now_ms))
        return Snapshot(
            keys,
            claims,
            accounts,
            tenants,
            live,
            admins,
            count,
            letters,
            sessions,
            keys_in_grace=in_grace,
            made_today=made,
            hashes=hashes,
            owners={each.tenant_id: each.email for each in self.accounts.values() if each.tenant_id in found},
            guarded=frozenset(rows.claimants) & self.guarded,
            authorizations=authorized,
            open_codes=opened,
        )

    def pass_ms(self, span_ms: int) -> None:
        self.now_ms += span_ms

    # Messages. Key k1 has the token `token("1")` and the tenant t1.

    def mint(self, name: str) -> Mint:
        return Mint(self.key(name, Kind.ANONYMOUS, expires_ms=self.now_ms + self.rules.anonymous_life_ms), token(name))

    def start(self, name: str, email: str = ANN, proof: bytes = RIGHT, network: str = "home") -> StartClaim:
        message = OutboxMessage(f"let_{name}", email, "claim_code", b"nonce", self.now_ms, self.now_ms + 10 * MINUTE)
        return StartClaim(token(name), email, Draft(message, proof, LONG, *count_ids(email, network)))

    def complete(self, name: str, email: str = ANN, proof: bytes = RIGHT, network: str = "home") -> CompleteClaim:
        return CompleteClaim(token(name), email, proof, count_ids(email, network)[0], f"aud_{name}", "req-1")

    def issue(
        self, name: str, email: str = ANN, scopes: tuple[Scope, ...] | None = None, by: str | None = None
    ) -> Issue:
        """Granted by an operator, by the key `by`, or by "account"."""
        kind = Kind.USER if scopes is None else Kind.SCOPED
        granted_by = None if by is None else ByAccount(SESSION) if by == "account" else ByKey(f"k{by}")
        key = replace(self.key(name, kind), scopes=scopes)
        return Issue(key, email, self.audit("key.issued", f"k{name}"), granted_by)

    def revoke(self, name: str, owner: str | None = None, *, full: bool = False) -> Revoke:
        return Revoke(f"k{name}", self.audit("key.revoked", f"k{name}"), owner, full)

    def grant_admin(self, email: str = ANN) -> GrantAdmin:
        return GrantAdmin(email, self.audit("admin.granted", email))

    def revoke_admin(self, email: str = ANN, granted_ms: int | None = None) -> RevokeAdmin:
        return RevokeAdmin(email, self.audit("admin.revoked", email), granted_ms)

    def bootstrap(self, *emails: str) -> BootstrapAdmins:
        return BootstrapAdmins(emails, tuple(self.audit("admin.granted", email) for email in emails))

    def set_tier(self, tier: Tier, email: str = ANN) -> SetTier:
        return SetTier(email, tier, self.audit(f"tier.{tier}", ""))

    def key(self, name: str, kind: Kind, expires_ms: int | None = None) -> Key:
        return Key(f"k{name}", name.encode(), f"cs_{kind}_{name}", kind, f"t{name}", self.now_ms, expires_ms=expires_ms)

    def audit(self, action: str, target_id: str) -> AuditRecord:
        return AuditRecord("aud_1", self.now_ms, "cli", "root", action, "key", target_id)

    # Common starting points.

    def claim(self, name: str, email: str = ANN) -> Claimed:
        """Mint, start and complete, one after the other."""
        self.act(self.mint(name))
        self.act(self.start(name, email))
        answer = self.one(self.complete(name, email))
        assert isinstance(answer, Claimed), answer
        return answer

    def use(self, tenant_id: str, requests: int, usecase_reads: int = 0) -> None:
        """Count requests of now, as the accountant would."""
        tenant = self.tenants[tenant_id]
        self.tenants[tenant_id] = replace(
            tenant,
            lifetime_used=tenant.lifetime_used + requests,
            usecase_reads=tenant.usecase_reads + usecase_reads,
            month=month_of(self.now_ms),
            month_used=requests,
            day=day_of(self.now_ms),
            day_used=requests,
        )


def count_ids(email: str, network: str = "home") -> tuple[bytes, bytes, bytes]:
    """The rows that count letters to an email: those of one network, those of its block, and all."""
    return f"{email} {network}".encode(), f"{email} block of {network}".encode(), email.encode()


def token(name: str) -> bytes:
    return f"token {name}".encode()
