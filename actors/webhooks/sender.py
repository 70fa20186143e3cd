"""The webhook sender: leases due deliveries, posts each outside any transaction, and records the outcome.

Delivery is at least once: two nodes never post a delivery within one lease, and if a node dies between posting and
recording, the delivery is posted again when its lease ends. Slow receivers share a part of the attempts, so they cost the
others nothing. Knows nothing of HTTP and SQL.
"""

import traceback
from collections import Counter
from dataclasses import dataclass, field
from math import inf

import trio

from actors.clock import Clock
from actors.kernel.periodic import PeriodicTask
from actors.kernel.statistics import ActorStatistics, State
from actors.times import SECOND_MS
from actors.values import OutcomeUnknown, StorageUnavailable, TransientStorageError
from actors.webhooks.messages import Attempt, Backlog, Room, Task
from actors.webhooks.sending import Retries, cleaned, judged_by
from actors.webhooks.store import DeliveryFailed, Receivers, WebhookStore


@dataclass(frozen=True, slots=True)
class SenderLimits:
    """Bounds of the sender. `sends` attempts run at once, of which slow receivers get at most half; at most
    `per_receiver` to one host and `per_account` for one account. `close_seconds` must be less than the supervisor's drain."""

    sends: int = 32
    per_receiver: int = 2
    per_account: int = 4
    send_seconds: float = 10.0
    lease_seconds: float = 60.0
    poll_seconds: float = 5.0
    poll_min_seconds: float = 0.1
    storage_pause_seconds: float = 1.0
    close_seconds: float = 8.0
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        assert self.sends > 1
        assert 0 < self.per_receiver <= self.per_account <= self.sends
        assert self.lease_seconds >= 2 * self.send_seconds, (
            "a lease outlives the attempt and the transactions around it"
        )
        assert 0 < self.poll_min_seconds <= self.poll_seconds


@dataclass(slots=True)
class Counts:
    """Attempts by outcome, and webhooks turned off, since the start."""

    delivered: int = 0
    failed: int = 0
    disabled: int = 0


