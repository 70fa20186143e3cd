"""The mail sender: leases due letters, sends each outside of any transaction, and keeps how it ended.

At least once: two nodes never send a letter within one lease, and a node that dies between sending and marking leaves
a letter that is sent again when its lease ends. Knows nothing of SMTP or SQL, nor of what letters say.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import trio

from actors.actor import ActorStatistics, State
from actors.clock import DAY_MS, SECOND_MS, Clock
from actors.mail.messages import Again, GivenUp, Mail, MailFailed, MailRefused, Mark, OutboxLetter, Sent, Shown
from actors.mail.state import Retries, after_failure, after_refusal, hopeless, masked
from actors.mail.store import Outbox, Transport
from actors.periodic import PeriodicTask
from actors.values import OutcomeUnknown, StorageUnavailable, TransientStorageError


@dataclass(frozen=True, slots=True)
class MailLimits:
    """Bounds of the mail sender. `close_seconds` has to be less than the troupe's drain."""

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
    """A member of the troupe. `write` turns a letter into words and raises `MailRefused` or `MailFailed` if it cannot.

    Slots are what bounds it: a slot is taken from the lease of a letter until its end is kept in the store.
    """

    name = "mail"

    def __init__(
        self,
        store: Outbox,
        transport: Transport,
        clock: Clock,
        write: Callable[[OutboxLetter], Mail],
        *,
        limits: MailLimits,
    ) -> None:
        super().__init__(limits.poll_seconds, retry_seconds=limits.storage_pause_seconds)
        self.limits = limits
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

    async def recent(self, limit: int) -> list[Shown]:
        """The newest letters in words, codes included, at most `limits.shown`: for a developer's eyes only."""
        letters = await self._store.recent(min(limit, self.limits.shown))
        return [Shown(letter, self._written(letter)) for letter in letters]

    @property
    def accepting(self) -> bool:
        return self.state is State.RUNNING and not self._closed

    def statistics(self) -> ActorStatistics:
        """Slots taken as `waiting`, leases as `batches`, mails sent as `messages`, letters given up as `refused`."""
        return ActorStatistics(
            name=self.name,
            state=self.state,
            accepting=self.accepting,
            waiting=self._taken,
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
        return f"<MailSender {self.state.value} {self._taken}/{self.limits.sends} on their way, {self._sent} sent>"

    # The rounds.

    async def _repeat(self, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as self._sends:
            await super()._repeat(task_status)
            self._sends.cancel_scope.cancel()

    async def _round(self) -> float:
        """Record finished attempts and start the letters that are due."""
        began = trio.current_time()
        try:
            await self._keep_marks()
            pause_seconds = await self._start_due()
            await self._prune()
        finally:
            self._store_seconds += trio.current_time() - began
        return pause_seconds

    async def _keep_marks(self) -> None:
        marks = tuple(self._unmarked)
        if marks:
            await self._store.mark(marks)
            # Others may have been appended while these were kept.
            del self._unmarked[: len(marks)]

    async def _start_due(self) -> float:
        assert self._sends is not None
        free = self.limits.sends - self._taken
        if free == 0 or self._closed:
            return self.limits.poll_seconds
        now_ms = self._clock.now_ms()
        lease = await self._store.lease(free, now_ms, now_ms + int(self.limits.lease_seconds * SECOND_MS))
        for letter in lease.letters:
            self._sending += 1
            self._sends.start_soon(self._deliver, letter)
        if lease.letters:
            self._leases += 1
            self._last_lease = len(lease.letters)
            self._peak = max(self._peak, self._taken)
        return self._until(lease.next_due_ms)

    def _until(self, due_ms: int | None) -> float:
        """Until then, at most a poll; a letter that is due and was not leased is in another node's hands right now."""
        if due_ms is None or self._taken == self.limits.sends:
            return self.limits.poll_seconds
        rest_seconds = (due_ms - self._clock.now_ms()) / SECOND_MS
        return min(max(rest_seconds, self.limits.poll_min_seconds), self.limits.poll_seconds)

    async def _prune(self) -> None:
        now_ms = self._clock.now_ms()
        if now_ms < self._prune_at_ms:
            return
        deleted = await self._store.prune(now_ms - self.limits.keep_days * DAY_MS, self.limits.prune_rows)
        # A full batch means that there is more: it goes at the next look, so that mail is never kept waiting.
        if deleted < self.limits.prune_rows:
            self._prune_at_ms = now_ms + int(self.limits.prune_seconds * SECOND_MS)

    async def _finish(self) -> None:
        """Wait at most `close_seconds` for the sends in flight, and record how they ended."""
        with trio.move_on_after(self.limits.close_seconds):
            while self._taken:
                try:
                    await self._keep_marks()
                except TransientStorageError as error:
                    self._on_error(error)
                    await trio.sleep(self.limits.storage_pause_seconds)
                    continue
                if self._sending and not self._unmarked:
                    await self._pause(inf)
            return
        self._log.warning("cut off %d letters while closing; they are sent when their lease ends", self._taken)

    # One letter.

    async def _deliver(self, letter: OutboxLetter) -> None:
        try:
            mark = await self._try_letter(letter)
            if mark is not None:
                self._unmarked.append(mark)
                self._report(letter, mark)
        finally:
            self._sending -= 1
            self.wake()

    async def _try_letter(self, letter: OutboxLetter) -> Mark | None:
        now_ms = self._clock.now_ms()
        if now_ms + self.limits.send_seconds * SECOND_MS > letter.due_ms:
            # The lease took long to come by: what is left of it does not cover the send, so another node may begin.
            return None
        given_up = hopeless(letter, now_ms, self.limits.retries)
        if given_up is not None:
            return given_up
        try:
            await self._send(letter)
        except MailRefused as error:
            return after_refusal(letter, str(error), self._clock.now_ms())
        except MailFailed as error:
            return after_failure(letter, str(error), self._clock.now_ms(), self.limits.retries)
        except Exception as error:
            # A bug that one letter meets must not stop the others, nor end the process by restarts.
            # The frames without the message: a message may quote the mail, and with it the code.
            frames = "".join(traceback.format_tb(error.__traceback__))
            self._log.error("letter %s met a bug, %s:\n%s", letter.id, type(error).__name__, frames)
            return after_failure(letter, type(error).__name__, self._clock.now_ms(), self.limits.retries)
        return Sent(letter.id, self._clock.now_ms())

    async def _send(self, letter: OutboxLetter) -> None:
        mail = self._write(letter)
        with trio.move_on_after(self.limits.send_seconds):
            await self._transport.send(mail)
            return
        raise MailFailed(f"not sent within {self.limits.send_seconds:g} s")

    def _written(self, letter: OutboxLetter) -> Mail | None:
        try:
            return self._write(letter)
        except (MailRefused, MailFailed):
            return None

    # What is told.

    @property
    def _taken(self) -> int:
        return self._sending + len(self._unmarked)

    def _report(self, letter: OutboxLetter, mark: Mark) -> None:
        recipient = masked(letter.recipient)
        match mark:
            case Sent():
                self._sent += 1
                self._log.info("letter %s to %s was sent, attempt %d", letter.id, recipient, letter.attempts)
            case Again(error=error):
                self._log.warning(
                    "letter %s to %s waits after attempt %d: %s", letter.id, recipient, letter.attempts, error
                )
            case GivenUp(error=error):
                self._given_up += 1
                self._log.error("letter %s to %s is given up: %s", letter.id, recipient, error)

    def _on_error(self, error: Exception) -> None:
        self._unknown += isinstance(error, OutcomeUnknown)
        self._unavailable += isinstance(error, StorageUnavailable)
        super()._on_error(error)
