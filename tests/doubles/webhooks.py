"""The webhook store in memory, and the events that other stores in memory tell webhooks."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from actors.shared.announcements import WebhookEvent
from actors.values import BatchId, Contended
from actors.webhooks.messages import (
    Attempt,
    Backlog,
    Delivery,
    DeliveryStatus,
    Feed,
    Lease,
    NewDelivery,
    Published,
    Ready,
    Room,
    Task,
    Webhook,
    WebhookStatus,
)
from actors.webhooks.sending import Judge, body_of, by_webhook, choose, fan_out
from actors.webhooks.state import Decision, LockSet, Snapshot, snapshot_of
from actors.webhooks.store import MAX_COUNTED, Decide
from tests.doubles.announcements import tell
from tests.doubles.tables import Memory, MemoryStore, picked


def publish(tables: Memory, webhook_events: Sequence[WebhookEvent]) -> None:
    """Add events to the feeds of their accounts, and queue a delivery of each for each enabled webhook that wants it."""
    for each in webhook_events:
        if each.id not in tables.webhook_events:
            tables.webhook_event_seq += 1
            seq, body = tables.webhook_event_seq, body_of(each)
            row = Published(seq, each.id, each.tenant_id, each.subject_id, each.type, body, each.created_ms)
            tables.webhook_events[each.id] = row
    _add(tables, fan_out([tables.webhooks[webhook_id] for webhook_id in sorted(tables.webhooks)], webhook_events))


class MemoryWebhooks(MemoryStore):
    """Webhooks and deliveries. When a webhook is due follows from its deliveries."""

    # For the webhook actor.

    async def transact(self, batch_id: BatchId, locks: LockSet, decide: Decide, now_ms: int) -> Decision:
        return await self._memory.decide_once(
            batch_id, lambda: self._snapshot(locks), decide, lambda decision: self._write(decision, now_ms)
        )

    async def webhooks(self, tenant_id: str) -> Sequence[Webhook]:
        await self._memory.before()
        own = [each for each in self._memory.webhooks.values() if each.tenant_id == tenant_id]
        return sorted(own, key=lambda each: (each.created_ms, each.id))

    async def webhook(self, tenant_id: str, webhook_id: str) -> Webhook | None:
        await self._memory.before()
        webhook = self._memory.webhooks.get(webhook_id)
        return webhook if webhook is not None and webhook.tenant_id == tenant_id else None

    async def deliveries(self, webhook_id: str, before_seq: int | None, limit: int) -> Sequence[Delivery]:
        await self._memory.before()
        rows = [row for row in self._rows() if row.webhook_id == webhook_id]
        return [row for row in reversed(rows) if before_seq is None or row.seq < before_seq][:limit]

    async def count_deliveries(self, webhook_id: str, most: int) -> int:
        return len(await self.deliveries(webhook_id, None, most))

    async def feed(self, tenant_id: str, after_seq: int, since_ms: int, limit: int) -> Feed:
        await self._memory.before()
        own = [row for row in self._memory.webhook_events.values() if row.tenant_id == tenant_id]
        found = tuple([row for row in own if row.seq > after_seq and row.created_ms >= since_ms][:limit])
        newest = own[-1].seq if own else 0
        return Feed(found, found[-1].seq if found else max(after_seq, newest))

    # For the sender.

    async def lease(self, room: Room, now_ms: int, until_ms: int) -> Lease:
        await self._memory.before()
        due = {each.id: due_ms(self._memory, each) for each in self._memory.webhooks.values()}
        ready = sorted((at_ms, webhook_id) for webhook_id, at_ms in due.items() if at_ms and at_ms <= now_ms)
        webhooks = [self._memory.webhooks[webhook_id] for _, webhook_id in ready]
        chosen = choose((Ready(each.id, each.tenant_id, each.host, each.slow) for each in webhooks), room)
        tasks = [
            task for webhook_id, most in chosen.items() for task in self._lease(webhook_id, most, now_ms, until_ms)
        ]
        later = (due_ms(self._memory, each) for each in self._memory.webhooks.values())
        next_due_ms = min((each for each in later if each is not None and each > now_ms), default=None)
        await self._memory.after()
        return Lease(tuple(sorted(tasks, key=lambda task: task.delivery.seq)), next_due_ms)

    async def settle(self, attempts: Sequence[Attempt], judge: Judge) -> Sequence[Webhook]:
        await self._memory.before()
        tables = self._memory
        disabled = []
        for webhook_id, several in by_webhook(attempts).items():
            for attempt in several if webhook_id in tables.webhooks else ():
                delivery = tables.webhook_deliveries.get(attempt.delivery_id)
                verdict = None if delivery is None else judge(tables.webhooks[webhook_id], delivery, attempt)
                if verdict is None:
                    continue
                tables.webhooks[webhook_id] = verdict.webhook
                tables.webhook_deliveries[verdict.delivery.id] = verdict.delivery
                if verdict.delivery.done_ms is not None:
                    self._follow(verdict.delivery, verdict.delivery.done_ms)
                if verdict.mail is not None:
                    disabled.append(verdict.webhook)
                    tell(tables, [verdict.mail])
        await self._memory.after()
        return disabled

    async def backlog(self, now_ms: int) -> Backlog:
        await self._memory.before()
        tables = self._memory
        due = {each.id: due_ms(tables, each) for each in tables.webhooks.values()}
        waiting = [row.created_ms for row in self._rows() if row.done_ms is None and due[row.webhook_id] is not None]
        late = (at_ms for webhook_id, at_ms in due.items() if at_ms and not tables.webhooks[webhook_id].slow)
        return Backlog(
            min(len(waiting), MAX_COUNTED),
            min(waiting, default=None),
            min((at_ms for at_ms in late if at_ms <= now_ms), default=None),
        )

    # Rows.

    def _rows(self) -> list[Delivery]:
        return sorted(self._memory.webhook_deliveries.values(), key=lambda row: row.seq)

    def _snapshot(self, locks: LockSet) -> Snapshot:
        tables = self._memory
        webhooks = {each.id: each for each in tables.webhooks.values() if each.tenant_id in locks.tenant_ids}
        named = list(picked(tables.webhook_deliveries, locks.delivery_ids).values())
        like = {(each.webhook_id, each.subject_id) for each in named} | {(each, each) for each in webhooks}
        waiting = [row for row in self._rows() if row.done_ms is None and (row.webhook_id, row.subject_id) in like]
        return snapshot_of(webhooks, named, waiting)

    def _write(self, decision: Decision, now_ms: int) -> None:
        tables = self._memory
        drop_webhooks(tables, decision.deleted)
        taken = {(each.tenant_id, each.url) for each in tables.webhooks.values()}
        if any((each.tenant_id, each.url) in taken for each in decision.created.values()):
            raise Contended("another webhook of the account has this URL")
        tables.webhooks.update(decision.created)
        tables.webhooks.update(decision.enabled)
        subjects: set[tuple[str, str]] = set()
        for row in self._rows():
            if row.webhook_id in decision.enabled and row.done_ms is None:
                place = (row.webhook_id, row.subject_id)
                if place not in subjects:
                    first = replace(row, due_ms=min(now_ms, row.due_ms or now_ms), first_ms=None)
                    tables.webhook_deliveries[row.id] = first
                subjects.add(place)
        _add(tables, decision.deliveries)
        tables.audits.extend(decision.audits)

    def _lease(self, webhook_id: str, most: int, now_ms: int, until_ms: int) -> list[Task]:
        tables = self._memory
        due = [row for row in self._rows() if row.webhook_id == webhook_id and row.due_ms and row.due_ms <= now_ms]
        webhook = tables.webhooks[webhook_id]
        if webhook.slow:
            webhook = tables.webhooks[webhook_id] = replace(webhook, paused_ms=until_ms)
        leased = []
        for row in sorted(due, key=lambda row: (row.due_ms, row.seq))[:most]:
            first_ms = now_ms if row.first_ms is None else row.first_ms
            taken = replace(row, attempts=row.attempts + 1, due_ms=until_ms, first_ms=first_ms)
            tables.webhook_deliveries[row.id] = taken
            leased.append(Task(taken, webhook))
        return leased

    def _follow(self, done: Delivery, now_ms: int) -> None:
        """Let the next delivery of a subject be due."""
        place = (done.webhook_id, done.subject_id)
        waiting = [row for row in self._rows() if (row.webhook_id, row.subject_id) == place and row.done_ms is None]
        if waiting and waiting[0].due_ms is None:
            self._memory.webhook_deliveries[waiting[0].id] = replace(waiting[0], due_ms=now_ms)


def drop_webhooks(tables: Memory, webhook_ids: Iterable[str]) -> None:
    """Delete webhooks with their deliveries."""
    gone = set(webhook_ids)
    for webhook_id in gone:
        del tables.webhooks[webhook_id]
    for delivery_id in [row.id for row in tables.webhook_deliveries.values() if row.webhook_id in gone]:
        del tables.webhook_deliveries[delivery_id]


def due_ms(tables: Memory, webhook: Webhook) -> int | None:
    """The time to look at a webhook next: its first due delivery, but not before it is tried again."""
    if webhook.status is WebhookStatus.DISABLED:
        return None
    due = [row.due_ms for row in tables.webhook_deliveries.values() if row.webhook_id == webhook.id and row.due_ms]
    return max(min(due), webhook.paused_ms or 0) if due else None


def _add(tables: Memory, deliveries: Sequence[NewDelivery]) -> None:
    """Insert deliveries in order. Each is due at once, unless an earlier one of its subject waits."""
    waiting = {
        (row.webhook_id, row.subject_id)
        for row in tables.webhook_deliveries.values()
        if row.status is DeliveryStatus.WAITING
    }
    for new in deliveries:
        if new.id in tables.webhook_deliveries:
            continue
        tables.webhook_seq += 1
        place = (new.webhook_id, new.subject_id)
        tables.webhook_deliveries[new.id] = Delivery(
            tables.webhook_seq,
            new.id,
            new.webhook_id,
            new.event_id,
            new.subject_id,
            new.type,
            new.body,
            new.created_ms,
            due_ms=None if place in waiting else new.created_ms,
        )
        waiting.add(place)
