"""docs/webhooks.md names what the program does: events, limits and the words of the configuration."""

import re
from pathlib import Path

from actors.webhooks.messages import EventType
from actors.webhooks.sender import SenderLimits
from service.config.loading import load
from service.outside.webhook_client import RESPONSE_BYTES
from service.running.limits import Limits
from service.web.pages.sponsor.webhooks import EVENTS

TEXT = (Path(__file__).parent.parent.parent / "docs/webhooks.md").read_text(encoding="utf-8")


def test_the_document_and_the_page_list_every_event() -> None:
    assert re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", TEXT, re.MULTILINE) != []
    assert set(re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", TEXT, re.MULTILINE)) == {each.value for each in EventType}
    assert {*EVENTS, EventType.TEST} == set(EventType)


def test_the_document_tells_the_limits() -> None:
    limits = Limits.of(load(None, {}))
    sender, retries = limits.webhook_sender, limits.webhook_sender.retries
    assert (sender.sends, sender.per_receiver, sender.per_account) == (32, 2, 4)
    assert sender.send_seconds == SenderLimits().send_seconds == 10
    assert retries == SenderLimits().retries
    for words in (
        f"at most {limits.webhooks.per_account} webhooks",
        f"at most {sender.sends} deliveries under way",
        f"{sender.per_receiver} to one host and {sender.per_account} for one account",
        f"within {sender.send_seconds:g} seconds",
        f"of more than\n{RESPONSE_BYTES // 1024} KiB",
        f"from {retries.pause_ms // 1_000} seconds to {retries.pause_max_ms // 3_600_000} hours",
        f"is kept, up to {retries.pause_max_ms // 3_600_000} hours",
        f"Off after {retries.give_up_ms // 86_400_000} days",
        f"less than {retries.keep_ms // 86_400_000} days old",
        f"more than {retries.slow_ms // 1_000}\n",
    ):
        assert words in TEXT, words
