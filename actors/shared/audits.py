"""Makes audit records of what an agent does in the current request."""

import json
from collections.abc import Mapping
from typing import Any

from actors.kernel.mailbox import request_id
from actors.values import Agent, AuditRecord


def audit_record(
    record_id: str,
    now_ms: int,
    agent: Agent,
    action: str,
    target_type: str,
    target_id: str,
    changes: Mapping[str, Any] | None = None,
) -> AuditRecord:
    """The record of `action` ("key.issued") on a target. `changes` must be serializable as JSON."""
    return AuditRecord(
        id=record_id,
        created_ms=now_ms,
        actor_type=agent.type,
        actor_id=agent.id,
        actor_email=agent.email,
        action=action,
        target_type=target_type,
        target_id=target_id,
        request_id=request_id.get(),
        changes=json.dumps(changes or {}),
    )
