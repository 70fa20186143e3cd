"""The history of a run: every intent asked of a node and every client request, with its beginning, end and result.

Ticks count beginnings and ends in the one order in which they really happened; seconds are virtual.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from zlib import crc32

import trio

from actors.bookings.records import Content
from actors.events.messages import Event
from actors.kernel.mailbox import request_id
from actors.values import ActorFailed, OutboxMessage, Overloaded, Refused, Scope, Stopped, StorageUnavailable, Tier
from tests.simulation.rules import ORIGINS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Unknown:
    """The caller does not know whether the operation took effect."""

    why: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Rejected before it was queued: it certainly had no effect."""

    why: str


@dataclass(slots=True, eq=False)
class Operation:
    """One intent or request. `about` is its content, `result` its answer, `who` the request of an intent, or the client.

    `served` are the names under which nodes served a request: more than one if the network repeated it.
    """

    kind: str
    node: str
    about: Any
    began: int
    start: float
    result: Any = Unknown("cut")
    ended: int = 0
    end: float = 0.0
    who: str = ""
    served: list[str] = field(default_factory=list)

    @property
    def unknown(self) -> bool:
        return isinstance(self.result, Unknown)

    @property
    def fruitless(self) -> bool:
        """Certainly without effect."""
        return isinstance(self.result, Nothing | Refused)


# Contents of operations, by kind.


@dataclass(frozen=True, slots=True)
class Start:
    token: str
    email: str


@dataclass(frozen=True, slots=True)
class Complete:
    """`letter` is the message whose code was given; None if the code was guessed."""

    token: str
    email: str
    letter: OutboxMessage | None


@dataclass(frozen=True, slots=True)
class SetTo:
    email: str
    tier: Tier


@dataclass(frozen=True, slots=True)
class IssueFor:
    """`admin` asks for a full key that carries administration. `granted_by` is the id of the key that grants the new key
    its scopes; an operator needs none. All requests with one idempotency `key` have one `name`, and no other request has
    it.
    """

    email: str
    scoped: bool
    scopes: tuple[Scope, ...] = ()
    name: str | None = None
    granted_by: str | None = None
    key: str | None = None
    admin: bool = False


@dataclass(frozen=True, slots=True)
class Rotate:
    """A key that rotates itself, or that is rotated in a session. All requests with one idempotency `key` rotate it once."""

    key_id: str
    email: str
    grace_seconds: int
    key: str
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class EndAt:
    """A key that moves its own end to a time of the clock of all, or takes it away."""

    key_id: str
    email: str
    end_ms: int | None


@dataclass(frozen=True, slots=True)
class Paced:
    subject: str
    tier: Tier


@dataclass(frozen=True, slots=True)
class Admission:
    """A key used for an operation, by the operation's name."""

    operation: str
    text: str


@dataclass(frozen=True, slots=True)
class Book:
    """A booking or campaign to create under an idempotency key. `body` is all that tells bodies apart: of a booking, slot
    and week first."""

    owner: str
    operation: str
    key: str
    body: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a row. `owner` None is an administrator or the service itself. `what` is the move, or the words of a
    request and its answer; `seen` is the content that an administrator has read, `body` an event of the processor."""

    target: str
    owner: str | None = None
    what: str = ""
    payment: str = ""
    session: str = ""
    seen: Content | None = None
    body: str = ""


@dataclass(frozen=True, slots=True)
class Post:
    """A report of a website or a relay. `spoilt` is the index of the event that is malformed. `seen` are the addresses and
    user agents that a relay names, one for each event."""

    events: tuple[Event, ...]
    client: str
    batch: bool = False
    agent: str = "Mozilla/5.0 (X11; Linux x86_64)"
    purpose: str = ""
    spoilt: int | None = None
    by_day: bool = False
    seen: tuple[tuple[str, str], ...] = ()

    @property
    def named(self) -> tuple[Event, ...]:
        """The events with the visitors that they count for. All addresses are IPv4."""
        if not self.by_day:
            return self.events
        seen = self.seen or ((self.client, self.agent),) * len(self.events)
        return tuple(each._replace(visitor="\n".join(who)) for each, who in zip(self.events, seen, strict=True))

    @property
    def forged(self) -> bool:
        """Whether it names clients and must not."""
        return bool(self.seen) and not (self.by_day and self.client.startswith("127."))

    @property
    def origin(self) -> str:
        """The origin of the page, which follows from the visitor and the address; relays have none."""
        event = self.events[0]
        return (
            "" if self.batch else tuple(ORIGINS)[crc32(f"{event.visitor[:8]}{self.client[-1]}".encode()) % len(ORIGINS)]
        )


@dataclass(frozen=True, slots=True)
class Reported:
    """A post that a node received, under its request id."""

    request: str
    post: Post


@dataclass(frozen=True, slots=True)
class Handed:
    """Events passed to a deduper on behalf of a request."""

    request: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer to a post. With 200, it has the outcome of each event: `recorded`, or why it was dropped."""

    status: int
    outcomes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SignIn:
    """A code tried for an email, in a browser with this token or with none."""

    email: str
    code: str
    browser: str | None


