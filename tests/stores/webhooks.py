"""Webhooks through the stores: rows, the events of the ledger, and steps of actor and sender."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from actors.mail.messages import QueuedMessage
from actors.shared.announcements import WebhookEvent
from actors.times import MINUTE_MS, SECOND_MS
from actors.values import Account, AuditRecord, BatchId, Tenant, Tier
from actors.webhooks.messages import (
    Answer,
    Attempt,
    CreateWebhook,
    DeleteWebhook,
    Delivery,
    EnableWebhook,
    EventType,
    Lease,
    Message,
    Resend,
    Room,
    SendTest,
    Task,
    Webhook,
    WebhookStatus,
)
from actors.webhooks.sending import Retries, delivery_of, event_of_test, judge_with
from actors.webhooks.state import Decision, WebhookRules, decide, rows_to_lock
from actors.webhooks.store import WebhookStore
from storage.connection.pool import Connection, Database
from storage.postgres import webhooks as postgres_webhooks
from storage.postgres.mail import PostgresOutbox
from tests.doubles import webhooks as memory_webhooks
from tests.doubles.mail import MemoryOutbox
from tests.doubles.tables import Memory

NOW = 1_790_000_000_000
LEASE_MS = MINUTE_MS
RETRIES = Retries()
RULES = WebhookRules(per_account=3)

A = TypeVar("A", bound=Answer)


def tenant(number: int) -> str:
    return f"ten_{number}"


def webhook(
    number: int = 1, owner: int = 1, *, events: Sequence[EventType] = tuple(EventType), host: str = ""
) -> Webhook:
    host = host or f"host-{number}.example.com"
    return Webhook(
        f"whk_{number}", tenant(owner), f"https://{host}/{number}", f"{host}:443", tuple(sorted(events)), NOW + number
    )


def told(
    number: int, subject: str = "bok_1", owner: int = 1, kind: EventType = EventType.BOOKING_PAID, at_ms: int = NOW
) -> WebhookEvent:
    return WebhookEvent(f"evt_{number}", tenant(owner), subject, kind, f'{{"number":{number}}}', at_ms)


def audit(name: str, at_ms: int = NOW) -> AuditRecord:
    return AuditRecord(f"aud_{name}", at_ms, "key", "key_1", "webhook.changed", "webhook", name)


def room(free: int = 100, slow_free: int = 50, **busy: dict[str, int]) -> Room:
    return Room(free, slow_free, per_receiver=2, per_account=4, **busy)


@dataclass
class Post:
    """The webhooks of one database."""

    store: WebhookStore
    below: Memory | Database
    _batches: int = 0
    _audits: int = 0
    last: BatchId = field(default_factory=lambda: BatchId("test", 0))

    async def open(self, owners: int = 2) -> None:
        """Add accounts."""
        rows = [Tenant(tenant(n), Tier.CLAIMED) for n in range(1, owners + 1)]
        if isinstance(self.below, Memory):
            for row in rows:
                self.below.tenants[row.id] = row
                email = f"{row.id}@example.com"
                self.below.accounts[email] = Account(email, row.id, NOW)
            return

        async def insert(connection: Connection) -> None:
            await connection.execute(
                "insert into tenants (id, tier) select 'ten_' || n, 'claimed' from generate_series(1, $1::int) as n",
                owners,
            )
            await connection.execute(
                "insert into accounts (email, tenant_id, created_ms) select 'ten_' || n || '@example.com', 'ten_' || n, $2 "
                "from generate_series(1, $1::int) as n",
                owners,
                NOW,
            )

        await self.below.transact(insert)

    # As the actor does.

    async def send(self, *messages: Message, now_ms: int = NOW, batch_id: BatchId | None = None) -> list[Answer]:
        self._batches += 1
        self.last = batch_id or BatchId("test", self._batches)

        def on(snapshot: object) -> Decision:
            return decide(snapshot, messages, RULES)  # type: ignore[arg-type]

        return (await self.store.transact(self.last, rows_to_lock(messages), on, now_ms)).answers

    def audit(self, name: str) -> AuditRecord:
        self._audits += 1
        return audit(f"{name}_{self._audits}")

    async def add(self, *webhooks: Webhook) -> None:
        await self.send(*(CreateWebhook(each, False, self.audit(each.id)) for each in webhooks))

    async def delete(self, number: int, owner: int = 1) -> Answer:
        return (await self.send(DeleteWebhook(tenant(owner), f"whk_{number}", self.audit("delete"))))[0]

    async def enable(self, number: int = 1, owner: int = 1, now_ms: int = NOW) -> Answer:
        return (await self.send(EnableWebhook(tenant(owner), f"whk_{number}", self.audit("enable")), now_ms=now_ms))[0]

    async def test(self, number: int = 1, event: str = "evt_test", now_ms: int = NOW) -> Answer:
        own = webhook(number)
        delivery = delivery_of(own, event_of_test(own, event, now_ms))
        return (await self.send(SendTest(own.tenant_id, own.id, delivery, self.audit("test"))))[0]

    async def resend(self, delivery_id: str, new: str, number: int = 1, owner: int = 1) -> Answer:
        message = Resend(tenant(owner), f"whk_{number}", delivery_id, new, self.audit("resend"))
        return (await self.send(message))[0]

    # As the ledger does.

    async def publish(self, *webhook_events: WebhookEvent) -> None:
        if isinstance(self.below, Memory):
            memory_webhooks.publish(self.below, webhook_events)
        else:
            await self.below.transact(lambda connection: postgres_webhooks.publish(connection, webhook_events))

    # As the sender does.

    async def lease(self, now_ms: int = NOW, of: Room | None = None, until_ms: int | None = None) -> Lease:
        return await self.store.lease(of or room(), now_ms, now_ms + LEASE_MS if until_ms is None else until_ms)

    async def settle(self, *attempts: Attempt) -> list[str]:
        return [each.id for each in await self.store.settle(attempts, judge_with(RETRIES))]

    async def deliver_all(self, now_ms: int = NOW) -> list[str]:
        """Deliver all that is due, round by round; returns the events in order."""
        events = []
        while (lease := await self.lease(now_ms)).tasks:
            events += [task.delivery.event_id for task in lease.tasks]
            await self.settle(*(taken(task, now_ms) for task in lease.tasks))
        return events

    async def log(self, number: int = 1) -> list[Delivery]:
        """The deliveries of a webhook, oldest first."""
        return list(reversed(await self.store.deliveries(f"whk_{number}", None, 1_000)))

    async def one(self, number: int = 1, owner: int = 1) -> Webhook:
        found = await self.store.webhook(tenant(owner), f"whk_{number}")
        assert found is not None
        return found

    async def status(self, number: int = 1, owner: int = 1) -> WebhookStatus:
        return (await self.one(number, owner)).status

    async def mails(self) -> Sequence[QueuedMessage]:
        outbox = MemoryOutbox(self.below) if isinstance(self.below, Memory) else PostgresOutbox(self.below)
        return await outbox.recent(10)


def taken(task: Task, at_ms: int = NOW, took_ms: int = 20) -> Attempt:
    """An attempt that succeeded."""
    return Attempt(task.delivery.id, task.webhook.id, task.delivery.attempts, at_ms, took_ms, answered=200)


def refused(task: Task, at_ms: int = NOW, answered: int = 500) -> Attempt:
    """An attempt that failed."""
    error = f"status {answered}"
    return Attempt(task.delivery.id, task.webhook.id, task.delivery.attempts, at_ms, SECOND_MS, error, answered)
