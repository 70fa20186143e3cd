"""Accounts as administrators list them, in memory."""

from collections import Counter

from actors.accounts.listing import AccountDetails, AccountFilter, AccountLine, AccountList, AccountPosition
from actors.keys.validity import is_live
from actors.values import Account
from tests.doubles.tables import MemoryStore


class MemoryAccountLists(MemoryStore):
    """Accounts with their tenant, sponsor and membership."""

    async def accounts(self, wanted: AccountFilter, after: AccountPosition | None, limit: int) -> AccountList:
        await self._memory.before()
        lines = sorted(map(self._line, self._memory.accounts.values()), key=lambda line: line.spot, reverse=True)
        found = [line for line in lines if (after is None or line.spot < after) and _matches(line, wanted)]
        return AccountList(found[:limit], found[limit - 1].spot if len(found) > limit else None)

    async def count_accounts(self, *, suspended: bool | None) -> int:
        await self._memory.before()
        rows = self._memory.accounts.values()
        return sum(suspended in (None, row.suspended_ms is not None) for row in rows)

    async def details(self, tenant_id: str, now_ms: int) -> AccountDetails | None:
        await self._memory.before()
        tables = self._memory
        account = next((row for row in tables.accounts.values() if row.tenant_id == tenant_id), None)
        if account is None:
            return None
        bookings = [row.status_at(now_ms).value for row in tables.bookings.values() if row.tenant_id == tenant_id]
        return AccountDetails(
            self._line(account),
            sum(row.tenant_id == tenant_id and is_live(row, now_ms) for row in tables.keys.values()),
            sum(row.email == account.email and row.is_live(now_ms) for row in tables.sessions.values()),
            sum(row.tenant_id == tenant_id for row in tables.campaigns.values()),
            Counter(bookings),
        )

    def _line(self, account: Account) -> AccountLine:
        tables = self._memory
        sponsor = tables.sponsors.get(account.tenant_id)
        return AccountLine(
            account,
            tables.tenants[account.tenant_id].tier,
            account.email in tables.administrators,
            None if sponsor is None else sponsor.name,
        )


def _matches(line: AccountLine, wanted: AccountFilter) -> bool:
    account, text = line.account, wanted.text
    named = text is None or text in account.email or text == account.tenant_id
    return (
        (named or (text or "") in (line.sponsor_name or "").lower())
        and wanted.tier in (None, line.tier)
        and wanted.suspended in (None, account.suspended_ms is not None)
    )
