"""Bugs to plant in the deduper and what is around it, one at a time: see `key_bugs`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import trio

from actors.bookings.records import BookingView
from actors.clock import DAY_MS, day_of
from actors.events import actor as deduper
from actors.events import keeper
from actors.events.actor import EventDeduper
from actors.events.messages import Bucket, Event, Kind, Record, Row, Window
from actors.events.router import EventOutcome
from actors.events.state import EventRules, VisitorHasher
from actors.events.windows import WindowReader
from actors.mailbox import Mailbox
from actors.values import BatchId, Contended, OutcomeUnknown, Refused, StorageUnavailable
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call
from service.api.operations import events
from tests.simulation.faults import Link, LinkedEvents, LinkedSponsorship, SimulatedBug
from tests.simulation.intake import CountedPlacements, handled
from tests.simulation.planting import Bug, Plant, replaced, swapped
from tests.simulation.rules import Scene


def _bug(sentence: str, plant: Plant) -> Bug:
    return Bug(sentence, plant, Scene.WEBSITES)


# The store.


class _EagerStore(LinkedEvents):
    """Answers by what it sees, and commits in the background."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        link, commit = self._memory, super().record
        assert isinstance(link, Link)

        async def later() -> None:
            with suppress(StorageUnavailable, Contended, OutcomeUnknown, SimulatedBug):
                await commit(batch_id, day, rows)

        link.node.server.start_soon(later)
        await trio.lowlevel.checkpoint()
        kept = link.events.get(day, {})
        return [row.key for row in rows if row.key not in kept]


class _RepeatingStore(LinkedEvents):
    """Takes every row for a new one; what is there twice would have two keys."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        await super().record(batch_id, day, rows)
        return [row.key for row in rows]


class _UncountedStore(LinkedEvents):
    """Counts of a day begin, and do not grow."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        before = dict(self._memory.delivery_days)
        added = await super().record(batch_id, day, rows)
        self._memory.delivery_days.update(before)
        return added


class _CountingStore(LinkedEvents):
    """Counts apart from the rows, each time that a batch is run."""

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


def _unsorted(events: Iterable[Event], keys: Iterable[bytes]) -> list[Row]:
    return list(reversed(_rows_of(events, keys)))


_rows_of = deduper.rows_of


# The deduper.


class _HastyMemory(EventDeduper):
    """Remembers what is in a batch when it begins."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        for message in messages:
            self.seen.add(*message.keys)
        return await super().commit(batch_id, messages)


class _StubbornMemory(EventDeduper):
    """Remembers what was in a batch, also when it failed."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        try:
            return await super().commit(batch_id, messages)
        except StorageUnavailable:
            for message in messages:
                for key in message.keys:
                    self.seen.add(key)
            raise


class _BlindDeduper(EventDeduper):
    """Asks again after an unknown outcome as if it were another batch."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        try:
            return await super().commit(batch_id, messages)
        except OutcomeUnknown:
            self._again = getattr(self, "_again", 0) + 1
            node = batch_id.owner.partition("/")[0]
            return await super().commit(BatchId(f"{node}/{self._again}/{self.name}", 1), messages)


class _TodaysDeduper(EventDeduper):
    """Looks at its clock at each attempt."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        self._batch_id = None
        return await super().commit(batch_id, messages)


class _TimelessDeduper(EventDeduper):
    """Looks at its clock once."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        self._batch_id, self._bucket = batch_id, self.__dict__.setdefault("_first", self._bucket_now())
        return await super().commit(batch_id, messages)

    def _bucket_now(self) -> Bucket:
        return deduper.bucket_of(self._clock.now_ms(), self._rules.bucket_hours)


class _GenerousDeduper(EventDeduper):
    """Equal events of one batch are all told the same."""

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
    """Who hears nothing of what was recorded for him is told so when he comes again; and whoever else comes."""

    def undo(self, message: Record, answer: Sequence[bool]) -> None:
        owed = self.__dict__.setdefault("_owed", set())
        owed |= {event for event, recorded in zip(message.events, answer, strict=True) if recorded}

    async def record(self, events: Sequence[Event]) -> Sequence[bool]:
        answers = await super().record(events)
        owed = self.__dict__.get("_owed", ())
        return [answer or event in owed for event, answer in zip(events, answers, strict=True)]


def _not_withdrawn(mailbox: Mailbox[Any, Any], envelope: Any) -> None:
    return None


# Keys.


class _KindlessSeals(VisitorHasher):
    def key(self, bucket: Bucket, event: Event) -> bytes:
        return super().key(bucket, event._replace(kind=Kind.IMPRESSION))


class _SharedSeals(VisitorHasher):
    def key(self, bucket: Bucket, event: Event) -> bytes:
        return super().key(bucket, event._replace(booking_id=""))


class _EternalSeals(VisitorHasher):
    def key(self, bucket: Bucket, event: Event) -> bytes:
        return super().key(Bucket(0, 0), event)


# What is live.


class _FrozenPlacements(CountedPlacements):
    async def _is_current(self) -> bool:
        return True


class _RememberingReader(WindowReader):
    """What was asked about once is not asked about again."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Sequence[str]]) -> Sequence[Mapping[str, Window]]:
        known: dict[str, Window] = self.__dict__.setdefault("_known", {})
        for found in await super().commit(batch_id, messages):
            known.update({booking_id: window for booking_id, window in found.items() if booking_id not in known})
        return [{each: known[each] for each in message if each in known} for message in messages]


