"""The nodes over Postgres."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.nodes.messages import LiveNode, NodeInfo
from actors.nodes.state import GONE_ROWS, GONE_SECONDS, MOST_NODES
from storage.pool import Connection, Database
from storage.statements import statements

SQL = statements("nodes")


class PostgresNodes:
    """Rows of the table `nodes`, whose ages are by the clock of the server."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def heartbeat(self, node: NodeInfo, live_seconds: float) -> Sequence[LiveNode]:
        said = (node.id, node.host, node.pid, node.version, node.url, node.started_ms)
        bounds = (live_seconds, GONE_SECONDS, GONE_ROWS, MOST_NODES - 1)

        async def work(connection: Connection) -> Sequence[LiveNode]:
            others = await connection.fetch(SQL.heartbeat, *said, *bounds)
            return [LiveNode(node, 0.0), *map(_seen, others)]

        return await self._database.commit(work)

    async def leave(self, node_id: str) -> None:
        await self._database.commit(lambda connection: connection.execute(SQL.leave, node_id))

    async def live(self, live_seconds: float) -> Sequence[LiveNode]:
        rows = await self._database.read(lambda connection: connection.fetch(SQL.live, live_seconds, MOST_NODES))
        return [_seen(row) for row in rows]


def _seen(row: Mapping[str, Any]) -> LiveNode:
    fields = dict(row)
    age_seconds = fields.pop("age_seconds")
    return LiveNode(NodeInfo(**fields), age_seconds)
