"""Helpers of these tests: an outbox in memory, a transport that follows a script, and senders."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager

import trio

from actors.clock import MINUTE_MS
from actors.kernel.supervision import ActorSupervisor, running
from actors.mail.actor import MailLimits, MailSender
from actors.mail.messages import Mail, QueuedMessage
from actors.mail.rendering import MailRenderer
from actors.mail.store import Outbox
from actors.shared.announcements import Topic
from actors.values import OutboxMessage
from tests.doubles.mail import MemoryOutbox
from tests.doubles.tables import Memory
from tests.fakes import Script, Step, TrioClock

BASE_MS = 1_763_640_000_000
CODE = "042137"


def link_of(facts: Mapping[str, str], recipient: str, sent_ms: int) -> str:
    return f"https://catalog.example/end/{facts['ends']}-{facts['target']}-{recipient}-{sent_ms}"


def stop_url_of(recipient: str, topic: Topic) -> str:
    return f"https://catalog.example/unsubscribe/{topic}-{recipient}"


SITE = "https://catalog.example"
WRITER = MailRenderer("Catalog <no-reply@catalog.example>", SITE, lambda nonce: CODE, link_of, stop_url_of)


class Transport:
    """Records the mails sent and when. Each send follows the next step of the script."""

    def __init__(self, steps: Iterable[Step] = (), on_sent: Callable[[], None] = lambda: None) -> None:
        self._script = Script(steps)
        self.on_sent = on_sent
        self.sent: list[tuple[float, str]] = []
        self.begun: list[float] = []
        self.busy = self.busiest = 0

    async def send(self, mail: Mail) -> None:
        self.begun.append(trio.current_time())
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            await self._script()
        finally:
            self.busy -= 1
        self.sent.append((trio.current_time(), mail.message_id))
        self.on_sent()


class Outgoing:
    """One store and one transport, which several senders may share."""

    def __init__(self, *steps: Step, memory: Memory | None = None, limits: MailLimits | None = None) -> None:
        self.memory = memory or Memory()
        self.store: Outbox = MemoryOutbox(self.memory)
        self.transport = Transport(steps)
        self.limits = limits or MailLimits()
        self.clock = TrioClock(BASE_MS)

    def sender(self, write: Callable[[QueuedMessage], Mail] = WRITER.write) -> MailSender:
        return MailSender(self.store, self.transport, self.clock, write, limits=self.limits)

    def open(self, *senders: MailSender) -> AbstractAsyncContextManager[ActorSupervisor]:
        return running(senders, drain_seconds=self.limits.close_seconds + 1)

    def post(
        self,
        message_id: str = "let_1",
        *,
        recipient: str = "anna@example.com",
        template: str = "claim_code",
        life_ms: int = 10 * MINUTE_MS,
    ) -> None:
        """Put a message into the outbox, as the key store does when a claim is started."""
        now_ms = self.clock.now_ms()
        message = OutboxMessage(message_id, recipient, template, b"nonce", now_ms, now_ms + life_ms)
        self.memory.messages[message_id] = message

    async def message(self, message_id: str = "let_1") -> QueuedMessage:
        return next(message for message in await self.store.recent(1_000) if message.id == message_id)

    def since_ms(self, at_ms: int | None) -> float | None:
        """A time of the outbox, in seconds on the test's clock."""
        return None if at_ms is None else (at_ms - BASE_MS) / 1_000
