"""Further pages of administrators: sponsors, the audit, and the tiers of accounts."""

from service.web.pages.history import changes_of
from service.web.pages.page import Audience, FormError, Page, PageRequest, SeeOther, Template
from service.web.pages.paging import following
from service.web.pages.typed import text_of

TIERS = ("claimed", "upgraded")


async def sponsors(visit: PageRequest) -> Template:
    page = (await visit.ask("listSponsors", query={"cursor": visit.query.get("cursor")})).or_refused()
    return Template("admin_sponsors.html", {"sponsors": page["items"], "older": following(visit, page)})


async def audit(visit: PageRequest) -> Template:
    target = visit.query.get("target") or None
    asked = {"targetId": target, "cursor": visit.query.get("cursor")}
    page = (await visit.ask("listAudit", query=asked)).or_refused()
    records = [{"record": record, "changes": changes_of(record["changes"])} for record in page["items"]]
    return Template(
        "admin_audit.html", {"records": records, "target": target, "older": following(visit, page, "target")}
    )


async def accounts(visit: PageRequest) -> Template:
    return Template("admin_accounts.html", {"tiers": TIERS})


async def set_tier(visit: PageRequest) -> SeeOther | FormError:
    body = {"email": text_of(visit.form, "email") or "", "tier": visit.form.get("tier", "")}
    told = await visit.ask("setAccountTier", body=body)
    return FormError(told.refused) if told.refused is not None else SeeOther("/admin/accounts", "tier_set")


PAGES = (
    Page("/admin/sponsors", sponsors, who=Audience.ADMIN),
    Page("/admin/audit", audit, who=Audience.ADMIN),
    Page("/admin/accounts", accounts, {"set_tier": set_tier}, Audience.ADMIN),
)
