"""Wire models of the audit (specification, "Resources and their fields")."""

import json
from typing import Any, Literal

from pydantic import BaseModel, Field

from actors.values import AuditRecord
from service.schemas.fields import Milliseconds, optional
from service.schemas.lists import FreeText, ListQuery, Page, SearchText
from service.schemas.reports import DayIn, day_field
from service.schemas.rows import filled


class AuditQuery(ListQuery):
    """Query of the audit. Each filter has an index, so that a rare one reads no more than a page, too."""

    targetId: FreeText[SearchText] = Field(default=None, description="Only changes to the target with this id")
    actorEmail: FreeText[SearchText] = Field(
        default=None, description="Only changes by the account with this email, in any case"
    )
    to: DayIn = day_field("Only changes up to this day (UTC), included: a date or epoch milliseconds")


class Audit(BaseModel):
    """One change: its actor, its target and the changed values."""

    id: str = Field(description="Id of the record")
    createdAt: Milliseconds
    actorType: Literal["key", "session", "cli", "system"] = Field(
        description="Kind of actor: a key, a browser session, a command of the operator, or the service"
    )
    actorId: str = Field(description="Id of the key or session, or the name of the command or node")
    actorEmail: str | None = optional("Email of the account that acted, if one did")
    action: str = Field(description="The kind of change, such as campaign.approved")
    targetType: str = Field(description="Kind of the thing that was changed, such as campaign")
    targetId: str = Field(description="Id of the thing that was changed")
    requestId: str = Field(description="`X-Request-Id` of the request")
    changes: dict[str, Any] = Field(description="The changed values by name, in the form of the action")

    @classmethod
    def of(cls, record: AuditRecord) -> "Audit":
        return filled(cls, record, changes=json.loads(record.changes))


class AuditPage(Page):
    """Audit records, newest first."""

    items: list[Audit] = Field(description="Records of this page")
