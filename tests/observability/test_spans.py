"""Spans of the whole service: requests, the batches that hold their messages, and commits, as the SDK exports them."""

import io
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import trio
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from trio.testing import MockClock

from actors.kernel.mailbox import Envelope, TraceContext
from actors.kernel.statistics import ServedBatch
from actors.values import StorageUnavailable
from service.observability.logs import set_up
from service.observability.otel import CALLERS_A_SECOND, MAX_LINKS, OtelTracer, provider_of
from service.observability.tracing import Tracer
from tests.api.events import event
from tests.api.world import NOON_MS, World, away, broken, fails_once, open_world
from tests.fakes import HandClock, SeededEntropy

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{SPAN}-00"}


@dataclass(frozen=True, slots=True)
class Traced:
    """A node and the spans that it has ended."""

    world: World
    exporter: InMemorySpanExporter

    def spans(self) -> list[ReadableSpan]:
        """The spans since the last call, in the order in which they began."""
        found = sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
        self.exporter.clear()
        return found

    def named(self, *names: str) -> list[ReadableSpan]:
        """The only span of each name."""
        spans = self.spans()
        assert len({span.name for span in spans}) == len(spans), [span.name for span in spans]
        return [next(span for span in spans if span.name == name) for name in names]


def tracer_of(exporter: InMemorySpanExporter, sample: float) -> Tracer:
    provider = provider_of(Resource({"service.name": "catalog"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return OtelTracer(provider, sample, HandClock(NOON_MS), SeededEntropy())


@asynccontextmanager
async def open_traced(sample: float = 1.0, **settings: object) -> AsyncIterator[Traced]:
    exporter = InMemorySpanExporter()
    async with open_world(None, 1, None, tracer_of(exporter, sample), **settings) as world:
        yield Traced(world, exporter)


@pytest.fixture
async def traced() -> AsyncIterator[Traced]:
    async with open_traced() as opened:
        yield opened


def ids(span: ReadableSpan) -> tuple[str, str]:
    """Trace and span id."""
    assert span.context is not None
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


def parent_of(span: ReadableSpan) -> tuple[str, str] | None:
    return None if span.parent is None else (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}")


def facts(span: ReadableSpan) -> Mapping[str, object]:
    return dict(span.attributes or {})


async def test_a_request_has_a_span_with_its_batches_and_their_commits_below_it(traced: Traced) -> None:
    assert (await traced.world.client.post("/api/v1/auth/agent")).status == 200
    request, batch, commit = traced.named("mintKey", "keys batch", "keys commit")
    assert (request.kind, batch.kind, commit.kind) == (SpanKind.SERVER, SpanKind.INTERNAL, SpanKind.CLIENT)
    assert parent_of(request) is None
    assert parent_of(batch) == ids(request)
    assert parent_of(commit) == ids(batch)
    assert {ids(span)[0] for span in (batch, commit)} == {ids(request)[0]}
    assert facts(request) == {
        "http.request.method": "POST",
        "http.response.status_code": 200,
        "http.route": "/api/v1/auth/agent",
        "network.protocol.version": "1.1",
        "url.scheme": "http",
    }
    assert facts(batch) == {"catalog.actor": "keys", "catalog.messages": 1, "catalog.requests": 1}
    assert facts(commit) == {"catalog.actor": "keys", "catalog.attempts": 1, "db.system.name": "postgresql"}
    assert request.status.status_code is batch.status.status_code is StatusCode.UNSET
    assert request.resource.attributes["service.name"] == "catalog"


async def test_times_are_unix_times_and_lie_within_each_other(autojump_clock: MockClock, traced: Traced) -> None:
    async def slowly() -> None:
        await trio.sleep(0.25)

    traced.world.memory.before = slowly
    await traced.world.client.post("/api/v1/auth/agent")
    request, batch, commit = traced.named("mintKey", "keys batch", "keys commit")
    times = [span.start_time or 0 for span in (request, batch, commit)]
    ends = [span.end_time or 0 for span in (commit, batch, request)]
    assert [*times, *ends] == sorted([*times, *ends])
    assert abs(times[0] - NOON_MS * 1_000_000) < 60_000_000_000
    assert ends[0] - times[2] == pytest.approx(0.25e9, abs=1e6)


async def test_a_batch_links_to_all_requests_whose_messages_it_holds(traced: Traced) -> None:
    hold = trio.Event()

    async def wait() -> None:
        await hold.wait()

    traced.world.memory.before = wait
    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(lambda: traced.world.client.post("/api/v1/auth/agent"))
            if number == 0:
                await traced.world.settled()  # the first is under way, and the others gather
        await traced.world.settled()
        hold.set()
    spans = traced.spans()
    requests = [span for span in spans if span.name == "mintKey"]
    batches = [span for span in spans if span.name == "keys batch"]
    assert [(facts(batch)["catalog.messages"], len(batch.links)) for batch in batches] == [(1, 1), (3, 3)]
    linked = [(f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") for link in batches[1].links]
    assert parent_of(batches[1]) == linked[0]
    first = [(f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") for link in batches[0].links]
    assert sorted([*first, *linked]) == sorted(map(ids, requests))
    assert len({trace for trace, _ in map(ids, requests)}) == 4


async def test_a_callers_trace_is_continued(traced: Traced) -> None:
    await traced.world.client.post("/api/v1/auth/agent", headers=SAMPLED)
    request, batch, commit = traced.named("mintKey", "keys batch", "keys commit")
    assert parent_of(request) == (TRACE, SPAN)
    assert {ids(span)[0] for span in (request, batch, commit)} == {TRACE}
    assert request.parent is not None
    assert request.parent.is_remote
    assert batch.parent is not None
    assert not batch.parent.is_remote


async def test_a_caller_that_does_not_record_is_respected(traced: Traced) -> None:
    await traced.world.client.post("/api/v1/auth/agent", headers=UNSAMPLED)
    assert traced.spans() == []


@pytest.mark.parametrize("value", ["", "00-1-2-01", f"00-{TRACE.upper()}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01"])
async def test_a_malformed_header_begins_a_new_trace(traced: Traced, value: str) -> None:
    await traced.world.client.get("/api/v1/bots", headers={"traceparent": value})
    [request] = traced.named("listBots")
    assert parent_of(request) is None
    assert ids(request)[0] != TRACE


async def test_a_share_of_the_requests_is_recorded_and_those_of_callers_that_record_always() -> None:
    async with open_traced(0.25, KEYLESS__PER_MINUTE=10_000) as some:
        for _ in range(400):
            await some.world.client.get("/api/v1/bots?limit=1")
        assert 60 < len(some.spans()) < 140
    async with open_traced(0.0) as none:
        for headers in ({}, UNSAMPLED):
            await none.world.client.post("/api/v1/auth/agent", headers=headers)
        assert none.spans() == []
        await none.world.client.get("/api/v1/bots", headers=SAMPLED)
        assert [ids(span)[0] for span in none.spans()] == [TRACE]


async def test_callers_that_record_are_believed_so_often_in_a_second(autojump_clock: MockClock) -> None:
    """Anybody can say so, and a span costs more than a small request."""
    tracer, caller = tracer_of(InMemorySpanExporter(), 0.0), TraceContext(TRACE, SPAN, sampled=True)
    for _ in range(2):
        assert sum(tracer.begin(caller) is not None for _ in range(CALLERS_A_SECOND + 10)) == CALLERS_A_SECOND
        await trio.sleep(1)


async def test_a_refusal_carries_its_code_and_is_no_failure_of_the_service(traced: Traced) -> None:
    for target, name, status, code in (
        ("/api/v1/bots/nobody", "getBot", 404, "not_found"),
        ("/api/v1/usage", "getUsage", 401, "unauthorized"),
    ):
        assert (await traced.world.client.get(target)).status == status
        [request] = traced.spans()
        assert (request.name, request.status.status_code) == (name, StatusCode.UNSET)
        assert (facts(request)["http.response.status_code"], facts(request)["catalog.error_code"]) == (status, code)
        assert "error.type" not in facts(request)


@pytest.mark.parametrize(
    ("failing", "status", "code", "error"),
    [
        (away, 503, "service_unavailable", StorageUnavailable.__name__),
        (broken, 500, "internal_error", RuntimeError.__name__),
    ],
)
async def test_a_failure_is_one_in_all_spans(
    traced: Traced, failing: object, status: int, code: str, error: str
) -> None:
    fails_once(traced.world.memory, failing)  # type: ignore[arg-type]
    assert (await traced.world.client.post("/api/v1/auth/agent")).status == status
    request, batch, commit = traced.named("mintKey", "keys batch", "keys commit")
    assert {span.status.status_code for span in (request, batch, commit)} == {StatusCode.ERROR}
    assert [facts(span)["error.type"] for span in (request, batch, commit)] == [code, error, error]
    assert all(not span.events for span in (request, batch, commit)), "an error's text may hold anything"


async def test_requests_that_reach_no_operation_have_a_span_too(traced: Traced) -> None:
    for method, target, name, status in (
        ("GET", "/", "page", 200),
        ("GET", "/nowhere", "other", 404),
        ("BREW", "/api/v1/bots", "other", 405),
    ):
        await traced.world.client.request(method, target)
        [request] = [span for span in traced.spans() if span.kind is SpanKind.SERVER]
        assert (request.name, facts(request)["http.response.status_code"]) == (name, status)
        assert "http.route" not in facts(request)
        assert facts(request)["http.request.method"] == ("_OTHER" if method == "BREW" else "GET")


async def test_no_span_holds_personal_data(traced: Traced) -> None:
    world, email = traced.world, "ann.secret@example.com"
    minted = (await world.client.post("/api/v1/auth/agent")).json
    key, token = minted["apiKey"], minted["claimToken"]
    claim = {"claimToken": token, "email": email}
    await world.client.post("/api/v1/auth/claim", json=claim)
    code = await world.emailed_code(email)
    await world.client.post("/api/v1/auth/claim/complete", json=claim | {"code": code})
    await world.client.get("/api/v1/usecases?q=private+words", key, address="192.0.2.77")
    await world.client.get(f"/claim/{token}", headers={"user-agent": "A browser", "x-request-id": "an-id-of-a-client"})
    await world.client.get(f"/api/v1/bots/{key}")
    await world.client.post("/api/v1/sponsors/events", json=event())
    spans = traced.spans()
    assert len(spans) > 10
    text = json.dumps([json.loads(span.to_json()) for span in spans])
    for word in (key, key[3:12], token, code, email, "ann", "private", "192.0.2", "203.0.113", "browser", "an-id-of"):
        assert word not in text, word


async def test_the_log_names_the_trace_of_recorded_requests_and_that_of_callers(own_logging: None) -> None:
    stream = io.StringIO()
    set_up("info", "json", stream)
    async with open_traced(0.0) as traced:
        for headers in (SAMPLED, UNSAMPLED, {}):
            await traced.world.client.get("/api/v1/bots", headers=headers)
    lines = [json.loads(line) for line in stream.getvalue().splitlines() if "service.access" in line]
    assert [line.get("trace_id") for line in lines] == [TRACE, TRACE, None]
    async with open_traced() as traced:
        await traced.world.client.get("/api/v1/bots")
        [span] = traced.spans()
    assert json.loads(stream.getvalue().splitlines()[-1])["trace_id"] == ids(span)[0]


def test_the_links_of_a_batch_are_bounded() -> None:
    exporter = InMemorySpanExporter()

    async def make() -> None:
        tracer = tracer_of(exporter, 1.0)
        traces = [TraceContext(f"{number:032x}", "b" * 16, sampled=number % 3 > 0) for number in range(1, 601)]
        envelopes: Sequence[Envelope[int, int]] = [Envelope(0) for _ in range(1_201)]
        for envelope, trace in zip(envelopes, [*traces, *traces, None], strict=True):
            envelope.trace = trace
        now = trio.current_time()
        tracer.batch(ServedBatch("keys", envelopes, 1_201, now, now, now, 1))
        tracer.batch(ServedBatch("keys", envelopes[2::3], 400, now, now, now, 1))
        assert tracer.counts.made == 2

    trio.run(make)
    _, batch = exporter.get_finished_spans()
    assert len(batch.links) == MAX_LINKS
    assert facts(batch) == {"catalog.actor": "keys", "catalog.messages": 1_201, "catalog.requests": 400}
