"""Decisions of administrators: whether a campaign is shown, and whether a sponsor gets a refund."""

from urllib.parse import quote

from service.catalogctl.administering import AREA
from service.catalogctl.client import Reply
from service.catalogctl.paging import part_of
from service.catalogctl.session import Session
from service.catalogctl.sponsoring import booking_facts
from service.catalogctl.texts import shown


def approve_campaign(session: Session) -> None:
    _review(session, {"decision": "approve"})


def reject_campaign(session: Session) -> None:
    _review(session, {"decision": "reject", "note": session.options.note})


def _review(session: Session, decision: dict[str, str]) -> None:
    reply = _decide(session, f"campaigns/{quote(session.options.campaign, safe='')}/review", decision)
    campaign = part_of(reply, "campaign")
    facts = {
        "Campaign": shown(campaign.get("id")),
        "Sponsor": shown(campaign.get("sponsorName")),
        "Headline": shown(campaign.get("headline")),
        "Status": shown(campaign.get("status")),
        "Note": shown(campaign.get("reviewNote")),
    }
    session.show(reply, session.facts(facts))


def refund_booking(session: Session) -> None:
    """Order a refund. The processor makes it, so the booking may still be refunding."""
    reason = session.options.reason
    _show_booking(session, _decide(session, _booking(session, "refund"), {} if reason is None else {"reason": reason}))


def decline_refund(session: Session) -> None:
    _show_booking(session, _decide(session, _booking(session, "refund-decline"), {"note": session.options.note}))


def _booking(session: Session, act: str) -> str:
    return f"bookings/{quote(session.options.booking, safe='')}/{act}"


def _decide(session: Session, path: str, body: dict[str, str]) -> Reply:
    session.needs_key()
    return session.client.ask("POST", f"{AREA}/{path}", body=body)


def _show_booking(session: Session, reply: Reply) -> None:
    session.show(reply, session.facts(booking_facts(reply, part_of(reply, "booking"))))
