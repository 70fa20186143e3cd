"""The rules of counting nodes, pure: ages and silences in, who is live and how many out."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.nodes.messages import LiveNode, NodeInfo

MOST_NODES = 256
"""More live nodes are neither read nor counted: a beat reads a bounded number of rows."""

GONE_SECONDS = 3_600.0
GONE_ROWS = 100
"""Rows without a beat for so long are deleted, so many with each beat."""


@dataclass(frozen=True, slots=True)
class NodeRules:
    """How often a node beats, how young a beat has to be, and how long the last count holds while none gets through."""

    beat_seconds: float = 2.0
    live_seconds: float = 10.0
    keep_seconds: float = 60.0

    def __post_init__(self) -> None:
        assert 0 < 2 * self.beat_seconds <= self.live_seconds, "one beat that is lost must not lose a node"
        assert self.live_seconds <= self.keep_seconds, "a node forgets the others no sooner than they forget it"


def is_live(age_seconds: float, live_seconds: float) -> bool:
    """Whether a beat of that age counts. One that lies far ahead is of a clock that was put back since."""
    return -live_seconds < age_seconds < live_seconds


def is_gone(age_seconds: float) -> bool:
    """Whether a row of that age may be deleted."""
    return age_seconds > GONE_SECONDS


def live_nodes(
    node: NodeInfo, seen: Sequence[LiveNode], silent_seconds: float, rules: NodeRules
) -> tuple[LiveNode, ...]:
    """Who counts as live for `node`, which is one of them in any case, `silent_seconds` after a beat that saw `seen`: the
    oldest node first, each with its age as of now. After `keep_seconds` of silence that is `node` alone."""
    heard = seen if silent_seconds <= rules.keep_seconds else ()
    others = [
        LiveNode(each.node, max(0.0, each.age_seconds) + silent_seconds) for each in heard if each.node.id != node.id
    ]
    live = [LiveNode(node, silent_seconds), *others]
    return tuple(sorted(live, key=lambda each: (each.node.started_ms, each.node.id)))
