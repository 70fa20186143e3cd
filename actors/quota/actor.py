"""The quota accountant: decides and commits charges, one transaction per batch."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from actors.clock import Clock
from actors.kernel.actor import Actor, ActorLimits
from actors.quota.messages import Answer, Charge, Message, Metered, Moved, Read, Refund
from actors.quota.state import Caps, Decision, decide
from actors.quota.store import QuotaStore
from actors.shared.limits import Allowance, WindowLimiter, single_node
from actors.times import day_of
from actors.values import BatchId, OutcomeUnknown, Overloaded, Refused, StorageUnavailable, Tenant, Tier

OWED_AT_MOST = 1_000
"""Refunds that may wait for the store. Beyond it the oldest are dropped, which errs towards counting too much."""


class QuotaAccountant(Actor[Message, Answer]):
    """Owns the usage counters of the tenants that call this node. Accountants of several nodes share the rows by locks."""

    def __init__(
        self,
        store: QuotaStore,
        clock: Clock,
        caps: Mapping[Tier, Caps],
        per_minute: Mapping[Tier, int],
        *,
        node: str,
        limits: ActorLimits,
        nodes: Callable[[], int] = single_node,
    ) -> None:
        super().__init__("quota", node, limits)
        self._store = store
        self._clock = clock
        self.caps = caps
        self._per_minute = per_minute
        self._minutes = WindowLimiter(60, nodes=nodes)
        # Refunds that the store could not take yet, and the batch id that may or may not have committed them.
        self._owed: tuple[Refund, ...] = ()
        self._in_doubt: BatchId | None = None
        # Refunds that a full mailbox rejected. They join the next batch, because `_owed` must not change while a batch
        # is retried.
        self._unsent: tuple[Refund, ...] = ()
        self._batch_id: BatchId | None = None

    # Intents.

    def pace(self, subject: str, tier: Tier) -> Allowance:
        """Count one request of `subject` against this node's share of its tier's limit per minute."""
        return self._minutes.hit(subject, self._per_minute[tier], self._clock.now_ms())

    async def charge(
        self, tenant_id: str, *, usecase: bool, key_id: str | None = None, siblings: tuple[str, ...] = ()
    ) -> Answer:
        """Charge one request of a key: `Metered` if it is allowed and committed, `Refused` by a cap, or `Moved`. The tenants
        `siblings` share the caps."""
        return await self.ask(Charge(tenant_id, usecase, key_id, siblings))

    async def refund(self, tenant: Tenant, *, usecase: bool, key_id: str | None = None) -> None:
        """Refund the charge that returned `tenant`, to the tenant it was merged into if it was. Has no timeout once
        posted; the caller bounds the wait."""
        tenant_id: str | None = tenant.id
        while tenant_id is not None:
            refund = Refund(tenant_id, usecase, tenant.month, tenant.day, key_id)
            try:
                answer = await self.ask(refund, no_timeout=True)
            except Overloaded:
                self._unsent = (*self._unsent, refund)[-OWED_AT_MOST:]
                raise
            tenant_id = answer.into if isinstance(answer, Moved) else None

    async def read(self, tenant_id: str) -> Tenant | None:
        """The tenant with its current counters, or None if it does not exist or was merged."""
        match await self.ask(Read(tenant_id)):
            case Metered(tenant):
                return tenant
            case Moved():
                return None
            case Refused() as refused:
                raise AssertionError(f"a read was refused: {refused}")

    async def days(self, tenant_id: str, count: int) -> Sequence[tuple[int, int]]:
        """The usage of a tenant on each of the last `count` days, oldest first: (day since the epoch, requests). The
        last one is today, or tomorrow if a node whose clock is ahead has counted there. Raises `StorageUnavailable`."""
        today = day_of(self._clock.now_ms())
        used = await self._store.days(tenant_id, today - count + 1, today + 1)
        last = max([today, *used])
        return [(day, used.get(day, 0)) for day in range(last - count + 1, last + 1)]

    async def days_by_key(
        self, tenant_id: str, key_ids: Sequence[str], count: int
    ) -> Mapping[str | None, Sequence[tuple[int, int]]]:
        """The usage of the keys `key_ids` of a tenant in the last `count` days, and under None that of the tenant: (day,
        requests) of each day with use, oldest first, and of tomorrow as in `days`. Raises `StorageUnavailable`."""
        today = day_of(self._clock.now_ms())
        first = today - count + 1
        days: defaultdict[str | None, list[tuple[int, int]]] = defaultdict(list)
        counts = await self._store.days_by_key(tenant_id, key_ids, first, today + 1)
        for (key_id, day), used in sorted(counts.items(), key=lambda each: each[0][1]):
            if used > 0:
                days[key_id].append((day, used))
        return days

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()
        if self._in_doubt not in (None, batch_id):
            # That batch was given up. Its refunds may have committed, and refunding twice would exceed a cap.
            self._owed, self._in_doubt = (), None
        if self._batch_id is not batch_id:
            self._batch_id = batch_id
            self._owe(self._unsent)
            self._unsent = ()
        batch = (*self._owed, *messages)

        def on(tenants: Mapping[str, Tenant]) -> Decision:
            return decide(tenants, batch, now_ms, self.caps)

        try:
            decision = await self._store.meter(batch_id, _tenants(batch), on)
        except OutcomeUnknown:
            self._in_doubt = batch_id
            raise
        except StorageUnavailable:
            if self._in_doubt is None:
                self._owe(messages)
            raise
        answers = decision.answers[len(self._owed) :]
        self._owed, self._in_doubt = (), None
        return answers

    def compensate(self, message: Message, answer: Answer) -> None:
        """Refund a charge whose request was answered with 503 meanwhile."""
        if isinstance(message, Charge) and isinstance(answer, Metered):
            tenant = answer.tenant
            self._owe([Refund(tenant.id, message.usecase, tenant.month, tenant.day, message.key_id)])

    def _owe(self, messages: Sequence[Message]) -> None:
        """Keep refunds for the next batch."""
        refunds = (message for message in messages if isinstance(message, Refund))
        self._owed = (*self._owed, *refunds)[-OWED_AT_MOST:]


def _tenants(messages: Sequence[Message]) -> list[str]:
    """The tenants that messages count or look at, sorted."""
    found = {message.tenant_id for message in messages}
    return sorted(found.union(*(message.siblings for message in messages if isinstance(message, Charge))))
