"""What counting nodes needs of a store. Two of them pass one contract: over Postgres and in memory."""

from collections.abc import Sequence
from typing import Protocol

from actors.nodes.messages import NodeInfo, Seen


class NodeStore(Protocol):
    """The nodes that have beaten of late. All ages are by the store's own clock: those of nodes may differ."""

    async def beat(self, node: NodeInfo, live_seconds: float) -> Sequence[Seen]:
        """Keep that `node` lives, delete some rows of those long gone, and return who has beaten less than `live_seconds`
        ago, `node` among them, at most `MOST_NODES`. One round trip, which waits for no row that somebody else has locked.

        Raises `StorageUnavailable`, `Contended` or `OutcomeUnknown`; doing it again is harmless.
        """
        ...

    async def leave(self, node_id: str) -> None:
        """The node is gone from now on. Raises as `beat` does."""
        ...

    async def live(self, live_seconds: float) -> Sequence[Seen]:
        """Who has beaten less than `live_seconds` ago, at most `MOST_NODES`. Raises `StorageUnavailable`."""
        ...
