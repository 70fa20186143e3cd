"""Decisions about thousands of rows: neither a statement nor a step between two statements grows with them."""

from collections.abc import Callable, Coroutine
from dataclasses import fields
from typing import Any, cast

from actors.keys.messages import Key, KeySaved, Revoke
from actors.keys.state import Decision, KeyRules, Snapshot, decide_in_steps, rows_to_lock
from actors.keys.unit_of_work import STEP
from actors.shared.credentials import Kind
from actors.values import AuditRecord, BatchId, Steps, Tenant, Tier
from storage.connection.pool import Database
from storage.postgres.keys import SQL, PostgresKeys
from storage.postgres.quota import SQL as QUOTA
from storage.rows.columns import SLICE
from storage.rows.tables import AUDIT

KEYS = {
    f"key_{n}": Key(f"key_{n}", b"%d" % n, "", Kind.SCOPED, "ten_1", 1, granter_id="key_0" if n else None)
    for n in range(1_300)
}


class Connection:
    """A connection to a server with these keys, which notes how many rows each statement has and returns."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.audits: list[str] = []

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        found: dict[str, Callable[[], list[dict[str, Any]]]] = {
            SQL.live_ids: lambda: [{"id": key_id} for key_id in KEYS],
            SQL.lock_keys: lambda: [_row(KEYS[key_id]) for key_id in values[0]],
            QUOTA.lock: lambda: [_row(Tenant("ten_1", Tier.CLAIMED))],
        }
        rows = found.get(statement, list)()
        if statement != SQL.live_ids:  # which has one short column
            self.rows.append(len(rows))
        return rows

    async def fetchval(self, *_: Any) -> int:
        return 1

    async def execute(self, statement: str, *values: Any) -> None:
        self.rows += [len(value) for value in values]
        if statement == AUDIT.inserting:
            self.audits += values[0]


class Transactions:
    """A database that runs a transaction to its end, and counts when it lets other tasks run."""

    def __init__(self) -> None:
        self.connection, self.pauses = Connection(), 0

    async def transact(self, work: Callable[[Connection], Coroutine[None, None, Any]]) -> Any:
        running = work(self.connection)
        while True:
            try:
                running.send(None)
            except StopIteration as end:
                return end.value
            self.pauses += 1


def _row(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


async def test_1_300_keys_end_in_small_steps_and_statements() -> None:
    database = Transactions()
    revoke = Revoke("key_0", AuditRecord("aud_1", 1, "cli", "root", "key.revoked", "key", "key_0"))

    def on(snapshot: Snapshot) -> Steps[Decision]:
        return decide_in_steps(snapshot, [revoke], 2, KeyRules())

    store = PostgresKeys(cast(Database, database))
    [answer] = (await store.transact(BatchId("node/keys", 1), rows_to_lock([revoke]), on, 2)).answers
    assert isinstance(answer, KeySaved)
    assert set(answer.ended) == set(KEYS)
    assert max(database.connection.rows) == SLICE
    assert database.pauses >= 2 * len(KEYS) // STEP
    audits = database.connection.audits
    assert audits == sorted(audits)  # in one order on all nodes
    assert len(set(audits)) == len(KEYS)
