"""Promise 9: numbers of invoices and credit notes have no gaps, documents never change, and what they add up to is what was
paid less what was refunded. Pure."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from tests.judge import money
from tests.judge.finding import Verdict, is_whole
from tests.judge.records import Booking, History, Invoice, Operation
from tests.judge.weeks import OPEN, seen_bookings

MONEY = frozenset({"checkout", "paid", "refunding", "refunded"})
"""States of bookings that may have documents."""


@dataclass(slots=True)
class Documents:
    """Documents by their numbers, each with the operation that showed it first, and complete reads by booking."""

    first: dict[str, tuple[Invoice, Operation]] = field(default_factory=dict)
    reads: defaultdict[str, list[Operation]] = field(default_factory=lambda: defaultdict(list))


def check(history: History) -> Verdict:
    verdict, documents = Verdict(), Documents()
    for operation in sorted(history.operations, key=lambda each: each.ended):
        if operation.kind not in ("getInvoices", "listInvoices") or not operation.good:
            continue
        if not operation.read:
            verdict.unjudged["the body of an answer was not read"] += 1
            continue
        verdict.judged += 1
        for invoice in operation.said.invoices:
            shown, earlier = documents.first.setdefault(invoice.number, (invoice, operation))
            if shown != invoice:
                verdict.breaks(f"the document {invoice.number} is not what it was before", earlier, operation)
            if operation.kind == "getInvoices" and operation.asked.id not in (None, invoice.booking):
                words = f"the document {invoice.number} of booking {invoice.booking} is shown as one of another"
                verdict.breaks(words, operation)
            if invoice.rate < 0:
                verdict.breaks(f"the document {invoice.number} has a negative rate of tax", operation)
        if operation.kind == "getInvoices" and operation.asked.id is not None:
            documents.reads[operation.asked.id].append(operation)
    _numbers(history, documents, verdict)
    _belong(documents, verdict)
    _money(history, documents, verdict)
    money.check(history, [each for each, _ in documents.first.values()], verdict)
    return verdict


def _belong(documents: Documents, verdict: Verdict) -> None:
    """A credit note belongs to an invoice of its booking, and an invoice that cancels one to that."""
    for invoice, operation in documents.first.values():
        of = documents.first.get(invoice.of or "")
        if invoice.kind == "credit_note" and invoice.of is None:
            verdict.breaks(f"the credit note {invoice.number} belongs to no invoice", operation)
        elif of is not None and (of[0].booking != invoice.booking or of[0].kind == invoice.kind):
            words = f"the document {invoice.number} belongs to {of[0].number}, which is of another booking or of its own kind"
            verdict.breaks(words, of[1], operation)


# Numbers.


def _numbers(history: History, documents: Documents, verdict: Verdict) -> None:
    """A number is missing if a greater one is known and no booking can have it: the documents of each one that may have any
    were read after the greater one was seen."""
    series: defaultdict[str, dict[int, Operation]] = defaultdict(dict)
    for number, (_, operation) in documents.first.items():
        name, _, digits = number.rpartition("-")
        if not (digits.isascii() and digits.isdecimal() and name):
            verdict.breaks(f"{number} is no number of a series", operation)
            continue
        series[name][int(digits)] = operation
    if not (history.header.fresh and is_whole(history)):
        verdict.unjudged["gaps need a whole and fresh history"] += len(documents.first)
        return
    read_until = _all_read_after(history, documents)
    for name, known in series.items():
        numbers = sorted(known)
        for before, place in zip([0, *numbers], numbers, strict=False):
            if place == before + 1:
                continue
            if read_until > known[place].ended:
                words = f"{name}-{before + 1:06} is missing before {name}-{place:06}, and no booking has it"
                verdict.breaks(words, known[place])
            else:
                verdict.unjudged["a number may be of a booking whose documents were not read since"] += 1


def _all_read_after(history: History, documents: Documents) -> float:
    """The moment after which the documents of each booking that may have any were read."""
    bookings = {
        id
        for id, seen in seen_bookings(history).items()
        if any(each.status in MONEY and not each.demo for _, each in seen.states)
    }
    for operation in history.operations:
        if operation.kind == "openCheckout" and (operation.good or operation.doubtful):
            bookings.add(operation.asked.id or "")
    return min((max((each.began for each in documents.reads[id]), default=-inf) for id in bookings), default=-inf)


# Money.


def _money(history: History, documents: Documents, verdict: Verdict) -> None:
    """Between two equal answers about the money of a booking, its documents add up to what they show."""
    moves = _moves(history)
    for id, seen in seen_bookings(history).items():
        if not documents.reads[id]:
            continue
        states = sorted((each for each in seen.states if each[1].paid is not None), key=lambda each: each[0].ended)
        if any(booking.demo for _, booking in seen.states):
            continue
        # A payment that is older than invoices has none.
        began = any(booking.status in OPEN for _, booking in seen.states)
        disputed = any((booking.issue or "").startswith("dispute") for _, booking in seen.states)
        _sums(id, states, documents.reads[id], verdict, began=began, moves=moves if disputed else None)


Moves = Mapping[str, list[tuple[float, float, str]]]


def _moves(history: History) -> Moves:
    """When events of the processor may have moved the money of each payment. One without an answer is over once it came again
    and had one."""
    told = [(each, each.asked.money) for each in history.operations if each.asked.money is not None]
    done: dict[str, float] = {}
    for each, report in told:
        if not each.doubtful:
            done[report.event] = max(each.ended, done.get(report.event, -inf))
    found: defaultdict[str, list[tuple[float, float, str]]] = defaultdict(list)
    for each, report in told:
        end = done.get(report.event, inf) if each.doubtful else each.ended
        found[report.payment].append((each.began, end, report.event))
    return found


def _sums(
    id: str,
    states: list[tuple[Operation, Booking]],
    reads: list[Operation],
    verdict: Verdict,
    *,
    began: bool,
    moves: Moves | None,
) -> None:
    """Two answers are equal if nothing moved between them: a dispute may take money and return it."""
    ends, later = [each.ended for each, _ in states], sorted(states, key=lambda each: each[0].began)
    begins = [each.began for each, _ in later]
    for read in reads:
        at, then = bisect_left(ends, read.began), bisect_right(begins, read.ended)
        if not at or then == len(later):
            verdict.unjudged["no answer shows the money before and after"] += 1
            continue
        (before, shown), (after, again) = states[at - 1], later[then]
        if (shown.paid, shown.refunded, shown.status) != (again.paid, again.refunded, again.status):
            verdict.unjudged["the money changed meanwhile"] += 1
            continue
        invoices = read.said.invoices
        spans = [
            each for payment in {each.payment for each in invoices} for each in (moves or {}).get(payment or "", ())
        ]
        meanwhile = {event for start, end, event in spans if start < after.ended and before.began < end}
        if moves is not None and (not spans or len(meanwhile) > 1):
            verdict.unjudged["a dispute may have taken money and returned it meanwhile"] += 1
            continue
        total = sum(each.cents if each.kind == "invoice" else -each.cents for each in invoices)
        expected = (shown.paid or 0) - shown.refunded
        if total != expected and invoices:
            verdict.breaks(
                f"the documents of booking {id} add up to {total}, but {shown.paid} were paid and {shown.refunded} refunded",
                before,
                read,
                after,
            )
        elif invoices and invoices[0].rate >= 0:
            tax = sum(each.tax if each.kind == "invoice" else -each.tax for each in invoices)
            whole = 100_000 + invoices[0].rate
            if tax != (2 * total * invoices[0].rate + whole) // (2 * whole):
                verdict.breaks(f"the tax of booking {id} adds up to {tax}, of {total}", read)
        elif expected and began:
            verdict.breaks(f"booking {id} was paid {shown.paid} and has no invoice", before, read, after)
