"""The node store in memory. Trio's clock stands for the clock of the database server."""

from collections.abc import Sequence

import trio

from actors.nodes.messages import LiveNode, NodeInfo
from actors.nodes.state import GONE_ROWS, MAX_NODES
from tests.doubles.conditions import is_beating, is_gone
from tests.doubles.tables import MemoryStore


class MemoryNodes(MemoryStore):
    """Rows of `Memory.nodes`."""

    async def heartbeat(self, node: NodeInfo, live_seconds: float) -> Sequence[LiveNode]:
        await self._memory.before()
        now, rows = trio.current_time(), self._memory.nodes
        rows[node.id] = node, now
        gone = [each.node.id for each in self._by_age(now) if is_gone(each.age_seconds)]
        for node_id in gone[-GONE_ROWS:]:
            del rows[node_id]
        seen = self._live(now, live_seconds)
        await self._memory.after()
        return seen

    async def leave(self, node_id: str) -> None:
        await self._memory.before()
        self._memory.nodes.pop(node_id, None)
        await self._memory.after()

    async def live(self, live_seconds: float) -> Sequence[LiveNode]:
        await self._memory.before()
        return self._live(trio.current_time(), live_seconds)

    def _live(self, now: float, live_seconds: float) -> Sequence[LiveNode]:
        return [each for each in self._by_age(now) if is_beating(each.age_seconds, live_seconds)][:MAX_NODES]

    def _by_age(self, now: float) -> list[LiveNode]:
        """All rows, latest heartbeat first."""
        seen = [LiveNode(node, now - beaten) for node, beaten in self._memory.nodes.values()]
        return sorted(seen, key=lambda each: (each.age_seconds, each.node.id))