class WebhookSender(PeriodicTask):
    """Posts the deliveries of webhooks. An attempt is in progress from its lease until its outcome is recorded."""

    name = "webhooks"

    def __init__(self, store: WebhookStore, receivers: Receivers, clock: Clock, *, limits: SenderLimits) -> None:
        super().__init__(limits.poll_seconds, retry_seconds=limits.storage_pause_seconds)
        self.limits = limits
        self.backlog = Backlog()
        """The deliveries that waited at the last poll."""
        self.counts = Counts()
        self._store = store
        self._receivers = receivers
        self._clock = clock
        self._judge = judged_by(limits.retries)
        self._sends: trio.Nursery | None = None
        self._running: dict[str, Task] = {}
        self._unsettled: list[Attempt] = []
        self._count_at = -inf
        self._peak = self._leases = self._unavailable = self._unknown = self._last_lease = 0
        self._store_seconds = 0.0

    # Read by metrics.

    @property
    def accepting(self) -> bool:
        return self.state is State.RUNNING and not self._closed

    def oldest_seconds(self) -> float:
        """The age of the oldest delivery that waited at the last poll; 0 if none did."""
        return self._age_seconds(self.backlog.oldest_ms)

    def late_seconds(self) -> float:
        """For how long a receiver that works had waited for a delivery at the last poll; 0 if none had."""
        return self._age_seconds(self.backlog.late_since_ms)

    def statistics(self) -> ActorStatistics:
        """`waiting` counts attempts in progress, `batches` leases, `messages` deliveries, `refused` attempts that failed."""
        return ActorStatistics(
            name=self.name,
            state=self.state,
            accepting=self.accepting,
            waiting=len(self._running),
            capacity=self.limits.sends,
            peak=self._peak,
            batches=self._leases,
            messages=self.counts.delivered,
            refused=self.counts.failed,
            unavailable=self._unavailable,
            settled=self._unknown,
            restarts=self._restarts,
            commit_seconds=self._store_seconds,
            last_batch=self._last_lease,
        )

    def __repr__(self) -> str:
        return f"<WebhookSender {self.state.value} {len(self._running)}/{self.limits.sends} on their way>"

    def _age_seconds(self, since_ms: int | None) -> float:
        return 0.0 if since_ms is None else max(0.0, (self._clock.now_ms() - since_ms) / SECOND_MS)

    # The rounds.

    async def _repeat(self, task_status: trio.TaskStatus[None]) -> None:
        # The attempts of an earlier run were cut off with it; their leases end by themselves.
        self._running.clear()
        self._unsettled.clear()
        async with trio.open_nursery() as self._sends:
            await super()._repeat(task_status)
            self._sends.cancel_scope.cancel()

    async def _round(self) -> float:
        """Record finished attempts and start the deliveries that are due."""
        began = trio.current_time()
        try:
            await self._settle()
            pause_seconds = await self._start_due()
            await self._count()
        finally:
            self._store_seconds += trio.current_time() - began
        return pause_seconds

    async def _settle(self) -> None:
        attempts = tuple(self._unsettled)
        if not attempts:
            return
        disabled = await self._store.settle(attempts, self._judge)
        # More outcomes may have been appended meanwhile.
        del self._unsettled[: len(attempts)]
        for attempt in attempts:
            del self._running[attempt.delivery_id]
        for webhook in disabled:
            self.counts.disabled += 1
            self._log.warning("webhook %s is turned off: %s", webhook.id, webhook.disabled_reason)

    async def _start_due(self) -> float:
        assert self._sends is not None
        room = self._room()
        if room.free == 0 or self._closed:
            return self.limits.poll_seconds
        now_ms = self._clock.now_ms()
        lease = await self._store.lease(room, now_ms, now_ms + int(self.limits.lease_seconds * SECOND_MS))
        for task in lease.tasks:
            if task.delivery.id in self._running:
                # Its lease ended during an outage of the store, before the outcome was recorded.
                continue
            self._running[task.delivery.id] = task
            self._sends.start_soon(self._deliver, task)
        if lease.tasks:
            self._leases += 1
            self._last_lease = len(lease.tasks)
            self._peak = max(self._peak, len(self._running))
            # There may be more: a lease looks at a bounded number of webhooks.
            self.wake()
        return self._seconds_until(lease.next_due_ms)

    def _room(self) -> Room:
        limits, running = self.limits, self._running.values()
        return Room(
            free=limits.sends - len(running),
            slow_free=limits.sends // 2 - sum(task.webhook.slow for task in running),
            per_receiver=limits.per_receiver,
            per_account=limits.per_account,
            hosts=Counter(task.webhook.host for task in running),
            accounts=Counter(task.webhook.tenant_id for task in running),
        )

    def _seconds_until(self, due_ms: int | None) -> float:
        """Seconds until `due_ms`, at most one poll."""
        if due_ms is None:
            return self.limits.poll_seconds
        rest_seconds = (due_ms - self._clock.now_ms()) / SECOND_MS
        return min(max(rest_seconds, self.limits.poll_min_seconds), self.limits.poll_seconds)

    async def _count(self) -> None:
        if trio.current_time() >= self._count_at:
            self.backlog = await self._store.backlog(self._clock.now_ms())
            self._count_at = trio.current_time() + self.limits.poll_seconds

    async def _finish(self) -> None:
        """Wait at most `close_seconds` for the attempts in flight, and record how they ended."""
        with trio.move_on_after(self.limits.close_seconds):
            while self._running:
                try:
                    await self._settle()
                except TransientStorageError as error:
                    self._on_error(error)
                    await trio.sleep(self.limits.storage_pause_seconds)
                    continue
                if self._running and not self._unsettled:
                    await self._pause(inf)
            return
        self._log.warning(
            "cut off %d deliveries while closing; they are posted when their lease ends", len(self._running)
        )

    # One delivery.

    async def _deliver(self, task: Task) -> None:
        try:
            attempt = await self._attempt_one(task)
            if attempt is None:
                del self._running[task.delivery.id]
            else:
                self._unsettled.append(attempt)
                self._report(task, attempt)
        finally:
            self.wake()

    async def _attempt_one(self, task: Task) -> Attempt | None:
        delivery, began_ms = task.delivery, self._clock.now_ms()
        assert delivery.due_ms is not None, "a leased delivery has an end of its lease"
        if began_ms + self.limits.send_seconds * SECOND_MS > delivery.due_ms:
            # Leasing took so long that the rest of the lease does not cover the attempt: another node may start it, too.
            return None
        if began_ms - delivery.created_ms > self.limits.retries.keep_ms:
            return self._ended(task, began_ms, error="not delivered in time", started=False)
        try:
            with trio.move_on_after(self.limits.send_seconds):
                return self._ended(task, began_ms, answered=await self._receivers.post(task))
            return self._ended(task, began_ms, error=f"no answer within {self.limits.send_seconds:g} s")
        except DeliveryFailed as error:
            return self._ended(task, began_ms, error=str(error), answered=error.answered)
        except Exception as error:
            # A bug with one delivery must not stop the others or restart the sender. Only the frames are logged: the
            # error's text may quote the receiver.
            frames = "".join(traceback.format_tb(error.__traceback__))
            self._log.error("delivery %s hit a bug, %s:\n%s", delivery.id, type(error).__name__, frames)
            return self._ended(task, began_ms, error=type(error).__name__)

    def _ended(
        self, task: Task, began_ms: int, *, error: str | None = None, answered: int | None = None, started: bool = True
    ) -> Attempt:
        now_ms = self._clock.now_ms()
        return Attempt(
            delivery_id=task.delivery.id,
            webhook_id=task.webhook.id,
            number=task.delivery.attempts,
            ended_ms=now_ms,
            took_ms=now_ms - began_ms,
            error=None if error is None else cleaned(error),
            answered=answered,
            started=started,
        )

    def _report(self, task: Task, attempt: Attempt) -> None:
        place = (attempt.delivery_id, attempt.webhook_id, attempt.number)
        if attempt.error is None:
            self.counts.delivered += 1
            self._log.info("delivery %s to webhook %s made, attempt %d", *place)
        else:
            self.counts.failed += 1
            self._log.info("delivery %s to webhook %s failed on attempt %d: %s", *place, attempt.error)

    def _on_error(self, error: Exception) -> None:
        self._unknown += isinstance(error, OutcomeUnknown)
        self._unavailable += isinstance(error, StorageUnavailable)
        super()._on_error(error)
