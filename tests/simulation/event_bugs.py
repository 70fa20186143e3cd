"""Bugs to plant in the deduper and what is around it, one at a time: see `key_bugs`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import trio

from actors.bookings.records import BookingView
from actors.clock import DAY_MS, day_of
from actors.events import actor as deduper
from actors.events import partitions, secrets
from actors.events.actor import EventDeduper
from actors.events.messages import Event, Kind, Record, Row, Unit, Window
from actors.events.router import EventOutcome
from actors.events.state import KEY_BYTES, EventRules, VisitorHasher, days_to_keep, rows_of
from actors.events.windows import WindowReader
from actors.kernel.mailbox import Mailbox
from actors.values import BatchId, OutcomeUnknown, Refused, StorageUnavailable
from service.api.context import Services
from service.api.messages import Answer
from service.api.operation import Call
from service.api.operations import events
from service.api.rate_limits import Budgets
from storage.events.divided_batches import Elsewhere
from tests.simulation.faults import Link, LinkedEvents, LinkedSecrets, LinkedSponsorship
from tests.simulation.intake import CountedPlacements, CountedSecrets, handled
from tests.simulation.planting import Bugs, ignoring_faults, replaced, swapped
from tests.simulation.rules import Scene

BUGS = Bugs(Scene.WEBSITES)


# The store.


@BUGS.part("event_store")
class EventsAnsweredBeforeCommit(LinkedEvents):
    """Websites are answered before the commit."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        link, commit = self._memory, super().record
        assert isinstance(link, Link)

        async def later() -> None:
            with suppress(Elsewhere):
                await ignoring_faults(commit(batch_id, day, rows))

        link.node.server.start_soon(later)
        await trio.lowlevel.checkpoint()
        stored = link.events.get(day, {})
        return [row.key for row in rows if row.key not in stored]


@BUGS.part("event_store")
class EventsNotDeduplicated(LinkedEvents):
    """Every event counts as a new one."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        await super().record(batch_id, day, rows)
        return [row.key for row in rows]


@BUGS.part("event_store")
class EventsNotCounted(LinkedEvents):
    """Rows are stored and not counted."""

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        before = dict(self._memory.delivery_days)
        added = await super().record(batch_id, day, rows)
        self._memory.delivery_days.update(before)
        return added


@BUGS.part("event_store")
class EventsCountedAgain(LinkedEvents):
    """A retried batch is counted twice."""

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


@BUGS.part("event_store")
class SitesCountedAgain(LinkedEvents):
    """A retried batch is counted twice by website."""

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


@BUGS.function(deduper, "_sites_of")
def site_of_another(messages: Sequence[Record]) -> Iterable[int | None]:
    """All events of a batch count for the website of the first."""
    return [messages[0].site for message in messages for _ in message.events]


@BUGS.function(deduper, "rows_of")
def rows_not_sorted(events: Iterable[Event], keys: Iterable[bytes], sites: Iterable[int | None]) -> list[Row]:
    """Rows are not sorted."""
    return list(reversed(_rows_of(events, keys, sites)))


_rows_of = rows_of


# The deduper.


@BUGS.part("deduper")
class RememberedBeforeCommit(EventDeduper):
    """A key is remembered before its commit is known."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        for message in messages:
            self.seen.add(list(dict.fromkeys(message.keys)))
        return await super().commit(batch_id, messages)


@BUGS.part("deduper")
class FailedBatchRemembered(EventDeduper):
    """Keys of a failed batch are remembered."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        try:
            return await super().commit(batch_id, messages)
        except StorageUnavailable:
            for message in messages:
                self.seen.add(message.keys)
            raise


@BUGS.part("deduper")
class EventsRetriedBlindly(EventDeduper):
    """A batch with an unknown outcome is retried under a new batch id."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        try:
            return await super().commit(batch_id, messages)
        except OutcomeUnknown:
            self._again = getattr(self, "_again", 0) + 1
            node = batch_id.owner.partition("/")[0]
            return await super().commit(BatchId(f"{node}/{self._again}/{self.name}", 1), messages)


@BUGS.part("deduper")
class RetriedInTheNewDay(EventDeduper):
    """A batch that is retried after midnight has other keys."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        self._days.clear()
        return await super().commit(batch_id, messages)


@BUGS.part("deduper")
class DeduperClockStandsStill(EventDeduper):
    """The deduper reads its clock once."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        self._days[batch_id.owner] = batch_id, self.__dict__.setdefault("_first", day_of(self._clock.now_ms()))
        return await super().commit(batch_id, messages)


