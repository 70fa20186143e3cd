"""The promises of the ledger that hold for each transaction, checked at its commit."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from actors.bookings.records import Booking, BookingStatus
from actors.values import AuditRecord
from tests.simulation.oracle import notifications, reviews, schedule, shares
from tests.simulation.oracle.bookings import (
    BOOKING_MOVES,
    CAMPAIGN_MOVES,
    DAY_MS,
    FIRST_CAMPAIGN_STATUS,
    HOLDING,
    NEW,
    OF_EDITS,
    OPEN,
    REQUESTS,
    STILL,
    WEEK_MS,
    amount_at,
    is_over,
    is_sold,
    keeps_others_out,
    may_begin,
    sharing,
    unpaid_since,
    waits,
    weeks,
)
from tests.simulation.oracle.case import checks_of
from tests.simulation.oracle.log import Commit, moved
from tests.simulation.rules import BOOKINGS

if TYPE_CHECKING:
    from tests.simulation.world import World

FIXED = ("tenant_id", "campaign_id", "slot_id", "week_start_ms", "weeks", "amount_cents", "currency", "created_ms")


def judge(world: "World", commit: Commit) -> Iterator[str]:
    for check in CHECKS:
        for violation in check(world, commit):
            yield f"{check.__name__}: {commit.owner} at {commit.tick}: {violation}"


def no_week_has_two_bookings(world: "World", commit: Commit) -> Iterator[str]:
    """Every booking that should have its weeks has them, and no other: so no two bookings share one."""
    memory, touched = world.memory, set(commit.of("bookings"))
    for before, after in commit.of("slot_weeks").values():
        touched |= {holder for holder in (before, after) if holder is not None}
    for booking_id in sorted(touched):
        booking = memory.bookings.get(booking_id)
        if booking is None:
            yield f"a week is held by {booking_id}, which does not exist"
            continue
        held = [memory.slot_weeks.get(week) == booking_id for week in weeks(booking)]
        if booking.status in HOLDING:
            fits = all(held)
        elif booking.status is BookingStatus.REFUNDING:
            fits = all(held) or not any(held)
        else:
            fits = not any(held)
        if not fits:
            yield f"{booking_id} is {booking.status} and holds {sum(held)} of its {len(held)} weeks"
    for week, (_, holder) in commit.of("slot_weeks").items():
        if holder is not None and week not in weeks(memory.bookings[holder]):
            yield f"{holder} holds {week}, which is not one of its weeks"


def every_move_is_in_the_table_and_audited_once(world: "World", commit: Commit) -> Iterator[str]:
    for booking_id, (before, after) in commit.of("bookings").items():
        audits = commit.audits_of(booking_id)
        first = NEW if before is None else str(before.status)
        if before is None:
            if not audits or audits[0].action != "booking.reserved":
                yield f"{booking_id} is new, but has no such audit record: {[audit.action for audit in audits]}"
                continue
            first, audits = "reserved", audits[1:]
        yield from _chain(booking_id, first, str(after.status), audits, BOOKING_MOVES, STILL)
        if not commit.audits_of(booking_id) and not _only_postponed(before, after):
            yield f"{booking_id} was changed without a record: {before} {after}"
        if before is not None and any(getattr(before, name) != getattr(after, name) for name in FIXED):
            yield f"{booking_id} has changed fixed fields: {before} {after}"
    for campaign_id, (before, after) in commit.of("campaigns").items():
        audits = commit.audits_of(campaign_id)
        if not audits:
            yield f"{campaign_id} was changed without a record"
        elif before is None:
            if audits[0].action != "campaign.created":
                yield f"{campaign_id} is new, and its record is {audits[0].action}"
            yield from _chain(
                campaign_id, FIRST_CAMPAIGN_STATUS, str(after.status), audits[1:], CAMPAIGN_MOVES, OF_EDITS
            )
        else:
            yield from _chain(campaign_id, str(before.status), str(after.status), audits, CAMPAIGN_MOVES, OF_EDITS)


def _only_postponed(before: Booking | None, after: Booking) -> bool:
    """Retries of a refund, checkout sessions and steps of a schedule are not audited."""
    silent = ("refund_due_ms", "sessions", "next_step_ms")
    return before is not None and all(
        getattr(before, name) == getattr(after, name) for name in Booking.__slots__ if name not in silent
    )


def _chain(
    target: str,
    first: str,
    last: str,
    audits: list[AuditRecord],
    table: Mapping[str, tuple[tuple[str, str], ...]],
    still: tuple[str, ...],
) -> Iterator[str]:
    """Return whether the records lead from the first state to the last, each by an allowed move."""
    status = first
    for audit in audits:
        move = moved(audit)
        if move is None:
            if audit.action not in still:
                yield f"{target}: {audit.action} moved nothing"
            continue
        if move not in table.get(audit.action, ()) or move[0] != status:
            yield f"{target} was {status}, then {audit.action} moved it from {move[0]} to {move[1]}"
        status = move[1]
    if status != last:
        yield f"{target} is {last}, but its records lead to {status}"


def every_record_has_its_change(world: "World", commit: Commit) -> Iterator[str]:
    changed = {key for table in ("bookings", "campaigns", "slots") for key in commit.of(table)}
    changed |= {after.id for _, after in commit.of("sponsors").values()}
    changed |= {(after or before).tenant_id for before, after in commit.of("shared_reports").values()}
    audited = {audit.target_id for audit in commit.audits}
    if audited - changed:
        yield f"records without a change: {sorted(audited - changed)}"
    named = {*commit.of("slots"), *(after.id for _, after in commit.of("sponsors").values())}
    if named - audited:
        yield f"changes without a record: {sorted(named - audited)}"


def bookings_begin_as_the_rules_say(world: "World", commit: Commit) -> Iterator[str]:
    now_ms = commit.now_ms
    remembered = [known.booking_id for _, known in commit.of("booking_keys").values()]
    for booking_id, (before, booking) in commit.of("bookings").items():
        if before is not None:
            continue
        if not may_begin(booking.week_start_ms, now_ms):
            yield f"{booking_id} begins with {booking.week_start_ms} at {now_ms}"
        offers = _versions(world, commit, "slots", booking.slot_id)
        if not any(
            is_sold(slot, now_ms)
            and (slot.weeks, amount_at(slot, booking.week_start_ms, now_ms)) == (booking.weeks, booking.amount_cents)
            for slot in offers
        ):
            yield f"{booking_id} has {booking.weeks} weeks for {booking.amount_cents} of {offers}"
        campaigns = _versions(world, commit, "campaigns", booking.campaign_id)
        if not any(each.tenant_id == booking.tenant_id and each.status != "rejected" for each in campaigns):
            yield f"{booking_id} is for a campaign that cannot be booked: {campaigns}"
        if booking.tenant_id not in world.memory.sponsors:
            yield f"{booking_id} has no sponsor"
        if booking.hold_ms != now_ms + BOOKINGS.hold_ms:
            yield f"{booking_id} is held until {booking.hold_ms} at {now_ms}"
        if remembered.count(booking_id) != 1:
            yield f"{booking_id} was made under {remembered.count(booking_id)} keys"
        together = sharing(world.memory, booking.tenant_id)
        held = [
            each.id
            for each in world.memory.bookings.values()
            if each.tenant_id in together and each.status in OPEN and each.hold_ms > now_ms
        ]
        if len(held) > BOOKINGS.open_holds:
            yield f"{sorted(together)} hold {len(held)} bookings of {BOOKINGS.open_holds}"
        yield from _held_too_often(world, booking, now_ms)


def _held_too_often(world: "World", booking: Booking, now_ms: int) -> Iterator[str]:
    together = sharing(world.memory, booking.tenant_id)
    mine = [each for each in world.memory.bookings.values() if each.tenant_id in together]
    made = sum(each.created_ms >= now_ms - now_ms % DAY_MS for each in mine)
    if made > world.holds_per_day:
        yield f"{sorted(together)} have reserved {made} times today, of {world.holds_per_day}"
    for each in mine:
        since_ms = unpaid_since(each, now_ms)
        near = since_ms is not None and now_ms < since_ms + BOOKINGS.cooldown_ms
        if near and each.id != booking.id and not set(weeks(each)).isdisjoint(weeks(booking)):
            yield f"{booking.id} has the week that {each.id} gave up at {since_ms}, at {now_ms}"


def a_slot_stays_on_its_side_while_it_is_booked(world: "World", commit: Commit) -> Iterator[str]:
    """Weeks that are taken in the same transaction may be taken after the slot has moved."""
    for slot_id, (before, after) in commit.of("slots").items():
        if before is None or before.side == after.side:
            continue
        for week, holder in world.memory.slot_weeks.items():
            if week[0] != slot_id or week in commit.of("slot_weeks") or week[1] + WEEK_MS <= commit.now_ms:
                continue
            row = world.log.at("bookings", holder, commit.tick - 1)
            if keeps_others_out(row, commit.now_ms):
                yield f"{slot_id} moved to the {after.side} while {holder} has booked the {before.side}"


def campaigns_stay_within_their_limits(world: "World", commit: Commit) -> Iterator[str]:
    """More only wait than may if a node has read an approval that is undone by now, which no one does."""
    for _, campaign in commit.of("campaigns").values():
        mine = [each for each in world.memory.campaigns.values() if each.tenant_id == campaign.tenant_id]
        together = sharing(world.memory, campaign.tenant_id)
        waiting = sum(waits(each) for each in world.memory.campaigns.values() if each.tenant_id in together)
        if waits(campaign) != (campaign.submitted_ms is not None):
            yield f"{campaign.id} waits since {campaign.submitted_ms}: {campaign}"
        if len(mine) > BOOKINGS.campaigns or waiting > BOOKINGS.pending_campaigns:
            yield f"{campaign.tenant_id} has {len(mine)} campaigns, and {waiting} of them wait"


def what_is_started_is_whole(world: "World", commit: Commit) -> Iterator[str]:
    """`bookings/start` writes profile, campaign and booking, or nothing."""
    booked = {after.campaign_id for before, after in commit.of("bookings").values() if before is None}
    for campaign_id, (before, campaign) in commit.of("campaigns").items():
        if before is None and campaign.content.cta == "Learn more" and campaign_id not in booked:
            yield f"{campaign_id} was started without a booking"


def holds_end_in_time_and_begin_anew_once(world: "World", commit: Commit) -> Iterator[str]:
    now_ms = commit.now_ms
    for booking_id, (before, after) in commit.of("bookings").items():
        actions = [audit.action for audit in commit.audits_of(booking_id)]
        if "booking.expired" in actions and (before is None or before.hold_ms > now_ms):
            yield f"{booking_id} was expired at {now_ms}: {before}"
        opened = "booking.checkout_opened" in actions
        if opened and (after.hold_ms != now_ms + BOOKINGS.hold_ms or (before is not None and is_over(before, now_ms))):
            yield f"{booking_id} went to checkout at {now_ms}: {before} {after}"
        if before is not None and after.hold_ms != before.hold_ms and not opened:
            yield f"{booking_id} was held until {before.hold_ms} and is until {after.hold_ms}"
        if "booking.cancelled" in actions and before is not None and is_over(before, now_ms):
            yield f"{booking_id} was cancelled at {now_ms} after its hold: {before}"


def payments_are_accepted_by_the_rules(world: "World", commit: Commit) -> Iterator[str]:
    for booking_id, (before, after) in commit.of("bookings").items():
        actions = [audit.action for audit in commit.audits_of(booking_id)]
        payment = world.processor.payments.get(after.payment_id or "")
        if after.payment_id is not None and (payment is None or payment.event.booking_id != booking_id):
            yield f"{booking_id} was paid by {after.payment_id}, which is unknown"
            continue
        if before is not None and before.payment_id not in (None, after.payment_id):
            yield f"{booking_id} was paid by {before.payment_id} and now by {after.payment_id}"
        if payment is None:
            continue
        mismatch = payment.event.amount_cents != after.amount_cents
        over = weeks(after)[-1][1] + WEEK_MS <= commit.now_ms
        others = [other for other in _others(world, commit, after) if keeps_others_out(other, commit.now_ms)]
        if "booking.paid" in actions and (mismatch or over):
            yield f"{booking_id} is paid with {payment.event.amount_cents} at {commit.now_ms}: {after}"
        for late in (audit for audit in commit.audits_of(booking_id) if audit.action == "booking.paid_too_late"):
            fair = {
                "amount_mismatch": mismatch,
                "paid_after_cancel": (moved(late) or ("",))[0] == "cancelled",
                "paid_after_expiry": over or bool(others),
            }
            if not fair.get(json.loads(late.changes).get("paymentIssue"), False):
                yield f"{booking_id} was paid too late: {late.changes} {before} {after}"
        if after.disputed and not payment.disputes:
            yield f"{booking_id} is disputed, but {after.payment_id} is not"
        if "booking.dispute_lost" in actions and not payment.most_lost_cents:
            yield f"{booking_id} has lost a dispute, but {after.payment_id} has not: {payment.disputes}"
        back, excess = after.refunded_cents, max(0, after.refunded_cents - (after.paid_cents or 0))
        if after.excess_cents != excess or not 0 <= after.lost_cents <= back:
            yield f"the money of {booking_id} does not add up: {after}"
        # The report of a refund may come after that refund has failed.
        if "booking.refunded" in actions and not payment.back and not payment.failed:
            yield f"{booking_id} is refunded, but the processor refunded nothing"


def requests_for_refunds_wait_for_a_decision(world: "World", commit: Commit) -> Iterator[str]:
    """A request is open until it is declined, or until a refund is ordered: by an administrator, by the end of the weeks, or
    by hand at the processor's. A lost dispute closes it, too."""
    for booking_id, (before, after) in commit.of("bookings").items():
        waiting = before is not None and before.refund_requested_ms is not None
        asked = 0 if before is None else before.refund_requests
        for audit in commit.audits_of(booking_id):
            match audit.action:
                case "booking.refund_requested":
                    if waiting or asked >= REQUESTS:
                        yield f"{booking_id} has a request more: {before}"
                    waiting, asked = True, asked + 1
                case "booking.refund_request_declined":
                    if not waiting:
                        yield f"{booking_id} had no request to decline: {before}"
                    waiting = False
                case "booking.refund_ordered":
                    waiting = False
                    by_hand = audit.actor_id == "payments" and _was_refunded_by_hand(world, after)
                    ended = audit.actor_id == "ledger" and "unshownWeeks" in json.loads(audit.changes)
                    if not (by_hand or ended or (audit.actor_email or "").startswith("admin-")):
                        yield f"{booking_id} is refunded although nobody has decided it: {audit}"
                    if before is not None and before.disputed and after.disputed and not by_hand:
                        yield f"{booking_id} is refunded while its payment is disputed: {audit}"
                case "booking.dispute_lost" if moved(audit) is not None:
                    waiting = False
        if (after.refund_requested_ms is not None, after.refund_requests) != (waiting, asked):
            yield f"{booking_id} should have {asked} requests, the last one {'open' if waiting else 'closed'}: {after}"


