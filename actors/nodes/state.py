"""The rules of counting live nodes by the ages of their heartbeats. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.nodes.messages import LiveNode, NodeInfo

MAX_NODES = 256
"""More live nodes are neither read nor counted, so that a heartbeat reads a bounded number of rows."""

GONE_SECONDS = 3_600.0
GONE_ROWS = 100
"""Each heartbeat deletes at most `GONE_ROWS` rows without a heartbeat for `GONE_SECONDS`."""


@dataclass(frozen=True, slots=True)
class NodeRules:
    """The interval of heartbeats, the age up to which one counts, and how long the last count stays valid if they fail."""

    beat_seconds: float = 2.0
    live_seconds: float = 10.0
    keep_seconds: float = 60.0

    def __post_init__(self) -> None:
        assert 0 < 2 * self.beat_seconds <= self.live_seconds, "losing one heartbeat must not lose a node"
        assert self.live_seconds <= self.keep_seconds, "a node must not drop the others sooner than they drop it"


def live_nodes(
    node: NodeInfo, seen: Sequence[LiveNode], silent_seconds: float, rules: NodeRules
) -> tuple[LiveNode, ...]:
    """The live nodes as `node` sees them, including itself, oldest first, with current ages. `seen` was read
    `silent_seconds` ago. After `keep_seconds` only `node` is left."""
    heard = seen if silent_seconds <= rules.keep_seconds else ()
    others = [
        LiveNode(each.node, max(0.0, each.age_seconds) + silent_seconds) for each in heard if each.node.id != node.id
    ]
    live = [LiveNode(node, silent_seconds), *others]
    return tuple(sorted(live, key=lambda each: (each.node.started_ms, each.node.id)))