@BUGS.part("deduper")
class EqualEventsAllRecorded(EventDeduper):
    """Equal events of one batch are all answered as recorded."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        answers = await super().commit(batch_id, messages)
        won = {
            event
            for message, answer in zip(messages, answers, strict=True)
            for event, recorded in zip(message.events, answer, strict=True)
            if recorded
        }
        return [[event in won for event in message.events] for message in messages]


@BUGS.part("deduper")
class EventAnswersReversed(EventDeduper):
    """A batch is answered in the wrong order."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        answers = [answer for one in await super().commit(batch_id, messages) for answer in one]
        return [[answers.pop() for _ in message.events] for message in messages]


@BUGS.part("deduper")
class RecordedAnsweredAgain(EventDeduper):
    """A later sender is answered as recorded for a row whose sender gave up."""

    def compensate(self, message: Record, answer: Sequence[bool]) -> None:
        owed = self.__dict__.setdefault("_owed", set())
        owed |= {event for event, recorded in zip(message.events, answer, strict=True) if recorded}

    async def record_keyed(self, offered: Record) -> Sequence[bool]:
        answers = await super().record_keyed(offered)
        owed = self.__dict__.get("_owed", ())
        return [answer or event in owed for event, answer in zip(offered.events, answers, strict=True)]


@BUGS.part("deduper")
class LaneTrustsUncommittedKeys(EventDeduper):
    """A lane answers from the keys of a batch that another lane has not committed."""

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


@BUGS.part("deduper")
class LanesShareAnOwner(EventDeduper):
    """Lanes share the owner of their batch ids, each with its own numbers."""

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


