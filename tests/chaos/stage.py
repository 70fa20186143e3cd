"""The stage of faults: the nodes with their clocks, Postgres, and the network between them."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import trio

from actors.clock import SystemClock
from actors.events.messages import Event, Kind
from actors.times import WEEK_MS, week_of
from tests.acceptance.processes import Service
from tests.chaos.caller import Caller
from tests.chaos.clock import Steps
from tests.chaos.ground import Ground
from tests.chaos.history import OTHER, Answers, Happened, Key, Span, Wish
from tests.chaos.setting import PROBED, Setting
from tests.chaos.sponsors import BOOKINGS
from tests.chaos.sponsors import body_of as booking_body
from tests.chaos.websites import EVENTS, note_events
from tests.chaos.websites import body_of as event_body
from tests.storage.proxy import Proxy

HEALING_SECONDS = 30.0
"""How long to wait for a node to accept writes again."""


@dataclass(slots=True)
class Node:
    """One node. It restarts at the same address."""

    number: int
    service: Service
    restart: Callable[[], Service]
    clock: Steps
    url: str = field(init=False)

    def __post_init__(self) -> None:
        self.url = self.service.url

    @property
    def pid(self) -> int:
        return self.service.process.pid


BETWEEN_SECONDS = 0.05
"""How long a probe waits before it asks again."""


@dataclass(slots=True)
class Probe(Caller):
    """Checks whether a node accepts writes."""

    name = "probe"

    async def mint(self) -> int | None:
        """Mint a key and return its expiry in epoch milliseconds, or None if that failed."""
        reply = await self.ask("mint", "/api/v1/auth/agent", {})
        if reply is None or reply.status != 200:
            return None
        minted = reply.json()
        self.answers.keys[minted["apiKey"]] = Key(minted["apiKey"])
        return int(minted["expiresAt"])


@dataclass(slots=True)
class Stage:
    """The first node connects to Postgres through the proxy, the others directly."""

    nodes: list[Node]
    ground: Ground
    proxy: Proxy
    answers: Answers
    happened: Happened
    starter: ThreadPoolExecutor
    """One thread that lives as long as the stage, because Postgres ends with the thread that started it."""
    setting: Setting = field(init=False)

    @property
    def urls(self) -> dict[int, str]:
        return {node.number: node.url for node in self.nodes}

    def pids(self) -> dict[int, int]:
        return {node.number: node.pid for node in self.nodes}

    async def start_postgres(self) -> None:
        await trio.to_thread.run_sync(lambda: self.starter.submit(self.ground.postgres.start).result())

    async def restart(self, node: Node, down_since: float) -> None:
        """Start an ended node at its old address."""
        node.service = await trio.to_thread.run_sync(node.restart)
        self.happened.down.append(Span(node.number, down_since, trio.current_time()))

    async def healed(self) -> tuple[float, ...]:
        """Return the seconds until each node accepts an event, a key and a booking."""
        seconds = [HEALING_SECONDS] * len(self.nodes)

        async def look(node: Node) -> None:
            began = trio.current_time()
            with trio.move_on_after(HEALING_SECONDS):
                probe = Probe({node.number: node.url}, self.answers)
                async with trio.open_nursery() as looking:
                    for take in (self._records, self._mints, self._reserves):
                        looking.start_soon(take, replace(probe))
                seconds[node.number] = trio.current_time() - began

        async with trio.open_nursery() as nursery:
            for node in self.nodes:
                nursery.start_soon(look, node)
        return tuple(seconds)

    async def _records(self, probe: Probe) -> None:
        while True:
            event = Event(self.setting.bookings[0], Kind.CLICK, str(uuid.uuid4()))
            self.answers.events[event] = OTHER
            reply = await probe.ask("report", EVENTS, event_body(event))
            note_events(self.answers, [event], reply)
            if reply is not None and reply.status == 200 and self.answers.recorded[event]:
                return
            await trio.sleep(BETWEEN_SECONDS)

    async def _mints(self, probe: Probe) -> None:
        while True:
            if await probe.mint() is not None:
                return
            await trio.sleep(BETWEEN_SECONDS)

    async def _reserves(self, probe: Probe) -> None:
        """Repeat one wish: the ledger has to repeat its first answer."""
        account = self.setting.accounts[0]
        next_week = week_of(SystemClock().now_ms()) + WEEK_MS
        wish = Wish(account.tenant, str(uuid.UUID(int=1)), account.campaign, PROBED, next_week)
        self.answers.wishes.add(wish)
        while True:
            reply = await probe.ask("reserve", BOOKINGS, booking_body(wish), key=account.key)
            if reply is not None and reply.status == 200:
                self.answers.booked[wish].add(reply.json()["booking"]["id"])
                return
            await trio.sleep(BETWEEN_SECONDS)
