"""The simulated world: nodes over one store, clients, faults, and the notes that the oracle judges."""

import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

import trio

from actors import codes
from actors.clock import SECOND_MS
from actors.credentials import code_from, code_proof, digest
from actors.events.state import EventRules
from actors.values import Letter, Turn
from storage.memory.tables import Memory
from tests.simulation import buyers, clients, kernel, oracle, stage, websites
from tests.simulation.bugs import BUGS
from tests.simulation.clients import Board, Client
from tests.simulation.faults import Faults, nemesis
from tests.simulation.history import History
from tests.simulation.kernel import Trace
from tests.simulation.node import Node, Parts
from tests.simulation.oracle import commits, counts
from tests.simulation.oracle.case import LOST, REFUSED_CONNECTION
from tests.simulation.oracle.keys import too_many_keys
from tests.simulation.oracle.log import KEEPER, LEDGER, Commit, Log
from tests.simulation.oracle.quota import totals
from tests.simulation.oracle.sights import sights
from tests.simulation.oracle.tally import Tally
from tests.simulation.planting import patched
from tests.simulation.processor import Processor
from tests.simulation.rules import (
    AHEAD_DAYS,
    KEEP_DAYS,
    LONGEST_SECONDS,
    MIDNIGHTS_MS,
    MONDAY_MS,
    QUIET_SECONDS,
    REST_SECONDS,
    SECRET,
    Scene,
    scene_of,
)

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Report:
    """What one run showed."""

    seed: int
    trace: Trace
    digest: str
    operations: int
    requests: int
    counts: dict[str, int]
    violations: list[str] = field(repr=False)


CROWDS = {Scene.KEYS: clients.CROWD, Scene.SPONSORS: buyers.CROWD, Scene.WEBSITES: websites.CROWD}


def population(world: "World") -> list[Client]:
    crowd = CROWDS[world.scene]
    return [Client(world, f"{live.__name__}-{number}", live) for live, size in crowd for number in range(size)]


