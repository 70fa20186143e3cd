"""Links to reports that an account shares. Only pages call these operations. Source: ADR 0106."""

from typing import Any

from actors.bookings.reports import Days, Only, SharedReport, day_text
from actors.bookings.sharing import MOST_SHARED, unknown_shared_report
from actors.shared.credentials import SHARE_TOKEN, digest
from actors.values import Code, Refused
from service.api.context import Services
from service.api.errors import too_fast
from service.api.messages import Answer, respond
from service.api.operation import Call
from service.api.operations.figures import Wanted, figures_of
from service.api.operations.reports import days_asked, only_asked, too_long
from service.api.operations.responses import with_id
from service.api.policy import Access
from service.schemas.internal import ShareBody, Shared, SharedFigures, SharedList, SharedMade
from service.schemas.reports import ReportQuery

ROWS = 100
"""The most rows of each table of a shared report."""


async def share_report(services: Services, call: Call) -> Answer | Refused:
    """Share the report that the query names, which is made once first, so that no link leads to a report that cannot be."""
    days, caller = days_asked(call, services.clock.now_ms()), call.caller
    if isinstance(days, Refused):
        return days
    only = only_asked(call)
    if await figures_of(services, Wanted(caller.owner, days, only)) is None:
        return too_long()
    made = await services.ledger.share_report(caller.owner, days, only, caller.agent, costs=call.body.costs)
    if isinstance(made, Refused):
        return made
    report, token = made
    return Answer.of(SharedMade(shared=_shared(report), url=f"{services.base_url}/shared/{token}"))


async def list_shared(services: Services, call: Call) -> Answer | Refused:
    reports = await services.sponsorship.shared_reports(call.caller.owner)
    return Answer.of(SharedList(items=[_shared(each) for each in reports], most=MOST_SHARED))


@with_id(unknown_shared_report)
async def end_shared(services: Services, call: Call, report_id: str) -> Answer | Refused:
    ended = await services.ledger.end_shared_report(call.caller.owner, report_id, call.caller.agent)
    return respond(ended, _shared)


async def view_shared(services: Services, call: Call) -> Answer | Refused:
    """The report behind a link. Unknown links count like unknown keys of an address, and ended ones are unknown."""
    token, address = call.path_values["token"], call.request.client
    if refused := too_fast(services.budgets.unknown(address)):
        return refused
    shared = await services.sponsorship.shared_report(digest(token)) if SHARE_TOKEN.matches(token) else None
    if shared is None:
        return Refused(Code.NOT_FOUND, "This link is not valid, or the report is no longer shared.")
    services.budgets.known(address)
    days, only = Days(shared.first_day, shared.last_day), Only(shared.campaign_id, shared.slot_id)
    figures = await figures_of(services, Wanted(shared.tenant_id, days, only, rows=ROWS))
    if figures is None:
        return too_long()
    sponsor = await services.sponsorship.sponsor(shared.tenant_id)
    if not shared.costs:
        figures.costs = []
    name = None if sponsor is None else sponsor.name
    of = shared.campaign_id, shared.slot_id
    return Answer.of(SharedFigures(sponsor=name, costs=shared.costs, only=of, figures=figures))


def _shared(report: SharedReport) -> Shared:
    return Shared(
        id=report.id,
        first=day_text(report.first_day),
        last=day_text(report.last_day),
        campaignId=report.campaign_id,
        slotId=report.slot_id,
        costs=report.costs,
        createdAt=report.created_ms,
    )


SHARED_ROWS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    (("listShared", "shared", list_shared, SharedList), {"access": Access.SESSION}),
    (
        ("shareReport", "shared", share_report, SharedMade, "POST", Access.SESSION),
        {"query": ReportQuery, "body": ShareBody, "repeatable": True},
    ),
    (("endShared", "shared/{id}", end_shared, Shared, "DELETE", Access.SESSION), {}),
    (("viewShared", "shared/by-link/{token}", view_shared, SharedFigures), {}),
)
"""Rows of `INTERNAL`. Ending a link does not count as a change, so that nobody has too few left to end one."""
