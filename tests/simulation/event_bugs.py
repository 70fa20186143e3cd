"""Bugs to plant in the deduper and what is around it, one at a time: see `key_bugs`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import trio

from actors.bookings.records import BookingView
from actors.clock import DAY_MS, day_of
from actors.events import actor as deduper
from actors.events import partitions
from actors.events.actor import EventDeduper
from actors.events.messages import Event, Kind, Record, Row, Window
from actors.events.router import EventOutcome
from actors.events.state import EventRules, VisitorHasher, days_to_keep, rows_of
from actors.events.windows import WindowReader
from actors.kernel.mailbox import Mailbox
from actors.values import BatchId, Contended, OutcomeUnknown, Refused, StorageUnavailable
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call
from service.api.operations import events
from service.api.rate_limits import Budgets
from storage.events.divided_batches import Elsewhere
from tests.simulation.faults import Link, LinkedEvents, LinkedSponsorship, SimulatedBug
from tests.simulation.intake import CountedPlacements, handled
from tests.simulation.planting import Bug, Plant, replaced, swapped
from tests.simulation.rules import Scene


def _bug(sentence: str, plant: Plant) -> Bug:
    return Bug(sentence, plant, Scene.WEBSITES)


# The store.


class _EagerStore(LinkedEvents):
    """Answers from a snapshot and commits in the background."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        link, commit = self._memory, super().record
        assert isinstance(link, Link)

        async def later() -> None:
            with suppress(StorageUnavailable, Contended, OutcomeUnknown, SimulatedBug, Elsewhere):
                await commit(batch_id, day, rows)

        link.node.server.start_soon(later)
        await trio.lowlevel.checkpoint()
        kept = link.events.get(day, {})
        return [row.key for row in rows if row.key not in kept]


class _RepeatingStore(LinkedEvents):
    """Reports every row as new, even if it was already there."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        await super().record(batch_id, day, rows)
        return [row.key for row in rows]


class _UncountedStore(LinkedEvents):
    """Creates the counts of a day but never increments them."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        before = dict(self._memory.delivery_days)
        added = await super().record(batch_id, day, rows)
        self._memory.delivery_days.update(before)
        return added


class _CountingStore(LinkedEvents):
    """Increments the counts apart from the rows, each time a batch runs."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        again = (batch_id.owner, batch_id.seq) in getattr(self, "_seen", set())
        self._seen = {*getattr(self, "_seen", set()), (batch_id.owner, batch_id.seq)}
        added = await super().record(batch_id, day, rows)
        for row in rows if again else ():
            if row.key in added:
                impressions, clicks = self._memory.delivery_days[row.booking_id, day]
                click = row.kind is Kind.CLICK
                self._memory.delivery_days[row.booking_id, day] = (impressions + (not click), clicks + click)
        return added


class _RecountingStore(LinkedEvents):
    """Counts a batch by website each time it runs, apart from its rows."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        seen: set[tuple[str, int]] = self.__dict__.setdefault("_seen", set())
        again = (batch_id.owner, batch_id.seq) in seen
        seen.add((batch_id.owner, batch_id.seq))
        added = await super().record(batch_id, day, rows)
        for row in rows if again else ():
            place = row.booking_id, day, row.site
            if row.key in added and place in self._memory.site_days:
                impressions, clicks = self._memory.site_days[place]
                self._memory.site_days[place] = impressions + 1, clicks
        return added


def _of_the_first(messages: Sequence[Record]) -> Iterable[int | None]:
    """The website of the first message, for all events of a batch."""
    return [messages[0].site for message in messages for _ in message.events]


def _unsorted(events: Iterable[Event], keys: Iterable[bytes], sites: Iterable[int | None]) -> list[Row]:
    return list(reversed(_rows_of(events, keys, sites)))


_rows_of = rows_of


# The deduper.


