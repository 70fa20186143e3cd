"""The audit table: appending to it within a transaction, and reading it."""

from collections.abc import Sequence

from actors.values import AuditRecord
from storage.pool import Connection
from storage.postgres.columns import columns
from storage.statements import statements

SQL = statements("audit")


async def append_audits(connection: Connection, audits: Sequence[AuditRecord]) -> None:
    """Append records in the transaction of the change they describe."""
    if audits:
        await connection.execute(SQL.append, *columns(AuditRecord, audits))


async def read_audits(
    connection: Connection, created_ms: int, record_id: str, limit: int, target_id: str | None = None
) -> list[AuditRecord]:
    """Records strictly before a place, newest first. Postgres formats the JSON of `changes` in its own way."""
    if target_id is None:
        rows = await connection.fetch(SQL.page, created_ms, record_id, limit)
    else:
        rows = await connection.fetch(SQL.page_of, created_ms, record_id, limit, target_id)
    return [AuditRecord(**row) for row in rows]
