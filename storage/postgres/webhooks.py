"""The webhook store over Postgres, and the events that other stores publish in their transactions."""

from collections.abc import Sequence
from functools import partial

from actors.shared.announcements import AccountMail, WebhookEvent
from actors.values import BatchId
from actors.webhooks.messages import (
    Attempt,
    Backlog,
    Delivery,
    Feed,
    Lease,
    NewDelivery,
    Published,
    Ready,
    Room,
    Task,
    Webhook,
)
from actors.webhooks.sending import Judge, body_of, by_webhook, choose, fan_out
from actors.webhooks.state import Decision, LockSet, Snapshot, snapshot_of
from actors.webhooks.store import MAX_COUNTED, Decide
from storage.connection.pool import Connection, Store
from storage.postgres.mail import insert_mails
from storage.rows.columns import columns, record_of, write
from storage.rows.journal import decide_once
from storage.rows.statements import statements
from storage.rows.tables import AUDIT, DELIVERIES, WEBHOOKS

SQL = statements("webhooks")

EVENT = ("id", "tenant_id", "subject_id", "type", "created_ms")

MAX_READY = 4
"""A lease looks at so many webhooks for each free attempt."""


async def publish(connection: Connection, webhook_events: Sequence[WebhookEvent]) -> None:
    """Add events to the feeds of their accounts, and queue a delivery of each for each enabled webhook that wants it, in the
    caller's transaction.

    Locks the names of the accounts and then these webhooks, both sorted, as the last of the caller's locks. The former are
    held until the commit, so the events of an account become visible in their order. Publishing an event again adds nothing.
    """
    if not webhook_events:
        return
    tenants = sorted({each.tenant_id for each in webhook_events})
    await connection.execute(SQL.lock_names, tenants)
    rows = [(*map(partial(getattr, each), EVENT), body_of(each)) for each in webhook_events]
    await write(connection, SQL.publish, list(map(list, zip(*rows, strict=True))))
    rows = await connection.fetch(SQL.lock_wanting, tenants, sorted({each.type for each in webhook_events}))
    await _add(connection, fan_out((record_of(Webhook, row) for row in rows), webhook_events))


