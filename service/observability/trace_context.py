"""Parses `traceparent` (W3C Trace Context, level 1). Pure. A malformed header is ignored, as the standard says."""

import re
from collections.abc import Iterable

from actors.tracing import TraceContext

HEADER = b"traceparent"
MOST_BYTES = 256
"""The longest header that is read. Version 00 has 55 bytes; later versions may append to them."""

_FORMAT = re.compile(rb"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?")
_SAMPLED = 1


def caller_of(headers: Iterable[tuple[bytes, bytes]]) -> TraceContext | None:
    """The caller's span; None without exactly one valid `traceparent`. Names are in lower case."""
    values = [value for name, value in headers if name == HEADER]
    return parsed(values[0]) if len(values) == 1 else None


def parsed(value: bytes) -> TraceContext | None:
    """The span that the value of a `traceparent` names; None if it is malformed."""
    found = _FORMAT.fullmatch(value) if len(value) <= MOST_BYTES else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if more is not None and version == b"00":
        return None
    return TraceContext(trace_id.decode(), span_id.decode(), sampled=bool(int(flags, 16) & _SAMPLED))
