"""Makes the records of the key keeper's messages: ids, keys, notices and audit records."""

from collections.abc import Mapping
from typing import Any

from actors.clock import Clock, Entropy
from actors.keys.messages import Key
from actors.shared.audits import audit_record
from actors.shared.credentials import Kind, digest, prefix_of
from actors.shared.ids import ID_BYTES, new_id
from actors.shared.notices import notice
from actors.values import Agent, AuditRecord, OutboxMessage, Scope


class RecordMaker:
    """Dates records by `clock`, and draws their ids from `entropy`."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy

    def id(self, prefix: str) -> str:
        return new_id(prefix, self._entropy.token(ID_BYTES))

    def key(
        self,
        text: str,
        kind: Kind,
        now_ms: int,
        *,
        expires_ms: int | None = None,
        scopes: tuple[Scope, ...] | None = None,
        name: str | None = None,
    ) -> Key:
        return Key(
            id=self.id("key"),
            hash=digest(text),
            prefix=prefix_of(text),
            kind=kind,
            tenant_id=self.id("ten"),
            created_ms=now_ms,
            expires_ms=expires_ms,
            scopes=scopes,
            name=name,
        )

    def notice(self, template: str, email: str) -> OutboxMessage:
        return notice(self.id("let"), template, email, self._clock.now_ms())

    def audit(
        self, agent: Agent, action: str, target_type: str, target_id: str, changes: Mapping[str, Any] | None = None
    ) -> AuditRecord:
        now_ms = self._clock.now_ms()
        return audit_record(self.id("aud"), now_ms, agent, action, target_type, target_id, changes)
