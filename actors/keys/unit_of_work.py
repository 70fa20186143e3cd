"""The locked rows of a batch, overlaid with the changes of the batch. Pure."""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter

from actors.keys.authorizations import Authorization
from actors.keys.messages import Answer, Claim, Key
from actors.keys.validity import is_live
from actors.shared.code_mails import CodeMailCount, CodeMailCounter, CodeMailRules
from actors.shared.codes import CodeRules
from actors.shared.groups import Groups
from actors.shared.records import too_many_today
from actors.times import MINUTE_MS, day_of, month_of
from actors.values import AcceptedTerms, Account, AuditRecord, OutboxMessage, Refused, Steps, Tenant

STEP = 200
"""The keys that a decision handles before other tasks run. An account has up to 4,000 live ones with the highest limits."""

MAX_ANNOUNCED = 20
"""Of more keys that change at once, their account is announced: every node handles each announcement."""


@dataclass(frozen=True, slots=True)
class KeyRules:
    """Limits of keys and claims. Times are in milliseconds. `terms_version` is what a claim accepts; empty: none."""

    anonymous_life_ms: int = 72 * 60 * MINUTE_MS
    codes: CodeRules = field(default_factory=CodeRules)
    letters: CodeMailRules = field(default_factory=lambda: CodeMailRules(per_network=20))
    repeat_ms: int = 10 * MINUTE_MS
    full_keys_per_account: int = 10
    scoped_keys_per_account: int = 25
    keys_per_day: int = 200
    notices_per_hour: int = 20
    terms_version: str = ""
    code_life_ms: int = MINUTE_MS
    access_life_ms: int = 60 * MINUTE_MS
    refresh_repeat_ms: int = 2 * MINUTE_MS


@dataclass(slots=True)
class Snapshot:
    """The locked rows of a batch. The same class holds the changes of a decision.

    `live_keys` counts keys that are neither revoked, expired nor rotated, by (tenant id, scoped or not); approved devices
    without their key count as full ones. `keys_in_grace` counts rotated keys that still work. `administrators` maps the
    emails asked for to when they became one; `administrator_count` is read if the batch changes administrators.
    `live_sessions` are the named sessions that have not ended, and `guarded` the accounts with a passkey among those that
    claim. `made_today` counts the keys that tenants made since 00:00 UTC, whether they still work or not, and approved
    devices without their key. `hashes` maps those asked for to the ids of keys, and `owners` the tenants of these to the
    emails of their accounts. `open_codes` counts by email the codes that were neither exchanged nor have expired.
    """

    keys: dict[str, Key] = field(default_factory=dict)
    claims: dict[bytes, Claim] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    live_keys: dict[tuple[str, bool], int] = field(default_factory=dict)
    administrators: dict[str, int] = field(default_factory=dict)
    administrator_count: int = 0
    letters: dict[bytes, CodeMailCount] = field(default_factory=dict)
    live_sessions: frozenset[str] = frozenset()
    guarded: frozenset[str] = frozenset()
    keys_in_grace: dict[tuple[str, bool], int] = field(default_factory=dict)
    made_today: dict[str, int] = field(default_factory=dict)
    hashes: dict[bytes, str] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    authorizations: dict[str, Authorization] = field(default_factory=dict)
    open_codes: dict[str, int] = field(default_factory=dict)


