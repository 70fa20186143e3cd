"""What a campaign should have met."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from actors.keys.messages import Claimed
from actors.quota.messages import Metered
from storage.memory.tables import Memory
from tests.simulation.history import Operation

if TYPE_CHECKING:
    from tests.simulation.world import World


def sights(world: "World") -> dict[str, int]:
    """How often a history met what is hard to meet; a campaign that never does shows less than it seems to."""
    history, memory = world.history, world.memory
    granted = [each.result.tenant for each in history.of("charge") if isinstance(each.result, Metered)]
    claimed = [each.about.token for each in history.of("complete") if isinstance(each.result, Claimed)]
    merged = {tenant.id for tenant in memory.tenants.values() if tenant.merged_into is not None}
    return {
        "claim repeated": len(claimed) - len(set(claimed)),
        "tenant merged": len(merged),
        "tier changed": sum(audit.action.startswith("tier.") for audit in memory.audits),
        "turned into a new day": len({tenant.day for tenant in granted}) - 1,
        "turned into a new month": len({tenant.month for tenant in granted}) - 1,
        "refund followed a merge": sum(
            each.about.tenant_id in merged and _merged_before(memory, history.of("complete"), each)
            for each in history.of("refund")
        ),
    }


def _merged_before(memory: Memory, completions: Sequence[Operation], refund: Operation) -> bool:
    """Whether a refund began after the claim that merged its tenant was answered."""
    return any(
        isinstance(each.result, Claimed)
        and each.result.tenant.id == memory.tenants[refund.about.tenant_id].merged_into
        and each.ended < refund.began
        for each in completions
    )
