"""The history of a booking in words. Pure.

`booking` and `campaign` are the JSON of the API, `steps` those of `readBookingSteps`. Times are epoch milliseconds, UTC.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from service.web.pages.parts import words
from service.web.pages.parts.booking_words import by_weeks

Json = Mapping[str, Any]
Item = tuple[str, words.Moment | str, bool]
"""Words, their moment where it is known, and whether it is so now."""

MAX_AD_STEPS = 8
"""The newest steps of the ad that are listed. It may be edited often in a season."""

AD_STEPS: Mapping[str, str] = {
    "campaign.submitted": "Ad sent for review",
    "campaign.withdrawn": "Ad taken out of review",
    "campaign.approved": "Ad approved",
    "campaign.rejected": "Ad not approved",
    "campaign.paused": "Ad paused",
    "campaign.resumed": "Ad resumed",
    "campaign.edit_approved": "Edit of the ad approved",
    "campaign.edit_rejected": "Edit of the ad not approved",
}
ASKED = "You asked for a refund"
BOOKING_STEPS: Mapping[str, str] = {
    "booking.expired": "Not paid in time",
    "booking.cancelled": "Cancelled",
    "booking.paid_too_late": "A payment arrived too late",
    "booking.paid_twice": "A second payment arrived",
    "booking.refund_requested": ASKED,
    "booking.refund_request_declined": "We did not agree to a refund",
    "booking.refund_ordered": "Refund ordered",
    "booking.refunded": "Refunded",
    "booking.refunded_in_part": "A part was refunded",
    "booking.refund_declined": "The payment processor declined the refund",
    "booking.refund_failed": "The refund did not arrive",
    "booking.refund_returned": "A refund came back, after the bank had taken the payment",
    "booking.dispute_opened": "Payment disputed at the bank",
    "booking.dispute_won": "The bank decided for the payment",
    "booking.dispute_lost": "The bank took the payment back",
}
DISPLAY_ENDS = ("booking.refund_ordered", "booking.refunded", "booking.dispute_lost", "booking.paid_too_late")
"""Steps after which a booking that was paid does not run."""

UNPAID = ("booking.expired", "booking.cancelled")

DISPLAY_STARTS = ("campaign.approved", "campaign.resumed")
"""Steps from which on the ad is shown in weeks that have begun."""

ENDINGS: Mapping[str, str] = {
    "expired": "Not paid in time",
    "cancelled": "Cancelled",
    "refunding": "Refund ordered",
    "refunded": "Refunded",
}
"""States whose step is listed without its moment if the audit does not have it, or no longer."""


def history(
    booking: Json, campaign: Json, paid_ms: int | None, now_ms: int, steps: Sequence[Json] = (), paid: str = ""
) -> list[Item]:
    """The history of a booking, newest first. `paid` is the amount that arrived, if it is not the booking's."""
    over_ms = _over(booking, steps)
    before = [each for each in steps if each["action"] in AD_STEPS and each["at"] < over_ms]
    ad_steps = [(each["at"], AD_STEPS[each["action"]]) for each in before]
    booking_steps = [(each["at"], BOOKING_STEPS[each["action"]]) for each in steps if each["action"] in BOOKING_STEPS]
    known = [(booking["createdAt"], "Booked")]
    if paid_ms is not None:
        known.append((paid_ms, f"Paid, {paid or words.money(booking['amountCents'], booking['currency'])}"))
    known += [*ad_steps[-MAX_AD_STEPS:], *_weeks(booking, paid_ms, now_ms, steps), *booking_steps]
    for name, text in (("refundRequestedAt", ASKED), ("submittedAt", AD_STEPS["campaign.submitted"])):
        at_ms = (booking if name == "refundRequestedAt" else campaign).get(name)
        if at_ms and booking["status"] == "paid" and (at_ms, text) not in known:
            known.append((at_ms, text))
    known.sort(key=lambda each: each[0])
    items: list[Item] = [(text, words.when(at_ms, now_ms, first=True), False) for at_ms, text in reversed(known)]
    ending = ENDINGS.get(booking["status"])
    if ending and ending not in [text for _, text in booking_steps]:
        items.insert(0, (ending, "", False))
    first, moment, _ = items[0]
    return [(first, moment, True), *items[1:]]


def _over(booking: Json, steps: Sequence[Json]) -> int:
    """The moment at which the booking ended. Later steps of its ad are no part of its history."""
    ended: list[int] = [each["at"] for each in steps if each["action"] in (*DISPLAY_ENDS, *UNPAID)]
    return min([int(booking["weekEnd"]), *([] if booking["status"] == "paid" else ended)])


def _weeks(booking: Json, paid_ms: int | None, now_ms: int, steps: Sequence[Json]) -> list[tuple[int, str]]:
    """The beginning and the end of the weeks, if the booking was paid for them then."""
    if paid_ms is None:
        return []
    ended = [each["at"] for each in steps if each["action"] in DISPLAY_ENDS]
    if not ended and booking["status"] != "paid":
        return []
    until_ms = min([*ended, now_ms]) if booking["status"] != "paid" else now_ms
    start_ms, end_ms = max(booking["weekStart"], paid_ms), booking["weekEnd"]
    weeks = []
    if start_ms <= until_ms and booking["nextStep"] == "watch_delivery":
        weeks.append((max([start_ms, *(each["at"] for each in steps if each["action"] in DISPLAY_STARTS)]), "Running"))
    elif start_ms <= until_ms:
        weeks.append((start_ms, f"The {by_weeks(booking, 'week', 'weeks')} began"))
    if end_ms <= until_ms:
        weeks.append((end_ms, f"The {by_weeks(booking, 'week', 'weeks')} ended"))
    return weeks
