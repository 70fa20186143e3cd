"""The heartbeat: reports to the store that this node is alive and reads how many others are. Every node runs one.

Rate limits that each node counts for itself are divided by that number. A failed heartbeat does no harm: the last count
stays valid for `keep_seconds`, and the node keeps serving.
"""

from collections.abc import Sequence

import trio

from actors.kernel.periodic import PeriodicTask, shared_pause
from actors.nodes.messages import LiveNode, NodeInfo
from actors.nodes.state import NodeRules, live_nodes
from actors.nodes.store import NodeStore


class Heartbeat(PeriodicTask):
    """Sends a heartbeat before the node serves, then at every interval, and signs off on an orderly stop. A node that
    is killed still counts for `live_seconds`."""

    name = "nodes"
    tolerated = (Exception,)

    def __init__(self, store: NodeStore, node: NodeInfo, rules: NodeRules | None = None) -> None:
        self.node = node
        self.rules = rules or NodeRules()
        super().__init__(self.rules.beat_seconds)
        self._store = store
        self._seen: Sequence[LiveNode] = ()
        self._heard: float | None = None
        # Cached, because every rate-limited request reads it.
        self._live = 1

    # Intents.

    def live(self) -> int:
        """How many nodes are alive, including this one, as of the last heartbeat; 1 after `keep_seconds` without one."""
        return self._live

    def nodes(self) -> Sequence[LiveNode]:
        """The live nodes, oldest first, each with the current age of its last heartbeat."""
        return live_nodes(self.node, self._seen, self.age_seconds or 0.0, self.rules)

    @property
    def age_seconds(self) -> float | None:
        """Seconds since this node's last successful heartbeat; None before the first."""
        return None if self._heard is None else trio.current_time() - self._heard

    # The rounds.

    def _is_ready(self) -> bool:
        """The first attempt comes before the node serves, so that the count is right from the start."""
        return self._heard is not None or self._failing

    async def _round(self) -> float:
        try:
            self._seen = await self._store.heartbeat(self.node, self.rules.live_seconds)
            self._heard = trio.current_time()
        finally:
            self._count()
        return shared_pause(self.rules.beat_seconds)

    def _count(self) -> None:
        live = len(self.nodes())
        if live != self._live:
            self._log.info("live nodes: %d, before: %d", live, self._live)
        self._live = live

    def _meanwhile(self) -> str:
        return f"assuming {self._live} live nodes for up to {self.rules.keep_seconds:g} s"

    async def _finish(self) -> None:
        """Sign off, unless the last heartbeat failed: shutting down must not wait for a store that is away."""
        if self._failing:
            return
        try:
            await self._store.leave(self.node.id)
        except Exception as error:
            self._log.info(
                "could not sign off; other nodes count this node for another %g s: %s", self.rules.live_seconds, error
            )
