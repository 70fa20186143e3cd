"""Checks that the judge of histories cannot make: delays, faults and unexpected answers, and rows that no answer shows. Pure.

`tests/judge` finds what answers alone show to be broken.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from actors.events.messages import Event, Unit
from actors.events.state import VisitorHasher
from actors.times import WEEK_MS
from tests.chaos.history import LOST, Answers, Happened, Made, Request, Stored
from tests.chaos.notifications import broken_notifications
from tests.chaos.websites import by_device, unit_of

ANSWER_SECONDS = 5.0
HEALED_SECONDS = 3.0
FINE = frozenset({"200", "503 service_unavailable", LOST})
ALSO_FINE: Mapping[str, frozenset[str]] = {
    # A second code within a minute after a lost answer, or a code that is too old by a stepped clock.
    "agent: start a claim": frozenset({"429 rate_limited", "409 already_upgraded"}),
    "agent: complete a claim": frozenset({"400 invalid_code", "400 invalid_claim", "409 already_upgraded"}),
    "person: start to sign in": frozenset({"429 rate_limited"}),
    # A code opens one session, so it cannot be used again after a lost answer.
    "person: sign in": frozenset({"400 invalid_code"}),
    # Where clocks differ, the end of the account's last hold of a week can lie ahead.
    "sponsor: reserve": frozenset({"409 slot_unavailable", "409 idempotency_conflict", "409 hold_limit"}),
    "sponsor: check out": frozenset({"409 invalid_state"}),
    "sponsor: cancel": frozenset({"409 invalid_state"}),
    "customer: reserve": frozenset({"409 slot_unavailable", "409 idempotency_conflict", "409 hold_limit"}),
    "customer: check out": frozenset({"409 invalid_state"}),
    # Requested before its answer was lost, not paid in time, or decided meanwhile.
    "customer: request a refund": frozenset({"409 invalid_state"}),
    "administrator: decline a refund": frozenset({"409 invalid_state"}),
    "administrator: refund": frozenset({"409 invalid_state"}),
    "administrator: review an edit": frozenset({"409 invalid_state"}),
    "person: poll a device": frozenset({"400 authorization_pending", "400 slow_down", "400 expired_token"}),
    "person: approve a device": frozenset({"409 invalid_state"}),
}
"""Other allowed outcomes, by client and request."""

Place = TypeVar("Place", bound=tuple[Any, ...])

HELD = frozenset({"reserved", "checkout", "paid"})
"""One that is refunding may have lost its weeks before it was paid."""
PAID = frozenset({"paid", "refunding", "refunded"})


@dataclass(slots=True)
class Verdict:
    """Broken promises, and delays that the service did not cause."""

    found: list[str] = field(default_factory=list)
    frozen: int = 0
    starved: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """The lines of the judge of histories."""


def judge(
    answers: Answers,
    happened: Happened,
    after: Stored,
    hasher: VisitorHasher,
    days: Collection[int],
    clients: Collection[str] = (),
) -> Verdict:
    """Return all broken promises that no history shows. `days` are the days of the run; `clients` must have been served."""
    verdict = Verdict()
    verdict.found += _faults(happened)
    for fault in happened.faults:
        _healed(fault, happened, verdict)
    for request in answers.notable:
        _answered(request, happened, verdict)
    verdict.found += _outcomes(answers, clients)
    verdict.found += [f"no answer at the end: {each}" for each in answers.unanswered]
    verdict.found += _claims(answers)
    verdict.found += _bookings(answers, after)
    verdict.found += broken_notifications(answers, after)
    verdict.found += broken_counts(answers, after, hasher, days)
    verdict.found += [f"node {node} ended with {code}" for node, code in happened.exits if code != 0]
    verdict.found += [f"a bug in a log: {each}" for each in happened.complaints]
    return verdict


# Faults and times.


def _faults(happened: Happened) -> Iterator[str]:
    made: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    for fault in happened.faults:
        made[fault.kind] += 1
        hit[fault.kind] += fault.hit
    for kind, planned in happened.planned.items():
        if made[kind] < planned:
            yield f"{kind}: planned {planned} times, made {made[kind]} times"
        if not hit[kind]:
            yield f"{kind}: was planned but had no effect"
    for kind in made.keys() - happened.planned.keys():
        yield f"{kind}: was not planned"


def _healed(fault: Made, happened: Happened, verdict: Verdict) -> None:
    if not fault.healed_seconds:
        verdict.found.append(f"{fault.kind}: recovery was not checked")
    for node, seconds in enumerate(fault.healed_seconds):
        starved = _starved(node, fault.ended, fault.ended + seconds, happened)
        words = f"{fault.kind}: node {node} recovered after {seconds:.2f} s, {starved:.2f} s of it without a full core"
        if seconds - starved > HEALED_SECONDS:
            verdict.found.append(words)
        elif seconds > HEALED_SECONDS:
            verdict.starved.append(words)


def _answered(request: Request, happened: Happened, verdict: Verdict) -> None:
    """Check that there was an answer, in time. Time without a full core is not the service's fault."""
    node, began, ended = request.node, request.began, request.ended
    if request.outcome == LOST and not any(
        down.overlap(began, ended) > 0 for down in happened.down if down.node == node
    ):
        verdict.found.append(f"no answer from a node that was up: {request}")
    late = request.seconds - sum(span.overlap(began, ended) for span in happened.frozen if span.node == node)
    if request.seconds <= ANSWER_SECONDS:
        return
    if late <= ANSWER_SECONDS:
        verdict.frozen += 1
        return
    starved = _starved(node, began, ended, happened)
    if late - starved <= ANSWER_SECONDS:
        verdict.starved.append(f"{request}, {starved:.2f} s of it without a full core")
    else:
        verdict.found.append(f"a late answer: {request}, {starved:.2f} s of it without a full core")


