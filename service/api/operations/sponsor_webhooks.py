"""Operations on webhooks out: create, list, read and delete them, turn them on, and look at what they got."""

import json
from collections.abc import Sequence
from functools import partial
from urllib.parse import urlsplit

from actors.bookings.store import Before
from actors.clock import DAY_MS
from actors.times import CLOCKS_DIFFER_MS
from actors.values import Code, Problem, Refused, Scope
from actors.webhooks.messages import Delivery, Queued, WebhookSaved
from actors.webhooks.state import unknown_delivery, unknown_webhook
from service.api.context import Services
from service.api.messages import Answer, respond
from service.api.operation import Call, account_operation
from service.api.operations.responses import linked, list_page, with_id
from service.outside.public_addresses import Network, is_listed, is_public, parsed
from service.schemas.fields import may_exist
from service.schemas.lists import DEFAULT_LIMIT, SponsorshipQuery, WebhookEventsQuery
from service.schemas.urls import public_address
from service.schemas.webhooks import (
    DeliveryAnswer,
    Webhook,
    WebhookAnswer,
    WebhookBody,
    WebhookCreated,
    WebhookDeleted,
    WebhookDeliveries,
    WebhookDelivery,
    WebhookEvent,
    WebhookEvents,
    Webhooks,
)


async def list_webhooks(services: Services, call: Call) -> Answer | Refused:
    own = await services.webhooks.webhooks(call.caller.owner)
    return Answer.of(Webhooks(items=[Webhook.of(each) for each in own]))


async def create_webhook(services: Services, call: Call) -> Answer | Refused:
    body: WebhookBody = call.body
    why = url_problem(body.url, services.config.webhooks.allow_networks)
    if why is not None:
        return Refused(Code.INVALID_REQUEST, "The body is not valid", problems=(Problem("url", "value_error", why),))
    saved = await services.webhooks.create(
        call.caller.owner, body.url, body.types(), call.caller.agent, call.idempotency_key
    )
    return respond(
        saved,
        lambda new: WebhookCreated(
            webhook=Webhook.of(new.webhook), secret=services.webhook_signer.secret(new.webhook.id)
        ),
    )


def url_problem(url: str, allowed: Sequence[Network]) -> str | None:
    """Return why a webhook cannot have this URL in its normal form; None if it can.

    Names are resolved at each delivery only.
    """
    parts = urlsplit(url)
    secure, address = parts.scheme == "https", parsed(parts.hostname or "")
    if address is not None and is_listed(address, allowed):
        return None
    if not secure and not (allowed and address is None):
        return "must begin with https://"
    if address is not None:
        return None if is_public(address) else "must not lead to a private network"
    if not allowed:
        try:
            public_address(url)
        except ValueError as error:
            return str(error)
    return None


@with_id(unknown_webhook)
async def read_webhook(services: Services, call: Call, webhook_id: str) -> Answer | Refused:
    found = await services.webhooks.webhook(call.caller.owner, webhook_id)
    return unknown_webhook() if found is None else Answer.of(WebhookAnswer(webhook=Webhook.of(found)))


@with_id(unknown_webhook)
async def delete_webhook(services: Services, call: Call, webhook_id: str) -> Answer | Refused:
    gone = await services.webhooks.delete(call.caller.owner, webhook_id, call.caller.agent)
    return respond(gone, lambda _: WebhookDeleted(deleted=True))


@with_id(unknown_webhook)
async def enable_webhook(services: Services, call: Call, webhook_id: str) -> Answer | Refused:
    saved = await services.webhooks.enable(call.caller.owner, webhook_id, call.caller.agent)
    services.webhook_sender.wake()
    return respond(saved, _webhook_answer)


def _webhook_answer(saved: WebhookSaved) -> WebhookAnswer:
    return WebhookAnswer(webhook=Webhook.of(saved.webhook))


@with_id(unknown_webhook)
async def test_webhook(services: Services, call: Call, webhook_id: str) -> Answer | Refused:
    queued = await services.webhooks.test(call.caller.owner, webhook_id, call.caller.agent)
    services.webhook_sender.wake()
    return respond(queued, _queued)


@with_id(unknown_webhook)
async def resend_delivery(services: Services, call: Call, webhook_id: str) -> Answer | Refused:
    delivery_id = call.path_values["deliveryId"]
    if not may_exist(delivery_id):
        return unknown_delivery()
    queued = await services.webhooks.resend(call.caller.owner, webhook_id, delivery_id, call.caller.agent)
    services.webhook_sender.wake()
    return respond(queued, _queued)


def _queued(queued: Queued) -> DeliveryAnswer:
    return DeliveryAnswer(delivery=WebhookDelivery.of(queued.delivery))


@with_id(unknown_webhook)
async def list_deliveries(services: Services, call: Call, webhook_id: str) -> Answer | Refused:
    if await services.webhooks.webhook(call.caller.owner, webhook_id) is None:
        return unknown_webhook()

    async def fetch(before: Before | None, limit: int) -> Sequence[Delivery]:
        return await services.webhooks.deliveries(webhook_id, None if before is None else before.created_ms, limit)

    return await list_page(
        services,
        call,
        f"deliveries of {webhook_id}",
        fetch,
        # Deliveries are ordered by their number, which stands in for a time.
        lambda delivery: Before(delivery.seq, delivery.id),
        WebhookDelivery.of,
        WebhookDeliveries,
    )


