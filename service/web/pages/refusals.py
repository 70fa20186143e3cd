"""The messages of refusals in the words of pages. Pure.

The API speaks of campaigns, statuses and headers. A page says "ad", and what to do on a page. `on_a_page` has a sentence for
the messages that need one, and replaces the name in all others; the API itself keeps its messages.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from actors.bookings.records import BookingStatus, CampaignStatus
from actors.values import Refused
from service.web.pages.words import counted

STILL: Mapping[str, str] = {
    CampaignStatus.DRAFT: "still a draft",
    CampaignStatus.PENDING: "in review",
    CampaignStatus.APPROVED: "approved",
    CampaignStatus.REJECTED: "rejected",
    CampaignStatus.PAUSED: "paused",
}
NOW: Mapping[str, str] = {
    BookingStatus.RESERVED: "held, but not paid",
    BookingStatus.CHECKOUT: "held, but not paid",
    BookingStatus.PAID: "paid",
    BookingStatus.EXPIRED: "no longer held",
    BookingStatus.CANCELLED: "cancelled",
    BookingStatus.REFUNDING: "being refunded",
    BookingStatus.REFUNDED: "refunded",
}

SENT_BEFORE = "This form was sent before with other values. Reload the page, and send it again."


def _campaign(found: re.Match[str]) -> str:
    state = STILL.get(found[1], found[1])
    return f"This ad is {state} now, so it cannot be {found[2]}. Reload the page to see what can be done."


def _booking(found: re.Match[str]) -> str:
    return f"This booking is {NOW.get(found[1], found[1])}, so it cannot be {found[2]}."


def _fast(found: re.Match[str]) -> str:
    return f"That was too fast. Try again in {counted(int(found[1]), 'second')}."


def _sent(found: re.Match[str]) -> str:
    return f"We sent a code a moment ago. Look for it in your mail, or try again in {counted(int(found[1]), 'second')}."


def _unknown(found: re.Match[str]) -> str:
    return f"Too many sign-ins from your network were not valid. Try again in {counted(int(found[1]), 'second')}."


SENTENCES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"A campaign that is (\w+) cannot be ([\w ]+)\.", _campaign),
    (r"A booking that is (\w+) cannot be ([\w ]+)\.", _booking),
    (
        r"This campaign has been edited since you read it\. .*",
        "This ad was edited after you opened this page, so nothing was decided. Read the new words, then decide.",
    ),
    (
        r"This campaign's sponsor has been renamed since you read it\. .*",
        "The sponsor was renamed after you opened this page, so nothing was decided. Read the new name, then decide.",
    ),
    (
        r"A rejected campaign cannot be booked\. .*",
        "A rejected ad cannot be booked. Edit it and send it for review first.",
    ),
    (
        r"This campaign has been rejected\. .*",
        "Your ad was not approved, so it cannot be paid for. Edit it and send it for review first.",
    ),
    (
        r"This account has (\d+) campaigns, the maximum\. .*",
        r"You have \1 ads, the most of an account. Edit one of them.",
    ),
    (
        r"This account has (\d+) campaigns that wait for review, the maximum\. .*",
        r"\1 of your ads wait for review, the most of an account. Wait until one is reviewed, or take one back.",
    ),
    (
        r"Save your sponsor profile first: .*",
        "Save your sponsor profile first. It has the name that stands above your ad.",
    ),
    (
        r"This account has reserved (\d+) times today, the maximum\. .*",
        r"You have held \1 weeks today, the most of a day. Try again tomorrow.",
    ),
    (r"This account has just held this week (.*)", r"You have just held this week \1"),
    (
        r"This booking was made in (\w+) mode and cannot be paid now\.",
        "This booking was made while the service handled payments in another way, so it cannot be paid. Book the week again.",
    ),
    (r"This Idempotency-Key was .*", SENT_BEFORE),
    (r"(?:The query is not valid: )?`from` must not be after `to`\.", "The first day must not be after the last one."),
    (
        r"`from` must be before `to`, by at most (\d+) months\.",
        r"The first month must be before the last one, by at most \1 months.",
    ),
    (
        r"The query is not valid: a report has at most (\d+) days\. .*",
        r"A report has at most \1 days. Choose a later first day, or an earlier last day.",
    ),
    (
        r"A key was already created with this Idempotency-Key\. .*",
        "This form has already created its key. A key is shown only once. Create another one if you did not save it.",
    ),
    (
        r"The key was already rotated with this Idempotency-Key\. .*",
        "This form has already rotated its key. The new key is shown only once. Rotate it again if you did not save it.",
    ),
    (
        r"There is no (.+) with this slug\.",
        r"There is no \1 at this address. It may have been renamed.",
    ),
    (r"Too many requests\. Try again in (\d+) s\.", _fast),
    (r"Your address has sent too many unknown keys or sessions\. Try again in (\d+) s\.", _unknown),
    (r"A code was sent a moment ago\. Try again in (\d+) s\.", _sent),
    (r"This requires a browser session\. .*", "Sign in first."),
    (r"The request is not valid\.", "Something in it is missing, or is not as this page expects it."),
)
"""Messages, and the sentences of pages for them."""

COMPILED = tuple((re.compile(pattern), sentence) for pattern, sentence in SENTENCES)
NAME = re.compile(r"\b(?:(an?)( (?!campaign)\w+)? )?(campaigns?)\b", re.IGNORECASE)


def on_a_page(refused: Refused) -> Refused:
    """The same refusal with the message that a page shows."""
    return replace(refused, message=plain(refused.message))


def plain(message: str) -> str:
    """A message in the words of pages: `There is no such ad.`"""
    for pattern, sentence in COMPILED:
        found = pattern.fullmatch(message)
        if found is not None:
            return sentence(found) if callable(sentence) else found.expand(sentence)
    return NAME.sub(_ad, message)


def _ad(found: re.Match[str]) -> str:
    """`a campaign` is `an ad`, `a new campaign` is `a new ad`."""
    article, between, name = found[1], found[2] or "", found[3]
    ad = ("Ad" if name[0] == "C" else "ad") + ("s" if name.endswith("s") else "")
    if article is None:
        return ad
    article = article if between else article[0] + "n"
    return f"{article}{between} {ad}"
