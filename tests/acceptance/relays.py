"""Relays that report the same events to all nodes at once, and retry at another node if a response is lost."""

import random
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import trio

from actors.events.messages import Event, Kind
from tests.acceptance.clients import Reply, Torn, Unanswered, Wire
from tests.chaos.history import OTHER, Answers
from tests.chaos.websites import BATCH, EVENTS, body_of, note_events

SIZES = (1, 1, 20)
"""Numbers of events in a request, drawn at random: 1 means a single event, all others a batch."""
AGAIN_SECONDS = 0.02


@dataclass(slots=True)
class Campaign:
    """State shared by all relays. `doubtful` are events with a lost response, which may have been the `true`."""

    urls: Sequence[str]
    bookings: Sequence[str]
    on_answer: Callable[[], None] = lambda: None
    answers: Answers = field(default_factory=Answers)
    doubtful: set[Event] = field(default_factory=set)

    async def run(self, groups: int, rounds: int, seed: int) -> None:
        """Run groups in parallel. A group has one relay per node, and its relays report the same events."""
        async with trio.open_nursery() as nursery:
            for number in range(groups):
                nursery.start_soon(self._group, rounds, random.Random(f"group {number} of {seed}"))

    async def _group(self, rounds: int, chance: random.Random) -> None:
        relays = [_Relay(self, place) for place in range(len(self.urls))]
        for _ in range(rounds):
            events = [self._event(chance) for _ in range(chance.choice(SIZES))]
            self.answers.events.update(dict.fromkeys(events, OTHER))
            async with trio.open_nursery() as nursery:
                for relay in relays:
                    nursery.start_soon(relay.tell, events)
        for relay in relays:
            relay.close()

    def _event(self, chance: random.Random) -> Event:
        kind = chance.choice([Kind.IMPRESSION, Kind.IMPRESSION, Kind.CLICK])
        return Event(chance.choice(self.bookings), kind, str(uuid.UUID(int=chance.getrandbits(128), version=4)))

    def note(self, events: list[Event], reply: Reply | None) -> None:
        note_events(self.answers, events, reply)
        if reply is None or reply.status != 200:
            self.doubtful.update(events)
        else:
            self.on_answer()

    def violations(self, days: int) -> list[str]:
        """Events answered with `recorded: true` never (and not in doubt), or more often than once a day."""
        found = []
        for event in self.answers.events:
            recorded, least = self.answers.recorded[event], 0 if event in self.doubtful else 1
            if not least <= recorded <= days:
                found.append(f"recorded: true was answered {recorded} times to {event}")
        return found


@dataclass(slots=True)
class _Relay:
    """Reports to its own node, and to the next one if that does not respond."""

    campaign: Campaign
    place: int
    wire: Wire | None = None

    async def tell(self, events: list[Event]) -> None:
        """Report the events until a node responds."""
        bodies = [body_of(event) for event in events]
        request = (EVENTS, bodies[0]) if len(bodies) == 1 else (BATCH, {"events": bodies})
        with trio.fail_after(60):
            while True:
                wire = self.wire = self.wire or await self._connected()
                reply = None
                try:
                    reply = await wire.post(*request)
                except (Unanswered, Torn):
                    self.close()
                self.campaign.note(events, reply)
                if reply is not None and reply.status == 200:
                    return

    async def _connected(self) -> Wire:
        while True:
            for turn in range(len(self.campaign.urls)):
                with suppress(OSError):
                    return await Wire.open(self.campaign.urls[(self.place + turn) % len(self.campaign.urls)])
            await trio.sleep(AGAIN_SECONDS)

    def close(self) -> None:
        if self.wire is not None:
            self.wire.close()
            self.wire = None
