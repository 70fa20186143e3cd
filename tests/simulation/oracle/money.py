"""Money at the end: the processor's books and the ledger agree, and nothing is left undone."""

from collections.abc import Iterator
from fractions import Fraction
from math import floor

from actors.bookings.invoices import InvoiceKind
from actors.bookings.records import Booking, BookingStatus
from tests.simulation.oracle.bookings import DAY_MS, OPEN, WEEK_MS, waits, weeks
from tests.simulation.oracle.case import Case
from tests.simulation.processor import Payment
from tests.simulation.rules import BOOKINGS

SETTLED_MS = 2_500
"""How long before the end holds and refunds may be due and unhandled: two rounds of the sweeper, plus clock skew."""
FAULTS_OF_THE_CALLER = (
    "amount_too_small",
    "idempotency_key_length",
    "idempotency_mismatch",
    "metadata_too_long",
    "more_than_left",
    "page_bounds",
    "resource_missing",
)
"""Refusals that are no reason to give up."""


def nothing_is_paid_back_twice(case: Case) -> Iterator[str]:
    """Refunds of a payment are at most what was ordered, or refunded by hand, and that is at most what was paid."""
    orders: dict[str, list[int]] = {}
    for (table, _), versions in case.world.log.versions.items():
        for _, row in versions if table == "bookings" else ():
            if row is not None and row.payment_id is not None and row.status is BookingStatus.REFUNDING:
                orders.setdefault(row.payment_id, []).append(_ordered(row))
    for payment_id, payment in case.world.processor.payments.items():
        paid_cents = payment.event.amount_cents
        most = min(paid_cents, payment.hand_cents + max(orders.get(payment_id, [0])))
        if payment.too_much:
            yield f"{payment_id} was refunded {payment.too_much}, more than losses had left: {payment}"
        if sum(payment.back) > most:
            yield f"{payment_id} over {paid_cents}, of which {most} were ordered, was refunded in total: {payment.back}"


def _ordered(booking: Booking) -> int:
    """Return the cents of the refund that was ordered last."""
    paid_cents = booking.paid_cents or 0
    return paid_cents if booking.refund_cents is None else min(booking.refund_cents, paid_cents)


def every_payment_is_accounted_for(case: Case) -> Iterator[str]:
    """Each payment is either the booking's own, which says where the money is, or recorded as a second one."""
    payments: dict[str, list[str]] = {}
    for payment_id, payment in case.world.processor.payments.items():
        payments.setdefault(payment.event.booking_id, []).append(payment_id)
    for booking in case.memory.bookings.values():
        known = payments.get(booking.id, [])
        if bool(known) != (booking.payment_id is not None):
            yield f"{booking.id} was paid by {known} and says {booking.payment_id}"
        noted = [audit for audit in case.world.log.audited.get(booking.id, []) if audit.action == "booking.paid_twice"]
        others = [case.world.processor.payments[each] for each in known if each != booking.payment_id]
        # A payment refunded by hand is reported twice, each time as a payment.
        if not len(others) <= len(noted) <= len(others) + sum(payment.by_hand for payment in others):
            yield f"{booking.id} was paid by {known}, and has {len(noted)} records of a second payment"
        if booking.payment_id is not None:
            yield from _whereabouts(case, booking, case.world.processor.payments[booking.payment_id])


def _whereabouts(case: Case, booking: Booking, payment: Payment) -> Iterator[str]:
    """Check who has the money and the weeks. A booking has one issue; the latest replaces an earlier one."""
    has_weeks = all(case.memory.slot_weeks.get(week) == booking.id for week in weeks(booking))
    paid_cents, refunds = payment.event.amount_cents, sum(payment.back)
    agrees = booking.refunded_cents == payment.back_cents and booking.lost_cents == payment.lost_cents
    agrees = agrees and booking.excess_cents == max(0, payment.back_cents - paid_cents)
    agrees = agrees and booking.disputed is payment.disputed
    match booking.status:
        case BookingStatus.PAID:
            # A part that was refunded by hand, or lost, leaves the booking as it is.
            fair = has_weeks and booking.refunded_cents < paid_cents
        case BookingStatus.REFUNDED if booking.lost_from is not None:
            noted = booking.payment_issue in ("dispute_lost", "paid_twice")
            fair = noted and booking.refunded_cents >= paid_cents and booking.refund_due_ms is None
        case BookingStatus.REFUNDED:
            least = min(paid_cents, max(payment.hand_cents, _ordered(booking))) - payment.most_lost_cents
            fair = least <= refunds <= min(paid_cents, payment.hand_cents + _ordered(booking))
            # A refund may come back after a loss has taken all of the payment.
            fair = fair and (refunds > 0 or payment.lost_cents >= paid_cents)
            # An order of all leaves nothing, also of what a bank has returned since.
            fair = fair and (booking.refund_cents is not None or not booking.left_cents)
        case BookingStatus.REFUNDING:
            # The refund was declined or failed for good and not ordered again; the weeks may belong to another. A bank has
            # returned the money of weeks that were sold meanwhile. Or it has not decided yet.
            actions = {audit.action for audit in case.world.log.audited.get(booking.id, [])}
            declined = bool(actions & {"booking.refund_declined", "booking.refund_failed", "booking.dispute_won"})
            noted = booking.payment_issue in ("refund_declined", "refund_failed", "dispute_won", "paid_twice")
            fair = booking.disputed or (declined and noted and booking.refund_due_ms is None)
        case _:
            fair = False
    fair = fair and agrees
    if not fair:
        yield f"{booking} has {'its' if has_weeks else 'no'} weeks, and the refunds of {payment.event} are {payment.back}"