class World:
    """One run of one seed."""

    def __init__(self, seed: int, seconds: float, parts: Parts) -> None:
        self.seed = seed
        self.parts = parts
        self.seconds = seconds
        self.heal_at = max(seconds - QUIET_SECONDS, 1.0)
        self.faults = Faults(seed)
        self.history = History()
        self.memory = Memory()
        self.memory.listeners.append(self._announced)
        self.board = Board()
        self.ended = False
        self.ended_at = 0.0
        self.late: dict[str, trio.Event] = {}
        self.counts: dict[str, int] = {}
        self.violations: list[str] = []
        self.comparisons: dict[bytes, list[bool]] = {}
        self.scene = scene_of(seed)
        self.log = Log()
        self.tally = Tally()
        self.processor = Processor(self)
        chance = Random(f"{seed}-world")
        self.turn_ms = chance.choice((MONDAY_MS, *MIDNIGHTS_MS) if self.sells else MIDNIGHTS_MS)
        self.base_ms = self.turn_ms - int(chance.uniform(0.3, 0.6) * self.heal_at * SECOND_MS)
        self.nodes = [Node(self, index, chance.randint(-900, 900)) for index in range(chance.choice((2, 3)))]
        self.event_rules = EventRules(chance.choice((24, 24, 6)), chance.choice(KEEP_DAYS), AHEAD_DAYS)
        self.shards = chance.choice((1, 1, 2))
        self.clients: list[Client] = population(self)
        if self.sells:
            stage.open_office(self)
        if self.shows:
            stage.open_site(self)
        self.log.begin(self.memory)
        self.tally.begin(self.memory)

    @property
    def sells(self) -> bool:
        """Whether there are sponsors."""
        return self.scene is not Scene.KEYS

    @property
    def shows(self) -> bool:
        """Whether there are websites that show placements and report events."""
        return self.scene is Scene.WEBSITES

    async def run(self) -> None:
        """Live until the clients are done, then bring every node to rest."""
        with trio.move_on_after(self.seconds + LONGEST_SECONDS) as bound:
            async with trio.open_nursery() as nursery:
                self.start_soon = nursery.start_soon
                for node in self.nodes:
                    nursery.start_soon(node.run)
                nursery.start_soon(nemesis, self.faults, self.nodes)
                nursery.start_soon(self._heal)
                async with trio.open_nursery() as crowd:
                    for client in self.clients:
                        crowd.start_soon(client.run)
                if self.sells:
                    await self._rest()
                self.ended, self.ended_at = True, trio.current_time()
                for node in self.nodes:
                    node.stop()
        if bound.cancelled_caught:
            self.violations.append(f"the world did not come to rest within {LONGEST_SECONDS:g} s of its end")

    async def _rest(self) -> None:
        """Until every event was answered, and then until holds have run out and what is due was paid back."""
        with trio.move_on_after(LONGEST_SECONDS / 2):
            await trio.sleep(REST_SECONDS)
            await self.processor.all_told()
            await trio.sleep(REST_SECONDS)

    async def _heal(self) -> None:
        await trio.sleep(self.heal_at)
        self.faults.heal()

    def count(self, what: str, more: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + more

    # The network between clients and nodes.

    async def request(self, node: Node, serve: Callable[[Node], Awaitable[Any]]) -> Any:
        """Send one request and wait for what comes back; the node, the request and the answer may be lost."""
        delays = self.faults.stream("network")
        result: list[Any] = []
        arrived = trio.Event()

        def answer(value: Any) -> None:
            result.append(value)
            arrived.set()

        await trio.sleep(delays.uniform(0.0, 0.02))
        if not node.up:
            return REFUSED_CONNECTION
        if self.faults.strikes("request_lost"):
            await trio.sleep(0.8)
            return LOST
        node.accept(serve, answer)
        if self.faults.strikes("request_repeated"):
            node.accept(serve, lambda value: None)
        await arrived.wait()
        if self.faults.strikes("answer_lost"):
            await trio.sleep(0.5)
            return LOST
        return result[0]

    def _announced(self, topic: str) -> None:
        delays = self.faults.stream("notices")
        for node in self.nodes:
            if not node.up or self.faults.strikes("notice_lost"):
                continue
            late = self.faults.strikes("notice_late")
            self.start_soon(self._tell, node, node.name, topic, delays.uniform(0.0, 0.9 if late else 0.02))

    async def _tell(self, node: Node, name: str, topic: str, seconds: float) -> None:
        await trio.sleep(seconds)
        if node.up and node.name == name:
            node.hear(topic)

    # Mail.

    def letter_for(self, token: str, email: str) -> Letter | None:
        """The newest letter whose code is the one now wanted for `token`; who reads mail would try each."""
        claim = self.memory.claims.get(digest(token))
        if claim is None or claim.proof is None:
            return None
        for letter in reversed(self.memory.letters.values()):
            if letter.recipient == email:
                proof = code_proof(SECRET, digest(token), email, self.code_of(letter))
                if proof == claim.proof:
                    return letter
        return None

    def code_of(self, letter: Letter) -> str:
        return code_from(SECRET, letter.nonce)

    # What is watched from outside while it happens.

    def watched(self, turn: Turn, work: Callable[[], D]) -> Callable[[], D]:
        """`work`, with the promises that hold for each transaction checked around it."""
        owner = turn.owner.rpartition("/")[2]
        watching = {"keys": self._keeping, "bookings": self._selling, "events": self._counting}.get(
            owner.partition("-")[0]
        )
        return work if watching is None else lambda: watching(turn, work)

    def _keeping(self, turn: Turn, work: Callable[[], Any]) -> Any:
        before = totals(self.memory)
        done, _ = self._logged(turn, work, KEEPER)
        after = totals(self.memory)
        if before != after:
            self.violations.append(f"{turn!r} changed the sums of all counters from {before} to {after}")
        self.violations.extend(too_many_keys(self, turn))
        return done

    def _selling(self, turn: Turn, work: Callable[[], Any]) -> Any:
        done, commit = self._logged(turn, work, LEDGER)
        if commit is not None:
            self.violations.extend(commits.judge(self, commit))
        return done

    def _counting(self, turn: Turn, work: Callable[[], Any]) -> Any:
        before = self.tally.picture(self.memory)
        done = work()
        kept = self.tally.note(self.memory, before, turn, self.history.tick())
        self.violations.extend(counts.judge(self, f"{turn!r}", before, kept))
        return done

    def dropped(self, node: Node, days: Sequence[int]) -> None:
        """A node has just dropped the partitions of these days."""
        wall_ms = self.base_ms + node.skew_ms + int(trio.current_time() * SECOND_MS)
        self.violations.extend(counts.judge_drop(self, node.name, days, wall_ms))
        self.tally.dropped.update(days)
        self.count("partitions dropped", len(days))

    def _logged(self, turn: Turn, work: Callable[[], Any], tables: tuple[str, ...]) -> tuple[Any, Commit | None]:
        """The work done, and what it changed: only where somebody looks at it later."""
        if not self.sells:
            return work(), None
        before = self.log.picture(self.memory, tables)
        done = work()
        name = turn.owner.partition("/")[0]
        node = self.nodes[int(name[1:].partition(".")[0])]
        wall_ms = self.base_ms + node.skew_ms + int(trio.current_time() * SECOND_MS)
        return done, self.log.note(self.memory, before, self.history.tick(), turn.owner, wall_ms)

    def compare(self, one: bytes, other: bytes) -> bool:
        """In the place of `secret.same`: counts how often each code was compared."""
        equal = one == other
        self.comparisons.setdefault(one, []).append(equal)
        return equal


def run(seed: int, *, seconds: float = 20.0, bug: str | None = None, keep_trace: bool = False) -> Report:
    """Simulate one seed and judge it."""
    planted = BUGS[bug].plant(Parts()) if bug else nullcontext(Parts())
    with planted as parts:
        world = World(seed, seconds, parts)
        with patched(codes, "same", world.compare):
            try:
                _, trace = kernel.simulate(seed, world.run, keep=keep_trace)
            except Exception:
                trace = Trace("escaped", 0, 0.0)
                world.violations.append(f"an error escaped: {traceback.format_exc(limit=-6)}")
    violations = world.violations + oracle.judge(world)
    for what, met in sights(world).items():
        world.count(what, met)
    counts = world.counts | {f"fault {kind}": hits for kind, hits in world.faults.hits.items()}
    return Report(
        seed, trace, world.history.digest(), len(world.history), len(world.history.requests), counts, violations
    )