class PostgresWebhooks(Store):
    """Webhooks and deliveries in their tables."""

    # For the webhook actor.

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        async def save(connection: Connection, before: Snapshot, decision: Decision) -> None:
            await _write(connection, decision, now_ms)

        return await decide_once(
            self._database, batch_id, lambda connection: _snapshot(connection, locks), decide, save
        )

    async def webhooks(self, tenant_id: str) -> Sequence[Webhook]:
        return [record_of(Webhook, row) for row in await self._database.fetch(SQL.of_account, tenant_id)]

    async def webhook(self, tenant_id: str, webhook_id: str) -> Webhook | None:
        row = await self._database.fetchrow(SQL.one, tenant_id, webhook_id)
        return None if row is None else record_of(Webhook, row)

    async def deliveries(self, webhook_id: str, before_seq: int | None, limit: int) -> Sequence[Delivery]:
        rows = await self._database.fetch(SQL.log, webhook_id, before_seq, limit)
        return [record_of(Delivery, row) for row in rows]

    async def count_deliveries(self, webhook_id: str, most: int) -> int:
        return int(await self._database.fetchval(SQL.count_of, webhook_id, most))

    async def feed(self, tenant_id: str, after_seq: int, since_ms: int, limit: int) -> Feed:
        async def work(connection: Connection) -> Feed:
            # Read first: what is published between both statements comes after it.
            newest = await connection.fetchval(SQL.newest_event, tenant_id)
            rows = await connection.fetch(SQL.feed, tenant_id, after_seq, since_ms, limit)
            found = tuple([record_of(Published, row) for row in rows])
            return Feed(found, found[-1].seq if found else max(after_seq, newest))

        return await self._database.read(work)

    # For the sender.

    async def lease(self, room: Room, now_ms: int, until_ms: int) -> Lease:
        async def work(connection: Connection) -> Lease:
            full_hosts = [host for host, busy in room.hosts.items() if busy >= room.per_receiver]
            full_accounts = [tenant_id for tenant_id, busy in room.accounts.items() if busy >= room.per_account]
            rows = await connection.fetch(
                SQL.ready, now_ms, full_hosts, full_accounts, room.slow_free > 0, MAX_READY * room.free
            )
            chosen = choose((Ready(**row) for row in rows), room)
            tasks: list[Task] = []
            if chosen:
                ids = sorted(chosen)
                leased = await connection.fetch(SQL.lease, ids, [chosen[each] for each in ids], now_ms, until_ms)
                await connection.execute(SQL.pause, ids, until_ms)
                await connection.execute(SQL.refresh, ids)
                webhooks = {row["id"]: record_of(Webhook, row) for row in await connection.fetch(SQL.lock, ids)}
                tasks = [Task(record_of(Delivery, row), webhooks[row["webhook_id"]]) for row in leased]
            next_due_ms = await connection.fetchval(SQL.next_due, now_ms)
            return Lease(tuple(sorted(tasks, key=lambda task: task.delivery.seq)), next_due_ms)

        return await self._database.transact(work)

    async def settle(self, attempts: Sequence[Attempt], judge: Judge) -> Sequence[Webhook]:
        async def work(connection: Connection) -> list[Webhook]:
            grouped = by_webhook(attempts)
            webhooks = {row["id"]: record_of(Webhook, row) for row in await connection.fetch(SQL.lock, list(grouped))}
            rows = await connection.fetch(SQL.deliveries, [each.delivery_id for each in attempts])
            deliveries = {row["id"]: record_of(Delivery, row) for row in rows}
            changed: dict[int, Delivery] = {}
            mails: list[AccountMail] = []
            disabled: list[Webhook] = []
            for webhook_id in webhooks:
                for attempt in grouped[webhook_id]:
                    delivery = deliveries.get(attempt.delivery_id)
                    verdict = None if delivery is None else judge(webhooks[webhook_id], delivery, attempt)
                    if verdict is not None:
                        webhooks[webhook_id] = verdict.webhook
                        deliveries[attempt.delivery_id] = changed[verdict.delivery.seq] = verdict.delivery
                        if verdict.mail is not None:
                            mails.append(verdict.mail)
                            disabled.append(verdict.webhook)
            await _settle(connection, webhooks, changed, mails)
            return disabled

        return await self._database.transact(work)

    async def backlog(self, now_ms: int) -> Backlog:
        async def work(connection: Connection) -> Backlog:
            row = await connection.fetchrow(SQL.backlog, MAX_COUNTED)
            late_since_ms = await connection.fetchval(SQL.late, now_ms)
            return Backlog(row["waiting"], row["oldest_ms"], late_since_ms)

        return await self._database.read(work)


async def _snapshot(connection: Connection, locks: LockSet) -> Snapshot:
    await connection.execute(SQL.lock_names, list(locks.tenant_ids))
    rows = await connection.fetch(SQL.lock_of, list(locks.tenant_ids))
    webhooks = {row["id"]: record_of(Webhook, row) for row in rows}
    named = [record_of(Delivery, row) for row in await connection.fetch(SQL.deliveries, list(locks.delivery_ids))]
    waiting = await connection.fetch(SQL.waiting_like, list(locks.delivery_ids), list(webhooks))
    return snapshot_of(webhooks, named, [record_of(Delivery, row) for row in waiting])


async def _write(connection: Connection, decision: Decision, now_ms: int) -> None:
    if decision.deleted:
        await connection.execute(SQL.delete, sorted(decision.deleted))
    await WEBHOOKS.insert(connection, decision.created.values())
    enabled = sorted(decision.enabled)
    if enabled:
        await WEBHOOKS.update(connection, decision.enabled.values())
        await connection.execute(SQL.restart, enabled, now_ms)
        await connection.execute(SQL.refresh, enabled)
    await _add(connection, decision.deliveries)
    await AUDIT.insert(connection, decision.audits)


async def _add(connection: Connection, deliveries: Sequence[NewDelivery]) -> None:
    if deliveries:
        await write(connection, SQL.add, columns(NewDelivery, deliveries))
        await connection.execute(SQL.refresh, sorted({each.webhook_id for each in deliveries}))


async def _settle(
    connection: Connection, webhooks: dict[str, Webhook], changed: dict[int, Delivery], mails: Sequence[AccountMail]
) -> None:
    await DELIVERIES.update(connection, changed.values())
    done = {each.seq: each.done_ms for each in changed.values() if each.done_ms is not None}
    if done:
        await connection.execute(SQL.follow, list(done), max(done.values()))
    await WEBHOOKS.update(connection, webhooks.values())
    if webhooks:
        await connection.execute(SQL.refresh, list(webhooks))
    await insert_mails(connection, mails)
