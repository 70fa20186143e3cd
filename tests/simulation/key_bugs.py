"""Bugs to plant in keys and quota, one at a time, for one run.

The oracle has to find each; product code knows of none.
"""

from collections.abc import Callable, Sequence
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
from actors.keys.unit_of_work import KeyTree
from actors.quota import state as quota_state
from actors.quota.actor import QuotaAccountant
from actors.quota.messages import Answer, Message, Refund
from actors.quota.state import Decision as QuotaDecision
from actors.quota.store import Decide as QuotaDecide
from actors.values import AuditRecord, BatchId, Tenant
from tests.doubles.quota import MemoryQuota
from tests.doubles.tables import decided
from tests.simulation.faults import Link, LinkedKeys
from tests.simulation.planting import AnswersFirst, Bugs, ReadsOutside, ignoring_faults, replaced, swapped
from tests.simulation.rules import Scene

BUGS = Bugs()

D = TypeVar("D")


# Commits.


class _EagerQuota(MemoryQuota):
    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: QuotaDecide) -> QuotaDecision:
        link, commit = self._memory, super().meter
        assert isinstance(link, Link)
        found = {key: link.tenants[key] for key in tenant_ids if key in link.tenants}
        link.node.server.start_soon(ignoring_faults, commit(batch_id, tenant_ids, decide))
        await trio.lowlevel.checkpoint()
        return decide(found)


class _EagerKeys(AnswersFirst, LinkedKeys):
    pass


@BUGS.part("link")
class BatchIdsNotJournaled(Link):
    """A batch with an unknown outcome is applied twice."""

    async def transact(self, batch_id: BatchId, work: Callable[[], D]) -> D:
        self.journal.pop(batch_id.owner, None)
        return await super().transact(batch_id, work)


@BUGS.part("quota_store")
class CapCheckedOutside(MemoryQuota):
    """Counters are read before the transaction locks them."""

    async def meter(self, batch_id: BatchId, tenant_ids: Sequence[str], decide: QuotaDecide) -> QuotaDecision:
        found = {key: self._memory.tenants[key] for key in tenant_ids if key in self._memory.tenants}
        return await super().meter(batch_id, tenant_ids, lambda locked: decide(found))


@BUGS.part("key_store")
class ClaimCheckedOutside(ReadsOutside, LinkedKeys):
    """Keys and claims are read before the transaction locks them."""


@BUGS.part("key_store")
class AuditApart(LinkedKeys):
    """The audit is written in a transaction of its own."""

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: KeyDecide, now_ms: int) -> KeyDecision:
        audits: list[AuditRecord] = []

        def without_audit(snapshot: Snapshot) -> KeyDecision:
            decision = decided(decide(snapshot))
            audits[:], decision.audits = decision.audits, []
            return decision

        decision = await super().transact(batch_id, locks, without_audit, now_ms)
        if audits:
            await ignoring_faults(self._memory.before())
            self._memory.audits.extend(audits)
        return decision


@BUGS.part("quota")
class AnswersReversed(QuotaAccountant):
    """A batch is answered in the wrong order."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        return list(reversed(await super().commit(batch_id, messages)))


# Quota.


@BUGS.part("quota")
class RefundInWrongWindow(QuotaAccountant):
    """A charge of yesterday is refunded today."""

    async def refund(self, tenant: Tenant, *, usecase: bool, key_id: str | None = None) -> Any:
        return await self.ask(Refund(tenant.id, usecase, tenant.month, day_of(self._clock.now_ms()), key_id))


@BUGS.part("quota")
class RefundNotFollowed(QuotaAccountant):
    """A charge is not refunded after its tenant was merged. A real bug: the simulation found it in the first version
    of `refund`."""

    async def refund(self, tenant: Tenant, *, usecase: bool, key_id: str | None = None) -> Any:
        return await self.ask(Refund(tenant.id, usecase, tenant.month, tenant.day, key_id))


@BUGS.around(quota_state, "rolled_over")
def window_never_turned(right: Any, tenant: Tenant, now_ms: int) -> Any:
    """A new day does not begin."""
    return tenant if tenant.day else right(tenant, now_ms)


@BUGS.around(quota_state, "charged")
def cap_one_too_high(right: Any, tenant: Tenant, charge: Any, now_ms: int, caps: Any, others: Any) -> Any:
    """One request a day too many."""
    return right(tenant, charge, now_ms, replace(caps, daily=caps.daily + 1), others)


@BUGS.around(quota_state, "charged")
def cap_one_too_low(right: Any, tenant: Tenant, charge: Any, now_ms: int, caps: Any, others: Any) -> Any:
    """One request a day too few."""
    return right(tenant, charge, now_ms, replace(caps, daily=caps.daily - 1), others)


# Keys and claims.


@BUGS.part("keys")
class AttemptsNotCharged(KeyActor):
    """Guesses at a code are unlimited."""

    async def commit(self, batch_id: BatchId, messages: Sequence[KeyMessage]) -> Any:
        now_ms = self._clock.now_ms()

        def on(snapshot: Snapshot) -> KeyDecision:
            decision = key_state.decide(snapshot, messages, now_ms, self.rules)
            claims = decision.changed.claims
            for token_hash, claim in claims.items():
                claims[token_hash] = replace(claim, attempts=0)
            return decision

        return (await self._store.transact(batch_id, key_state.rows_to_lock(messages), on, now_ms)).answers


@BUGS.part("keys")
class AttemptsPerNode(KeyActor):
    """Each node counts guesses by itself."""

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


@BUGS.function(key_state, "merged")
def merge_loses_counts(target: Tenant, source: Tenant, now_ms: int) -> Tenant:
    """A claimed key's usage is not added to its account."""
    return target


