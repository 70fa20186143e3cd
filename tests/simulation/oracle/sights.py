"""Counts of the rare cases that a campaign must meet."""

from collections import Counter
from collections.abc import Sequence

from actors.bookings.records import CampaignView
from actors.catalog.store import ImportCounts
from actors.clock import day_of
from actors.devices.actor import RedeemedKey
from actors.keys.actor import Issued
from actors.keys.messages import Claimed
from actors.quota.messages import Metered
from actors.values import Refused
from service.api.authentication import Caller
from tests.doubles.tables import Memory
from tests.simulation.history import Heard, Operation
from tests.simulation.oracle import events, filtered
from tests.simulation.oracle.bookings import week_at
from tests.simulation.oracle.case import Case
from tests.simulation.oracle.log import moved
from tests.simulation.oracle.schedule import BEGINS
from tests.simulation.rules import BOOKINGS


def of_keys(case: Case) -> dict[str, int]:
    """Count the rare cases of a history. A campaign that never meets them shows less than it seems to."""
    memory = case.memory
    granted = [each.result.tenant for each in case.of("charge") if isinstance(each.result, Metered)]
    claimed = [each.about.token for each in case.of("complete") if isinstance(each.result, Claimed)]
    merged = {tenant.id for tenant in memory.tenants.values() if tenant.merged_into is not None}
    return {
        "claim repeated": len(claimed) - len(set(claimed)),
        "tenant merged": len(merged),
        "tier changed": sum(audit.action.startswith("tier.") for audit in memory.audits),
        "turned into a new day": len({tenant.day for tenant in granted}) > 1,
        "turned into a new month": len({tenant.month for tenant in granted}) > 1,
        "refund followed a merge": sum(
            each.about.tenant_id in merged and _merged_before(memory, case.of("complete"), each)
            for each in case.of("refund")
        ),
    }


def of_catalog(case: Case) -> dict[str, int]:
    """Count the answers to edits, and what mirrors did."""
    edits = case.of("edit entry")
    answers = Counter(type(each.result).__name__ for each in edits)
    mirrors = case.world.shelf.mirrors.values()
    return {
        **{f"edit answered {name}": answers[name] for name in ("EntrySaved", "EntryRetired", "Conflict", "Refused")},
        **_of_imports(case),
        "entry of the catalog read": case.world.shelf.reads,
        "mirror read a page": sum(mirror.steps for mirror in mirrors),
        "catalogs of several revisions": max(case.world.shelf.states, default=0),
    }


def _of_imports(case: Case) -> dict[str, int]:
    """Count the imports that were answered."""
    imports = [each for each in case.of("import") if isinstance(each.result, ImportCounts)]
    done = [each.result for each in imports if not each.about.dry_run]
    return {
        "import changed entries": sum(each.writes > 0 for each in done),
        "import changed nothing": sum(each.writes == 0 for each in done),
        "import removed entries": sum(any(counts.removed for counts in each.by_kind.values()) for each in done),
        "import was tried before": len(imports) - len(done),
    }


def of_mail(case: Case) -> dict[str, int]:
    """Count how messages ended, and their rare cases."""
    came: dict[str, int] = {}
    for handed in case.world.post.handed:
        came[handed.mail.message_id] = came.get(handed.mail.message_id, 0) + handed.delivered
    rows = [row for row in case.memory.outbox.values() if row.done_ms is not None]
    given_up = [row for row in rows if row.sent_ms is None]
    return {
        "message sent": len(rows) - len(given_up),
        "message came more than once": sum(times > 1 for times in came.values()),
        "message sent at another attempt": sum(row.sent_ms is not None and row.attempts > 1 for row in rows),
        "message given up, and it had come": sum(bool(came.get(row.id)) for row in given_up),
        "message given up, refused": sum("nobody" in (row.last_error or "") for row in given_up),
        "message given up, of no use": sum("expire" in (row.last_error or "") for row in given_up),
        "message given up, tried enough": sum("attempts" in (row.last_error or "") for row in given_up),
        "mail cut off": sum(handed.outcome == "cut" for handed in case.world.post.handed),
    }


def of_people(case: Case) -> dict[str, int]:
    """Count the outcomes of codes, sessions and device logins."""
    register = case.world.register
    answered = {each.result.key.id for each in case.world.history.requests if isinstance(each.result, RedeemedKey)}
    redeemed = [device.key_id for device in case.memory.devices.values() if device.key_id is not None]
    return {
        **case.world.visits.met,
        **case.world.logins.met,
        **case.world.programs.met,
        "several messages in one batch of people": sum(len(batch.messages) > 1 for batch in register.batches),
        "stored, but never answered": sum(bool(each.stored) and each.ended is None for each in register.asked.values()),
        "a device's key was stored, but never answered": sum(key_id not in answered for key_id in redeemed),
        "a session worked": sum(isinstance(each.result, Caller) for each in case.of("enter")),
        "a person created a key": sum(
            isinstance(each.result, Issued) and not each.about.scoped and each.about.key is not None
            for each in case.of("issue")
        ),
    }


