"""Accounts with tens of thousands of ended keys, and with thousands of live ones: nothing reads, locks or lists the former,
and one key ends all of the latter."""

from typing import Any

from actors.accounts.messages import Deletion
from actors.accounts.sweeper import EraserLimits
from actors.clock import DAY_MS
from actors.keys.messages import ByKey, EndKeys, Issue, KeySaved, KeysEnded, Revoke
from actors.keys.state import Decision, KeyRules, LockSet, Snapshot, decide_in_steps, rows_to_lock
from actors.keys.store import ENDED_LISTED
from actors.values import Account, BatchId, Steps
from storage.connection.pool import Connection, Database
from storage.postgres.accounts import LISTS, PostgresAccounts, _erase
from storage.postgres.accounts import SQL as ACCOUNTS
from storage.postgres.keys import SQL, PostgresKeys
from storage.postgres.quota import SQL as QUOTA
from tests.stores.plans import most_rows, most_rows_of_exports
from tests.stores.test_key_renewals_contract import _key, edit, rotate
from tests.stores.test_keys_and_quota_contract import EMAIL, NOW, audit

HISTORY = f"""
insert into tenants (id, tier) values ('ten_1', 'claimed');
insert into accounts (email, tenant_id, created_ms) values ('{EMAIL}', 'ten_1', 1);
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms) values ('key_1', sha256('1'), '', 'user', 'ten_1', 1);
insert into api_keys (id, hash, prefix, kind, scopes, tenant_id, created_ms, granter_id)
values ('key_2', sha256('2'), '', 'scoped', '{{keys:manage,library:read}}', 'ten_1', 2, 'key_1'),
    ('key_3', sha256('3'), '', 'scoped', '{{keys:manage,library:read}}', 'ten_1', 3, 'key_2');
insert into api_keys (id, hash, prefix, kind, scopes, tenant_id, created_ms, expires_ms, revoked_ms, successor_id, granter_id)
select 'old_' || n, sha256(('old' || n)::bytea), '', 'scoped', '{{library:read}}', 'ten_1', {NOW} - n, {NOW} - n,
    case when n % 3 = 1 then {NOW} - n end, case when n % 3 = 2 then 'key_2' end, 'key_2'
from generate_series(1, 20000) as n;
insert into key_usage_days (tenant_id, key_id, day, used)
select 'ten_1', 'old_' || n, {NOW // DAY_MS} - d as day, 1 from generate_series(1, 20000) as n, generate_series(0, 3) as d
order by day;
insert into key_uses (key_id, used_ms) select 'old_' || n, 1 from generate_series(1, 20000, 3) as n;
insert into claims (token_hash, key_id, created_ms)
select sha256(n::text::bytea), 'old_' || n, 1 from generate_series(1, 20000, 7) as n;
insert into audit (id, created_ms, actor_type, actor_id, actor_email, action, target_type, target_id, request_id, changes)
select 'aud_o' || n, n / 3, 'key', 'key_1', case when n % 2 = 0 then '{EMAIL}' end, 'key.revoked', 'key', 'old_' || n, '',
    '{{}}'
from generate_series(1, 20000) as n;
insert into tenants (id, tier) values ('ten_2', 'claimed');
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms) values ('key_9', sha256('9'), '', 'user', 'ten_2', 1);
analyze;
"""

TOLD = f"""
insert into audit (id, created_ms, actor_type, actor_id, actor_email, action, target_type, target_id, request_id, changes)
select 'aud_n' || n, n, 'key', 'key_1', case when n % 2 = 0 then '{EMAIL}' end, 'key.changed', 'key', 'old_' || n, '',
    '{{"name": ["a", "b"]}}'
from generate_series(1, 20000) as n;
insert into sponsors (tenant_id, id, name, website, created_ms) values ('ten_1', 'spo_1', 'Brand', '', 1);
insert into campaigns (id, tenant_id, name, headline, body, cta, target_url, logo_text, status, created_ms)
values ('cmp_1', 'ten_1', '', '', '', '', '', '', 'draft', 1);
insert into audit (id, created_ms, actor_type, actor_id, actor_email, action, target_type, target_id, request_id, changes)
select 'aud_r' || n, n, 'session', 'ses_1', 'admin@example.com', 'campaign.rejected', 'campaign',
    (array['cmp_1', 'spo_1', 'sub_1'])[1 + n % 3], '', '{{"reviewNote": ["", "b"]}}'
from generate_series(1, 1800) as n;
insert into catalog_submissions (id, tenant_id, kind, slug, name, entry, created_ms, status)
values ('sub_1', 'ten_1', 'bots', 'a', 'A', '{{}}', 1, 'pending');
delete from accounts;
insert into account_deletions (tenant_id, email, requested_ms, sent_ms, confirmed_ms, due_ms, begun_ms)
values ('ten_1', '{EMAIL}', 1, 1, 1, 1, {NOW});
analyze;
"""
"""Words about each key, a campaign, a sponsor and a submission, by the owner and by others, and a deletion that has begun."""

LIVING = f"""
insert into tenants (id, tier) values ('ten_1', 'claimed');
insert into accounts (email, tenant_id, created_ms) values ('{EMAIL}', 'ten_1', 1);
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms) values ('key_1', sha256('1'), '', 'user', 'ten_1', 1);
insert into api_keys (id, hash, prefix, kind, scopes, tenant_id, created_ms, granter_id, origin_id, generation)
select 'key_' || n, sha256(n::text::bytea), '', 'scoped', '{{library:read}}', 'ten_1', n,
    case when n <= 5000 then 'key_' || n - 1 when n <= 10000 then 'key_' || n / 2 end,
    case when n > 10000 then 'key_1' end, case when n > 10000 then n - 10000 else 0 end
from generate_series(2, 10100) as n;
analyze;
"""
"""A chain of 5,000 keys, 5,000 others that they granted, and 100 that replaced the first one."""