class _HastyMemory(EventDeduper):
    """Remembers the keys of a batch when it begins."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        for message in messages:
            self.seen.add(list(dict.fromkeys(message.keys)))
        return await super().commit(batch_id, messages)


class _StubbornMemory(EventDeduper):
    """Remembers the keys of a batch even if it failed."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        try:
            return await super().commit(batch_id, messages)
        except StorageUnavailable:
            for message in messages:
                self.seen.add(message.keys)
            raise


class _BlindDeduper(EventDeduper):
    """Retries an unknown outcome as if it were another batch."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        try:
            return await super().commit(batch_id, messages)
        except OutcomeUnknown:
            self._again = getattr(self, "_again", 0) + 1
            node = batch_id.owner.partition("/")[0]
            return await super().commit(BatchId(f"{node}/{self._again}/{self.name}", 1), messages)


class _TodaysDeduper(EventDeduper):
    """Reads its clock at each attempt."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        self._days.clear()
        return await super().commit(batch_id, messages)


class _TimelessDeduper(EventDeduper):
    """Reads its clock only once."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        self._days[batch_id.owner] = batch_id, self.__dict__.setdefault("_first", day_of(self._clock.now_ms()))
        return await super().commit(batch_id, messages)


class _GenerousDeduper(EventDeduper):
    """Gives all equal events of a batch the same answer."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        answers = await super().commit(batch_id, messages)
        won = {
            event
            for message, answer in zip(messages, answers, strict=True)
            for event, recorded in zip(message.events, answer, strict=True)
            if recorded
        }
        return [[event in won for event in message.events] for message in messages]


class _ReversedDeduper(EventDeduper):
    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        answers = [answer for one in await super().commit(batch_id, messages) for answer in one]
        return [[answers.pop() for _ in message.events] for message in messages]


class _ApologeticDeduper(EventDeduper):
    """Reports a row as recorded to a later sender if its first sender never received the answer."""

    def compensate(self, message: Record, answer: Sequence[bool]) -> None:
        owed = self.__dict__.setdefault("_owed", set())
        owed |= {event for event, recorded in zip(message.events, answer, strict=True) if recorded}

    async def record_keyed(self, offered: Record) -> Sequence[bool]:
        answers = await super().record_keyed(offered)
        owed = self.__dict__.get("_owed", ())
        return [answer or event in owed for event, answer in zip(offered.events, answers, strict=True)]


class _AnticipatingDeduper(EventDeduper):
    """Answers equal events of another lane's batch as duplicates before that batch has committed."""

    async def record_keyed(self, offered: Record) -> Sequence[bool]:
        under_way = self.__dict__.setdefault("_under", set())
        if all(key in under_way for key in offered.keys):
            await trio.lowlevel.checkpoint()
            return [False] * len(offered.keys)
        return await super().record_keyed(offered)

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        under_way = self.__dict__.setdefault("_under", set())
        keys = {key for message in messages for key in message.keys}
        under_way |= keys
        try:
            return await super().commit(batch_id, messages)
        finally:
            under_way -= keys


class _OneOwnerDeduper(EventDeduper):
    """Has one owner for all lanes, so the journal takes a lane's batch for committed if another lane's number is higher."""

    def _owner_of(self, lane: int) -> str:
        return self._owner

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        if batch_id.decided is None and isinstance(self._store, LinkedEvents):
            # As the store in Postgres does before its first attempt.
            batch_id.decided = [key for message in messages for key in message.keys]
        return await super().commit(batch_id, messages)


class _StealingMailbox(Mailbox[Any, Any]):
    """Leaves the first message in the queue if others are queued, so that two lanes get it."""

    async def take(self, limit: int, least: Callable[[], float] = lambda: 1) -> list[Any]:
        taken = await super().take(limit, least)
        if len(taken) > 1 and not self.closed:
            self._waiting.appendleft(taken[0])
            self.weight += taken[0].weight
            taken[0].queued = True
        return taken