def _was_refunded_by_hand(world: "World", booking: Booking) -> bool:
    """Return whether the processor has refunded the payment. It may have, for a refund that was declined at first."""
    payment = world.processor.payments.get(booking.payment_id or "")
    return payment is not None and (payment.by_hand or payment.failed or bool(payment.back))


def _others(world: "World", commit: Commit, booking: Booking) -> list[Booking]:
    """Return the owners of a booking's weeks before and after the commit, each with its row before and after."""
    ids: set[str] = set()
    for week in weeks(booking):
        before, after = commit.of("slot_weeks").get(week, (world.memory.slot_weeks.get(week),) * 2)
        ids |= {holder for holder in (before, after) if holder not in (None, booking.id)}
    return [each for other in sorted(ids) for each in _versions(world, commit, "bookings", other)]


def _versions(world: "World", commit: Commit, table: str, key: str) -> list[Any]:
    """A row before and after a commit, with several moves in between."""
    rows = world.log.during(table, key, commit.tick - 1, commit.tick)
    return [row for row in rows if row is not None]


def decisions_are_not_old(world: "World", commit: Commit) -> Iterator[str]:
    """A decision time must not be long past."""
    if len({audit.created_ms for audit in commit.audits}) > 1:
        yield "the records of one commit have different times"
    if not commit.between[0] <= commit.now_ms <= commit.between[1]:
        yield f"it was decided for {commit.now_ms}, and not in {commit.between}"


CHECKS = [
    each
    for module in (sys.modules[__name__], schedule, reviews, notifications, shares)
    for each in checks_of(module, "world", "commit")
    if each is not judge
]
