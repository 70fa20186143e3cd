"""A history with the indexes that checks need, and the order of its operations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import isgeneratorfunction, signature
from types import ModuleType
from typing import TYPE_CHECKING, Any

from actors.keys.actor import Issued, Minted
from actors.keys.messages import Key
from actors.values import Tier
from tests.doubles.tables import Memory
from tests.simulation.history import Nothing, Operation, Unknown

if TYPE_CHECKING:
    from tests.simulation.world import World


REFUSED_CONNECTION = Nothing("connection refused")
LOST = Unknown("lost on the network")
EPSILON = 1e-6


@dataclass(slots=True)
class Case:
    """One history with indexes. A tenant's group is the tenant and all that were merged into it."""

    world: "World"
    groups: dict[str, list[str]] = field(default_factory=dict)
    charges: dict[str, list[Operation]] = field(default_factory=dict)
    refunds: dict[str, list[Operation]] = field(default_factory=dict)
    completions: dict[str, list[Operation]] = field(default_factory=dict)
    starts: dict[str, list[Operation]] = field(default_factory=dict)
    tiers: dict[str, list[Operation]] = field(default_factory=dict)
    revokes: dict[str, list[Operation]] = field(default_factory=dict)
    minted: dict[str, Minted] = field(default_factory=dict)
    accounts: dict[str, str] = field(default_factory=dict)
    of_texts: dict[str, Key] = field(default_factory=dict)
    of_groups: dict[str, tuple[list[Operation], list[Operation]]] = field(default_factory=dict)

    @property
    def memory(self) -> Memory:
        return self.world.memory

    def of(self, kind: str) -> list[Operation]:
        return self.world.history.of(kind)

    def now_ms(self, node: str, seconds: float) -> int:
        """Return the wall clock of a node at a virtual time."""
        index = int(node[1:].partition(".")[0])
        return self.world.nodes[index].clock.at(seconds)

    def span_ms(self, operation: Operation) -> tuple[int, int]:
        """The least and the greatest time that the node's clock shows during an operation."""
        index = int(operation.node[1:].partition(".")[0])
        return self.world.nodes[index].clock.span(operation.start, operation.end)

    def latest_of(self, node: str, start: float, end: float) -> int:
        """The greatest time that the clock of a node shows from `start` to `end`."""
        index = int(node[1:].partition(".")[0])
        return self.world.nodes[index].clock.span(start, end)[1]

    def latest_ms(self, seconds: float) -> int:
        """The greatest time that any clock has shown: windows never go back."""
        return max(node.clock.span(0.0, seconds)[1] for node in self.world.nodes)

    def root(self, tenant_id: str) -> str:
        tenant = self.memory.tenants.get(tenant_id)
        return tenant_id if tenant is None or tenant.merged_into is None else self.root(tenant.merged_into)

    def tier_writes(self, tenant_id: str) -> list[Operation]:
        """Return the tier changes of the account that has this tenant now."""
        return self.tiers.get(self.accounts.get(tenant_id, ""), [])


def case_of(world: "World") -> Case:
    case = Case(world)
    for tenant_id in world.memory.tenants:
        case.groups.setdefault(case.root(tenant_id), []).append(tenant_id)
    for index, kind, key in (
        (case.charges, "charge", "tenant_id"),
        (case.refunds, "refund", "tenant_id"),
        (case.completions, "complete", "token"),
        (case.starts, "start", "token"),
        (case.tiers, "tier", "email"),
    ):
        for operation in case.of(kind):
            index.setdefault(getattr(operation.about, key), []).append(operation)
    for operation in case.of("revoke"):
        case.revokes.setdefault(operation.about, []).append(operation)
    for operation in case.of("mint"):
        if isinstance(operation.result, Minted):
            case.minted[operation.result.claim_token] = operation.result
    for operation in [*case.of("mint"), *case.of("issue")]:
        if isinstance(operation.result, Minted | Issued):
            case.of_texts[operation.result.api_key] = operation.result.key
    own = dict(case.revokes)
    for granted in world.memory.keys.values():
        granter_id = granted.granter_id
        while granter_id is not None:
            # A revocation of the granter is one of the key, too.
            case.revokes[granted.id] = [*case.revokes.get(granted.id, []), *own.get(granter_id, [])]
            granter_id = world.memory.keys[granter_id].granter_id
        for earlier in world.memory.keys.values() if granted.origin_id is not None else ():
            # So is one of a key that became it by rotating itself.
            if granted.origin_id in (earlier.id, earlier.origin_id) and earlier.id != granted.id:
                case.revokes[granted.id] = [*case.revokes.get(granted.id, []), *own.get(earlier.id, [])]
    case.accounts = {account.tenant_id: account.email for account in world.memory.accounts.values()}
    return case


def any_of(operation: Operation) -> bool:
    return True


def checks_of(module: ModuleType, *parameters: str) -> list[Any]:
    """The checks of a module: its public functions with these parameters, which yield what is wrong."""
    functions = [each for name, each in vars(module).items() if not name.startswith("_") and isgeneratorfunction(each)]
    own = [each for each in functions if each.__module__ == module.__name__]
    return [each for each in own if tuple(signature(each).parameters) == parameters]


# Order.


def surely_before(one: Operation, other: Operation) -> bool:
    """Return whether `one` was done before `other` began."""
    return not one.unknown and not one.fruitless and one.ended < other.began


def maybe_before(one: Operation, other: Operation) -> bool:
    """Return whether `one` may have been done before `other` ended. An abandoned intent may take effect much later."""
    return one is not other and not one.fruitless and one.began < other.ended


def surely(operation: Operation) -> bool:
    return not operation.unknown and not operation.fruitless


def possible(
    writes: Sequence[Operation], tier: Tier, read: Operation, stale: Callable[[Operation], bool] = any_of
) -> bool:
    """Return whether a read may see `tier`: written (or the default), and not surely overwritten before the read.

    `stale` selects the writes that a read has to see; by default, all that were done before it began.
    """
    over = [each for each in writes if surely_before(each, read) and stale(each)]
    if tier is Tier.CLAIMED and not any(each.about.tier is not tier for each in over):
        return True
    for write in writes:
        if write.about.tier is tier and maybe_before(write, read):
            later = [each for each in over if each.about.tier is not tier and not write.unknown]
            if not any(write.ended < each.began for each in later):
                return True
    return False
