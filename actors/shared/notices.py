"""Security mails to the owner of an account: a new key, a new session, a new administrator. Pure.

A notice is stored in the transaction of the change. Its facts name the key, session or role that its link ends.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from actors.shared.code_mails import mailbox_of
from actors.shared.limits import WindowLimiter
from actors.times import DAY_MS, HOUR_MS, SECOND_MS
from actors.values import BatchId, OutboxMessage

DELIVERY_MS = 3 * DAY_MS
"""How long the delivery of a notice is retried."""


TEMPLATES = frozenset({"new_key", "new_session", "new_administrator"})
"""The templates of notices, which are limited by the hour. Codes have limits of their own (`actors.shared.code_mails`)."""
ENDS = frozenset({"key_ends"})
"""The template of mails before a key ends. They have a limit of their own, so that neither kind can use up the other's."""


class Ending(StrEnum):
    """The kinds of things that the link in a notice ends."""

    KEY = "key"
    SESSION = "session"
    ADMIN = "admin"


class NoticeLimiter:
    """At most `per_hour` notices of these `templates` to one mailbox in an hour. Counts those that a batch writes, and a
    batch once, however often it is retried, so that requests which are refused take none from the owner."""

    def __init__(self, per_hour: int, templates: frozenset[str] = TEMPLATES) -> None:
        self._per_hour = per_hour
        self._templates = templates
        self._sent = WindowLimiter(HOUR_MS // SECOND_MS)
        self._batch_id: BatchId | None = None
        self._allowed: dict[str, bool] = {}

    def within(self, batch_id: BatchId, outbox: Sequence[OutboxMessage], now_ms: int) -> list[OutboxMessage]:
        """The messages without the notices beyond the limit."""
        if batch_id is not self._batch_id:
            self._batch_id, self._allowed = batch_id, {}
        for message in outbox:
            if message.template in self._templates and message.id not in self._allowed:
                self._allowed[message.id] = self._sent.hit(
                    mailbox_of(message.recipient), self._per_hour, now_ms
                ).allowed
        return [message for message in outbox if self._allowed.get(message.id, True)]


def notice(message_id: str, template: str, recipient: str, now_ms: int) -> OutboxMessage:
    """A notice without facts. The rule that decides adds them."""
    return OutboxMessage(message_id, recipient, template, b"", now_ms, now_ms + DELIVERY_MS)


def with_facts(
    message: OutboxMessage | None, ending: Ending, target_id: str, label: str, **facts: str
) -> list[OutboxMessage]:
    """The notice with its facts; none if there is no notice. `target_id` is what its link ends: an id, or the time of a
    grant in milliseconds. `label` names that to the reader."""
    named: Mapping[str, str] = {"ends": ending.value, "target": target_id, "label": label, **facts}
    return [] if message is None else [replace(message, facts=json.dumps(named))]
