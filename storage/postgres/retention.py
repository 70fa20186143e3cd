"""The retention store over Postgres."""

from actors.retention.store import Rows
from storage.connection.pool import Store
from storage.rows.statements import statements

SQL = statements("retention")

PRUNING = {
    Rows.UNCLAIMED_KEYS: SQL.unclaimed_keys,
    Rows.ENDED_KEYS: SQL.ended_keys,
    Rows.MERGED_TENANTS: SQL.merged_tenants,
    Rows.UNCONFIRMED_EMAILS: SQL.unconfirmed_emails,
    Rows.UNPAID_BOOKINGS: SQL.unpaid_bookings,
    Rows.PAYMENT_EVENTS: SQL.payment_events,
    Rows.PAYMENT_REPORTS: SQL.payment_reports,
    Rows.USAGE_DAYS: SQL.usage_days,
    Rows.KEY_USAGE_DAYS: SQL.key_usage_days,
    Rows.AUDIT: SQL.audit,
    Rows.WEBHOOK_DELIVERIES: SQL.webhook_deliveries,
    Rows.DELETIONS: SQL.deletions,
    Rows.JOURNAL: SQL.journal,
}


class PostgresRetention(Store):
    """One statement for each kind of rows."""

    async def prune(self, rows: Rows, before_ms: int, limit: int) -> int:
        pruned = await self._prune(PRUNING[rows], before_ms, limit)
        if rows is Rows.JOURNAL:
            # Last, because it fails while a worker of a distributed database is away.
            await self._database.read(lambda connection: connection.execute(SQL.event_journal, before_ms))
        return pruned
