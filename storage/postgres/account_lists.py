"""Accounts as administrators list them, over Postgres."""

from collections.abc import Sequence

from actors.accounts.listing import COUNTED, AccountDetails, AccountFilter, AccountLine, AccountList, AccountPosition
from actors.values import Account, Tier
from storage.connection.pool import Database, Row, Store
from storage.rows.columns import record_of
from storage.rows.conditions import Conditions
from storage.rows.statements import statements

SQL = statements("account_lists")

NEWEST: AccountPosition = (2**63 - 1, "")
"""A place before every account."""

READ = 20_000
"""Accounts, and sponsors, that one search reads at most."""

NAMED = 1_000
"""Sponsors found by their name at most."""


class PostgresAccountLists(Store):
    """Accounts with their tenant, sponsor and membership."""

    async def accounts(self, wanted: AccountFilter, after: AccountPosition | None, limit: int) -> AccountList:
        place = after or NEWEST
        of_suspended = wanted.suspended is True
        scans = wanted.scans or wanted.suspended is False
        conditions = Conditions(*place, READ if scans else limit + 1, limit + 1)
        if wanted.suspended is False:
            conditions.add("suspended_ms is null")
        if wanted.text is not None:
            named = await tenants_named(self._database, wanted.text)
            conditions.add(
                "(position({0} in email) > 0 or tenant_id = {0} or tenant_id = any ({1}::text[]))", wanted.text, named
            )
        if wanted.tier is not None:
            conditions.add("exists (select from tenants where id = tenant_id and tier = {})", wanted.tier.value)
        page = conditions.within(SQL.page_of_suspended if of_suspended else SQL.page)
        rows = await self._database.fetch(page, *conditions.parameters)
        lines = [_line(row) for row in rows[:limit]]
        if len(rows) > limit:
            return AccountList(lines, lines[-1].spot)
        if not scans:
            return AccountList(lines, None)
        last = await self._database.fetchrow(SQL.last_suspended_read if of_suspended else SQL.last_read, *place, READ)
        return AccountList(lines, None if last is None else (last["created_ms"], last["tenant_id"]))

    async def count_accounts(self, *, suspended: bool | None) -> int:
        if suspended:
            return int(await self._database.fetchval(SQL.count_suspended, COUNTED))
        every = int(await self._database.fetchval(SQL.count, COUNTED))
        return every if suspended is None else every - await self.count_accounts(suspended=True)

    async def details(self, tenant_id: str, now_ms: int) -> AccountDetails | None:
        row = await self._database.fetchrow(SQL.line, tenant_id, now_ms)
        if row is None:
            return None
        bookings = await self._database.fetch(SQL.bookings, tenant_id, now_ms, COUNTED)
        by_status = {each["status"]: each["number"] for each in bookings}
        return AccountDetails(_line(row), row["keys"], row["sessions"], row["campaigns"], by_status)


async def tenants_named(database: Database, text: str) -> Sequence[str]:
    """The tenants of sponsors whose name has `text`, in lower case."""
    return [row["tenant_id"] for row in await database.fetch(SQL.sponsors_named, text, READ, NAMED)]


def _line(row: Row) -> AccountLine:
    return AccountLine(record_of(Account, row), Tier(row["tier"]), row["admin"], row["sponsor_name"])
