"""Tracing by OpenTelemetry: its SDK makes the spans, and a thread of it sends them. Loaded only with `tracing.otlp_url`."""

import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

import requests
import trio
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    format_span_id,
    format_trace_id,
    set_span_in_context,
)

from actors.clock import Clock, Entropy
from actors.kernel.mailbox import TraceContext
from actors.kernel.statistics import ServedBatch
from actors.nodes.messages import NodeInfo
from actors.times import MINUTE_MS, SECOND_MS
from service.config.process import Tracing
from service.config.user_errors import ConfigError
from service.observability.tracing import Attributes, SpanCounts

log = logging.getLogger(__name__)

MAX_LINKS = 128
"""Most requests that the span of a batch links to."""

SEND_SECONDS = 1.0
"""How long spans wait for others to be sent with. At most `BATCH` are sent together."""
BATCH = 128

FLUSH_SECONDS = 2.0
"""Maximum time at shutdown to send the last spans. Beyond it, they are lost."""

QUIET_SECONDS = 60.0
"""Minimum time between two warnings of lost spans."""

CALLERS_A_SECOND = 50
"""Most requests in a second that are recorded because their callers say so. `sample` decides about the others."""

MULTIPLE_CHOICES, BAD_REQUEST = 300, 400

_DRAW_BYTES = 4
_MS, _S = 1_000_000, 1_000_000_000
_FAILED = Status(StatusCode.ERROR)


class OtelTracer:
    """Makes spans with `provider`. Of requests without a caller's trace it records the share `sample`."""

    def __init__(self, provider: TracerProvider, sample: float, clock: Clock, entropy: Entropy) -> None:
        self.counts = SpanCounts()
        self._tracer = provider.get_tracer("service")
        self._bound: int = round(sample * 256**_DRAW_BYTES)
        self._clock = clock
        self._entropy = entropy
        self._offset_ns = 0
        self._compare_at = 0.0
        self._callers_left, self._callers_second = 0, -1

    def begin(self, caller: TraceContext | None) -> "_RequestSpan | None":
        sampled = caller is not None and caller.sampled and self._takes_caller()
        if not sampled and (caller is None or caller.sampled):
            sampled = self._draw()
        if not sampled:
            return None
        parent = None if caller is None else _span_context(caller, remote=True)
        span = self._start("request", SpanKind.SERVER, parent, trio.current_time())
        return _RequestSpan(span, self) if span.is_recording() else None

    def batch(self, batch: ServedBatch) -> None:
        traces = dict.fromkeys(each.trace for each in batch.envelopes if each.trace is not None and each.trace.sampled)
        if not traces:
            return
        requests = [_span_context(trace) for trace in islice(traces, MAX_LINKS)]
        span = self._start(f"{batch.actor} batch", SpanKind.INTERNAL, requests[0], batch.started, requests)
        span.set_attributes(
            {"catalog.actor": batch.actor, "catalog.messages": batch.size, "catalog.requests": len(traces)}
        )
        commit = self._start(f"{batch.actor} commit", SpanKind.CLIENT, span.get_span_context(), batch.started)
        commit.set_attributes(
            {"catalog.actor": batch.actor, "catalog.attempts": batch.attempts, "db.system.name": "postgresql"}
        )
        if batch.error:
            for each in (span, commit):
                each.set_attribute("error.type", batch.error)
                each.set_status(_FAILED)
        commit.end(self.unix_ns(batch.committed or batch.ended))
        span.end(self.unix_ns(batch.ended))

    def unix_ns(self, moment: float) -> int:
        """A moment of Trio's clock as Unix time in nanoseconds. The clocks are compared once a minute, so that the spans
        of a trace are exact to each other and follow an adjusted clock."""
        if moment >= self._compare_at:
            now = trio.current_time()
            self._offset_ns = self._clock.now_ms() * _MS - int(now * _S)
            self._compare_at = now + MINUTE_MS / SECOND_MS
        return int(moment * _S) + self._offset_ns

    def _takes_caller(self) -> bool:
        """Whether a request is recorded because its caller is: anybody can say so, and not everybody can be believed."""
        second = int(trio.current_time())
        if second != self._callers_second:
            self._callers_left, self._callers_second = CALLERS_A_SECOND, second
        self._callers_left -= 1
        return self._callers_left >= 0

    def _draw(self) -> bool:
        return int.from_bytes(self._entropy.token(_DRAW_BYTES), "big") < self._bound

    def _start(
        self, name: str, kind: SpanKind, parent: SpanContext | None, moment: float, links: Sequence[SpanContext] = ()
    ) -> Span:
        self.counts.made += 1
        context = Context() if parent is None else set_span_in_context(NonRecordingSpan(parent), Context())
        return self._tracer.start_span(
            name, context, kind, links=[Link(each) for each in links], start_time=self.unix_ns(moment)
        )


