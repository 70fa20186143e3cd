"""Links to reports: an account has at most so many, and a link works until it is ended. The limit is that of ADR 0106."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from actors.bookings.reports import SharedReport
from actors.values import Refused
from tests.simulation.history import Operation
from tests.simulation.oracle.case import Case
from tests.simulation.oracle.log import Commit

if TYPE_CHECKING:
    from tests.simulation.world import World

MOST = 20
"""Links of an account that work at a time."""


def an_account_has_few_links(world: "World", commit: Commit) -> Iterator[str]:
    for _, (_, after) in commit.of("shared_reports").items():
        if after is not None:
            mine = [each for each in world.memory.shared_reports.values() if each.tenant_id == after.tenant_id]
            if len(mine) > MOST:
                yield f"{after.tenant_id} shares {len(mine)} reports"


def links_are_shared_and_ended_with_a_record(world: "World", commit: Commit) -> Iterator[str]:
    changes = commit.of("shared_reports").values()
    for action, changed in (
        ("account.report_shared", [after.id for before, after in changes if before is None]),
        ("account.report_unshared", [before.id for before, after in changes if after is None]),
    ):
        named = [audit.changes for audit in commit.audits if audit.action == action]
        if len(named) != len(changed) or any(f'"{each}"' not in "".join(named) for each in changed):
            yield f"{action} of {changed} has the records {named}"


def links_answer_until_they_are_ended(case: Case) -> Iterator[str]:
    """A link that is opened leads to its report if that was there at some moment meanwhile, and to nothing if not."""
    by_token = {row.token_hash: row.id for row in _every_row(case)}
    for operation in case.of("open shared"):
        report_id = by_token.get(operation.about)
        rows = case.world.log.during("shared_reports", report_id, operation.began, operation.ended)
        found = operation.result
        if isinstance(found, SharedReport) and found not in rows:
            yield f"{operation.node} answered with {found.id} at {operation.start:.3f}, which was ended"
        if found is None and None not in rows:
            yield f"{operation.node} knew nothing of {report_id} at {operation.start:.3f}, which is shared"


def refused_links_had_a_reason(case: Case) -> Iterator[str]:
    for operation in case.of("share"):
        if isinstance(operation.result, Refused) and _most_meanwhile(case, operation) < MOST:
            yield f"{operation.node} refused a link at {operation.start:.3f}: {operation.result}"
    for operation in case.of("end shared"):
        rows = case.world.log.during("shared_reports", operation.about.target, operation.began, operation.ended)
        if isinstance(operation.result, Refused) and None not in rows:
            yield f"{operation.node} did not find {operation.about.target} at {operation.start:.3f}"
        if isinstance(operation.result, SharedReport) and rows[-1] is not None and operation.result in rows[-1:]:
            yield f"{operation.node} said at {operation.start:.3f} that {operation.about.target} is ended"


def _every_row(case: Case) -> Iterator[SharedReport]:
    for (table, _), versions in case.world.log.versions.items():
        if table == "shared_reports":
            yield from (row for _, row in versions[:1] if row is not None)


def _most_meanwhile(case: Case, operation: Operation) -> int:
    """The links of the account that were there at some moment of an intent."""
    ids = [row.id for row in _every_row(case) if row.tenant_id == operation.about.owner]
    meanwhile = [case.world.log.during("shared_reports", each, operation.began, operation.ended) for each in ids]
    return sum(any(row is not None for row in rows) for rows in meanwhile)
