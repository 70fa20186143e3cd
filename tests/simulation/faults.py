"""The faults of stores, network, notifications and nodes, each drawn from a random stream of its own.

Their probabilities follow the weather, which changes every few seconds. After `heal` there are no more faults. Every
fault is counted, so that a campaign can report those that never occurred.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from actors.bookings.reports import SlotReach
from actors.bookings.store import Overview
from actors.clock import DAY_MS, SECOND_MS
from actors.events.messages import FilteredRow, Row, Window
from actors.keys.messages import Resolved
from actors.values import BatchId, Contended, OutcomeUnknown, StorageUnavailable
from storage.events.divided_batches import Elsewhere
from tests.doubles.events import MemoryEvents
from tests.doubles.keys import MemoryKeys
from tests.doubles.sites import MemorySites
from tests.doubles.sponsorship import MemorySponsorship
from tests.doubles.tables import Memory
from tests.doubles.visitor_secrets import MemoryVisitorSecrets

if TYPE_CHECKING:
    from tests.simulation.node import Node

C = TypeVar("C", bound=type)
D = TypeVar("D")

BASE_RATES: Mapping[str, float] = {
    # In the store, for each transaction.
    "unavailable": 0.03,
    "contended": 0.05,
    "unknown_not_kept": 0.03,
    "unknown_kept": 0.06,
    "commits_late": 0.03,
    "slow": 0.05,
    "slow_answer": 0.10,
    "slow_look_up": 0.40,
    "crash": 0.002,
    "killed_before_commit": 0.004,
    "killed_after_commit": 0.006,
    # For each transaction in the last moments of a node's day.
    "unknown_over_midnight": 0.35,
    # On the network, for each request.
    "request_lost": 0.02,
    "answer_lost": 0.03,
    "request_repeated": 0.02,
    "request_repeated_late": 0.03,
    "request_overtaken": 0.04,
    # Notifications, for each node that should receive one.
    "notice_lost": 0.30,
    "notice_late": 0.40,
    # At the payment processor, for each call, payment, refund or event.
    "processor_slow": 0.10,
    "processor_overloaded": 0.04,
    "processor_restricted": 0.02,
    "processor_failed": 0.06,
    "processor_failed_after": 0.2,
    "checkout_unavailable": 0.05,
    "checkout_refused": 0.03,
    "other_amount": 0.05,
    "refund_unavailable": 0.10,
    "refund_answer_lost": 0.20,
    "refund_declined": 0.30,
    "refund_pending": 0.4,
    "refund_declined_later": 0.50,
    "refund_failed": 0.10,
    "refunded_by_hand": 0.16,
    "refunded_in_part_by_hand": 0.5,
    "disputed": 0.45,
    "dispute_stays_open": 0.10,
    "disputed_in_part": 0.60,
    "disputed_again": 0.40,
    "disputed_after_a_part": 0.50,
    "inquiry_first": 0.20,
    "dispute_withdrawn": 0.15,
    "loss_returned_in_part": 0.60,
    "dispute_decided_again": 0.40,
    "payment_named_again": 0.15,
    "event_late": 0.25,
    "event_repeated": 0.25,
    # At the mail server, for each mail.
    "mail_unavailable": 0.25,
    "mail_refused": 0.03,
    "mail_answer_lost": 0.05,
    "mail_slow": 0.10,
    # Nodes and links, for each turn of the nemesis.
    "node_killed": 0.15,
    "node_stopped": 0.08,
    "store_cut_off": 0.12,
    "listener_reconnected": 0.08,
    # Workers of a distributed database, for each turn of the nemesis.
    "shards_moved": 0.30,
    "worker_away": 0.08,
    # For each part of a batch whose outcome is unknown.
    "moved_in_doubt": 0.40,
    # For each alarm of the scheduler.
    "killed_at_step": 0.08,
}

STEPS = (40, 800)
"""Number of scheduler steps, of any task, after which a node may be killed between two of them."""
EVE_MS = 400
"""Milliseconds before midnight that count as the last moments of a day."""


class SimulatedBug(Exception):
    """Raised as a bug in a store would be: no caller expects it."""


class Faults:
    """The faults of one run."""

    def __init__(self, seed: int) -> None:
        self.hits: dict[str, int] = dict.fromkeys(BASE_RATES, 0)
        self.healed = False
        self._seed = seed
        self._streams: dict[str, Random] = {}
        self._weather = dict(BASE_RATES)

    def stream(self, concern: str) -> Random:
        """Return the random stream of a concern. Drawing more from one does not shift another."""
        if concern not in self._streams:
            self._streams[concern] = Random(f"{self._seed}-{concern}")
        return self._streams[concern]

    def strikes(self, kind: str) -> bool:
        """Return whether this fault happens now, and count it if so."""
        if self.stream(kind).random() >= self._weather[kind] or self.healed:
            return False
        self.hits[kind] += 1
        return True

    def turn_weather(self) -> None:
        """Make each fault rare, usual or frequent for a while."""
        self._weather = {
            kind: min(0.6, rate * self.stream(f"weather of {kind}").choice((0.0, 1.0, 1.0, 2.5)))
            for kind, rate in BASE_RATES.items()
        }

    def heal(self) -> None:
        self.healed = True


def _shared(name: str) -> Any:
    """A number of the shared tables. An integer cannot be shared as tables are."""
    return property(
        lambda link: getattr(link.node.world.memory, name),
        lambda link, number: setattr(link.node.world.memory, name, number),
    )


class Link(Memory):
    """One node's connection to the shared tables: the same rows, with this node's faults.

    Like Postgres, it keeps an owner's journal row locked while a commit that the owner gave up is still in flight.
    """

    def __init__(self, node: "Node") -> None:
        self.node = node
        shared = node.world.memory
        super().__init__(**{table.name: getattr(shared, table.name) for table in fields(Memory)})
        self._faults = node.world.faults
        self.before, self.after = self._before, self._after

    sponsorship_revision = _shared("sponsorship_revision")
    webhook_seq = _shared("webhook_seq")
    digest_mailed_ms = _shared("digest_mailed_ms")
    submissions_mailed_ms = _shared("submissions_mailed_ms")

    async def transact(self, batch_id: BatchId, work: Callable[[], D]) -> D:
        late, watched = self.node.world.late, self.node.world.watched(batch_id, work)
        while batch_id.owner in late:
            await late[batch_id.owner].wait()
        if self._faults.strikes("commits_late"):
            late[batch_id.owner] = trio.Event()
            self.node.world.start_soon(self._commit_late, batch_id, watched)
            raise OutcomeUnknown("simulated: the commit is still under way")
        return await super().transact(batch_id, watched)

    async def _commit_late(self, batch_id: BatchId, work: Callable[[], D]) -> None:
        await trio.sleep(self._faults.stream("late").uniform(0.01, 0.8))
        with suppress(Contended, Elsewhere):
            await self.node.world.memory.transact(batch_id, work)
        self.node.world.late.pop(batch_id.owner).set()

    async def _before(self) -> None:
        delays = self._faults.stream("delays")
        await trio.sleep(delays.uniform(0.001, 0.012))
        if self._faults.strikes("slow"):
            await trio.sleep(delays.uniform(0.05, 1.0))
        if self.node.cut_off or self._faults.strikes("unavailable"):
            raise StorageUnavailable("simulated: no connection")
        if self._faults.strikes("contended"):
            raise Contended("simulated: deadlock")
        if self._faults.strikes("unknown_not_kept"):
            raise OutcomeUnknown("simulated: the connection broke, and nothing was committed")
        if self._faults.strikes("crash"):
            raise SimulatedBug("simulated: a bug")
        if self._faults.strikes("killed_before_commit"):
            self.node.kill()
            await trio.lowlevel.checkpoint()

    async def _after(self) -> None:
        to_midnight_ms = -self.node.clock.now_ms() % DAY_MS
        if to_midnight_ms <= EVE_MS and self._faults.strikes("unknown_over_midnight"):
            await trio.sleep(to_midnight_ms / SECOND_MS)
            raise OutcomeUnknown("simulated: the connection broke after the commit, the next day")
        if self._faults.strikes("unknown_kept"):
            raise OutcomeUnknown("simulated: the connection broke after the commit")
        if self._faults.strikes("killed_after_commit"):
            self.node.kill()
        if self._faults.strikes("slow_answer"):
            await trio.sleep(self._faults.stream("delays").uniform(0.02, 0.6))
        else:
            await trio.lowlevel.checkpoint()


async def plainly(look_up: Awaitable[D]) -> D:
    """Turn an unknown outcome into unavailability: a read changes nothing."""
    try:
        return await look_up
    except OutcomeUnknown as error:
        raise StorageUnavailable(str(error)) from None


def plain_reads(*names: str) -> Callable[[C], C]:
    """These methods of the decorated store read, and end `plainly`."""

    def decorate(store: C) -> C:
        for name in names:
            setattr(store, name, _plain(getattr(store, name)))
        return store

    return decorate


def _plain(read: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def plain(*arguments: Any, **named: Any) -> Any:
        return await plainly(read(*arguments, **named))

    return plain


async def _travel_back(link: Memory) -> None:
    """At times it takes so long that what was read is outdated."""
    assert isinstance(link, Link)
    if link._faults.strikes("slow_look_up"):
        await trio.sleep(link._faults.stream("delays").uniform(0.02, 0.6))


class LinkedKeys(MemoryKeys):
    """Keys in memory. Look-ups may fail, and their rows may be outdated when they arrive."""

    async def resolve(self, hashes: Sequence[bytes]) -> Mapping[bytes, Resolved]:
        found = await plainly(super().resolve(hashes))
        await _travel_back(self._memory)
        return found


@dataclass(slots=True, eq=False)
class Look:
    """One read of the placements, in virtual seconds. Good once it was answered."""

    start: float
    end: float = float("inf")
    good: bool = False


@plain_reads(
    "booking", "bookings", "due_holds", "due_refunds", "due_steps", "digest_is_due", "shared_report", "waiting_refunds"
)
class LinkedSponsorship(MemorySponsorship):
    """The reads of the sweeper, placements and views, which may fail. Records the reads that placements depend on."""

    async def revision(self) -> int:
        return await self._looking(super().revision())

    async def overview(self, from_week_ms: int) -> Overview:
        return await self._looking(super().overview(from_week_ms))

    async def reach(self, ended_ms: int, mode: str) -> Sequence[SlotReach]:
        """Read between an overview and the next check, which it delays."""
        return await self._looking(super().reach(ended_ms, mode))

    async def _looking(self, read: Awaitable[D]) -> D:
        link = self._memory
        assert isinstance(link, Link)
        look = Look(trio.current_time())
        link.node.looks.append(look)
        try:
            found = await plainly(read)
            look.good = True
            return found
        finally:
            look.end = trio.current_time()


@plain_reads("sites")
class LinkedSites(MemorySites):
    """Websites in memory."""


class LinkedSecrets(MemoryVisitorSecrets):
    """The secrets of days in memory. Each agreement is judged."""

    def _agree(self, offered: Mapping[int, bytes], first_day: int) -> None:
        link = self._memory
        assert isinstance(link, Link)
        before = dict(link.visitor_secrets)
        self._write(offered, first_day)
        link.node.world.agreed(link.node, before)

    def _write(self, offered: Mapping[int, bytes], first_day: int) -> None:
        super()._agree(offered, first_day)


class LinkedEvents(MemoryEvents):
    """Event keys in memory.

    Look-ups may be outdated when they arrive. Checks that each batch is sorted and distinct.
    """

    async def record(self, batch_id: BatchId, day: int, rows: Sequence[Row]) -> Collection[bytes]:
        link = self._memory
        assert isinstance(link, Link)
        world, name = link.node.world, (batch_id.owner, batch_id.seq)
        tick, waits = world.history.tick(), batch_id.owner in world.late
        world.tally.attempted(batch_id, tick, trio.current_time())
        if list(rows) != sorted(rows) or len({row.key for row in rows}) < len(rows):
            world.violations.append(f"{batch_id!r} could deadlock: its rows are not sorted, or not distinct")
        try:
            added = await super().record(batch_id, day, rows)
        except OutcomeUnknown:
            world.tally.doubted.add(name)
            raise
        if name in world.tally.doubted:
            committed = waits or world.tally.committed.get(name, tick) < tick
            world.count(f"an unknown outcome was settled: {'committed' if committed else 'not committed'}")
        return added

    async def add_filtered(self, batch_id: BatchId, rows: Sequence[FilteredRow]) -> None:
        link = self._memory
        assert isinstance(link, Link)
        world = link.node.world
        if list(rows) != sorted(rows):
            world.violations.append(f"{batch_id!r} could deadlock: its rows are not sorted")
        attempt = world.tally.flushing(batch_id, rows, world.history.tick(), trio.current_time())
        try:
            await super().add_filtered(batch_id, rows)
            attempt.good = True
        finally:
            attempt.end = trio.current_time()

    async def windows(self, booking_ids: Sequence[str]) -> Mapping[str, Window]:
        found = await plainly(super().windows(booking_ids))
        await _travel_back(self._memory)
        return found

    async def prepare(self, days: Sequence[int]) -> None:
        await plainly(super().prepare(days))

    async def drop_before(self, day: int) -> Sequence[int]:
        dropped = await plainly(super().drop_before(day))
        link = self._memory
        assert isinstance(link, Link)
        link.node.world.dropped(link.node, dropped)
        return dropped


class Assassin:
    """The alarm of the kernel: kills a node between two steps of the scheduler, wherever its tasks are."""

    def __init__(self, faults: Faults, nodes: Sequence["Node"]) -> None:
        self._faults = faults
        self._nodes = nodes
        self._random = faults.stream("assassin")

    def __call__(self) -> int:
        """Return the number of steps until the next call."""
        up = [node for node in self._nodes if node.up]
        if up and self._faults.strikes("killed_at_step"):
            self._random.choice(up).kill()
        return self._random.randint(*STEPS)


async def nemesis(faults: Faults, nodes: Sequence["Node"]) -> None:
    """Kill, stop and cut off nodes, and change the weather, until the faults are healed."""
    random = faults.stream("nemesis")
    while not faults.healed:
        faults.turn_weather()
        await trio.sleep(random.uniform(0.3, 1.5))
        node = random.choice(nodes)
        if faults.strikes("node_killed"):
            node.kill()
        elif faults.strikes("node_stopped"):
            node.stop()
        if faults.strikes("store_cut_off"):
            for each in nodes if random.random() < 0.4 else [node]:
                each.cut_off_until = trio.current_time() + random.uniform(0.1, 1.5)
        if faults.strikes("listener_reconnected"):
            node.listen_again()
        cluster = node.world.cluster
        if cluster is not None and faults.strikes("shards_moved"):
            cluster.move(faults.stream("cluster"))
        if cluster is not None and faults.strikes("worker_away"):
            worker = faults.stream("cluster").choice(sorted(cluster.workers))
            cluster.away_until[worker] = trio.current_time() + faults.stream("cluster").uniform(0.1, 1.5)