class _RequestSpan:
    __slots__ = ("_span", "_tracer", "context")

    def __init__(self, span: Span, tracer: OtelTracer) -> None:
        own = span.get_span_context()
        self.context = TraceContext(format_trace_id(own.trace_id), format_span_id(own.span_id), sampled=True)
        self._span = span
        self._tracer = tracer

    def end(self, name: str, attributes: Attributes, *, failed: bool) -> None:
        self._span.update_name(name)
        self._span.set_attributes(attributes)
        if failed:
            self._span.set_status(_FAILED)
        self._span.end(self._tracer.unix_ns(trio.current_time()))


def _span_context(trace: TraceContext, *, remote: bool = False) -> SpanContext:
    return SpanContext(int(trace.trace_id, 16), int(trace.span_id, 16), remote, TraceFlags(TraceFlags.SAMPLED))


def resource_of(settings: Tracing, node: NodeInfo) -> Resource:
    """The attributes that all spans of a node share. `OTEL_RESOURCE_ATTRIBUTES` may add to it."""
    return Resource.create(
        {
            "service.name": settings.service_name,
            "service.version": node.version,
            "service.instance.id": node.id,
        }
    )


def provider_of(resource: Resource) -> TracerProvider:
    """A provider that records each span: `OtelTracer.begin` has chosen the requests, before the SDK does any work."""
    return TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)  # `exporting` ends it


@asynccontextmanager
async def exporting(settings: Tracing, node: NodeInfo, clock: Clock, entropy: Entropy) -> AsyncIterator[OtelTracer]:
    """Send the spans of the block to the collector. Whatever happens to them, the block does not wait: it loses spans.

    Raises `ConfigError` if the SDK cannot use a variable of the environment.
    """
    # The SDK has a line in the log for each span beyond its queue. One warning a minute replaces them.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
    try:
        provider, exporter = provider_of(resource_of(settings, node)), _exporter(settings)
    except ValueError as error:
        raise ConfigError(f"tracing cannot use an OTEL_ variable of the environment: {error}") from None
    processor = BatchSpanProcessor(exporter, settings.queue, SEND_SECONDS * 1_000, min(BATCH, settings.queue))
    provider.add_span_processor(processor)
    tracer = OtelTracer(provider, settings.sample, clock, entropy)
    exporter.counts = tracer.counts
    log.info("sending spans of %g of the requests", settings.sample)
    try:
        yield tracer
    finally:
        with trio.move_on_after(FLUSH_SECONDS, shield=True) as flushing:
            await trio.to_thread.run_sync(processor.shutdown, abandon_on_cancel=True)
        if flushing.cancelled_caught:
            exporter.abandon()
            log.warning("the last spans are lost, because they were not sent within %g s", FLUSH_SECONDS)


def _exporter(settings: Tracing) -> "CountingExporter":
    url, session = f"{settings.otlp_url.rstrip('/')}/v1/traces", WatchedSession()
    return CountingExporter(OTLPSpanExporter(url, timeout=settings.timeout_seconds, session=session), session)


class CountingExporter(SpanExporter):
    """An exporter around another that counts spans, and warns of lost ones. The SDK calls it in a thread of its own."""

    def __init__(self, exporter: SpanExporter, session: "WatchedSession") -> None:
        self.counts = SpanCounts()
        self._exporter = exporter
        self._session = session
        self._quiet_until = 0.0
        self._ended = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if not self._ended and self._exporter.export(spans) is SpanExportResult.SUCCESS:
            self.counts.sent += len(spans)
            return SpanExportResult.SUCCESS
        self.counts.failed += len(spans)
        self._warn()
        return SpanExportResult.FAILURE

    def _warn(self) -> None:
        if self._ended or time.monotonic() < self._quiet_until:
            return
        self._quiet_until = time.monotonic() + QUIET_SECONDS
        log.warning(
            "%d spans are lost so far, because the collector at tracing.otlp_url does not take them: %s (logged at most once "
            "a minute)",
            self.counts.failed,
            self._session.last,
        )

    def shutdown(self) -> None:
        self.abandon()

    def abandon(self) -> None:
        """End an export under way."""
        if not self._ended:
            self._ended = True
            self._exporter.shutdown()


class WatchedSession(requests.Session):
    """A session that remembers how its last request ended, because the exporter tells only whether it failed."""

    last = "no request was made"

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        try:
            response = super().send(request, **{**options, "allow_redirects": False})
        except requests.Timeout:
            self.last = "it did not answer in time"
            raise
        except requests.exceptions.ProxyError as error:
            self.last = f"the proxy of the environment cannot be used ({_cause_of(error)})"
            raise
        except Exception as error:
            self.last = f"it cannot be reached ({_cause_of(error)})"
            raise
        self.last = f"it answered with status {response.status_code}"
        if MULTIPLE_CHOICES <= response.status_code < BAD_REQUEST:
            # The exporter takes a redirect for a success.
            raise requests.RequestException(self.last)
        return response


def _cause_of(error: BaseException) -> str:
    """The system's words for a failed connection, which are the innermost error's, or a general one."""
    while error.__context__ is not None:
        error = error.__context__
    return getattr(error, "strerror", None) or "the connection failed"
