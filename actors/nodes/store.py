"""What counting nodes needs of a store. Two of them pass one contract: over Postgres and in memory."""

from collections.abc import Sequence
from typing import Protocol

from actors.nodes.messages import LiveNode, NodeInfo


class NodeStore(Protocol):
    """The nodes that have beaten of late. All ages are by the store's own clock: those of nodes may differ."""

    async def heartbeat(self, node: NodeInfo, live_seconds: float) -> Sequence[LiveNode]:
        """Keep that `node` lives, delete some rows of those long gone, and return who has beaten less than `live_seconds`
        ago, `node` among them, at most `MOST_NODES`. One round trip, which waits for no row that somebody else has locked.

        Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`; doing it again is harmless.
        """
        ...

    async def leave(self, node_id: str) -> None:
        """The node is gone from now on. Raises as `heartbeat` does."""
        ...

    async def live(self, live_seconds: float) -> Sequence[LiveNode]:
        """Who has beaten less than `live_seconds` ago, at most `MOST_NODES`. Raises `StorageUnavailable`."""
        ...
