"""What there is to break: the nodes with their clocks, Postgres, and the network between them."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import trio

from actors.events.messages import Event, Kind
from tests.acceptance.processes import Service
from tests.chaos.caller import Caller
from tests.chaos.clock import Steps
from tests.chaos.ground import Ground
from tests.chaos.history import CLIENTS, Happened, Said, Span
from tests.chaos.websites import EVENTS, body_of, note_events
from tests.storage.proxy import Proxy

LOOK_SECONDS = 0.1
"""How often it is looked how long processes had no core."""

HEALING_SECONDS = 30.0
"""When nobody waits for a node to be healed any longer."""


@dataclass(slots=True)
class Node:
    """One node. It comes back at the same address."""

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


@dataclass(slots=True)
class Probe(Caller):
    """Looks whether a node takes writes."""

    name = "probe"


@dataclass(slots=True)
class Stage:
    """The first node reaches Postgres by way of the proxy, the others directly."""

    nodes: list[Node]
    ground: Ground
    proxy: Proxy
    bookings: list[str]
    said: Said
    happened: Happened
    starter: ThreadPoolExecutor
    """One thread that lives as long as the stage: Postgres ends with the thread that has started it."""

    async def start_postgres(self) -> None:
        await trio.to_thread.run_sync(lambda: self.starter.submit(self.ground.postgres.start).result())

    async def restart(self, node: Node, down_since: float) -> None:
        """Start a node that has ended at its old address."""
        node.service = await trio.to_thread.run_sync(node.restart)
        self.happened.down.append(Span(node.number, down_since, trio.current_time()))

    async def healed(self) -> tuple[float, ...]:
        """How many seconds it takes until each node records an event that is new."""
        seconds = [HEALING_SECONDS] * len(self.nodes)

        async def look(node: Node) -> None:
            began = trio.current_time()
            with trio.move_on_after(HEALING_SECONDS):
                await self._recorded(node)
                seconds[node.number] = trio.current_time() - began

        async with trio.open_nursery() as nursery:
            for node in self.nodes:
                nursery.start_soon(look, node)
        return tuple(seconds)

    async def _recorded(self, node: Node) -> None:
        probe = Probe({node.number: node.url}, self.said)
        while True:
            event = Event(self.bookings[0], Kind.CLICK, str(uuid.uuid4()))
            self.said.events.add(event)
            reply = await probe.ask("report", EVENTS, body_of(event))
            note_events(self.said, [event], reply)
            if reply is not None and reply.status == 200 and self.said.recorded[event]:
                return
            await trio.sleep(0.02)

    async def watch_cores(self) -> None:
        """Write down for ever how long each node, and this process with its proxy and clients, had no core."""
        last: dict[int, tuple[int, float]] = {}
        while True:
            for number, pid in [(CLIENTS, 0), *((node.number, node.pid) for node in self.nodes)]:
                with suppress(OSError, ValueError, IndexError):
                    waited = waited_seconds(pid)
                    before_pid, before = last.get(number, (pid, waited))
                    # What another process waited for while it started was no wait of any request.
                    since = before if before_pid == pid else waited
                    self.happened.waits[number].note(trio.current_time(), waited - since)
                    last[number] = (pid, waited)
            await trio.sleep(LOOK_SECONDS)


def waited_seconds(pid: int) -> float:
    """How long the main thread of a process, 0 being this one, was ready to run and had no core since it began."""
    return int(Path(f"/proc/{pid or 'self'}/schedstat").read_text().split()[1]) / 1e9
