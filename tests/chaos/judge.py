"""The judge: compares the answers with what is stored, and describes every broken promise. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from actors.bookings.records import BookingStatus
from actors.bookings.transitions import BOOKING_MOVES
from actors.events.messages import Event, Unit
from actors.events.state import VisitorHasher
from tests.chaos.history import LOST, Answers, Happened, Made, Request, Stored, Wish
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

HELD = frozenset({"reserved", "checkout", "paid", "refunding"})


def _reachable() -> Mapping[str, frozenset[str]]:
    """The possible later statuses of a booking, by its status."""
    reached = {str(status): {str(status)} for status in BookingStatus}
    for _ in BookingStatus:
        for status, moves in BOOKING_MOVES.items():
            for after in moves.values():
                reached[str(status)] |= reached[str(after)]
    return {status: frozenset(after) for status, after in reached.items()}


REACHABLE = _reachable()


@dataclass(slots=True)
class Verdict:
    """Broken promises, and delays that the service did not cause."""

    found: list[str] = field(default_factory=list)
    frozen: int = 0
    starved: list[str] = field(default_factory=list)
    unanswered: int = 0
    """Stored rows that no answer reported: their answers were lost, or 503."""


def judge(
    answers: Answers,
    happened: Happened,
    before: Stored,
    after: Stored,
    hasher: VisitorHasher,
    days: Collection[int],
    clients: Collection[str] = (),
) -> Verdict:
    """Return all broken promises. `days` are the days of the run; `clients` must have been served."""
    verdict = Verdict()
    verdict.found += _faults(happened)
    for fault in happened.faults:
        _healed(fault, happened, verdict)
    for request in answers.notable:
        _answered(request, happened, verdict)
    verdict.found += _outcomes(answers, clients)
    verdict.found += _keys(answers, after)
    verdict.found += _sessions(answers, after)
    verdict.found += _bookings(answers, before, after)
    verdict.found += broken_notifications(answers, before, after)
    verdict.found += broken_counts(answers, before, after, hasher, days)
    verdict.found += [f"node {node} ended with {code}" for node, code in happened.exits if code != 0]
    verdict.found += [f"a bug in a log: {each}" for each in happened.complaints]
    answered = answers.recorded.keys() | answers.duplicates
    verdict.unanswered = len(after.rows.keys() - _keys_of(answered, answers, after, hasher, days).keys())
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
        words = f"{fault.kind}: node {node} recovered after {seconds:.2f} s, {starved:.2f} s of it without a core"
        if seconds - starved > HEALED_SECONDS:
            verdict.found.append(words)
        elif seconds > HEALED_SECONDS:
            verdict.starved.append(words)


def _answered(request: Request, happened: Happened, verdict: Verdict) -> None:
    """Check that there was an answer, in time. Time without a core is not the service's fault."""
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
        verdict.starved.append(f"{request}, {starved:.2f} s of it without a core")
    else:
        verdict.found.append(f"a late answer: {request}, {starved:.2f} s of it without a core")


def _starved(node: int, began: float, ended: float, happened: Happened) -> float:
    """Return for how many of these seconds the node, or the clients with their proxy, had no core."""
    return min(ended - began, happened.waits[node].between(began, ended)) if node in happened.waits else 0.0


def _outcomes(answers: Answers, clients: Collection[str]) -> Iterator[str]:
    for asked, outcomes in sorted(answers.outcomes.items()):
        for outcome in sorted(outcomes.keys() - FINE - ALSO_FINE.get(asked, frozenset())):
            yield f"{asked}: {outcomes[outcome]} times {outcome}"
    for client in sorted(clients):
        asked_for = [outcomes for asked, outcomes in answers.outcomes.items() if asked.startswith(f"{client}: ")]
        if not asked_for or not all(outcomes["200"] for outcomes in asked_for):
            yield f"{client}: some request never got a 200"


# Keys and sessions.


def _keys(answers: Answers, after: Stored) -> Iterator[str]:
    for text, key in answers.keys.items():
        name = f"the key {text[:12]}..."
        works = after.works.get(text, "unknown")
        if works != "200":
            yield f"{name} was answered but is now {works}"
        if text not in after.used:
            yield f"{name} was answered but is not stored"
            continue
        if not key.answered <= after.used[text] <= key.sent:
            yield f"{name}: {key.answered} answered, {after.used[text]} counted, {key.sent} sent"
        if key.claimed and after.emails.get(text) != key.email:
            yield f"{name} was claimed by {key.email} but belongs to {after.emails.get(text)}"
        if not key.email and text in after.emails:
            yield f"{name} was never claimed but belongs to {after.emails[text]}"


