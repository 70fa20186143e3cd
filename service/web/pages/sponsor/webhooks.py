"""A sponsor's webhooks: the list with a form for a new one, its secret once, and one webhook with what it got."""

from collections.abc import Iterable

from actors.values import Code
from actors.webhooks.messages import EventType
from service.web.pages.parts.forms import Field, Form, address_of
from service.web.pages.parts.messages import ADDRESS
from service.web.pages.parts.page import Act, Audience, FormError, Page, PageRequest, SeeOther, Template, calling
from service.web.pages.parts.paging import paged

PATH = "/sponsor/webhooks"
CHOSEN = "event "
"""The prefix of the names of the form's boxes."""

EVENTS = {
    EventType.BOOKING_RESERVED: "A week is held for you",
    EventType.BOOKING_PAID: "A booking is paid",
    EventType.BOOKING_CANCELLED: "A booking is cancelled",
    EventType.BOOKING_EXPIRED: "A hold runs out",
    EventType.BOOKING_REFUNDED: "A booking is refunded",
    EventType.CAMPAIGN_APPROVED: "An ad is approved",
    EventType.CAMPAIGN_REJECTED: "An ad is rejected",
    EventType.DELIVERY_DAY: "A day of a running booking is over, with its figures",
}


async def webhooks(request: PageRequest) -> Template:
    listed = (await request.ask("listWebhooks")).or_raise()["items"]
    most = request.config.webhooks.per_account
    values = {"webhooks": listed, "events": EVENTS, "most": most, "names_of": names_of}
    return Template("sponsor_webhooks.html", values)


def names_of(events: Iterable[str]) -> str:
    """Events in words: `A booking is paid, a hold runs out`."""
    joined = ", ".join(words[:1].lower() + words[1:] for words in (EVENTS[EventType(event)] for event in events))
    return joined[:1].upper() + joined[1:]


def name_of(event: str) -> str:
    """The event of a delivery in words."""
    return EVENTS.get(EventType(event), "A test")


async def create(request: PageRequest) -> Template | FormError:
    chosen = [event.value for event in EVENTS if CHOSEN + event in request.form]
    body = {"url": address_of(request.form, "url"), "events": chosen}
    made = await request.ask("createWebhook", body=body, idempotency_key=request.form.get("form_id"))
    if made.refused is not None:
        return FormError(made.refused)
    values = {"webhook": made.json["webhook"], "secret": made.json["secret"], "names_of": names_of}
    return Template("sponsor_webhook_made.html", values)


async def webhook(request: PageRequest) -> Template:
    found = (await request.ask("getWebhook", path=request.path_values)).or_raise()["webhook"]
    cursor = request.query.get("cursor")
    log = await request.ask("listWebhookDeliveries", path=request.path_values, query={"cursor": cursor})
    deliveries = log.or_raise()
    total = await request.count("countDeliveries", deliveries)
    values = {"webhook": found, "deliveries": deliveries, "paging": paged(request, deliveries, total=total)}
    return Template("sponsor_webhook.html", values | {"names_of": names_of, "name_of": name_of})


async def resend(request: PageRequest) -> SeeOther | FormError:
    path = {**request.path_values, "deliveryId": request.form.get("delivery", "")}
    return (await request.ask("resendWebhookDelivery", path=path)).see_other(request.path, "webhook_resent")


ACTIONS: dict[str, Act] = {
    "test": calling("testWebhook", "webhook_tested"),
    "enable": calling("enableWebhook", "webhook_enabled"),
    "resend": resend,
    "delete": calling("deleteWebhook", "webhook_deleted", PATH),
}

FORM = Form(
    {"url": Field("Address", ADDRESS), "events": Field("Send it when", "Choose at least one event.")},
    {Code.INVALID_STATE: ("url", "You have a webhook with this address already. Write another one.")},
)

PAGES = (
    Page(PATH, webhooks, {"create": create}, Audience.ACCOUNT, forms={"create": FORM}),
    Page(f"{PATH}/{{id}}", webhook, ACTIONS, Audience.ACCOUNT),
)
