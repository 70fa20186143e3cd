"""Accounts with tens of thousands of ended keys, and with thousands of live ones: nothing reads, locks or lists the former,
and one key ends all of the latter."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

from actors.clock import DAY_MS
from actors.keys.messages import ByKey, EndKeys, Issue, KeySaved, KeysEnded, Revoke
from actors.keys.state import Decision, KeyRules, LockSet, Snapshot, decide, rows_to_lock
from actors.keys.store import ENDED_LISTED
from actors.values import BatchId
from storage.connection.pool import Connection, Database
from storage.postgres.keys import SQL, PostgresKeys
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
insert into tenants (id, tier) values ('ten_2', 'claimed');
insert into api_keys (id, hash, prefix, kind, tenant_id, created_ms) values ('key_9', sha256('9'), '', 'user', 'ten_2', 1);
analyze;
"""

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
}
MOST_ROWS = 1_001


class Batches:
    """Sends batches to the store, and remembers the rows that the last one locked."""

    def __init__(self, store: PostgresKeys) -> None:
        self._store, self._sent, self.locked = store, 0, Snapshot()

    async def send(self, *messages: Any) -> Any:
        self._sent += 1
        locks: LockSet = rows_to_lock(messages)

        def on(snapshot: Snapshot) -> Decision:
            self.locked = snapshot
            return decide(snapshot, messages, NOW, KeyRules(keys_per_day=1_000_000))

        decision = await self._store.transact(BatchId("node/keys", self._sent), locks, on, NOW)
        return decision.answers[0]


async def filled(database: Database, rows: str) -> Batches:
    await database.transact(lambda connection: connection.execute(rows))
    return Batches(PostgresKeys(database))


async def many_rows_read(database: Database, statements: Mapping[str, Any], most: int) -> dict[str, int]:
    """The rows that a step of a statement's plan reads, if more than `most`, by statement and kind of plan."""

    async def read(connection: Connection) -> dict[str, int]:
        found = {}
        for (name, (statement, values)), mode in product(statements.items(), ("generic", "custom")):
            await connection.execute(f"set plan_cache_mode = force_{mode}_plan")
            explain: str = f"explain (analyze, timing off, summary off) {statement}"
            lines = "\n".join(row[0] for row in await connection.fetch(explain, *values))
            counts = [float(rows) * int(loops) for rows, loops in re.findall(r"rows=(\d+\.?\d*) loops=(\d+)", lines)]
            counts += map(float, re.findall(r"Rows Removed by \w+(?: \w+)?: (\d+)", lines))
            found[f"{name}, {mode} plan"] = int(max(counts))
        return {name: count for name, count in found.items() if count > most}

    return await database.transact(read)


async def test_20_000_ended_keys_are_neither_read_nor_locked_nor_listed(database: Database) -> None:
    batches = await filled(database, HISTORY)

    assert await many_rows_read(database, STATEMENTS, MOST_ROWS) == {}
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


async def test_a_key_ends_with_10_000_live_keys_that_it_granted(database: Database) -> None:
    batches = await filled(database, LIVING)
    ended = await batches.send(Revoke("key_1", audit(1)))
    assert isinstance(ended, KeySaved)
    assert len(ended.ended) == 10_100
    assert await batches.send(EndKeys(EMAIL, audit(2))) == KeysEnded(())
    assert [key.id for key in await PostgresKeys(database).live_keys("ten_1", NOW)] == []
