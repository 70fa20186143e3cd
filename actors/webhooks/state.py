"""The rules of endpoints: locked rows and messages in, changes and answers out. Pure; source: ADR 0075."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from actors.values import AuditRecord, Code, Done, Refused, unknown
from actors.webhooks.messages import (
    Answer,
    CreateWebhook,
    DeleteWebhook,
    Delivery,
    EnableWebhook,
    Message,
    NewDelivery,
    Queued,
    Resend,
    SendTest,
    Webhook,
    WebhookSaved,
    WebhookStatus,
)

unknown_delivery = partial(unknown, "delivery")

unknown_webhook = partial(unknown, "webhook")


@dataclass(frozen=True, slots=True)
class WebhookRules:
    """At most so many webhooks per account."""

    per_account: int = 10


@dataclass(frozen=True, slots=True)
class LockSet:
    """The accounts whose webhooks a batch locks, and the deliveries that it reads, each sorted."""

    tenant_ids: tuple[str, ...]
    delivery_ids: tuple[str, ...]


@dataclass(slots=True)
class Snapshot:
    """The webhooks of the accounts, and the named deliveries, by id. `waiting` has webhook and event of the deliveries
    that wait: of the named events, and of tests with the webhook's id in place of the event's."""

    webhooks: dict[str, Webhook] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    waiting: dict[tuple[str, str], Delivery] = field(default_factory=dict)


@dataclass(slots=True)
class Decision:
    """The changes to commit, and one answer for each message in order."""

    created: dict[str, Webhook] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    enabled: dict[str, Webhook] = field(default_factory=dict)
    deliveries: list[NewDelivery] = field(default_factory=list)
    audits: list[AuditRecord] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


def rows_to_lock(messages: Iterable[Message]) -> LockSet:
    several = list(messages)
    tenants = {_tenant_of(message) for message in several}
    deliveries = {message.delivery_id for message in several if isinstance(message, Resend)}
    return LockSet(tuple(sorted(tenants)), tuple(sorted(deliveries)))


def _tenant_of(message: Message) -> str:
    return message.webhook.tenant_id if isinstance(message, CreateWebhook) else message.tenant_id


def waiting_place(delivery: Delivery) -> tuple[str, str]:
    """The identity of a delivery: one event for one webhook, or the one test of a webhook that may wait."""
    test = delivery.subject_id == delivery.webhook_id
    return delivery.webhook_id, delivery.webhook_id if test else delivery.event_id


def snapshot_of(webhooks: dict[str, Webhook], named: Iterable[Delivery], waiting: Iterable[Delivery]) -> Snapshot:
    """The snapshot of the rows that a store has read."""
    places = {waiting_place(each): each for each in sorted(waiting, key=lambda each: -each.seq)}
    return Snapshot(webhooks, {each.id: each for each in named}, places)


def decide(snapshot: Snapshot, messages: Sequence[Message], rules: WebhookRules) -> Decision:
    """Decide all messages in order; each sees the changes of the ones before it."""
    work = _Work(snapshot, rules)
    for message in messages:
        work.decision.answers.append(work.answer(message))
    return work.decision


class _Work:
    def __init__(self, snapshot: Snapshot, rules: WebhookRules) -> None:
        self._snapshot = snapshot
        self._rules = rules
        self._webhooks = dict(snapshot.webhooks)
        self._waiting: dict[tuple[str, str], Delivery | NewDelivery] = dict(snapshot.waiting)
        self.decision = Decision()

    def answer(self, message: Message) -> Answer:
        match message:
            case CreateWebhook():
                return self._create(message)
            case DeleteWebhook():
                return self._delete(message)
            case EnableWebhook():
                return self._enable(message)
            case SendTest():
                return self._test(message)
            case Resend():
                return self._resend(message)

    def _create(self, message: CreateWebhook) -> Answer:
        new = message.webhook
        known = self._webhooks.get(new.id)
        if known is not None:
            if message.keyed and (known.url, known.events) == (new.url, new.events):
                return WebhookSaved(known)
            return Refused(Code.IDEMPOTENCY_CONFLICT, "This Idempotency-Key was used with another body.")
        own = [each for each in self._webhooks.values() if each.tenant_id == new.tenant_id]
        if any(each.url == new.url for each in own):
            return Refused(Code.INVALID_STATE, "A webhook of this account has this URL. Delete it first.")
        if len(own) >= self._rules.per_account:
            most = self._rules.per_account
            return Refused(Code.WEBHOOK_LIMIT, f"This account has {most} webhooks, the maximum. Delete one first.")
        self._webhooks[new.id] = new
        self.decision.created[new.id] = new
        self.decision.audits.append(message.audit)
        return WebhookSaved(new)

    def _delete(self, message: DeleteWebhook) -> Answer:
        webhook = self._own(message.tenant_id, message.webhook_id)
        if webhook is None:
            return unknown_webhook()
        del self._webhooks[webhook.id]
        gone = webhook.id
        self.decision.deliveries = [each for each in self.decision.deliveries if each.webhook_id != gone]
        self.decision.enabled.pop(gone, None)
        if self.decision.created.pop(gone, None) is None:
            self.decision.deleted.append(gone)
        self.decision.audits.append(message.audit)
        return Done()

    def _enable(self, message: EnableWebhook) -> Answer:
        webhook = self._own(message.tenant_id, message.webhook_id)
        if webhook is None:
            return unknown_webhook()
        if webhook.status is WebhookStatus.ENABLED:
            return WebhookSaved(webhook)
        on = replace(
            webhook,
            status=WebhookStatus.ENABLED,
            disabled_ms=None,
            disabled_reason=None,
            failures=0,
            failing_since_ms=None,
            paused_ms=None,
        )
        self._webhooks[on.id] = self.decision.enabled[on.id] = on
        self.decision.audits.append(message.audit)
        return WebhookSaved(on)

    def _test(self, message: SendTest) -> Answer:
        webhook = self._own(message.tenant_id, message.webhook_id)
        if webhook is None:
            return unknown_webhook()
        return self._off(webhook) or self._queue((webhook.id, webhook.id), message.delivery, message.audit)

    def _resend(self, message: Resend) -> Answer:
        webhook = self._own(message.tenant_id, message.webhook_id)
        if webhook is None:
            return unknown_webhook()
        past = self._snapshot.deliveries.get(message.delivery_id)
        if past is None or past.webhook_id != webhook.id:
            return unknown_delivery()
        again = NewDelivery(
            message.new_id,
            webhook.id,
            past.event_id,
            past.subject_id,
            past.type,
            past.body,
            message.audit.created_ms,
        )
        return self._off(webhook) or self._queue(waiting_place(past), again, message.audit)

    def _queue(self, place: tuple[str, str], delivery: NewDelivery, audit: AuditRecord) -> Answer:
        """Queue a delivery, unless one for the same waits: repeating the request adds nothing."""
        if place in self._waiting:
            return Queued(self._waiting[place])
        self._waiting[place] = delivery
        self.decision.deliveries.append(delivery)
        self.decision.audits.append(audit)
        return Queued(delivery)

    def _own(self, tenant_id: str, webhook_id: str) -> Webhook | None:
        webhook = self._webhooks.get(webhook_id)
        return webhook if webhook is not None and webhook.tenant_id == tenant_id else None

    @staticmethod
    def _off(webhook: Webhook) -> Refused | None:
        if webhook.status is WebhookStatus.ENABLED:
            return None
        return Refused(Code.INVALID_STATE, "This webhook is off. Turn it on first.")