@BUGS.part("deduper")
class LaneStealsAMessage(EventDeduper):
    """Two lanes commit the same message."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._mailbox = _StealingMailbox(self.limits.mailbox)


@BUGS.part("deduper")
class LaneAnswersOfAnother(EventDeduper):
    """A lane gives the answers of another."""

    async def commit(self, batch_id: BatchId, messages: Sequence[Record]) -> Sequence[Sequence[bool]]:
        answers = await super().commit(batch_id, messages)
        last: Sequence[Sequence[bool]] = self.__dict__.get("_answers", answers)
        self._answers = answers
        crossed = len(self._free_lanes) < self.limits.lanes - 1 and [len(each) for each in last] == [
            len(each) for each in answers
        ]
        return last if crossed else answers

    _answers: Sequence[Sequence[bool]]


@BUGS.function(Mailbox, "remove")
def refused_and_recorded_later(mailbox: Mailbox[Any, Any], envelope: Any) -> None:
    """An event that timed out in the mailbox is recorded later."""
    return


# Keys.


@BUGS.part("hasher")
class KeyWithoutKind(VisitorHasher):
    """A click after an impression is a duplicate."""

    def keys(self, day: int, events: Sequence[Event], unit: Unit = Unit.DEVICE) -> list[bytes]:
        return super().keys(day, [event._replace(kind=Kind.IMPRESSION) for event in events], unit)


@BUGS.part("hasher")
class KeyWithoutBooking(VisitorHasher):
    """A visitor counts for one booking only."""

    def keys(self, day: int, events: Sequence[Event], unit: Unit = Unit.DEVICE) -> list[bytes]:
        return super().keys(day, [event._replace(booking_id="") for event in events], unit)


@BUGS.part("hasher")
class KeyWithoutDay(VisitorHasher):
    """A visitor counts on one day only."""

    def keys(self, day: int, events: Sequence[Event], unit: Unit = Unit.DEVICE) -> list[bytes]:
        return super().keys(0 if unit is Unit.DEVICE else day, events, unit)


@BUGS.part("deduper")
class KeyOfYesterday(EventDeduper):
    """An event of the unit day that waits over midnight keeps its key."""

    def _keys_on(self, day: int, message: Record) -> Sequence[bytes]:
        return message.keys if message.unit is Unit.DAY else super()._keys_on(day, message)


@BUGS.part("hasher")
class KeyOfUnknownSecret(VisitorHasher):
    """A node without the secret of a day uses another one."""

    def keys(self, day: int, events: Sequence[Event], unit: Unit = Unit.DEVICE) -> list[bytes]:
        try:
            return super().keys(day, events, unit)
        except StorageUnavailable:
            return VisitorHasher(bytes(32)).keys(day, events)


@BUGS.part("hasher")
class KeyWithoutTheSecretOfItsDay(VisitorHasher):
    """A key of the unit day can be tested once the secret of its day is deleted."""

    def keys(self, day: int, events: Sequence[Event], unit: Unit = Unit.DEVICE) -> list[bytes]:
        return super().keys(day, events)


@BUGS.part("hasher")
class KeyWithoutTheServersSecret(VisitorHasher):
    """A copy of the database is enough to test a key of the unit day."""

    def keys(self, day: int, events: Sequence[Event], unit: Unit = Unit.DEVICE) -> list[bytes]:
        right, self._secret = self._secret, bytes(KEY_BYTES) if unit is Unit.DAY else self._secret
        try:
            return super().keys(day, events, unit)
        finally:
            self._secret = right


# Secrets of days.


@BUGS.part("secret_store")
class SecretOfEachNode(LinkedSecrets):
    """Each node has its own secret of a day."""

    async def agree(self, offered: Mapping[int, bytes], first_day: int) -> Mapping[int, bytes]:
        return {**await super().agree(offered, first_day), **offered}


@BUGS.part("secret_store")
class SecretKept(LinkedSecrets):
    """Secrets are not deleted."""

    async def agree(self, offered: Mapping[int, bytes], first_day: int) -> Mapping[int, bytes]:
        return await super().agree(offered, 0)


@BUGS.part("secret_store")
class SecretWrittenOver(LinkedSecrets):
    """The last node that makes the secret of a day wins, not the first."""

    def _write(self, offered: Mapping[int, bytes], first_day: int) -> None:
        self._memory.visitor_secrets.update(offered)
        super()._write(offered, first_day)


@BUGS.function(secrets, "first_secret_day")
def secret_deleted_at_midnight(now_ms: int) -> int:
    """A secret is deleted at the end of its day, which a node whose clock is behind still counts."""
    return day_of(now_ms)


@BUGS.part("visitor_secrets")
class SecretOfYesterday(CountedSecrets):
    """A day has the secret of the day before."""

    async def _round(self) -> None:
        known = [*self._hasher._secrets.values()]
        entropy, self._entropy = self._entropy, _Known(known) if known else self._entropy
        try:
            await super()._round()
        finally:
            self._entropy = entropy


class _Known:
    def __init__(self, known: Sequence[bytes]) -> None:
        self._known = known

    def token(self, size: int) -> bytes:
        return self._known[-1]


@BUGS.function(events, "visitor_of_day")
def visitor_without_address(address: str, agent: str) -> str:
    """A visitor of the unit day is a user agent."""
    return f"\n{agent}"


@BUGS.function(events, "_problem_of_clients")
def anybody_names_clients(services: Services, call: Call, events: object) -> None:
    """Any client may name others."""
    return


# Live placements.


@BUGS.part("placements")
class SnapshotNeverRenewed(CountedPlacements):
    """A node never refreshes its placements."""

    async def _is_current(self) -> bool:
        return True


@BUGS.part("windows")
class WindowsRemembered(WindowReader):
    """A booking that was inactive once stays inactive."""

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


@BUGS.function(Budgets, "count_events")
def events_not_capped(budgets: Budgets, address: str, booking_id: str, count: int = 1) -> int:
    """One address adds any number of events to a booking."""
    return count


# Partitions and views.


@BUGS.function(partitions, "days_to_keep")
def yesterday_dropped(now_ms: int, rules: EventRules) -> range:
    """A day's keys are dropped at its end."""
    return range(day_of(now_ms), day_of(now_ms) + rules.ahead_days + 1)


@BUGS.function(partitions, "days_to_keep")
def partitions_dropped_a_day_early(now_ms: int, rules: EventRules) -> range:
    """Keys are dropped a day before their time."""
    days = _days_to_keep(now_ms + DAY_MS, rules)
    return range(days.start, days.stop - 1)


_days_to_keep = days_to_keep


@BUGS.part("sponsorship")
class ViewsNotRenewed(LinkedSponsorship):
    """Views never refresh their counts."""

    async def booking(self, tenant_id: str | None, booking_id: str) -> BookingView | None:
        view = await super().booking(tenant_id, booking_id)
        if view is None:
            return None
        link = self._memory
        assert isinstance(link, Link)
        first = link.node.__dict__.setdefault("_views", {}).setdefault(booking_id, view)
        return replace(view, impressions=first.impressions, clicks=first.clicks)


BUGS.add(
    "inactive-not-checked",
    "Events of inactive placements are counted.",
    replaced(Window, "holds", lambda window, now_ms: True),
)
BUGS.add(
    "bad-batch-half-recorded",
    "The valid events of a rejected batch are recorded.",
    swapped(handlers=handled("recordEvents", _one_after_the_other)),
)
BUGS.add(
    "unavailable-taken-for-recorded",
    "Events are answered as recorded while the store is unavailable.",
    swapped(handlers=handled("recordEvent", _hopeful)),
)
