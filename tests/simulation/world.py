"""The simulated world: nodes over one store, clients, faults, and the records that the oracle judges."""

import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import trio

from actors.bookings import sweeper
from actors.clock import SECOND_MS
from actors.events.state import EventRules
from actors.shared import codes
from actors.shared.credentials import code_from, code_proof, digest, long_code
from actors.values import BatchId, OutboxMessage
from service.payments import stripe_gateway
from tests.doubles.tables import Memory
from tests.simulation import kernel, recorder, stage
from tests.simulation.catalog_facts import Looks
from tests.simulation.clients import Board, Client
from tests.simulation.clocks import LEAD_MS, are_moved, clocks_of, turn_of
from tests.simulation.faults import Assassin, Faults, nemesis
from tests.simulation.history import History
from tests.simulation.kernel import Trace
from tests.simulation.last_reads import Glances
from tests.simulation.node import Node, Parts
from tests.simulation.oracle import counts, units
from tests.simulation.oracle.authorizations import Programs
from tests.simulation.oracle.case import LOST, REFUSED_CONNECTION, case_of
from tests.simulation.oracle.log import Log
from tests.simulation.oracle.logins import Logins
from tests.simulation.oracle.shelf import Shelf
from tests.simulation.oracle.submissions import Book
from tests.simulation.oracle.tally import Tally
from tests.simulation.oracle.visits import Visits
from tests.simulation.planting import patched
from tests.simulation.post import MailServer
from tests.simulation.processor import Processor
from tests.simulation.register import Register
from tests.simulation.rules import (
    AHEAD_DAYS,
    BOOKINGS,
    CHECK_SECONDS,
    FEW_HOLDS,
    KEEP_DAYS,
    LONGEST_SECONDS,
    MIDNIGHTS_MS,
    MONDAY_MS,
    OLDEST_DECISION_SECONDS,
    PAGE_MARGIN_MS,
    PENDING_ROUNDS,
    QUIET_SECONDS,
    SECRET,
    SHORTEST_PAGE_MS,
    Scene,
)
from tests.simulation.scenes import BUGS, CATALOG, PEOPLE, SCENES, SITE, SPONSORSHIP, scene_of
from tests.simulation.wire import Api
from tests.simulation.workers import Cluster, at_worker

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one run."""

    seed: int
    scene: Scene
    trace: Trace
    digest: str
    operations: int
    requests: int
    counts: dict[str, int]
    violations: list[str] = field(repr=False)


class World:
    """One run of one seed."""

    def __init__(
        self, seed: int, scene: Scene, seconds: float, parts: Parts, *, impatient: bool = False, readers: bool = False
    ) -> None:
        self.seed = seed
        self.parts = parts
        self.seconds = seconds
        self.impatient = impatient
        self.heal_at = max(seconds - QUIET_SECONDS, 1.0)
        self.faults = Faults(seed)
        self.history = History()
        self.submissions = Book()
        self.glances, self.looks = Glances(), Looks()
        self.memory = Memory()
        self.memory.listeners.append(self._announced)
        self.board = Board()
        self.ended = False
        self.ended_at = 0.0
        self.late: dict[str, trio.Event] = {}
        self.counts: dict[str, int] = {}
        self.violations: list[str] = []
        self.comparisons: dict[bytes, list[bool]] = {}
        self.cast = SCENES[scene]
        self.sells = SPONSORSHIP in self.cast.areas
        self.shows = SITE in self.cast.areas
        self.signs_in = PEOPLE in self.cast.areas
        self.edits = CATALOG in self.cast.areas
        self._watches = {name: watch for area in self.cast.areas for name, watch in area.watches.items()}
        self.log = Log()
        self.tally = Tally()
        self.register, self.visits, self.logins, self.programs = Register(self), Visits(), Logins(), Programs()
        self.memory.listeners.append(self.programs.heard.append)
        self.shelf = Shelf(self)
        self.processor, self.api = Processor(self), Api(self)
        self.post = MailServer(self)
        chance = Random(f"{seed}-world")
        drawn_ms = chance.choice((MONDAY_MS, MONDAY_MS, *MIDNIGHTS_MS) if self.sells else MIDNIGHTS_MS)
        self.turn_ms = turn_of(seed, drawn_ms)
        self.base_ms = self.turn_ms - int(chance.uniform(0.3, 0.6) * self.heal_at * SECOND_MS)
        leads_ms = [chance.randint(-LEAD_MS, LEAD_MS) for _ in range(chance.choice(self.cast.nodes))]
        clocks = clocks_of(seed, self.base_ms, self.turn_ms, leads_ms, self.heal_at)
        self.nodes = [Node(self, index, clock) for index, clock in enumerate(clocks)]
        self.event_rules = EventRules(chance.choice(KEEP_DAYS), AHEAD_DAYS)
        self.counts_sites = seed % 2 == 0
        self.holds_per_day = FEW_HOLDS if are_moved(seed) else BOOKINGS.holds_per_day
        self.cluster = Random(f"{seed}-cluster").choice((None, Cluster(2, 1), Cluster(3, 2), Cluster(3, 3)))
        crowd = (*self.cast.crowd, *(self.cast.readers if readers else ()))
        self.clients = [
            Client(self, f"{live.__name__}-{number}", live) for live, size in crowd for number in range(size)
        ]
        for area in self.cast.areas:
            area.opens(self)
        self.stage_counts = dict(self.memory.delivery_days)
        self.stage_events = stage.told(self)
        self.log.begin(self.memory)
        self.tally.begin(self.memory)

    async def run(self) -> None:
        """Run until the clients are done, then bring every node to rest."""
        with trio.move_on_after(self.seconds + LONGEST_SECONDS) as bound:
            async with trio.open_nursery() as nursery:
                self.start_soon = nursery.start_soon
                for node in self.nodes:
                    nursery.start_soon(node.run)
                nursery.start_soon(nemesis, self.faults, self.nodes)
                nursery.start_soon(self._heal)
                if self.impatient:
                    nursery.start_soon(self._until_violated, nursery.cancel_scope)
                async with trio.open_nursery() as crowd:
                    for client in self.clients:
                        crowd.start_soon(client.run)
                await self._rest()
                await recorder.read_all(self)
                self.ended, self.ended_at = True, trio.current_time()
                for node in self.nodes:
                    node.stop()
        if bound.cancelled_caught:
            self.violations.append(f"the world was still busy {LONGEST_SECONDS:g} s after its end")

    async def _until_violated(self, scope: trio.CancelScope) -> None:
        """End the world as soon as a transaction has violated a promise."""
        for _ in range(int((self.seconds + LONGEST_SECONDS) / CHECK_SECONDS)):
            await trio.sleep(CHECK_SECONDS)
            if self.ended or self.violations:
                break
        if self.violations:
            scope.cancel()

    async def _rest(self) -> None:
        """Wait until nothing is left to be done in any area."""
        with trio.move_on_after(LONGEST_SECONDS / 2):
            for area in self.cast.areas:
                await area.rests(self)

    async def _heal(self) -> None:
        await trio.sleep(self.heal_at)
        self.faults.heal()

    def count(self, what: str, more: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + more

    # The network between clients and nodes.

    async def request(self, node: Node, serve: Callable[[Node], Awaitable[Any]], served: list[str]) -> Any:
        """Send one request and wait for its answer. The node, the request or the answer may be lost. Adds to `served` under
        which names nodes serve it."""
        delays = self.faults.stream("network")
        result: list[Any] = []
        arrived = trio.Event()

        def answer(value: Any) -> None:
            result.append(value)
            arrived.set()

        await trio.sleep(delays.uniform(0.0, 0.02))
        if self.faults.strikes("request_overtaken"):
            await trio.sleep(delays.uniform(0.05, 1.0))
        if not node.up:
            return REFUSED_CONNECTION
        if self.faults.strikes("request_lost"):
            await trio.sleep(0.8)
            return LOST
        served.append(node.accept(serve, answer))
        if self.faults.strikes("request_repeated"):
            served.append(node.accept(serve, lambda value: None))
        if self.faults.strikes("request_repeated_late"):
            self.start_soon(self._repeat, serve, served, delays.uniform(0.05, 3.0))
        await arrived.wait()
        if self.faults.strikes("answer_lost"):
            await trio.sleep(0.5)
            return LOST
        return result[0]

    async def _repeat(self, serve: Callable[[Node], Awaitable[Any]], served: list[str], seconds: float) -> None:
        """Send the same request once more, late and to any node. No client waits for its answer."""
        await trio.sleep(seconds)
        node = self.faults.stream("network").choice(self.nodes)
        if node.up and not self.ended:
            served.append(node.accept(serve, lambda value: None))

    def _announced(self, topic: str) -> None:
        delays = self.faults.stream("notices")
        for node in self.nodes:
            if not node.up or self.faults.strikes("notice_lost"):
                continue
            late = self.faults.strikes("notice_late")
            self.start_soon(self._deliver, node, node.name, topic, delays.uniform(0.0, 0.9 if late else 0.02))

    async def _deliver(self, node: Node, name: str, topic: str, seconds: float) -> None:
        await trio.sleep(seconds)
        if node.up and node.name == name:
            node.hear(topic)

    # Mail.

    def letter_for(self, token: str, email: str) -> OutboxMessage | None:
        """Return the newest message with the code now valid for `token`. A person would try each."""
        claim = self.memory.claims.get(digest(token))
        if claim is None or claim.proof is None:
            return None
        for letter in reversed(self.post.letters(email)):
            proof = code_proof(SECRET, digest(token), email, self.code_of(letter))
            if proof == claim.proof:
                return letter
        return None

    def code_of(self, letter: OutboxMessage) -> str:
        short = partial(code_from, SECRET)
        return long_code(short, letter.nonce) if letter.template.endswith("_long") else short(letter.nonce)

    # Observation from outside.

    def watched(self, batch_id: BatchId, work: Callable[[], D]) -> Callable[[], D]:
        """Wrap `work` with the checks that hold for each transaction."""
        watch = self._watches.get(batch_id.owner.rpartition("/")[2].partition("-")[0])
        if watch is None:
            return work
        done = at_worker(self, batch_id, work)
        return lambda: watch(self, batch_id, done)

    def decided_between(self, node: Node) -> tuple[int, int]:
        """The least and the greatest time at which a node may have decided what it writes now."""
        now = trio.current_time()
        return node.clock.span(now - OLDEST_DECISION_SECONDS, now)

    def agreed(self, node: Node, before: Mapping[int, bytes]) -> None:
        """Judge the secrets of days that a node has just written."""
        self.violations.extend(units.judge(self, node.name, before, self.decided_between(node)[1]))
        self.tally.secrets |= self.memory.visitor_secrets

    def dropped(self, node: Node, days: Sequence[int]) -> None:
        """Judge partitions that a node has just dropped."""
        self.violations.extend(counts.judge_drop(self, node.name, days, self.decided_between(node)[1]))
        self.tally.dropped.update(days)
        self.count("partitions dropped", len(days))

    def compare(self, one: bytes, other: bytes) -> bool:
        """Replaces the constant-time comparison, and records how each code was compared."""
        equal = one == other
        self.comparisons.setdefault(one, []).append(equal)
        return equal


def _judge(world: World) -> None:
    """Judge a history that ended by itself."""
    case = case_of(world)
    for area in world.cast.areas:
        world.violations.extend(area.judge(case))
        for what, met in area.sights(case).items():
            world.count(what, met)


def run(
    seed: int,
    *,
    seconds: float = 20.0,
    scene: Scene | None = None,
    bug: str | None = None,
    keep_trace: bool = False,
    patient: bool = False,
    readers: bool = False,
    history: Path | None = None,
) -> Report:
    """Simulate one seed and judge it.

    The scene is the given one, or that of the planted bug, or the seed's own. Unless it is `patient`, a run with a planted
    bug ends soon after a transaction violates a promise. The `readers` of the scene may join. What clients asked and heard is
    written to `history`.
    """
    scene = scene or (BUGS[bug].scene if bug else scene_of(seed))
    planted = BUGS[bug].plant(Parts()) if bug else nullcontext(Parts())
    with planted as parts:
        world = World(seed, scene, seconds, parts, impatient=bug is not None and not patient, readers=readers)
        with (
            patched(codes, "constant_time_equal", world.compare),
            patched(stripe_gateway, "SHORTEST_SESSION_MS", SHORTEST_PAGE_MS),
            patched(stripe_gateway, "MARGIN_MS", PAGE_MARGIN_MS),
            patched(sweeper, "PENDING_ROUNDS", PENDING_ROUNDS),
        ):
            try:
                _, trace = kernel.simulate(seed, world.run, keep=keep_trace, alarm=Assassin(world.faults, world.nodes))
            except Exception:
                trace = Trace("escaped", 0, 0.0)
                world.violations.append(f"an error escaped: {traceback.format_exc(limit=-6)}")
    shown = bug is not None and bool(world.violations)
    if not shown:
        # What a bug has broken, the checks at the end need not understand.
        _judge(world)
    if patient or not shown:
        world.violations.extend(recorder.violations_of(world))
    if history is not None:
        recorder.write(world, history)
    counts = world.counts | {f"fault {kind}": hits for kind, hits in world.faults.hits.items()}
    return Report(
        seed,
        scene,
        trace,
        world.history.digest(),
        len(world.history),
        len(world.history.requests),
        counts,
        world.violations,
    )
