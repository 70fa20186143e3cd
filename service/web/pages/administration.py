"""Pages of administrators: sponsors, revenue and the audit."""

from service.api.errors import status_of
from service.web.pages.field_errors import Field, Form, query_errors
from service.web.pages.history import changes_of
from service.web.pages.page import Audience, Page, PageRequest, Template
from service.web.pages.paging import page_at, paged


async def sponsors(request: PageRequest) -> Template:
    cursor = request.query.get("cursor")
    page = (await request.ask("listSponsors", query={"cursor": cursor})).or_refused()
    counts = (await request.ask("countLists")).or_refused()
    values = {
        "sponsors": page["items"],
        "total": counts["sponsors"],
        "paging": paged(request, page, total=counts["sponsors"]),
    }
    return Template("admin_sponsors.html", values)


async def audit(request: PageRequest) -> Template:
    target = request.query.get("target") or None
    cursor = request.query.get("cursor")
    query = {"targetId": target, "cursor": cursor}
    page = (await request.ask("listAudit", query=query)).or_refused()
    records = [{"record": record, "changes": changes_of(record["changes"])} for record in page["items"]]
    values = {
        "records": records,
        "target": target,
        "paging": paged(request, page, "target"),
    }
    return Template("admin_audit.html", values)


MONTH = "Write a month such as 2026-01. Choose at most 60 months."
MONTHS = Form({"from": Field("First month", right=MONTH), "to": Field("Last month", right=MONTH)})


async def revenue(request: PageRequest) -> Template:
    query = {name: request.query.get(name) or None for name in ("from", "to")}
    table = await request.ask("getRevenue", query=query)
    values = {
        "months": [] if table.refused is not None else table.json["items"],
        "filters": query,
        "csv": page_at("/api/v1/admin/sponsorships/revenue", format="csv", **query),
        **query_errors(table.refused, MONTHS, request.query),
    }
    return Template("admin_revenue.html", values, 200 if table.refused is None else status_of(table.refused))


PAGES = (
    Page("/admin/sponsors", sponsors, who=Audience.ADMIN),
    Page("/admin/revenue", revenue, who=Audience.ADMIN),
    Page("/admin/audit", audit, who=Audience.ADMIN),
)
