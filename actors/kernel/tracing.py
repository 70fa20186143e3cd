"""The trace of a request (W3C Trace Context), which logs and spans name. Knows no tracing library."""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A span. The ids are lower-case hex: 32 digits of the trace, 16 of the span. `sampled`: it is recorded."""

    trace_id: str
    span_id: str
    sampled: bool


trace_context: ContextVar[TraceContext | None] = ContextVar("trace_context", default=None)
"""The span of the request that the current task serves: its own if it is recorded, else its caller's, else None."""
