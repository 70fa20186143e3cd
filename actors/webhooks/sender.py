"""The webhook sender. Slow receivers share a part of the attempts, so they cost the others nothing. Knows nothing of HTTP and
SQL."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

import trio

from actors.clock import Clock
from actors.kernel.leasing import LeasingSender, SendLimits
from actors.webhooks.messages import Attempt, Backlog, Room, Task
from actors.webhooks.sending import Retries, cleaned, judge_with
from actors.webhooks.store import DeliveryFailed, Receivers, WebhookStore

NO_RESPONSE = "no HTTP response"


@dataclass(frozen=True, slots=True)
class SenderLimits(SendLimits):
    """Bounds of the sender. Of its `sends` attempts, slow receivers get at most half; one host gets at most `per_receiver`,
    and one account `per_account`."""

    sends: int = 32
    per_receiver: int = 2
    per_account: int = 4
    send_seconds: float = 10.0
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        SendLimits.__post_init__(self)
        assert self.sends > 1
        assert 0 < self.per_receiver <= self.per_account <= self.sends


class WebhookSender(LeasingSender[Task, Attempt]):
    """Posts the deliveries of webhooks."""

    name = "webhooks"
    piece = "delivery"

    def __init__(self, store: WebhookStore, receivers: Receivers, clock: Clock, *, limits: SenderLimits) -> None:
        super().__init__(clock, limits)
        self.limits = limits
        self.backlog = Backlog()
        """The deliveries that waited at the last poll."""
        self.disabled = 0
        """Webhooks turned off since the start."""
        self._store = store
        self._receivers = receivers
        self._judge = judge_with(limits.retries)
        self._count_at = -inf

    def oldest_seconds(self) -> float:
        """The age of the oldest delivery that waited at the last poll; 0 if none did."""
        return self._age_seconds(self.backlog.oldest_ms)

    def late_seconds(self) -> float:
        """For how long a receiver that works had waited for a delivery at the last poll; 0 if none had."""
        return self._age_seconds(self.backlog.late_since_ms)

    async def _lease(self, free: int, now_ms: int, until_ms: int) -> tuple[Sequence[Task], int | None]:
        lease = await self._store.lease(self._room(free), now_ms, until_ms)
        if lease.tasks:
            # There may be more: a lease looks at a bounded number of webhooks.
            self.wake()
        return lease.tasks, lease.next_due_ms

    def _room(self, free: int) -> Room:
        limits, running = self.limits, self._running.values()
        return Room(
            free=free,
            slow_free=limits.sends // 2 - sum(task.webhook.slow for task in running),
            per_receiver=limits.per_receiver,
            per_account=limits.per_account,
            hosts=Counter(task.webhook.host for task in running),
            accounts=Counter(task.webhook.tenant_id for task in running),
        )

    async def _record(self, outcomes: Sequence[Attempt]) -> None:
        for webhook in await self._store.settle(outcomes, self._judge):
            self.disabled += 1
            self._log.warning("webhook %s is turned off: %s", webhook.id, webhook.disabled_reason)

    async def _look_after(self) -> None:
        """Count what waits."""
        if trio.current_time() >= self._count_at:
            self.backlog = await self._store.backlog(self._clock.now_ms())
            self._count_at = trio.current_time() + self.limits.poll_seconds

    async def _send(self, work: Task, now_ms: int) -> Attempt:
        if now_ms - work.delivery.created_ms > self.limits.retries.keep_ms:
            return self._ended(work, now_ms, error="not delivered in time", started=False)
        try:
            with trio.move_on_after(self.limits.send_seconds):
                return self._ended(work, now_ms, answered=await self._receivers.post(work))
            return self._failed(work, now_ms, f"no answer within {self.limits.send_seconds:g} s")
        except DeliveryFailed as error:
            if error.answered is None:
                return self._failed(work, now_ms, str(error))
            return replace(self._ended(work, now_ms, error=str(error), answered=error.answered), wait_ms=error.wait_ms)

    def _failed(self, work: Task, now_ms: int, error: str) -> Attempt:
        """An attempt without an HTTP response. Accounts see one error for all of them, because a webhook can name any host
        and port: whether a port is closed, silent or of another protocol is for the log alone."""
        return self._ended(work, now_ms, error=NO_RESPONSE, detail=error)

    def _ended(
        self,
        task: Task,
        began_ms: int,
        *,
        error: str | None = None,
        answered: int | None = None,
        started: bool = True,
        detail: str | None = None,
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
            detail=None if detail is None else cleaned(detail),
        )

    def _report(self, work: Task, outcome: Attempt) -> None:
        place = (outcome.delivery_id, outcome.webhook_id, outcome.number)
        if outcome.error is None:
            self.sent += 1
            self._log.info("delivery %s to webhook %s made, attempt %d", *place)
        else:
            self.refused += 1
            why = outcome.detail or outcome.error
            self._log.info("delivery %s to webhook %s failed on attempt %d: %s", *place, why)