def of_sponsorship(case: Case) -> dict[str, int]:
    """Count states, payment issues and moves of rows, and rare cases of sponsors."""
    log, met = case.world.log, dict[str, int]()
    for (table, _), versions in log.versions.items():
        for _, row in versions:
            if row is not None and table in ("bookings", "campaigns"):
                met[f"{table} {row.status}"] = met.get(f"{table} {row.status}", 0) + 1
            if row is not None and table == "bookings" and row.issue is not None:
                met[f"issue {row.issue}"] = met.get(f"issue {row.issue}", 0) + 1
    for records in log.audited.values():
        for audit in records:
            met[f"audit {audit.action}"] = met.get(f"audit {audit.action}", 0) + 1
    expired = [audit for records in log.audited.values() for audit in records if audit.action == "booking.paid"]
    met["paid after expiry, and the weeks were free"] = sum(
        (moved(audit) or ("",))[0] == "expired" for audit in expired
    )
    created = [each.result.campaign.id for each in case.of("create campaign") if isinstance(each.result, CampaignView)]
    met["a campaign creation was repeated"] = len(created) - len(set(created))
    met.update(_of_schedules(case))
    met["a part was lost"] = sum(0 < row.lost_cents < (row.paid_cents or 0) for row in case.memory.bookings.values())
    met["a bank took more than was left"] = sum(row.excess_cents > 0 for row in case.memory.bookings.values())
    met["invoices and credit notes"] = len(case.memory.invoices)
    met["turned into a new week"] = len({week_at(commit.now_ms) for commit in log.commits if commit.audits}) > 1
    return met


def _of_schedules(case: Case) -> dict[str, int]:
    """Count the steps of schedules, the ends of bookings, and what happened to requests and edits."""
    log, memory = case.world.log, case.memory
    steps = [step for _, step in log.steps]
    ends = [(memory.bookings[booking_id], end) for booking_id, end in log.ends.items()]
    waited = [
        row
        for (table, _), versions in log.versions.items()
        for _, row in versions[-1:]
        if table == "bookings" and (row.next_step_ms or 0) > row.week_end_ms + BOOKINGS.settle_ms
    ]
    refused = [each for each in case.of("move campaign") if isinstance(each.result, Refused) and each.about.seen]
    audits = [audit for records in log.audited.values() for audit in records]
    undone = [each for each in audits if each.action == "campaign.edited" and '"pendingHeadline":["' in each.changes]
    return {
        "weeks begun": steps.count(BEGINS),
        "days reported": sum(step >= 0 for step in steps),
        "ended, and every week was seen": sum(not end.unseen for _, end in ends),
        "ended, and some weeks were seen": sum(0 < len(end.unseen) < row.weeks for row, end in ends),
        "ended, and nothing was seen": sum(len(end.unseen) == row.weeks for row, end in ends),
        "a share was refunded": sum(0 < row.refunded_cents < row.amount_cents for row, _ in ends),
        "unseen weeks were refunded": sum(row.status == "refunded" for row, end in ends if end.unseen),
        "the refund of unseen weeks was declined": sum(row.status == "paid" for row, end in ends if end.unseen),
        "an end waited for the payer's bank": sum(row.disputed for row in waited),
        "an end waited for the answer to a request": sum(row.refund_requested_ms is not None for row in waited),
        "a refund was requested again": sum(row.refund_requests > 1 for row in memory.bookings.values()),
        "an edit was changed or undone": len(undone),
        "a review was refused after an edit": sum("edited since" in each.result.message for each in refused),
        "digests mailed": len({row.created_ms for row in memory.messages.values() if row.template == "review_digest"}),
    }


def of_site(case: Case) -> dict[str, int]:
    """Count outcomes of events, and their rare cases."""
    met: dict[str, int] = {}

    def meet(what: str, times: int = 1) -> None:
        met[what] = met.get(what, 0) + times

    rows = events.rows_of(case)
    for report in case.of("report"):
        for outcome in report.result.outcomes if isinstance(report.result, Heard) else ():
            meet(f"event {outcome}")
            meet(f"event by day {outcome}", report.about.post.by_day)
        meet("clients named and refused", report.about.post.forged and isinstance(report.result, Heard))
    for intent in case.of("record"):
        if isinstance(intent.result, list) and not any(intent.result):
            meet("duplicates known from memory", intent.end == intent.start)
    for event, operations in rows.handed.items():
        stored = rows.of_event.get(event, [])
        meet("one event recorded on two days", len({row.day for row in stored}) > 1)
        meet(
            "one visitor of the unit day recorded on two days",
            len({row.day for row in stored}) > 1 and "\n" in event.visitor,
        )
        for row in stored:
            by = [each for each in operations if each.node == row.node and each.began < row.tick < each.ended]
            answered = [each for each in by if True in events.answers(each, event)]
            meet("recorded, but never answered", not answered)
            for each in answered:
                arrived = day_of(case.now_ms(each.node, each.start))
                meet("the day turned before the batch began", arrived < row.day)
                others = [other for other in by if other.end == each.end and other not in answered]
                meet("equal events of several requests in one batch", bool(others))
            for other in operations:
                lost = other.node != row.node and other.began < row.tick < other.ended
                meet("two nodes recorded one event at once", lost and False in events.answers(other, event))
    by_day = [(row.tick, row.day) for event, found in rows.of_event.items() for row in found if "\n" in event.visitor]
    newest = 0
    for _, day in sorted(by_day):
        meet("the unit day was counted in the day that had ended on another node", day < newest)
        newest = max(newest, day)
    bookings = {
        unit: {event.booking_id for event in rows.of_event if ("\n" in event.visitor) == unit} for unit in (0, 1)
    }
    meet("a booking was counted by both units", len(bookings[0] & bookings[1]))
    return met | filtered.sights(case)


def _merged_before(memory: Memory, completions: Sequence[Operation], refund: Operation) -> bool:
    """Return whether a refund began after the claim that merged its tenant was answered."""
    return any(
        isinstance(each.result, Claimed)
        and each.result.tenant.id == memory.tenants[refund.about.tenant_id].merged_into
        and each.ended < refund.began
        for each in completions
    )