@BUGS.function(key_issuing, "may_revoke", Scene.PEOPLE)
def anybody_revokes_any_key(revoke: Any, key: Any) -> bool:
    """An owner revokes keys of others, as only administrators may."""
    return True


@BUGS.around(key_issuing, "refused_grant", Scene.PEOPLE)
def ended_session_grants(right: Any, issue: Any, account: Any, giver: Any, sessions: Any, **rest: Any) -> Any:
    """A session that ended after its request was let in still grants a key."""
    return right(issue, account, giver, {getattr(issue.granted_by, "session_id", "")}, **rest)


@BUGS.function(key_state._Batch, "_live_keys")
def limit_per_batch(unit: Any, tenant_id: str, *, scoped: bool) -> int:
    """Keys of the same batch do not count towards the limit."""
    live: int = unit._snapshot.live_keys.get((tenant_id, scoped), 0)
    return live


@BUGS.function(key_state._Batch, "_too_many_today", Scene.PEOPLE)
def keys_of_a_day_unlimited(unit: Any, tenant_id: str) -> None:
    """An account makes any number of keys a day, if they end in time."""


@BUGS.around(key_actor, "rows_to_lock", Scene.SPONSORS)
def family_not_locked(right: Any, messages: Any) -> Any:
    """Only the revoked key is locked, and not those that it granted."""
    rows = right(messages)
    return replace(rows, key_ids=(*rows.key_ids, *rows.families), families=())


@BUGS.around(key_state._Batch, "_announce")
def claimed_keys_administer(right: Any, unit: Any, key: Any, tenant: Tenant) -> None:
    """Every key carries administration as soon as it is claimed."""
    unit._save_key(replace(key, admin=True))
    right(unit, key, tenant)


@BUGS.around(key_state._Batch, "_end_found")
def exposed_without_mail(right: Any, unit: Any, key: Any, found: Any) -> Any:
    """A key that was found in public ends, and nobody tells its owner."""
    ended = yield from right(unit, key, found)
    unit.decision.outbox[:] = [message for message in unit.decision.outbox if message.template != "key_exposed"]
    return ended


@BUGS.function(key_state._Batch, "_end_found")
def exposed_key_works_on(unit: Any, key: Any, found: Any) -> Any:
    """A key that was found in public is answered as such, and still works."""
    yield from ()
    return []


# The key cache.


@BUGS.part("key_cache")
class ChangeNotNoticed(KeyCache):
    """A changed key stays in the cache."""

    def forget(self, hashes: Any = (), tenants: Any = ()) -> None:
        super().forget((), tenants)


@BUGS.part("key_cache")
class StaleLookUpCached(KeyCache):
    """A look-up overtaken by a change is cached."""

    def forget(self, hashes: Any = (), tenants: Any = ()) -> None:
        looking, self._looking = self._looking, False
        super().forget(hashes, tenants)
        self._looking = looking


@BUGS.part("key_cache")
class MemoryWithoutEnd(KeyCache):
    """A cached key never expires."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._life_ms *= 100


BUGS.add(
    "answered-before-commit",
    "Callers are answered before the commit.",
    swapped(quota_store=_EagerQuota, key_store=_EagerKeys),
)
BUGS.add(
    "granted-keys-live-on",
    "A key that another one granted outlives it.",
    replaced(KeyTree, "granted", lambda tree, *key_ids: iter(())),
    Scene.SPONSORS,
)
BUGS.add(
    "administration-for-everybody",
    "A full key carries administration, whoever asks for it.",
    replaced(key_granting, "_not_an_administrator", lambda issue, *, admin: None),
    Scene.SPONSORS,
)
