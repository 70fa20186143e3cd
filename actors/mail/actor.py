"""The mail sender: leases due messages, sends each outside any transaction, and records the outcome.

Delivery is at least once: two nodes never send a message within one lease, and if a node dies between sending and
recording, the message is sent again when its lease ends. Knows nothing of SMTP, SQL or the wording of mails.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import trio

from actors.clock import Clock
from actors.kernel.periodic import PeriodicTask
from actors.kernel.statistics import ActorStatistics, State
from actors.mail.messages import (
    Backlog,
    GivenUp,
    Mail,
    MailFailed,
    MailRefused,
    Mark,
    QueuedMessage,
    RenderedMessage,
    RetryLater,
    Sent,
)
from actors.mail.state import Retries, after_failure, after_refusal, give_up_unsent, masked
from actors.mail.store import Outbox, Transport
from actors.times import DAY_MS, SECOND_MS
from actors.values import OutcomeUnknown, StorageUnavailable, TransientStorageError


@dataclass(frozen=True, slots=True)
class MailLimits:
    """Bounds of the mail sender. `close_seconds` must be less than the supervisor's drain."""

    sends: int = 4
    send_seconds: float = 15.0
    lease_seconds: float = 60.0
    poll_seconds: float = 5.0
    poll_min_seconds: float = 0.1
    storage_pause_seconds: float = 1.0
    close_seconds: float = 8.0
    keep_days: int = 7
    prune_seconds: float = 3_600.0
    prune_rows: int = 500
    shown: int = 200
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        assert self.sends > 0
        assert self.lease_seconds >= 2 * self.send_seconds, "a lease outlives the send and the transactions around it"
        assert 0 < self.poll_min_seconds <= self.poll_seconds
        assert self.prune_rows > 0


