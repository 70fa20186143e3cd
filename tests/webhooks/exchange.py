"""A sender in virtual time: a store in memory, and receivers that answer, fail or hang as a test says."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

import trio

from actors.clock import TrioClock
from actors.kernel.supervision import ActorSupervisor, running
from actors.webhooks.messages import Task, Webhook
from actors.webhooks.sender import SenderLimits, WebhookSender
from actors.webhooks.store import DeliveryFailed
from storage.memory.tables import Memory
from storage.memory.webhooks import MemoryWebhooks
from tests.stores.webhooks import NOW, Post, told, webhook

Reply = Callable[[Task], float | int | Exception]
"""The behaviour of a receiver: it answers after so many seconds (a float), at once with a status, or fails."""

NEVER = float("inf")


@dataclass(slots=True)
class Received:
    """A delivery that a receiver answered with 2xx."""

    at: float
    webhook_id: str
    event_id: str


@dataclass
class World:
    """One database, and receivers by their host. Those without a reply answer at once."""

    limits: SenderLimits = field(default_factory=SenderLimits)
    memory: Memory = field(default_factory=Memory)
    replies: dict[str, Reply] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    begun: list[tuple[float, str, str]] = field(default_factory=list)
    busy: dict[str, int] = field(default_factory=dict)
    busiest: dict[str, int] = field(default_factory=dict)
    bodies: list[tuple[str, str]] = field(default_factory=list)
    clock: TrioClock = field(default_factory=lambda: TrioClock(NOW))

    def __post_init__(self) -> None:
        self.post = Post(MemoryWebhooks(self.memory), self.memory)
        self._told = 0

    def sender(self) -> WebhookSender:
        return WebhookSender(self.post.store, Receivers(self), self.clock, limits=self.limits)

    def open(self, *senders: WebhookSender) -> AbstractAsyncContextManager[ActorSupervisor]:
        return running(senders, drain_seconds=self.limits.close_seconds + 1)

    def add(self, number: int, owner: int, host: str = "", *, slow: bool = False) -> Webhook:
        """A webhook, without the limit of an account."""
        own = replace(webhook(number, owner, host=host), slow=slow)
        self.memory.webhooks[own.id] = own
        return own

    async def tell(self, count: int = 1, owner: int = 1, subject: str = "") -> list[str]:
        """Events of an account, now, each of a booking of its own unless there is a `subject`."""
        webhook_events = []
        for _ in range(count):
            self._told += 1
            webhook_events.append(told(self._told, subject or f"bok_{self._told}", owner, at_ms=self.clock.now_ms()))
        await self.post.publish(*webhook_events)
        return [each.id for each in webhook_events]

    def got(self, webhook_id: str) -> list[str]:
        return [each.event_id for each in self.received if each.webhook_id == webhook_id]


def _promptly(task: Task) -> float:
    return 0.01


class Receivers:
    """The port, towards the receivers of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def post(self, task: Task) -> int:
        world, host = self._world, task.webhook.host
        world.begun.append((trio.current_time(), host, task.delivery.event_id))
        world.bodies.append((task.delivery.event_id, task.delivery.body))
        world.busy[host] = world.busy.get(host, 0) + 1
        world.busiest[host] = max(world.busiest.get(host, 0), world.busy[host])
        try:
            status = await self._reply(task)
        finally:
            world.busy[host] -= 1
        world.received.append(Received(trio.current_time(), task.webhook.id, task.delivery.event_id))
        return status

    async def _reply(self, task: Task) -> int:
        host = task.webhook.host.partition(":")[0]
        reply = self._world.replies.get(host, _promptly)(task)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, float):
            await trio.sleep(reply)
            return 200
        await trio.sleep(0.01)
        if not 200 <= reply <= 299:
            raise DeliveryFailed(f"status {reply}", reply)
        return reply
