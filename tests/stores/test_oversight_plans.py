"""The administrators' lists read by indexes, however many accounts and bookings there are."""

import re
from collections.abc import Awaitable, Callable
from itertools import product
from typing import Any

from actors.accounts.store import AccountFilter
from actors.bookings.records import BookingStatus, CampaignStatus
from actors.bookings.reports import Days
from actors.bookings.store import BookingFilter
from actors.times import DAY_MS, WEEK_MS
from actors.values import Tier
from service.api.spreadsheets import LinesSheet
from storage.connection.pool import Connection, Database
from storage.postgres.accounts import PostgresAccounts
from storage.postgres.sponsorship import PostgresSponsorship
from storage.postgres.submissions import PostgresSubmissions
from tests.stores.plans import MODES, Recorder, plan_of

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
select 'bok_' || n, 'ten_' || case when n % 10 = 7 then 77 else n % 1000 + 1 end, 'cmp_' || n, 'slot-' || n % 20 + 1, 'Slot',
    {NOW} + (n / 20)::bigint * {WEEK_MS}, 1, 1, 'usd',
    case when n % 3 = 0 then 'expired' when n % 500 = 1 then 'refunding' else 'paid' end, 'test', n, 1, 0,
    {NOW} - n * 100000000::bigint, 1, 'pay_' || n, case when n % 500 = 1 then 'refund_declined' end
from generate_series(1, 10000) as n;
insert into catalog_submissions (id, tenant_id, kind, slug, name, entry, created_ms, status)
select 'sub_' || n, 'ten_' || n, 'bots', 'a', 'A', '{{}}', n, 'pending' from generate_series(1, 10000) as n;
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


Read = Callable[[PostgresAccounts, PostgresSponsorship], Awaitable[Any]]

ROWS = LinesSheet.page_rows
"""The most of a page of these lists: that of a file."""

READS: dict[str, Read] = {
    "accounts": lambda accounts, _: accounts.accounts(AccountFilter(), (5_000, "ten_5000"), ROWS),
    "suspended accounts": lambda accounts, _: accounts.accounts(AccountFilter(suspended=True), None, ROWS),
    "one account": lambda accounts, _: accounts.details("ten_77", NOW),
    "accounts by a part": lambda accounts, _: accounts.accounts(AccountFilter(text="son77"), None, ROWS),
    "accounts that do not exist": lambda accounts, _: accounts.accounts(AccountFilter(text="nobody"), None, ROWS),
    "accounts by tier": lambda accounts, _: accounts.accounts(AccountFilter(tier=Tier.UPGRADED), None, ROWS),
    "files of bookings": lambda _, reads: reads.booking_lines(BookingFilter(), NOW, None, ROWS),
    "bookings": lambda _, reads: reads.bookings(None, None, ROWS),
    "bookings of an account": lambda _, reads: reads.bookings("ten_77", None, ROWS),
    "campaigns": lambda _, reads: reads.everybodys_campaigns(None, None, ROWS),
    "campaigns of an account": lambda _, reads: reads.campaigns("ten_77", None, ROWS),
    **{
        f"{status} campaigns, {'oldest' if oldest else 'newest'} first": (
            lambda _, reads, status=status, oldest=oldest: reads.everybodys_campaigns(status, None, ROWS, oldest=oldest)  # type: ignore[misc]
        )
        for status, oldest in product((CampaignStatus.PENDING, CampaignStatus.APPROVED), (True, False))
    },
    "deliveries": lambda _, reads: reads.deliveries("ten_77", Days(NOW // DAY_MS, NOW // DAY_MS + 5_000), None, ROWS),
    "runs": lambda _, reads: reads.runs("ten_77", Days(NOW // DAY_MS, NOW // DAY_MS + 5_000), 5_001),
    "sponsors": lambda _, reads: reads.sponsors(None, ROWS),
    "counts": lambda _, reads: reads.list_counts(NOW),
    "the queue": lambda _, reads: reads.review_queue(NOW, None, ROWS),
    "revenue": lambda _, reads: reads.revenue(NOW - 30 * 24 * 3_600_000, NOW),
    "sales": lambda _, reads: reads.sales(NOW - 30 * 24 * 3_600_000, NOW, 10),
    "what can be refunded": lambda _, reads: reads.refundable("ten_77", NOW, ROWS),
    **{
        f"bookings by {name}": lambda _, reads, wanted=wanted: reads.filtered_bookings(wanted, NOW, None, ROWS)  # type: ignore[misc]
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


async def test_ten_thousand_accounts_and_bookings_are_read_by_indexes(database: Database) -> None:
    await database.read(lambda connection: connection.execute(FILLED))
    recorder = Recorder(database)
    accounts, reads = PostgresAccounts(recorder), PostgresSponsorship(recorder)  # type: ignore[arg-type]
    for recorder.name, read in READS.items():
        await read(accounts, reads)
    for recorder.name, oldest in (("newest submissions", False), ("oldest submissions", True)):
        await PostgresSubmissions(recorder).for_review(None, None, ROWS, oldest=oldest)  # type: ignore[arg-type]

    async def whole(connection: Connection) -> list[str]:
        found = []
        for (name, (statement, values)), mode in product(recorder.found.items(), MODES):
            plan = await plan_of(connection, statement, values, mode, "costs off")
            tables = set(re.findall(r"Seq Scan on (\w+)", plan)) & set(LARGE)
            # A state that a third of the rows is in is counted by reading them, at most 10,000.
            if tables and not name.startswith("counts"):
                found.append(f"{name}, {mode} plan reads {tables} as a whole")
        return found

    found = await database.transact(whole)
    assert not found, "\n".join(found)