def _starved(node: int, began: float, ended: float, happened: Happened) -> float:
    """Return for how many of these seconds the node, or the clients with their proxy, had no full core."""
    return min(ended - began, happened.waits[node].between(began, ended)) if node in happened.waits else 0.0


def _outcomes(answers: Answers, clients: Collection[str]) -> Iterator[str]:
    for asked, outcomes in sorted(answers.outcomes.items()):
        for outcome in sorted(outcomes.keys() - FINE - ALSO_FINE.get(asked, frozenset())):
            yield f"{asked}: {outcomes[outcome]} times {outcome}"
    for client in sorted(clients):
        asked_for = [outcomes for asked, outcomes in answers.outcomes.items() if asked.startswith(f"{client}: ")]
        if not asked_for or not all(outcomes["200"] for outcomes in asked_for):
            yield f"{client}: some request never got a 200"


# Claims and bookings.


def _claims(answers: Answers) -> Iterator[str]:
    """A claimed key belongs to its email, and no other key to any."""
    for text, key in answers.keys.items():
        name = f"the key {text[:12]}..."
        if key.claimed and key.owner != key.email:
            yield f"{name} was claimed by {key.email} but belongs to {key.owner or None}"
        if not key.email and key.owner:
            yield f"{name} was never claimed but belongs to {key.owner}"


def _bookings(answers: Answers, after: Stored) -> Iterator[str]:
    wished = {(wish.account, wish.idempotency_key) for wish in answers.wishes}
    for account, key, booking in after.booking_keys:
        if (account, key) not in wished:
            yield f"{booking} is stored under a key that was never sent"
    named = {booking for _, _, booking in after.booking_keys}
    yield from (f"{each} is stored under no key" for each in sorted(after.bookings.keys() - named))
    for each in sorted(answers.paid):
        status = after.bookings[each].status if each in after.bookings else "not stored"
        if status not in PAID:
            yield f"{each} was paid but is {status}"
    yield from _weeks(after)


def _weeks(after: Stored) -> Iterator[str]:
    """The table of weeks has those of the bookings that hold some, and no others."""
    table = {(slot, week): booking for slot, week, booking in after.slot_weeks}
    for booking in after.bookings.values():
        for number in range(booking.weeks if booking.status in HELD else 0):
            week = booking.week_ms + number * WEEK_MS
            if table.get((booking.slot, week)) != booking.id:
                yield f"the week {week} of {booking.slot} is booked by {booking.id} but is not in the table"


# Events.


def broken_counts(
    answers: Answers, after: Stored, hasher: VisitorHasher, days: Collection[int], before: Stored | None = None
) -> Iterator[str]:
    """Every row was sent, and counts are the sums of rows, besides those that were there before."""
    keys = _keys_of(answers, after, hasher, days)
    strangers = after.rows.keys() - keys.keys()
    if strangers:
        yield f"{len(strangers)} rows match no event that was sent"
    for key, (event, day) in keys.items():
        row = after.rows.get(key)
        if row is not None and row != (event.booking_id, day, event.kind):
            yield f"a row of {event} says {row}"
    before = before or Stored()
    yield from _differences(after.counts, before.counts, Counter(after.rows.values()))
    by_site = Counter(
        (*after.rows[key], answers.events[event]) for key, (event, _) in keys.items() if key in after.rows
    )
    yield from _differences(after.site_counts, before.site_counts, by_site)


def _keys_of(
    answers: Answers, after: Stored, hasher: VisitorHasher, days: Collection[int]
) -> dict[bytes, tuple[Event, int]]:
    """The keys that events may count under, with the event and the day. Without its secret, a day has no events by day."""
    hasher.learn(after.secrets, first_day=0)
    keys: dict[bytes, tuple[Event, int]] = {}
    for event in answers.events:
        unit = unit_of(event)
        if unit is Unit.DEVICE or answers.unit_ignored:
            keys |= {hasher.key(day, by_device(event)): (event, day) for day in days}
        if unit is Unit.DAY:
            keys |= {hasher.key(day, event, unit): (event, day) for day in days if day in after.secrets}
    return keys


def _differences(after: Counter[Place], before: Counter[Place], rows: Counter[Place]) -> Iterator[str]:
    counted = Counter(after)
    counted.subtract(before)
    for place in sorted(counted.keys() | rows.keys()):
        if counted[place] != rows[place]:
            yield f"{place}: {counted[place]} counted, {rows[place]} stored"
