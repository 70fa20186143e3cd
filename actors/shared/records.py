"""The base of actors that make records: ids from entropy, times from a clock, audit records of the current request."""

import json
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from actors.clock import Clock, Entropy
from actors.kernel.actor import Actor, ActorLimits
from actors.kernel.mailbox import request_id
from actors.shared.credentials import ID_BYTES, new_id
from actors.shared.notices import notice
from actors.times import DAY_MS, SECOND_MS, day_of
from actors.values import Agent, AuditRecord, Code, OutboxMessage, Refused

M = TypeVar("M")
R = TypeVar("R")
S = TypeVar("S")
U = TypeVar("U")

NONCE_BYTES = 16


class RecordingActor(Actor[M, R], Generic[M, R, S, U]):
    """An actor over a store and with rules, whose intents make the ids and records of their messages. A subclass sets
    `name`."""

    name: str

    def __init__(self, store: S, clock: Clock, entropy: Entropy, rules: U, *, node: str, limits: ActorLimits) -> None:
        super().__init__(self.name, node, limits)
        self._store = store
        self._clock = clock
        self._entropy = entropy
        self.rules = rules

    def _id(self, prefix: str) -> str:
        return new_id(prefix, self._entropy.token(ID_BYTES))

    def _notice(self, template: str, email: str) -> OutboxMessage:
        """A mail without facts, which the rule adds."""
        return notice(self._id("let"), template, email, self._clock.now_ms())

    def _audit(
        self, agent: Agent, action: str, target_type: str, target_id: str, changes: Mapping[str, Any] | None = None
    ) -> AuditRecord:
        """The record of `action` ("key.issued") on a target. `changes` must be serializable as JSON."""
        record_id, facts = self._id("aud"), json.dumps(changes or {})
        target = (target_type, target_id)
        return AuditRecord.by(agent, record_id, self._clock.now_ms(), action, target, request_id.get(), facts)


class CodeActor(RecordingActor[M, R, S, U]):
    """A recording actor that mails codes, which derive from `secret`."""

    def __init__(
        self, store: S, clock: Clock, entropy: Entropy, secret: bytes, rules: U, *, node: str, limits: ActorLimits
    ) -> None:
        super().__init__(store, clock, entropy, rules, node=node, limits=limits)
        self._secret = secret

    def _code_mail(self, template: str, email: str, life_ms: int) -> OutboxMessage:
        """A mail with a nonce, from which its code or link derives, that expires after `life_ms`."""
        now_ms = self._clock.now_ms()
        mail_id, nonce = self._id("let"), self._entropy.token(NONCE_BYTES)
        return OutboxMessage(mail_id, email, template, nonce, now_ms, now_ms + life_ms)


def too_many_today(made: int, most: int, now_ms: int) -> Refused | None:
    """The refusal of one more key for an account that has `made` keys today, if that is the maximum."""
    if made < most:
        return None
    words = f"This account has made {made} keys today, the maximum is {most}. Try again after 00:00 UTC."
    return Refused(Code.RATE_LIMITED, words, -(-((day_of(now_ms) + 1) * DAY_MS - now_ms) // SECOND_MS))