def every_movement_of_money_has_its_document(case: Case) -> Iterator[str]:
    """Each payment that paid a booking has one invoice. Credit notes, without those that an invoice cancels, are what the
    processor gave back and the bank took, to the cent, also where both crossed and took more than was paid. A payment that is
    older than invoices has neither."""
    for booking in case.memory.bookings.values():
        own = [each for each in case.memory.invoices.values() if each.booking_id == booking.id]
        notes = {each.number: each for each in own if each.kind is InvoiceKind.CREDIT_NOTE}
        invoices = [each for each in own if each.kind is InvoiceKind.INVOICE]
        first = [each for each in invoices if each.belongs_to is None]
        cancels = [(each.belongs_to, each.amount_cents) for each in invoices if each.belongs_to is not None]
        payment = case.world.processor.payments.get(booking.payment_id or "")
        paid = 0 if payment is None else payment.event.amount_cents
        if not first and case.world.log.since("bookings", booking.id) == 0:
            if own:
                yield f"{booking.id} is older than invoices, and has {own}"
            continue
        if [each.amount_cents for each in first] != ([paid] if paid else []):
            yield f"{booking.id} was paid {paid}, and has the invoices {first}"
            continue
        if any(each.belongs_to != first[0].number for each in notes.values()):
            yield f"{booking.id} has credit notes of another booking: {notes}"
        if not {number for number, _ in cancels} <= notes.keys():
            yield f"{booking.id} has invoices that cancel {cancels} of {notes}"
        credited = sum(each.amount_cents for each in notes.values()) - sum(cents for _, cents in cancels)
        back = 0 if payment is None else payment.back_cents
        if credited != back:
            yield f"{booking.id} has credit notes of {credited}, and {back} went back: {payment}"


def documents_are_split_as_what_is_kept(case: Case) -> Iterator[str]:
    """The tax of a booking's documents is that of what they leave, rounded once, whatever went back in which parts."""
    kept: dict[str, list[int]] = {}
    for each in case.memory.invoices.values():
        sign = 1 if each.kind is InvoiceKind.INVOICE else -1
        sums = kept.setdefault(each.booking_id, [0, 0])
        sums[:] = sums[0] + sign * each.amount_cents, sums[1] + sign * each.tax_cents
        if not 0 <= each.tax_cents <= each.amount_cents:
            yield f"{each} has more tax than money, or less than none"
    rate = Fraction(BOOKINGS.seller.tax_rate, 100_000)
    for booking_id, (cents, tax) in kept.items():
        if tax != floor(cents * rate / (1 + rate) + Fraction(1, 2)):
            yield f"the documents of {booking_id} leave {cents}, of which {tax} are tax"


def no_document_ever_changes(case: Case) -> Iterator[str]:
    for (table, number), versions in case.world.log.versions.items():
        if table == "invoices" and len({row for _, row in versions}) > 1:
            yield f"{number} was issued once and is different now: {versions}"


def numbers_of_invoices_have_no_gaps(case: Case) -> Iterator[str]:
    series: dict[str, list[int]] = {}
    for number, each in case.memory.invoices.items():
        series.setdefault(each.series, []).append(each.sequence)
        if not number.endswith(f"-{each.sequence:06}"):
            yield f"{number} is number {each.sequence} of {each.series}"
    for name, used in series.items():
        if sorted(used) != list(range(1, len(used) + 1)):
            yield f"{name} has the numbers {sorted(used)}"


