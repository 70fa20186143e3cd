"""Reports that an account shares by a link, and ends. Pure; source: ADR 0106."""

from functools import partial

from actors.bookings.messages import Answer, EndSharedReport, ShareReport
from actors.bookings.unit_of_work import UnitOfWork
from actors.values import Code, Refused, unknown

MOST_SHARED = 20
"""The most links of an account that work at a time."""

unknown_shared_report = partial(unknown, "shared report")


def share_report(unit: UnitOfWork, message: ShareReport) -> Answer:
    """Store a link, unless the account has as many as it may have."""
    report = message.report
    if len(unit.shared(report.tenant_id)) >= MOST_SHARED:
        return Refused(
            Code.INVALID_STATE, f"This account shares {MOST_SHARED} reports, the maximum. End one of the links."
        )
    unit.decision.shared[report.id] = report
    facts = {"report": report.id, "costs": report.costs}
    unit.audit(message.origin, "account.report_shared", "account", report.tenant_id, facts)
    return report


def end_shared_report(unit: UnitOfWork, message: EndSharedReport) -> Answer:
    """Delete a link, which does not work from then on."""
    report = next((each for each in unit.shared(message.tenant_id) if each.id == message.report_id), None)
    if report is None:
        return unknown_shared_report()
    unit.decision.shared.pop(report.id, None)
    unit.decision.unshared.append(report.id)
    unit.audit(message.origin, "account.report_unshared", "account", report.tenant_id, {"report": report.id})
    return report
