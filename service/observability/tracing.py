"""The port of tracing: spans of requests and batches. Knows no tracing library; see `otel`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from actors.batches import ServedBatch
from actors.tracing import TraceContext

Attributes = Mapping[str, str | int]


@dataclass(slots=True)
class SpanCounts:
    """Spans since the start: those made, those that the collector took, and those that it did not take in time. Further
    ones wait, or were lost because too many waited."""

    made: int = 0
    sent: int = 0
    failed: int = 0


class RequestSpan(Protocol):
    """The recorded span of one request."""

    @property
    def context(self) -> TraceContext: ...

    def end(self, name: str, attributes: Attributes, *, failed: bool) -> None:
        """End the span now. `failed`: the service is to blame."""
        ...


class Tracer(Protocol):
    """Makes spans. Never waits, and never raises."""

    @property
    def counts(self) -> SpanCounts: ...

    def begin(self, caller: TraceContext | None) -> RequestSpan | None:
        """Begin the span of a request, in its caller's trace if it has one. None if the request is not recorded."""
        ...

    def batch(self, batch: ServedBatch) -> None:
        """Make the spans of a batch and of its commit, if it holds a message of a recorded request."""
        ...
