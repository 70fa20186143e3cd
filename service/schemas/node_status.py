"""Wire models of a node's status, for operators. Numbers are for this node only."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from service.schemas.fields import AtLeast, Count, Milliseconds, Ratio, optional


class Alive(BaseModel):
    """The process is alive."""

    status: Literal["ok"] = Field(description="Always `ok`")


class EventServers(BaseModel):
    """The servers of a distributed database that hold events."""

    total: Count = Field(description="Number of servers")
    unavailable: Count = Field(description="Events of these get 503; all others are recorded")


class Ready(BaseModel):
    """The node can serve."""

    status: Literal["ok"] = Field(description="Always `ok`")
    node: str = Field(description="The process that answers; a new id at each start")
    liveNodes: int = Field(description="Number of processes that share the database, including this one", ge=1)
    eventServers: EventServers | None = optional("Only with a distributed database")
    problems: list[str] | None = optional(
        "Only with a distributed database of which a server is unavailable, while the node can record events"
    )


class NodeStatus(BaseModel):
    """The process that answered."""

    id: str = Field(description="A new id at each start")
    version: str = Field(description="Version of its program")
    startedAt: Milliseconds
    now: Milliseconds
    uptimeSeconds: Count = Field(description="Seconds since its start")


class LiveNode(BaseModel):
    """A process that shares the database, and the limits that nodes count locally."""

    id: str = Field(description="Id of the process, new at each start")
    host: str = Field(description="Name of its host")
    pid: Count = Field(description="Its process id")
    url: str = Field(description="Address that it listens on")
    version: str = Field(description="Version of its program")
    startedAt: Milliseconds
    beatAgeSeconds: Ratio = Field(description="Seconds since its last heartbeat, by the clock of the database")
    thisOne: bool = Field(description="Whether it is the node that answered")


class ActorStatus(BaseModel):
    """An actor. Counts are since the process started."""

    name: str = Field(description="Name of the actor")
    state: Literal["new", "running", "failed", "stopped"] = Field(description="State of the actor")
    accepting: bool = Field(description="Whether it takes new messages")
    waiting: Count = Field(description="Messages in its mailbox")
    capacity: Count = Field(description="Capacity of its mailbox; beyond that, messages are rejected")
    peak: Count = Field(description="Highest number of waiting messages so far")
    batches: Count = Field(description="Batches committed")
    messages: Count = Field(description="Messages handled")
    lastBatch: Count = Field(description="Messages in the last batch")
    meanBatch: Ratio = Field(description="Average number of messages in a batch")
    meanCommitMs: Ratio = Field(description="Average milliseconds of a commit")
    refused: Count = Field(description="Callers rejected because the mailbox was full or closed")
    unavailable: Count = Field(description="Callers rejected because the database did not answer")
    settled: Count = Field(description="Commits whose outcome was unknown and had to be resolved")
    restarts: Count = Field(description="Restarts after a failure")


class AnswersStatus(BaseModel):
    """The requests that the process answered since it started. A time is the upper bound of a bucket of the metrics."""

    count: Count = Field(description="Requests answered")
    failures: Count = Field(description="Requests answered with 5xx")
    halfWithinMs: Ratio | None = optional(
        "Half were answered within these milliseconds; left out if unknown, or over 10 s"
    )
    mostWithinMs: Ratio | None = optional(
        "99 of 100 were answered within these milliseconds; left out if unknown, or over 10 s"
    )


class MailStatus(BaseModel):
    """Mails that wait to be sent, the same on every node."""

    waiting: Count = Field(description="Mails in the outbox that are not sent; at most 1000 are counted")
    oldestSeconds: Ratio = Field(description="Age of the oldest of them in seconds; 0 without one")


class PoolStatus(BaseModel):
    """Connections to the database. Counts are since the process started."""

    open: Count = Field(description="Open connections")
    busy: Count = Field(description="Connections in use")
    waiting: Count = Field(description="Transactions that wait for a connection now")
    transactions: Count = Field(description="Transactions that began")
    contended: Count = Field(description="Transactions that failed in a conflict with another")
    unavailable: Count = Field(description="Transactions that failed because the database did not answer")
    unknown: Count = Field(description="Commits whose outcome was unknown")
    refused: Count = Field(description="Transactions that got no connection in time, or because too many waited")
    loopErrors: Count = Field(description="Errors of the event loop that runs the database driver")


class EventServerStatus(BaseModel):
    """A server of a distributed database that holds events, as it answered in the last seconds."""

    name: str = Field(description="Its host and port")
    available: bool = Field(description="Whether it answered")
    places: Count = Field(description="How many of the 256 places of events it holds")
    preparedSeconds: Ratio = Field(description="Seconds since its oldest prepared transaction began; 0 without one")
    problems: list[str] = Field(description="Problems to fix; empty without any")


class SnapshotStatus(BaseModel):
    """An in-memory snapshot that answers requests."""

    name: Literal["catalog", "placements"] = Field(description="Name of the snapshot")
    revision: Annotated[int, AtLeast(-1)] = Field(description="Negative until loaded")
    away: bool = Field(description="Whether the database is unreachable, so that the snapshot may be outdated")
    ageSeconds: Ratio | None = optional("Seconds since it was last known to be current")
    loads: Count = Field(description="Number of loads")


class EventsStatus(BaseModel):
    """Placement events since the process started, by outcome."""

    recorded: Count = Field(description="Counted")
    duplicate: Count = Field(description="Counted before for the same visitor")
    inactive: Count = Field(description="For a booking that is not shown now")
    crawler: Count = Field(description="From a known crawler")
    prefetch: Count = Field(description="From a browser that loads ahead")
    capped: Count = Field(description="Beyond the limit of an address or network")
    unavailable: Count = Field(description="Not recorded because the database did not answer")


class RefusalCount(BaseModel):
    """The number of refusals of an operation with one code."""

    operation: str = Field(description="Name of the operation")
    error: str = Field(description="Code of the refusal")
    count: Count = Field(description="Refusals in the last hour")


class RefusalRecord(BaseModel):
    """One refused request. Its caller is not recorded."""

    at: Milliseconds
    operation: str = Field(description="Name of the operation")
    error: str = Field(description="Code of the refusal")
    status: Count = Field(description="HTTP status")


class RefusalStatus(BaseModel):
    """Requests that the node refused."""

    lastHour: list[RefusalCount] = Field(description="Most frequent first")
    recent: list[RefusalRecord] = Field(description="The last 100, newest first")


class OperationsStatus(BaseModel):
    """Status of the node that answered."""

    ready: bool = Field(description="Whether the node can serve")
    problems: list[str] = Field(
        description="What is wrong with it. With a distributed database, a node that records events is ready with problems"
    )
    node: NodeStatus = Field(description="The node that answered")
    liveNodes: list[LiveNode] = Field(description="Oldest first; as of this node's last successful heartbeat")
    actors: list[ActorStatus] = Field(description="Its actors")
    answers: AnswersStatus = Field(description="The requests that it answered")
    mail: MailStatus = Field(description="The mails that wait")
    database: PoolStatus = Field(description="Its connections to the database")
    eventServers: list[EventServerStatus] = Field(description="Empty unless the database is distributed")
    snapshots: list[SnapshotStatus] = Field(description="Its snapshots in memory")
    events: EventsStatus = Field(description="Its placement events")
    refusals: RefusalStatus = Field(description="The requests that it refused")