async def list_events(services: Services, call: Call) -> Answer | Refused:
    """The feed of the account. A cursor has the number of the last event; a time before which its reader has seen all events;
    and the epoch of the database, because a restored one gives numbers anew."""
    query: WebhookEventsQuery = call.query
    owner, now_ms, limit = call.caller.owner, services.clock.now_ms(), query.limit or DEFAULT_LIMIT
    purpose, epoch = f"events of {owner}", services.catalog.snapshot.changes.revision.epoch
    after, since_ms = 0, query.since or 0
    if query.cursor is not None:
        after, seen_ms, known = services.cursors.decode(purpose, query.cursor)
        kept_ms = now_ms - services.config.retention.webhook_deliveries_days * DAY_MS
        if known != epoch or seen_ms < kept_ms + CLOCKS_DIFFER_MS:
            return Refused(Code.CURSOR_EXPIRED, MISSED)
        since_ms = 0
    feed = await services.webhooks.feed(owner, after, since_ms, limit + 1)
    events, more = feed.events[:limit], len(feed.events) > limit
    place = (events[-1].seq, events[-1].created_ms) if more else (feed.last, now_ms)
    cursor = services.cursors.encode(purpose, (*place, epoch))
    items = [WebhookEvent(id=each.id, **json.loads(each.body)) for each in events]
    answer = Answer.of(WebhookEvents(items=items, cursor=cursor, hasMore=more))
    return linked(services, call, answer, cursor if more else None)


MISSED = (
    "Events after this cursor may be gone: it is too old, or from before a restore of the database. Begin without it."
)

PATH = "/api/v1/sponsors/webhooks"

_webhooks = partial(account_operation, tag="Webhooks")
_reading = partial(_webhooks, method="GET", scopes=(Scope.SPONSOR_READ,))
_writing = partial(_webhooks, method="POST", scopes=(Scope.SPONSOR_WRITE,), repeatable=True)

ROWS = (
    _reading(
        name="listWebhooks",
        path=PATH,
        summary="List webhooks",
        description="Returns the webhooks of the account, oldest first. This list is not paginated.",
        handler=list_webhooks,
        result=Webhooks,
    ),
    _writing(
        name="createWebhook",
        path=PATH,
        summary="Create a webhook",
        description="Posts the events that you choose to a URL from now on, signed as Standard Webhooks says. The signing "
        "secret is returned only here. The URL needs https and a public host. A repeated Idempotency-Key with the same body "
        "returns the same webhook.",
        handler=create_webhook,
        result=WebhookCreated,
        body=WebhookBody,
        leads_to=dict.fromkeys(
            ("getWebhook", "deleteWebhook", "enableWebhook", "testWebhook", "listWebhookDeliveries"), "/webhook/id"
        ),
        example={"url": "https://tools.example.com/webhooks", "events": ["booking.paid", "campaign.approved"]},
        codes=(Code.WEBHOOK_LIMIT, Code.INVALID_STATE),
        keyed=True,
    ),
    _reading(
        name="getWebhook",
        path=f"{PATH}/{{id}}",
        summary="Get one webhook",
        description="Returns a webhook, and since when its deliveries fail or why it is off.",
        handler=read_webhook,
        result=WebhookAnswer,
        codes=(Code.NOT_FOUND,),
    ),
    _writing(
        name="enableWebhook",
        path=f"{PATH}/{{id}}/enable",
        summary="Enable a webhook",
        description="Turns a webhook on that the service has turned off. Events from before that still wait are sent in "
        "order; events from while it was off are not. Repeating the request has no effect.",
        handler=enable_webhook,
        result=WebhookAnswer,
        codes=(Code.NOT_FOUND,),
    ),
    _writing(
        name="testWebhook",
        path=f"{PATH}/{{id}}/test",
        summary="Test a webhook",
        description="Queues an event `webhook.test`, which is sent at once. While one waits, no other is added.",
        handler=test_webhook,
        result=DeliveryAnswer,
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    _reading(
        name="listWebhookDeliveries",
        path=f"{PATH}/{{id}}/deliveries",
        summary="List deliveries of a webhook",
        description="Returns what was posted to a webhook or waits, newest first.",
        handler=list_deliveries,
        result=WebhookDeliveries,
        query=SponsorshipQuery,
        codes=(Code.NOT_FOUND,),
    ),
    _reading(
        name="listWebhookEvents",
        path="/api/v1/sponsors/webhook-events",
        summary="List webhook events",
        description="Returns what webhooks tell this account, oldest first, whether or not it has a webhook: for receivers "
        "without a public address. Keep the last `cursor`: asked again, it returns what has happened since, and never skips "
        "an event. Without a cursor, the list begins with the oldest event that is kept. A cursor that may have missed one "
        "gets 410. Tests of webhooks and repeated deliveries are not in it.",
        handler=list_events,
        result=WebhookEvents,
        query=WebhookEventsQuery,
        codes=(Code.CURSOR_EXPIRED,),
    ),
    _writing(
        name="resendWebhookDelivery",
        path=f"{PATH}/{{id}}/deliveries/{{deliveryId}}/resend",
        summary="Resend a delivery of a webhook",
        description="Queues the event again, with the same id and body. While it waits, nothing is added.",
        handler=resend_delivery,
        result=DeliveryAnswer,
        codes=(Code.NOT_FOUND, Code.INVALID_STATE),
    ),
    _webhooks(
        name="deleteWebhook",
        method="DELETE",
        path=f"{PATH}/{{id}}",
        summary="Delete a webhook",
        description="Deletes a webhook with its deliveries. One that is under way may still arrive.",
        handler=delete_webhook,
        result=WebhookDeleted,
        scopes=(Scope.SPONSOR_WRITE,),
        codes=(Code.NOT_FOUND,),
    ),
)
