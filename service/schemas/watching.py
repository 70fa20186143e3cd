"""Wire models of a node's status, for operators. Numbers are for this node only."""

from typing import Literal

from pydantic import BaseModel, Field

from service.schemas.fields import Milliseconds, optional


class Alive(BaseModel):
    status: Literal["ok"]


class EventServers(BaseModel):
    """The servers of a distributed database that hold events."""

    total: int
    unavailable: int = Field(description="Events of these get 503; all others are recorded")


class Ready(BaseModel):
    status: Literal["ok"]
    node: str = Field(description="The process that answers; a new id at each start")
    liveNodes: int = Field(description="Number of processes that share the database, including this one", ge=1)
    eventServers: EventServers | None = optional("Only with a distributed database")


class NodeStatus(BaseModel):
    """The process that answered."""

    id: str = Field(description="A new id at each start")
    version: str
    startedAt: Milliseconds
    now: Milliseconds
    uptimeSeconds: int


class LiveNode(BaseModel):
    """A process that shares the database, and the limits that nodes count locally."""

    id: str
    host: str
    pid: int
    url: str = Field(description="Address that it listens on")
    version: str
    startedAt: Milliseconds
    beatAgeSeconds: float = Field(description="Seconds since its last heartbeat, by the clock of the database")
    thisOne: bool = Field(description="Whether it is the node that answered")


class ActorStatus(BaseModel):
    """An actor. Counts are since the process started."""

    name: str
    state: Literal["new", "running", "failed", "stopped"]
    accepting: bool
    waiting: int = Field(description="Messages in its mailbox")
    capacity: int = Field(description="Capacity of its mailbox; beyond that, messages are rejected")
    peak: int = Field(description="Highest number of waiting messages so far")
    batches: int
    messages: int
    lastBatch: int = Field(description="Messages in the last batch")
    meanBatch: float = Field(description="Average number of messages in a batch")
    meanCommitMs: float = Field(description="Average milliseconds of a commit")
    refused: int = Field(description="Callers rejected because the mailbox was full or closed")
    unavailable: int = Field(description="Callers rejected because the database did not answer")
    settled: int = Field(description="Commits whose outcome was unknown and had to be resolved")
    restarts: int


class PoolStatus(BaseModel):
    """Connections to the database. Counts are since the process started."""

    open: int
    busy: int
    waiting: int
    transactions: int
    contended: int
    unavailable: int
    unknown: int
    refused: int
    loopErrors: int


class EventServerStatus(BaseModel):
    """A server of a distributed database that holds events, as it answered in the last seconds."""

    name: str = Field(description="Its host and port")
    available: bool
    places: int = Field(description="How many of the 256 places of events it holds")
    preparedSeconds: float = Field(description="Age of its oldest prepared transaction")
    problems: list[str] = Field(description="What to mend")


class SnapshotStatus(BaseModel):
    """An in-memory snapshot that answers requests."""

    name: Literal["catalog", "placements"]
    revision: int = Field(description="Negative until loaded")
    away: bool = Field(description="Whether the database is unreachable, so that the snapshot may be outdated")
    ageSeconds: float | None = optional("Seconds since it was last known to be current")
    loads: int


class EventsStatus(BaseModel):
    """Placement events since the process started, by outcome."""

    recorded: int
    duplicate: int
    inactive: int
    crawler: int
    prefetch: int
    capped: int
    unavailable: int


class RefusalCount(BaseModel):
    operation: str
    error: str
    count: int


class RefusalRecord(BaseModel):
    """One refused request. Its caller is not recorded."""

    at: Milliseconds
    operation: str
    error: str
    status: int


class RefusalStatus(BaseModel):
    lastHour: list[RefusalCount] = Field(description="Most frequent first")
    recent: list[RefusalRecord] = Field(description="The last 100, newest first")


class OperationsStatus(BaseModel):
    """Status of the node that answered. `problems` says why it is not ready."""

    ready: bool
    problems: list[str]
    node: NodeStatus
    liveNodes: list[LiveNode] = Field(description="Oldest first; as of this node's last successful heartbeat")
    actors: list[ActorStatus]
    database: PoolStatus
    eventServers: list[EventServerStatus] = Field(description="Empty unless the database is distributed")
    snapshots: list[SnapshotStatus]
    events: EventsStatus
    refusals: RefusalStatus
