"""Wire models of the audit (specification, "Resources and their fields")."""

import json
from typing import Any, Literal

from pydantic import BaseModel, Field

from actors.values import AuditRecord
from service.schemas.fields import Milliseconds, optional
from service.schemas.lists import Page


class Audit(BaseModel):
    """One change: its actor, its target and the changed values."""

    id: str
    createdAt: Milliseconds
    actorType: Literal["key", "session", "cli", "system"]
    actorId: str
    actorEmail: str | None = optional()
    action: str = Field(description="The kind of change, such as campaign.approved")
    targetType: str
    targetId: str
    requestId: str
    changes: dict[str, Any]

    @classmethod
    def of(cls, record: AuditRecord) -> "Audit":
        return cls.model_validate(
            {
                "id": record.id,
                "createdAt": record.created_ms,
                "actorType": record.actor_type,
                "actorId": record.actor_id,
                "actorEmail": record.actor_email,
                "action": record.action,
                "targetType": record.target_type,
                "targetId": record.target_id,
                "requestId": record.request_id,
                "changes": json.loads(record.changes),
            }
        )


class AuditPage(Page):
    """Audit records, newest first."""

    items: list[Audit]
