"""Records, messages and answers of webhooks. None of them contains a signing secret."""

from dataclasses import dataclass, field
from enum import StrEnum

from actors.values import AuditRecord, Done, Refused


class EventType(StrEnum):
    """The types of events. `webhook.test` is sent on request only, whatever the webhook has chosen."""

    BOOKING_RESERVED = "booking.reserved"
    BOOKING_PAID = "booking.paid"
    BOOKING_CANCELLED = "booking.cancelled"
    BOOKING_REFUNDED = "booking.refunded"
    BOOKING_EXPIRED = "booking.expired"
    CAMPAIGN_APPROVED = "campaign.approved"
    CAMPAIGN_REJECTED = "campaign.rejected"
    DELIVERY_DAY = "delivery.day"
    TEST = "webhook.test"


class WebhookStatus(StrEnum):
    ENABLED = "enabled"
    DISABLED = "disabled"


class DeliveryStatus(StrEnum):
    """`waiting` also while an attempt is under way. `failed` was given up."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An endpoint of an account. `host` is the host and port of its URL.

    `failures` counts the attempts that failed since the last success, `failing_since_ms` is when the first of them ended.
    `slow` is set if the last attempt failed or took long, or none succeeded yet. `paused_ms` is when a failing webhook is
    tried again.
    """

    id: str
    tenant_id: str
    url: str
    host: str
    events: tuple[EventType, ...]
    created_ms: int
    status: WebhookStatus = WebhookStatus.ENABLED
    disabled_ms: int | None = None
    disabled_reason: str | None = None
    failures: int = 0
    failing_since_ms: int | None = None
    slow: bool = False
    paused_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """An event to deliver to one webhook. `body` is sent unchanged with every attempt."""

    id: str
    webhook_id: str
    event_id: str
    subject_id: str
    type: str
    body: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivery as stored. `seq` orders the deliveries of a webhook.

    `due_ms` is when to try it (again), or the end of its lease. It is None once the delivery is done, and while an earlier
    delivery with the same subject waits. `first_ms` is when the first attempt began.
    """

    seq: int
    id: str
    webhook_id: str
    event_id: str
    subject_id: str
    type: str
    body: str
    created_ms: int
    due_ms: int | None = None
    attempts: int = 0
    first_ms: int | None = None
    done_ms: int | None = None
    status: DeliveryStatus = DeliveryStatus.WAITING
    answered: int | None = None
    """The HTTP status of the last attempt, if there was one."""
    last_error: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """An event of an account as its feed has it. `seq` orders them; `body` is what webhooks get."""

    seq: int
    id: str
    tenant_id: str
    subject_id: str
    type: str
    body: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class Feed:
    """A part of an account's feed: events, oldest first, and the `seq` after which its reader goes on."""

    events: tuple[Published, ...]
    last: int


# The sender.


@dataclass(frozen=True, slots=True)
class Task:
    """A leased delivery and its webhook as they were when leased."""

    delivery: Delivery
    webhook: Webhook

    @property
    def id(self) -> str:
        return self.delivery.id

    @property
    def due_ms(self) -> int:
        assert self.delivery.due_ms is not None, "a leased delivery has an end of its lease"
        return self.delivery.due_ms


@dataclass(frozen=True, slots=True)
class Room:
    """Attempts that a node can still start: `free` in all, `slow_free` of them to slow webhooks. The counts are of those
    in progress. At most `per_receiver` run to one host and `per_account` for one account."""

    free: int
    slow_free: int
    per_receiver: int
    per_account: int
    hosts: dict[str, int] = field(default_factory=dict)
    accounts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ready:
    """A webhook with a delivery that is due."""

    id: str
    tenant_id: str
    host: str
    slow: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """Leased deliveries, and when the next webhook becomes due (None if none will)."""

    tasks: tuple[Task, ...]
    next_due_ms: int | None


@dataclass(frozen=True, slots=True)
class Backlog:
    """Deliveries of enabled webhooks that wait, counted up to a bound; when the oldest was made; since when a webhook
    that works is due."""

    waiting: int = 0
    oldest_ms: int | None = None
    late_since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """How an attempt ended. `answered` is the HTTP status, if there was one; `error` is None after a 2xx response.

    With `started` False nothing was sent, because the event was too old. `detail` is for the log and is not stored.
    """

    delivery_id: str
    webhook_id: str
    number: int
    ended_ms: int
    took_ms: int
    error: str | None = None
    answered: int | None = None
    wait_ms: int = 0
    """The pause that the receiver asks for."""
    started: bool = True
    detail: str | None = None


# The webhook actor.


@dataclass(frozen=True, slots=True)
class CreateWebhook:
    webhook: Webhook
    keyed: bool
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class DeleteWebhook:
    tenant_id: str
    webhook_id: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class EnableWebhook:
    """Turn a webhook on that is off. Its waiting deliveries are sent in order."""

    tenant_id: str
    webhook_id: str
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class SendTest:
    tenant_id: str
    webhook_id: str
    delivery: NewDelivery
    audit: AuditRecord


@dataclass(frozen=True, slots=True)
class Resend:
    """Deliver an event again. `new_id` is the id of the new delivery."""

    tenant_id: str
    webhook_id: str
    delivery_id: str
    new_id: str
    audit: AuditRecord


Message = CreateWebhook | DeleteWebhook | EnableWebhook | SendTest | Resend


@dataclass(frozen=True, slots=True)
class WebhookSaved:
    """A webhook as it is after the change."""

    webhook: Webhook


@dataclass(frozen=True, slots=True)
class Queued:
    """A delivery that waits. It is the one that waited already, if there was one."""

    delivery: NewDelivery | Delivery


Answer = WebhookSaved | Done | Queued | Refused
