"""The words of a booking: its state and what it means, and how much of it is used. Pure.

`booking` is the JSON of the API. Times are epoch milliseconds, UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.clock import DAY_MS
from actors.shared import dates
from actors.times import WEEK_MS, day_of
from service.web.pages.parts import words

Json = Mapping[str, Any]

HELD = ("reserved", "checkout")

ISSUES: Mapping[str, str] = {
    "paid_after_expiry": "The payment arrived after the hold had ended, and the weeks were gone.",
    "paid_after_cancel": "The payment arrived after you had cancelled the booking.",
    "amount_mismatch": "The payment was not the amount of the booking.",
    "paid_twice": "The booking was paid twice. We refund the second payment by hand.",
    "refund_declined": "The payment processor declined the refund. An administrator will handle it.",
    "refund_failed": "The refund did not arrive. An administrator will handle it.",
    "dispute_lost": "The bank that paid has taken money of the payment back.",
    "dispute_won": "The bank has returned the payment after all, but the weeks are sold. An administrator decides.",
    "not_shown": "Nobody saw the ad in the booked weeks, so you pay nothing.",
    "partly_shown": "Nobody saw the ad in some of the booked weeks, and you pay only for the others.",
}
TROUBLE = ("refund_declined", "refund_failed", "amount_mismatch", "dispute_lost", "dispute_won")
"""Issues that are not settled, or that end a booking against the sponsor's will."""


@dataclass(frozen=True, slots=True)
class Notice:
    """The notice on top of a booking: a sentence that says what is so, and what it means. `tone` is that of a note."""

    first: str
    rest: str = ""
    tone: str = ""


def notice_of(booking: Json, now_ms: int, *, refund_unshown: bool) -> Notice | None:
    """The notice of a booking, None if its state and its figures say it all."""
    step, issue = booking["nextStep"], booking.get("paymentIssue", "")
    notice = (
        _ended(booking) if step == "book_again" else _steps(booking, now_ms, refund_unshown=refund_unshown).get(step)
    )
    if issue not in ISSUES:
        return notice
    tone = "bad" if issue in TROUBLE else "warm" if notice is None else notice.tone
    if notice is None:
        return Notice(ISSUES[issue], tone=tone)
    return Notice(notice.first, f"{notice.rest} {ISSUES[issue]}".strip(), tone)


def _steps(booking: Json, now_ms: int, *, refund_unshown: bool) -> Mapping[str, Notice]:
    yours = f"You have paid, and the {by_weeks(booking, 'week is', 'weeks are')} yours."
    refunded = ", and weeks in which nobody saw the ad are refunded" if refund_unshown else ""
    return {
        "submit_campaign": Notice(
            "Your ad is still a draft, so it cannot be shown yet.", f"{yours} Send it for review.", "warm"
        ),
        "edit_campaign": Notice(
            "Your ad was not approved, so it cannot be shown yet.",
            f"The {by_weeks(booking, 'week stays', 'weeks stay')} yours.",
            "bad",
        ),
        "resume_campaign": Notice(
            "Your ad is paused, so it is not shown.", f"{yours} Resume it to have it shown.", "warm"
        ),
        "wait_for_review": Notice(
            yours, "The ad is shown once an administrator has approved it. There is nothing to do."
        ),
        "wait_for_week": Notice(
            f"Your ad is approved. It is shown from {words.weekday(booking['weekStart'], now_ms)} on.",
            "There is nothing to do.",
            "good",
        ),
        "wait_for_decision": Notice(
            "You asked for a refund.",
            "An administrator decides on it and mails you. Until then the booking stays as it is.",
            "warm",
        ),
        "wait_for_refund": Notice("Your payment is on its way back.", "There is nothing to do."),
        "wait_for_bank": Notice(
            "The payment is disputed at the bank that paid it.",
            "The ad is not shown until the bank has decided.",
            "bad",
        ),
        "wait_for_end": Notice(
            f"The {by_weeks(booking, 'week is', 'weeks are')} over.",
            f"The last counts arrive within minutes{refunded}.",
        ),
        **_unseen(booking),
    }


def _unseen(booking: Json) -> Mapping[str, Notice]:
    """The words of an ended booking without figures."""
    if booking.get("impressions", 1) or booking.get("clicks"):
        return {}
    return {"read_report": Notice(f"Nobody saw the ad in the booked {by_weeks(booking, 'week', 'weeks')}.")}


