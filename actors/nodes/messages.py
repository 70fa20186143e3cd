"""The values that nodes report and read about each other."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One process that serves. `url` is where it listens; `started_ms` is by its own clock, for display only."""

    id: str
    host: str
    pid: int
    version: str
    url: str
    started_ms: int


@dataclass(frozen=True, slots=True)
class LiveNode:
    """A live node, and the age of its last heartbeat in seconds, by the store's clock."""

    node: NodeInfo
    age_seconds: float