def nothing_is_declined_that_the_processor_did_not_decline(case: Case) -> Iterator[str]:
    for booking_id, audits in case.world.log.audited.items():
        noted = sum(audit.action == "booking.refund_declined" for audit in audits)
        declined = case.world.processor.declined.get(booking_id, 0)
        if noted > declined:
            yield f"{booking_id} has {noted} records of a refund that was declined; the processor declined {declined}"


def a_page_or_a_refund_fails_for_a_reason(case: Case) -> Iterator[str]:
    """A node gives up only for what it cannot help: the processor has no answer, does not want, or the money is elsewhere. It
    asks for nothing that no processor does, and repeats under another key what is safe to repeat."""
    for each in case.world.api.ended:
        reasons = {why for why in each.why if why and why not in FAULTS_OF_THE_CALLER}
        if "page_bounds" in each.why and not each.open:
            reasons.add("page_bounds")
        if not reasons:
            yield f"{each.error} for {each.booking.id}, though the processor said {each.why}: {each.booking}"


def nothing_is_left_undone(case: Case) -> Iterator[str]:
    """Once there are no faults, expired holds are released and due refunds made."""
    end = case.world.ended_at
    now_ms = min(case.now_ms(node.name, end) for node in case.world.nodes) - SETTLED_MS
    for booking in case.memory.bookings.values():
        if booking.status in OPEN and booking.hold_ms < now_ms:
            yield f"{booking.id} is {booking.status} at {now_ms}, but was held until {booking.hold_ms}"
        if booking.status is BookingStatus.PAID and 0 <= (booking.next_step_ms or now_ms) < now_ms:
            yield f"{booking.id} is paid at {now_ms}, and the next step of its schedule was due at {booking.next_step_ms}"
        if booking.refund_due_ms is not None and booking.refund_due_ms < now_ms and not booking.disputed:
            yield f"{booking.id} is {booking.status} at {now_ms}, and its refund was due at {booking.refund_due_ms}"
    waiting = [row for row in case.memory.campaigns.values() if waits(row)]
    last_ms = case.memory.digest_mailed_ms
    if last_ms + BOOKINGS.digest_ms < now_ms and any(last_ms < (row.submitted_ms or 0) < now_ms for row in waiting):
        yield f"no digest was mailed since {last_ms}, but {waiting} wait"
    if case.world.processor.unanswered:
        yield f"{case.world.processor.unanswered} events were never answered"


def nobody_pays_for_weeks_that_nobody_saw(case: Case) -> Iterator[str]:
    """Once the weeks of a paid booking are over, each was seen, or its share is back. Otherwise the payer's bank or an
    administrator decides, or the processor has declined the refund, and the administrators know."""
    end = case.world.ended_at
    now_ms = min(case.now_ms(node.name, end) for node in case.world.nodes) - SETTLED_MS - BOOKINGS.settle_ms
    for booking in case.memory.bookings.values():
        over = booking.week_start_ms + booking.weeks * WEEK_MS <= now_ms
        undecided = booking.disputed or booking.refund_requested_ms is not None
        if not over or booking.status is not BookingStatus.PAID or undecided:
            continue
        end_of_weeks = case.world.log.ends.get(booking.id)
        # What waited for a decision is looked at again a day later.
        later = now_ms < (booking.next_step_ms or 0) <= now_ms + DAY_MS
        if end_of_weeks is None and later:
            continue
        if end_of_weeks is None:
            yield f"the weeks of {booking.id} are over, but it has not ended: {booking}"
        elif end_of_weeks.cents and not _was_declined(case, booking):
            yield f"{booking.id} is still paid, though {end_of_weeks} says what is due: {booking}"


def _was_declined(case: Case, booking: Booking) -> bool:
    """Return whether the processor has declined a refund. Each administrator then has a mail (`notifications`)."""
    declined = any(audit.action == "booking.refund_declined" for audit in case.world.log.audited.get(booking.id, []))
    return declined and booking.payment_issue in ("refund_declined", "paid_twice")


def what_is_sold_is_the_weeks_that_are_held(case: Case) -> Iterator[str]:
    """No week is sold twice: the check of each commit, repeated for the final state."""
    sold: dict[tuple[str, int], str] = {}
    for booking in case.memory.bookings.values():
        if booking.status in (*OPEN, BookingStatus.PAID):
            for week in weeks(booking):
                if week in sold:
                    yield f"{week} belongs to {booking.id} and to {sold[week]}"
                sold[week] = booking.id
    if any(case.memory.slot_weeks.get(week) != booking_id for week, booking_id in sold.items()):
        yield "some sold weeks are not held"
