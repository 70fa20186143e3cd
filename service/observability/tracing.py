"""The port of tracing: spans of requests and batches. Knows no tracing library; see `otel`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from actors.kernel.mailbox import TraceContext
from actors.kernel.statistics import ServedBatch

Attributes = Mapping[str, str | int]

HEADER = b"traceparent"
MAX_BYTES = 256
"""The longest header that is read. Version 00 has 55 bytes; later versions may append to them."""

_FORMAT = re.compile(rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?")
_SAMPLED = 1


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


def caller_of(headers: Iterable[tuple[bytes, bytes]]) -> TraceContext | None:
    """The caller's span; None without exactly one valid `traceparent`. Names are in lower case."""
    values = [value for name, value in headers if name == HEADER]
    return parsed(values[0]) if len(values) == 1 else None


def parsed(value: bytes) -> TraceContext | None:
    """The span that the value of a `traceparent` names; None if it is malformed."""
    found = _FORMAT.fullmatch(value) if len(value) <= MAX_BYTES else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if more is not None and version == b"00":
        return None
    return TraceContext(trace_id.decode(), span_id.decode(), sampled=bool(int(flags, 16) & _SAMPLED))
