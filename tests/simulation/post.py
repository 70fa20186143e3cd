"""The mail of the simulated world: a node's sender, its link to the mail server, and the boxes that people read.

The mail server accepts a mail, refuses it, or accepts it and its answer is lost. An accepted mail is in its box at
once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from actors.kernel.supervision import Member
from actors.mail.actor import MailSender
from actors.mail.messages import Lease, Mail, MailFailed, MailRefused, Outcome
from actors.values import OutboxMessage
from tests.doubles.mail import MemoryOutbox
from tests.simulation.faults import Link
from tests.simulation.rules import MAIL
from tests.simulation.sides import Counted, NodeSide

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World

EPSILON = 1e-6


@dataclass(slots=True, eq=False)
class Handed:
    """A mail handed to the mail server, from `start` to `end` in virtual seconds.

    The node had leased the message until its own clock reached `until_ms`.
    """

    mail: Mail
    node: str
    until_ms: int
    start: float
    end: float = float("inf")
    delivered: bool = False
    outcome: str = "cut"
    """The outcome for the node: `accepted`, `failed` (also by a timeout), `refused`, or `cut` if there was none."""


class MailServer:
    """The mail server of a world: every mail in the order handed in, and the boxes of the recipients."""

    def __init__(self, world: "World") -> None:
        self.handed: list[Handed] = []
        self.boxes: dict[str, list[str]] = {}
        self.leases: dict[tuple[str, str], int] = {}
        """The end of each lease, by message and node."""
        self._world = world
        self._marked = trio.Event()

    def letters(self, recipient: str) -> Sequence[OutboxMessage]:
        """Return the contents of a box, newest last. A message delivered twice appears twice."""
        return [self._world.memory.messages[message_id] for message_id in self.boxes.get(recipient, ())]

    def deliver(self, handed: Handed) -> None:
        handed.delivered = True
        self.boxes.setdefault(handed.mail.recipient, []).append(handed.mail.message_id)

    def marked(self) -> None:
        """Called when a node may have stored marks."""
        self._marked.set()
        self._marked = trio.Event()

    async def empty(self) -> None:
        """Wait until every message was sent or given up."""
        memory = self._world.memory
        while not all(
            message_id in memory.outbox and memory.outbox[message_id].done_ms for message_id in memory.messages
        ):
            await self._marked.wait()


class LinkedTransport:
    """A node's link to the mail server: the port `Transport`."""

    def __init__(self, node: "Node") -> None:
        self._node = node
        self._faults = node.world.faults

    async def send(self, mail: Mail) -> None:
        post, name = self._node.world.post, self._node.name
        handed = Handed(mail, name, post.leases[mail.message_id, name], trio.current_time())
        post.handed.append(handed)
        try:
            await self._travel()
            if self._faults.strikes("mail_refused"):
                handed.outcome = "refused"
                raise MailRefused("simulated: nobody of that name")
            if self._faults.strikes("mail_unavailable"):
                handed.outcome = "failed"
                raise MailFailed("simulated: try again later")
            post.deliver(handed)
            if self._faults.strikes("mail_answer_lost"):
                handed.outcome = "failed"
                raise MailFailed("simulated: the connection broke before the answer")
            await self._travel()
            handed.outcome = "accepted"
        finally:
            handed.end = trio.current_time()
            if handed.outcome == "cut" and handed.end >= handed.start + MAIL.send_seconds - EPSILON:
                handed.outcome = "failed"

    async def _travel(self) -> None:
        delays = self._faults.stream("post")
        slow = self._faults.strikes("mail_slow")
        await trio.sleep(delays.uniform(0.2, 1.5) if slow else delays.uniform(0.002, 0.03))


class LinkedOutbox(MemoryOutbox):
    """The outbox in memory. Records its leases."""

    async def lease(self, limit: int, now_ms: int, until_ms: int) -> Lease:
        lease = await super().lease(limit, now_ms, until_ms)
        link = self._memory
        assert isinstance(link, Link)
        for letter in lease.messages:
            link.node.world.post.leases[letter.id, link.node.name] = letter.due_ms
        return lease

    async def mark(self, marks: Sequence[Outcome]) -> None:
        link = self._memory
        assert isinstance(link, Link)
        try:
            await super().mark(marks)
        finally:
            link.node.world.post.marked()


class CountedSender(Counted, MailSender):
    pass


class Mailroom(NodeSide):
    """The mail of a node, for one life of it."""

    def __init__(self, node: "Node") -> None:
        self.sender = node.services.mail
        assert isinstance(self.sender, CountedSender)
        self.sender.node = node

    @property
    def members(self) -> list[Member]:
        return [self.sender]
