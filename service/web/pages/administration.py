"""Further pages of administrators: sponsors, the audit, and the tiers of accounts."""

from service.web.pages.history import changes_of
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.paging import following
from service.web.pages.typed import text_of

TIERS = ("claimed", "upgraded")


async def sponsors(request: PageRequest) -> Template:
    page = (await request.ask("listSponsors", query={"cursor": request.query.get("cursor")})).or_refused()
    return Template("admin_sponsors.html", {"sponsors": page["items"], "older": following(request, page)})


async def audit(request: PageRequest) -> Template:
    target = request.query.get("target") or None
    asked = {"targetId": target, "cursor": request.query.get("cursor")}
    page = (await request.ask("listAudit", query=asked)).or_refused()
    records = [{"record": record, "changes": changes_of(record["changes"])} for record in page["items"]]
    return Template(
        "admin_audit.html", {"records": records, "target": target, "older": following(request, page, "target")}
    )


async def accounts(request: PageRequest) -> Template:
    return Template("admin_accounts.html", {"tiers": TIERS})


async def set_tier(request: PageRequest) -> SeeOther | FormError:
    body = {"email": text_of(request.form, "email") or "", "tier": request.form.get("tier", "")}
    result = await request.ask("setAccountTier", body=body)
    return FormError(result.refused) if result.refused is not None else SeeOther("/admin/accounts", "tier_set")


PAGES = (
    Page("/admin/sponsors", sponsors, who=Audience.ADMIN),
    Page("/admin/audit", audit, who=Audience.ADMIN),
    Page("/admin/accounts", accounts, {"set_tier": set_tier}, Audience.ADMIN),
)
