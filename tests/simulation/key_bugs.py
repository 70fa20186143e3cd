"""Bugs to plant in keys and quota, one at a time, for one run.

The oracle has to find each; product code knows of none.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import trio

from actors.clock import day_of
from actors.keys import actor as key_actor
from actors.keys import granting as key_granting
from actors.keys import issuing as key_issuing
from actors.keys import state as key_state
from actors.keys.actor import KeyActor
from actors.keys.cache import KeyCache
from actors.keys.messages import Message as KeyMessage
from actors.keys.state import Decision as KeyDecision
from actors.keys.state import LockSet, Snapshot
from actors.keys.store import Decide as KeyDecide
from actors.quota import state as quota_state
from actors.quota.actor import QuotaAccountant
from actors.quota.messages import Answer, Message, Refund
from actors.quota.state import Decision as QuotaDecision
from actors.quota.store import Decide as QuotaDecide
from actors.values import AuditRecord, BatchId, Contended, OutcomeUnknown, StorageUnavailable, Tenant
from storage.memory.quota import MemoryQuota
from tests.simulation.faults import Link, LinkedKeys, SimulatedBug
from tests.simulation.planting import Bug, replaced, swapped
from tests.simulation.rules import Scene

D = TypeVar("D")


# Commits.


async def _try(commit: Callable[[], Any]) -> None:
    """Commit in the background and ignore failures."""
    with suppress(StorageUnavailable, Contended, OutcomeUnknown, SimulatedBug):
        await commit()


class _EagerQuota(MemoryQuota):
    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: QuotaDecide) -> QuotaDecision:
        link, commit = self._memory, super().meter
        assert isinstance(link, Link)
        found = {key: link.tenants[key] for key in tenant_ids if key in link.tenants}
        link.node.server.start_soon(_try, lambda: commit(batch_id, tenant_ids, decide))
        await trio.lowlevel.checkpoint()
        return decide(found)


class _EagerKeys(LinkedKeys):
    async def transact(self, batch_id: BatchId, locks: LockSet, decide: KeyDecide, now_ms: int) -> KeyDecision:
        link, commit = self._memory, super().transact
        assert isinstance(link, Link)
        link.node.server.start_soon(_try, lambda: commit(batch_id, locks, decide, now_ms))
        decided = decide(self._snapshot(locks, now_ms))
        await trio.lowlevel.checkpoint()
        return decided


class _ForgetfulLink(Link):
    async def transact(self, batch_id: BatchId, work: Callable[[], D]) -> D:
        self.journal.pop(batch_id.owner, None)
        return await super().transact(batch_id, work)


class _UnlockedQuota(MemoryQuota):
    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: QuotaDecide) -> QuotaDecision:
        found = {key: self._memory.tenants[key] for key in tenant_ids if key in self._memory.tenants}
        return await super().meter(batch_id, tenant_ids, lambda locked: decide(found))


class _UnlockedKeys(LinkedKeys):
    async def transact(self, batch_id: BatchId, locks: LockSet, decide: KeyDecide, now_ms: int) -> KeyDecision:
        found = self._snapshot(locks, now_ms)
        return await super().transact(batch_id, locks, lambda locked: decide(found), now_ms)


class _LateAuditKeys(LinkedKeys):
    async def transact(self, batch_id: BatchId, locks: LockSet, decide: KeyDecide, now_ms: int) -> KeyDecision:
        audits: list[AuditRecord] = []

        def without_audit(snapshot: Snapshot) -> KeyDecision:
            decision = decide(snapshot)
            audits[:], decision.audits = decision.audits, []
            return decision

        decision = await super().transact(batch_id, locks, without_audit, now_ms)
        if audits:
            await _try(self._memory.before)
            self._memory.audits.extend(audits)
        return decision


class _Reversed(QuotaAccountant):
    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        return list(reversed(await super().commit(batch_id, messages)))


# Quota.


class _WrongWindow(QuotaAccountant):
    async def refund(self, tenant: Tenant, *, usecase: bool, key_id: str | None = None) -> Any:
        return await self.ask(Refund(tenant.id, usecase, tenant.month, day_of(self._clock.now_ms()), key_id))


class _NotFollowed(QuotaAccountant):
    """A real bug: the simulation found it in the first version of `refund`."""

    async def refund(self, tenant: Tenant, *, usecase: bool, key_id: str | None = None) -> Any:
        return await self.ask(Refund(tenant.id, usecase, tenant.month, tenant.day, key_id))


def _never_turned(tenant: Tenant, now_ms: int) -> Tenant:
    return tenant if tenant.day else _turned(tenant, now_ms)


_turned = quota_state.rolled_over


def _one_too_many(tenant: Tenant, charge: Any, now_ms: int, caps: Any) -> Any:
    return _charged(tenant, charge, now_ms, replace(caps, daily=caps.daily + 1))


_charged = quota_state.charged


def _one_too_few(tenant: Tenant, charge: Any, now_ms: int, caps: Any) -> Any:
    return _charged(tenant, charge, now_ms, replace(caps, daily=caps.daily - 1))


# Keys and claims.


class _FreeAttempts(KeyActor):
    async def commit(self, batch_id: BatchId, messages: Sequence[KeyMessage]) -> Any:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> KeyDecision:
            decision = key_state.decide(snapshot, messages, now_ms, self.rules)
            claims = decision.changed.claims
            for token_hash, claim in claims.items():
                claims[token_hash] = replace(claim, attempts=0)
            return decision

        return (await self._store.transact(batch_id, key_state.rows_to_lock(messages), on, now_ms)).answers


class _LocalAttempts(KeyActor):
    """Counts attempts in memory, so every node has a budget of its own."""

    async def commit(self, batch_id: BatchId, messages: Sequence[KeyMessage]) -> Any:
        now_ms = self._clock.now_ms()
        local: dict[bytes, int] = self.__dict__.setdefault("_local", {})

        def on(snapshot: Snapshot) -> KeyDecision:
            for claim in snapshot.claims.values():
                attempts = local.get(claim.proof or b"", 0)
                snapshot.claims[claim.token_hash] = replace(claim, attempts=attempts)
            decision = key_state.decide(snapshot, messages, now_ms, self.rules)
            for claim in decision.changed.claims.values():
                local[claim.proof or b""] = claim.attempts
            return decision

        return (await self._store.transact(batch_id, key_state.rows_to_lock(messages), on, now_ms)).answers


def _lossy_merge(target: Tenant, source: Tenant, now_ms: int) -> Tenant:
    return target


REFUSED_GRANT = key_granting.refused_grant


def _whatever_the_session(issue: Any, account: Any, giver: Any, sessions: Any, **rest: Any) -> Any:
    return REFUSED_GRANT(issue, account, giver, {getattr(issue.granted_by, "session_id", "")}, **rest)


def _live_before_the_batch(unit: Any, tenant_id: str, *, scoped: bool) -> int:
    live: int = unit._snapshot.live_keys.get((tenant_id, scoped), 0)
    return live


def _without_families(messages: Any) -> LockSet:
    rows = _rows_to_lock(messages)
    return replace(rows, key_ids=(*rows.key_ids, *rows.families), families=())


_rows_to_lock = key_state.rows_to_lock


def _appoint_claimed(unit: Any, key: Any, tenant: Tenant) -> None:
    unit._save_key(replace(key, admin=True))
    _announce(unit, key, tenant)


_announce = key_state._Batch._announce


# The key cache.


class _Deaf(KeyCache):
    def forget(self, hashes: Any = (), tenants: Any = ()) -> None:
        super().forget((), tenants)


class _Unaware(KeyCache):
    def forget(self, hashes: Any = (), tenants: Any = ()) -> None:
        looking, self._looking = self._looking, False
        super().forget(hashes, tenants)
        self._looking = looking


class _Immortal(KeyCache):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._life_ms *= 100


BUGS: Mapping[str, Bug] = {
    "answered-before-commit": Bug(
        "Callers are answered before the commit.", swapped(quota_store=_EagerQuota, key_store=_EagerKeys)
    ),
    "batch-ids-not-journaled": Bug("A batch with an unknown outcome is applied twice.", swapped(link=_ForgetfulLink)),
    "cap-checked-outside": Bug(
        "Counters are read before the transaction locks them.", swapped(quota_store=_UnlockedQuota)
    ),
    "claim-checked-outside": Bug(
        "Keys and claims are read before the transaction locks them.", swapped(key_store=_UnlockedKeys)
    ),
    "audit-apart": Bug("The audit is written in a transaction of its own.", swapped(key_store=_LateAuditKeys)),
    "answers-reversed": Bug("A batch is answered in the wrong order.", swapped(accountant=_Reversed)),
    "refund-in-wrong-window": Bug("A charge of yesterday is refunded today.", swapped(accountant=_WrongWindow)),
    "refund-not-followed": Bug(
        "A charge is not refunded after its tenant was merged.", swapped(accountant=_NotFollowed)
    ),
    "window-never-turned": Bug("A new day does not begin.", replaced(quota_state, "rolled_over", _never_turned)),
    "cap-one-too-high": Bug("One request a day too many.", replaced(quota_state, "charged", _one_too_many)),
    "cap-one-too-low": Bug("One request a day too few.", replaced(quota_state, "charged", _one_too_few)),
    "attempts-not-charged": Bug("Guesses at a code are unlimited.", swapped(keeper=_FreeAttempts)),
    "attempts-per-node": Bug("Each node counts guesses by itself.", swapped(keeper=_LocalAttempts)),
    "merge-loses-counts": Bug(
        "A claimed key's usage is not added to its account.", replaced(key_state, "merged", _lossy_merge)
    ),
    "limit-per-batch": Bug(
        "Keys of the same batch do not count towards the limit.",
        replaced(key_state._Batch, "_live_keys", _live_before_the_batch),
    ),
    "ended-session-grants": Bug(
        "A session that ended after its request was let in still grants a key.",
        replaced(key_issuing, "refused_grant", _whatever_the_session),
        Scene.PEOPLE,
    ),
    "granted-keys-live-on": Bug(
        "A key that another one granted outlives it.",
        replaced(key_issuing, "granted_by", lambda key_id, keys: iter(())),
        Scene.SPONSORS,
    ),
    "family-not-locked": Bug(
        "Only the revoked key is locked, and not those that it granted.",
        replaced(key_actor, "rows_to_lock", _without_families),
        Scene.SPONSORS,
    ),
    "claimed-keys-administer": Bug(
        "Every key carries administration as soon as it is claimed.",
        replaced(key_state._Batch, "_announce", _appoint_claimed),
    ),
    "administration-for-everybody": Bug(
        "A full key carries administration, whoever asks for it.",
        replaced(key_granting, "_not_an_administrator", lambda issue, *, admin: None),
        Scene.SPONSORS,
    ),
    "change-not-noticed": Bug("A changed key stays in the cache.", swapped(key_cache=_Deaf)),
    "stale-look-up-kept": Bug("A look-up overtaken by a change is cached.", swapped(key_cache=_Unaware)),
    "memory-without-end": Bug("A cached key never expires.", swapped(key_cache=_Immortal)),
}