class MailSender(PeriodicTask):
    """Sends the mails of the outbox. `write` renders a message and raises `MailRefused` or `MailFailed` if it cannot.
    At most `limits.sends` messages are in progress; each counts from its lease until its outcome is recorded."""

    name = "mail"

    def __init__(
        self,
        store: Outbox,
        transport: Transport,
        clock: Clock,
        write: Callable[[QueuedMessage], Mail],
        *,
        limits: MailLimits,
    ) -> None:
        super().__init__(limits.poll_seconds, retry_seconds=limits.storage_pause_seconds)
        self.limits = limits
        self.backlog = Backlog()
        """The messages that waited in the outbox at the last lease."""
        self._store = store
        self._transport = transport
        self._clock = clock
        self._write = write
        self._sends: trio.Nursery | None = None
        self._sending = 0
        self._unmarked: list[Mark] = []
        self._prune_at_ms = 0
        self._peak = self._leases = self._sent = self._given_up = 0
        self._unavailable = self._unknown = self._last_lease = 0
        self._store_seconds = 0.0

    # Intents.

    async def recent(self, limit: int) -> list[RenderedMessage]:
        """The newest messages, rendered with their codes, at most `limits.shown`. For developers only."""
        messages = await self._store.recent(min(limit, self.limits.shown))
        return [RenderedMessage(message, self._rendered(message)) for message in messages]

    @property
    def accepting(self) -> bool:
        return self.state is State.RUNNING and not self._closed

    def oldest_seconds(self) -> float:
        """The age of the oldest message that waited at the last lease; 0 if none did."""
        oldest_ms = self.backlog.oldest_ms
        return 0.0 if oldest_ms is None else max(0.0, (self._clock.now_ms() - oldest_ms) / SECOND_MS)

    def statistics(self) -> ActorStatistics:
        """`waiting` counts messages in progress, `batches` leases, `messages` mails sent, `refused` messages given up."""
        return ActorStatistics(
            name=self.name,
            state=self.state,
            accepting=self.accepting,
            waiting=self._in_progress,
            capacity=self.limits.sends,
            peak=self._peak,
            batches=self._leases,
            messages=self._sent,
            refused=self._given_up,
            unavailable=self._unavailable,
            settled=self._unknown,
            restarts=self._restarts,
            commit_seconds=self._store_seconds,
            last_batch=self._last_lease,
        )

    def __repr__(self) -> str:
        return (
            f"<MailSender {self.state.value} {self._in_progress}/{self.limits.sends} on their way, {self._sent} sent>"
        )

    # The rounds.

    async def _repeat(self, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as self._sends:
            await super()._repeat(task_status)
            self._sends.cancel_scope.cancel()

    async def _round(self) -> float:
        """Record finished attempts and start the messages that are due."""
        began = trio.current_time()
        try:
            await self._store_outcomes()
            pause_seconds = await self._start_due()
            await self._prune()
        finally:
            self._store_seconds += trio.current_time() - began
        return pause_seconds

    async def _store_outcomes(self) -> None:
        marks = tuple(self._unmarked)
        if marks:
            await self._store.mark(marks)
            # More outcomes may have been appended meanwhile.
            del self._unmarked[: len(marks)]

    async def _start_due(self) -> float:
        assert self._sends is not None
        free = self.limits.sends - self._in_progress
        if free == 0 or self._closed:
            return self.limits.poll_seconds
        now_ms = self._clock.now_ms()
        lease = await self._store.lease(free, now_ms, now_ms + int(self.limits.lease_seconds * SECOND_MS))
        self.backlog = lease.backlog
        for message in lease.messages:
            self._sending += 1
            self._sends.start_soon(self._deliver, message)
        if lease.messages:
            self._leases += 1
            self._last_lease = len(lease.messages)
            self._peak = max(self._peak, self._in_progress)
        return self._seconds_until(lease.next_due_ms)

    def _seconds_until(self, due_ms: int | None) -> float:
        """Seconds until `due_ms`, at most one poll. A due message that was not leased is in the hands of another node."""
        if due_ms is None or self._in_progress == self.limits.sends:
            return self.limits.poll_seconds
        rest_seconds = (due_ms - self._clock.now_ms()) / SECOND_MS
        return min(max(rest_seconds, self.limits.poll_min_seconds), self.limits.poll_seconds)

    async def _prune(self) -> None:
        now_ms = self._clock.now_ms()
        if now_ms < self._prune_at_ms:
            return
        deleted = await self._store.prune(now_ms - self.limits.keep_days * DAY_MS, self.limits.prune_rows)
        # A full batch means that there is more. It waits for the next round, so that mail is never delayed by it.
        if deleted < self.limits.prune_rows:
            self._prune_at_ms = now_ms + int(self.limits.prune_seconds * SECOND_MS)

    async def _finish(self) -> None:
        """Wait at most `close_seconds` for the sends in flight, and record how they ended."""
        with trio.move_on_after(self.limits.close_seconds):
            while self._in_progress:
                try:
                    await self._store_outcomes()
                except TransientStorageError as error:
                    self._on_error(error)
                    await trio.sleep(self.limits.storage_pause_seconds)
                    continue
                if self._sending and not self._unmarked:
                    await self._pause(inf)
            return
        self._log.warning("cut off %d mails while closing; they are sent when their lease ends", self._in_progress)

    # One message.

    async def _deliver(self, message: QueuedMessage) -> None:
        try:
            mark = await self._attempt(message)
            if mark is not None:
                self._unmarked.append(mark)
                self._report(message, mark)
        finally:
            self._sending -= 1
            self.wake()

    async def _attempt(self, message: QueuedMessage) -> Mark | None:
        now_ms = self._clock.now_ms()
        if now_ms + self.limits.send_seconds * SECOND_MS > message.due_ms:
            # Leasing took so long that the rest of the lease does not cover the send: another node may start it, too.
            return None
        given_up = give_up_unsent(message, now_ms, self.limits.retries)
        if given_up is not None:
            return given_up
        try:
            await self._send(message)
        except MailRefused as error:
            return after_refusal(message, str(error), self._clock.now_ms())
        except MailFailed as error:
            return after_failure(message, str(error), self._clock.now_ms(), self.limits.retries)
        except Exception as error:
            # A bug with one message must not stop the others or restart the sender. Only the frames are logged: the
            # error's text may quote the mail, and with it the code.
            frames = "".join(traceback.format_tb(error.__traceback__))
            self._log.error("mail %s hit a bug, %s:\n%s", message.id, type(error).__name__, frames)
            return after_failure(message, type(error).__name__, self._clock.now_ms(), self.limits.retries)
        return Sent(message.id, self._clock.now_ms())

    async def _send(self, message: QueuedMessage) -> None:
        mail = self._write(message)
        with trio.move_on_after(self.limits.send_seconds):
            await self._transport.send(mail)
            return
        raise MailFailed(f"not sent within {self.limits.send_seconds:g} s")

    def _rendered(self, message: QueuedMessage) -> Mail | None:
        try:
            return self._write(message)
        except (MailRefused, MailFailed):
            return None

    # Logs and counters.

    @property
    def _in_progress(self) -> int:
        return self._sending + len(self._unmarked)

    def _report(self, message: QueuedMessage, mark: Mark) -> None:
        recipient = masked(message.recipient)
        match mark:
            case Sent():
                self._sent += 1
                self._log.info("mail %s to %s sent, attempt %d", message.id, recipient, message.attempts)
            case RetryLater(error=error):
                self._log.warning(
                    "mail %s to %s failed on attempt %d, retrying: %s", message.id, recipient, message.attempts, error
                )
            case GivenUp(error=error):
                self._given_up += 1
                self._log.error("mail %s to %s given up: %s", message.id, recipient, error)

    def _on_error(self, error: Exception) -> None:
        self._unknown += isinstance(error, OutcomeUnknown)
        self._unavailable += isinstance(error, StorageUnavailable)
        super()._on_error(error)