# Requests.


async def _one_after_the_other(services: Services, call: Call) -> Answer | Refused:
    """Keeps those that are good, and then says that one was not."""
    windows = await events._windows(services, dict.fromkeys(each.bookingId for each in call.body.events))
    good = [each for each in call.body.events if each.bookingId in windows]
    if good and len(good) < len(call.body.events):
        await events._outcomes(services, call, good, windows)
    return await events.record_events(services, call)


async def _hopeful(services: Services, call: Call) -> Answer | Refused:
    """What the store does not answer is taken for recorded."""
    try:
        return await events.record_event(services, call)
    except StorageUnavailable:
        return events.event_answer(EventOutcome.RECORDED)


# Partitions and views.


def _until_midnight(now_ms: int, rules: EventRules) -> range:
    return range(day_of(now_ms), day_of(now_ms) + rules.ahead_days + 1)


def _a_day_early(now_ms: int, rules: EventRules) -> range:
    days = _days_to_keep(now_ms + DAY_MS, rules)
    return range(days.start, days.stop - 1)


_days_to_keep = keeper.days_to_keep


class _ForgottenCounts(LinkedSponsorship):
    """Views show what they showed first."""

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        view = await super().booking(tenant_id, booking_id)
        if view is None:
            return None
        link = self._memory
        assert isinstance(link, Link)
        first = link.node.__dict__.setdefault("_views", {}).setdefault(booking_id, view)
        return replace(view, impressions=first.impressions, clicks=first.clicks)


BUGS: Mapping[str, Bug] = {
    "events-answered-before-commit": _bug(
        "Websites are answered before the batch is kept.", swapped(event_store=_EagerStore)
    ),
    "events-not-deduplicated": _bug("Every event is taken for a new one.", swapped(event_store=_RepeatingStore)),
    "events-not-counted": _bug("Rows are kept, and the counts stay.", swapped(event_store=_UncountedStore)),
    "events-counted-again": _bug("A batch that is run again is counted again.", swapped(event_store=_CountingStore)),
    "rows-not-sorted": _bug("Rows come as they came in.", replaced(deduper, "rows_of", _unsorted)),
    "remembered-before-commit": _bug(
        "A key is remembered before it is known to be committed.", swapped(deduper=_HastyMemory)
    ),
    "failed-batch-remembered": _bug("Keys of a batch that failed are remembered.", swapped(deduper=_StubbornMemory)),
    "events-retried-blindly": _bug(
        "A batch whose outcome was unknown is kept under another turn.", swapped(deduper=_BlindDeduper)
    ),
    "retried-in-the-new-day": _bug(
        "A batch that is run again after midnight has other keys.", swapped(deduper=_TodaysDeduper)
    ),
    "deduper-clock-stands-still": _bug("The deduper reads its clock once.", swapped(deduper=_TimelessDeduper)),
    "equal-events-all-recorded": _bug(
        "Equal events of one batch are each said to be recorded.", swapped(deduper=_GenerousDeduper)
    ),
    "event-answers-reversed": _bug("A batch is answered in the wrong order.", swapped(deduper=_ReversedDeduper)),
    "recorded-said-again": _bug(
        "What was recorded for somebody who had given up is said to be recorded to who asks again.",
        swapped(deduper=_ApologeticDeduper),
    ),
    "refused-and-recorded-later": _bug(
        "An event that was refused for lateness is taken up all the same.",
        replaced(Mailbox, "withdraw", _not_withdrawn),
    ),
    "key-without-kind": _bug("A click after an impression is a duplicate.", swapped(seals=_KindlessSeals)),
    "key-without-booking": _bug("A visitor counts for one booking only.", swapped(seals=_SharedSeals)),
    "key-without-day": _bug("A visitor counts on one day only.", swapped(seals=_EternalSeals)),
    "inactive-not-checked": _bug(
        "What is not shown is counted.", replaced(Window, "holds", lambda window, now_ms: True)
    ),
    "picture-never-renewed": _bug("A node shows for ever what it showed first.", swapped(placements=_FrozenPlacements)),
    "windows-remembered": _bug(
        "A booking that was not shown once is never shown.", swapped(windows=_RememberingReader)
    ),
    "bad-batch-half-recorded": _bug(
        "Of a batch with a bad event the good ones are recorded.",
        swapped(handlers=handled("recordEvents", _one_after_the_other)),
    ),
    "unavailable-taken-for-recorded": _bug(
        "What the store does not answer is said to be recorded.", swapped(handlers=handled("recordEvent", _hopeful))
    ),
    "yesterday-dropped": _bug(
        "A day's keys are dropped at its end.", replaced(keeper, "days_to_keep", _until_midnight)
    ),
    "partitions-dropped-a-day-early": _bug(
        "Keys are dropped a day before their time.", replaced(keeper, "days_to_keep", _a_day_early)
    ),
    "views-not-renewed": _bug(
        "A booking shows the counts that it showed first.", swapped(sponsorship=_ForgottenCounts)
    ),
}
