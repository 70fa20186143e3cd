"""The rules of sending: what each event becomes, which deliveries start, and what follows an attempt. Pure."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from actors.shared.announcements import DELIVERY_MS, AccountMail, WebhookEvent
from actors.shared.credentials import fingerprint, new_id
from actors.times import DAY_MS, HOUR_MS, SECOND_MS
from actors.webhooks.messages import (
    Attempt,
    Delivery,
    DeliveryStatus,
    EventType,
    NewDelivery,
    Ready,
    Room,
    Webhook,
    WebhookStatus,
)

GONE = 410
"""The status by which a receiver says that it wants no more."""

ERROR_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Retries:
    """The pause after a failed attempt doubles from `pause_ms` to `pause_max_ms`, and is longer if the receiver asks for it,
    but never longer than that. A webhook without a success for
    `give_up_ms` is turned off. A delivery older than `keep_ms` is not sent. An attempt over `slow_ms` was slow."""

    pause_ms: int = 5 * SECOND_MS
    pause_max_ms: int = 4 * HOUR_MS
    give_up_ms: int = 3 * DAY_MS
    keep_ms: int = 30 * DAY_MS
    slow_ms: int = 2 * SECOND_MS

    def __post_init__(self) -> None:
        assert 0 < self.pause_ms <= self.pause_max_ms <= self.give_up_ms <= self.keep_ms

    def pause_after(self, failures: int, wait_ms: int = 0) -> int:
        """The pause after so many failures, at the last of which the receiver asked for `wait_ms`, in milliseconds."""
        # The exponent is bounded because the power is not: the count comes from the database.
        return int(min(max(self.pause_ms * 2 ** min(max(failures - 1, 0), 32), wait_ms), self.pause_max_ms))


# Events become deliveries.


def body_of(webhook_event: WebhookEvent) -> str:
    """The body that receivers get: `{"type", "timestamp", "data"}` as Standard Webhooks wants it."""
    moment = datetime.fromtimestamp(webhook_event.created_ms / SECOND_MS, UTC).isoformat(timespec="milliseconds")
    envelope = {"type": webhook_event.type, "timestamp": moment.replace("+00:00", "Z")}
    return f'{json.dumps(envelope, separators=(",", ":"))[:-1]},"data":{webhook_event.payload}}}'


def delivery_of(webhook: Webhook, webhook_event: WebhookEvent) -> NewDelivery:
    """The first delivery of an event to a webhook. Its id derives from both, so that publishing an event again adds
    nothing."""
    return NewDelivery(
        id=new_id("dlv", fingerprint(webhook.id, webhook_event.id)),
        webhook_id=webhook.id,
        event_id=webhook_event.id,
        subject_id=webhook_event.subject_id,
        type=webhook_event.type,
        body=body_of(webhook_event),
        created_ms=webhook_event.created_ms,
    )


def fan_out(webhooks: Iterable[Webhook], webhook_events: Sequence[WebhookEvent]) -> list[NewDelivery]:
    """A delivery for each event and each enabled webhook of its account that wants it, in the order of the events."""
    several = [webhook for webhook in webhooks if webhook.status is WebhookStatus.ENABLED]
    return [
        delivery_of(webhook, webhook_event)
        for webhook_event in webhook_events
        for webhook in several
        if webhook.tenant_id == webhook_event.tenant_id and webhook_event.type in webhook.events
    ]


def event_of_test(webhook: Webhook, event_id: str, now_ms: int) -> WebhookEvent:
    """The event that a test sends."""
    payload = json.dumps({"webhookId": webhook.id}, separators=(",", ":"))
    return WebhookEvent(event_id, webhook.tenant_id, webhook.id, EventType.TEST, payload, now_ms)


# The choice of the deliveries that start.


def choose(ready: Iterable[Ready], room: Room) -> dict[str, int]:
    """How many deliveries of each webhook to lease at most, in the order of `ready`. A slow webhook gets one at a time,
    and slow webhooks together only a part of the attempts, so that they never take the place of others."""
    free, slow_free = room.free, room.slow_free
    hosts, accounts = Counter(room.hosts), Counter(room.accounts)
    chosen: dict[str, int] = {}
    for webhook in ready:
        most = min(free, room.per_receiver - hosts[webhook.host], room.per_account - accounts[webhook.tenant_id])
        if webhook.slow:
            most = min(most, slow_free, 1)
        if most <= 0:
            continue
        chosen[webhook.id] = most
        free -= most
        slow_free -= most * webhook.slow
        hosts[webhook.host] += most
        accounts[webhook.tenant_id] += most
    return chosen


# The outcome of an attempt.


@dataclass(frozen=True, slots=True)
class Verdict:
    """The delivery and the webhook after an attempt, and the mail if the webhook was turned off."""

    delivery: Delivery
    webhook: Webhook
    mail: AccountMail | None = None


Judge = Callable[[Webhook, Delivery, Attempt], Verdict | None]


def judge(webhook: Webhook, delivery: Delivery, attempt: Attempt, retries: Retries) -> Verdict | None:
    """The result of an attempt; None if it no longer matters.

    A success counts even if the delivery was leased again meanwhile. A failure then does not, because a later attempt
    decides.
    """
    if delivery.done_ms is not None:
        return None
    if attempt.error is None:
        done = _done(delivery, attempt, DeliveryStatus.DELIVERED)
        slow = attempt.took_ms > retries.slow_ms
        return Verdict(done, replace(webhook, failures=0, failing_since_ms=None, paused_ms=None, slow=slow))
    if delivery.attempts != attempt.number:
        return None
    if not attempt.started:
        return Verdict(_done(delivery, attempt, DeliveryStatus.FAILED), replace(webhook, paused_ms=None))
    return _after_failure(webhook, delivery, attempt, retries)


def _after_failure(webhook: Webhook, delivery: Delivery, attempt: Attempt, retries: Retries) -> Verdict:
    now_ms = attempt.ended_ms
    since_ms = now_ms if webhook.failing_since_ms is None else webhook.failing_since_ms
    failures = webhook.failures + 1
    failing = replace(
        webhook,
        failures=failures,
        failing_since_ms=since_ms,
        slow=True,
        paused_ms=now_ms + retries.pause_after(failures, attempt.wait_ms),
    )
    due_ms = now_ms + retries.pause_after(delivery.attempts, attempt.wait_ms)
    again = replace(delivery, due_ms=due_ms, answered=attempt.answered, last_error=attempt.error)
    if webhook.status is WebhookStatus.DISABLED:
        return Verdict(again, webhook)
    if attempt.answered == GONE:
        return _turned_off(failing, again, now_ms, "The receiver answered 410 Gone.")
    if now_ms - since_ms >= retries.give_up_ms:
        return _turned_off(failing, again, now_ms, f"No delivery succeeded for {_days(now_ms - since_ms)}.")
    assert delivery.first_ms is not None, "an attempt has begun"
    if now_ms - delivery.first_ms >= retries.give_up_ms:
        # Other events were delivered meanwhile: the receiver works, and cannot take this one.
        return Verdict(_done(delivery, attempt, DeliveryStatus.FAILED), failing)
    return Verdict(again, failing)


def _turned_off(webhook: Webhook, delivery: Delivery, now_ms: int, why: str) -> Verdict:
    since_ms = webhook.failing_since_ms or now_ms
    off = replace(
        webhook, status=WebhookStatus.DISABLED, disabled_ms=now_ms, disabled_reason=f"{why} {_last(delivery)}"
    )
    facts = {"url": webhook.url, "error": delivery.last_error or "", "since_ms": str(since_ms)}
    mail = AccountMail(
        id=new_id("msg", fingerprint("webhook_off", webhook.id, since_ms)),
        tenant_id=webhook.tenant_id,
        template="webhook_off",
        topic=None,
        facts=json.dumps(facts),
        created_ms=now_ms,
        expires_ms=now_ms + DELIVERY_MS,
    )
    return Verdict(delivery, off, mail)


def _done(delivery: Delivery, attempt: Attempt, status: DeliveryStatus) -> Delivery:
    return replace(
        delivery,
        due_ms=None,
        done_ms=attempt.ended_ms,
        status=status,
        answered=attempt.answered,
        last_error=attempt.error,
    )


def _last(delivery: Delivery) -> str:
    return f"Last error: {delivery.last_error}."


def _days(ms: int) -> str:
    days = ms // DAY_MS
    return "1 day" if days == 1 else f"{days} days"


def cleaned(error: str) -> str:
    """An error, safe to store and to log: one printable line of bounded length."""
    line = "".join(char if char.isprintable() else " " for char in error[: 10 * ERROR_LENGTH])
    return " ".join(line.split())[:ERROR_LENGTH]


def judge_with(retries: Retries) -> Judge:
    """`judge` with these retries, as stores take it."""

    def on(webhook: Webhook, delivery: Delivery, attempt: Attempt) -> Verdict | None:
        return judge(webhook, delivery, attempt, retries)

    return on


def by_webhook(attempts: Iterable[Attempt]) -> Mapping[str, list[Attempt]]:
    """Attempts by their webhook, in the order in which all nodes lock webhooks."""
    found: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: (attempt.webhook_id, attempt.ended_ms)):
        found.setdefault(attempt.webhook_id, []).append(attempt)
    return found
