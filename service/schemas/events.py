"""Wire models of placement events (specification, operation 12)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field
from pydantic.dataclasses import dataclass

from service.schemas.fields import Query, Reference, Strict, Uuid, absent, optional

BookingId = Annotated[Reference, Field(description="`bookingId` of the placement")]
EventKind = Annotated[Literal["impression", "click"], Field(description="Kind of event")]
VisitorId = Annotated[Uuid, Field(description="A random UUID that the website keeps for its visitor")]

EVENTS_IN_A_REQUEST = 500
"""The most events of one request (ADR 0033); a transaction must have room for them."""


class EventUnit(Query):
    """What counts as one visitor."""

    unit: Literal["device", "day"] = Field(
        default="device",
        description="What counts as one visitor: `device`, each `visitorId`; `day`, each client address and user agent",
    )


class EventBody(Strict):
    """An impression or a click of a visitor on a placement."""

    bookingId: BookingId
    kind: EventKind
    visitorId: VisitorId


# A dataclass is validated in half the time of a model and takes less memory.
@dataclass(frozen=True, slots=True, config=ConfigDict(strict=True, extra="forbid"))
class BatchEvent:
    """One event of a batch. Only a relay in `events.exempt_networks` may name the client that it saw, and only with the unit
    `day`."""

    bookingId: BookingId
    kind: EventKind
    visitorId: VisitorId
    clientAddress: Annotated[str, Field(max_length=64)] = absent(
        "With `unit=day`, from a relay: the IP address from which the visitor's request came"
    )
    userAgent: Annotated[str, Field(max_length=1_000)] = absent("With `clientAddress`: the visitor's user agent")


class EventResult(BaseModel):
    """`recorded` is true if this request counted the event, and false if it was dropped or counted before."""

    recorded: bool = Field(description="Whether this request counted the event")


class EventBatchBody(Strict):
    """Events of many visitors, as collected by a relay. Validation stops at the first invalid event."""

    events: Annotated[list[BatchEvent], Field(min_length=1, max_length=EVENTS_IN_A_REQUEST), FailFast()] = Field(
        description="The events, in any order"
    )


class BatchResult(EventResult):
    """Whether one event of a batch was recorded."""

    dropped: Literal["duplicate", "inactive", "crawler", "prefetch", "capped"] | None = optional(
        "Why it was not recorded"
    )


class UnavailableResult(BaseModel):
    """The event could not be recorded now, while others of the batch were answered. Send it again."""

    error: Literal["service_unavailable"] = Field(description="Always `service_unavailable`")


class EventBatchResult(BaseModel):
    """The result of each event, in order."""

    results: list[BatchResult | UnavailableResult] = Field(
        description="The result of each event, in the order of the request"
    )
