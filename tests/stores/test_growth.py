"""What one free account can fill: no statement that serves it, or an administrator, reads the rows that have ended.

The tables and their bounds stand in docs/retention.md; `test_keys_at_scale.py` and `test_webhooks_at_scale.py` have two more.
"""

from typing import Any

from actors.times import DAY_MS, WEEK_MS
from actors.values import Account
from storage.connection.pool import Database
from storage.postgres.export import export
from storage.postgres.keys import SQL as KEYS
from storage.postgres.ledger import SQL as LEDGER
from storage.postgres.sessions import SQL as SESSIONS
from storage.postgres.sponsorship import OVERSIGHT
from tests.stores.plans import most_rows, most_rows_of_exports

NOW = 1_790_000_000_000
EMAIL = "one+1@example.com"

FILLED = f"""
insert into tenants (id, tier) select 'ten_' || n, 'claimed' from generate_series(1, 60) as n;
insert into accounts (email, tenant_id, created_ms) select 'one+' || n || '@example.com', 'ten_' || n, 1
from generate_series(1, 60) as n;
insert into tenants (id, tier) select 'far_' || n, 'claimed' from generate_series(1, 2000) as n;
insert into accounts (email, tenant_id, created_ms) select 'far' || n || '@example.com', 'far_' || n, 1
from generate_series(1, 2000) as n;
insert into sponsors (tenant_id, id, name, website, created_ms) values ('ten_1', 'spo_1', 'Brand', '', 1);
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms) values ('key_1', sha256('1'), '', 'user', 'ten_1', 1);
insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon)
values ('slot-1', 'Slot', 'left', 1, 1, true, 1, false);
insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms)
select 'cmp_' || n, 'ten_1', '', '', '', '', '', '', case when n = 1 then 'pending' else 'draft' end, n
from generate_series(1, 200) as n;
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status,
    mode, created_ms, hold_ms, refunded_cents)
select 'bok_' || n, 'ten_1', 'cmp_1', 'slot-1', 'Slot', {NOW} - {WEEK_MS}, 1, 1, 'usd', 'expired', 'test',
    {NOW} - {DAY_MS} - n, 1, 0
from generate_series(1, 20000) as n;
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status,
    mode, created_ms, hold_ms, refunded_cents)
select 'far_' || n, 'far_' || n % 2000 + 1, 'cmp_1', 'slot-1', 'Slot', {NOW} - {WEEK_MS}, 1, 1, 'usd', 'expired', 'test',
    {NOW} - {DAY_MS} - n, 1, 0
from generate_series(1, 20000) as n;
insert into booking_keys (tenant_id, operation, key, fingerprint, booking_id, created_ms)
select 'ten_1', case when n % 2 = 0 then 'reserve' else 'start' end, n, '', 'bok_' || n, n
from generate_series(1, 20000) as n;
insert into slot_weeks (slot_id, week_ms, booking_id)
select 'slot-1', n * {WEEK_MS}::bigint, 'bok_' || n from generate_series(1, 20000) as n;
insert into payment_events (id, booking_id, handled_ms)
select 'evt_' || n, 'bok_' || n / 2, n from generate_series(2, 20000) as n;
insert into invoices (number, series, sequence, kind, booking_id, payment_id, tenant_id, amount_cents, currency, mode,
    issued_ms, seller_name, seller_address, seller_tax_id, buyer_name, buyer_website, buyer_email, slot_name, week_start_ms,
    weeks)
select 'TEST-INV-' || n, 'test', n, 'invoice', 'bok_' || n, 'pay_' || n, 'ten_1', 1, 'usd', 'test', n / 3,
    '', '', '', '', '', '', 'Slot', 1, 1
from generate_series(1, 20000) as n;
insert into webhooks (id, tenant_id, url, host, events, created_ms, status)
select 'whk_' || n, 'ten_1', 'https://example.com/' || n, 'example.com', '{{booking.paid}}', 1, 'enabled'
from generate_series(1, 3) as n;
insert into webhook_deliveries (id, webhook_id, event_id, subject_id, type, body, created_ms, status, done_ms, attempts)
select 'dlv_' || n, 'whk_' || n % 3 + 1, 'evt_' || n, 'bok_1', 'booking.paid', '{{}}', 1, 'delivered', 1, 1
from generate_series(1, 20000) as n;
insert into audit (id, created_ms, actor_type, actor_id, actor_email, action, target_type, target_id, request_id, changes)
select 'aud_' || n, n, 'key', 'key_1', '{EMAIL}', case when n = 1 then 'campaign.rejected' else 'campaign.edited' end,
    'campaign', 'cmp_1', '', '{{}}'
from generate_series(1, 20000) as n;
insert into sessions (id, token_hash, email, agent, created_ms, seen_ms, expires_ms, revoked_ms)
select 'ses_' || n, sha256(n::text::bytea), '{EMAIL}', '', 1, 1, {NOW} - n, case when n % 2 = 0 then 1 end
from generate_series(1, 20000) as n;
analyze;
"""

STATEMENTS: dict[str, tuple[str, list[Any]]] = {
    "a charge's key": (
        KEYS.resolve,
        [[bytes.fromhex("6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b")], 50],
    ),
    "the accounts of a mailbox": (LEDGER.siblings, [["ten_1"], NOW - DAY_MS]),
    "the bookings of a new hold": (LEDGER.lock_bookings, [[], ["ten_1"], NOW - DAY_MS]),
    "the limits of campaigns": (LEDGER.campaign_counts, [["ten_1"]]),
    "a list of sessions": (SESSIONS.of_email, [EMAIL, NOW]),
    "a sign-in": (SESSIONS.lock_sessions, [[], [EMAIL], NOW]),
    "the review queue": (OVERSIGHT.review_queue, [NOW, -1, "", 50, 0, 0, None, []]),
}
MAX_ROWS = 400
OF_BOOKINGS = ("bookings", "booking_keys", "slot_weeks", "payment_events", "invoices", "webhook_deliveries")


async def test_20_000_ended_bookings_sessions_and_records_are_not_read(database: Database) -> None:
    await database.transact(lambda connection: connection.execute(FILLED), seconds=60)

    counts = await most_rows(database, STATEMENTS)
    assert {name: count for name, count in counts.items() if count > MAX_ROWS} == {}
    account = Account(EMAIL, "ten_1", 1)
    exported = await most_rows_of_exports(database, account, OF_BOOKINGS, MAX_ROWS // 4)
    assert {name: count for name, count in exported.items() if count > MAX_ROWS} == {}
    for table in OF_BOOKINGS:
        places = [""]
        while found := await export(database, account, table, places[-1], 3_000):
            places += [each.place for each in found]
        assert places == sorted(set(places)), table
        assert len(places) > 19_999, table
