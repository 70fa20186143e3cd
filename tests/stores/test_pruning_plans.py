"""Pruning finds and deletes its rows by indexes, however large the tables are, with generic plans too."""

import pytest

from storage.pool import Connection, Database
from storage.statements import statements

SESSIONS, LETTERS, DEVICES, MAIL = (statements(name) for name in ("sessions", "letters", "devices", "mail"))

FILLED = """
insert into tenants (id, tier, lifetime_used, usecase_reads, month, month_used, day, day_used)
values ('ten_1', 'claimed', 0, 0, 0, 0, 0, 0);
insert into accounts (email, tenant_id, created_ms) values ('ann@example.com', 'ten_1', 1);
insert into sign_ins (email, proof, code_expires_ms, attempts, sent_ms, sent_day, sent_today)
select n || '@example.com', '', 0, 0, n, 0, 1 from generate_series(1, 20000) as n;
insert into sign_in_codes (email, browser, proof, code_expires_ms, attempts)
select n || '@example.com', sha256(''), '', n, 0 from generate_series(1, 20000) as n;
insert into letter_counts (id, sent_ms, sent_day, sent_today, known_until_ms)
select sha256(n::text::bytea), n, 0, 1, 0 from generate_series(1, 20000) as n;
insert into sign_in_links (token_hash, email, created_ms, expires_ms)
select sha256(n::text::bytea), 'ann@example.com', 1, n from generate_series(1, 20000) as n;
insert into sessions (id, token_hash, email, agent, created_ms, seen_ms, expires_ms)
select 'ses_' || n, sha256(n::text::bytea), 'ann@example.com', '', 1, 1, n from generate_series(1, 20000) as n;
insert into forms (session_id, id, sent_ms) select 'ses_' || n, '1', n from generate_series(1, 20000) as n;
insert into devices (id, code_hash, user_code, agent, address, created_ms, expires_ms, status, interval_seconds)
select 'dev_' || n, sha256(n::text::bytea), n, '', '', 1, n, 'pending', 5 from generate_series(1, 20000) as n;
insert into outbox (id, recipient, template, nonce, created_ms, expires_ms, due_ms, sent_ms)
select 'let_' || n, 'ann@example.com', 'sign_in_code', '', 1, 1, 1, n from generate_series(1, 20000) as n;
analyze sign_ins, sign_in_codes, letter_counts, sign_in_links, sessions, forms, devices, outbox;
set plan_cache_mode = force_generic_plan
"""


@pytest.mark.parametrize(
    "statement",
    [
        SESSIONS.prune_sign_ins,
        LETTERS.prune,
        SESSIONS.prune_links,
        SESSIONS.prune_sessions,
        DEVICES.prune,
        MAIL.prune,
    ],
    ids=["sign-ins", "counts", "links", "sessions", "devices", "letters"],
)
async def test_pruning_reads_no_table_as_a_whole(database: Database, statement: str) -> None:
    async def work(connection: Connection) -> tuple[str, int]:
        await connection.execute(FILLED)
        await connection.execute(f"prepare pruning (bigint, bigint) as {statement}")
        plan = "\n".join(row[0] for row in await connection.fetch("explain execute pruning (10000, 500)"))
        return plan, int(await connection.fetchval("execute pruning (10000, 500)"))

    plan, gone = await database.transact(work)
    assert gone == 500
    assert "Seq Scan" not in plan
