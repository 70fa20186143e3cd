"""What a node says of itself, and what it hears of others."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One process that serves. `url` is where it listens; `started_ms` is by its own clock, and for display only."""

    id: str
    host: str
    pid: int
    version: str
    url: str
    started_ms: int


@dataclass(frozen=True, slots=True)
class LiveNode:
    """A live node, and the seconds since its last beat by the clock of the store."""

    node: NodeInfo
    age_seconds: float
