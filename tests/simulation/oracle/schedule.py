"""The schedule of a paid booking, written again by hand: each step once, none early, and the money for unseen weeks back."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from actors.bookings.records import Booking, BookingStatus, PackageKind, YoutubeStatus
from tests.simulation.oracle.bookings import DAY_MS, WEEK_MS, share
from tests.simulation.oracle.log import Commit, End
from tests.simulation.rules import BOOKINGS

if TYPE_CHECKING:
    from tests.simulation.world import World

REQUEST_MS = 7 * DAY_MS
"""How long after its weeks a booking waits for the decision on a request."""
VIDEOS = (PackageKind.YOUTUBE, PackageKind.BUNDLE)
BEGINS, ENDED = -1, -2
"""Steps that are not the end of a day."""


def end_ms(booking: Booking) -> int:
    return booking.week_start_ms + booking.weeks * WEEK_MS


def steps(commit: Commit, before: Booking | None, after: Booking) -> list[tuple[int, int]]:
    """Return the steps that a commit has done, each with its time: the begin, days since the epoch, the end."""
    since = 0 if before is None else before.next_step_ms
    if any(audit.action == "booking.paid" for audit in commit.audits_of(after.id)):
        since = after.week_start_ms
    until = after.next_step_ms
    if since is None or since == until:
        return []
    first = max(after.week_start_ms, after.paid_ms or 0) // DAY_MS
    days = range(first, end_ms(after) // DAY_MS)
    planned = [(after.week_start_ms, BEGINS), *(((day + 1) * DAY_MS + BOOKINGS.settle_ms, day) for day in days)]
    done = [(at_ms, step) for at_ms, step in planned if since <= at_ms and (until is None or at_ms < until)]
    return done if until is not None else [*done, (end_ms(after) + BOOKINGS.settle_ms, ENDED)]


def unseen(world: "World", booking: Booking) -> list[int]:
    """Return the starts of the weeks in which nobody saw anything."""
    if booking.package_kind in VIDEOS and booking.youtube_status is YoutubeStatus.PUBLISHED:
        return []
    counts = world.memory.delivery_days
    return [
        week_ms
        for week_ms in range(booking.week_start_ms, end_ms(booking), WEEK_MS)
        if not any(sum(counts.get((booking.id, week_ms // DAY_MS + day), (0, 0))) for day in range(7))
    ]


def steps_are_done_once_in_order_and_never_early(world: "World", commit: Commit) -> Iterator[str]:
    for booking_id, (before, after) in commit.of("bookings").items():
        was, now = (before.next_step_ms if before else 0), after.next_step_ms
        paid = any(audit.action == "booking.paid" for audit in commit.audits_of(booking_id))
        if was == now and not paid:
            continue
        if not paid and (was is None or (now is not None and now < was)):
            yield f"the schedule of {booking_id} went back from {was} to {now}"
        if not paid and now is not None and now <= commit.now_ms:
            yield f"{booking_id} left steps undone at {commit.now_ms} that were due at {now}"
        for at_ms, step in steps(commit, before, after):
            if at_ms > commit.now_ms:
                yield f"{booking_id} did a step at {commit.now_ms} that is due at {at_ms}"
            if (booking_id, step) in world.log.steps:
                yield f"{booking_id} did the step {step} again"
            world.log.steps.add((booking_id, step))


def a_booking_ends_once_nothing_is_undecided(world: "World", commit: Commit) -> Iterator[str]:
    """The payer's bank decides first, then for a week an administrator, unless nothing was shown."""
    for booking_id, (before, after) in commit.of("bookings").items():
        if before is None or before.next_step_ms == after.next_step_ms:
            continue
        lost, over_ms = unseen(world, after), end_ms(after)
        waits = {
            row.disputed
            or (
                row.refund_requested_ms is not None
                and len(lost) < row.weeks
                and commit.now_ms < over_ms + REQUEST_MS + BOOKINGS.settle_ms
            )
            for row in (before, after)
        }
        if after.next_step_ms is None and waits == {True} and not _was_decided(commit, booking_id):
            yield f"{booking_id} has ended at {commit.now_ms}, though somebody has to decide: {after}"
        if (after.next_step_ms or 0) > over_ms + BOOKINGS.settle_ms and waits == {False}:
            yield f"{booking_id} has not ended at {commit.now_ms}: {after}"


def _was_decided(commit: Commit, booking_id: str) -> bool:
    return any("refund" in audit.action or "dispute" in audit.action for audit in commit.audits_of(booking_id))


def unseen_weeks_are_refunded_by_their_share(world: "World", commit: Commit) -> Iterator[str]:
    for booking_id, (before, after) in commit.of("bookings").items():
        ordered = [
            audit
            for audit in commit.audits_of(booking_id)
            if audit.action == "booking.refund_ordered" and "unshownWeeks" in json.loads(audit.changes)
        ]
        ended = before is not None and before.next_step_ms is not None and after.next_step_ms is None
        lost = unseen(world, after) if ended else []
        cents = share(after, lost)
        left: set[int | None] = {None}
        if before is not None and cents:
            # What a person has refunded by hand is not left, whether before this batch or in it.
            left |= {min(cents, (after.paid_cents or 0) - row.refunded_cents) for row in (before, after)}
            if (
                after.status is BookingStatus.REFUNDING
                and after.refund_cents is not None
                and after.refund_cents in left
            ):
                cents = after.refund_cents
            else:
                cents = min(cents, (after.paid_cents or 0) - before.refunded_cents)
        if ended:
            world.log.ends[booking_id] = End(tuple(lost), cents)
        if [json.loads(audit.changes)["unshownWeeks"] for audit in ordered] != ([str(len(lost))] if cents else []):
            yield f"{len(lost)} weeks of {booking_id} were not seen, and {[a.changes for a in ordered]} are refunded"
        elif cents and after.status is BookingStatus.REFUNDING and after.refund_cents not in left:
            yield f"{after.refund_cents} cents of {booking_id} are refunded instead of {cents}: {after}"
        elif cents and after.refund_cents is None and len(ordered) == _orders(commit, booking_id):
            yield f"all of {booking_id} is refunded instead of {cents} cents: {after}"


def _orders(commit: Commit, booking_id: str) -> int:
    return sum(audit.action == "booking.refund_ordered" for audit in commit.audits_of(booking_id))
