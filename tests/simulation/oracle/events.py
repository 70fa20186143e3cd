"""Events: every answer was true, every row has its event, and no event has two rows on one day.

The clock of the recording node at the start of its batch determines the day. Nodes whose clocks differ may record one event
on two days around midnight, once on each. All order is by ticks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from actors.clock import DAY_MS, day_of
from actors.events.messages import Event, Unit
from tests.simulation.history import Handed, Heard, Nothing, Operation, Post
from tests.simulation.oracle.case import Case
from tests.simulation.oracle.counts import counts_are_sums_of_rows, stored_until_ms
from tests.simulation.oracle.tally import Stored
from tests.simulation.rules import AHEAD_DAYS, EVENTS_PER_BOOKING, EVENTS_PER_MINUTE, SECRET

LIVE = ("recorded", "duplicate")
"""Outcomes of events that reach a deduper."""


@dataclass(slots=True, eq=False)
class Rows:
    """Rows by event, and the intents of dedupers by event and by request."""

    of_event: dict[Event, list[Stored]] = field(default_factory=dict)
    nameless: list[Stored] = field(default_factory=list)
    handed: dict[Event, list[Operation]] = field(default_factory=dict)
    requests: dict[str, list[Operation]] = field(default_factory=dict)
    visibility: Any = None
    """The times at which placements were live, once a check has asked for them."""


def rows_of(case: Case) -> Rows:
    """Match rows with events by the hash of the world's own hasher. Other checks show whether the hashes are good."""
    found = Rows()
    for operation in case.of("record"):
        about: Handed = operation.about
        found.requests.setdefault(about.request, []).append(operation)
        for event in dict.fromkeys(about.events):
            found.handed.setdefault(event, []).append(operation)
    hasher, days = case.world.parts.hasher(SECRET), _days(case)
    hasher.learn(case.world.tally.secrets, 0)
    names: dict[bytes, list[tuple[int, Event]]] = {}
    for event in found.handed:
        unit = unit_of(event)
        for day in days if unit is Unit.DEVICE else case.world.tally.secrets:
            names.setdefault(hasher.key(day, event, unit), []).append((day, event))
    for stored in case.world.tally.stored:
        for day, event in names.get(stored.row.key, []):
            row = stored.row
            if (event.booking_id, event.kind) == (row.booking_id, row.kind) and day == counted_day(case, stored):
                found.of_event.setdefault(event, []).append(stored)
                break
        else:
            found.nameless.append(stored)
    return found


def unit_of(event: Event) -> Unit:
    return Unit.DAY if "\n" in event.visitor else Unit.DEVICE


def _days(case: Case) -> list[int]:
    """Return all days that any node's clock may have been in."""
    spans = [node.clock.span(0.0, 120.0) for node in case.world.nodes]
    first_ms, last_ms = min(first for first, _ in spans), max(last for _, last in spans)
    return list(range(day_of(first_ms), day_of(last_ms) + 1))


def _at(case: Case, node: str, seconds: float) -> int:
    return day_of(case.now_ms(node, seconds))


def counted_day(case: Case, stored: Stored) -> int:
    """Return the day on which a row must count."""
    return _at(case, stored.node, stored.began.seconds)


def answers(operation: Operation, event: Event) -> list[bool]:
    """Return the answers for an event, an empty list if there were none."""
    if not isinstance(operation.result, list):
        return []
    return [answer for each, answer in zip(operation.about.events, operation.result, strict=True) if each == event]


# Rows and answers.


def every_row_is_of_an_event_that_was_asked_for(case: Case, rows: Rows) -> Iterator[str]:
    for stored in rows.nameless:
        yield f"{stored.row} of the day {stored.day} matches no event of the day {counted_day(case, stored)}: {stored}"
    for event, found in rows.of_event.items():
        for stored in found:
            if stored.day != counted_day(case, stored):
                yield f"{event} was stored in the day {stored.day} by a batch that began in {counted_day(case, stored)}"
            if not any(_may_have_stored(each, stored) for each in rows.handed[event]):
                yield f"{event} was stored at {stored.tick} by {stored.node}, which was not asked or had rejected it"


def _may_have_stored(operation: Operation, stored: Stored) -> bool:
    """Return whether an intent may be in the batch: it came before the batch began, and was not given up before.

    A message rejected on arrival leaves no row. An abandoned one leaves none either, unless it was in flight.
    """
    if operation.node != stored.node or operation.began > stored.began.tick or isinstance(operation.result, Nothing):
        return False
    return operation.ended > (stored.tick if isinstance(operation.result, list) else stored.began.tick)


