"""Webhooks for scenarios of their rules."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from actors.values import AuditRecord
from actors.webhooks.messages import (
    Answer,
    CreateWebhook,
    DeleteWebhook,
    Delivery,
    DeliveryStatus,
    EnableWebhook,
    EventType,
    Message,
    NewDelivery,
    Resend,
    SendTest,
    Webhook,
)
from actors.webhooks.sending import delivery_of, event_of_test
from actors.webhooks.state import Decision, WebhookRules, decide, rows_to_lock, snapshot_of
from tests.state.manners import well_said

NOW = 1_790_000_000_000
RULES = WebhookRules(per_account=2)


def webhook(number: int, owner: str = "ten_a", **fields: Any) -> Webhook:
    host = f"host-{number}.example.com"
    events = (EventType.BOOKING_PAID, EventType.CAMPAIGN_APPROVED)
    new = Webhook(f"whk_{number}", owner, f"https://{host}/", f"{host}:443", events, NOW + number)
    return replace(new, **fields)


class Endpoints:
    """Rows of webhooks and deliveries, changed by the rules. `act` decides on what a batch locks."""

    def __init__(self) -> None:
        self.webhooks: dict[str, Webhook] = {}
        self.deliveries: dict[str, Delivery] = {}
        self.last = Decision()
        self._audits = 0

    def act(self, *messages: Message) -> Sequence[Answer]:
        locks = rows_to_lock(messages)
        own = {each.id: each for each in self.webhooks.values() if each.tenant_id in locks.tenant_ids}
        named = [self.deliveries[each] for each in locks.delivery_ids if each in self.deliveries]
        waiting = [each for each in self.deliveries.values() if each.status is DeliveryStatus.WAITING]
        self.last = decide(snapshot_of(own, named, waiting), messages, RULES)
        well_said(self.last.answers)
        self.webhooks |= {**self.last.created, **self.last.enabled}
        for gone in self.last.deleted:
            del self.webhooks[gone]
        for new in self.last.deliveries:
            self._store(new, DeliveryStatus.WAITING)
        return self.last.answers

    # Rows.

    def put(self, number: int, **fields: Any) -> None:
        """Change a webhook as the sender does."""
        self.webhooks[f"whk_{number}"] = replace(self.webhooks[f"whk_{number}"], **fields)

    def told(self, name: str, number: int, event: str = "", status: DeliveryStatus = DeliveryStatus.WAITING) -> None:
        """Add the delivery of an event."""
        new = NewDelivery(name, f"whk_{number}", event or f"evt_{name}", "bok_1", EventType.BOOKING_PAID, "{}", NOW)
        self._store(new, status)

    def _store(self, new: NewDelivery, status: DeliveryStatus) -> None:
        fields = (new.id, new.webhook_id, new.event_id, new.subject_id, new.type, new.body, new.created_ms)
        self.deliveries[new.id] = Delivery(len(self.deliveries), *fields, status=status)

    # Messages.

    def create(self, number: int, owner: str = "ten_a", *, keyed: bool = False, **fields: Any) -> CreateWebhook:
        return CreateWebhook(webhook(number, owner, **fields), keyed, self._audit("created"))

    def delete(self, number: int, owner: str = "ten_a") -> DeleteWebhook:
        return DeleteWebhook(owner, f"whk_{number}", self._audit("deleted"))

    def enable(self, number: int, owner: str = "ten_a") -> EnableWebhook:
        return EnableWebhook(owner, f"whk_{number}", self._audit("enabled"))

    def test(self, number: int, owner: str = "ten_a") -> SendTest:
        audit, own = self._audit("tested"), webhook(number, owner)
        return SendTest(owner, own.id, delivery_of(own, event_of_test(own, f"evt_{audit.id}", NOW)), audit)

    def resend(self, delivery_id: str, number: int = 1, owner: str = "ten_a") -> Resend:
        audit = self._audit("resent")
        return Resend(owner, f"whk_{number}", delivery_id, f"dlv_{audit.id}", audit)

    def _audit(self, word: str) -> AuditRecord:
        self._audits += 1
        return AuditRecord(f"{self._audits}", NOW + self._audits, "key", "key_1", f"webhook.{word}", "webhook", "whk")
