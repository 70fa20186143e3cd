"""Mails that tell the owner of an account what happened to it: a new key, a new session, a new administrator. Pure.

A notice is stored in the transaction of what it tells. Its facts name what the link in the mail ends.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from actors.times import DAY_MS
from actors.values import OutboxMessage

DELIVERY_MS = 3 * DAY_MS
"""How long the delivery of a notice is retried."""


class Ending(StrEnum):
    """The kinds of things that the link in a notice ends."""

    KEY = "key"
    SESSION = "session"
    ADMIN = "admin"


def notice(message_id: str, template: str, recipient: str, now_ms: int) -> OutboxMessage:
    """A notice without facts. The rule that decides adds them."""
    return OutboxMessage(message_id, recipient, template, b"", now_ms, now_ms + DELIVERY_MS)


def telling(
    message: OutboxMessage | None, ending: Ending, target_id: str, label: str, **facts: str
) -> list[OutboxMessage]:
    """The notice with its facts; none if there is no notice. `target_id` is what its link ends: an id, or the time of a
    grant in milliseconds. `label` names that to the reader."""
    named: Mapping[str, str] = {"ends": ending.value, "target": target_id, "label": label, **facts}
    return [] if message is None else [replace(message, facts=json.dumps(named))]