@dataclass(frozen=True, slots=True)
class Within:
    """An action in a session of an account. `target` is what it acts on or with."""

    session_id: str
    email: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Typed:
    """A user code typed in a session. `approve` is None for a mere look-up."""

    user_code: str
    session_id: str
    email: str
    approve: bool | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A code, with what the program that has it says about itself."""

    code: str
    client_id: str
    verifier: str
    redirect_uri: str
    resource: str | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """A refresh token that a program sends, or the token that it gives up."""

    token: str
    client_id: str
    resource: str | None = None
    scopes: tuple[Scope, ...] | None = None


@dataclass(slots=True, eq=False)
class History:
    """`intents` by kind are what nodes asked of actors; `requests` are what clients saw over the network."""

    intents: dict[str, list[Operation]] = field(default_factory=dict)
    requests: list[Operation] = field(default_factory=list)
    _ticks: int = 0

    def tick(self) -> int:
        self._ticks += 1
        return self._ticks

    def of(self, kind: str) -> list[Operation]:
        return self.intents.setdefault(kind, [])

    async def intent(self, node: str, kind: str, about: Any, ask: Callable[[], Awaitable[T]]) -> T:
        """Run `ask` and record its outcome."""
        operation = Operation(kind, node, about, self.tick(), trio.current_time(), who=request_id.get())
        self.of(kind).append(operation)
        return await self._record(operation, ask)

    def note(self, node: str, kind: str, about: Any, result: Any) -> None:
        """Record an immediate answer."""
        tick, now = self.tick(), trio.current_time()
        self.of(kind).append(Operation(kind, node, about, tick, now, result, tick, now, request_id.get()))

    async def request(self, who: str, node: str, kind: str, ask: Callable[[list[str]], Awaitable[T]]) -> T:
        """Send a request by `ask`, which adds to its argument under which names nodes serve it."""
        operation = Operation(kind, node, None, self.tick(), trio.current_time(), who=who)
        self.requests.append(operation)
        return await self._record(operation, lambda: ask(operation.served))

    async def _record(self, operation: Operation, ask: Callable[[], Awaitable[T]]) -> T:
        try:
            result = await ask()
            operation.result = result
            return result
        except (Overloaded, Stopped) as error:
            operation.result = Nothing(type(error).__name__)
            raise
        except (StorageUnavailable, ActorFailed) as error:
            operation.result = Unknown(type(error).__name__)
            raise
        finally:
            operation.ended, operation.end = self.tick(), trio.current_time()

    def digest(self) -> str:
        """Return a hash of all results. It differs if two runs share a schedule but not their answers."""
        digest = hashlib.sha256()
        for operation in [*self.requests, *(each for kind in sorted(self.intents) for each in self.intents[kind])]:
            digest.update(f"{operation.kind} {operation.node} {operation.end!r} {operation.result!r}\n".encode())
        return digest.hexdigest()[:32]

    def __len__(self) -> int:
        return len(self.requests) + sum(len(operations) for operations in self.intents.values())