def _sessions(answers: Answers, after: Stored) -> Iterator[str]:
    for token, email in answers.sessions.items():
        works = after.works.get(token, "unknown")
        if works != "200":
            yield f"a session of {email} was given but is now {works}"


# Bookings.


def _bookings(answers: Answers, before: Stored, after: Stored) -> Iterator[str]:
    yield from _wishes(answers, after)
    wished = {(wish.account, wish.idempotency_key): wish for wish in answers.wishes}
    for account, key, booking in after.booking_keys:
        if (account, key) not in wished and booking not in before.bookings:
            yield f"{booking} is stored under a key that was never sent"
    named = {booking for _, _, booking in after.booking_keys}
    yield from (
        f"{each} is stored under no key" for each in sorted(after.bookings.keys() - before.bookings.keys() - named)
    )
    for answered in answers.statuses:
        stored = after.bookings.get(answered.booking)
        if stored is None:
            yield f"{answered.booking} was {answered.status} but is not stored"
        elif stored.status not in REACHABLE[answered.status]:
            yield f"{answered.booking} was {answered.status} but is {stored.status}"
    yield from _weeks(after)


def _wishes(answers: Answers, after: Stored) -> Iterator[str]:
    outcomes: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for wish, bookings in answers.booked.items():
        outcomes[wish.account, wish.idempotency_key] |= bookings
        for booking in sorted(bookings):
            stored = after.bookings.get(booking)
            if stored is None:
                yield f"{booking} was answered but is not stored"
            elif Wish(stored.account, wish.idempotency_key, stored.campaign, stored.slot, stored.week_ms) != wish:
                yield f"{booking} is not what {wish} asked for"
    stored_under = {(account, key): booking for account, key, booking in after.booking_keys}
    for place, bookings in outcomes.items():
        if len(bookings) > 1:
            yield f"the idempotency key {place[1]} has {len(bookings)} outcomes"
        if bookings and stored_under.get(place) not in bookings:
            yield f"the idempotency key {place[1]} was answered with another booking than the stored one"


def _weeks(after: Stored) -> Iterator[str]:
    """No week of a slot is sold twice, in the table of weeks or by the bookings, and both agree."""
    table = Counter((slot, week) for slot, week, _ in after.slot_weeks)
    booked = Counter(
        (booking.slot, booking.week_ms + number * 7 * 86_400_000)
        for booking in after.bookings.values()
        if booking.status in HELD
        for number in range(booking.weeks)
    )
    for name, counts in (("table", table), ("bookings", booked)):
        for (slot, week), times in counts.items():
            if times > 1:
                yield f"the week {week} of {slot} is sold {times} times, according to the {name}"
    for slot, week in sorted(booked.keys() - table.keys()):
        yield f"the week {week} of {slot} is booked but free"


# Events.


def broken_counts(
    answers: Answers, before: Stored, after: Stored, hasher: VisitorHasher, days: Collection[int]
) -> Iterator[str]:
    """Every row was sent, every recorded event has its row, and counts are the sums of rows."""
    if before.rows:
        yield f"{len(before.rows)} rows existed before the run"
    keys = _keys_of(answers.events, answers, after, hasher, days)
    most = Counter(event for event, _ in keys.values())
    strangers = after.rows.keys() - keys.keys()
    if strangers:
        yield f"{len(strangers)} rows match no event that was sent"
    times_stored = Counter(keys[key][0] for key in after.rows if key in keys)
    for event, times in answers.recorded.items():
        if times > most[event]:
            yield f"recorded: true was answered {times} times for {event}"
        if times_stored[event] < times:
            yield f"recorded: true was answered {times} times, but {times_stored[event]} are stored, for {event}"
    yield from (f"a duplicate of nothing: {event}" for event in answers.duplicates if not times_stored[event])
    for key, (event, day) in keys.items():
        row = after.rows.get(key)
        if row is not None and row != (event.booking_id, day, event.kind):
            yield f"a row of {event} says {row}"
    yield from _differences(after.counts, before.counts, Counter(after.rows.values()))
    by_site = Counter(
        (*after.rows[key], answers.events[event]) for key, (event, _) in keys.items() if key in after.rows
    )
    yield from _differences(after.site_counts, before.site_counts, by_site)


def _keys_of(
    events: Iterable[Event], answers: Answers, after: Stored, hasher: VisitorHasher, days: Collection[int]
) -> dict[bytes, tuple[Event, int]]:
    """The keys that events may count under, with the event and the day. Without its secret, a day has no events by day."""
    hasher.learn(after.secrets, first_day=0)
    keys: dict[bytes, tuple[Event, int]] = {}
    for event in events:
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
