"""Judges what follows a payment or an approval: each transition has one mail, numbers have no gaps, edits need an approval.
Pure."""

from collections import Counter, defaultdict
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
MONEY = ("booking.paid", "booking.paid_too_late")


def broken_notifications(answers: Answers, before: Stored, after: Stored) -> Iterator[str]:
    yield from _mails(before, after)
    yield from _documents(after)
    yield from _refunds(answers, before, after)
    yield from _ads(answers, after)


def _mails(before: Stored, after: Stored) -> Iterator[str]:
    """One mail for each record of a change, whose id it has, and no mail that nothing calls for."""
    wanted: dict[str, str] = {}
    for audit_id, (action, _) in after.audits.items():
        name = audit_id.removeprefix("aud_")
        if audit_id not in before.audits and action in TO_OWNER:
            wanted[f"msg_{name}_o"] = TO_OWNER[action]
        if audit_id not in before.audits and action in TO_ADMINISTRATORS:
            wanted[f"msg_{name}_a_1"] = TO_ADMINISTRATORS[action]
    fresh = {name: kind for name, kind in after.mails.items() if name not in before.mails}
    sent = {name: kind for name, kind in fresh.items() if kind not in WITHOUT_RECORD}
    for name in sorted(wanted.keys() - sent.keys()):
        yield f"nobody was mailed about a change: {name}, {wanted[name]}"
    for name in sorted(sent.keys() - wanted.keys()):
        yield f"a mail is about no change: {name}, {sent[name]}"
    for name in sorted(sent.keys() & wanted.keys()):
        if sent[name] != wanted[name]:
            yield f"a mail is about another change: {name}, {sent[name]} instead of {wanted[name]}"


def _documents(after: Stored) -> Iterator[str]:
    """One invoice for each payment, and numbers without gaps."""
    series: defaultdict[str, list[int]] = defaultdict(list)
    for name, number in after.numbers:
        series[name].append(number)
    for name, numbers in sorted(series.items()):
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield f"the numbers of {name} have gaps: {sorted(numbers)}"
    paid = sum(action in MONEY for action, _ in after.audits.values())
    invoices = sum(len(numbers) for name, numbers in series.items() if name.endswith(" invoice"))
    if after.numbers and invoices != paid:
        yield f"{paid} payments have {invoices} invoices"


def _refunds(answers: Answers, before: Stored, after: Stored) -> Iterator[str]:
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
        if row.status in ("refunding", "refunded") and booking not in answers.refunded | before.bookings.keys() | late:
            yield f"nobody ordered the refund of {booking}, which is {row.status}"


def _ads(answers: Answers, after: Stored) -> Iterator[str]:
    """The content of an ad was approved, or its approval was under way."""
    stored = ((campaign, words) for campaign, words in after.ads.items() if campaign in answers.approved)
    for campaign, words in sorted({*answers.visible, *stored}):
        if words not in answers.approved.get(campaign, set()):
            yield f"{campaign} has {words!r}, which nobody has approved"
