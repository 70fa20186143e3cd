"""Pages of administrators: sponsors, the audit, and the tiers of accounts."""

from service.web.pages.history import changes_of
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.paging import following
from service.web.pages.typed import text_of


async def sponsors(request: PageRequest) -> Template:
    page = (await request.ask("listSponsors", query={"cursor": request.query.get("cursor")})).or_refused()
    return Template("admin_sponsors.html", {"sponsors": page["items"], "older": following(request, page)})


async def audit(request: PageRequest) -> Template:
    target = request.query.get("target") or None
    query = {"targetId": target, "cursor": request.query.get("cursor")}
    page = (await request.ask("listAudit", query=query)).or_refused()
    records = [{"record": record, "changes": changes_of(record["changes"])} for record in page["items"]]
    values = {"records": records, "target": target, "older": following(request, page, "target")}
    return Template("admin_audit.html", values)


async def accounts(request: PageRequest) -> Template:
    return Template("admin_accounts.html")


async def set_tier(request: PageRequest) -> SeeOther | FormError:
    body = {"email": text_of(request.form, "email") or "", "tier": request.form.get("tier", "")}
    return (await request.ask("setAccountTier", body=body)).see_other("/admin/accounts", "tier_set")


PAGES = (
    Page("/admin/sponsors", sponsors, who=Audience.ADMIN),
    Page("/admin/audit", audit, who=Audience.ADMIN),
    Page("/admin/accounts", accounts, {"set_tier": set_tier}, Audience.ADMIN),
)
