"""Change the sponsorship area: profile, campaigns, bookings and keys."""

import re

from service.catalogctl.failures import Misused, Unreachable
from service.catalogctl.paging import part_of
from service.catalogctl.session import Session
from service.catalogctl.sponsoring import ROOT, at, booking_facts, week_ms
from service.catalogctl.texts import shown, time_left

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
CREATIVE = {
    "name": "name",
    "headline": "headline",
    "body": "body",
    "cta": "cta",
    "target_url": "targetUrl",
    "logo_text": "logoText",
}
"""The options of a campaign's content, and their fields on the wire."""
CAMPAIGN = {
    "Campaign": "id",
    "Name": "name",
    "Status": "status",
    "Headline": "headline",
    "Body": "body",
    "Button": "cta",
    "Target": "targetUrl",
    "Logo": "logoText",
    "Review": "reviewNote",
}
"""The facts of a campaign, and their fields on the wire."""
CONTENT = ("Headline", "Body", "Button", "Target", "Logo")
"""The facts that visitors see, which an edit changes."""


def save_profile(session: Session) -> None:
    session.needs_key()
    options = session.options
    reply = session.client.ask("PATCH", f"{ROOT}/profile", body={"name": options.name, "website": options.website})
    session.show_fields(reply, part_of(reply, "profile"), {"Sponsor": "name", "Website": "website"})


def create_campaign(session: Session) -> None:
    _campaign(session, "POST", f"{ROOT}/campaigns", _content(session))


def edit_campaign(session: Session) -> None:
    content = _content(session)
    if not content:
        raise Misused(
            "nothing to change was given: use at least one of --" + ", --".join(n.replace("_", "-") for n in CREATIVE)
        )
    _campaign(session, "PATCH", at("campaigns", session.options.campaign), content)


def move_campaign(session: Session) -> None:
    """Submit, withdraw, pause or resume."""
    _campaign(session, "POST", at("campaigns", session.options.campaign, session.options.move), None)


def _content(session: Session) -> dict[str, str]:
    given = {field: getattr(session.options, option) for option, field in CREATIVE.items()}
    return {field: value for field, value in given.items() if value is not None}


def _campaign(session: Session, method: str, path: str, body: dict[str, str] | None) -> None:
    """Change a campaign and print it, with the parts that an edit changes while it waits for review."""
    session.needs_key()
    reply = session.client.ask(method, path, body=body)
    campaign = part_of(reply, "campaign")
    named = {title: shown(campaign.get(field)) for title, field in CAMPAIGN.items()}
    revision = campaign.get("pendingRevision")
    edited = (
        {} if not isinstance(revision, dict) else {title: shown(revision.get(CAMPAIGN[title])) for title in CONTENT}
    )
    waiting = {f"Edited {title.lower()}": words for title, words in edited.items() if words != named[title]}
    session.show(reply, session.facts(named | waiting))


def book(session: Session) -> None:
    """Reserve weeks of a slot for a campaign."""
    options = session.options
    _reserve(session, f"{ROOT}/bookings", {"campaignId": options.campaign, "slotId": options.slot})


def start(session: Session) -> None:
    """Profile, campaign and booking in one."""
    options = session.options
    names = {"name": options.name, "website": options.website, "headline": options.headline, "body": options.body}
    _reserve(session, f"{ROOT}/bookings/start", {**names, "slotId": options.slot})


def _reserve(session: Session, path: str, fields: dict[str, str]) -> None:
    """Prints the idempotency key before it sends the request, because the response may be lost."""
    session.needs_key()
    week = week_ms(session.options.week)
    given = session.options.idempotency_key
    key = session.outside.new_id() if given is None else _uuid(given)
    session.note(f"Idempotency key: {key}")
    try:
        reply = session.client.ask("POST", path, body={**fields, "weekStart": week, "idempotencyKey": key})
    except Unreachable as error:
        repeat = f"repeat the command with --idempotency-key {key} to find out; it never books twice"
        raise Unreachable(f"{error}; the booking may have been made: {repeat}") from None
    booking = part_of(reply, "booking")
    session.show(reply, session.facts(booking_facts(reply, booking)))
    session.hint(f"Pay before the hold runs out: catalogctl sponsor checkout {shown(booking.get('id'))}")


def _uuid(text: str) -> str:
    if not _UUID.fullmatch(text):
        raise Misused(f"--idempotency-key must be a UUID, not {text!r}")
    return text.lower()


def open_checkout(session: Session) -> None:
    """Print the page where a person pays."""
    session.needs_key()
    reply = session.client.ask("POST", at("bookings", session.options.booking, "checkout"))
    answer = reply.document
    address = answer.get("checkoutUrl")
    session.show(
        reply,
        session.facts(
            {"Pay at": shown(address), "Held until": time_left(answer.get("expiresAt"), reply.headers.get("date"))}
        ),
    )
    if session.options.open and isinstance(address, str) and not session.outside.browse(address):
        session.note("No browser could be opened.")


def cancel_booking(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("POST", at("bookings", session.options.booking, "cancel"))
    booking = part_of(reply, "booking")
    session.show(reply, session.facts(booking_facts(reply, booking)))


def request_refund(session: Session) -> None:
    session.needs_key()
    body = {"reason": session.options.reason}
    reply = session.client.ask("POST", at("bookings", session.options.booking, "refund-request"), body=body)
    session.show(reply, session.facts(booking_facts(reply, part_of(reply, "booking"))))


def create_key(session: Session) -> None:
    session.needs_key()
    scopes = [scope.strip() for scope in session.options.scopes.split(",") if scope.strip()]
    reply = session.client.ask("POST", f"{ROOT}/keys", body={"name": session.options.name, "scopes": scopes})
    session.show_fields(reply, reply.document, {"Id": "id", "Key": "apiKey", "Scopes": "scopes"})
    session.hint("The key is shown only once.")


def revoke_key(session: Session) -> None:
    session.needs_key()
    reply = session.client.ask("DELETE", at("keys", session.options.id))
    session.show(reply, [f"{shown(session.options.id)} is revoked."])