class _StealingDeduper(EventDeduper):
    """A lane leaves a message of its batch in the queue, and another lane takes it again."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._mailbox = _StealingMailbox(self.limits.mailbox)


class _CrossedDeduper(EventDeduper):
    """Answers a batch with the keys that the batch of another lane added."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        answers = await super().commit(batch_id, messages)
        last: Sequence[Sequence[bool]] = self.__dict__.get("_answers", answers)
        self._answers = answers
        crossed = len(self._free_lanes) < self.limits.lanes - 1 and [len(each) for each in last] == [
            len(each) for each in answers
        ]
        return last if crossed else answers

    _answers: Sequence[Sequence[bool]]


def _not_withdrawn(mailbox: Mailbox[Any, Any], envelope: Any) -> None:
    return None


# Keys.


class _KindlessHasher(VisitorHasher):
    def keys(self, day: int, events: Sequence[Event]) -> list[bytes]:
        return super().keys(day, [event._replace(kind=Kind.IMPRESSION) for event in events])


class _SharedHasher(VisitorHasher):
    def keys(self, day: int, events: Sequence[Event]) -> list[bytes]:
        return super().keys(day, [event._replace(booking_id="") for event in events])


class _EternalHasher(VisitorHasher):
    def keys(self, day: int, events: Sequence[Event]) -> list[bytes]:
        return super().keys(0, events)


# Live placements.


class _FrozenPlacements(CountedPlacements):
    async def _is_current(self) -> bool:
        return True


