"""Pruning finds and deletes its rows by indexes, however large the tables are, with generic plans too."""

import re

from actors.retention.store import Rows
from storage.connection.pool import Connection, Database
from storage.postgres.retention import PRUNING
from storage.rows.statements import statements

MAIL = statements("mail")

FILLED = """
insert into tenants (id, tier, lifetime_used, usecase_reads, month, month_used, day, day_used)
values ('ten_1', 'claimed', 0, 0, 0, 0, 0, 0);
insert into accounts (email, tenant_id, created_ms) values ('ann@example.com', 'ten_1', 1);
insert into sign_in_codes (email, browser, proof, code_expires_ms, attempts)
select n || '@example.com', sha256(''), '', n, 0 from generate_series(1, 8000) as n;
insert into letter_counts (id, sent_ms, sent_day, sent_today, known_until_ms)
select sha256(n::text::bytea), n, 0, 1, 0 from generate_series(1, 8000) as n;
insert into sign_in_links (token_hash, email, created_ms, expires_ms)
select sha256(n::text::bytea), 'ann@example.com', 1, n from generate_series(1, 8000) as n;
insert into sessions (id, token_hash, email, agent, created_ms, seen_ms, expires_ms)
select 'ses_' || n, sha256(n::text::bytea), 'ann@example.com', '', 1, 1, n from generate_series(1, 8000) as n;
insert into devices (id, code_hash, user_code, agent, address, created_ms, expires_ms, status, interval_seconds)
select 'dev_' || n, sha256(n::text::bytea), n, '', '', 1, n, 'pending', 5 from generate_series(1, 8000) as n;
insert into authorizations (id, code_hash, client_hash, client_name, redirect_uri, challenge, resource, scopes, email,
    session_id, created_ms, expires_ms, key_expires_ms, used_ms)
select 'aut_' || n, sha256(n::text::bytea), sha256(''), '', '', sha256(''), '', '{}', 'ann@example.com', '', 1, n, 1, 1
from generate_series(1, 8000) as n;
insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, due_ms, sent_ms)
select 'let_' || n, 'ann@example.com', 'sign_in_code', '', 1, 1, 1, n from generate_series(1, 8000) as n;
insert into pending_sign_ins (id, token_hash, email, agent, created_ms, expires_ms)
select 'ses_' || n, sha256(n::text::bytea), 'ann@example.com', '', 1, n from generate_series(1, 8000) as n;
insert into passkey_challenges (holder_id, purpose, hash, expires_ms)
select 'ses_' || n, 'confirm', sha256(n::text::bytea), n from generate_series(1, 8000) as n;
insert into tenants (id, tier) select 'anon_' || n, 'anonymous' from generate_series(1, 8000) as n;
insert into tenants (id, tier, merged_into) select 'old_' || n, 'anonymous', 'ten_1' from generate_series(1, 2000) as n;
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms, expires_ms)
select 'anon_' || n, sha256(('a' || n)::bytea), '', 'anon', 'anon_' || n, 1, n from generate_series(1, 8000) as n;
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms, revoked_ms)
select 'user_' || n, sha256(('u' || n)::bytea), '', 'user', 'ten_1', 1, n from generate_series(1, 8000) as n;
insert into claims (token_hash, key_id, created_ms, email, sent_ms)
select sha256(n::text::bytea), 'anon_' || n, 1, n || '@example.com', n from generate_series(1, 8000) as n;
insert into key_uses select id, 1 from api_keys;
insert into usage_days select 'anon_' || n, n % 5, 1 from generate_series(1, 8000) as n;
insert into key_usage_days select 'anon_' || n, 'key_' || n, n % 5, 1 from generate_series(1, 8000) as n;
insert into slots (id, name, side, week_price_cents, created_ms, active, weeks, coming_soon)
values ('left', 'Left', 'left', 1, 1, true, 1, false);
insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms)
values ('cmp_1', 'ten_1', '', '', '', '', '', '', 'draft', 1);
insert into bookings (id, tenant_id, campaign_id, slot_id, slot_name, week_start_ms, weeks, amount_cents, currency, status,
    mode, created_ms, hold_ms, refunded_cents)
select 'bok_' || n, 'ten_1', 'cmp_1', 'left', 'Left', n, 1, 1, 'usd', 'cancelled', 'test', 1, n, 0
from generate_series(1, 8000) as n;
insert into slot_weeks select 'left', n, 'bok_' || n from generate_series(7001, 8000) as n;
insert into booking_keys select 'ten_1', 'bookings', n, '', 'bok_' || n, 1 from generate_series(1, 8000) as n;
insert into payment_events select 'evt_' || n, 'bok_' || n, n from generate_series(1, 8000) as n;
insert into payment_reports select 'dp_' || n, 'pay_' || n, 'disputed', n from generate_series(1, 8000) as n;
insert into account_deletions (tenant_id, email, requested_ms, sent_ms)
select 'gone_' || n, n || '@example.com', 1, n from generate_series(1, 8000) as n;
insert into catalog_changes (kind, slug, change, at_ms, document)
select 'bots', 'bot-' || n, 'removed', n, '{}' from generate_series(1, 8000) as n;
insert into webhooks (id, tenant_id, url, host, events, created_ms, status)
select 'whk_' || n, 'ten_1', 'https://' || n, '', '{booking.paid}', 1, 'disabled' from generate_series(1, 2000) as n;
insert into webhook_deliveries (id, webhook_id, event_id, subject_id, type, body, created_ms, status, done_ms)
select 'dlv_' || n, 'whk_' || n % 2000 + 1, 'evt_' || n, 'bok_' || n, 'booking.paid', '', n,
    case when n % 2 = 0 then 'delivered' else 'waiting' end, case when n % 2 = 0 then n end
from generate_series(1, 8000) as n;
insert into webhook_events (id, tenant_id, subject_id, type, body, created_ms)
select 'evt_' || n, 'ten_1', 'bok_' || n, 'booking.paid', '', n from generate_series(1, 8000) as n;
insert into tenants (id, tier) select 'author_' || n, 'claimed' from generate_series(1, 8000) as n;
insert into catalog_submissions (id, tenant_id, kind, slug, name, entry, created_ms, status, decided_ms)
select 'sub_' || n, 'author_' || n, 'bots', 'a', '', '', 1, 'declined', n from generate_series(1, 8000) as n;
analyze catalog_submissions;
analyze tenants, api_keys, claims, key_uses, usage_days, key_usage_days, bookings, slot_weeks, booking_keys;
analyze payment_events, payment_reports;
analyze account_deletions, sign_in_codes, letter_counts, sign_in_links, sessions, devices, authorizations, outbox;
analyze pending_sign_ins, passkey_challenges, webhooks, webhook_deliveries, webhook_events;
set plan_cache_mode = force_generic_plan
"""


