"""All checks over one history, and the words for what they found. Pure."""

from collections.abc import Callable, Iterator, Mapping

from tests.judge import (
    caps,
    catalog,
    counts,
    feeds,
    idempotency,
    invoices,
    key_ends,
    once,
    prefixes,
    remaining,
    states,
    weeks,
)
from tests.judge.finding import Verdict, time_of, why_not_whole
from tests.judge.records import Booking, History, Operation

CHECKS: Mapping[str, Callable[[History], Verdict]] = {
    "a slot's week has one owner at a time": weeks.check,
    "an idempotency key has one outcome": idempotency.check,
    "charges stay within caps, and refusals are due": caps.check,
    "remaining figures are right": remaining.check,
    "an event is recorded once a day": once.check,
    "counts are what was recorded": counts.check,
    "states follow their tables": lambda history: key_ends.check(history, states.check(history)),
    "the audit, the feed and the changes only grow": lambda history: catalog.check(
        history, feeds.check(history, prefixes.check(history))
    ),
    "invoices have no gaps and add up": invoices.check,
}
"""The promises of docs/promises.md, in their order."""


def judge(history: History) -> Mapping[str, Verdict]:
    """The verdict of each check."""
    return {promise: check(history) for promise, check in CHECKS.items()}


def report(history: History, verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    """The lines that tell what was judged, what could not be, and what is broken."""
    header = history.header
    lacks = why_not_whole(history)
    whole = header.whole and lacks is None
    kinds = [name for name, has in (("fresh", header.fresh), ("single", header.single)) if has]
    kind = " and ".join([*(["whole"] if whole else []), *kinds]) or "partial"
    yield f"{len(history.operations)} operations of a {kind} history by {header.recorder or 'an unknown recorder'}"
    if history.torn is not None:
        yield history.torn
    if header.whole and not whole:
        yield f"it is judged as one that is not whole: {lacks}"
    for number, (promise, verdict) in enumerate(verdicts.items(), 1):
        told = f", {verdict.found} broken" if verdict.found else "" if verdict.judged else " (nothing to judge)"
        yield f"{number}. {promise}: {verdict.judged} judged{told}"
        yield from (f"     not judged: {count}, {why}" for why, count in verdict.unjudged.most_common() if count)
    for number, (promise, verdict) in enumerate(verdicts.items(), 1):
        if verdict.found:
            yield ""
            yield f"Promise {number} is broken: {promise}."
        for broken in verdict.broken:
            yield f"- {broken.sentence}."
            yield from (f"    {words_of(operation)}" for operation in broken.proof)
        if verdict.found > len(verdict.broken):
            yield f"  {verdict.found - len(verdict.broken)} more are not shown."


def words_of(operation: Operation) -> str:
    """When an operation was, who asked what of which node, and what the answer was."""
    asked, answer = operation.asked, operation.answer
    facts = (asked.id, asked.key and f"key {asked.key}", asked.slot, asked.decision)
    what = " ".join([operation.kind, *(each for each in facts if each)])
    told = "no answer" if answer is None else _told(operation)
    span = f"{time_of(operation.began)} to {time_of(operation.ended)[11:]}"
    return f"{span}, {operation.client} at {operation.node}: {what}: {told}"


def _told(operation: Operation) -> str:
    answer = operation.said
    told = [str(answer.status) + (f" {answer.code}" if answer.code else "")]
    told += [f"{each.window} {each.left} of {each.cap} left" for each in answer.limits]
    told += [f"used {answer.usage.used} of {answer.usage.cap}"] if answer.usage is not None else []
    told += [_of_booking(each) for each in answer.bookings[:3]]
    told += [f"campaign {each.id} {each.status}" for each in answer.campaigns[:3]]
    told += [", ".join(answer.outcomes[:5])] if answer.outcomes else []
    told += [f"{len(answer.records)} records from {answer.records[0].id}"] if answer.records else []
    told += [f"{each.number} over {each.cents}" for each in answer.invoices[:3]]
    return "; ".join(told)


def _of_booking(booking: Booking) -> str:
    names = ("impressions", "clicks", "paid", "refunded")
    values = [f"{value} {name}" for name in names if (value := getattr(booking, name))]
    return ", ".join([f"booking {booking.id} {booking.status}", *values])
