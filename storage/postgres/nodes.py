"""The node store over Postgres."""

from collections.abc import Sequence

from actors.nodes.messages import LiveNode, NodeInfo
from actors.nodes.state import GONE_ROWS, GONE_SECONDS, MAX_NODES
from storage.connection.pool import Connection, Row, Store
from storage.rows.columns import record_of
from storage.rows.statements import statements

SQL = statements("nodes")


class PostgresNodes(Store):
    """Rows of the `nodes` table. The server's clock measures their ages."""

    async def heartbeat(self, node: NodeInfo, live_seconds: float) -> Sequence[LiveNode]:
        info = (node.id, node.host, node.pid, node.version, node.url, node.started_ms)
        bounds = (live_seconds, GONE_SECONDS, GONE_ROWS, MAX_NODES - 1)

        async def work(connection: Connection) -> Sequence[LiveNode]:
            others = await connection.fetch(SQL.heartbeat, *info, *bounds)
            return [LiveNode(node, 0.0), *map(_seen, others)]

        return await self._database.commit(work)

    async def leave(self, node_id: str) -> None:
        await self._database.commit(lambda connection: connection.execute(SQL.leave, node_id))

    async def live(self, live_seconds: float) -> Sequence[LiveNode]:
        return [_seen(row) for row in await self._database.fetch(SQL.live, live_seconds, MAX_NODES)]


def _seen(row: Row) -> LiveNode:
    return LiveNode(record_of(NodeInfo, row), row["age_seconds"])
