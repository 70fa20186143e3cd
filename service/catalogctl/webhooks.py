"""Webhooks: list, create, test and delete them, and look at what they got."""

from urllib.parse import quote

from service.catalogctl.paging import SPONSORSHIP, entries_of, part_of, walk
from service.catalogctl.session import Session
from service.catalogctl.sponsoring import ROOT, at
from service.catalogctl.tables import Column
from service.catalogctl.texts import moment, shown

PATH = f"{ROOT}/webhooks"
WEBHOOKS = (
    Column("WEBHOOK", whole=True),
    Column("URL"),
    Column("STATUS", whole=True),
    Column("FAILING SINCE"),
    Column("EVENTS"),
)
DELIVERIES = (
    Column("DELIVERY", whole=True),
    Column("EVENT", whole=True),
    Column("CREATED"),
    Column("STATUS", whole=True),
    Column("ATTEMPTS", whole=True, right=True),
    Column("ANSWER"),
)
WEBHOOK = {"Webhook": "id", "URL": "url", "Events": "events", "Status": "status", "Why off": "disabledReason"}
DELIVERY = {"Delivery": "id", "Event": "type", "Event id": "eventId", "Status": "status"}


def list_webhooks(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("GET", PATH)
    rows = [
        [
            *(shown(each.get(name)) for name in ("id", "url", "status")),
            moment(each.get("failingSince")),
            shown(each.get("events")),
        ]
        for each in entries_of(reply, "items")
    ]
    session.show(reply, session.table(WEBHOOKS, rows, "No webhooks."))


def create_webhook(session: Session) -> None:
    """Create a webhook and print its secret."""
    session.needs_key()
    options = session.options
    events = [name.strip() for name in options.events.split(",") if name.strip()]
    reply = session.client.ask("POST", PATH, body={"url": options.webhook_url, "events": events})
    webhook = part_of(reply, "webhook")
    lines = {title: shown(webhook.get(field)) for title, field in WEBHOOK.items()}
    session.show(reply, session.facts(lines | {"Secret": shown(reply.document.get("secret"))}))
    session.hint("Keep the secret: it is shown only once.")


def show_webhook(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("GET", at("webhooks", session.options.webhook))
    session.show_fields(reply, part_of(reply, "webhook"), WEBHOOK)


def list_deliveries(session: Session) -> None:
    session.needs_key()
    entries = walk(session, at("webhooks", session.options.webhook, "deliveries"), SPONSORSHIP, {})
    rows = [
        [
            *(shown(each.get(name)) for name in ("id", "type")),
            moment(each.get("createdAt")),
            *(shown(each.get(name)) for name in ("status", "attempts")),
            shown(each.get("error") or each.get("responseStatus")),
        ]
        for each in entries
    ]
    session.say(*session.table(DELIVERIES, rows, "Nothing was sent yet."))


def enable_webhook(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("POST", at("webhooks", session.options.webhook, "enable"))
    session.show_fields(reply, part_of(reply, "webhook"), WEBHOOK)


def test_webhook(session: Session) -> None:
    _queue(session, "test")


def resend_delivery(session: Session) -> None:
    _queue(session, f"deliveries/{quote(session.options.delivery, safe='')}/resend")


def _queue(session: Session, move: str) -> None:
    session.needs_key()
    reply = session.client.ask("POST", at("webhooks", session.options.webhook, move))
    session.show_fields(reply, part_of(reply, "delivery"), DELIVERY)


def delete_webhook(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("DELETE", at("webhooks", session.options.webhook))
    session.show(reply, [f"{shown(session.options.webhook)} is deleted."])
