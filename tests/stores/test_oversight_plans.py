"""The administrators' lists read by indexes, however many accounts and bookings there are."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from actors.accounts.store import AccountFilter
from actors.bookings.records import BookingStatus
from actors.bookings.store import BookingFilter
from actors.times import WEEK_MS
from actors.values import Tier
from storage.connection.pool import Connection, Database, Row
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.sponsorship import PostgresSponsorship

NOW = 1_790_000_000_000

FILLED = f"""
insert into tenants (id, tier) select 'ten_' || n, case when n % 50 = 0 then 'upgraded' else 'claimed' end
from generate_series(1, 10000) as n;
insert into accounts (email, tenant_id, created_ms, suspended_ms, suspension_reason)
select 'person' || n || '@example.com', 'ten_' || n, n, case when n % 100 = 0 then 1 end, case when n % 100 = 0 then 'x' end
from generate_series(1, 10000) as n;
insert into sponsors (tenant_id, id, name, website, created_ms)
select 'ten_' || n, 'spo_' || n, 'Brand ' || n, '', n from generate_series(1, 10000) as n;
insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon)
select 'slot-' || n, 'Slot', 'left', 1, 1, true, 1, false from generate_series(1, 20) as n;
insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms)
select 'cmp_' || n, 'ten_' || n, '', '', '', '', '', '', case when n % 100 = 0 then 'pending' else 'approved' end, n
from generate_series(1, 10000) as n;
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status,
    mode, created_ms, hold_ms, refunded_cents, paid_ms, paid_cents, payment_id, payment_issue)
select 'bok_' || n, 'ten_' || n % 1000 + 1, 'cmp_' || n, 'slot-' || n % 20 + 1, 'Slot',
    {NOW} + (n / 20)::bigint * {WEEK_MS}, 1, 1, 'usd',
    case when n % 3 = 0 then 'expired' when n % 500 = 1 then 'refunding' else 'paid' end, 'test', n, 1, 0,
    {NOW} - n * 100000000::bigint, 1, 'pay_' || n, case when n % 500 = 1 then 'refund_declined' end
from generate_series(1, 10000) as n;
insert into audit (id, created_ms, actor_type, actor_id, action, target_type, target_id, request_id, changes)
select 'aud_' || n, n, 'cli', 'cli', 'campaign.approved', 'campaign', 'cmp_' || n, '', '{{}}'
from generate_series(1, 10000) as n;
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms)
select 'key_' || n, sha256(n::text::bytea), '', 'user', 'ten_' || n, 1 from generate_series(1, 10000) as n;
insert into sessions (id, token_hash, email, agent, created_ms, seen_ms, expires_ms)
select 'ses_' || n, sha256(n::text::bytea), 'person' || n || '@example.com', '', 1, 1, n from generate_series(1, 10000) as n;
analyze;
"""

LARGE = ("accounts", "api_keys", "audit", "bookings", "campaigns", "sessions", "sponsors", "tenants")
"""Tables that no request reads as a whole."""


class Explained:
    """A database that explains each statement before it runs it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.plans: list[str] = []

    async def fetch(self, statement: str, *parameters: Any) -> list[Row]:
        async def work(connection: Connection) -> list[Row]:
            plan = await connection.fetch(f"explain {statement}", *parameters)
            self.plans.append("\n".join(row[0] for row in plan))
            return list(await connection.fetch(statement, *parameters))

        return await self._database.read(work)

    async def fetchrow(self, statement: str, *parameters: Any) -> Row | None:
        return next(iter(await self.fetch(statement, *parameters)), None)

    async def fetchval(self, statement: str, *parameters: Any) -> Any:
        return next(iter((await self.fetch(statement, *parameters))[0].values()))


Read = Callable[[PostgresAccounts, PostgresSponsorship], Awaitable[Any]]

READS: dict[str, Read] = {
    "accounts": lambda accounts, _: accounts.accounts(AccountFilter(), (5_000, "ten_5000"), 20),
    "suspended accounts": lambda accounts, _: accounts.accounts(AccountFilter(suspended=True), None, 20),
    "one account": lambda accounts, _: accounts.details("ten_77", NOW),
    "accounts by a part": lambda accounts, _: accounts.accounts(AccountFilter(text="son77"), None, 20),
    "accounts that do not exist": lambda accounts, _: accounts.accounts(AccountFilter(text="nobody"), None, 20),
    "accounts by tier": lambda accounts, _: accounts.accounts(AccountFilter(tier=Tier.UPGRADED), None, 20),
    "counts": lambda _, reads: reads.list_counts(NOW),
    "the queue": lambda _, reads: reads.review_queue(NOW, None, 10),
    "revenue": lambda _, reads: reads.revenue(NOW - 30 * 24 * 3_600_000, NOW),
    "what can be refunded": lambda _, reads: reads.refundable("ten_77", NOW, 25),
    **{
        f"bookings by {name}": lambda _, reads, wanted=wanted: reads.filtered_bookings(wanted, NOW, None, 20)  # type: ignore[misc]
        for name, wanted in {
            "status": BookingFilter(status=BookingStatus.REFUNDING),
            "week": BookingFilter(week_ms=NOW + 7 * WEEK_MS),
            "sponsor": BookingFilter(sponsor="spo_77"),
            "slot": BookingFilter(slot_id="slot-7"),
            "payment": BookingFilter(text="pay_77"),
            "trouble": BookingFilter(trouble=True),
            "no trouble": BookingFilter(trouble=False),
            "several": BookingFilter(status=BookingStatus.PAID, slot_id="slot-7", week_ms=NOW + 9 * WEEK_MS),
        }.items()
    },
}


@pytest.fixture
async def explained(database: Database) -> Explained:
    await database.read(lambda connection: connection.execute(FILLED))
    return Explained(database)


async def test_ten_thousand_accounts_and_bookings_are_read_by_indexes(explained: Explained) -> None:
    accounts, reads = PostgresAccounts(explained), PostgresSponsorship(explained)  # type: ignore[arg-type]
    for name, read in READS.items():
        explained.plans = []
        await read(accounts, reads)
        # A state that a third of the rows is in is counted by reading them, at most 10,000.
        for plan in explained.plans if name != "counts" else ():
            assert not set(re.findall(r"Seq Scan on (\w+)", plan)) & set(LARGE), f"{name}: {plan}"