def an_event_has_one_row_on_a_day(case: Case, rows: Rows) -> Iterator[str]:
    for event, found in rows.of_event.items():
        days = [counted_day(case, stored) for stored in found]
        if len(set(days)) < len(days):
            yield f"{event} was stored more than once: {found}"


def recorded_is_answered_once_and_by_who_recorded_it(case: Case, rows: Rows) -> Iterator[str]:
    """Each True has its own row, stored during its intent. Each row has its True, or an intent without an answer."""
    for event, operations in rows.handed.items():
        answered = [operation for operation in operations for answer in answers(operation, event) if answer]
        silent = [operation for operation in operations if operation.unknown]
        # Assign first the rows that need a True; they keep it below.
        found = sorted(
            rows.of_event.get(event, []), key=lambda stored: any(_may_have_stored(each, stored) for each in silent)
        )
        sender_of: dict[int, Stored] = {}
        for stored in found:
            found_sender = _assign(stored, answered, sender_of, set())
            if not found_sender and not any(_may_have_stored(each, stored) for each in silent):
                yield f"{event} was stored at {stored.tick} by {stored.node}, but no sender got that answer"
        for place, operation in enumerate(answered):
            if place not in sender_of:
                yield f"{operation.node} answered at {operation.ended} that it recorded {event}: {found}"


def _assign(stored: Stored, answered: Sequence[Operation], sender_of: dict[int, Stored], tried: set[int]) -> bool:
    """Find a True for a row, if necessary by reassigning the row that has it (augmenting paths)."""
    for place, operation in enumerate(answered):
        if place not in tried and _may_have_stored(operation, stored):
            tried.add(place)
            if place not in sender_of or _assign(sender_of[place], answered, sender_of, tried):
                sender_of[place] = stored
                return True
    return False


def duplicates_were_there_before(case: Case, rows: Rows) -> Iterator[str]:
    for event, operations in rows.handed.items():
        for operation in operations:
            if False not in answers(operation, event):
                continue
            first, last = (day_of(now_ms) for now_ms in case.span_ms(operation))
            if not any(
                stored.tick < operation.ended and first <= counted_day(case, stored) <= last
                for stored in rows.of_event.get(event, [])
            ):
                yield f"{operation.node} answered at {operation.ended} that {event} is a duplicate, but there is no row"


def rows_stay(case: Case, rows: Rows) -> Iterator[str]:
    for stored in case.world.tally.stored:
        if stored.day not in case.world.tally.dropped and stored.row.key not in case.memory.events.get(stored.day, {}):
            yield f"{stored.row} of the day {stored.day} is missing"
    yield from counts_are_sums_of_rows(case.world, "in the end")