class KeyTree:
    """Keys by what connects them, so that a rule walks only the keys that it changes."""

    def __init__(self) -> None:
        self._keys: dict[str, Key] = {}
        self._by_tenant = Groups[Key](attrgetter("tenant_id"))
        self._by_granter = Groups[Key](attrgetter("granter_id"))
        self._by_origin = Groups[Key](attrgetter("origin_id"))

    def save(self, key: Key) -> None:
        self._keys[key.id] = key
        for groups in (self._by_tenant, self._by_granter, self._by_origin):
            groups.save(key)

    def of(self, tenant_id: str) -> list[Key]:
        """The keys of a tenant."""
        return self._by_tenant.within(tenant_id)

    def granted_directly(self, key_id: str) -> list[Key]:
        """The keys that a key granted itself."""
        return self._by_granter.within(key_id)

    def granted(self, *key_ids: str) -> Iterator[Key]:
        """The keys that some keys granted, directly or through others."""
        waiting = deque([key for key_id in key_ids for key in self.granted_directly(key_id)])
        while waiting:
            key = waiting.popleft()
            yield key
            waiting += self.granted_directly(key.id)

    def has_granted(self, granter_id: str, key: Key) -> bool:
        """Whether a key granted another one, directly or through others."""
        granter: Key | None = key
        while granter is not None and granter.granter_id not in (None, granter_id):
            granter = self._keys.get(granter.granter_id or "")
        return granter is not None and granter.granter_id is not None

    def rotated_from(self, key: Key) -> list[Key]:
        """The keys that replaced a key in rotations that it requested itself, so its holder also has them. `generation`
        orders them, because clocks of nodes differ."""
        family = self._by_origin.within(key.origin_id or key.id)
        return [each for each in family if each.generation > key.generation]


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order.

    `suspensions` are accounts that are suspended or restored. `touched_keys` and `touched_tenants` are announced.
    `dismissed` administrators are deleted before those of `changed` are inserted: an email may be in both.
    """

    changed: Snapshot = field(default_factory=Snapshot)
    dismissed: set[str] = field(default_factory=set)
    suspensions: dict[str, Account] = field(default_factory=dict)
    terms: list[AcceptedTerms] = field(default_factory=list)
    outbox: list[OutboxMessage] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    touched_keys: list[bytes] = field(default_factory=list)
    touched_tenants: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


class UnitOfWork:
    """Reads see the changes of earlier messages of the batch; writes go into `decision`."""

    def __init__(self, snapshot: Snapshot, now_ms: int, rules: KeyRules) -> None:
        self._snapshot = snapshot
        self._now_ms = now_ms
        self._rules = rules
        self._new_keys: dict[tuple[str, bool], int] = {}
        self._new_in_grace: dict[tuple[str, bool], int] = {}
        self._new_today: dict[str, int] = {}
        self._claimants: dict[str, str] = {}
        self._tree = KeyTree()
        self._handled = 0
        self._authorized: dict[bytes | str | None, str] = {}
        for each in snapshot.authorizations.values():
            self._place(each)
        self.decision = Decision()
        self._code_mails = CodeMailCounter(snapshot.letters, self.decision.changed.letters)

    def begin(self) -> Steps[None]:
        """Connect the locked keys, before the first message."""
        for key in self._snapshot.keys.values():
            self._tree.save(key)
            yield from self._step()

    def _step(self) -> Steps[None]:
        """Count a key or a message. After `STEP` of them other tasks run, which see nothing of this batch yet."""
        self._handled += 1
        if self._handled % STEP == 0:
            yield

    def _claim(self, token_hash: bytes) -> Claim | None:
        return self.decision.changed.claims.get(token_hash) or self._snapshot.claims.get(token_hash)

    def _authorization(self, place: bytes | str | None) -> Authorization | None:
        """The authorization with a code, with refresh tokens, both as hashes, or with the id of a key."""
        found = self._authorized.get(place, "")
        return self.decision.changed.authorizations.get(found) or self._snapshot.authorizations.get(found)

    def _save_authorization(self, authorization: Authorization) -> None:
        self._place(authorization)
        self.decision.changed.authorizations[authorization.id] = authorization

    def _place(self, authorization: Authorization) -> None:
        places = authorization.code_hash, authorization.refresh_hash, authorization.key_id
        self._authorized |= dict.fromkeys(places, authorization.id)
        self._authorized.pop(None, None)

    def _key(self, key_id: str | None) -> Key | None:
        if key_id is None:
            return None
        return self.decision.changed.keys.get(key_id) or self._snapshot.keys.get(key_id)

    def _account(self, email: str) -> Account | None:
        suspended = self.decision.suspensions.get(email)
        return suspended or self.decision.changed.accounts.get(email) or self._snapshot.accounts.get(email)

    def _owner(self, key: Key) -> str | None:
        """The email of the account of a key that was found or that this batch claimed; None if the key is anonymous."""
        return self._claimants.get(key.tenant_id) or self._snapshot.owners.get(key.tenant_id)

    def _live_tenant(self, tenant_id: str) -> Tenant:
        tenant = self.decision.changed.tenants.get(tenant_id) or self._snapshot.tenants.get(tenant_id)
        assert tenant is not None, f"tenant {tenant_id} was not prefetched"
        assert tenant.merged_into is None, f"tenant {tenant_id} was merged and still has a key"
        return tenant

    def _live_keys(self, tenant_id: str, *, scoped: bool) -> int:
        place = (tenant_id, scoped)
        return self._snapshot.live_keys.get(place, 0) + self._new_keys.get(place, 0)

    def _keys_in_grace(self, tenant_id: str, *, scoped: bool) -> int:
        place = (tenant_id, scoped)
        return self._snapshot.keys_in_grace.get(place, 0) + self._new_in_grace.get(place, 0)

    def _too_many_today(self, tenant_id: str) -> Refused | None:
        """Why an account has to wait: it has made all keys of the day, of which most may have ended."""
        made = self._snapshot.made_today.get(tenant_id, 0) + self._new_today.get(tenant_id, 0)
        return too_many_today(made, self._rules.keys_per_day, self._now_ms)

    def _save_key(self, key: Key) -> None:
        before = self._key(key.id)
        if (before is None or before.tenant_id != key.tenant_id) and day_of(key.created_ms) >= day_of(self._now_ms):
            self._new_today[key.tenant_id] = self._new_today.get(key.tenant_id, 0) + 1
        self._tree.save(key)
        for row, step in ((before, -1), (key, 1)):
            if row is not None and is_live(row, self._now_ms):
                place = (row.tenant_id, row.scopes is not None)
                counted = self._new_keys if row.successor_id is None else self._new_in_grace
                counted[place] = counted.get(place, 0) + step
        self.decision.changed.keys[key.id] = key

    def _touch(self, keys: Collection[Key]) -> tuple[bytes, ...]:
        """Announce changed keys. Returns their hashes."""
        hashes = tuple([key.hash for key in keys])
        if len(hashes) > MAX_ANNOUNCED:
            self.decision.touched_tenants += sorted({key.tenant_id for key in keys})
        else:
            self.decision.touched_keys += hashes
        return hashes

    def _save_claim(self, claim: Claim) -> None:
        self.decision.changed.claims[claim.token_hash] = claim

    def _save_account(self, account: Account) -> None:
        self.decision.changed.accounts[account.email] = account

    def _save_tenant(self, tenant: Tenant) -> None:
        self.decision.changed.tenants[tenant.id] = tenant


def merged(target: Tenant, source: Tenant, now_ms: int) -> Tenant:
    """`target` with the counts of `source` added, window by window. Ended windows add nothing."""
    day = max(target.day, source.day, day_of(now_ms))
    month = max(target.month, source.month, month_of(now_ms))
    both = (target, source)
    return replace(
        target,
        lifetime_used=sum(tenant.lifetime_used for tenant in both),
        usecase_reads=sum(tenant.usecase_reads for tenant in both),
        month=month,
        month_used=sum(tenant.month_used for tenant in both if tenant.month == month),
        day=day,
        day_used=sum(tenant.day_used for tenant in both if tenant.day == day),
    )
