"""Websites: they report events without a pause, some of them again, and write down what came back."""

import json
import random
import uuid
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field

import trio

from actors.events.messages import Event, Kind
from tests.acceptance.clients import Reply, Torn, Unanswered, Wire

EVENTS, BATCH = "/api/v1/sponsors/events", "/api/v1/sponsors/events/batch"
AGAIN = 0.25
"""How many of the events were sent before: by a reload, another page, or because an answer got lost."""

BATCHES, BATCH_SIZE = 0.1, 20
REMEMBERED = 400
LATE_SECONDS = 5.0
LOST = "lost"


@dataclass(slots=True)
class Answers:
    """What all websites have sent and been told. `trues` counts how often `recorded: true` was said of an event."""

    sent: set[Event] = field(default_factory=set)
    trues: Counter[Event] = field(default_factory=Counter)
    duplicates: set[Event] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    slowest_seconds: float = 0.0
    late: list[str] = field(default_factory=list)

    def note(self, events: list[Event], reply: Reply | None, seconds: float) -> None:
        self.slowest_seconds = max(self.slowest_seconds, seconds)
        if seconds > LATE_SECONDS:
            self.late.append(f"{seconds:.2f} s for {LOST if reply is None else reply.status}")
        if reply is None:
            self.kinds[LOST] += 1
            return
        if reply.status != 200:
            self.kinds[f"{reply.status} {reply.error}"] += 1
            return
        answer = reply.json()
        results = answer.get("results") or [answer | {"dropped": reply.headers.get("x-event-dropped")}]
        assert len(results) == len(events), "a batch has an answer for each event"
        for event, result in zip(events, results, strict=True):
            if result["recorded"]:
                self.trues[event] += 1
                self.kinds["recorded"] += 1
            else:
                self.kinds[str(result["dropped"])] += 1
                if result["dropped"] == "duplicate":
                    self.duplicates.add(event)


@dataclass(slots=True)
class Website:
    """One browser or relay after the other, over one connection to one of the nodes; changes nodes when it is cut off."""

    urls: list[str]
    bookings: list[str]
    chance: random.Random
    answers: Answers
    stop: trio.Event
    past: deque[Event] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    async def run(self) -> None:
        wire: Wire | None = None
        while not self.stop.is_set():
            wire = wire or await self._connected()
            if wire is None:
                continue
            events = self._events()
            self.answers.sent.update(events)
            began = trio.current_time()
            reply: Reply | None = None
            try:
                with trio.fail_after(20):
                    await self._send(wire, events)
                    reply = await wire.read()
            except (Unanswered, Torn):
                wire.close()
                wire = None
            self.answers.note(events, reply, trio.current_time() - began)
            if reply is not None and reply.headers.get("connection", "").lower() == "close":
                assert wire is not None
                wire.close()
                wire = None
        if wire is not None:
            wire.close()

    async def _send(self, wire: Wire, events: list[Event]) -> None:
        path, body = request_of(events)
        await wire.send(path, method="POST", body=json.dumps(body).encode())

    def _events(self) -> list[Event]:
        count = BATCH_SIZE if self.chance.random() < BATCHES else 1
        return [self._event() for _ in range(count)]

    def _event(self) -> Event:
        if self.past and self.chance.random() < AGAIN:
            return self.chance.choice(self.past)
        kind = self.chance.choice([Kind.IMPRESSION, Kind.IMPRESSION, Kind.CLICK])
        visitor = str(uuid.UUID(int=self.chance.getrandbits(128), version=4))
        event = Event(self.chance.choice(self.bookings), kind, visitor)
        self.past.append(event)
        return event

    async def _connected(self) -> Wire | None:
        with suppress(OSError):
            return await Wire.open(self.chance.choice(self.urls))
        await trio.sleep(0.02)
        return None


def request_of(events: list[Event]) -> tuple[str, object]:
    """The path and the body that tell of one event, or of many."""
    return (EVENTS, _body(events[0])) if len(events) == 1 else (BATCH, {"events": [*map(_body, events)]})


def _body(event: Event) -> dict[str, str]:
    return {"bookingId": event.booking_id, "kind": event.kind.value, "visitorId": event.visitor}


async def recorded_again(url: str, booking: str, answers: Answers, within_seconds: float) -> float:
    """How many seconds it takes until a node records an event that is new. Raises `trio.TooSlowError`."""
    began = trio.current_time()
    with trio.fail_after(within_seconds):
        while True:
            with suppress(OSError, Unanswered, Torn):
                wire = await Wire.open(url)
                try:
                    event = Event(booking, Kind.CLICK, str(uuid.uuid4()))
                    answers.sent.add(event)
                    await wire.send(EVENTS, method="POST", body=json.dumps(_body(event)).encode())
                    reply = await wire.read()
                finally:
                    wire.close()
                answers.note([event], reply, 0.0)
                if reply.status == 200 and reply.json()["recorded"]:
                    return trio.current_time() - began
            await trio.sleep(0.02)
