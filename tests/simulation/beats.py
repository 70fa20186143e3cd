"""A world of heartbeats only: nodes that start, stop, die and are cut off, over one store.

Checks how many live nodes each one counts. The seed determines everything, as in the other worlds, which this one
leaves untouched.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import trio

from actors.kernel.supervision import running
from actors.nodes.heartbeat import Heartbeat
from actors.nodes.messages import NodeInfo
from actors.nodes.state import NodeRules
from actors.shared.limits import WindowLimiter
from actors.values import Contended, OutcomeUnknown, StorageUnavailable
from tests.doubles.nodes import MemoryNodes
from tests.doubles.tables import Memory
from tests.simulation import kernel

RULES = NodeRules(beat_seconds=1.0, live_seconds=4.0, keep_seconds=8.0)
PLACES = 4
CHAOS_SECONDS = 40.0
SLOWEST_SECONDS = 0.6
"""The longest time for one way between a node and the store."""
SETTLED_SECONDS = RULES.live_seconds + 3 * (RULES.beat_seconds + 2 * SLOWEST_SECONDS)
CHECK_SECONDS = 0.25
LIMIT = 30


class Rows(dict[str, tuple[NodeInfo, float]]):
    """The table of nodes. Records when each heartbeat was stored and when each row was deleted, by node."""

    def __init__(self) -> None:
        super().__init__()
        self.beats: dict[str, list[float]] = {}
        self.left: dict[str, float] = {}

    def __setitem__(self, name: str, row: tuple[NodeInfo, float]) -> None:
        self.beats.setdefault(name, []).append(trio.current_time())
        super().__setitem__(name, row)

    def pop(self, name: str, default: Any = None) -> Any:
        self.left[name] = trio.current_time()
        return super().pop(name, default)


@dataclass(frozen=True, slots=True)
class Parts:
    """The classes that count nodes. A planted bug replaces one of them."""

    heartbeat: type[Heartbeat] = Heartbeat
    store: type[MemoryNodes] = MemoryNodes


class Line:
    """A node's link to the store, with its faults."""

    def __init__(self, world: "World") -> None:
        self._world = world

    async def before(self) -> None:
        await self._takes()
        chance = self._world.chance
        if self._world.healed:
            return
        if trio.current_time() < self._world.away_until or chance.random() < 0.1:
            raise StorageUnavailable("away")
        if chance.random() < 0.05:
            raise Contended("another has it")

    async def after(self) -> None:
        await self._takes()
        if not self._world.healed and self._world.chance.random() < 0.1:
            raise OutcomeUnknown("the answer got lost")

    async def _takes(self) -> None:
        await trio.sleep(self._world.chance.uniform(0.0, SLOWEST_SECONDS))


class World:
    """One run of one seed."""

    def __init__(self, seed: int, parts: Parts) -> None:
        self.parts = parts
        self.chance = Random(f"{seed}-beats")
        self.rows = Rows()
        self.healed = False
        self.away_until = 0.0
        self.up: dict[str, Heartbeat] = {}
        self.violations: list[str] = []
        self.met: set[str] = set()

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            self._end = trio.Event()
            for place in range(PLACES):
                nursery.start_soon(self._place, place)
            nursery.start_soon(self._look)
            while trio.current_time() < CHAOS_SECONDS:
                await trio.sleep(self.chance.uniform(3.0, 12.0))
                self.away_until = trio.current_time() + self.chance.choice((0.0, 3.0, 14.0))
            self.healed = True
            await trio.sleep(SETTLED_SECONDS)
            self.violations += self._settled()
            stopped = list(self.up)
            self._end.set()
        self.violations += [f"{name} stopped in order but still has its row" for name in stopped if name in self.rows]

    # Lives of a node.

    async def _place(self, place: int) -> None:
        life = 0
        while not self._end.is_set():
            life += 1
            await self._live(f"n{place}.{life}")
            await trio.sleep(0.0 if self.healed else self.chance.uniform(0.0, 3.0))

    async def _live(self, name: str) -> None:
        memory = Memory(nodes=self.rows, before=(line := Line(self)).before, after=line.after)
        node = NodeInfo(name, "host", 1, "1.0.0", "", int(trio.current_time() * 1_000))
        beat = self.parts.heartbeat(self.parts.store(memory), node, RULES)
        async with running([beat], drain_seconds=60.0) as supervisor:
            self.up[name] = beat
            with trio.move_on_after(self.chance.uniform(1.0, 15.0)):
                await self._end.wait()
            if self.healed:
                await self._end.wait()
            elif self.chance.random() < 0.5:
                supervisor.kill()
            del self.up[name]

    # Bounds on the count at any moment.

    async def _look(self) -> None:
        while not self._end.is_set():
            await trio.sleep(CHECK_SECONDS)
            for name, beat in self.up.items():
                self.violations += [f"{name} at {trio.current_time():.2f}: {what}" for what in self._wrong(beat)]

    def _wrong(self, beat: Heartbeat) -> Iterator[str]:
        live, age = beat.live(), beat.age_seconds
        names = {each.node.id for each in beat.nodes()}
        if beat.node.id not in names or live < 1:
            yield "it does not count itself"
        # The count follows a silence at the next attempt.
        late = RULES.beat_seconds + 2 * SLOWEST_SECONDS
        if age is None or age > RULES.keep_seconds + late:
            self.met.add("alone after a long silence")
            if live != 1 or names != {beat.node.id}:
                yield f"after a silence of {age} s it counts {live}"
            return
        if age > RULES.keep_seconds:
            return
        heard = trio.current_time() - age
        sure, possible = self._live_between(heard - SLOWEST_SECONDS, heard)
        others = names - {beat.node.id}
        if live != len(names):
            yield f"it counts {live} but lists {sorted(names)}"
        if sure - names:
            yield f"it does not count {sorted(sure - names)}"
        if others - possible:
            yield f"it counts {sorted(others - possible)}"
        if age > 2 * late and len(names) > 1:
            self.met.add("the last number held through a silence")

    def _live_between(self, first: float, last: float) -> tuple[set[str], set[str]]:
        """Return the nodes with a young heartbeat during the whole span, and those with one at some moment of it."""
        sure, possible = set(), set()
        for name, beats in self.rows.beats.items():
            gone = self.rows.left.get(name, float("inf"))
            if any(last - RULES.live_seconds < at <= first for at in beats) and gone > last:
                sure.add(name)
            if any(first - RULES.live_seconds < at <= last for at in beats) and gone >= first:
                possible.add(name)
        return sure, possible

    # Expectations once all faults are over.

    def _settled(self) -> Iterator[str]:
        counts = {name: beat.live() for name, beat in self.up.items()}
        if len(counts) != PLACES or set(counts.values()) != {PLACES}:
            yield f"the counts of {PLACES} live nodes are {counts}"
        now_ms = int(trio.current_time() * 1_000)
        limiters = [WindowLimiter(60, nodes=beat.live) for beat in self.up.values()]
        passed = sum(limiter.hit("a", LIMIT, now_ms).allowed for limiter in limiters for _ in range(LIMIT))
        if not LIMIT <= passed < LIMIT + PLACES:
            yield f"all nodes together allow {passed} requests of a limit of {LIMIT}"


def run(seed: int, parts: Parts | None = None) -> tuple[World, kernel.Trace]:
    """Simulate one seed."""
    world = World(seed, parts or Parts())
    _, trace = kernel.simulate(seed, world.run)
    return world, trace
