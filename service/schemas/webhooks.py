"""Wire models of webhooks out."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from actors.webhooks.messages import Delivery as DeliveryRow
from actors.webhooks.messages import DeliveryStatus, EventType, NewDelivery, WebhookStatus
from actors.webhooks.messages import Webhook as WebhookRow
from service.schemas.fields import Count, Milliseconds, Strict, optional
from service.schemas.lists import Page
from service.schemas.rows import filled
from service.schemas.urls import URL_CHARACTERS, web_address

EventName = Literal[
    "booking.reserved",
    "booking.paid",
    "booking.cancelled",
    "booking.refunded",
    "booking.expired",
    "campaign.approved",
    "campaign.rejected",
    "delivery.day",
]

_URL = WithJsonSchema({"type": "string", "format": "uri", "maxLength": URL_CHARACTERS})


def _once(values: list[EventName]) -> list[EventName]:
    if len(set(values)) < len(values):
        raise ValueError("must name each event once")
    return values


class WebhookBody(Strict):
    """A new webhook. The URL uses https and a public host."""

    url: Annotated[str, Field(min_length=1, max_length=URL_CHARACTERS), AfterValidator(web_address), _URL] = Field(
        description="Address that receives events: https and a public host, unless the operator allows others"
    )
    events: Annotated[list[EventName], Field(min_length=1, max_length=8), AfterValidator(_once)] = Field(
        description="Events to receive, each once"
    )

    def types(self) -> list[EventType]:
        return [EventType(name) for name in self.events]


class Webhook(BaseModel):
    """An endpoint that is told what happens to the account's bookings and campaigns."""

    id: str = Field(description="Id of the webhook")
    url: str = Field(description="Address that receives events")
    events: list[str] = Field(description="Events that it receives")
    status: Literal["enabled", "disabled"] = Field(description="Whether events are sent")
    createdAt: Milliseconds
    failingSince: Count | None = optional("Epoch milliseconds of the first of the failures since the last success")
    disabledAt: Milliseconds | None = optional("Epoch milliseconds; only while the webhook is off")
    disabledReason: str | None = optional("Why the service turned the webhook off")

    @classmethod
    def of(cls, webhook: WebhookRow) -> Self:
        return filled(
            cls,
            webhook,
            events=[each.value for each in webhook.events],
            status="enabled" if webhook.status is WebhookStatus.ENABLED else "disabled",
        )


class WebhookCreated(BaseModel):
    """A new webhook. `secret` verifies its deliveries and is shown once."""

    webhook: Webhook = Field(description="The webhook")
    secret: str = Field(description="Signing secret of Standard Webhooks: whsec_ and 32 bytes in base64")


class WebhookAnswer(BaseModel):
    """One webhook."""

    webhook: Webhook = Field(description="The webhook")


class Webhooks(BaseModel):
    """The webhooks of the account, oldest first."""

    items: list[Webhook] = Field(description="The webhooks")


class WebhookDeleted(BaseModel):
    """The webhook is deleted."""

    deleted: Literal[True] = Field(description="Always true")


class WebhookDelivery(BaseModel):
    """An event and its delivery to a webhook."""

    id: str = Field(description="Id of the delivery")
    eventId: str = Field(description="Value of the header webhook-id, the same for every attempt and when sent again")
    type: str = Field(description="Kind of the event, such as booking.paid")
    status: Literal["waiting", "delivered", "failed"] = Field(description="`waiting` until it is delivered or given up")
    createdAt: Milliseconds
    attempts: Count = Field(description="Attempts so far")
    nextAttemptAt: Milliseconds | None = optional("Epoch milliseconds; only while an attempt is due later")
    endedAt: Milliseconds | None = optional("Epoch milliseconds of the delivery, or when it was given up")
    responseStatus: Count | None = optional("HTTP status of the last attempt")
    error: str | None = optional("Why the last attempt failed; `no HTTP response` if no response came that is HTTP")

    @classmethod
    def of(cls, delivery: DeliveryRow | NewDelivery) -> Self:
        if isinstance(delivery, NewDelivery):
            delivery = DeliveryRow(seq=0, **asdict(delivery))
        retried = delivery.status is DeliveryStatus.WAITING and delivery.attempts > 0
        return filled(
            cls,
            delivery,
            nextAttemptAt=delivery.due_ms if retried else None,
            endedAt=delivery.done_ms,
            responseStatus=delivery.answered,
            error=delivery.last_error,
        )


class DeliveryAnswer(BaseModel):
    """One delivery of a webhook."""

    delivery: WebhookDelivery = Field(description="The delivery")


class WebhookEvent(BaseModel):
    """An event as webhooks get it, with its id."""

    id: str = Field(description="Value of the header webhook-id")
    type: str = Field(description="Kind of the event, such as booking.paid")
    timestamp: str = Field(description="When it happened, as RFC 3339 writes it")
    data: dict[str, Any] = Field(description="What the event is about, by its type")


class WebhookEvents(BaseModel):
    """Events, oldest first."""

    items: list[WebhookEvent] = Field(description="Events of this page")
    cursor: str = Field(description="For what follows, now or later")
    hasMore: bool = Field(description="Whether there is another page")


class WebhookDeliveries(Page):
    """Deliveries, newest first."""

    items: list[WebhookDelivery] = Field(description="Deliveries of this page")
