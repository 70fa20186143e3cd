"""A collector of spans, as OpenTelemetry's exporter sees it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Collector:
    """A collector on loopback. It answers with `status`, once it is released."""

    status: int = 200
    released: Event = field(default_factory=Event)
    requests: list[tuple[str, ExportTraceServiceRequest]] = field(default_factory=list)
    url: str = ""

    @contextmanager
    def serving(self) -> Iterator["Collector"]:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.requests.append((self.path, ExportTraceServiceRequest.FromString(body)))
                collector.released.wait(30)
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Stay silent."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = Thread(target=server.serve_forever, args=(0.05,))
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}"
            try:
                yield self
            finally:
                self.released.set()
                server.shutdown()
                thread.join()

    def spans(self) -> list[str]:
        """The names of all spans that it has taken."""
        return [span.name for _, span in self.with_resources()]

    def with_resources(self) -> list[tuple[Mapping[str, str], Span]]:
        """All spans that it has taken, each with the attributes of its resource."""
        return [
            ({fact.key: fact.value.string_value for fact in resource.resource.attributes}, span)
            for _, request in self.requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