class _RememberingReader(WindowReader):
    """Never asks again about a placement that was read once."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Sequence[str]]) -> Sequence[Mapping[str, Window]]:
        known: dict[str, Window] = self.__dict__.setdefault("_known", {})
        for found in await super().commit(batch_id, messages):
            known.update({booking_id: window for booking_id, window in found.items() if booking_id not in known})
        return [{each: known[each] for each in message if each in known} for message in messages]


# Requests.


async def _one_after_the_other(services: Services, call: Call) -> Answer | Refused:
    """Record the valid events of a batch, then reject the whole batch for an invalid one."""
    windows = await events._windows(services, dict.fromkeys(each.bookingId for each in call.body.events))
    good = [each for each in call.body.events if each.bookingId in windows]
    if good and len(good) < len(call.body.events):
        await events._outcomes(services, call, good, windows)
    return await events.record_events(services, call)


async def _hopeful(services: Services, call: Call) -> Answer | Refused:
    """Report events as recorded when the store did not answer."""
    try:
        return await events.record_event(services, call)
    except StorageUnavailable:
        return events.event_answer(EventOutcome.RECORDED)


def _uncapped(budgets: Budgets, address: str, booking_id: str, count: int = 1) -> int:
    return count


# Partitions and views.


def _until_midnight(now_ms: int, rules: EventRules) -> range:
    return range(day_of(now_ms), day_of(now_ms) + rules.ahead_days + 1)


def _a_day_early(now_ms: int, rules: EventRules) -> range:
    days = _days_to_keep(now_ms + DAY_MS, rules)
    return range(days.start, days.stop - 1)


_days_to_keep = days_to_keep


class _ForgottenCounts(LinkedSponsorship):
    """Views never change after the first read."""

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        view = await super().booking(tenant_id, booking_id)
        if view is None:
            return None
        link = self._memory
        assert isinstance(link, Link)
        first = link.node.__dict__.setdefault("_views", {}).setdefault(booking_id, view)
        return replace(view, impressions=first.impressions, clicks=first.clicks)


BUGS: Mapping[str, Bug] = {
    "events-answered-before-commit": _bug("Websites are answered before the commit.", swapped(event_store=_EagerStore)),
    "events-not-deduplicated": _bug("Every event counts as a new one.", swapped(event_store=_RepeatingStore)),
    "events-not-counted": _bug("Rows are stored and not counted.", swapped(event_store=_UncountedStore)),
    "events-counted-again": _bug("A retried batch is counted twice.", swapped(event_store=_CountingStore)),
    "sites-counted-again": _bug("A retried batch is counted twice by website.", swapped(event_store=_RecountingStore)),
    "site-of-another": _bug(
        "All events of a batch count for the website of the first.", replaced(deduper, "_sites_of", _of_the_first)
    ),
    "rows-not-sorted": _bug("Rows are not sorted.", replaced(deduper, "rows_of", _unsorted)),
    "remembered-before-commit": _bug("A key is remembered before its commit is known.", swapped(deduper=_HastyMemory)),
    "failed-batch-remembered": _bug("Keys of a failed batch are remembered.", swapped(deduper=_StubbornMemory)),
    "events-retried-blindly": _bug(
        "A batch with an unknown outcome is retried under a new batch id.", swapped(deduper=_BlindDeduper)
    ),
    "retried-in-the-new-day": _bug(
        "A batch that is retried after midnight has other keys.", swapped(deduper=_TodaysDeduper)
    ),
    "deduper-clock-stands-still": _bug("The deduper reads its clock once.", swapped(deduper=_TimelessDeduper)),
    "equal-events-all-recorded": _bug(
        "Equal events of one batch are all answered as recorded.", swapped(deduper=_GenerousDeduper)
    ),
    "event-answers-reversed": _bug("A batch is answered in the wrong order.", swapped(deduper=_ReversedDeduper)),
    "recorded-said-again": _bug(
        "A later sender is answered as recorded for a row whose sender gave up.",
        swapped(deduper=_ApologeticDeduper),
    ),
    "lane-trusts-uncommitted-keys": _bug(
        "A lane answers from the keys of a batch that another lane has not committed.",
        swapped(deduper=_AnticipatingDeduper),
    ),
    "lanes-share-an-owner": _bug(
        "Lanes share the owner of their batch ids, each with its own numbers.",
        swapped(deduper=_OneOwnerDeduper),
    ),
    "lane-steals-a-message": _bug("Two lanes commit the same message.", swapped(deduper=_StealingDeduper)),
    "lane-answers-of-another": _bug("A lane gives the answers of another.", swapped(deduper=_CrossedDeduper)),
    "refused-and-recorded-later": _bug(
        "An event that timed out in the mailbox is recorded later.",
        replaced(Mailbox, "withdraw", _not_withdrawn),
    ),
    "events-not-capped": _bug(
        "One address adds any number of events to a booking.", replaced(Budgets, "take_events", _uncapped)
    ),
    "key-without-kind": _bug("A click after an impression is a duplicate.", swapped(hasher=_KindlessHasher)),
    "key-without-booking": _bug("A visitor counts for one booking only.", swapped(hasher=_SharedHasher)),
    "key-without-day": _bug("A visitor counts on one day only.", swapped(hasher=_EternalHasher)),
    "inactive-not-checked": _bug(
        "Events of inactive placements are counted.", replaced(Window, "holds", lambda window, now_ms: True)
    ),
    "snapshot-never-renewed": _bug("A node never refreshes its placements.", swapped(placements=_FrozenPlacements)),
    "windows-remembered": _bug("A booking that was inactive once stays inactive.", swapped(windows=_RememberingReader)),
    "bad-batch-half-recorded": _bug(
        "The valid events of a rejected batch are recorded.",
        swapped(handlers=handled("recordEvents", _one_after_the_other)),
    ),
    "unavailable-taken-for-recorded": _bug(
        "Events are answered as recorded while the store is unavailable.",
        swapped(handlers=handled("recordEvent", _hopeful)),
    ),
    "yesterday-dropped": _bug(
        "A day's keys are dropped at its end.", replaced(partitions, "days_to_keep", _until_midnight)
    ),
    "partitions-dropped-a-day-early": _bug(
        "Keys are dropped a day before their time.", replaced(partitions, "days_to_keep", _a_day_early)
    ),
    "views-not-renewed": _bug("Views never refresh their counts.", swapped(sponsorship=_ForgottenCounts)),
}