STATEMENTS = {
    "letters": MAIL.prune,
    **{rows.value: PRUNING[rows] for rows in Rows if rows not in (Rows.AUDIT, Rows.JOURNAL)},
}
"""The audit is pruned by a function, below. The journal has no index, as its statement explains."""


async def test_pruning_reads_no_table_as_a_whole(database: Database) -> None:
    async def work(connection: Connection) -> dict[str, tuple[str, int]]:
        await connection.execute(FILLED)
        found = {}
        for number, (name, statement) in enumerate(STATEMENTS.items()):
            await connection.execute(f"prepare pruning_{number} (bigint, bigint) as {statement}")
            prune = f"execute pruning_{number} (864000000, 500)"
            plan = "\n".join(row[0] for row in await connection.fetch(f"explain {prune}"))
            found[name] = plan, int(await connection.fetchval(prune))
        return found

    for name, (plan, gone) in (await database.transact(work, seconds=20.0)).items():
        assert gone == 500, name
        # The revision and the horizon of the catalog are one row each.
        assert not re.search("Seq Scan on (?!catalog_(revision|forgotten) )", plan), (name, plan)


async def test_a_deletion_finds_the_rows_that_refer_to_it_by_an_index(database: Database) -> None:
    """For each deleted row, Postgres looks for rows that refer to it."""
    unsupported = await database.fetch("""
        select conname from pg_constraint where contype = 'f' and not exists (
            select from pg_index where indrelid = conrelid and indkey[0] = conkey[1]
        )
    """)
    assert [row["conname"] for row in unsupported] == []


async def test_pruning_the_audit_reads_its_oldest_records_only(database: Database) -> None:
    filled = """
    insert into audit select 'aud_' || n, n, 'key', 'key_1', 'ann@example.com', 'key.issued', 'key', 'key_' || n, '', '{}'
    from generate_series(1, 20000) as n;
    analyze audit
    """

    async def work(connection: Connection) -> tuple[int, int]:
        await connection.execute(filled)
        assert await connection.fetchval("select prune_audit(10000, 500)") == 500
        return await connection.fetchval("select count(*) from audit"), await connection.fetchval(
            "select min(created_ms) from audit"
        )

    assert await database.transact(work) == (19_500, 501)
    body = await database.fetchval("select prosrc from pg_proc where proname = 'prune_audit'")
    found = re.search(r"with gone.*from gone", body, re.DOTALL)
    assert found, body
    statement = found[0].replace("before_ms", "10000").replace("most", "500")
    plan = await database.transact(lambda connection: _plan(connection, statement))
    assert "Seq Scan" not in plan


async def _plan(connection: Connection, statement: str) -> str:
    await connection.execute("analyze audit")
    return "\n".join(row[0] for row in await connection.fetch(f"explain {statement}"))
