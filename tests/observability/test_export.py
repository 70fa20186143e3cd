"""Sending spans over real HTTP: to a collector that takes them, to one that refuses, and to none. The node never waits."""

import logging
import time

import pytest
import trio

from actors.clock import SystemClock, SystemEntropy
from service.config.deployment import EXPORTER, problems, refuse_untraced
from service.config.loading import load
from service.config.model import Config
from service.config.process import Tracing
from service.config.user_errors import ConfigError
from service.observability import otel
from service.observability.otel import exporting
from service.observability.tracing import SpanCounts
from tests.api.world import NODE
from tests.observability.collector import Collector

PATH = "/v1/traces"


def settings(url: str, **more: object) -> Tracing:
    return configured(url, **more).tracing


def configured(url: str, **more: object) -> Config:
    named = {"OTLP_URL": url, "SAMPLE": 1.0, "TIMEOUT_SECONDS": 0.2, **more}
    return load(None, {f"CATALOG__TRACING__{name}": str(value) for name, value in named.items()})


async def make_spans(tracing: Tracing, count: int) -> SpanCounts:
    """End spans and shut down. Returns the counts afterwards."""
    async with exporting(tracing, NODE, SystemClock(), SystemEntropy()) as tracer:
        for number in range(count):
            span = tracer.begin(None)
            assert span is not None
            span.end(f"span-{number}", {}, failed=False)
    return tracer.counts


async def test_spans_are_sent_at_the_latest_at_shutdown_with_the_name_of_the_node() -> None:
    with Collector().serving() as collector:
        collector.released.set()
        counts = await make_spans(settings(f"{collector.url}/", SERVICE_NAME="shop"), 3)
    assert collector.spans() == ["span-0", "span-1", "span-2"]
    [(path, request)] = collector.requests
    [resource] = request.resource_spans
    facts = {fact.key: fact.value.string_value for fact in resource.resource.attributes}
    assert path == PATH
    assert facts["service.name"] == "shop"
    assert (facts["service.instance.id"], facts["service.version"]) == (NODE.id, NODE.version)
    assert not [key for key in facts if key.startswith("host")]
    assert (counts.made, counts.sent, counts.failed) == (3, 3, 0)


@pytest.mark.parametrize("status", [307, 401, 503])
async def test_a_collector_that_refuses_costs_spans_and_one_warning(
    status: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otel, "BATCH", 2)
    with Collector(status).serving() as collector:
        collector.released.set()
        counts = await make_spans(settings(collector.url, TIMEOUT_SECONDS=0.05), 6)
    assert (counts.made, counts.sent, counts.failed) == (6, 0, 6)
    [line] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert line.name == "service.observability.otel"
    assert line.getMessage().endswith(
        "the collector at tracing.otlp_url does not take them: it answered with status "
        f"{status} (logged at most once a minute)"
    )


async def test_without_a_collector_spans_are_made_at_once_and_the_end_is_bounded(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(otel, "FLUSH_SECONDS", 0.2)
    with Collector().serving() as collector:  # it takes a request, and does not answer
        began = time.monotonic()
        counts = await make_spans(settings(collector.url, QUEUE=4, TIMEOUT_SECONDS=20), 5_000)
        assert time.monotonic() - began < 5
    assert counts.made == 5_000
    assert counts.sent + counts.failed <= 8, "the queue had dropped the others"
    assert caplog.messages == ["the last spans are lost, because they were not sent within 0.2 s"]


@pytest.mark.parametrize(
    ("proxied", "words"),
    [
        (False, "it cannot be reached (Connection refused)"),
        (True, "the proxy of the environment cannot be used (Connection refused)"),
    ],
)
async def test_a_collector_or_proxy_that_is_away_is_named_with_the_reason(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, proxied: bool, words: str
) -> None:
    with Collector().serving() as collector:
        pass
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    if proxied:
        monkeypatch.setenv("http_proxy", collector.url)
    counts = await make_spans(settings(collector.url, TIMEOUT_SECONDS=0.05), 1)
    assert (counts.made, counts.failed) == (1, 1)
    [warning] = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warning.startswith("1 spans are lost so far")
    assert words in warning


@pytest.mark.parametrize("name", ["OTEL_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT"])
async def test_a_variable_that_the_sdk_cannot_use_is_an_error_for_a_person(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "nonsense")
    with pytest.raises(ConfigError, match=r"^tracing cannot use an OTEL_ variable of the environment: .*nonsense"):
        await make_spans(settings("http://127.0.0.1:4318"), 1)


async def test_an_sdk_that_is_disabled_records_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    async with exporting(settings("http://127.0.0.1:4318"), NODE, SystemClock(), SystemEntropy()) as tracer:
        assert tracer.begin(None) is None


async def test_a_cancelled_node_sends_its_last_spans() -> None:
    with Collector().serving() as collector:
        collector.released.set()
        with trio.CancelScope() as scope:
            async with exporting(settings(collector.url), NODE, SystemClock(), SystemEntropy()) as tracer:
                span = tracer.begin(None)
                assert span is not None
                span.end("last", {}, failed=False)
                scope.cancel()
                await trio.sleep_forever()
    assert collector.spans() == ["last"]


def test_without_the_extra_a_start_is_refused_with_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r'is not installed: install this package with its extra "otel"'):
        refuse_untraced(configured("http://127.0.0.1:4318"), needed="a-package-that-nobody-has")
    refuse_untraced(configured(""), needed="a-package-that-nobody-has")
    refuse_untraced(configured("http://127.0.0.1:4318"))
    assert EXPORTER == "opentelemetry-exporter-otlp-proto-http"
    assert problems(configured("http://127.0.0.1:4318")) == []
