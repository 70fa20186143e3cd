"""The messages to sessions, devices and keys, and what each transaction stored for each of them.

Messages are told apart by identity, so two equal ones are two. Judges nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from actors.clock import day_of
from actors.kernel.actor import Actor
from actors.values import AuditRecord, BatchId, OutboxMessage
from tests.doubles.tables import Memory, MemoryStore, decided
from tests.simulation.faults import Link

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.world import World

asking_from: ContextVar[str] = ContextVar("asking_from", default="")
"""The network of the client whose request a task handles."""


@dataclass(slots=True, eq=False)
class Asked:
    """One message to an actor, from a client in `network`. `stored` has each transaction that stored it."""

    message: Any
    node: str
    began: int
    network: str
    stored: list[tuple[int, Any]] = field(default_factory=list)
    answer: Any = None
    ended: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """One transaction. It was decided at `now_ms`, which has to lie in `between`.

    `accounts` has the tenant of each email before, `full_keys` the number of live full keys of each tenant before, and `made`
    the number of all keys that it made, by day.
    """

    tick: int
    owner: str
    now_ms: int
    between: tuple[int, int]
    messages: tuple[Any, ...]
    networks: tuple[str, ...]
    answers: tuple[Any, ...]
    accounts: Mapping[str, str]
    full_keys: Mapping[str, int]
    made: Mapping[tuple[str, int], int]
    audits: tuple[AuditRecord, ...]
    letters: tuple[OutboxMessage, ...]
    key_ids: tuple[str, ...]

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """Each message with its answer."""
        return list(zip(self.messages, self.answers, strict=True))


@dataclass(slots=True, eq=False)
class _Decided:
    messages: tuple[Any, ...]
    now_ms: int
    answers: tuple[Any, ...]


class Decision(Protocol):
    """The common part of both actors' decisions."""

    answers: list[Any]


class Register:
    """The register of a world."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.asked: dict[int, Asked] = {}
        self.batches: list[Batch] = []
        self._messages: dict[tuple[str, int], tuple[Any, ...]] = {}
        self._decided: _Decided | None = None

    # Notes of nodes.

    def ask(self, node: str, message: Any) -> Asked:
        asked = self.asked[id(message)] = Asked(message, node, self._world.history.tick(), asking_from.get())
        return asked

    def answered(self, asked: Asked, answer: Any) -> None:
        asked.answer, asked.ended = answer, self._world.history.tick()

    def batch(self, batch_id: BatchId, messages: Sequence[Any]) -> None:
        self._messages[batch_id.owner, batch_id.seq] = tuple(messages)

    def deciding(self, batch_id: BatchId, decide: Callable[[Any], Any], now_ms: int) -> Callable[[Any], Any]:
        """Wrap `decide` to record its decision. A transaction that stores it follows in the same step."""
        messages = self._messages.get((batch_id.owner, batch_id.seq))
        if messages is None:
            return decide  # A planted bug has an actor of its own.

        def on(snapshot: Any) -> Any:
            decision: Decision = decided(decide(snapshot))
            self._decided = _Decided(messages, now_ms, tuple(decision.answers))
            return decision

        return on

    def record(self, batch_id: BatchId, work: Callable[[], Any]) -> tuple[Any, Batch]:
        """Do a transaction's work, and record what it stored."""
        memory = self._world.memory
        accounts = {account.email: account.tenant_id for account in memory.accounts.values()}
        full_keys, audits = live_full_keys(memory), len(memory.audits)
        made = Counter((key.tenant_id, day_of(key.created_ms)) for key in memory.keys.values())
        letters, key_ids = set(memory.messages), set(memory.keys)
        self._decided = None
        done, decided = work(), self._decided
        assert decided is not None, "a store that decides records it"
        node = self._world.nodes[int(batch_id.owner[1:].partition(".")[0])]
        batch = Batch(
            self._world.history.tick(),
            batch_id.owner,
            decided.now_ms,
            self._world.decided_between(node),
            decided.messages,
            tuple(self.asked[id(message)].network for message in decided.messages),
            decided.answers,
            accounts,
            full_keys,
            made,
            tuple(memory.audits[audits:]),
            tuple(letter for letter in memory.messages.values() if letter.id not in letters),
            tuple(key_id for key_id in memory.keys if key_id not in key_ids),
        )
        self.batches.append(batch)
        self._world.log.mailed.update(letter.id for letter in batch.letters)
        for message, answer in batch.pairs:
            self.asked[id(message)].stored.append((batch.tick, answer))
        return done, batch


def live_full_keys(memory: Memory) -> dict[str, int]:
    """Return how many full keys of people that are not revoked each tenant has."""
    live: dict[str, int] = {}
    for key in memory.keys.values():
        if key.scopes is None and key.revoked_ms is None and key.expires_ms is None:
            live[key.tenant_id] = live.get(key.tenant_id, 0) + 1
    return live


class Registered(Actor[Any, Any]):
    """A mixin for an actor, placed before its own class, that records messages and batches."""

    at: "Node"

    async def ask(self, message: Any, *, no_timeout: bool = False) -> Any:
        register = self.at.world.register
        asked = register.ask(self.at.name, message)
        answer = await super().ask(message, no_timeout=no_timeout)
        register.answered(asked, answer)
        return answer

    def tell(self, message: Any) -> bool:
        self.at.world.register.ask(self.at.name, message)
        return super().tell(message)

    async def commit(self, batch_id: BatchId, messages: Sequence[Any]) -> Sequence[Any]:
        self.at.world.register.batch(batch_id, messages)
        return await super().commit(batch_id, messages)


class RecordsDecisions(MemoryStore):
    """A mixin for a store, placed before its own class, that records decisions."""

    async def transact(self, batch_id: BatchId, locks: Any, decide: Callable[[Any], Any], now_ms: int) -> Any:
        link = self._memory
        assert isinstance(link, Link)
        decide = link.node.world.register.deciding(batch_id, decide, now_ms)
        return await cast("Any", super()).transact(batch_id, locks, decide, now_ms)
