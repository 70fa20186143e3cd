"""The state of an actor and a snapshot of its counts."""

from dataclasses import dataclass
from enum import Enum


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
