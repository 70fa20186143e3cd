"""The stores in memory: the same contract as over Postgres, for tests and the simulation.

One `Memory` stands for one database that several nodes may share. A transaction runs without a checkpoint between its
reads and its writes, so it is atomic and isolated by Trio's own rules. `before` and `after` are where a test or the
simulation makes a store slow, fail, or lose its answer.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import trio

from actors.bookings.records import Booking, Campaign, IdempotencyRecord, Slot, Sponsor
from actors.devices.messages import Device, Guesses
from actors.events.messages import Row
from actors.keys.messages import Claim, Key
from actors.mail.messages import QueuedMessage
from actors.nodes.messages import NodeInfo
from actors.sessions.messages import Session, SignIn
from actors.values import Account, AuditRecord, BatchId, OutboxMessage, Tenant

D = TypeVar("D")


async def _checkpoint() -> None:
    await trio.lowlevel.checkpoint()


@dataclass(eq=False, slots=True)
class Memory:
    """All tables. `listeners` are called with each announced topic, as LISTEN would tell a node."""

    tenants: dict[str, Tenant] = field(default_factory=dict)
    usage_days: dict[tuple[str, int], int] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    claims: dict[bytes, Claim] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    administrators: dict[str, int] = field(default_factory=dict)
    messages: dict[str, OutboxMessage] = field(default_factory=dict)
    # The delivery of those letters that were leased or marked, by the letter's id.
    outbox: dict[str, QueuedMessage] = field(default_factory=dict)
    audits: list[AuditRecord] = field(default_factory=list)
    # By email.
    sign_ins: dict[str, SignIn] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    # When a form was sent, by session and form.
    forms: dict[tuple[str, str], int] = field(default_factory=dict)
    devices: dict[str, Device] = field(default_factory=dict)
    # By session.
    device_guesses: dict[str, Guesses] = field(default_factory=dict)
    # When a key was last used, by its id.
    key_uses: dict[str, int] = field(default_factory=dict)
    # By tenant.
    sponsors: dict[str, Sponsor] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    campaigns: dict[str, Campaign] = field(default_factory=dict)
    bookings: dict[str, Booking] = field(default_factory=dict)
    # The booking that holds a week, by slot and start of the week.
    slot_weeks: dict[tuple[str, int], str] = field(default_factory=dict)
    # By tenant, operation and key.
    booking_keys: dict[tuple[str, str, str], IdempotencyRecord] = field(default_factory=dict)
    # The booking of a handled event.
    payment_events: dict[str, str] = field(default_factory=dict)
    # Impressions and clicks, by booking and day.
    delivery_days: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    # The keys of events by day; a day that is there has a partition.
    events: dict[int, dict[bytes, Row]] = field(default_factory=dict)
    # A node and when it last beat, by its id.
    nodes: dict[str, tuple[NodeInfo, float]] = field(default_factory=dict)
    sponsorship_revision: int = 0
    journal: dict[str, int] = field(default_factory=dict)
    listeners: list[Callable[[str], None]] = field(default_factory=list)
    before: Callable[[], Awaitable[None]] = _checkpoint
    after: Callable[[], Awaitable[None]] = _checkpoint

    async def transact(self, batch_id: BatchId, work: Callable[[], D]) -> D:
        """Run `work` once per turn: what `storage.journal` does over Postgres."""
        await self.before()
        if self.journal.get(batch_id.owner, 0) >= batch_id.seq:
            decided: D = batch_id.decided
        else:
            decided = batch_id.decided = work()
            self.journal[batch_id.owner] = batch_id.seq
        await self.after()
        return decided

    def announce(self, topics: Sequence[str]) -> None:
        for topic in topics:
            for listener in self.listeners:
                listener(topic)
