"""The messages of refusals in the words of pages. Pure.

The API speaks of campaigns, statuses and headers. A page says "ad", and what to do on a page. `on_a_page` has a sentence for
the messages that need one, and replaces the name in all others; the API itself keeps its messages.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from actors.bookings.records import BookingStatus, CampaignStatus
from actors.values import Refused
from service.schemas.keys import NO_ADDRESS
from service.schemas.urls import URL_CHARACTERS
from service.web.pages.parts.words import counted

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

UNREADABLE = "This form could not be read. Reload the page, and send it again."
WRONG_ADDRESS = "Something in the address of this page is not valid. Open the page from its link."
STALE_LIST = "This part of the list is no longer there. Open the list from its first page."
ADDRESS = "Write an address such as tools.example.com."
EMAIL = "Write an email address such as you@example.com."
TERMS_CHANGED = (
    "The terms have changed since you opened this page. Nothing was sent. Read them, then press the button again."
)
CODE = "Write the digits of the newest email."
CHOOSE = "Choose one of the options."
CHOOSE_TIME = "Choose a date and time."
WHOLE = "Write a whole number."

BY_MESSAGE: Mapping[str, str] = {
    "must be a time such as 2026-12-07T00:00:00Z, or epoch milliseconds": CHOOSE_TIME,
    "must have either advanceSeconds or to": CHOOSE_TIME,
    "must not be blank": "Write something that can be seen.",
    "must not contain invisible characters": "This has characters that cannot be seen. Write it again instead of pasting it.",
    "must not contain control characters": "This has characters that cannot be seen. Write it again instead of pasting it.",
    "must not contain unassigned or private-use characters": "Some characters cannot be shown. Leave them out.",
    "must be on one line": "Write it on one line.",
    "must have at most 8 lines": "Use at most 8 lines.",
    "must have lines of at most 100 characters": "Use at most 100 characters on a line.",
    "must have no empty lines": "Leave out empty lines.",
    "must not contain a web address": "Leave out the web address.",
    "must be the code of a country in ISO 3166-1, two capital letters such as CH": "Choose a country.",
    "must not begin or end with a space": "Leave out the space at the beginning or end.",
    "must have single plain spaces between words, and no other spaces": "Use one plain space between words.",
    "must have a public host name, such as example.com": ADDRESS,
    "must not contain spaces or control characters": f"An address has no spaces. {ADDRESS}",
    "must begin with http:// or https://": ADDRESS,
    "must begin with https://": "Write an address that begins with https://, not http://.",
    "must not lead to a private network": "This address is in a private network. Write a public one.",
    "must not contain backslashes": "Use / instead of \\ in the address.",
    "must not contain credentials": f"Leave out the name and password. {ADDRESS}",
    "must have a host name or an IPv4 address, not an IPv6 address": ADDRESS,
    "must have a port from 1 to 65535, or none": "Leave out the number after the colon, or use one from 1 to 65535.",
    f"must have at most {URL_CHARACTERS} characters after percent-encoding": "This address is too long. Use a shorter one.",
    "must have two hexadecimal digits after each %": "Write each % in the address as %25.",
    "must have a host name, such as example.com": ADDRESS,
    "must have a valid host name": ADDRESS,
    NO_ADDRESS: EMAIL,
    "must be a whole number": WHOLE,
    "must name each event once": "Choose each event once.",
    "is required for a rejection, with the reason": "Write why you reject it. The sponsor reads it.",
    "is required to decline, with the reason": "Write why you decline it. The account reads it.",
    "must have at least one field": "Nothing was changed.",
    "must be a date such as 2026-11-18, or epoch milliseconds": "Write a date such as 2026-11-18.",
}
"""By the messages that the models raise themselves."""

BY_CODE: Mapping[str, str] = {
    "literal_error": CHOOSE,
    "enum": CHOOSE,
    "list_type": CHOOSE,
    "string_type": "Write some text.",
    "bool_type": CHOOSE,
    "bool_parsing": CHOOSE,
    "int_type": WHOLE,
    "int_parsing": WHOLE,
    "int_parsing_size": "This number is too large.",
    "int_from_float": WHOLE,
    "greater_than": "Write a number above {bound}.",
    "greater_than_equal": "Write {bound} or more.",
    "less_than": "Write a number below {bound}.",
    "less_than_equal": "Write {bound} or less.",
    "too_long": "Choose at most {bound}.",
    "string_pattern_mismatch": "This has characters that cannot be used here. Leave them out.",
    "string_unicode": "This has characters that cannot be used here. Leave them out.",
    "not_week_start": "Choose one of the weeks.",
    "too_far": "This week is too far ahead. Choose an earlier one.",
    "not_in_future": "Choose a time in the future.",
    "unchanged": "Nothing was changed.",
    "too_expensive": "All weeks of a booking together cost too much. Lower the price or the number of weeks.",
}
"""By the codes of problems."""


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
    (
        r"The catalog has an entry with this slug\. .*",
        "The catalog has an entry at this address. Suggest an edit of it, or choose another address.",
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
