"""Wire models of how a node is: what those who run the service look at. Numbers are this node's alone."""

from typing import Literal

from pydantic import BaseModel, Field

from service.schemas.fields import Milliseconds, optional


class Alive(BaseModel):
    status: Literal["ok"]


class Ready(BaseModel):
    status: Literal["ok"]
    node: str = Field(description="Which process answers; made anew at each start")
    liveNodes: int = Field(description="How many processes share the database, this one among them", ge=1)


class NodeStatus(BaseModel):
    """Which process answered."""

    id: str = Field(description="Made anew at each start")
    version: str
    startedAt: Milliseconds
    now: Milliseconds
    uptimeSeconds: int


class LiveNode(BaseModel):
    """A process that shares the database, and with it every limit that nodes count by themselves."""

    id: str
    host: str
    pid: int
    url: str = Field(description="Where it listens")
    version: str
    startedAt: Milliseconds
    beatAgeSeconds: float = Field(description="Since its last beat, by the clock of the database")
    thisOne: bool = Field(description="Whether it is the node that answers")


class ActorStatus(BaseModel):
    """An actor; counts are since the process began."""

    name: str
    state: Literal["new", "running", "failed", "stopped"]
    accepting: bool
    waiting: int = Field(description="What waits in its mailbox")
    capacity: int = Field(description="What its mailbox holds at most; beyond that it refuses")
    peak: int = Field(description="The most that has ever waited")
    batches: int
    messages: int
    lastBatch: int = Field(description="Messages of the last batch")
    meanBatch: float = Field(description="Messages of a batch, on average")
    meanCommitMs: float = Field(description="Milliseconds of a commit, on average")
    refused: int = Field(description="Callers refused since the mailbox was full or closed")
    unavailable: int = Field(description="Callers refused since the database did not answer")
    settled: int = Field(description="Commits whose outcome had to be found out")
    restarts: int


class PoolStatus(BaseModel):
    """Connections to the database; counts are since the process began."""

    open: int
    busy: int
    waiting: int
    transactions: int
    contended: int
    unavailable: int
    unknown: int
    refused: int
    loopErrors: int


class SnapshotStatus(BaseModel):
    """A picture in memory that requests are answered from."""

    name: Literal["catalog", "placements"]
    revision: int = Field(description="Negative before it was loaded")
    away: bool = Field(description="Whether the database does not answer, so that an older picture may be served")
    ageSeconds: float | None = optional("Since it was last found to be the newest")
    loads: int


class EventsStatus(BaseModel):
    """Placement events since the process began, by what became of them."""

    recorded: int
    duplicate: int
    inactive: int
    crawler: int
    prefetch: int


class RefusalCount(BaseModel):
    operation: str
    error: str
    count: int


class RefusalRecord(BaseModel):
    """One request that was refused. Whose it was is not kept."""

    at: Milliseconds
    operation: str
    error: str
    status: int


class RefusalStatus(BaseModel):
    lastHour: list[RefusalCount] = Field(description="The most frequent first")
    recent: list[RefusalRecord] = Field(description="The last 100, the newest first")


class OperationsStatus(BaseModel):
    """How the node is that answered. `problems` say why it is not ready."""

    ready: bool
    problems: list[str]
    node: NodeStatus
    liveNodes: list[LiveNode] = Field(description="The oldest first; as of this node's last beat that got through")
    actors: list[ActorStatus]
    database: PoolStatus
    snapshots: list[SnapshotStatus]
    events: EventsStatus
    refusals: RefusalStatus
