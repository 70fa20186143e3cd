"""Senders: lease what is due, send each piece outside any transaction, and record the outcomes.

Delivery is at least once: two nodes never send a piece within one lease. If a node dies between sending and recording, the
piece is sent again when its lease ends. Knows nothing of what is sent.
"""

import traceback
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, Protocol, TypeVar

import trio

from actors.clock import Clock
from actors.kernel.periodic import PeriodicTask
from actors.kernel.statistics import ActorStatistics, State
from actors.times import SECOND_MS
from actors.values import OutcomeUnknown, StorageUnavailable, TransientStorageError


class Leased(Protocol):
    """A piece of work. Its lease ends at `due_ms`."""

    @property
    def id(self) -> str: ...

    @property
    def due_ms(self) -> int: ...


Work = TypeVar("Work", bound=Leased)
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class SendLimits:
    """Bounds of a sender. `sends` attempts run at once. `close_seconds` must be less than the supervisor's drain."""

    sends: int = 4
    send_seconds: float = 15.0
    lease_seconds: float = 60.0
    poll_seconds: float = 5.0
    poll_min_seconds: float = 0.1
    storage_pause_seconds: float = 1.0
    close_seconds: float = 8.0

    def __post_init__(self) -> None:
        assert self.sends > 0
        assert self.lease_seconds >= 2 * self.send_seconds, "a lease outlives the send and the transactions around it"
        assert 0 < self.poll_min_seconds <= self.poll_seconds


