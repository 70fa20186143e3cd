"""Promise 9: what a booking shows of its money is what the payment processor has told. Pure.

The processor reports a payment, refunds one by one and in all, and disputes: several times, and in any order.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

from tests.judge.finding import Verdict, is_whole
from tests.judge.records import Booking, History, Invoice, Money, Operation
from tests.judge.weeks import OPEN as UNPAID
from tests.judge.weeks import seen_bookings

OPEN, CLOSED = frozenset({"needs_response", "under_review"}), frozenset({"won", "lost", "prevented"})
"""The words for disputes that a bank decides, and has decided. Others move no money."""
FAILED = frozenset({"failed", "canceled"})
REFUSED = frozenset({400, 401, 403, 429})
"""Of an event that is not the processor's, or was not read."""


class Told(NamedTuple):
    """The reports about one payment: the amounts that paid bookings, and those of refunds, by their ids. `totals` are what
    had been refunded in all, None for everything, and `disputes` the newest closed report of each, or the open one."""

    paid: Mapping[str | None, int | None]
    made: Mapping[str, int]
    failed: Sequence[Money]
    totals: Sequence[Money]
    disputes: Mapping[str, Money]


def check(history: History, invoices: Sequence[Invoice], verdict: Verdict) -> None:
    """Judge the last answer about each booking whose payment its invoices name."""
    if not is_whole(history):
        return
    events: defaultdict[str, list[Operation]] = defaultdict(list)
    for operation in history.operations:
        if operation.asked.money is not None and operation.status not in REFUSED:
            events[operation.asked.money.payment].append(operation)
    _paid_twice(history, verdict)
    payments: dict[str, str] = {}
    bookings: dict[str, str] = {}
    for invoice in invoices:
        if invoice.payment is not None and invoice.of is None and invoice.kind == "invoice":
            payments.setdefault(invoice.booking, invoice.payment)
            bookings.setdefault(invoice.payment, invoice.booking)
    for sold, known in _payments(history).items():
        # An older version of the service wrote no invoices.
        if sold is not None and sold not in payments and len(known) == 1:
            payments[sold] = min(known)
            bookings.setdefault(payments[sold], sold)
    for id, seen in seen_bookings(history).items():
        shown = [each for each in seen.states if each[1].paid is not None and not each[1].demo]
        if not shown or id not in payments:
            continue
        operation, booking = max(shown, key=lambda each: each[0].began)
        payment = payments[id]
        if bookings[payment] != id:
            verdict.breaks(f"one payment paid the bookings {bookings[payment]} and {id}", operation)
            continue
        of_it = sorted((each for each in events[payment] if each.began < operation.ended), key=lambda each: each.ended)
        told = told_by([each.asked.money for each in of_it if each.asked.money is not None], of_it)
        if id not in told.paid or not _answered(of_it, operation):
            verdict.unjudged["the processor's reports are not in the history, or under way"] += 1
            continue
        verdict.judged += 1
        for words in _wrong(booking, told):
            verdict.breaks(f"booking {id} {words}", *of_it[-2:], operation)
        _disputed(id, seen.states, of_it, verdict)


def _paid_twice(history: History, verdict: Verdict) -> None:
    """A booking is paid twice once two payments of it were told. The first one of a booking that was never open is older, and
    those of the test mode are never told."""
    payments = _payments(history)
    for id, seen in seen_bookings(history).items():
        if id not in payments or not any(booking.status in UNPAID for _, booking in seen.states):
            continue
        verdict.judged += 1
        second = sorted((*payments[id].values(), inf))[1]
        for operation, booking in seen.states:
            if booking.issue == "paid_twice" and operation.ended < second:
                verdict.breaks(f"booking {id} is paid twice, and the processor told of one payment", operation)
                break


def _payments(history: History) -> Mapping[str | None, Mapping[str, float]]:
    """The payments that were told of each booking, with the moments at which they may first have been known."""
    payments: defaultdict[str | None, dict[str, float]] = defaultdict(dict)
    for each in history.operations:
        report = each.asked.money
        if report is not None and report.about == "paid" and each.status not in REFUSED:
            known = payments[each.asked.id]
            known[report.payment] = min(each.began, known.get(report.payment, inf))
    return payments


def _answered(events: Sequence[Operation], read: Operation) -> bool:
    """Whether each event had an answer before the booking was read. Events come until they have one."""
    done = {
        each.asked.money.event for each in events if not each.doubtful and each.ended < read.began and each.asked.money
    }
    return all(each.asked.money is not None and each.asked.money.event in done for each in events)


