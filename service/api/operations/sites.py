"""The operation on what was counted by website. It extends the specification."""

from actors.clock import DAY_MS, day_of
from actors.values import Code, Problem, Refused, Scope
from service.api.context import Services
from service.api.errors import Family
from service.api.messages import Answer
from service.api.operation import Call, Operation
from service.api.policy import Access
from service.schemas.reports import MOST_SITE_DAYS as MOST_DAYS
from service.schemas.reports import USUAL_SITE_DAYS as USUAL_DAYS
from service.schemas.reports import PeriodQuery, SiteCounts, SiteList


async def list_sites(services: Services, call: Call) -> Answer | Refused:
    asked = call.query.model_dump()
    last = day_of(services.clock.now_ms()) if asked["to"] is None else asked["to"]
    first = max(last - USUAL_DAYS + 1, 0) if asked["from"] is None else asked["from"]
    if not 0 <= last - first < MOST_DAYS:
        problem = Problem("from", "period", f"must be at most {MOST_DAYS} days before `to`, and not after it")
        return Refused(Code.INVALID_REQUEST, "The query is not valid", problems=(problem,))
    items = [SiteCounts.of(each) for each in await services.sites.store.between(first, last)]
    counting = services.config.events.count_sites
    return Answer.of(SiteList(**{"items": items, "counting": counting, "from": first * DAY_MS, "to": last * DAY_MS}))


ROWS = (
    Operation(
        name="listSites",
        method="GET",
        path="/api/v1/admin/sponsorships/sites",
        summary="List sites and what they deliver",
        description="Returns the impressions and clicks of each website in a period of at most "
        f"{MOST_DAYS} UTC days, samples excepted. Events are counted by website only while the setting "
        "`events.count_sites` is on. `other` is what came from websites without a place of their own, and from relays.",
        tag="Administration",
        handler=list_sites,
        result=SiteList,
        query=PeriodQuery,
        access=Access.REQUIRED,
        family=Family.SPONSORSHIP,
        metered=True,
        admin=True,
        scopes=(Scope.ADMIN_READ,),
    ),
)
