"""The audit log, for administrators (specification, 26)."""

from collections.abc import Sequence

from actors.bookings.store import Before
from actors.times import DAY_MS
from actors.values import AuditRecord, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.operations import admin_exports as files
from service.api.operations.responses import list_page
from service.api.policy import Access
from service.schemas.audit import Audit, AuditPage, AuditQuery


async def list_audit(services: Services, call: Call) -> Answer | Refused:
    query: AuditQuery = call.query
    email = None if query.actorEmail is None else query.actorEmail.strip().lower()
    # The day after the last one: every record of that day is before it.
    newest = None if query.to is None else Before((query.to + 1) * DAY_MS, "")

    async def fetch(before: Before | None, limit: int) -> Sequence[AuditRecord]:
        return await services.sponsorship.audit(before or newest, limit, query.targetId, email)

    if query.format == "csv":
        return await files.audit_file(services, fetch)
    # A cursor is valid only for the same filters.
    others = [f"{name} {value}" for name, value in (("by", email), ("to", query.to)) if value is not None]
    name = " ".join([f"audit {query.targetId}", *others])
    return await list_page(services, call, name, fetch, _position, Audit.of, AuditPage)


def _position(record: AuditRecord) -> Before:
    return Before(record.created_ms, record.id)


ROWS = (
    Operation(
        family=Family.SPONSORSHIP,
        tag="Administration",
        access=Access.REQUIRED,
        metered=True,
        admin=True,
        method="GET",
        scopes=(Scope.ADMIN_READ,),
        name="listAudit",
        path="/api/v1/admin/sponsorships/audit",
        summary="List the audit log",
        description="Returns every change and who made it, newest first. For the history of one resource, use `targetId`; "
        "for what one account did, `actorEmail`.",
        handler=list_audit,
        result=AuditPage,
        query=AuditQuery,
        spreadsheet=True,
    ),
)
