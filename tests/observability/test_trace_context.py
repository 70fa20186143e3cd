"""`traceparent` as W3C Trace Context, level 1, defines it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.kernel.mailbox import TraceContext
from service.observability.tracing import MAX_BYTES, caller_of, parsed

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GOOD = f"00-{TRACE}-{SPAN}-01".encode()


@pytest.mark.parametrize(
    ("value", "sampled"),
    [
        (GOOD, True),
        (f"00-{TRACE}-{SPAN}-00".encode(), False),
        (f"00-{TRACE}-{SPAN}-fe".encode(), False),  # other flags are not ours
        (f"00-{TRACE}-{SPAN}-ff".encode(), True),
        (f"cc-{TRACE}-{SPAN}-01".encode(), True),  # a later version
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later".encode(), True),
        (f"01-{TRACE}-{SPAN}-01-".encode(), True),
    ],
)
def test_a_valid_header_names_trace_span_and_sampling(value: bytes, sampled: bool) -> None:
    assert parsed(value) == TraceContext(TRACE, SPAN, sampled)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        GOOD[:-1],
        GOOD + b"0",
        GOOD + b"-",
        GOOD + b"-more",
        GOOD + b"\n",
        b" " + GOOD,
        GOOD.upper(),
        GOOD.replace(b"-", b"_"),
        GOOD.replace(b"0a", b"0g", 1),
        b"ff" + GOOD[2:],
        b"cc" + GOOD[2:] + b"more",
        b"cc" + GOOD[2:] + b"-mo re",
        f"00-{'0' * 32}-{SPAN}-01".encode(),
        f"00-{TRACE}-{'0' * 16}-01".encode(),
        f"00-{TRACE}-{SPAN}-1".encode(),
        f"00-{TRACE}-{SPAN}-0\xb2".encode("latin-1"),
        f"00-{TRACE[:-1]}\u0661-{SPAN}-01".encode(),
        b"cc" + GOOD[2:] + b"-" + b"x" * MAX_BYTES,
    ],
)
def test_a_malformed_header_is_ignored(value: bytes) -> None:
    assert parsed(value) is None


@given(st.binary(max_size=80) | st.from_regex(rb"\A[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z"))
def test_what_is_read_can_be_written_again(value: bytes) -> None:
    found = parsed(value)
    if found is not None:
        assert value[3:52] == f"{found.trace_id}-{found.span_id}".encode()
        assert int(found.trace_id, 16) > 0 < int(found.span_id, 16)


def test_a_caller_that_sends_two_headers_has_no_trace() -> None:
    assert caller_of([(b"host", b"x"), (b"traceparent", GOOD)]) == parsed(GOOD)
    assert caller_of([(b"traceparent", GOOD), (b"traceparent", GOOD)]) is None
    assert caller_of([(b"tracestate", b"a=1")]) is None
