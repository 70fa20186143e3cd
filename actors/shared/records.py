"""The base of actors that make records: ids from entropy, times from a clock, audit records of the current request."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from actors.clock import Clock, Entropy
from actors.kernel.actor import Actor, ActorLimits
from actors.kernel.mailbox import request_id
from actors.shared.ids import ID_BYTES, new_id
from actors.shared.notices import notice
from actors.values import Agent, AuditRecord, OutboxMessage

M = TypeVar("M")
R = TypeVar("R")

NONCE_BYTES = 16


class RecordingActor(Actor[M, R]):
    """An actor whose intents make the ids and records of their messages."""

    def __init__(self, name: str, clock: Clock, entropy: Entropy, *, node: str, limits: ActorLimits) -> None:
        super().__init__(name, node, limits)
        self._clock = clock
        self._entropy = entropy

    def _id(self, prefix: str) -> str:
        return new_id(prefix, self._entropy.token(ID_BYTES))

    def _notice(self, template: str, email: str) -> OutboxMessage:
        """A mail without facts, which the rule adds."""
        return notice(self._id("let"), template, email, self._clock.now_ms())

    def _code_mail(self, template: str, email: str, life_ms: int) -> OutboxMessage:
        """A mail with a nonce, from which its code or link derives, that expires after `life_ms`."""
        now_ms = self._clock.now_ms()
        mail_id, nonce = self._id("let"), self._entropy.token(NONCE_BYTES)
        return OutboxMessage(mail_id, email, template, nonce, now_ms, now_ms + life_ms)

    def _audit(
        self, agent: Agent, action: str, target_type: str, target_id: str, changes: Mapping[str, Any] | None = None
    ) -> AuditRecord:
        """The record of `action` ("key.issued") on a target. `changes` must be serializable as JSON."""
        record_id, facts = self._id("aud"), json.dumps(changes or {})
        target = (target_type, target_id)
        return AuditRecord.by(agent, record_id, self._clock.now_ms(), action, target, request_id.get(), facts)
