"""Refusals of the API in the words of pages."""

import ast
import re
from collections.abc import Iterator

import pytest

from actors.bookings.records import BookingStatus, CampaignStatus
from actors.values import Code, Refused
from service.web.pages.parts.messages import NOW, STILL, on_a_page, plain
from tests.architecture import ROOT

PLACES = (
    "actors/bookings",
    "actors/keys",
    "actors/sessions",
    "actors/webhooks",
    "actors/accounts",
    "service/api/operations",
)
API_WORDS = re.compile(r"campaign|Idempotency|/api/|\bslug\b|`")


def messages() -> Iterator[str]:
    """The messages of refusals in the source, with 7 in place of each value."""
    for place in PLACES:
        for path in sorted((ROOT / place).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refused" and len(node.args) > 1:
                    yield from _text(node.args[1])
                elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "words":
                    yield from _text(node.value)


def _text(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(each.value) if isinstance(each, ast.Constant) else "7" for each in node.values)


def test_no_message_has_the_words_of_the_api_on_a_page() -> None:
    found = list(messages())
    assert len(found) > 60
    assert sum("campaign" in each for each in found) > 8
    assert [plain(each) for each in found if API_WORDS.search(plain(each))] == []


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("There is no such campaign.", "There is no such ad."),
        ("There is no such campaign or slot.", "There is no such ad or slot."),
        ("Only administrators can review campaigns.", "Only administrators can review ads."),
        ("A campaign of yours waits.", "An ad of yours waits."),
        ("Create a new campaign.", "Create a new ad."),
        ("Campaigns wait.", "Ads wait."),
        (
            "A campaign that is pending cannot be resumed.",
            "This ad is in review now, so it cannot be resumed. Reload the page to see what can be done.",
        ),
        (
            "A booking that is expired cannot be brought to checkout.",
            "This booking is no longer held, so it cannot be brought to checkout.",
        ),
        (
            "This account has 200 campaigns, the maximum. Edit one of them instead.",
            "You have 200 ads, the most of an account. Edit one of them.",
        ),
        ("There is no use case with this slug.", "There is no use case at this address. It may have been renamed."),
        ("Choose another week.", "Choose another week."),
    ],
)
def test_a_message_is_said_as_pages_say_it(message: str, shown: str) -> None:
    assert plain(message) == shown


def test_every_status_has_words() -> None:
    assert set(STILL) == set(CampaignStatus)
    assert set(NOW) == set(BookingStatus)


def test_a_refusal_keeps_its_code_and_its_wait() -> None:
    refused = Refused(Code.RATE_LIMITED, "Too many requests. Try again in 5 s.", 5)
    assert on_a_page(refused) == Refused(Code.RATE_LIMITED, "That was too fast. Try again in 5 seconds.", 5)
