"""The figures of a run as tables. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tests.chaos.campaign import Report

MOST_LINES = 40


def lines(report: Report) -> Iterator[str]:
    """Yield the tables of faults, answers and the audit."""
    yield from _faults(report)
    yield from _answers(report)
    yield from _audit(report)


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield rows with aligned columns: text in the first, numbers in the others."""
    texts = [[str(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(len(row[place]) for row in texts) for place in range(len(heads))]
    for row in texts:
        first, *rest = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(["", first, *rest]).rstrip()
    yield ""


def _faults(report: Report) -> Iterator[str]:
    rows: list[tuple[object, ...]] = []
    for kind, planned in sorted(report.happened.planned.items()):
        made = [fault for fault in report.happened.faults if fault.kind == kind]
        slowest = max((max(fault.healed_seconds) for fault in made), default=0.0)
        rows.append((kind, planned, len(made), sum(fault.hit for fault in made), f"{slowest:.2f}"))
    total = len(report.happened.faults)
    rows.append(("in all", len(report.faults), total, "", ""))
    yield from table(("fault", "planned", "made", "hits", "recovered within, s"), rows)


def _answers(report: Report) -> Iterator[str]:
    rows = []
    for asked, outcomes in sorted(report.answers.outcomes.items()):
        rest = Counter(outcomes)
        usual = [rest.pop(outcome, 0) for outcome in ("200", "503 service_unavailable", "lost")]
        others = ", ".join(f"{outcome}: {count}" for outcome, count in sorted(rest.items()))
        rows.append((asked, *usual, others))
    yield from table(("asked", "200", "503", "lost", "others"), rows)


def _audit(report: Report) -> Iterator[str]:
    answers, after, verdict = report.answers, report.after, report.verdict
    claimed = sum(key.claimed for key in answers.keys.values())
    rows = [
        ("requests", answers.requests),
        ("slowest answer, s", f"{answers.slowest:.2f}"),
        ("late only because the node was stopped", verdict.frozen),
        ("late only for lack of a full core", len(verdict.starved)),
        ("events recorded: true / rows", f"{len(answers.recorded)} / {len(after.rows)}"),
        ("keys answered / claimed", f"{len(answers.keys)} / {claimed}"),
        ("sessions given", len(answers.sessions)),
        (
            "bookings answered / stored / held weeks",
            f"{len(answers.booked)} / {len(after.bookings)} / {len(after.slot_weeks)}",
        ),
        ("changes / mails", f"{len(after.audits)} / {len(after.mails)}"),
        ("promises broken", len(verdict.found)),
    ]
    yield from table(("audit", ""), rows)
    yield from (f"  {line}" for line in verdict.told)
    yield from (f"  delayed: {each}" for each in verdict.starved[:MOST_LINES])
    yield from (f"  BROKEN: {each}" for each in verdict.found[:MOST_LINES])