STATEMENTS: dict[str, tuple[str, list[Any]]] = {
    "live_ids": (SQL.live_ids, [[], ["key_2"], NOW, NOW - 3_600_000]),
    "count_live": (SQL.count_live, [["ten_1"], NOW, NOW - NOW % DAY_MS]),
    "live_keys": (SQL.live_keys, ["ten_1", NOW, ENDED_LISTED]),
    "days_by_key": (QUOTA.days_by_key, ["ten_1", [f"old_{n}" for n in range(75)], NOW // DAY_MS - 90, NOW // DAY_MS]),
    "one account": (LISTS.line, ["ten_1", NOW]),
    "end_keys": (ACCOUNTS.end_keys, [["ten_1"], NOW, NOW]),
}
MAX_ROWS = 1_001

OF_KEYS = ("api_keys", "key_uses", "claims", "key_usage_days", "audit")
PAGE, MAX_TIMES = 200, 3
"""Rows of a page of an export, and how many times as many a statement of it may read."""

ERASED, TIMES_ERASED = EraserLimits().rows, 8
"""Rows of one kind in a step of an erasure, and how many times as many rows and entries of indexes it reads of a table."""

ROWS_READ = """
select relname, sum(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))::bigint from (
    select relname, oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
    union all select relname, indexrelid from pg_stat_user_indexes
) as named group by relname
"""
"""Rows and entries of indexes that this transaction has read, by table."""


ROWS_OF_50 = (
    ("key_usage_days", 200),
    ("audit", 50),
    ("api_keys", 53),
    ("key_uses", 17),
    ("claims", 8),
    ("bookings", 0),
)
"""The rows of each table with 50 ended keys."""


class Batches:
    """Sends batches to the store, and remembers the rows that the last one locked."""

    def __init__(self, store: PostgresKeys) -> None:
        self._store, self._sent, self.locked = store, 0, Snapshot()

    async def send(self, *messages: Any) -> Any:
        self._sent += 1
        locks: LockSet = rows_to_lock(messages)

        def on(snapshot: Snapshot) -> Steps[Decision]:
            self.locked = snapshot
            return decide_in_steps(snapshot, messages, NOW, KeyRules(keys_per_day=1_000_000))

        decision = await self._store.transact(BatchId("node/keys", self._sent), locks, on, NOW)
        return decision.answers[0]


async def filled(database: Database, rows: str) -> Batches:
    await database.transact(lambda connection: connection.execute(rows), seconds=60)
    return Batches(PostgresKeys(database))


async def test_20_000_ended_keys_are_neither_read_nor_locked_nor_listed(database: Database) -> None:
    batches = await filled(database, HISTORY)

    counts = await most_rows(database, STATEMENTS)
    assert {name: count for name, count in counts.items() if count > MAX_ROWS} == {}
    exported = await most_rows_of_exports(database, Account(EMAIL, "ten_1", 1), OF_KEYS, PAGE)
    assert {name: count for name, count in exported.items() if count > MAX_TIMES * PAGE} == {}
    listed = [key.id for key in await PostgresKeys(database).live_keys("ten_1", NOW)]
    assert listed[:3] == ["key_3", "key_2", "key_1"]
    assert len(listed) <= 3 + ENDED_LISTED
    messages = [
        Issue(_key(4), EMAIL, audit(4), ByKey("key_2")),
        edit(3, by=2, name="Reader"),
        rotate(3, 5, by=2),
        Revoke("key_2", audit(2)),
        EndKeys(EMAIL, audit(9)),
    ]
    for message in messages:
        await batches.send(message)
        assert len(batches.locked.keys) < 60, message


async def test_a_step_of_an_erasure_reads_what_it_changes_and_not_20_000_keys(database: Database) -> None:
    await filled(database, HISTORY + TOLD)
    deletion, more, read = Deletion(tenant_id="ten_1", email=EMAIL, requested_ms=1, begun_ms=NOW), True, list[int]()

    async def step(connection: Connection) -> bool:
        before = dict(await connection.fetch(ROWS_READ))
        again = await _erase(connection, deletion, ERASED)
        read.append(max(rows - before[table] for table, rows in await connection.fetch(ROWS_READ)))
        return again

    while more:
        more = await database.transact(step)
    assert max(read) <= TIMES_ERASED * ERASED, read
    told = f"select count(*) from audit where actor_email = '{EMAIL}' or changes <> '{{}}'"
    assert await database.fetchval(told) == 0
    assert await database.fetchval("select count(*) from api_keys where tenant_id = 'ten_1'") == 0


async def test_an_export_has_each_row_once_however_small_its_pages_are(database: Database) -> None:
    await database.transact(lambda connection: connection.execute(HISTORY.replace("1, 20000", "1, 50")))
    accounts, account = PostgresAccounts(database), Account(EMAIL, "ten_1", 1)
    for table, rows in ROWS_OF_50:
        places, page = [""], 7
        while found := await accounts.export(account, table, places[-1], page):
            places += [each.place for each in found]
        every = [each.place for each in await accounts.export(account, table, "", 1_000)]
        assert places[1:] == every == sorted(set(every)), table
        assert len(every) == rows, table


async def test_a_key_ends_with_10_000_live_keys_that_it_granted(database: Database) -> None:
    batches = await filled(database, LIVING)
    ended = await batches.send(Revoke("key_1", audit(1)))
    assert isinstance(ended, KeySaved)
    assert len(ended.ended) == 10_100
    assert await batches.send(EndKeys(EMAIL, audit(2))) == KeysEnded(())
    assert [key.id for key in await PostgresKeys(database).live_keys("ten_1", NOW)] == []
