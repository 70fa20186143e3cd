"""The quota accountant: charges become batches, each decided and committed in one transaction."""

from collections.abc import Mapping, Sequence

from actors.actor import Actor, ActorLimits
from actors.clock import Clock
from actors.limits import Allowance, WindowLimiter
from actors.quota.messages import Answer, Charge, Message, Metered, Moved, Read, Refund
from actors.quota.state import Caps, Decision, decide
from actors.quota.store import QuotaStore
from actors.values import Refused, Tenant, Tier, Turn


class QuotaAccountant(Actor[Message, Answer]):
    """Owns the counters of every tenant that calls this node; other nodes' accountants share the rows by locks."""

    def __init__(
        self,
        store: QuotaStore,
        clock: Clock,
        caps: Mapping[Tier, Caps],
        per_minute: Mapping[Tier, int],
        *,
        node: str,
        limits: ActorLimits,
    ) -> None:
        super().__init__("quota", node, limits)
        self._store = store
        self._clock = clock
        self.caps = caps
        self._per_minute = per_minute
        self._minutes = WindowLimiter(60)

    # Intents.

    def pace(self, subject: str, tier: Tier) -> Allowance:
        """Count one request of `subject` against its tier's limit per minute on this node."""
        return self._minutes.hit(subject, self._per_minute[tier], self._clock.now_ms())

    async def charge(self, tenant_id: str, *, usecase: bool) -> Answer:
        """Charge one request: `Metered` when it is let through and committed, `Refused` by a cap, or `Moved`."""
        return await self.ask(Charge(tenant_id, usecase))

    async def refund(self, tenant: Tenant, *, usecase: bool) -> None:
        """Give back the charge that left `tenant` as it was answered, to the tenant that has it now if it was merged."""
        tenant_id: str | None = tenant.id
        while tenant_id is not None:
            answer = await self.ask(Refund(tenant_id, usecase, tenant.month, tenant.day))
            tenant_id = answer.into if isinstance(answer, Moved) else None

    async def read(self, tenant_id: str) -> Tenant | None:
        """The tenant with its counters as of now, or None when it is gone or was merged."""
        match await self.ask(Read(tenant_id)):
            case Metered(tenant):
                return tenant
            case Moved():
                return None
            case Refused() as refused:
                raise AssertionError(f"a read is not refused, but: {refused}")

    # The batch.

    async def commit(self, turn: Turn, messages: Sequence[Message]) -> Sequence[Answer]:
        now_ms = self._clock.now_ms()
        tenant_ids = sorted({message.tenant_id for message in messages})

        def on(tenants: Mapping[str, Tenant]) -> Decision:
            return decide(tenants, messages, now_ms, self.caps)

        return (await self._store.meter(turn, tenant_ids, on)).answers
