"""The reports of an actor: its state, a snapshot of its counts, and each batch after its callers have their answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from actors.kernel.mailbox import Envelope


class State(Enum):
    """The stages in the life of an actor."""

    NEW = "new"
    RUNNING = "running"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ActorStatistics:
    """A snapshot of one actor. Counts start with the process. The mailbox, `messages` and `last_batch` use the units of
    `Actor.weigh`; `refused` and `unavailable` count callers."""

    name: str
    state: State
    accepting: bool
    waiting: int
    capacity: int
    peak: int
    batches: int
    messages: int
    refused: int
    unavailable: int
    settled: int
    restarts: int
    commit_seconds: float
    last_batch: int


@dataclass(slots=True)
class ServedBatch:
    """One batch of `actor`. Times are on Trio's clock."""

    actor: str
    envelopes: Sequence[Envelope[Any, Any]]
    size: int
    """In the units of `Actor.weigh`."""
    started: float
    committed: float = 0.0
    """The time at which its outcome was known, before its callers were answered."""
    ended: float = 0.0
    attempts: int = 0
    """How often it was committed until its outcome was known."""
    error: str = ""
    """The class of the error that its callers got, if any."""

    @property
    def seconds(self) -> float:
        return self.ended - self.started


Observer = Callable[[ServedBatch], None]