def _ended(booking: Json) -> Notice:
    """A booking that came to nothing, or whose payment went back."""
    match booking["status"]:
        case "expired":
            return Notice(
                "The hold ended before a payment arrived, and you paid nothing.",
                f"The {by_weeks(booking, 'week', 'weeks')} may still be free.",
            )
        case "cancelled":
            return Notice("You cancelled the booking and paid nothing.")
        case _:
            amount, back = booking["amountCents"], booking.get("refundedCents") or booking["amountCents"]
            currency = booking.get("paidCurrency", booking["currency"])
            of_all = "" if back >= amount or "paidCurrency" in booking else f" of {words.money(amount, currency)}"
            return Notice(f"{words.money(back, currency)}{of_all} was refunded.")


def share_words(voice: Json) -> str:
    """The share of voice of an ad (`readShare`): `one of 5 ads on the left, on about 60 % of page views`. The words give both
    ends if its weeks differ."""
    ads = sorted({each["ads"] for each in voice["weeks"]})
    shares = sorted({each["share"] for each in voice["weeks"]})
    number = str(ads[0]) if len(ads) == 1 else f"{ads[0]} to {ads[-1]}"
    which = "the only ad" if ads == [1] else f"one of {number} ads"
    part = (
        words.percent(shares[-1]) if len(shares) == 1 else f"{words.percent(shares[0])} to {words.percent(shares[-1])}"
    )
    about = "about " if shares[0] < 1 else ""
    return f"{which} on the {voice['side']}, on {about}{part} of page views"


def floor_words(voice: Json) -> str:
    """What becomes of the share once every slot of the side is booked. Empty if it stays."""
    if voice["floor"] >= min(each["share"] for each in voice["weeks"]):
        return ""
    return f"If all {voice['slots']} slots there are booked, on about {words.percent(voice['floor'])}."


def weeks_of(booking: Json) -> int:
    return int((booking["weekEnd"] - booking["weekStart"]) // WEEK_MS)


def first_day(booking: Json) -> int:
    """The first day that was bought. Of a week that had begun, the rest was."""
    first: int = booking.get("periodStart", booking["weekStart"])
    return first


def end_of(booking: Json) -> int:
    """The end of the last week. An invoice has the number of weeks."""
    end: int = booking["weekEnd"] if "weekEnd" in booking else booking["weekStart"] + booking["weeks"] * WEEK_MS
    return end


def period(booking: Json, now_ms: int, *, short: bool = False) -> str:
    """The days of a booking or an invoice: those that were bought."""
    return dates.days(first_day(booking), end_of(booking), now_ms, short=short)


def length(booking: Json) -> str:
    """The length of a booking or an invoice: `2 weeks`, or `2 days` of a week that had begun."""
    return dates.length(first_day(booking), end_of(booking))


def by_weeks(booking: Json, one: str, several: str) -> str:
    return one if weeks_of(booking) == 1 else several


def run_of(booking: Json, now_ms: int) -> str:
    """The days and the number of weeks of a booking, and how far a paid one is."""
    text = f"{period(booking, now_ms)}, {length(booking)}."
    if booking["status"] != "paid" or now_ms >= booking["weekEnd"]:
        return text
    if now_ms < booking["weekStart"]:
        return f"{text} Begins in {words.span(booking['weekStart'] - now_ms)}."
    first = day_of(first_day(booking))
    return f"{text} Day {day_of(now_ms) - first + 1} of {day_of(booking['weekEnd']) - first}."


def used_cents(booking: Json, paid_ms: int, now_ms: int) -> int:
    """The share of the amount for the days up to today, without what was refunded. The first week costs its rest if it was
    paid after it had begun, so its days count from the payment."""
    first, end = max(day_of(booking["weekStart"]), day_of(paid_ms)), day_of(booking["weekEnd"])
    amount: int = booking["amountCents"]
    passed = min(max(day_of(now_ms) - first + 1, 0), end - first)
    used = amount if first >= end else amount * passed // (end - first)
    return max(0, min(used, amount - (booking.get("refundedCents") or 0)))


def daily(count: int, days: int) -> str:
    """`912 a day on average`, nothing before there are two days, or for less than one a day."""
    return f"{round(count / days):,} a day on average" if days > 1 and round(count / days) else ""


def days_left(end_ms: int, now_ms: int) -> int:
    """Days up to the end, today included."""
    return max(0, -((now_ms - end_ms) // DAY_MS))