def partitions_are_ahead_and_not_behind(case: Case, rows: Rows) -> Iterator[str]:
    """Partitions are made ahead and dropped in time: each node sweeps at its start and often afterwards."""
    there, rules = case.memory.events, case.world.event_rules
    now_ms = [case.now_ms(node.name, case.world.ended_at - 1.0) for node in case.world.nodes]
    for day in range(max(now_ms) // DAY_MS, max(now_ms) // DAY_MS + AHEAD_DAYS + 1):
        if day not in there:
            yield f"the day {day} has no partition on day {max(now_ms) // DAY_MS}"
    for day in there:
        if stored_until_ms(day, rules.keep_days) <= max(now_ms):
            yield f"the day {day} still has a partition"


# Answers to websites.


def websites_get_the_outcomes_of_their_events(case: Case, rows: Rows) -> Iterator[str]:
    for operation in case.of("report"):
        post, heard = operation.about.post, operation.result
        asked = rows.requests.get(operation.about.request, [])
        if not isinstance(heard, Heard):
            continue
        if heard.status == 200:
            yield from _outcomes_are_true(operation, post, heard, asked)
        elif heard.status < 500 and asked:
            yield f"{post} was answered {heard.status}, and {len(asked)} dedupers were asked"
        if heard.status not in (200, 400, 404, 429, 503, 500):
            yield f"{post} was answered {heard.status}"
        if heard.status == 500 and not case.world.faults.hits["crash"]:
            yield f"{post} was answered 500, but nothing had failed"


def _outcomes_are_true(operation: Operation, post: Post, heard: Heard, asked: Sequence[Operation]) -> Iterator[str]:
    """Compare the answers of dedupers, in order, with the outcomes of those events that were not dropped before."""
    if len(heard.outcomes) != len(post.events):
        yield f"{post} has {len(post.events)} events and {len(heard.outcomes)} answers"
        return
    for event in dict.fromkeys(post.named):
        outcomes = [
            outcome
            for each, outcome in zip(post.named, heard.outcomes, strict=True)
            if each == event and outcome in LIVE
        ]
        answered = ["recorded" if answer else "duplicate" for each in asked for answer in answers(each, event)]
        if outcomes != answered:
            yield f"{operation.about.request} got {outcomes} for {event}; the dedupers had answered {answered}"
    machine = {"crawler"} if "Bot" in post.agent else {"prefetch"} if post.purpose else None
    if machine is not None and not machine >= set(heard.outcomes):
        yield f"{post} was answered {heard.outcomes}"
    if machine is None and {"crawler", "prefetch"} & set(heard.outcomes):
        yield f"{post} was mistaken for a crawler or prefetch: {heard.outcomes}"


def refusals_of_posts_had_a_reason(case: Case, rows: Rows) -> Iterator[str]:
    """400 and 404 require an invalid body, or a booking that did not exist at some moment; 429 too many events."""
    asked_for: dict[tuple[str, str], int] = {}
    for operation in case.of("report"):
        post, heard = operation.about.post, operation.result
        place = (operation.node, post.client)
        asked_for[place] = asked_for.get(place, 0) + len(post.events)
        if not isinstance(heard, Heard):
            continue
        unknown = [each for each in post.events if _may_be_unknown(case, operation, each.booking_id)]
        good = {
            200: post.spoilt is None
            and not post.forged
            and not [each for each in unknown if _must_be_unknown(case, operation, each.booking_id)],
            400: post.spoilt is not None or post.forged or (post.batch and bool(unknown)),
            404: not post.batch and post.spoilt is None and bool(unknown),
            429: not post.client.startswith("127.") and asked_for[place] > EVENTS_PER_MINUTE,
        }
        if not good.get(heard.status, True):
            yield f"{post} was answered {heard} at {operation.start:.3f}; unknown: {unknown}"


def an_address_adds_to_a_booking_as_much_as_it_may(case: Case, rows: Rows) -> Iterator[str]:
    """Recorded answers never exceed the cap of an address, and a capped one needs a cap that others may have used up.

    A run is shorter than the hour of the cap. Relays are exempt.
    """
    posts = [each for each in case.of("report") if not each.about.post.client.startswith("127.")]
    places: dict[tuple[str, str, str], list[Operation]] = {}
    for operation in posts:
        for booking_id in dict.fromkeys(event.booking_id for event in operation.about.post.events):
            places.setdefault((operation.node, operation.about.post.client, booking_id), []).append(operation)
    for place, operations in places.items():
        recorded = sum(_outcomes_for(place[2], each).count("recorded") for each in operations)
        if recorded > EVENTS_PER_BOOKING:
            yield f"{place} had {recorded} events recorded"
        for operation in operations:
            if "capped" in _outcomes_for(place[2], operation):
                others = sum(_may_hold(place[2], each, operation) for each in operations)
                if others < EVENTS_PER_BOOKING:
                    yield f"{place} was capped after {others} events: {operation}"


def _outcomes_for(booking_id: str, operation: Operation) -> list[str]:
    if not isinstance(operation.result, Heard):
        return []
    pairs = zip(operation.about.post.events, operation.result.outcomes, strict=False)
    return [outcome for event, outcome in pairs if event.booking_id == booking_id]


def _may_hold(booking_id: str, operation: Operation, capped: Operation) -> int:
    """Return how many events of a request may have been counted when another one was capped."""
    if operation.began > capped.ended:
        return 0
    outcomes = _outcomes_for(booking_id, operation)
    if outcomes and operation.ended < capped.began:
        return outcomes.count("recorded")
    events = [event for event in operation.about.post.events if event.booking_id == booking_id]
    return len(events) - outcomes.count("capped")


def _may_be_unknown(case: Case, operation: Operation, booking_id: str) -> bool:
    since = case.world.log.since("bookings", booking_id)
    return since is None or since > operation.began


def _must_be_unknown(case: Case, operation: Operation, booking_id: str) -> bool:
    since = case.world.log.since("bookings", booking_id)
    return since is None or since > operation.ended
