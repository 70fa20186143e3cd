"""The webhook actor: creates, deletes, tests and turns on endpoints of accounts, one transaction per batch."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from actors.shared.credentials import fingerprint, new_id
from actors.shared.records import RecordingActor
from actors.values import Agent, BatchId, Done, Refused
from actors.webhooks.messages import (
    Answer,
    CreateWebhook,
    DeleteWebhook,
    Delivery,
    EnableWebhook,
    EventType,
    Feed,
    Message,
    Queued,
    Resend,
    SendTest,
    Webhook,
    WebhookSaved,
)
from actors.webhooks.sending import delivery_of, event_of_test
from actors.webhooks.state import Decision, Snapshot, WebhookRules, decide, rows_to_lock, unknown_webhook
from actors.webhooks.store import WebhookStore

PORTS = {"http": 80, "https": 443}


class WebhookActor(RecordingActor[Message, Answer, WebhookStore, WebhookRules]):
    """Owns the webhooks of accounts."""

    name = "webhook_keeper"

    # Intents.

    async def create(
        self, tenant_id: str, url: str, events: Sequence[EventType], agent: Agent, idempotency_key: str | None = None
    ) -> WebhookSaved | Refused:
        """Add a webhook. `url` is in its normal form. Each `idempotency_key` of an account creates one webhook."""
        key = None if idempotency_key is None else fingerprint(tenant_id, "webhook", idempotency_key)
        webhook = Webhook(
            id=self._id("whk") if key is None else new_id("whk", key),
            tenant_id=tenant_id,
            url=url,
            host=receiver_of(url),
            events=tuple(sorted(set(events))),
            created_ms=self._clock.now_ms(),
            # A webhook is slow until its first success: new webhooks that hang cannot take all attempts.
            slow=True,
        )
        # Without the URL, which goes with the account; the audit stays.
        audit = self._audit(agent, "webhook.created", "webhook", webhook.id, {"events": list(webhook.events)})
        return await self.ask_for(CreateWebhook(webhook, key is not None, audit), WebhookSaved, Refused)

    async def delete(self, tenant_id: str, webhook_id: str, agent: Agent) -> Done | Refused:
        """Delete a webhook with its deliveries."""
        audit = self._audit(agent, "webhook.deleted", "webhook", webhook_id)
        return await self.ask_for(DeleteWebhook(tenant_id, webhook_id, audit), Done, Refused)

    async def enable(self, tenant_id: str, webhook_id: str, agent: Agent) -> WebhookSaved | Refused:
        """Turn on a webhook that is off; what waits is sent in order. Turning it on again changes nothing."""
        audit = self._audit(agent, "webhook.enabled", "webhook", webhook_id)
        return await self.ask_for(EnableWebhook(tenant_id, webhook_id, audit), WebhookSaved, Refused)

    async def test(self, tenant_id: str, webhook_id: str, agent: Agent) -> Queued | Refused:
        """Queue a test event for a webhook. While one waits, no other is added."""
        webhook = await self._store.webhook(tenant_id, webhook_id)
        if webhook is None:
            return unknown_webhook()
        event_id = self._id("evt")
        delivery = delivery_of(webhook, event_of_test(webhook, event_id, self._clock.now_ms()))
        audit = self._audit(agent, "webhook.tested", "webhook", webhook_id)
        return await self.ask_for(SendTest(tenant_id, webhook_id, delivery, audit), Queued, Refused)

    async def resend(self, tenant_id: str, webhook_id: str, delivery_id: str, agent: Agent) -> Queued | Refused:
        """Deliver the event of a delivery again, with the same id and body. While it waits, nothing is added."""
        audit = self._audit(agent, "webhook.resent", "webhook", webhook_id, {"deliveryId": delivery_id})
        new = self._id("dlv")
        return await self.ask_for(Resend(tenant_id, webhook_id, delivery_id, new, audit), Queued, Refused)

    async def webhooks(self, tenant_id: str) -> Sequence[Webhook]:
        """The webhooks of an account, oldest first. Raises `StorageUnavailable`."""
        return await self._store.webhooks(tenant_id)

    async def webhook(self, tenant_id: str, webhook_id: str) -> Webhook | None:
        """A webhook of an account. Raises `StorageUnavailable`."""
        return await self._store.webhook(tenant_id, webhook_id)

    async def deliveries(self, webhook_id: str, before_seq: int | None, limit: int) -> Sequence[Delivery]:
        """Deliveries of a webhook, newest first. Raises `StorageUnavailable`."""
        return await self._store.deliveries(webhook_id, before_seq, limit)

    async def count_deliveries(self, webhook_id: str, most: int) -> int:
        """The number of deliveries of a webhook, no further than `most`. Raises `StorageUnavailable`."""
        return await self._store.count_deliveries(webhook_id, most)

    async def feed(self, tenant_id: str, after_seq: int, since_ms: int, limit: int) -> Feed:
        """Events of an account, oldest first. Raises `StorageUnavailable`."""
        return await self._store.feed(tenant_id, after_seq, since_ms, limit)

    # The batch.

    async def commit(self, batch_id: BatchId, messages: Sequence[Message]) -> Sequence[Answer]:
        def on(snapshot: Snapshot) -> Decision:
            return decide(snapshot, messages, self.rules)

        decision = await self._store.transact(batch_id, rows_to_lock(messages), on, self._clock.now_ms())
        return decision.answers


def receiver_of(url: str) -> str:
    """The host and port that a URL leads to, which share the attempts of a receiver."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or PORTS[parts.scheme]}"
