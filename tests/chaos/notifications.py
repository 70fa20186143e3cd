"""Judges what follows a payment or an approval: one mail for each transition, refunds and edits only as decided. Pure."""

from collections import Counter
from collections.abc import Iterator

from tests.chaos.history import Answers, Stored
from tests.simulation.oracle.notifications import TO_ADMINISTRATORS, TO_OWNER

WITHOUT_RECORD = frozenset(
    {
        *("week_begins", "week_ended", "weekly_report", "review_digest", "video_material"),
        *("claim_code", "claim_code_long", "sign_in_code", "sign_in_code_long"),
        *("new_key", "new_session", "new_administrator"),
    }
)
"""Mails of schedules, codes and notices. No record of the ledger calls for them; the simulation judges them."""


def broken_notifications(answers: Answers, after: Stored) -> Iterator[str]:
    yield from _mails(after)
    yield from _refunds(answers, after)
    yield from _ads(answers, after)


def _mails(after: Stored) -> Iterator[str]:
    """One mail for each record of a change, whose id it has, and no mail that nothing calls for."""
    wanted: dict[str, str] = {}
    for audit_id, (action, _) in after.audits.items():
        name = audit_id.removeprefix("aud_")
        if action in TO_OWNER:
            wanted[f"msg_{name}_o"] = TO_OWNER[action]
        if action in TO_ADMINISTRATORS:
            wanted[f"msg_{name}_a_1"] = TO_ADMINISTRATORS[action]
    sent = {name: kind for name, kind in after.mails.items() if kind not in WITHOUT_RECORD}
    for name in sorted(wanted.keys() - sent.keys()):
        yield f"nobody was mailed about a change: {name}, {wanted[name]}"
    for name in sorted(sent.keys() - wanted.keys()):
        yield f"a mail is about no change: {name}, {sent[name]}"
    for name in sorted(sent.keys() & wanted.keys()):
        if sent[name] != wanted[name]:
            yield f"a mail is about another change: {name}, {sent[name]} instead of {wanted[name]}"


def _refunds(answers: Answers, after: Stored) -> Iterator[str]:
    """Accepted requests are stored; what nobody asked for or decided is not refunded."""
    answered = Counter(answers.requested)
    records = Counter(target for action, target in after.audits.values() if action == "booking.refund_requested")
    for booking in sorted(answered.keys() | records.keys()):
        if not answered[booking] <= records[booking] <= 3:
            yield f"{answered[booking]} requests for a refund of {booking} were accepted, {records[booking]} are stored"
        if booking not in answers.asked_back:
            yield f"nobody asked for a refund of {booking}"
    late = {target for action, target in after.audits.values() if action == "booking.paid_too_late"}
    for booking, row in after.bookings.items():
        if row.status in ("refunding", "refunded") and booking not in answers.refunded | late:
            yield f"nobody ordered the refund of {booking}, which is {row.status}"


def _ads(answers: Answers, after: Stored) -> Iterator[str]:
    """The content of an ad was approved, or its approval was under way."""
    stored = ((campaign, words) for campaign, words in after.ads.items() if campaign in answers.approved)
    for campaign, words in sorted({*answers.visible, *stored}):
        if words not in answers.approved.get(campaign, set()):
            yield f"{campaign} has {words!r}, which nobody has approved"