class LeasingSender(PeriodicTask, Generic[Work, Outcome]):
    """Base class of the senders. A piece is in progress from its lease until its outcome is recorded.

    A subclass says how to lease, to send and to record. `piece` is its word for one piece.
    """

    piece: str

    def __init__(self, clock: Clock, limits: SendLimits) -> None:
        super().__init__(limits.poll_seconds, retry_seconds=limits.storage_pause_seconds)
        self._clock = clock
        self._bounds = limits
        self._sends: trio.Nursery | None = None
        self._running: dict[str, Work] = {}
        self._unrecorded: dict[str, Outcome] = {}
        self._peak = self._leases = self._last_lease = self._unavailable = self._unknown = 0
        self._store_seconds = 0.0
        self.sent = self.refused = 0
        """Pieces that arrived, and those that did not."""

    # Provided by the subclass.

    @abstractmethod
    async def _lease(self, free: int, now_ms: int, until_ms: int) -> tuple[Sequence[Work], int | None]:
        """Lease at most `free` due pieces. Returns them, and when the next one is due."""

    @abstractmethod
    async def _send(self, work: Work, now_ms: int) -> Outcome:
        """Send one piece. An error that it raises is a bug with this piece, and stops no other."""

    @abstractmethod
    async def _record(self, outcomes: Sequence[Outcome]) -> None:
        """Store outcomes."""

    @abstractmethod
    def _failed(self, work: Work, now_ms: int, error: str) -> Outcome:
        """The outcome of an attempt that failed with a bug."""

    @abstractmethod
    def _report(self, work: Work, outcome: Outcome) -> None:
        """Log and count an outcome."""

    @abstractmethod
    async def _look_after(self) -> None:
        """Do the other work of a round, after the pieces that are due have started."""

    async def catch_up(self) -> None:
        """Do a round now, and wait until every piece that is due was sent and its outcome is recorded."""
        await super().catch_up()
        while self._running and not self._closed:
            await self._round_ended.park()

    # Read by metrics.

    @property
    def accepting(self) -> bool:
        return self.state is State.RUNNING and not self._closed

    def statistics(self) -> ActorStatistics:
        """`waiting` counts pieces in progress, `batches` leases, `messages` pieces sent, `refused` those that failed."""
        return ActorStatistics(
            name=self.name,
            state=self.state,
            accepting=self.accepting,
            waiting=len(self._running),
            capacity=self._bounds.sends,
            peak=self._peak,
            batches=self._leases,
            messages=self.sent,
            refused=self.refused,
            unavailable=self._unavailable,
            settled=self._unknown,
            restarts=self._restarts,
            commit_seconds=self._store_seconds,
            last_batch=self._last_lease,
        )

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.state.value} {len(self._running)}/{self._bounds.sends} on their way, "
            f"{self.sent} sent>"
        )

    def _age_seconds(self, since_ms: int | None) -> float:
        return 0.0 if since_ms is None else max(0.0, (self._clock.now_ms() - since_ms) / SECOND_MS)

    # The rounds.

    async def _repeat(self, task_status: trio.TaskStatus[None]) -> None:
        # The attempts of an earlier run were cut off with it; their leases end by themselves.
        self._running = {work_id: self._running[work_id] for work_id in self._unrecorded}
        async with trio.open_nursery() as self._sends:
            await super()._repeat(task_status)
            self._sends.cancel_scope.cancel()

    async def _round(self) -> float:
        """Record finished attempts and start the pieces that are due."""
        began = trio.current_time()
        try:
            await self._record_finished()
            pause_seconds = await self._start_due()
            await self._look_after()
        finally:
            self._store_seconds += trio.current_time() - began
        return pause_seconds

    async def _record_finished(self) -> None:
        # More outcomes may be added meanwhile.
        finished = dict(self._unrecorded)
        if finished:
            await self._record(tuple(finished.values()))
        for work_id in finished:
            del self._running[work_id], self._unrecorded[work_id]

    async def _start_due(self) -> float:
        assert self._sends is not None
        free = self._bounds.sends - len(self._running)
        if free == 0 or self._closed:
            return self._bounds.poll_seconds
        now_ms = self._clock.now_ms()
        leased, next_due_ms = await self._lease(free, now_ms, now_ms + int(self._bounds.lease_seconds * SECOND_MS))
        for work in leased:
            # If it is running, its lease ended during an outage of the store, before the outcome was recorded.
            if work.id not in self._running:
                self._running[work.id] = work
                self._sends.start_soon(self._deliver, work)
        if leased:
            self._leases += 1
            self._last_lease = len(leased)
            self._peak = max(self._peak, len(self._running))
        return self._seconds_until(next_due_ms)

    def _seconds_until(self, due_ms: int | None) -> float:
        """Seconds until `due_ms`, at most one poll. A due piece that was not leased is in the hands of another node."""
        if due_ms is None or len(self._running) == self._bounds.sends:
            return self._bounds.poll_seconds
        rest_seconds = (due_ms - self._clock.now_ms()) / SECOND_MS
        return min(max(rest_seconds, self._bounds.poll_min_seconds), self._bounds.poll_seconds)

    async def _finish(self) -> None:
        """Wait at most `close_seconds` for the attempts in flight, and record how they ended."""
        with trio.move_on_after(self._bounds.close_seconds):
            while self._running:
                try:
                    await self._record_finished()
                except TransientStorageError as error:
                    self._on_error(error)
                    await trio.sleep(self._bounds.storage_pause_seconds)
                    continue
                if self._running and not self._unrecorded:
                    await self._pause(inf)
            return
        words = "%s: closed with %d sends in flight; they are repeated after their lease ends"
        self._log.warning(words, self.name, len(self._running))

    # One piece.

    async def _deliver(self, work: Work) -> None:
        try:
            outcome = await self._attempt_one(work)
            if outcome is None:
                del self._running[work.id]
            else:
                self._unrecorded[work.id] = outcome
                self._report(work, outcome)
        finally:
            self.wake()

    async def _attempt_one(self, work: Work) -> Outcome | None:
        now_ms = self._clock.now_ms()
        if now_ms + self._bounds.send_seconds * SECOND_MS > work.due_ms:
            # Leasing took so long that the rest of the lease does not cover the send: another node may start it, too.
            return None
        try:
            return await self._send(work, now_ms)
        except Exception as error:
            # Only the frames are logged: the error's text may quote what was sent.
            frames = "".join(traceback.format_tb(error.__traceback__))
            self._log.error("%s %s failed with a bug, %s:\n%s", self.piece, work.id, type(error).__name__, frames)
            return self._failed(work, now_ms, type(error).__name__)

    def _on_error(self, error: Exception) -> None:
        self._unknown += isinstance(error, OutcomeUnknown)
        self._unavailable += isinstance(error, StorageUnavailable)
        super()._on_error(error)
