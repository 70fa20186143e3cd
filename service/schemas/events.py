"""Wire models of placement events (specification, operation 12; decisions, section 9)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field
from pydantic.dataclasses import dataclass

from service.schemas.fields import Reference, Strict, Uuid, optional

EVENTS_IN_A_REQUEST = 500
"""Maximum number of events in one request (decisions, section 9)."""

BookingId = Annotated[Reference, Field(description="`bookingId` of the placement")]
EventKind = Literal["impression", "click"]
VisitorId = Annotated[Uuid, Field(description="A random UUID that the website keeps for its visitor")]


class EventBody(Strict):
    """What a visitor did with a placement."""

    bookingId: BookingId
    kind: EventKind
    visitorId: VisitorId


# Read in half the time of a model, and kept in less room.
@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))
class BatchEvent:
    """What a visitor did with a placement, one of many."""

    bookingId: BookingId
    kind: EventKind
    visitorId: VisitorId


class EventResult(BaseModel):
    """True means that it is kept, and said so only once; false that it is not, or counts already."""

    recorded: bool


class EventBatchBody(Strict):
    """Events of many visitors, as a relay collects them. The first bad one is told of; the rest is not looked at."""

    events: Annotated[list[BatchEvent], Field(min_length=1, max_length=EVENTS_IN_A_REQUEST), FailFast()]


class BatchResult(EventResult):
    dropped: Literal["duplicate", "inactive", "crawler", "prefetch"] | None = optional("Why it is not recorded")


class EventBatchResult(BaseModel):
    """What became of each event, in order."""

    results: list[BatchResult]
