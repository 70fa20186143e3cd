"""The port of the node store. The Postgres and the memory store pass the same contract tests."""

from collections.abc import Sequence
from typing import Protocol

from actors.nodes.messages import LiveNode, NodeInfo


class NodeStore(Protocol):
    """The heartbeats of nodes. All ages are by the store's own clock, because clocks of nodes may differ."""

    async def heartbeat(self, node: NodeInfo, live_seconds: float) -> Sequence[LiveNode]:
        """Record a heartbeat of `node`, delete some old rows, and return the nodes younger than `live_seconds`, itself
        included.

        At most `MAX_NODES`. One round trip, which skips locked rows instead of waiting for them. Raises
        `StorageUnavailable`, `Contended` or `OutcomeUnknown`; repeating it is harmless.
        """
        ...

    async def leave(self, node_id: str) -> None:
        """Remove the node. Raises as `heartbeat` does."""
        ...

    async def live(self, live_seconds: float) -> Sequence[LiveNode]:
        """The nodes with a heartbeat younger than `live_seconds`, at most `MAX_NODES`. Raises `StorageUnavailable`."""
        ...
