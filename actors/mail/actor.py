"""The mail sender. Knows nothing of SMTP, SQL or the wording of mails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import trio

from actors.clock import Clock
from actors.kernel.leasing import LeasingSender, SendLimits
from actors.mail.messages import (
    Backlog,
    GivenUp,
    Mail,
    MailFailed,
    MailRefused,
    Outcome,
    QueuedMessage,
    RenderedMessage,
    RetryLater,
    Sent,
)
from actors.mail.state import Retries, after_failure, after_refusal, expire_unsent, masked
from actors.mail.store import Outbox, Transport
from actors.times import DAY_MS, SECOND_MS


@dataclass(frozen=True, slots=True)
class MailLimits(SendLimits):
    """Bounds of the mail sender."""

    keep_days: int = 7
    prune_seconds: float = 3_600.0
    prune_rows: int = 500
    shown: int = 200
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        SendLimits.__post_init__(self)
        assert self.prune_rows > 0


class MailSender(LeasingSender[QueuedMessage, Outcome]):
    """Sends the mails of the outbox. `write` renders a message and raises `MailRefused` or `MailFailed` if it cannot."""

    name = "mail"
    piece = "mail"

    def __init__(
        self,
        store: Outbox,
        transport: Transport,
        clock: Clock,
        write: Callable[[QueuedMessage], Mail],
        *,
        limits: MailLimits,
    ) -> None:
        super().__init__(clock, limits)
        self.limits = limits
        self.backlog = Backlog()
        """The messages that waited in the outbox at the last lease."""
        self._store = store
        self._transport = transport
        self._write = write
        self._prune_at_ms = 0

    async def recent(self, limit: int) -> list[RenderedMessage]:
        """The newest messages, rendered with their codes, at most `limits.shown`. For developers only."""
        messages = await self._store.recent(min(limit, self.limits.shown))
        return [RenderedMessage(message, self._rendered(message)) for message in messages]

    def oldest_seconds(self) -> float:
        """The age of the oldest message that waited at the last lease; 0 if none did."""
        return self._age_seconds(self.backlog.oldest_ms)

    async def _lease(self, free: int, now_ms: int, until_ms: int) -> tuple[Sequence[QueuedMessage], int | None]:
        lease = await self._store.lease(free, now_ms, until_ms)
        self.backlog = lease.backlog
        return lease.messages, lease.next_due_ms

    async def _record(self, outcomes: Sequence[Outcome]) -> None:
        await self._store.mark(outcomes)

    async def _look_after(self) -> None:
        """Delete old messages."""
        now_ms = self._clock.now_ms()
        if now_ms < self._prune_at_ms:
            return
        deleted = await self._store.prune(now_ms - self.limits.keep_days * DAY_MS, self.limits.prune_rows)
        # A full batch means that there is more. It waits for the next round, so that mail is never delayed by it.
        if deleted < self.limits.prune_rows:
            self._prune_at_ms = now_ms + int(self.limits.prune_seconds * SECOND_MS)

    async def _send(self, work: QueuedMessage, now_ms: int) -> Outcome:
        given_up = expire_unsent(work, now_ms, self.limits.retries)
        if given_up is not None:
            return given_up
        try:
            await self._transmit(self._write(work))
        except MailRefused as error:
            return after_refusal(work, str(error), self._clock.now_ms())
        except MailFailed as error:
            return self._failed(work, now_ms, str(error))
        return Sent(work.id, self._clock.now_ms())

    async def _transmit(self, mail: Mail) -> None:
        with trio.move_on_after(self.limits.send_seconds):
            await self._transport.send(mail)
            return
        raise MailFailed(f"not sent within {self.limits.send_seconds:g} s")

    def _failed(self, work: QueuedMessage, now_ms: int, error: str) -> Outcome:
        return after_failure(work, error, self._clock.now_ms(), self.limits.retries)

    def _rendered(self, message: QueuedMessage) -> Mail | None:
        try:
            return self._write(message)
        except (MailRefused, MailFailed):
            return None

    def _report(self, work: QueuedMessage, outcome: Outcome) -> None:
        place = (work.id, masked(work.recipient))
        match outcome:
            case Sent():
                self.sent += 1
                self._log.info("mail %s to %s sent, attempt %d", *place, work.attempts)
            case RetryLater(error=error):
                self._log.warning("mail %s to %s failed on attempt %d, retrying: %s", *place, work.attempts, error)
            case GivenUp(error=error):
                self.refused += 1
                self._log.error("mail %s to %s given up: %s", *place, error)