def told_by(reports: Sequence[Money], events: Sequence[Operation]) -> Told:
    paid = {
        event.asked.id: report.cents for report, event in zip(reports, events, strict=True) if report.about == "paid"
    }
    refunds = [each for each in reports if each.about == "refund" and each.id is not None]
    failed = {each.id: each for each in refunds if each.state in FAILED}
    made = {each.id or "": each.cents or 0 for each in refunds if each.state == "succeeded" and each.id not in failed}
    disputes: dict[str, Money] = {}
    for each in reports:
        if each.about == "dispute" and each.id is not None and each.state in OPEN | CLOSED:
            known = disputes.get(each.id)
            place = (each.state in CLOSED, each.at or 0)
            if known is None or place >= (known.state in CLOSED, known.at or 0):
                disputes[each.id] = each
    totals = [each for each in reports if each.about == "total"]
    return Told(paid, made, [*failed.values()], totals, disputes)


def _wrong(booking: Booking, told: Told) -> Iterator[str]:
    paid = booking.paid or 0
    if told.paid[booking.id] not in (None, paid):
        yield f"was paid {told.paid[booking.id]} and shows {paid}"
    if booking.status == "paid" and booking.issue is None and booking.price not in (None, paid):
        yield f"costs {booking.price} and was paid {paid}"
    lost = sum(each.cents or 0 for each in told.disputes.values() if each.state == "lost")
    taken = {each + lost for each in _refunded(told, paid)}
    # A refund and a loss that cross take more than was paid: of what came last, a booking may show what was left.
    refunds = taken | {min(paid, each) for each in taken}
    if booking.refunded not in refunds:
        words = " or ".join(map(str, sorted(refunds)))
        yield f"shows {booking.refunded} refunded of {paid}, and the processor told {words}, of which {lost} were lost"
    if booking.status == "paid" and booking.refunded >= paid:
        yield f"is paid, and {booking.refunded} of {paid} were refunded"
    if booking.status == "refunded" and booking.refunded < paid and not (told.made or told.totals):
        yield f"is refunded, and {booking.refunded} of {paid} were"


def _disputed(
    id: str, states: Sequence[tuple[Operation, Booking]], events: Sequence[Operation], verdict: Verdict
) -> None:
    """A booking is disputed once it is paid and an open dispute was told, until the end of that is told. What is told of it
    as open after its end does not count."""
    disputes: defaultdict[str | None, tuple[list[Operation], list[Operation]]] = defaultdict(lambda: ([], []))
    paid: list[Operation] = []
    for event in events:
        report = event.asked.money
        if report is not None and report.about == "dispute" and report.state in OPEN | CLOSED:
            disputes[report.id][report.state in CLOSED].append(event)
        elif report is not None and report.about == "paid":
            paid.append(event)
    spans = [
        (_answer_of(opened), _begin_of(closed), _begin_of(opened), _answer_of(closed))
        for opened, closed in disputes.values()
    ]
    since = _answer_of(paid)
    for operation, booking in states:
        certain = any(max(since, told) < operation.began and operation.ended < over for told, over, _, _ in spans)
        possible = any(asked < operation.ended and operation.began < done for _, _, asked, done in spans)
        if (certain and booking.issue != "disputed") or (booking.issue == "disputed" and not possible):
            words = "not disputed" if certain else "disputed"
            verdict.breaks(f"booking {id} is {words}, unlike what the processor told", *events[-2:], operation)
            break


def _answer_of(events: Sequence[Operation]) -> float:
    return min((each.ended for each in events if not each.doubtful), default=inf)


def _begin_of(events: Sequence[Operation]) -> float:
    return min((each.began for each in events), default=inf)


def _refunded(told: Told, paid: int) -> set[int]:
    """The sums that refunds may have given back. A total has the refunds that were made before it and failed after it, and
    parts that somebody refunded by hand. Times of one second tell no order."""
    made = sum(told.made.values())
    if not told.failed:
        return {max([made, *(paid if each.cents is None else each.cents for each in told.totals)])}
    found = {made}
    for each in told.totals:
        total, at = paid if each.cents is None else each.cents, each.at or 0
        spans = [(each.made or 0, each.at or 0, each.cents or 0) for each in told.failed]
        found |= {max(0, total - cents) for made_at, failed_at, cents in spans if made_at <= at <= failed_at}
        # A refund that was made after the total has room beside it.
        if not any(
            made_at <= at < failed_at and (made_at < at or total + cents > paid) for made_at, failed_at, cents in spans
        ):
            found.add(total)
    return found
