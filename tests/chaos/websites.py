"""Websites: they report events without a pause, repeat some of them, and record the answers."""

import json
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from actors.events.messages import Event, Kind, Unit
from actors.events.state import visitor_of_day
from tests.acceptance.clients import Reply
from tests.chaos.caller import Caller
from tests.chaos.history import OTHER, Answers
from tests.chaos.recording import HERE

EVENTS, BATCH = "/api/v1/sponsors/events", "/api/v1/sponsors/events/batch"
SITES = (OTHER, "one.example.com", "two.example.com")
"""Websites that send events. The first sends no `Origin`."""
COUNTING = {"events.count_sites": "true", "events.sites": json.dumps(SITES[1:])}
"""The settings that count these websites by name, also of the release before, which counts none by default."""
AGAIN = 0.25
"""The share of events sent before: after a reload, on another page, or because an answer was lost."""

BY_DAY = 0.5
"""The share of visitors in the unit day. Each has the address of all clients and a user agent of its own."""

BATCHES, BATCH_SIZE = 0.1, 20
REMEMBERED = 400


@dataclass(slots=True)
class Website(Caller):
    """One browser or relay after another, on one of `SITES`."""

    name: ClassVar[str] = "website"

    bookings: Sequence[str] = ()
    past: deque[Event] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    names_clients: bool = True
    """Whether batches are in the unit day, too, which nodes of the last release refuse."""
    site: str = field(init=False)

    def __post_init__(self) -> None:
        self.site = self.chance.choice(SITES)

    async def once(self) -> None:
        if self.chance.random() < BATCHES:
            unit = self._unit() if self.names_clients else Unit.DEVICE
            events = [self._event(unit) for _ in range(BATCH_SIZE)]
            reply = await self.report_batch("report a batch", events)
        else:
            events = [self._event(self._unit())]
            reply = await self.report("report", EVENTS, events, body_of(events[0]))
        if reply is None or reply.status != 200:
            # Like a browser: repeat once if there was no answer.
            self.past.extendleft(events)

    async def report_batch(self, what: str, events: Sequence[Event]) -> Reply | None:
        """Report events of one unit, as a relay that names its clients if that is the day."""
        bodies = [body_of(event) | client_of(event) for event in events]
        return await self.report(what, BATCH, events, {"events": bodies})

    async def report(self, what: str, path: str, events: Sequence[Event], body: Mapping[str, Any]) -> Reply | None:
        self.answers.events.update(dict.fromkeys(events, self.site))
        headers = {} if self.site == OTHER else {"origin": f"https://{self.site}"}
        if unit_of(events[0]) is Unit.DAY:
            path += "?unit=day"
            headers["user-agent"] = client_of(events[0])["userAgent"]
        reply = await self.ask(what, path, body, headers=headers)
        note_events(self.answers, events, reply)
        return reply

    def _unit(self) -> Unit:
        return Unit.DAY if self.chance.random() < BY_DAY else Unit.DEVICE

    def _event(self, unit: Unit) -> Event:
        past = [event for event in self.past if unit_of(event) is unit]
        if past and self.chance.random() < AGAIN:
            return self.chance.choice(past)
        kind = self.chance.choice([Kind.IMPRESSION, Kind.IMPRESSION, Kind.CLICK])
        visitor = str(uuid.UUID(int=self.chance.getrandbits(128), version=4))
        if unit is Unit.DAY:
            visitor = visitor_of_day(HERE, f"website/{visitor}")
        event = Event(self.chance.choice(self.bookings), kind, visitor)
        self.past.append(event)
        return event


def unit_of(event: Event) -> Unit:
    return Unit.DAY if "\n" in event.visitor else Unit.DEVICE


def body_of(event: Event) -> dict[str, str]:
    return {"bookingId": event.booking_id, "kind": event.kind.value, "visitorId": by_device(event).visitor}


def client_of(event: Event) -> dict[str, str]:
    """What a relay says of the client of an event of the unit day."""
    if unit_of(event) is Unit.DEVICE:
        return {}
    address, _, agent = event.visitor.partition("\n")
    return {"clientAddress": address, "userAgent": agent}


def by_device(event: Event) -> Event:
    """The event as a node of the last release takes it, which knows no unit: its visitor is the id in its body."""
    return event._replace(visitor=event.visitor.rpartition("/")[2])


def note_events(answers: Answers, events: Sequence[Event], reply: Reply | None) -> None:
    """Count which events were answered as recorded."""
    if reply is None or reply.status != 200:
        return
    answer = reply.json()
    results = answer.get("results") or [answer]
    assert len(results) == len(events), "a batch has an answer for each event"
    for event, result in zip(events, results, strict=True):
        if "error" in result:
            assert result == {"error": "service_unavailable"}
        elif result["recorded"]:
            answers.recorded[event] += 1
