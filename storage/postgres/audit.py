"""Reading the audit."""

from actors.values import AuditRecord
from storage.connection.pool import Connection
from storage.rows.statements import statements

SQL = statements("audit")


async def read_audits(
    connection: Connection,
    created_ms: int,
    record_id: str,
    limit: int,
    target_id: str | None = None,
    actor_email: str | None = None,
) -> list[AuditRecord]:
    """Records strictly before a place, newest first. Postgres formats the JSON of `changes` in its own way."""
    wanted = [value for value in (target_id, actor_email) if value is not None]
    match target_id, actor_email:
        case None, None:
            statement = SQL.page
        case _, None:
            statement = SQL.page_of
        case None, _:
            statement = SQL.page_by
        case _:
            statement = SQL.page_of_by
    rows = await connection.fetch(statement, created_ms, record_id, limit, *wanted)
    return [AuditRecord(**row) for row in rows]
