"""The state of each kind of thing as a badge: a tone and a word or three. Pure.

Templates write `{{ booking|state_of("booking") }}` for the badge, and `(booking|state_of("booking")).words` in an attribute.
`KINDS` is the table of kinds; each takes the JSON of the API and the time of the page.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from actors.bookings.records import BookingStatus, CampaignStatus, YoutubeStatus
from actors.catalog.submissions import SubmissionStatus
from actors.times import DAY_MS
from actors.values import Tier
from actors.webhooks.messages import DeliveryStatus, WebhookStatus
from service.web.pages.parts import words

Thing = Mapping[str, Any]

KEY_ENDS_SOON_MS = 7 * DAY_MS
"""The time before the end of a key at which its account is mailed."""


@dataclass(frozen=True, slots=True)
class State:
    """A badge. `tone` is `good`, `warm` (act soon), `bad`, `cool` or empty. `dot`: it is a state and no label."""

    words: str
    tone: str = ""
    dot: bool = True

    @property
    def classes(self) -> str:
        """The value of the attribute `class`."""
        return " ".join(["badge", *(["state"] if self.dot else []), *([self.tone] if self.tone else [])])

    def __str__(self) -> str:
        return self.words

    def __html__(self) -> str:
        return f'<span class="{self.classes}">{escape(self.words)}</span>'


# Bookings.

OVER: Mapping[BookingStatus, State] = {
    BookingStatus.EXPIRED: State("Not paid in time"),
    BookingStatus.CANCELLED: State("Cancelled"),
    BookingStatus.REFUNDING: State("Refund under way", "warm"),
    BookingStatus.REFUNDED: State("Refunded"),
}
"""States that do not depend on the day."""

NOT_DISPLAYED: Mapping[CampaignStatus, State] = {
    CampaignStatus.DRAFT: State("Paid, ad not sent", "warm"),
    CampaignStatus.PENDING: State("Paid, in review", "cool"),
    CampaignStatus.REJECTED: State("Ad rejected", "bad"),
    CampaignStatus.PAUSED: State("Ad paused", "warm"),
}
"""Paid bookings whose ad cannot be shown."""

ISSUES: Mapping[str, State] = {
    "paid_after_expiry": State("Paid too late", "bad"),
    "paid_after_cancel": State("Paid after it was cancelled", "bad"),
    "amount_mismatch": State("Another amount paid", "bad"),
    "paid_twice": State("Paid twice", "bad"),
    "refund_declined": State("Refund refused", "bad"),
    "refund_failed": State("Refund failed", "bad"),
    "disputed": State("Payment disputed", "bad"),
    "dispute_lost": State("Taken back by the bank"),
    "dispute_won": State("Dispute won too late", "bad"),
    "not_shown": State("Refunded, never shown"),
    "partly_shown": State("Refunded in part"),
}
"""Problems with a payment (`paymentIssue`), and reasons of a refund."""

FAILED_REFUNDS = ("refund_declined", "refund_failed", "dispute_won")
"""Issues after which an administrator may order the refund again."""


def booking(thing: Thing, now_ms: int) -> State:
    """The most pressing state: trouble with the payment, a request for a refund, the ad, then the weeks."""
    status = BookingStatus(thing["status"])
    issue = thing.get("paymentIssue")
    match status:
        case BookingStatus.RESERVED | BookingStatus.CHECKOUT:
            return State(f"Held until {words.time_of_day(thing['heldUntil'], now_ms)}", "warm")
        case BookingStatus.PAID:
            return _paid(thing, issue, now_ms)
        case BookingStatus.REFUNDING if issue in FAILED_REFUNDS:
            return ISSUES[issue]
        case BookingStatus.REFUNDED if issue in ("dispute_lost", "not_shown", "partly_shown"):
            return ISSUES[issue]
        case _:
            return OVER[status]


def _paid(thing: Thing, issue: str | None, now_ms: int) -> State:
    if issue == "disputed" or issue in FAILED_REFUNDS:
        return ISSUES[issue]
    if thing.get("refundRequestedAt") is not None:
        return State("Refund asked", "warm")
    if thing["weekEnd"] <= now_ms:
        return State("Ended")
    shown = CampaignStatus(thing.get("campaignStatus", CampaignStatus.APPROVED))
    if shown in NOT_DISPLAYED:
        return NOT_DISPLAYED[shown]
    if now_ms < thing["weekStart"]:
        return State(f"Paid, begins {words.short(thing['weekStart'], now_ms)}", "good")
    return State("Running", "good")


def issue(thing: Thing, _: int) -> State:
    """The problem with the payment of a booking that has one."""
    return ISSUES[thing["paymentIssue"]]


# Ads, slots and videos.

CAMPAIGNS: Mapping[CampaignStatus, State] = {
    CampaignStatus.DRAFT: State("Draft"),
    CampaignStatus.PENDING: State("In review", "cool"),
    CampaignStatus.APPROVED: State("Approved", "good"),
    CampaignStatus.REJECTED: State("Rejected", "bad"),
    CampaignStatus.PAUSED: State("Paused"),
}
VIDEOS: Mapping[YoutubeStatus, State] = {
    YoutubeStatus.PLANNED: State("Planned", "cool"),
    YoutubeStatus.PUBLISHED: State("Published", "good"),
}


SUBMISSIONS: Mapping[SubmissionStatus, State] = {
    SubmissionStatus.PENDING: State("In review", "cool"),
    SubmissionStatus.ACCEPTED: State("Accepted", "good"),
    SubmissionStatus.DECLINED: State("Declined", "bad"),
}


def submission(thing: Thing, _: int) -> State:
    return SUBMISSIONS[SubmissionStatus(thing["status"])]


def campaign(thing: Thing, _: int) -> State:
    state = CAMPAIGNS[CampaignStatus(thing["status"])]
    return state if thing.get("pendingRevision") is None else State(f"{state.words}, edit in review", state.tone)


def video(thing: Thing, _: int) -> State:
    """The video of a booking that has one."""
    return VIDEOS[YoutubeStatus(thing["youtubeStatus"])]


def slot(thing: Thing, now_ms: int) -> State:
    if thing.get("retired"):
        return State("Retired")
    if not thing["active"]:
        return State("Not for sale")
    if thing.get("comingSoon"):
        return State("Coming soon", "cool")
    if thing.get("offerEndsAt") is not None and thing["offerEndsAt"] <= now_ms:
        return State("Offer ended")
    return State("For sale", "good")


# Keys and accounts.

TIERS: Mapping[Tier, State] = {
    Tier.ANONYMOUS: State("Not claimed"),
    Tier.CLAIMED: State("Free"),
    Tier.UPGRADED: State("Upgraded", "good"),
}


def key(thing: Thing, now_ms: int) -> State:
    """Whether a key works, and when it ends if that is within 7 days."""
    ends_ms = thing.get("expiresAt")
    if ends_ms is None:
        return State("Works", "good")
    if ends_ms <= now_ms:
        return State("Expired")
    if ends_ms - now_ms > KEY_ENDS_SOON_MS:
        return State("Works", "good")
    begin = "Replaced, expires" if thing.get("replacedBy") else "Expires"
    return State(f"{begin} in {words.left(ends_ms, now_ms)}", "warm")


def account(thing: Thing, now_ms: int) -> State:
    if thing.get("suspendedAt") is not None:
        return State("Suspended", "bad")
    if thing.get("deletesAt") is not None:
        return State(f"Deleted from {words.short(thing['deletesAt'], now_ms)} on", "warm")
    return State("Active", "good")


def tier(thing: Thing, _: int) -> State:
    state = TIERS[Tier(thing["tier"])]
    return State(state.words, state.tone, dot=False)


# Webhooks.

WEBHOOKS: Mapping[WebhookStatus, State] = {
    WebhookStatus.ENABLED: State("On", "good"),
    WebhookStatus.DISABLED: State("Turned off", "bad"),
}
DELIVERIES: Mapping[DeliveryStatus, State] = {
    DeliveryStatus.WAITING: State("On its way", "cool"),
    DeliveryStatus.DELIVERED: State("Delivered", "good"),
    DeliveryStatus.FAILED: State("Given up", "bad"),
}


def webhook(thing: Thing, _: int) -> State:
    status = WebhookStatus(thing["status"])
    if status is WebhookStatus.ENABLED and thing.get("failingSince") is not None:
        return State("Failing", "warm")
    return WEBHOOKS[status]


def delivery(thing: Thing, now_ms: int) -> State:
    """The delivery of an event; after a failure, the time of the next attempt."""
    next_ms = thing.get("nextAttemptAt")
    if thing["status"] == DeliveryStatus.WAITING and next_ms is not None:
        return State(f"Next try {words.when(next_ms, now_ms)}", "warm")
    return DELIVERIES[DeliveryStatus(thing["status"])]


def listed(thing: Thing, now_ms: int) -> State:
    """The state of a booking in the word that filters and files have for it. Its tone is that of what is most pressing."""
    return State(LISTED[BookingStatus(thing["status"])], booking(thing, now_ms).tone)


def detail(thing: Thing, now_ms: int) -> State:
    """What `booking` says beside that word: `Until 10:03`, `Begins 2 Nov`, `Running`. Empty if that is all."""
    words_of = booking(thing, now_ms).words
    if words_of == LISTED[BookingStatus(thing["status"])]:
        return State("")
    short = words_of.removeprefix("Held ").removeprefix("Paid, ")
    return State(short[:1].upper() + short[1:])


KINDS: Mapping[str, Callable[[Thing, int], State]] = {
    "booking": booking,
    "listed": listed,
    "detail": detail,
    "issue": issue,
    "campaign": campaign,
    "submission": submission,
    "video": video,
    "slot": slot,
    "key": key,
    "account": account,
    "tier": tier,
    "webhook": webhook,
    "delivery": delivery,
}


def state_of(thing: Thing, kind: str, now_ms: int) -> State:
    """The badge of a thing of one of `KINDS`."""
    return KINDS[kind](thing, now_ms)


LISTED: Mapping[BookingStatus, str] = {
    BookingStatus.RESERVED: "Held",
    BookingStatus.CHECKOUT: "In checkout",
    BookingStatus.PAID: "Paid",
    **{status: state.words for status, state in OVER.items()},
}
"""The states of bookings as filters and counts name them, where no day is known."""
