"""The private listener for operators: `/metrics`, `/healthz` and `/readyz` of all nodes of this machine together."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence

import trio
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from service.http.asgi import Handlers, Headers, Receive, Scope, Send
from service.http.server import Server
from service.observability.health import Report, Reports
from service.observability.host_metrics import process_page
from service.observability.metrics import CONTENT_TYPE

log = logging.getLogger(__name__)

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
MAX_CONNECTIONS = 64
PARENT = "parent"
"""The label of the parent's metrics."""


async def serve_operators(server: Server, reports: Reports, own: Sequence[Collector] | None = None) -> None:
    """Serve operators until cancelled. `own` are metrics of this process, if it is the parent of the nodes."""
    log.info("serving operators on %s", server.url)
    handlers = Handlers(_Operators(reports, own), _reject, _render_error)
    await server.serve(handlers, stop=trio.Event(), ready=lambda: None)


def merged(reports: Mapping[int, Report | None], own: Sequence[Collector] | None = None) -> bytes:
    """The metrics of several nodes on one page, with the label `worker` added to each sample, and the parent's own. Those
    that every process has carry `PARENT` in place of the number."""
    pages = {str(number): report.metrics for number, report in reports.items() if report is not None}
    if own is not None:
        pages[PARENT] = process_page().decode()
    registry = CollectorRegistry()
    for collector in (_Up(reports), _Merged(pages), *(own or ())):
        registry.register(collector)
    return generate_latest(registry)


class _Up(Collector):
    def __init__(self, reports: Mapping[int, Report | None]) -> None:
        self._reports = reports

    def collect(self) -> Iterable[Metric]:
        up = GaugeMetricFamily("catalog_worker_up", "1 when the worker answered this scrape.", labels=["worker"])
        for number, report in self._reports.items():
            up.add_metric([str(number)], int(report is not None))
        yield up


class _Merged(Collector):
    """The metrics of several pages in text format, by the value of their label `worker`."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self._pages = pages

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for worker, page in self._pages.items():
            for family in text_string_to_metric_families(page):
                both = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                both.samples += [each._replace(labels={**each.labels, "worker": worker}) for each in family.samples]
        yield from families.values()


class _Operators:
    """The ASGI application of the listener."""

    def __init__(self, reports: Reports, own: Sequence[Collector] | None) -> None:
        self._reports = reports
        self._own = own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, kind, body = await self._answer(scope["method"], scope["path"])
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        headers.append((b"cache-control", b"no-store"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _answer(self, method: str, path: str) -> tuple[int, str, bytes]:
        if path not in ("/metrics", "/healthz", "/readyz"):
            return 404, TEXT, b"This address serves /metrics, /healthz and /readyz.\n"
        if method not in ("GET", "HEAD"):
            return 405, TEXT, b"This address supports GET and HEAD.\n"
        if path == "/healthz":
            return 200, JSON, b'{"status":"ok"}'
        reports = await self._reports()
        if path == "/metrics":
            return 200, CONTENT_TYPE, merged(reports, self._own)
        return _readiness(reports)


def _readiness(reports: Mapping[int, Report | None]) -> tuple[int, str, bytes]:
    """Ready if at least one node is: the others' connections go to it while they restart."""
    problems = {
        number: ["the worker does not answer"] if report is None else report.problems
        for number, report in reports.items()
    }
    ready = sum(report is not None and report.ready for report in reports.values())
    facts = {
        "status": "ok" if ready else "not ready",
        "workers": len(reports),
        "ready": ready,
        "problems": {str(number): each for number, each in problems.items() if each},
    }
    return 200 if ready else 503, JSON, json.dumps(facts).encode()


async def _reject(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a malformed request."""
    status, message = scope["refusal"]
    headers, body = _render_error(status, message)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _render_error(status: int, message: str) -> tuple[Headers, bytes]:
    body = f"{message}\n".encode()
    return [(b"content-type", TEXT.encode()), (b"content-length", str(len(body)).encode())], body
